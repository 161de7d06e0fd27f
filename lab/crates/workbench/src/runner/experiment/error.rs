//! Errors in a file that a user writes: file, line, cause and hint.

use std::path::Path;

use bartizan_deployment::{excerpt, nearest, syntax_error};
use serde_saphyr::{Location, Spanned};

/// An experiment's file, or one of published values, that was refused.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Not YAML, an unknown field, or a value of the wrong type.
    #[error(transparent)]
    Syntax(#[from] bartizan_deployment::Error),
    /// Well-formed, but it names something that is not there, or asks for what cannot be.
    #[error("{file}: {cause}{excerpt}")]
    Meaning {
        /// The file's name with line and column: `experiment.yaml:12:5`.
        file: String,
        /// Description of the fault.
        cause: String,
        /// The line with a mark under the column.
        excerpt: String,
        /// Correct text to write instead.
        hint: String,
    },
}

impl ExperimentError {
    /// Hint for the user, if there is more to say than the message does.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Syntax(error) => error.hint(),
            Self::Meaning { hint, .. } => Some(hint),
        }
    }
}

/// Place of a value in a file; both 0 if it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Place {
    pub(crate) fn of<T>(value: &Spanned<T>) -> Self {
        Self::at(value.referenced)
    }

    fn at(location: Location) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
        }
    }
}

/// A fault, before the file's name is put in front.
#[derive(Debug)]
pub(crate) struct Fault {
    place: Place,
    cause: String,
    hint: String,
}

impl Fault {
    pub(crate) fn new(place: Place, cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            place,
            cause: cause.into(),
            hint: hint.into(),
        }
    }

    /// `wrong` is none of `known`: the nearest is the hint, and all of them.
    pub(crate) fn unknown<'a>(
        place: Place,
        what: &str,
        wrong: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        // A message of one screen.
        const MOST: usize = 40;
        let meant = nearest(wrong, known.clone()).map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
        let listed: Vec<&str> = known.take(MOST).collect();
        let hint = if listed.is_empty() {
            "there are none".to_owned()
        } else {
            format!("{meant}there are {}", listed.join(", "))
        };
        Self::new(place, format!("{what} `{wrong}` is not known"), hint)
    }

    pub(crate) fn in_file(self, file: &Path, text: &str) -> ExperimentError {
        let Place { line, column } = self.place;
        let shown = usize::try_from(line)
            .ok()
            .and_then(|line| excerpt(text, line, column))
            .unwrap_or_default();
        ExperimentError::Meaning {
            file: if line == 0 {
                file.display().to_string()
            } else {
                format!("{}:{line}:{column}", file.display())
            },
            cause: self.cause,
            excerpt: shown,
            hint: self.hint,
        }
    }
}

/// Reads YAML into its raw shape.
pub(crate) fn read<T: serde::de::DeserializeOwned>(text: &str, file: &Path) -> Result<T, ExperimentError> {
    let name = file.display().to_string();
    Ok(serde_saphyr::from_str(text).map_err(|error| syntax_error(&error, text, &name))?)
}
