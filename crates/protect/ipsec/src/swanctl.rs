//! `swanctl.conf`, the configuration that an operator may already have: strongSwan's settings format, read with the place of
//! everything in it.
//!
//! Sections, `key = value`, quoted values, comments, `include` and references (`name : other { ... }`). Sans-IO: who calls brings the
//! text of what is included. The format is described in the manual page strongswan.conf(5).

mod parse;
mod resolve;

use std::fmt;

pub use parse::{Include, parse};

/// Position in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file as it was named.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.file, self.line))
    }
}

/// Why a configuration cannot be read: what is in it, or what it includes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {cause}")]
pub struct SyntaxError {
    /// Place at which reading stopped.
    pub place: Place,
    /// The syntax error.
    pub cause: String,
}

/// A section with references followed: values and sections in the order in which they first stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Keys with their values; an empty value is one that was unset.
    values: Vec<(String, String, Place)>,
    sections: Vec<(String, Place, Settings)>,
}

impl Settings {
    /// A value and where it stands; none where it is not set, or empty.
    pub fn value(&self, key: &str) -> Option<(&str, &Place)> {
        let found = self.values.iter().find(|(known, ..)| known == key)?;
        (!found.1.is_empty()).then_some((found.1.as_str(), &found.2))
    }

    /// The parts of a value between commas.
    pub fn list(&self, key: &str) -> Vec<&str> {
        let parts = self.value(key).map(|(value, _)| value.split(',')).into_iter().flatten();
        parts.map(str::trim).filter(|part| !part.is_empty()).collect()
    }

    /// A section in this one.
    pub fn section(&self, name: &str) -> Option<&Self> {
        let found = self.sections.iter().find(|(known, ..)| known == name);
        found.map(|(_, _, section)| section)
    }

    /// All sections in this one, with where each begins.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &Place, &Self)> {
        self.sections
            .iter()
            .map(|(name, place, section)| (name.as_str(), place, section))
    }
}

#[cfg(test)]
mod tests;
