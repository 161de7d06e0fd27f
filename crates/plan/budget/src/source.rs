//! Origin of a number: every result of this crate has one.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// Kind of evidence for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// An RFC or a standard: sizes, timers, limits.
    Standard,
    /// A publication's text or table; never read off a picture.
    Paper,
    /// A record of an experiment, measured on the machine it names.
    Record,
    /// A file of the user.
    File,
    /// A flag of the user, or its default.
    Input,
    /// A formula over numbers that have sources themselves.
    Formula,
}

bartizan_registry::made! {
    /// Origin of a number.
    #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
    pub struct Source,
    /// A record of an experiment: its name, and the part and run within.
    pub record(name: impl Into<String>, place: impl Into<String>) {
        /// Kind of evidence.
        pub origin: Origin = Origin::Record,
        /// Its name: `RFC 4303`, `Groen et al. 2024`, the path of a record.
        pub name: Cow<'static, str> = Cow::Owned(name.into()),
        /// The place within: `section 2.2`, `table 4`; empty where the name says all.
        #[serde(skip_serializing_if = "str::is_empty")]
        pub place: Cow<'static, str> = Cow::Owned(place.into()),
    }
}

impl Source {
    /// An RFC or a standard, with the section.
    pub const fn standard(name: &'static str, place: &'static str) -> Self {
        Self::fixed(Origin::Standard, name, place)
    }

    /// A publication by authors and year, with section or table.
    pub const fn paper(name: &'static str, place: &'static str) -> Self {
        Self::fixed(Origin::Paper, name, place)
    }

    /// A formula, as it would be written on paper.
    pub const fn formula(formula: &'static str) -> Self {
        Self::fixed(Origin::Formula, formula, "")
    }

    /// A flag of the command line, or its default.
    pub const fn input(flag: &'static str) -> Self {
        Self::fixed(Origin::Input, flag, "")
    }

    /// A file of the user.
    pub fn file(path: impl Into<String>) -> Self {
        Self {
            origin: Origin::File,
            name: Cow::Owned(path.into()),
            place: Cow::Borrowed(""),
        }
    }

    const fn fixed(origin: Origin, name: &'static str, place: &'static str) -> Self {
        Self {
            origin,
            name: Cow::Borrowed(name),
            place: Cow::Borrowed(place),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}, {}", self.name, self.place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_reads_as_a_citation() {
        assert_eq!(
            Source::standard("RFC 4303", "section 2.4").to_string(),
            "RFC 4303, section 2.4"
        );
        assert_eq!(Source::formula("L / R").to_string(), "L / R");
        assert_eq!(Source::record("sack-delay", "run 1").to_string(), "sack-delay, run 1");
    }
}
