//! Numbers with units as people read them. One rule for all that is printed:
//!
//! - three significant digits, more where an interval is that narrow, no more than five;
//! - whole numbers below 100 000 as they are: counts and sizes are exact;
//! - the unit in which a value has one to three digits before the point; bytes are bytes up to
//!   9999, so that a size of a frame is one.

use bartizan_stats::{Estimate, Interval};

/// Units that are multiples of each other, by how many of the family's base unit they hold; the name shown comes first.
const FAMILIES: [&[(&[&str], f64)]; 3] = [
    &[
        (&["ns", "nanoseconds"], 1e-9),
        (&["µs", "us", "microseconds"], 1e-6),
        (&["ms", "milliseconds"], 1e-3),
        (&["s", "seconds"], 1.0),
    ],
    &[
        (&["bytes", "byte", "B"], 1.0),
        (&["kB"], 1e3),
        (&["MB"], 1e6),
        (&["GB"], 1e9),
    ],
    &[
        (&["bytes/s", "B/s"], 1.0),
        (&["kB/s"], 1e3),
        (&["MB/s"], 1e6),
        (&["GB/s"], 1e9),
    ],
];

/// The display unit of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Symbol behind the number.
    pub symbol: String,
    /// Factor that a value is multiplied by before.
    pub factor: f64,
}

/// A value in another unit of its family; as it is where the units are the same; `None` where they
/// have nothing in common.
#[must_use]
pub fn convert(value: f64, from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(value);
    }
    let (family, from) = place(from)?;
    let (other, to) = place(to)?;
    (family == other).then(|| value * (FAMILIES[family][from].1 / FAMILIES[other][to].1))
}

fn place(unit: &str) -> Option<(usize, usize)> {
    FAMILIES.iter().enumerate().find_map(|(family, units)| {
        let index = units.iter().position(|(names, _)| names.contains(&unit))?;
        Some((family, index))
    })
}

impl Shown {
    /// The unit of the family in which this value (in `unit`) has one to three digits before the point.
    #[must_use]
    pub fn for_values(unit: &str, typical: f64) -> Self {
        let Some((family, from)) = place(unit) else {
            return Self {
                symbol: unit.to_owned(),
                factor: 1.0,
            };
        };
        let base = typical.abs() * FAMILIES[family][from].1;
        let units = FAMILIES[family];
        // Units of time begin below one: their first is no exact count.
        let exact = units[0].1 == 1.0;
        let least = |size: f64| {
            if exact && size > 1.0 {
                size * 9.9995
            } else {
                size * 0.9995
            }
        };
        let chosen = units.iter().rev().find(|(_, size)| base >= least(*size));
        // Nothing, and what is smaller than the smallest unit, stays where it was or at the smallest.
        let (names, size) = match chosen {
            Some(unit) => unit,
            None if base == 0.0 => &units[from],
            None => &units[0],
        };
        Self {
            symbol: names[0].to_owned(),
            factor: FAMILIES[family][from].1 / size,
        }
    }

    /// In this unit, by the name that it is shown by.
    #[must_use]
    pub fn in_unit(unit: &str) -> Self {
        let name = place(unit).map_or(unit, |(family, index)| FAMILIES[family][index].0[0]);
        Self {
            symbol: name.to_owned(),
            factor: 1.0,
        }
    }

    /// Without a unit, for ratios and shares.
    #[must_use]
    pub fn bare() -> Self {
        Self {
            symbol: String::new(),
            factor: 1.0,
        }
    }

    /// The number alone.
    #[must_use]
    pub fn number(&self, value: f64) -> String {
        let value = value * self.factor;
        rounded(value, decimals(value, None))
    }

    /// The number with its unit.
    #[must_use]
    pub fn value(&self, value: f64) -> String {
        self.with_symbol(self.number(value))
    }

    /// The number, and its interval to as many places; with unit.
    #[must_use]
    pub fn estimate(&self, value: f64, interval: Option<Interval>) -> String {
        match interval {
            // Values that never differ have no width to show.
            Some(interval) if interval.low < interval.high => {
                let (number, interval) = self.parts(value, interval);
                format!("{} [{interval}]", self.with_symbol(number))
            }
            _ => self.value(value),
        }
    }

    /// The number and its interval, to as many places each, without unit.
    #[must_use]
    pub fn parts(&self, value: f64, interval: Interval) -> (String, String) {
        let (value, low, high) = (
            value * self.factor,
            interval.low * self.factor,
            interval.high * self.factor,
        );
        let places = decimals(value, Some((high - low) / 2.0));
        let number = rounded(value, places);
        (number, between(&rounded(low, places), &rounded(high, places)))
    }

    /// From one number to another.
    #[must_use]
    pub fn range(&self, low: f64, high: f64) -> String {
        between(&self.number(low), &self.number(high))
    }

    /// As [`Self::estimate`], of an estimate.
    #[must_use]
    pub fn of(&self, estimate: &Estimate) -> String {
        self.estimate(estimate.value, Some(estimate.interval))
    }

    fn with_symbol(&self, number: String) -> String {
        match self.symbol.as_str() {
            "" => number,
            // A no-break space, so that number and unit stay on a line.
            symbol => format!("{number}\u{a0}{symbol}"),
        }
    }
}

/// A share in per cent: `12 %`, `1.3 %` below ten.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let places = if value.abs() < 9.95 { 1 } else { 0 };
    format!("{}\u{a0}%", rounded(value, places))
}

/// The same with its sign, also where it is more.
#[must_use]
pub fn signed_percent(share: f64) -> String {
    let text = percent(share);
    if share > 0.0 { format!("+{text}") } else { text }
}

