//! Reading a JSON document whose shape is not certain: what is not what it should be is never taken
//! for what is harmless.

use serde_json::Value;

/// The text at a path of keys; none where there is none, or something else stands there.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path).as_str()
}

static NOTHING: Value = Value::Null;

/// The value at a path of keys, `null` where there is none.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter()
        .fold(value, |value, key| value.get(*key).unwrap_or(&NOTHING))
}

/// Returns true if a flag is set. Only `false` and nothing are not.
pub(crate) fn is_set(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

/// The elements of a list, which may be left out.
///
/// # Errors
/// If something else than a list stands there.
pub(crate) fn list(value: &Value) -> Result<&[Value], ()> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(all) => Ok(all),
        _ => Err(()),
    }
}

/// A name from a review as it goes into a message: short, and on one line.
pub(crate) fn shown(name: &str) -> String {
    const LONGEST: usize = 63;
    let mut text: String = name.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if name.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    text
}
