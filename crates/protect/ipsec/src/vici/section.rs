//! The tree of values a message carries.

use std::fmt;

use zeroize::Zeroizing;

/// Keys whose values are private keys or pre-shared keys in some message (`load-key`, `load-shared`): never shown.
const SECRET: [&str; 2] = ["data", "secret"];

/// Named values in the order they were written or read.
///
/// A name may stand twice, as the protocol does not forbid it; look-ups then find the first.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Section {
    entries: Vec<(String, Value)>,
}

/// Value of a name.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Bytes, mostly text. Wiped when dropped: a private key is one of them.
    Data(Zeroizing<Vec<u8>>),
    /// Bytes without names, in order.
    List(Vec<Vec<u8>>),
    /// A tree below.
    Section(Section),
}

impl Section {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with `name = value` at its end.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl AsRef<[u8]>) -> Self {
        self.set(name, value);
        self
    }

    /// The same with a list at its end.
    #[must_use]
    pub fn with_list<T: AsRef<[u8]>>(mut self, name: impl Into<String>, items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(|item| item.as_ref().to_vec()).collect();
        self.push(name, Value::List(items));
        self
    }

    /// The same with a section at its end.
    #[must_use]
    pub fn with_section(mut self, name: impl Into<String>, section: Section) -> Self {
        self.push(name, Value::Section(section));
        self
    }

    /// Adds `name = value` at the end.
    pub fn set(&mut self, name: impl Into<String>, value: impl AsRef<[u8]>) {
        self.push(name, Value::Data(Zeroizing::new(value.as_ref().to_vec())));
    }

    /// Adds any value at the end.
    pub fn push(&mut self, name: impl Into<String>, value: Value) {
        self.entries.push((name.into(), value));
    }

    /// Names and values in order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The first value of this name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The bytes of this name, where it is neither list nor section.
    pub fn data(&self, name: &str) -> Option<&[u8]> {
        match self.value(name)? {
            Value::Data(data) => Some(data),
            Value::List(_) | Value::Section(_) => None,
        }
    }

    /// The text of this name, where it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.data(name)?).ok()
    }

    /// Returns true if the value of this name is `yes`, as charon writes it.
    #[must_use]
    pub fn is_yes(&self, name: &str) -> bool {
        self.data(name) == Some(b"yes")
    }

    /// The number of this name, where it is one in decimal.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// The items of the list of this name that are text; none where there is no such list.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        let items = match self.value(name) {
            Some(Value::List(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().filter_map(|item| std::str::from_utf8(item).ok())
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        match self.value(name)? {
            Value::Section(section) => Some(section),
            Value::Data(_) | Value::List(_) => None,
        }
    }

    /// The sections in it, with their names.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &Section)> {
        self.entries().filter_map(|(name, value)| match value {
            Value::Section(section) => Some((name, section)),
            Value::Data(_) | Value::List(_) => None,
        })
    }
}

/// One line, with secrets and of anything unprintable the length alone.
impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => format!("{text:?}"),
            Err(_) => format!("<{} bytes>", bytes.len()),
        };
        let mut map = f.debug_map();
        for (name, value) in self.entries() {
            match value {
                Value::Data(data) if SECRET.contains(&name) => {
                    map.entry(&name, &format_args!("<{} bytes>", data.len()));
                }
                Value::Data(data) => {
                    map.entry(&name, &format_args!("{}", shown(data)));
                }
                Value::List(items) => {
                    let items: Vec<_> = items.iter().map(|item| shown(item)).collect();
                    map.entry(&name, &format_args!("[{}]", items.join(", ")));
                }
                Value::Section(section) => {
                    map.entry(&name, section);
                }
            }
        }
        map.finish()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(data) => write!(f, "<{} bytes>", data.len()),
            Self::List(items) => write!(f, "[{} items]", items.len()),
            Self::Section(section) => section.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_kind_and_keep_their_order() {
        let section = Section::new()
            .with("version", "2")
            .with("mobike", "no")
            .with_list("proposals", ["a", "b"])
            .with_section("local", Section::new().with("auth", "pubkey"));
        assert_eq!(section.number("version"), Some(2));
        assert!(!section.is_yes("mobike"));
        assert!(section.list("proposals").eq(["a", "b"]));
        assert_eq!(
            section.section("local").and_then(|local| local.text("auth")),
            Some("pubkey")
        );
        assert_eq!(section.text("local"), None);
        let names: Vec<_> = section.entries().map(|(name, _)| name).collect();
        assert_eq!(names, ["version", "mobike", "proposals", "local"]);
    }

    #[test]
    fn a_private_key_is_never_shown() {
        let message = Section::new()
            .with("type", "any")
            .with("data", "-----BEGIN PRIVATE KEY-----");
        assert_eq!(format!("{message:?}"), r#"{"type": "any", "data": <27 bytes>}"#);
        let value = message.value("data").expect("it was set");
        assert_eq!(format!("{value:?}"), "<27 bytes>");
    }
}
