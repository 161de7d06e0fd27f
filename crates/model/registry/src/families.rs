//! Tables of metrics: a family's field, type, name and help text in one place.

/// Defines label sets of families, one a line, each with `new`, which takes the labels in order.
///
/// The crate that uses it depends on `prometheus-client`, as for [`metric_families`](crate::metric_families).
#[macro_export]
macro_rules! label_sets {
    ($($vis:vis $name:ident { $($of_field:vis $field:ident: $type:ty),+ })+) => {
        $(
            #[derive(Debug, Clone, PartialEq, Eq, Hash, prometheus_client::encoding::EncodeLabelSet)]
            $vis struct $name {
                $($of_field $field: $type),+
            }

            #[allow(dead_code)]
            impl $name {
                $vis fn new($($field: impl Into<$type>),+) -> Self {
                    Self { $($field: $field.into()),+ }
                }
            }
        )+
    };
}

/// Defines a struct of metrics with `unregistered`, which makes them, and `register`, which
/// registers them in the order of the table. Fields after `and` are no metrics.
///
/// A family whose type has no default is followed by `by` and the expression that makes it.
#[macro_export]
macro_rules! metric_families {
    (
        $(#[$of_struct:meta])*
        $vis:vis struct $name:ident {
            $($of_field:vis $field:ident: $type:ty $(, by $made:expr)?; $metric:literal, $help:literal;)+
        }
        and { $($(#[$of_other:meta])* $other:ident: $other_type:ty),* }
    ) => {
        $(#[$of_struct])*
        $vis struct $name {
            $($of_field $field: $type,)+
            $($(#[$of_other])* $other: $other_type,)*
        }

        impl $name {
            fn unregistered() -> Self {
                Self {
                    $($field: $crate::metric_families!(@made $($made)?),)+
                    $($other: Default::default(),)*
                }
            }

            fn register(&self, registry: &mut prometheus_client::registry::Registry) {
                $(registry.register($metric, $help, self.$field.clone());)+
            }
        }
    };
    (@made) => { Default::default() };
    (@made $made:expr) => { $made };
}
