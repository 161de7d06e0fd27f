//! Meaning of a difference: its direction and size, and a comparison with controls.

use bartizan_estimators::Interval;
use bartizan_workbench::workload::Better;
use serde::Serialize;

use crate::quantity::percent;
use bartizan_page::quantity::Shown;

/// Meaning of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first is larger, beyond chance and beyond what two of the same differ by.
    More,
    /// The first is smaller, in the same way.
    Less,
    /// Beyond chance, but two of the same differ as much in this run.
    WithinControl,
    /// The interval holds no difference.
    NoDifference,
    /// Too few trials to say.
    TooFew,
}

/// Quality of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The good way.
    Better,
    /// The bad way.
    Worse,
    /// No difference, or it depends whether it is good.
    Neither,
}

/// A difference with its size and what it is held against.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// Verdict on the difference.
    pub verdict: Verdict,
    /// Quality of the difference.
    pub direction: Direction,
    /// The difference over the second side: 0.1 where the first is a tenth more; absent where the
    /// second is 0 or unknown.
    pub size: Option<f64>,
    /// Reach of the 95 % interval from no difference, over the second side: no larger difference is
    /// hidden.
    pub reach: Option<f64>,
    /// The threshold, over the second side: how far the interval of two of the same reaches; absent
    /// where the part has no control.
    pub threshold: Option<f64>,
}

/// No difference, and what sizes are shares of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// The value that says that there is no difference: 0, or 1 of ratios.
    pub(crate) none: f64,
    /// The second side's median, or 1 of ratios.
    pub(crate) base: f64,
}

impl Scale {
    /// As a share of the second side.
    pub(crate) fn share(self, value: f64) -> Option<f64> {
        let share = (value - self.none) / self.base.abs();
        share.is_finite().then_some(share)
    }

    /// Distance of the farther end from no difference.
    pub(crate) fn reach(self, interval: Interval) -> Option<f64> {
        Some(self.share(interval.low)?.abs().max(self.share(interval.high)?.abs()))
    }
}

impl Effect {
    /// Effect of a difference with its 95 % interval and with the one at the level of the verdict.
    pub(crate) fn of(
        value: Option<f64>,
        interval: Option<Interval>,
        sure: Option<Interval>,
        scale: Scale,
        threshold: Option<f64>,
        better: Better,
    ) -> Self {
        let size = value.and_then(|value| scale.share(value));
        let verdict = match (size, sure) {
            (_, None) => Verdict::TooFew,
            (_, Some(sure)) if sure.contains(scale.none) => Verdict::NoDifference,
            (Some(size), _) if threshold.is_some_and(|threshold| size.abs() <= threshold) => Verdict::WithinControl,
            (_, Some(sure)) if sure.low > scale.none => Verdict::More,
            _ => Verdict::Less,
        };
        Self {
            verdict,
            direction: Direction::of(verdict, better),
            size,
            reach: interval.and_then(|interval| scale.reach(interval)),
            threshold,
        }
    }

    /// In words: direction, size, and what two of the same differ by, which is the threshold.
    #[must_use]
    pub fn words(&self) -> String {
        self.said(|threshold| format!("two of the same: up to {threshold}"))
    }

    /// The same with a threshold from the user.
    #[must_use]
    pub fn words_by_threshold(&self) -> String {
        self.said(|threshold| format!("threshold {threshold}"))
    }

    fn said(&self, held_against: impl Fn(&str) -> String) -> String {
        let size = self.size.map(|size| percent(size.abs()));
        let size = |word: &str| match &size {
            Some(size) => format!("{size} {word}"),
            None => word.to_owned(),
        };
        let good = match self.direction {
            Direction::Better => " (better)",
            Direction::Worse => " (worse)",
            Direction::Neither => "",
        };
        let control = match self.threshold {
            Some(threshold) => held_against(&percent(threshold)),
            None => "no control".to_owned(),
        };
        match self.verdict {
            Verdict::More => format!("{}{good}; {control}", size("more")),
            Verdict::Less => format!("{}{good}; {control}", size("less")),
            Verdict::WithinControl => format!("{}, but {control}", size("apart")),
            Verdict::NoDifference => match self.reach {
                Some(reach) => format!("no difference seen; none above {}", percent(reach)),
                None => "no difference seen".to_owned(),
            },
            Verdict::TooFew => "too few trials to say".to_owned(),
        }
    }
}

impl Direction {
    pub(crate) fn of(verdict: Verdict, better: Better) -> Self {
        match (verdict, better) {
            (Verdict::More, Better::Higher) | (Verdict::Less, Better::Lower) => Self::Better,
            (Verdict::More, Better::Lower) | (Verdict::Less, Better::Higher) => Self::Worse,
            _ => Self::Neither,
        }
    }
}

/// A difference in its own unit as it stands in a sentence: `+12.3 ms [12.1 to 12.4]`.
pub(crate) fn signed(shown: &Shown, value: f64, interval: Option<Interval>) -> String {
    let text = shown.estimate(value, interval);
    if value > 0.0 { format!("+{text}") } else { text }
}
