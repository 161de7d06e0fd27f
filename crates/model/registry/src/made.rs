//! Structs with the one function that makes them, each field written once.

/// Declares a struct and the function that makes it: each field with its type and its value.
///
/// The values may use the arguments, and what `let` binds before the fields. A field without a
/// value takes the argument or binding of its name. The function may return an `Option` or a
/// `Result`.
///
/// ```
/// bartizan_registry::made! {
///     /// A span of time.
///     #[derive(Debug, PartialEq)]
///     struct Span, between(first: u64, last: u64) -> Option<Self> {
///         let length = last.checked_sub(first)?;
///         /// When it begins.
///         pub first: u64,
///         pub is_long: bool = length > 10,
///     }
/// }
/// assert_eq!(Span::between(3, 20), Some(Span { first: 3, is_long: true }));
/// assert_eq!(Span::between(20, 3), None);
/// ```
#[macro_export]
macro_rules! made {
    // Bindings of `let`, one by one.
    (@ $head:tt $make:tt $in:tt { $($before:tt)* } let $bound:tt $(: $of:ty)? = $value:expr; $($rest:tt)+) => {
        $crate::made! { @ $head $make $in { $($before)* let $bound $(: $of)? = $value; } $($rest)+ }
    };
    (
        @ [$(#[$of_struct:meta])* $vis:vis struct $name:ident [$($generic:tt)*]]
        [$(#[$of_make:meta])* $make_vis:vis $make:ident $arguments:tt -> $result:ty] $in:tt { $($before:tt)* }
        $($(#[$of_field:meta])* $field_vis:vis $field:ident: $type:ty $(= $value:expr)?),+ $(,)?
    ) => {
        $(#[$of_struct])*
        $vis struct $name $($generic)* {
            $($(#[$of_field])* $field_vis $field: $type),+
        }

        impl $($generic)* $name $($generic)* {
            $(#[$of_make])*
            $make_vis fn $make $arguments -> $result {
                $($before)*
                $crate::made!(@ in $in Self { $($field $(: $value)?),+ })
            }
        }
    };
    (@ in [] $made:expr) => { $made };
    (@ in [$variant:ident] $made:expr) => { $variant($made) };
    // The function's signature.
    (@ $head:tt $(#[$of_make:meta])* $vis:vis $make:ident $arguments:tt { $($body:tt)+ }) => {
        $crate::made! { @ $head [$(#[$of_make])* $vis $make $arguments -> Self] [] {} $($body)+ }
    };
    (@ $head:tt $(#[$of_make:meta])* $vis:vis $make:ident $arguments:tt -> Option<Self> { $($body:tt)+ }) => {
        $crate::made! { @ $head [$(#[$of_make])* $vis $make $arguments -> Option<Self>] [Some] {} $($body)+ }
    };
    (@ $head:tt $(#[$of_make:meta])* $vis:vis $make:ident $arguments:tt -> Result<Self, $e:ty> { $($body:tt)+ }) => {
        $crate::made! { @ $head [$(#[$of_make])* $vis $make $arguments -> Result<Self, $e>] [Ok] {} $($body)+ }
    };
    // The struct, with a lifetime or a type as its parameter.
    ($(#[$of_struct:meta])* $vis:vis struct $name:ident, $($rest:tt)+) => {
        $crate::made! { @ [$(#[$of_struct])* $vis struct $name []] $($rest)+ }
    };
    ($(#[$of_struct:meta])* $vis:vis struct $name:ident<$life:lifetime>, $($rest:tt)+) => {
        $crate::made! { @ [$(#[$of_struct])* $vis struct $name [<$life>]] $($rest)+ }
    };
    ($(#[$of_struct:meta])* $vis:vis struct $name:ident<$type:ident>, $($rest:tt)+) => {
        $crate::made! { @ [$(#[$of_struct])* $vis struct $name [<$type>]] $($rest)+ }
    };
}
