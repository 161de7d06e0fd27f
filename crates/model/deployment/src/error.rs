//! Errors in a deployment file: place, cause and hint.

/// A deployment file that was refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not YAML, an unknown field, or a value of the wrong type; the text shows the place in the file.
    #[error("{file}: {detail}")]
    Syntax {
        /// The file's name as given, with line and column: `core.yaml:6:5`.
        file: String,
        /// Cause, with the line itself.
        detail: String,
        /// Suggested replacement, if one can be guessed.
        hint: Option<String>,
    },
    /// Well-formed, but it says something that cannot be applied.
    #[error("{file}: {place}: {cause}")]
    Meaning {
        /// The file's name as given, with line and column of what stands at the place: `core.yaml:6:5`.
        file: String,
        /// Path of keys to the value: `nodes.nrf.sidecar.outbound[0].to`.
        place: String,
        /// Cause.
        cause: String,
        /// Remedy.
        hint: String,
    },
}

impl Error {
    /// Remedy, where it adds to the message.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Syntax { hint, .. } => hint.as_deref(),
            Self::Meaning { hint, .. } => Some(hint),
        }
    }
}

bartizan_registry::made! {
    /// An error inside one value, before the place in the file is known.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Fault,
    pub(crate) new(place: impl Into<String>, cause: impl Into<String>, hint: impl Into<String>) {
        pub(crate) place: String = place.into(),
        pub(crate) cause: String = cause.into(),
        pub(crate) hint: String = hint.into(),
    }
}

impl Fault {
    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.place = if self.place.is_empty() {
            outer.to_owned()
        } else if self.place.starts_with('[') {
            format!("{outer}{}", self.place)
        } else {
            format!("{outer}.{}", self.place)
        };
        self
    }
}
