//! Numbers of a registry of IANA: constants, and the name of each.

/// Declares a type of numbers, a constant for each that the code uses, and the names of all: those of the constants, and of others
/// behind them. A number without a name is displayed behind the word.
macro_rules! numbers {
    (
        $(#[$of_type:meta])* $type:ident($number:ty), $word:literal;
        $($(#[$of_constant:meta])* $constant:ident = $value:literal),+ $(,)?;
        $($other:literal = $name:literal),* $(,)?
    ) => {
        $(#[$of_type])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub $number);

        impl $type {
            $($(#[$of_constant])* pub const $constant: Self = Self($value);)+

            /// Its name in the IANA registry.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($constant)),)+
                    $($other => Some($name),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => f.pad(&format!(concat!($word, " {}"), self.0)),
                }
            }
        }
    };
}
pub(super) use numbers;
