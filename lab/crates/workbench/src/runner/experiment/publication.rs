//! Publications whose experiments are repeated, by authors and year.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Those that experiments of this repository repeat, by the numbers their files have:
/// docs/papers.md has the references.
const KNOWN: [&str; 5] = [
    "Perera et al. 2026",
    "Otero-García et al. 2025",
    "Faval et al. 2026",
    "González Maldonado 2025",
    "Groen et al. 2024",
];

/// A publication.
///
/// A file names it by authors and year, or by its number among those of this repository: records
/// name the digest of their experiment's file, so the files that have records keep the numbers they
/// were measured with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Name", into = "String")]
pub struct Publication(String);

/// As a file names it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "authors and year are expected, or a number from 1 to 5")]
enum Name {
    Number(i64),
    Text(String),
}

impl Publication {
    /// Its number among those of this repository.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        KNOWN.iter().position(|known| *known == self.0).map(|index| index + 1)
    }
}

impl TryFrom<Name> for Publication {
    type Error = String;

    fn try_from(name: Name) -> Result<Self, String> {
        match name {
            Name::Text(name) if name.trim().is_empty() => Err("a publication is named by authors and year".to_owned()),
            Name::Text(name) => Ok(Self(name)),
            Name::Number(number) => match number
                .checked_sub(1)
                .and_then(|index| usize::try_from(index).ok())
                .and_then(|index| KNOWN.get(index))
            {
                Some(known) => Ok(Self((*known).to_owned())),
                None => Err(format!(
                    "no publication has the number {number}: name authors and year, such as `{}`",
                    KNOWN[2]
                )),
            },
        }
    }
}

impl From<Publication> for String {
    fn from(publication: Publication) -> Self {
        publication.0
    }
}

/// Authors and year.
impl fmt::Display for Publication {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Publication, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_publication_is_named_by_authors_and_year_or_by_a_known_number() {
        assert_eq!(parse("3").unwrap().to_string(), "Faval et al. 2026");
        assert_eq!(parse("\"Faval et al. 2026\"").unwrap(), parse("3").unwrap());
        assert_eq!(parse("3").unwrap().number(), Some(3));
        let other = parse("\"Attema et al. 2025\"").unwrap();
        assert_eq!(
            (other.to_string().as_str(), other.number()),
            ("Attema et al. 2025", None)
        );
        for wrong in ["0", "6", "-9223372036854775808", "[3]", "\" \""] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains("authors and year"), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_page_of_papers_has_a_reference_for_each() {
        let page = include_str!("../../../../../../docs/papers.md");
        for known in KNOWN {
            assert!(page.contains(&format!("**{known}**")), "{known}");
        }
    }
}
