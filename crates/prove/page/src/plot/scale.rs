//! From values to places, and the round numbers between.

use crate::quantity::rounded;

use super::Axis;
use super::canvas::text_width;

/// Width of a plot: about a column of text on a page.
pub const WIDTH: f64 = 760.0;

/// Values that span more than this many times their least are shown on a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 20.0;

/// The required start of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At 0: lengths are compared.
    Zero,
    /// At 0, on an axis of its own for each panel where one for all would make the lengths of some too small to see.
    ZeroApart,
    /// At 0 where that wastes little, else below the least value: places are compared.
    Free,
}

/// A linear or logarithmic axis over shown values.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The shown value at its beginning.
    pub low: f64,
    /// The shown value at its end.
    pub high: f64,
    /// True if it is logarithmic; no bars make sense then, which begin at 0.
    pub logarithmic: bool,
    from: f64,
    to: f64,
    /// Factor from a value as measured to the shown one.
    pub factor: f64,
    /// True if its values span so much that the small ones are lost on a linear axis.
    pub wide: bool,
}

impl Scale {
    /// An axis that holds these values (as measured) between the places `from` and `to`.
    pub fn new(values: impl IntoIterator<Item = f64>, axis: &Axis, start: Start, from: f64, to: f64) -> Self {
        let factor = axis.unit.factor;
        let (mut least, mut greatest, mut positive) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY);
        for value in values
            .into_iter()
            .map(|value| value * factor)
            .filter(|value| value.is_finite())
        {
            least = least.min(value);
            greatest = greatest.max(value);
            if value > 0.0 {
                positive = positive.min(value);
            }
        }
        if least > greatest {
            (least, greatest) = (0.0, 1.0);
        }
        let from_zero = matches!(start, Start::Zero | Start::ZeroApart);
        let logarithmic = start == Start::Free && least > 0.0 && greatest / positive > LOGARITHMIC_FROM;
        let (low, high) = if logarithmic {
            (below(least), above(greatest))
        } else {
            let zero = from_zero || (least >= 0.0 && least < 0.4 * greatest);
            let low = if zero { least.min(0.0) } else { least };
            let high = if from_zero { greatest.max(0.0) } else { greatest };
            let span = if high > low { high - low } else { high.abs().max(1.0) };
            // A little air, but not beyond 0.
            let low = if low == 0.0 { 0.0 } else { low - 0.04 * span };
            let high = if high == 0.0 && low < 0.0 {
                0.0
            } else {
                high + 0.04 * span
            };
            (low, if high > low { high } else { low + span })
        };
        Self {
            low,
            high,
            logarithmic,
            from,
            to,
            factor,
            wide: positive > 0.0 && greatest / positive > LOGARITHMIC_FROM,
        }
    }

    /// The place of a value as measured.
    pub fn place(&self, value: f64) -> f64 {
        self.place_of_shown(value * self.factor)
    }

    fn place_of_shown(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(-0.01, 1.01) * (self.to - self.from)
    }

    /// Returns true if a value as measured lies on it.
    pub fn holds(&self, value: f64) -> bool {
        let shown = value * self.factor;
        (self.low..=self.high).contains(&shown)
    }

    /// Its two ends.
    pub fn ends(&self) -> [f64; 2] {
        [self.from, self.to]
    }

    /// The place of zero, or the left end.
    pub fn origin(&self) -> f64 {
        self.place_of_shown(if self.logarithmic {
            self.low
        } else {
            0.0_f64.clamp(self.low, self.high)
        })
    }

    /// Places of round numbers with what stands at them.
    pub fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        if self.logarithmic {
            return self.logarithmic_ticks(about);
        }
        let step = step(self.high - self.low, about);
        let places = (-(step.log10().floor())).max(0.0) as i32;
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last.min(first + 50))
            .map(|index| index as f64 * step)
            .map(|value| (self.place_of_shown(value), rounded(value, places)))
            .collect()
    }

    fn logarithmic_ticks(&self, about: usize) -> Vec<(f64, String)> {
        let decades = (self.high / self.low).log10();
        let marks: &[f64] = if decades * 3.0 <= about as f64 + 2.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let stride = (decades / about.max(1) as f64).ceil().max(1.0) as i32;
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        (first..=last)
            .filter(|power| power.rem_euclid(stride) == 0)
            .flat_map(|power| marks.iter().map(move |mark| (power, mark * 10_f64.powi(power))))
            .filter(|(_, value)| *value >= self.low * 0.999 && *value <= self.high * 1.001)
            .map(|(power, value)| (self.place_of_shown(value), rounded(value, -power.min(0))))
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten, so that about so many fit.
fn step(span: f64, about: usize) -> f64 {
    let raw = span / about.max(1) as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let digit = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * power >= raw * 0.999)
        .unwrap_or(10.0);
    digit * power
}