/// Levels as they are read: `deployment pqc-sidecar, connection new`.
#[must_use]
pub fn words<'a>(levels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let words: Vec<String> = levels
        .into_iter()
        .map(|(factor, level)| format!("{factor} {level}"))
        .collect();
    words.join(", ")
}

/// With a dash; with a word where a minus sign would be mistaken for one.
fn between(low: &str, high: &str) -> String {
    if low.starts_with('\u{2212}') || high.starts_with('\u{2212}') {
        format!("{low} to {high}")
    } else {
        format!("{low}\u{2013}{high}")
    }
}

/// Number of decimal places that show three significant digits, or half an interval's width (two
/// digits of it below 35, else one), but not more than five of the value; negative where digits
/// before the point are rounded.
fn decimals(value: f64, half_width: Option<f64>) -> i32 {
    let magnitude = |value: f64| value.abs().log10().floor() as i32;
    let width = half_width.filter(|width| *width > 0.0 && width.is_finite());
    if value == 0.0 || !value.is_finite() {
        return width.map_or(0, |width| (-magnitude(width / 3.5)).clamp(0, 9));
    }
    if value.fract() == 0.0 && value.abs() < 1e5 && width.is_none() {
        return 0;
    }
    let three = 2 - magnitude(value);
    match width.map(|width| (width, -magnitude(width / 3.5))) {
        None => three,
        // Digits of a value that may be zero say nothing.
        Some((width, places)) if width > value.abs() => places.clamp(0, 9),
        Some((_, places)) => places.clamp(three, three + 2),
    }
}

/// Rounded to so many places, digits grouped by three, with a minus sign that is one.
pub(crate) fn rounded(value: f64, places: i32) -> String {
    let (value, places) = if places < 0 {
        let unit = 10_f64.powi(-places);
        ((value / unit).round() * unit, 0)
    } else {
        (value, places.min(12) as usize)
    };
    let digits = format!("{:.places$}", value.abs());
    let (whole, fraction) = digits
        .split_once('.')
        .map_or((digits.as_str(), None), |(a, b)| (a, Some(b)));
    let zero = !digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let mut text = String::from(if value < 0.0 && !zero { "\u{2212}" } else { "" });
    for (index, digit) in whole.chars().enumerate() {
        // A narrow no-break space, from five digits on.
        if index > 0 && (whole.len() - index).is_multiple_of(3) && whole.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_more_where_the_interval_is_narrow() {
        let bare = Shown::bare();
        for (value, text) in [
            (54.049, "54.0"),
            (0.012_34, "0.0123"),
            (999.6, "1000"),
            (12_345.0, "12\u{202f}345"),
            (12_345.6, "12\u{202f}300"),
            (123_456.0, "123\u{202f}000"),
            (1234.0, "1234"),
            (1234.5, "1230"),
            (-3.0, "\u{2212}3"),
            (-3.001, "\u{2212}3.00"),
            (0.0, "0"),
            (1.0, "1"),
        ] {
            assert_eq!(bare.number(value), text);
        }
        let interval = |low, high| Some(Interval { low, high });
        assert_eq!(
            bare.estimate(54.049, interval(54.041, 54.055)),
            "54.049 [54.041\u{2013}54.055]"
        );
        assert_eq!(bare.estimate(54.049, interval(40.0, 70.0)), "54.0 [40.0\u{2013}70.0]");
        assert_eq!(
            bare.estimate(0.000_706, interval(-0.029_434, 0.018_141)),
            "0.001 [\u{2212}0.029 to 0.018]"
        );
        assert_eq!(bare.estimate(100.0, interval(100.0, 100.0)), "100");
        assert_eq!(bare.estimate(0.0, interval(-0.1, 0.1)), "0.00 [\u{2212}0.10 to 0.10]");
    }

    #[test]
    fn units_are_those_in_which_a_value_is_easily_read() {
        let ms = Shown::for_values("us", 54_050.0);
        assert_eq!(
            (ms.symbol.as_str(), ms.value(54_050.0).as_str()),
            ("ms", "54.1\u{a0}ms")
        );
        assert_eq!(Shown::for_values("us", 12.04).value(12.04), "12.0\u{a0}µs");
        assert_eq!(
            Shown::for_values("bytes", 12_500_000.0).value(12_500_000.0),
            "12.5\u{a0}MB"
        );
        assert_eq!(
            Shown::for_values("requests/s", 12_500.0).value(12_500.0),
            "12\u{202f}500\u{a0}requests/s"
        );
        assert_eq!(Shown::for_values("ms", 0.0).value(0.0), "0\u{a0}ms");
    }

    #[test]
    fn the_size_of_a_frame_is_printed_in_bytes_wherever_it_stands() {
        for size in [62.0, 1425.0, 1485.0, 9999.0] {
            assert_eq!(
                Shown::for_values("bytes", size).value(size),
                format!("{size}\u{a0}bytes")
            );
            assert_eq!(Shown::for_values("B", size).value(size), format!("{size}\u{a0}bytes"));
        }
        assert_eq!(Shown::for_values("bytes", 10_000.0).value(10_000.0), "10\u{a0}kB");
        assert_eq!(Shown::for_values("kB", 1.425).value(1.425), "1425\u{a0}bytes");
        assert_eq!(Shown::for_values("B/s", 14_958.19).value(14_958.19), "15.0\u{a0}kB/s");
    }

    #[test]
    fn values_are_converted_within_a_family_only() {
        assert_eq!(
            convert(0.0597, "s", "ms").map(|value| (value * 1e6).round()),
            Some(59_700_000.0)
        );
        assert_eq!(convert(3.0, "us", "µs"), Some(3.0));
        assert_eq!(convert(3.0, "requests/s", "requests/s"), Some(3.0));
        assert_eq!(convert(3.0, "ms", "bytes"), None);
        assert_eq!(convert(3.0, "requests", "ms"), None);
    }
}
