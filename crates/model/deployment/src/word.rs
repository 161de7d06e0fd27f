//! Fields that take one of a few words. The parser reads by the list, and the [schema](crate::schema) shows the same list to editors.

use crate::error::Fault;

/// A value that a deployment file names by a word.
pub(crate) trait Word: Copy + 'static {
    /// All of them, in the order in which a hint names them.
    const ALL: &'static [Self];

    /// The word in the deployment file.
    fn word(self) -> &'static str;

    /// The value that this word names.
    fn named(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == text)
    }

    /// The value that `text` names, `default` where the field is left out; a fault at `place` where it names none.
    fn read(place: &str, text: Option<&str>, default: Self) -> Result<Self, Fault> {
        let Some(text) = text else { return Ok(default) };
        Self::named(text).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            Fault::new(place, format!("`{shown}` is not known"), Self::hint())
        })
    }

    /// Suggested words: `write out, in, both or no`.
    fn hint() -> String {
        let words: Vec<_> = Self::ALL.iter().map(|value| value.word()).collect();
        match words.split_last() {
            Some((last, others)) if !others.is_empty() => format!("write {} or {last}", others.join(", ")),
            _ => format!("write {}", words.join("")),
        }
    }
}

/// Gives types their words: all variants, by their own `name`.
macro_rules! words {
    ($($type:ty),+) => {
        $(impl $crate::word::Word for $type {
            const ALL: &'static [Self] = &<$type>::ALL;

            fn word(self) -> &'static str {
                self.name()
            }
        })+
    };
}

pub(crate) use words;
