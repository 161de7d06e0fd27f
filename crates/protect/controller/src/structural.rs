//! A JSON schema as Kubernetes takes it: structural, without references.
//!
//! Rules that structural schemas cannot express are left to the parser: which fields there are
//! (`x-kubernetes-preserve-unknown-fields` keeps others, so that a mistyped one is refused by the
//! parser, with what was meant, and not dropped), which are required, and a value of one type or
//! another.

use serde_json::{Map, Value, json};

const KEEP: &str = "x-kubernetes-preserve-unknown-fields";
/// References within references: the file's schema has no cycle, and one that had is cut here.
const DEEPEST: usize = 32;
/// Suggestions that a description names.
const SUGGESTED: usize = 24;

/// The schema of a resource's field, of a schema of draft 7.
pub(crate) fn structural(schema: &Value) -> Value {
    convert(schema, schema, 0)
}

fn convert(schema: &Value, root: &Value, depth: usize) -> Value {
    let described = schema["description"].as_str();
    let (schema, nullable) = resolve(schema, root, depth);
    let mut out = Map::new();
    if let Some(text) = described.or(schema["description"].as_str()) {
        out.insert("description".to_owned(), json!(text));
    }
    let types = types(schema);
    match types.iter().find(|name| **name != "null").copied() {
        _ if depth >= DEEPEST => keep(&mut out),
        Some("object") => object(schema, root, depth, &mut out),
        Some("array") => {
            out.insert("type".to_owned(), json!("array"));
            out.insert("items".to_owned(), convert(&schema["items"], root, depth + 1));
        }
        Some(name @ ("string" | "integer" | "number" | "boolean")) => {
            out.insert("type".to_owned(), json!(name));
            for bound in ["minimum", "maximum"] {
                if let Some(value) = schema.get(bound).filter(|_| name == "integer") {
                    out.insert(bound.to_owned(), value.clone());
                }
            }
        }
        _ if is_text(schema, root) => {
            out.insert("type".to_owned(), json!("string"));
            suggest(schema, &mut out);
        }
        _ => keep(&mut out),
    }
    if (nullable || types.contains(&"null")) && out.contains_key("type") {
        out.insert("nullable".to_owned(), json!(true));
    }
    Value::Object(out)
}

fn keep(out: &mut Map<String, Value>) {
    out.insert(KEEP.to_owned(), json!(true));
}

fn object(schema: &Value, root: &Value, depth: usize, out: &mut Map<String, Value>) {
    out.insert("type".to_owned(), json!("object"));
    if let Some(properties) = schema["properties"].as_object() {
        let properties = properties
            .iter()
            .map(|(name, one)| (name.clone(), convert(one, root, depth + 1)));
        out.insert("properties".to_owned(), Value::Object(properties.collect()));
        keep(out);
    } else if schema["additionalProperties"].is_object() {
        out.insert(
            "additionalProperties".to_owned(),
            convert(&schema["additionalProperties"], root, depth + 1),
        );
    } else {
        keep(out);
    }
}

/// The schema that a reference, or a choice between something and nothing, leads to; and whether
/// nothing is a choice.
fn resolve<'a>(schema: &'a Value, root: &'a Value, depth: usize) -> (&'a Value, bool) {
    let (mut at, mut nullable) = (schema, false);
    for _ in depth..DEEPEST {
        if let Some(path) = at["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
            at = root.pointer(path).unwrap_or(&Value::Null);
            continue;
        }
        // schemars writes a reference with a description of its own in this way.
        if let Some([only]) = at["allOf"].as_array().map(Vec::as_slice) {
            at = only;
            continue;
        }
        let Some(choices) = at["anyOf"].as_array() else {
            break;
        };
        let mut something = choices.iter().filter(|choice| choice["type"] != "null");
        match (something.next(), something.next()) {
            (Some(only), None) => {
                nullable = true;
                at = only;
            }
            _ => break,
        }
    }
    (at, nullable)
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns true if each choice is a text: words, or suggestions and any other text.
fn is_text(schema: &Value, root: &Value) -> bool {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().any(Value::is_string);
    }
    let Some(choices) = schema["anyOf"].as_array() else {
        return false;
    };
    choices.iter().all(|choice| {
        let (choice, _) = resolve(choice, root, 0);
        match types(choice).first() {
            Some(first) => *first == "string" || *first == "null",
            None => choice["enum"]
                .as_array()
                .is_some_and(|words| words.iter().any(Value::is_string)),
        }
    })
}

/// Names the words in the description: as an enumeration they would refuse other spellings that the parser takes.
fn suggest(schema: &Value, out: &mut Map<String, Value>) {
    let choices = schema["anyOf"].as_array().into_iter().flatten().chain([schema]);
    let words: Vec<&str> = choices
        .filter_map(|choice| choice["enum"].as_array())
        .flatten()
        .filter_map(Value::as_str)
        .take(SUGGESTED)
        .collect();
    if words.is_empty() {
        return;
    }
    let words = format!("Words: {}.", words.join(", "));
    let described = out.get("description").and_then(Value::as_str);
    let text = described.map_or_else(|| words.clone(), |text| format!("{text} {words}"));
    out.insert("description".to_owned(), json!(text));
}
