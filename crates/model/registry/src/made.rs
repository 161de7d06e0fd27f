//! Structs with the one function that makes them, each field written once.

/// Declares a struct and the function that makes it: each field with its type and its value.
///
/// The values may use the arguments, and what `let` binds before the fields.
///
/// ```
/// bartizan_registry::made! {
///     /// A span of time.
///     #[derive(Debug, PartialEq)]
///     struct Span, between(first: u64, last: u64) {
///         let length = last - first;
///         /// When it begins.
///         pub first: u64 = first,
///         pub is_long: bool = length > 10,
///     }
/// }
/// assert_eq!(Span::between(3, 20), Span { first: 3, is_long: true });
/// ```
#[macro_export]
macro_rules! made {
    // Bindings of `let`, one by one.
    (@ $head:tt { $($before:tt)* } let $bound:tt $(: $of:ty)? = $value:expr; $($rest:tt)+) => {
        $crate::made! { @ $head { $($before)* let $bound $(: $of)? = $value; } $($rest)+ }
    };
    (
        @ [$(#[$of_struct:meta])* $vis:vis struct $name:ident [$($life:tt)*],
        $(#[$of_make:meta])* $make_vis:vis $make:ident $arguments:tt] { $($before:tt)* }
        $($(#[$of_field:meta])* $field_vis:vis $field:ident: $type:ty = $value:expr),+ $(,)?
    ) => {
        $(#[$of_struct])*
        $vis struct $name $($life)* {
            $($(#[$of_field])* $field_vis $field: $type),+
        }

        impl $($life)* $name $($life)* {
            $(#[$of_make])*
            $make_vis fn $make $arguments -> Self {
                $($before)*
                Self { $($field: $value),+ }
            }
        }
    };
    (
        $(#[$of_struct:meta])* $vis:vis struct $name:ident $(<$life:lifetime>)?,
        $(#[$of_make:meta])* $make_vis:vis $make:ident $arguments:tt { $($body:tt)+ }
    ) => {
        $crate::made! {
            @ [$(#[$of_struct])* $vis struct $name [$(<$life>)?],
            $(#[$of_make])* $make_vis $make $arguments] {} $($body)+
        }
    };
}
