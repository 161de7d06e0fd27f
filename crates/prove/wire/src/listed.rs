//! Lists of all variants of an enum, which the compiler holds complete.

/// Gives an enum without fields the list of its variants. One that is missing does not compile, so
/// what is made from the list forgets none.
macro_rules! listed {
    ($kind:ident: $($variant:ident),+ $(,)?) => {
        impl $kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
        }
        const _: fn($kind) = |one| match one {
            $($kind::$variant => {})+
        };
    };
}

pub(crate) use listed;
