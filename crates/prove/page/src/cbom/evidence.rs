//! Places where an asset was seen.

use std::collections::{BTreeMap, BTreeSet};

use bartizan_posture::Source;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Places kept of an asset: the first ones. Their number is reported in full.
const PLACES: usize = 16;

/// A place where an asset was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In packets of a capture, counted from 0 in the order in which captures were read.
    Packets {
        capture: usize,
        first: u64,
        last: u64,
        between: String,
        read: Read,
    },
    /// In a ledger's record.
    Ledger { at_us: u64, node: String, between: String },
}

/// State of packets as they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Read {
    /// Readable without keys.
    Plain,
    /// Opened by the keys given.
    Opened,
}

/// Names of captures and ledgers.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Captures, in the order in which they were read.
    pub(super) captures: Vec<String>,
    /// The ledgers' files, by the node that wrote them.
    pub(super) ledgers: BTreeMap<String, String>,
}

impl Place {
    /// The same, in packets that keys opened.
    pub(super) fn opened(mut self) -> Self {
        if let Self::Packets { read, .. } = &mut self {
            *read = Read::Opened;
        }
        self
    }

    /// The place a source names, for what passed `between` two ends; none where it names no place.
    pub(super) fn of(source: &Source, capture: usize, between: &str) -> Option<Self> {
        let between = between.to_owned();
        Some(match source {
            Source::Packets { first, last, .. } => Self::Packets {
                capture,
                first: *first,
                last: *last,
                between,
                read: Read::Plain,
            },
            Source::Ledger { node, at_us, .. } => Self::Ledger {
                at_us: *at_us,
                node: node.to_string(),
                between,
            },
            _ => return None,
        })
    }

    fn occurrence(&self, names: &Names) -> Value {
        match self {
            Self::Packets {
                capture,
                first,
                last,
                between,
                read,
            } => {
                let packets = if first == last {
                    format!("packet {first}")
                } else {
                    format!("packets {first}-{last}")
                };
                let location = names.captures.get(*capture).map_or("a capture", String::as_str);
                let by = match read {
                    Read::Plain => "",
                    Read::Opened => ", opened by the keys given",
                };
                json!({ "location": location, "additionalContext": format!("{packets}: {between}{by}") })
            }
            Self::Ledger { at_us, node, between } => {
                let file = names
                    .ledgers
                    .get(node)
                    .map_or_else(String::new, |file| format!(" ({file})"));
                json!({
                    "location": format!("ledger of {node}{file}"),
                    "additionalContext": format!("record of {}: {between}", instant(u128::from(*at_us) * 1000)),
                })
            }
        }
    }
}

/// The places of an asset.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    first: BTreeSet<Place>,
    seen: u64,
}

impl Evidence {
    /// One more connection shows it, at these places.
    pub(super) fn add(&mut self, places: impl IntoIterator<Item = Place>) {
        self.seen += 1;
        for place in places {
            self.first.insert(place);
            if self.first.len() > PLACES {
                self.first.pop_last();
            }
        }
    }

    /// Connections that show it.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// As the document writes it.
    pub(super) fn occurrences(&self, names: &Names) -> Vec<Value> {
        self.first.iter().map(|place| place.occurrence(names)).collect()
    }
}

/// Nanoseconds since 1970 as RFC 3339 writes them; the first instant of 1970 where no calendar reaches.
pub(super) fn instant(nanoseconds: u128) -> String {
    let instant = i128::try_from(nanoseconds)
        .ok()
        .and_then(|nanoseconds| OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok())
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    // Formatting a date of four digits cannot fail; a later one has no form in RFC 3339.
    instant
        .format(&Rfc3339)
        .unwrap_or_else(|_| "1970-01-01T00:00:00Z".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(first: u64) -> Place {
        Place::Packets {
            capture: 0,
            first,
            last: first,
            between: "a -> b".into(),
            read: Read::Plain,
        }
    }

    #[test]
    fn the_first_places_are_kept_in_whatever_order_they_come_and_all_are_counted() {
        let mut evidence = Evidence::default();
        for first in (1..=100).rev() {
            evidence.add([place(first)]);
        }
        assert_eq!(evidence.seen(), 100);
        let names = Names {
            captures: vec!["one.pcap".into()],
            ..Names::default()
        };
        let occurrences = evidence.occurrences(&names);
        assert_eq!(occurrences.len(), PLACES);
        assert_eq!(
            occurrences[0],
            json!({ "location": "one.pcap", "additionalContext": "packet 1: a -> b" })
        );
    }

    #[test]
    fn an_instant_beyond_the_calendar_is_no_panic() {
        assert_eq!(instant(1_763_000_000_000_000_000), "2025-11-13T02:13:20Z");
        assert_eq!(instant(u128::MAX), "1970-01-01T00:00:00Z");
    }
}
