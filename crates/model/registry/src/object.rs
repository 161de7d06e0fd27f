//! Objects of documents for programs, each field named once.

/// Makes a value of an anonymous type that serializes as an object with these fields, in this order.
///
/// Attributes of serde may precede a field. The crate that uses it depends on `serde`.
///
/// ```
/// let hop = bartizan_registry::object!(Hop { protocol: "socks5", refusals: 2_u8 });
/// assert_eq!(serde_json::to_string(&hop).unwrap(), r#"{"protocol":"socks5","refusals":2}"#);
/// ```
#[macro_export]
macro_rules! object {
    ($name:ident { $($(#[$of_field:meta])* $field:ident $(: $value:expr)?),+ $(,)? }) => {{
        // The types of the fields are those of the values: each is a parameter with the field's name.
        #[allow(non_camel_case_types)]
        let object = {
            #[derive(serde::Serialize)]
            struct $name<$($field),+> {
                $($(#[$of_field])* $field: $field),+
            }
            $name { $($field $(: $value)?),+ }
        };
        object
    }};
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_object_has_its_fields_in_the_order_written_and_no_more() {
        let refusals = 2;
        let inner = Some(object!(Named { name: "a" }));
        let absent = inner.as_ref().filter(|_| false);
        let object = object!(Hop {
            protocol: "socks5",
            refusals,
            #[serde(flatten)]
            inner: inner.as_ref(),
            #[serde(flatten)]
            absent
        });
        let text = serde_json::to_string(&object).unwrap();
        assert_eq!(text, r#"{"protocol":"socks5","refusals":2,"name":"a"}"#);
    }
}
