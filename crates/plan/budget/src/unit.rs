//! Quantities with their unit in the type. None is negative, infinite or absurd: what is out of bounds is refused with the bound.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

/// Why a number is no quantity.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum UnitError {
    /// It lies outside of what makes sense.
    #[error("{quantity} of {given}{}: it is between {least} and {most}{}{}", around(" ", .unit, ""), around(" ", .unit, ""), around(" (", .why, ")"))]
    OutOfBounds {
        /// Requested quantity, such as `distance`.
        quantity: &'static str,
        /// Given number.
        given: f64,
        /// The unit of all three numbers.
        unit: &'static str,
        /// The least that is accepted.
        least: f64,
        /// The most that is accepted.
        most: f64,
        /// Why no more, in a few words; may be empty.
        why: &'static str,
    },
    /// It is not a number with a unit that is known.
    #[error("`{text}` is no {quantity}: write a number and its unit, such as {example}; units are {units}")]
    NotRead {
        /// Requested quantity.
        quantity: &'static str,
        /// Given text.
        text: String,
        /// Valid example.
        example: &'static str,
        /// All units.
        units: String,
    },
}

/// Words between `before` and `after`, such as a unit behind its number; nothing for no words.
fn around(before: &str, words: &str, after: &str) -> String {
    match words {
        "" => String::new(),
        words => format!("{before}{words}{after}"),
    }
}

/// Properties of a quantity: notation and bounds.
trait Quantity: Sized + Copy {
    const NAME: &'static str;
    /// Symbol of the unit the value is kept in.
    const UNIT: &'static str;
    const LEAST: f64;
    const MOST: f64;
    /// Why no more.
    const WHY: &'static str;
    /// Accepted suffixes with how many of [`Self::UNIT`] they are; an empty suffix where no unit is needed.
    const UNITS: &'static [(&'static str, f64)];
    const EXAMPLE: &'static str;
}

fn bounded<Q: Quantity>(value: f64) -> Result<f64, UnitError> {
    // Negated, so that what is not a number is refused too.
    if !(Q::LEAST..=Q::MOST).contains(&value) {
        return Err(UnitError::OutOfBounds {
            quantity: Q::NAME,
            given: value,
            unit: Q::UNIT,
            least: Q::LEAST,
            most: Q::MOST,
            why: Q::WHY,
        });
    }
    Ok(value)
}

fn read<Q: Quantity>(text: &str) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    // `1e6m`: the exponent belongs to the number, so the longest suffix of letters that is a unit is taken.
    let mut units: Vec<_> = Q::UNITS.to_vec();
    units.sort_by_key(|(suffix, _)| std::cmp::Reverse(suffix.len()));
    units
        .into_iter()
        .find_map(|(suffix, factor)| {
            let number: f64 = trimmed.strip_suffix(suffix)?.trim_end().parse().ok()?;
            Some(number * factor)
        })
        .ok_or_else(|| UnitError::NotRead {
            quantity: Q::NAME,
            text: trimmed.chars().take(40).collect(),
            example: Q::EXAMPLE,
            units: Q::UNITS
                .iter()
                .map(|(suffix, _)| if suffix.is_empty() { "none" } else { suffix })
                .collect::<Vec<_>>()
                .join(", "),
        })
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $what:literal in $unit:literal, $least:literal to $most:literal because $why:literal, as $example:literal: $($suffix:literal = $factor:literal),*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
        pub struct $name(f64);

        impl Quantity for $name {
            const NAME: &'static str = $what;
            const UNIT: &'static str = $unit;
            const LEAST: f64 = $least;
            const MOST: f64 = $most;
            const WHY: &'static str = $why;
            const UNITS: &'static [(&'static str, f64)] = &[$(($suffix, $factor)),*];
            const EXAMPLE: &'static str = $example;
        }

        impl $name {
            /// A quantity of this many units; refused where that is out of bounds or no number.
            pub fn new(value: f64) -> Result<Self, UnitError> {
                bounded::<Self>(value).map(Self)
            }

            /// Number of units.
            pub const fn value(self) -> f64 {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                Self::new(read::<Self>(text)?)
            }
        }
    };
}

quantity! {
    /// A time, in microseconds.
    Microseconds, "time" in "us", 0.0 to 3.1536e13 because "a year", as "75us":
    "ns" = 1e-3, "us" = 1.0, "µs" = 1.0, "ms" = 1e3, "s" = 1e6, "min" = 6e7, "h" = 3.6e9, "d" = 8.64e10
}

quantity! {
    /// A length of a link, in metres.
    Metres, "distance" in "m", 0.0 to 1e8 because "up to a geostationary satellite and down are 71 600 km", as "20km":
    "m" = 1.0, "km" = 1e3
}

quantity! {
    /// A rate, in bits per second.
    BitsPerSecond, "rate" in "bit/s", 1.0 to 1e15 because "no fibre carries a petabit per second to a site", as "10Gb/s":
    "b/s" = 1.0, "bit/s" = 1.0, "kb/s" = 1e3, "kbit/s" = 1e3, "Mb/s" = 1e6, "Mbit/s" = 1e6, "Gb/s" = 1e9, "Gbit/s" = 1e9, "Tb/s" = 1e12, "Tbit/s" = 1e12
}

quantity! {
    /// The share of a capacity that is used, from 0 to 1: `0.4`, `40%`.
    Share, "share" in "", 0.0 to 1.0 because "the whole; 40 of 100 is written 40%", as "40%":
    "" = 1.0, "%" = 1e-2
}

impl Microseconds {
    /// No time.
    pub const ZERO: Self = Self(0.0);

    /// Excess over another duration; zero if shorter.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0.0))
    }
}

impl Add for Microseconds {
    type Output = Self;

    /// Sums of bounded times are finite; they may pass the bound of an input.
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sum for Microseconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}

