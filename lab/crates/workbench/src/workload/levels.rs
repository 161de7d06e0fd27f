//! Level of each factor in a trial.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Levels by their factor: of all factors it is a combination, of some it stands for every combination that has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Levels(BTreeMap<String, String>);

impl Levels {
    /// The level of this factor.
    #[must_use]
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.0.get(factor).map(String::as_str)
    }

    /// True if it has every level of `part`.
    #[must_use]
    pub fn matches(&self, part: &Self) -> bool {
        part.iter().all(|(factor, level)| self.level(factor) == Some(level))
    }

    /// Factors with their levels, by the factor's name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(factor, level)| (factor.as_str(), level.as_str()))
    }

    /// True if it names no factor. It then matches everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same with this level of this factor, instead of another if it had one.
    #[must_use]
    pub fn with(mut self, factor: &str, level: &str) -> Self {
        self.0.insert(factor.to_owned(), level.to_owned());
        self
    }

    /// The same without this factor.
    #[must_use]
    pub fn without(mut self, factor: &str) -> Self {
        self.0.remove(factor);
        self
    }
}

impl<'a> IntoIterator for &'a Levels {
    type Item = (&'a str, &'a str);
    type IntoIter = Box<dyn Iterator<Item = Self::Item> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl<F: Into<String>, L: Into<String>> FromIterator<(F, L)> for Levels {
    fn from_iter<I: IntoIterator<Item = (F, L)>>(levels: I) -> Self {
        Self(
            levels
                .into_iter()
                .map(|(factor, level)| (factor.into(), level.into()))
                .collect(),
        )
    }
}

impl fmt::Display for Levels {
    /// As `deployment=pqc-sidecar connection=new`, by the factor's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (factor, level)) in self.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{factor}={level}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_combination_matches_each_of_its_parts_and_no_other() {
        let whole: Levels = [("mode", "classical"), ("proxy", "splice")].into_iter().collect();
        assert!(whole.matches(&Levels::default()));
        assert!(whole.matches(&Levels::default().with("mode", "classical")));
        assert!(!whole.matches(&Levels::default().with("mode", "post-quantum")));
        assert!(!whole.matches(&whole.clone().with("placement", "one-core")));
        assert_eq!(whole.to_string(), "mode=classical proxy=splice");
    }
}
