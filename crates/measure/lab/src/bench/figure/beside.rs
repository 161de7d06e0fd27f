//! What one build adds to a request over what another one does, in the same repetitions.

use bartizan_stats::{Pairs, Summary, ratio_of_medians};

use super::{Figure, Name, RATIO_REPETITIONS, Target, Trials, Verdict};
use crate::bench::{Mode, Placement, Proxy, What};

/// What a build may add over what another one does.
const AT_MOST: f64 = 1.03;

impl Trials<'_> {
    /// What each path adds over what the same path of the other build does, where there is one.
    pub(super) fn besides(&self) -> Vec<Figure> {
        let ours = self.trials.keys().filter(|key| key.0 == What::Latency);
        ours.filter_map(|&(_, placement, proxy, mode, _, _)| self.beside(placement, proxy?, mode?))
            .collect()
    }

    fn beside(&self, placement: Placement, proxy: Proxy, mode: Mode) -> Option<Figure> {
        let of = |proxy, mode| self.values(&(What::Latency, placement, proxy, mode, None, None));
        let (own, other) = (of(Some(proxy), Some(mode)), of(Some(proxy.beside()?), Some(mode)));
        let direct = of(None, None);
        let both = own.iter().filter_map(|(repetition, value)| {
            let direct = direct.get(repetition)?;
            Some((value - direct, other.get(repetition)? - direct))
        });
        let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
        let pairs = Pairs::new(&first, &second).ok()?;
        let estimate = ratio_of_medians(&pairs, &self.resampling).ok()?;
        let target = Some(Target::AtMost(AT_MOST));
        let verdict = match pairs.n() {
            few @ ..RATIO_REPETITIONS => Verdict::NotJudged(format!("{few} repetitions, it takes {RATIO_REPETITIONS}")),
            _ => self.verdict(target, estimate),
        };
        let ratios = first.iter().zip(&second).map(|(first, second)| first / second);
        let summary = Summary::of(ratios)?;
        Some(Figure {
            figure: Name::BesideAdded,
            placement,
            proxy: Some(proxy),
            level: Some(proxy.level()),
            mode: Some(mode),
            streams: None,
            unit: "",
            summary: Summary {
                median: estimate.value,
                ..summary
            },
            interval: estimate.interval,
            cpu_us: None,
            failed: 0,
            target,
            verdict,
        })
    }
}
