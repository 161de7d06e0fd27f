//! Bounds of a review that is read.

/// No review is longer, in bytes: it is what an API server takes of a request's body.
pub const LARGEST: usize = 3 << 20;

/// Most JSON objects in a review: each is a map of some hundred bytes. A pod has some hundred, with
/// its old version and both's managed fields some thousand.
const OBJECTS: usize = 20_000;
/// Most commas and arrays: each is a value.
const VALUES: usize = 200_000;

/// The reason why a review that is too large is not read. Counted before anything is allocated for
/// it.
pub(crate) fn exceeded(body: &[u8]) -> Option<String> {
    if body.len() > LARGEST {
        return Some(format!("the review has more than {LARGEST} bytes"));
    }
    let (mut objects, mut values) = (0, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' => objects += 1,
            b',' | b'[' => values += 1,
            _ => {}
        }
    }
    if objects > OBJECTS {
        return Some(format!("the review has more than {OBJECTS} objects"));
    }
    (values > VALUES).then(|| format!("the review has more than {VALUES} values"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_strings_is_not_counted() {
        let text = format!(r#"{{"a": "\"{}"}}"#, "{,[".repeat(VALUES));
        assert_eq!(exceeded(text.as_bytes()), None);
    }

    #[test]
    fn objects_values_and_bytes_are_bounded() {
        assert_eq!(exceeded(&b"{".repeat(OBJECTS)), None);
        assert!(exceeded(&b"{".repeat(OBJECTS + 1)).unwrap().contains("objects"));
        assert!(exceeded(&b",".repeat(VALUES + 1)).unwrap().contains("values"));
        assert!(exceeded(&b" ".repeat(LARGEST + 1)).unwrap().contains("bytes"));
    }
}
