//! What happens to links, one line each: schema `bartizan-events/1`, documented in docs/follow.md.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_posture::{Concern, Judgement, Link, Source};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Failure;
use crate::commands::inspect::findings;
use crate::commands::inspect::table::printable;

/// Name and version of the schema.
pub(super) const SCHEMA: &str = "bartizan-events/1";

/// A link as events name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct LinkName {
    /// Nodes of the deployment file, or else addresses.
    pub(super) ends: [String; 2],
    pub(super) interface: Option<&'static str>,
}

impl LinkName {
    pub(super) fn of(link: &Link) -> Self {
        let [a, b] = &link.ends;
        Self {
            ends: [a.to_string(), b.to_string()],
            interface: link.interface.map(|interface| interface.name),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// What, as the schema names it.
    pub(super) name: &'static str,
    pub(super) source: Option<String>,
    pub(super) link: Option<LinkName>,
    /// The newest packet of the source when it was told, nanoseconds since 1970.
    pub(super) packet_ns: Option<u64>,
    /// What it was, for people.
    pub(super) words: String,
    /// The fields that this kind of event has.
    pub(super) fields: Map<String, Value>,
}

impl Event {
    pub(super) fn new(name: &'static str, words: impl Into<String>) -> Self {
        Self {
            name,
            source: None,
            link: None,
            packet_ns: None,
            words: words.into(),
            fields: Map::new(),
        }
    }

    /// Something about a source as a whole.
    pub(super) fn of(source: &str, name: &'static str, words: impl Into<String>) -> Self {
        Self {
            source: Some(source.to_owned()),
            ..Self::new(name, words)
        }
    }

    pub(super) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }
}

/// A verdict, its reason, and who says so.
pub(super) fn judgement(judgement: &Judgement) -> Value {
    serde_json::json!({
        "verdict": judgement.verdict().name(),
        "because": judgement.because(),
        "sources": sources(judgement.sources()),
    })
}

pub(super) fn sources(sources: &[Source]) -> Vec<String> {
    sources.iter().map(findings::source).collect()
}

/// How events of a concern are named.
pub(super) fn name(concern: Concern) -> &'static str {
    match concern {
        Concern::Downgrade => "downgrade",
        Concern::Regression => "regression",
        Concern::Unlisted => "not-in-file",
        Concern::Unseen => "not-seen",
        Concern::Contradiction => "contradiction",
        Concern::Confidentiality | Concern::Authenticity | Concern::Policy | Concern::Unproven | Concern::Beside => {
            "finding"
        }
    }
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Text,
}

/// Writes events to standard output.
#[derive(Debug)]
pub(super) struct Teller {
    form: Form,
    told: u64,
    /// Whoever read them has gone.
    pub(super) unheard: bool,
}

impl Teller {
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            told: 0,
            unheard: false,
        }
    }

    /// Writes one, at once.
    pub(super) fn tell(&mut self, event: &Event) -> Result<(), Failure> {
        self.told += 1;
        let line = match self.form {
            Form::Json => {
                let line = Line {
                    packet_ns: event.packet_ns,
                    source: event.source.as_deref(),
                    link: event.link.as_ref(),
                    ..self.line(event.name, &event.fields)
                };
                serde_json::to_string(&line).map_err(Failure::new)?
            }
            Form::Text => printable(&text(event, since_1970().as_secs())),
        };
        let mut out = io::stdout().lock();
        self.wrote(writeln!(out, "{line}").and_then(|()| out.flush()))
    }

    /// Writes the last one, which holds the report. That is never there as a whole: it is several times as large as what it is
    /// made from.
    pub(super) fn report(&mut self, report: &impl Serialize) -> Result<(), Failure> {
        self.told += 1;
        let line = self.line("report", Reported { report });
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = serde_json::to_writer(&mut out, &line).map_err(io::Error::from);
        self.wrote(written.and_then(|()| writeln!(out)).and_then(|()| out.flush()))
    }

    fn line<'a, F>(&self, event: &'static str, fields: F) -> Line<'a, F> {
        Line {
            schema: SCHEMA,
            sequence: self.told,
            at_ns: u64::try_from(since_1970().as_nanos()).unwrap_or(u64::MAX),
            packet_ns: None,
            event,
            source: None,
            link: None,
            fields,
        }
    }

    fn wrote(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.unheard = true,
            Err(error) => return Err(Failure::new(format!("standard output: {error}"))),
            Ok(()) => {}
        }
        Ok(())
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
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

/// One line for people: the time of day (UTC), where, what.
fn text(event: &Event, seconds: u64) -> String {
    let of_day = seconds % 86_400;
    let mut line = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
    if let Some(source) = &event.source {
        // Writing to a string cannot fail.
        let _ = write!(line, "  {source}");
    }
    let _ = write!(line, "  {}", event.name);
    if let Some(link) = &event.link {
        let [a, b] = &link.ends;
        let _ = write!(line, "  {} {a}, {b}", link.interface.unwrap_or("-"));
    }
    let _ = write!(line, "  {}", event.words);
    line
}
