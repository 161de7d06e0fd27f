//! Positions of values in a file, so that semantic errors have line and column as syntax errors do.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::syntax;

/// The values of a file with their places, whatever they mean.
pub(crate) struct Places(Spanned<Shape>);

enum Shape {
    Plain,
    List(Vec<Places>),
    Map(Vec<(Spanned<String>, Places)>),
}

/// Line and column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Places {
    /// Those of a text; none where it is no YAML.
    pub(crate) fn of(text: &str) -> Option<Self> {
        syntax::read(text).ok()
    }

    /// Finds the position of the value at a path of keys (`nodes.nrf.sidecar.outbound[0].to`), or
    /// of its nearest ancestor in the file.
    pub(crate) fn find(&self, path: &str) -> Option<Place> {
        let (mut at, mut rest) = (self, path);
        let mut found = None;
        loop {
            let step = match &at.0.value {
                Shape::Plain => None,
                Shape::List(values) => index(rest).and_then(|(index, rest)| {
                    let value = values.get(index)?;
                    Some((place(&value.0), value, rest))
                }),
                Shape::Map(entries) => {
                    let matching = entries
                        .iter()
                        .filter_map(|(key, value)| Some((key, value, rest.strip_prefix(key.value.as_str())?)));
                    // A name may have a dot in it: the longest that fits is meant.
                    let whole = matching.filter(|(_, _, rest)| rest.is_empty() || rest.starts_with(['.', '[']));
                    let longest = whole.min_by_key(|(_, _, rest)| rest.len());
                    longest.map(|(key, value, rest)| (place(key), value, rest.strip_prefix('.').unwrap_or(rest)))
                }
            };
            match step {
                Some((place, next, further)) => (found, at, rest) = (place.or(found), next, further),
                None => return found,
            }
        }
    }

    /// The path of keys that leads to what stands at a place, as far as maps and lists go.
    pub(crate) fn path_to(&self, wanted: Place) -> String {
        // A block map begins with its first key, which does not hold it.
        self.path(wanted, |key| key < wanted)
    }

    /// Among values that begin before the place, the last one contains it; keys are selected by
    /// `before`.
    fn path(&self, wanted: Place, before: impl Fn(Place) -> bool) -> String {
        let (mut at, mut path) = (self, String::new());
        loop {
            let step = match &at.0.value {
                Shape::Plain => None,
                Shape::List(values) => values
                    .iter()
                    .enumerate()
                    .rfind(|(_, value)| place(&value.0).is_some_and(|place| place <= wanted))
                    .map(|(index, value)| (format!("[{index}]"), value)),
                Shape::Map(entries) => entries
                    .iter()
                    .rfind(|(key, _)| place(key).is_some_and(&before))
                    .map(|(key, value)| (key.value.clone(), value)),
            };
            let Some((step, next)) = step else { return path };
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(&step);
            at = next;
        }
    }
}

/// The path of keys to the key or the value at a line and a column (both from 1) of a text: for files that were written from other data, whose author
/// knows keys and no lines. None where it is no YAML, or nothing is there.
pub fn key_path(text: &str, line: u64, column: u64) -> Option<String> {
    let wanted = Place { line, column };
    let path = Places::of(text)?.path(wanted, |key| key <= wanted);
    (!path.is_empty()).then_some(path)
}

/// `[3]` in front of a path, and what follows.
fn index(path: &str) -> Option<(usize, &str)> {
    let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)))
}

fn place<T>(value: &Spanned<T>) -> Option<Place> {
    let place = Place {
        line: value.referenced.line(),
        column: value.referenced.column(),
    };
    (place.line > 0).then_some(place)
}

impl<'de> Deserialize<'de> for Places {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::Plain)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        Shape::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Shape, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Shape::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shape, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Shape::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
nodes:
  nrf:
    address: 10.0.0.2
    sidecar:
      inbound: [{ listen: 1, forward: 2 }, { listen: 3 }]
  nrf.5gc: { address: 10.0.0.3 }
interfaces:
  - kind: SBI
    between: [nrf, amf]
  - { kind: O1 }
";

    fn places() -> Places {
        Places::of(TEXT).unwrap()
    }

    #[test]
    fn a_path_of_keys_is_found_as_far_as_it_goes() {
        for (path, line, column) in [
            ("nodes.nrf", 2, 3),
            ("nodes.nrf.sidecar.inbound[1].listen", 5, 46),
            ("nodes.nrf.names", 2, 3),
            ("nodes.nrf.5gc.address", 6, 14),
            ("interfaces[0].between", 9, 5),
            ("interfaces[1].policy.groups[0]", 10, 5),
            ("interfaces[7]", 7, 1),
        ] {
            assert_eq!(places().find(path), Some(Place { line, column }), "{path}");
        }
        assert_eq!(places().find("policy"), None);
    }

    #[test]
    fn what_a_field_is_missing_of_is_named() {
        for (line, column, path) in [
            (3, 5, "nodes.nrf"),
            (6, 12, "nodes.nrf.5gc"),
            (8, 5, "interfaces[0]"),
            (10, 5, "interfaces[1]"),
            (5, 44, "nodes.nrf.sidecar.inbound[1]"),
            (1, 1, ""),
        ] {
            assert_eq!(places().path_to(Place { line, column }), path, "{line}:{column}");
        }
    }
}