/// The next 1, 2 or 5 times a power of ten below a value above 0.
fn below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = [5.0, 2.0]
        .into_iter()
        .find(|digit| digit * power <= value)
        .unwrap_or(1.0);
    digit * power
}

fn above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * power >= value)
        .unwrap_or(10.0);
    digit * power
}

/// As many ticks as fit next to each other.
pub fn ticks(scale: &Scale, length: f64) -> Vec<(f64, String)> {
    let mut about = ((length / 70.0) as usize).clamp(2, 8);
    loop {
        let ticks = scale.ticks(about);
        let crowded = ticks.windows(2).any(|two| {
            let room = (two[1].0 - two[0].0).abs();
            room < (text_width(&two[0].1, 11.5) + text_width(&two[1].1, 11.5)) / 2.0 + 8.0
        });
        if !crowded || about == 1 {
            return ticks;
        }
        about -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Shown;

    fn scale(values: &[f64], start: Start) -> Scale {
        let axis = Axis {
            quantity: String::new(),
            unit: Shown::bare(),
        };
        Scale::new(values.iter().copied(), &axis, start, 0.0, 100.0)
    }

    fn labels(scale: &Scale) -> Vec<String> {
        scale.ticks(5).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(
            labels(&scale(&[0.3, 0.9], Start::Zero)),
            ["0.0", "0.2", "0.4", "0.6", "0.8"]
        );
        assert_eq!(
            labels(&scale(&[101.0, 104.0], Start::Free)),
            ["101", "102", "103", "104"]
        );
        assert_eq!(
            labels(&scale(&[-4.0, 4.0], Start::Zero)),
            ["\u{2212}4", "\u{2212}2", "0", "2", "4"]
        );
    }

    #[test]
    fn levels_that_span_more_than_twenty_times_are_on_a_logarithmic_axis() {
        let scale = scale(&[0.5, 800.0], Start::Free);
        assert!(scale.logarithmic);
        assert_eq!(labels(&scale), ["1", "10", "100", "1000"]);
        assert!((scale.place(0.5) - 0.0).abs() < 1e-9 && (scale.place(1000.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn bars_begin_at_nothing_whatever_they_span() {
        let scale = scale(&[0.5, 800.0], Start::Zero);
        assert!(!scale.logarithmic);
        assert_eq!(scale.origin(), 0.0);
    }

    #[test]
    fn nothing_one_value_and_what_is_no_number_make_an_axis_all_the_same() {
        for values in [
            &[][..],
            &[0.0],
            &[7.0],
            &[-7.0],
            &[f64::NAN],
            &[f64::INFINITY, 1.0],
            &[1e-300, 1e300],
        ] {
            for start in [Start::Zero, Start::Free] {
                let scale = scale(values, start);
                assert!(scale.place(7.0).is_finite(), "{values:?}");
                assert!(scale.ticks(5).iter().all(|(place, _)| place.is_finite()), "{values:?}");
            }
        }
    }
}
