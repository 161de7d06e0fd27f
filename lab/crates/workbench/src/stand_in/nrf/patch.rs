//! JSON Patch (RFC 6902) as far as profiles are updated with it: add, replace, remove and test.

use serde_json::Value;

/// Reason why a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unapplied(pub(super) String);

/// Applies all operations, or none.
pub(super) fn apply(document: &Value, patch: &Value) -> Result<Value, Unapplied> {
    let operations = patch
        .as_array()
        .ok_or_else(|| Unapplied("a patch is an array of operations".to_owned()))?;
    if operations.is_empty() {
        return Err(Unapplied("no operation".to_owned()));
    }
    let mut patched = document.clone();
    for (number, operation) in operations.iter().enumerate() {
        one(&mut patched, operation).map_err(|reason| Unapplied(format!("operation {number}: {reason}")))?;
    }
    Ok(patched)
}

fn one(document: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |name: &str| operation[name].as_str().ok_or_else(|| format!("`{name}` is missing"));
    let (op, path) = (text("op")?, text("path")?);
    let value = || {
        operation
            .get("value")
            .cloned()
            .ok_or_else(|| "`value` is missing".to_owned())
    };
    let nothing = || format!("there is nothing at `{path}`");
    match op {
        "test" => {
            let found = document.pointer(path).ok_or_else(nothing)?;
            if *found == value()? {
                Ok(())
            } else {
                Err(format!("`{path}` has another value"))
            }
        }
        "replace" => {
            *document.pointer_mut(path).ok_or_else(nothing)? = value()?;
            Ok(())
        }
        "add" | "remove" => {
            let (parent, last) = path
                .rsplit_once('/')
                .ok_or_else(|| "the whole profile cannot be added or removed".to_owned())?;
            let last = last.replace("~1", "/").replace("~0", "~");
            let parent = document.pointer_mut(parent).ok_or_else(nothing)?;
            match (parent, op) {
                (Value::Object(members), "add") => {
                    members.insert(last, value()?);
                    Ok(())
                }
                (Value::Object(members), _) => members.remove(&last).map(drop).ok_or_else(nothing),
                (Value::Array(items), "add") => {
                    let end = items.len();
                    let index = if last == "-" { Some(end) } else { last.parse().ok() };
                    let index = index.filter(|index| *index <= end).ok_or_else(nothing)?;
                    items.insert(index, value()?);
                    Ok(())
                }
                (Value::Array(items), _) => {
                    let index = last.parse().ok().filter(|index| *index < items.len());
                    items.remove(index.ok_or_else(nothing)?);
                    Ok(())
                }
                _ => Err(nothing()),
            }
        }
        other => Err(format!("`{other}` is not one of add, replace, remove, test")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// From RFC 6902, appendix A.
    #[test]
    fn examples_of_the_rfc_give_what_it_says() {
        for (document, patch, expected) in [
            (
                json!({"foo": "bar"}),
                json!([{"op": "add", "path": "/baz", "value": "qux"}]),
                json!({"baz": "qux", "foo": "bar"}),
            ),
            (
                json!({"foo": ["bar", "baz"]}),
                json!([{"op": "add", "path": "/foo/1", "value": "qux"}]),
                json!({"foo": ["bar", "qux", "baz"]}),
            ),
            (
                json!({"baz": "qux", "foo": "bar"}),
                json!([{"op": "remove", "path": "/baz"}]),
                json!({"foo": "bar"}),
            ),
            (
                json!({"foo": ["bar", "qux", "baz"]}),
                json!([{"op": "remove", "path": "/foo/1"}]),
                json!({"foo": ["bar", "baz"]}),
            ),
            (
                json!({"baz": "qux", "foo": "bar"}),
                json!([{"op": "replace", "path": "/baz", "value": "boo"}]),
                json!({"baz": "boo", "foo": "bar"}),
            ),
            (
                json!({"foo": ["bar"]}),
                json!([{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]),
                json!({"foo": ["bar", ["abc", "def"]]}),
            ),
            (
                json!({"/": 9, "~1": 10}),
                json!([{"op": "test", "path": "/~01", "value": 10}]),
                json!({"/": 9, "~1": 10}),
            ),
        ] {
            assert_eq!(apply(&document, &patch), Ok(expected));
        }
    }

    #[test]
    fn what_cannot_be_applied_changes_nothing_and_says_why() {
        let document = json!({"a": 1, "b": [1]});
        for (patch, expected) in [
            (
                json!([{"op": "replace", "path": "/none", "value": 1}]),
                "nothing at `/none`",
            ),
            (
                json!([{"op": "remove", "path": "/a"}, {"op": "test", "path": "/b", "value": 2}]),
                "operation 1",
            ),
            (json!([{"op": "add", "path": "/b/7", "value": 1}]), "nothing at"),
            (json!([{"op": "add", "path": "/c"}]), "`value` is missing"),
            (json!([{"op": "copy", "path": "/c"}]), "not one of"),
            (json!([{"path": "/c"}]), "`op` is missing"),
            (json!([{"op": "remove", "path": ""}]), "whole profile"),
            (json!({}), "an array"),
            (json!([]), "no operation"),
        ] {
            let Unapplied(reason) = apply(&document, &patch).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