/// A size, in bytes: of a header, a packet, a flight, a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Bytes(u64);

impl Quantity for Bytes {
    const NAME: &'static str = "size";
    const UNIT: &'static str = "bytes";
    const LEAST: f64 = 0.0;
    const MOST: f64 = Self::MOST as f64;
    const WHY: &'static str = "a petabyte";
    const UNITS: &'static [(&'static str, f64)] = &[
        ("", 1.0),
        ("B", 1.0),
        ("kB", 1e3),
        ("KiB", 1024.0),
        ("MB", 1e6),
        ("MiB", 1_048_576.0),
        ("GB", 1e9),
        ("GiB", 1_073_741_824.0),
    ];
    const EXAMPLE: &'static str = "1500";
}

impl Bytes {
    /// The most that is accepted.
    pub const MOST: u64 = 1_000_000_000_000_000;
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many bytes; refused above a petabyte.
    pub fn new(bytes: u64) -> Result<Self, UnitError> {
        bounded::<Self>(bytes as f64).map(|_| Self(bytes))
    }

    /// Number of bytes.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Number of bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }

    /// Excess over another size; zero if smaller.
    #[must_use]
    pub const fn beyond(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// In how many pieces of this size at most it goes; in none where the pieces hold nothing.
    pub const fn pieces_of(self, piece: Self) -> Option<u64> {
        if piece.0 == 0 {
            None
        } else {
            Some(self.0.div_ceil(piece.0))
        }
    }

    /// The next multiple of `block`, which is not zero.
    #[must_use]
    pub const fn padded_to(self, block: u16) -> Self {
        if block == 0 {
            self
        } else {
            Self(self.0.div_ceil(block as u64) * block as u64)
        }
    }
}

macro_rules! from {
    ($($number:ty),+) => {
        $(impl From<$number> for Bytes {
            fn from(bytes: $number) -> Self {
                Self(u64::from(bytes))
            }
        })+
    };
}
from!(u8, u16, u32);

impl Add for Bytes {
    type Output = Self;

    /// Both are below 2^50: a sum of any number of them that fits into memory does not overflow; one that would stays at the most.
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let value = bounded::<Self>(read::<Self>(text)?)?;
        if value.fract() != 0.0 {
            return Err(UnitError::NotRead {
                quantity: "whole number of bytes",
                text: text.chars().take(40).collect(),
                example: Self::EXAMPLE,
                units: "none, B, kB, KiB, MB, MiB, GB, GiB".to_owned(),
            });
        }
        // Within 0 to 10^15, where every whole f64 is an exact u64.
        Ok(Self(value as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_read_as_people_write_them() {
        assert_eq!("20km".parse::<Metres>().unwrap().value(), 20_000.0);
        assert_eq!("20 km".parse::<Metres>().unwrap().value(), 20_000.0);
        assert_eq!("1e3m".parse::<Metres>().unwrap().value(), 1000.0);
        assert_eq!("10Gb/s".parse::<BitsPerSecond>().unwrap().value(), 1e10);
        assert_eq!("575 Mbit/s".parse::<BitsPerSecond>().unwrap().value(), 5.75e8);
        assert_eq!("1.5ms".parse::<Microseconds>().unwrap().value(), 1500.0);
        assert_eq!("15 s".parse::<Microseconds>().unwrap().value(), 15e6);
        assert_eq!("40%".parse::<Share>().unwrap().value(), 0.4);
        assert_eq!("7678".parse::<Bytes>().unwrap().value(), 7678);
        assert_eq!("8KiB".parse::<Bytes>().unwrap().value(), 8192);
    }

    #[test]
    fn absurd_quantities_are_refused_with_the_bound() {
        let refused = |text: &str| text.parse::<Metres>().unwrap_err().to_string();
        assert_eq!(
            refused("-1m"),
            "distance of -1 m: it is between 0 and 100000000 m (up to a geostationary satellite and down are 71 600 km)"
        );
        assert!(refused("1e30km").contains("between 0 and 100000000 m"));
        assert!(refused("NaNm").contains("between 0 and"), "{}", refused("NaNm"));
        assert!(refused("infm").contains("between 0 and"));
        assert_eq!(
            refused("20"),
            "`20` is no distance: write a number and its unit, such as 20km; units are m, km"
        );
        assert!("101%".parse::<Share>().is_err());
        assert_eq!(
            "40".parse::<Share>().unwrap_err().to_string(),
            "share of 40: it is between 0 and 1 (the whole; 40 of 100 is written 40%)"
        );
        assert!("0b/s".parse::<BitsPerSecond>().is_err());
        assert!("1.5".parse::<Bytes>().unwrap_err().to_string().contains("whole number"));
        assert!(
            "10000000GB"
                .parse::<Bytes>()
                .unwrap_err()
                .to_string()
                .contains("petabyte")
        );
        assert!(Bytes::new(u64::MAX).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_quantity_out_of_bounds(text in "\\PC{0,12}") {
            if let Ok(metres) = text.parse::<Metres>() {
                prop_assert!((Metres::LEAST..=Metres::MOST).contains(&metres.value()));
            }
            if let Ok(time) = text.parse::<Microseconds>() {
                prop_assert!(time.value() >= 0.0 && time.value().is_finite());
            }
            if let Ok(size) = text.parse::<Bytes>() {
                prop_assert!(size.value() <= Bytes::MOST);
            }
        }

        #[test]
        fn padding_is_less_than_a_block(bytes in 0_u32..1 << 30, block in 1_u16..256) {
            let padded = Bytes::from(bytes).padded_to(block);
            prop_assert_eq!(padded.value() % u64::from(block), 0);
            prop_assert!(padded.value() - u64::from(bytes) < u64::from(block));
        }
    }
}
