//! Numbers with units as people read them. One rule for all that is printed:
//!
//! - three significant digits, more where an interval is that narrow, no more than five;
//! - whole numbers below 100 000 as they are: counts and sizes are exact;
//! - the unit in which a value has one to three digits before the point; bytes are bytes up to
//!   9999, so that a size of a frame is one.

use bartizan_stats::{Estimate, Interval};

bartizan_registry::made! {
    /// The display unit of values.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Shown,
    /// In the unit of this symbol.
    pub in_unit(symbol: &str) {
        /// Symbol behind the number.
        pub symbol: String = symbol.to_owned(),
        /// Factor that a value is multiplied by before.
        pub factor: f64 = 1.0,
    }
}

impl Shown {
    /// Without a unit, for ratios and shares.
    pub fn bare() -> Self {
        Self {
            symbol: String::new(),
            factor: 1.0,
        }
    }

    /// The number alone.
    pub fn number(&self, value: f64) -> String {
        let value = value * self.factor;
        rounded(value, decimals(value, None))
    }

    /// The number with its unit.
    pub fn value(&self, value: f64) -> String {
        self.with_symbol(self.number(value))
    }

    /// The number, and its interval to as many places; with unit.
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
    pub fn range(&self, low: f64, high: f64) -> String {
        between(&self.number(low), &self.number(high))
    }

    /// As [`Self::estimate`], of an estimate.
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
pub fn rounded(value: f64, places: i32) -> String {
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
}
