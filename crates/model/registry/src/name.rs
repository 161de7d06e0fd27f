//! Comparison of names: people write `ML-KEM-768`, `mlkem768` and `ML_KEM_768` for one thing.

/// The letters and digits of a name, in lower case: all that decides whether two names are the same.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .map(|c| c.to_ascii_lowercase())
}

/// Returns true if two names differ at most in case, hyphens, underscores and spaces.
#[must_use]
pub fn same_name(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// Returns true if `needle` occurs within `name`, compared as [`same_name`] does; an empty needle
/// occurs everywhere.
#[must_use]
pub fn mentions(name: &str, needle: &str) -> bool {
    let name: String = letters(name).collect();
    let needle: String = letters(needle).collect();
    name.contains(&needle)
}

/// Returns true if any of these names is `wanted`.
pub(crate) fn any_is<const N: usize>(names: [Option<&str>; N], wanted: &str) -> bool {
    names.into_iter().flatten().any(|name| same_name(name, wanted))
}

/// Defines an enum whose variants each have one text: the enum, the list `ALL` of its variants, and
/// the method that returns the text.
///
/// ```
/// bartizan_registry::named! {
///     /// An end of a connection.
///     #[derive(Debug, Clone, Copy, PartialEq)]
///     pub enum End, name {
///         /// The end that began it.
///         Client = "client",
///         /// The other end.
///         Server = "server",
///     }
/// }
/// assert_eq!(End::ALL.map(End::name), ["client", "server"]);
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$of_enum:meta])* $vis:vis enum $kind:ident, $text_of:ident {
        $($(#[$of_variant:meta])* $variant:ident = $text:literal),+ $(,)?
    }) => {
        $(#[$of_enum])*
        $vis enum $kind {
            $($(#[$of_variant])* $variant),+
        }

        #[allow(dead_code)]
        impl $kind {
            /// All of them.
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// Its text, which stays the same.
            $vis const fn $text_of(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_underscores_and_case_do_not_make_another_name() {
        assert!(same_name("ML-KEM-768", "mlkem768"));
        assert!(same_name("ML_DSA_65", "ml-dsa-65"));
        assert!(!same_name("ML-KEM-768", "ML-KEM-76"));
        assert!(!same_name("P-256", "P-384"));
    }

    #[test]
    fn variants_are_listed_with_their_texts() {
        named! {
            #[derive(Clone, Copy)]
            enum End, name {
                Client = "client",
                Server = "server",
            }
        }
        assert_eq!(End::ALL.map(End::name), ["client", "server"]);
    }

    #[test]
    fn a_part_of_a_name_is_mentioned() {
        assert!(mentions("X25519MLKEM768", "ml-kem"));
        assert!(mentions("X25519MLKEM768", ""));
        assert!(!mentions("x25519", "x448"));
    }
}
