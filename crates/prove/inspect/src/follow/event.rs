//! Events of links, one line each: schema `bartizan-events/1`, documented in
//! docs/follow-reference.md.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use bartizan_posture::{Concern, Judgement, Link, Listing, Source};
use bartizan_wire::path::Path;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::findings;
use crate::text::printable;

/// Name and version of the schema.
const SCHEMA: &str = "bartizan-events/1";

/// Names of events, the report's excepted: a counter of events begins with zero of each.
pub const NAMES: [&str; 18] = [
    "begin",
    "link-seen",
    "verdict-changed",
    "finding",
    "downgrade",
    "regression",
    "not-in-file",
    "not-seen",
    "contradiction",
    "link-named",
    "link-gone",
    "loss",
    "ceiling",
    "rotation",
    "interface-down",
    "interface-back",
    "source-failed",
    "end",
];

bartizan_registry::made! {
    /// A link as events name it.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct LinkName,
    /// Name of this link.
    pub of(link: &Link) {
        let [a, b] = &link.ends;
        /// Nodes of the deployment file, or else addresses.
        pub ends: [String; 2] = [a.to_string(), b.to_string()],
        /// The interface, where something names it.
        pub interface: Option<&'static str> = link.interface.map(|interface| interface.name),
        /// The port of an unnamed service over TCP.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub service: Option<u16> = link.service,
        /// Carriers of its packets, for a link that is not in a deployment file: networks with the same
        /// addresses are distinguished by it.
        pub path: Option<String> = path(link).map(ToString::to_string),
    }
}

impl LinkName {
    /// The interface, or else the service.
    pub fn named(&self) -> Cow<'static, str> {
        match (self.interface, self.service) {
            (Some(name), _) => name.into(),
            (None, Some(port)) => format!("tcp/{port}").into(),
            (None, None) => "-".into(),
        }
    }
}

/// Carriers of the packets of a link. A link that the deployment file lists is the same on whatever
/// path.
pub(super) fn path(link: &Link) -> Option<&Path> {
    match link.listing {
        Listing::Listed(_) => None,
        _ => link.paths.first(),
    }
}

bartizan_registry::made! {
    /// Something that happened.
    #[derive(Debug, Clone)]
    pub struct Event,
    /// One of this name, in these words.
    pub new(name: &'static str, words: impl Into<String>) {
        /// Its name in the schema.
        pub name: &'static str = name,
        /// The interface or file it was seen in; none of what concerns all.
        pub source: Option<String> = None,
        /// The link it concerns.
        pub link: Option<LinkName> = None,
        /// The newest packet of the source when it was reported, nanoseconds since 1970.
        pub packet_ns: Option<u64> = None,
        /// Description for people.
        pub words: String = words.into(),
        /// The fields that this kind of event has.
        pub fields: Map<String, Value> = Map::new(),
    }
}

impl Event {
    /// Something about a source as a whole.
    pub fn of(source: &str, name: &'static str, words: impl Into<String>) -> Self {
        Self {
            source: Some(source.to_owned()),
            ..Self::new(name, words)
        }
    }

    /// The same with another field.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }
}

/// A verdict, its reason, and who says so.
pub(crate) fn judgement(judgement: &Judgement) -> Value {
    serde_json::json!({
        "verdict": judgement.verdict().name(),
        "because": judgement.because(),
        "sources": sources(judgement.sources()),
    })
}

pub(crate) fn sources(sources: &[Source]) -> Vec<String> {
    sources.iter().map(findings::source).collect()
}

/// Name of the events of a concern.
pub(crate) fn name(concern: Concern) -> &'static str {
    match concern {
        Concern::Downgrade => "downgrade",
        Concern::Regression => "regression",
        Concern::Unlisted => "not-in-file",
        Concern::Unseen => "not-seen",
        Concern::Contradiction => "contradiction",
        Concern::ReadableNow
        | Concern::Confidentiality
        | Concern::Authenticity
        | Concern::Policy
        | Concern::Unproven
        | Concern::AboveTransport => "finding",
    }
}

/// An event as the schema writes it: the `sequence`-th of all, reported `at` since 1970.
pub fn json<'a>(event: &'a Event, sequence: u64, at: Duration) -> impl Serialize + use<'a> {
    Line {
        packet_ns: event.packet_ns,
        source: event.source.as_deref(),
        link: event.link.as_ref(),
        ..Line::new(event.name, sequence, at, &event.fields)
    }
}

/// The last one, which holds the report. That is never there as a whole: it is several times as
/// large as what it is made from.
pub fn json_report(report: &impl Serialize, sequence: u64, at: Duration) -> impl Serialize {
    Line::new("report", sequence, at, Reported { report })
}

#[derive(Serialize)]
struct Reported<'a, R> {
    report: &'a R,
}

#[derive(Serialize)]
struct Line<'a, F> {
    schema: &'static str,
    sequence: u64,
    at_ns: u64,
    packet_ns: Option<u64>,
    event: &'static str,
    source: Option<&'a str>,
    link: Option<&'a LinkName>,
    #[serde(flatten)]
    fields: F,
}

impl<F> Line<'_, F> {
    fn new(event: &'static str, sequence: u64, at: Duration, fields: F) -> Self {
        Self {
            schema: SCHEMA,
            sequence,
            at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            packet_ns: None,
            event,
            source: None,
            link: None,
            fields,
        }
    }
}

/// One line for people: the time of day (UTC), where, what.
pub fn text(event: &Event, at: Duration) -> String {
    let of_day = at.as_secs() % 86_400;
    let mut line = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
    if let Some(source) = &event.source {
        // Writing to a string cannot fail.
        let _ = write!(line, "  {source}");
    }
    let _ = write!(line, "  {}", event.name);
    if let Some(link) = &event.link {
        let [a, b] = &link.ends;
        let _ = write!(line, "  {} {a}, {b}", link.named());
        if let Some(path) = &link.path {
            let _ = write!(line, " in {path}");
        }
    }
    let _ = write!(line, "  {}", event.words);
    printable(&line)
}
