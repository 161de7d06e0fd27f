//! Shown form of a link, a finding, an event. Text that packets may have chosen is of printable
//! characters, and of bounded length.

use bartizan_posture::{Judgement, Link, Listing, Phase, Verdict};
use bartizan_registry::Subject;
use serde::Serialize;
use serde_json::Value;

use super::super::tracker::key_exchanges;
use super::super::{Event, LinkName, event};
use super::table::Shown;
use crate::remedy::{Change, Place, Remedy, Severity, remedy};
use crate::text::short;

/// Pieces of evidence that are named, of one statement.
const SOURCES: usize = 20;

fn named(name: &LinkName) -> LinkName {
    LinkName {
        ends: name.ends.clone().map(|end| short(&end)),
        interface: name.interface,
        service: name.service,
        path: name.path.as_deref().map(short),
    }
}

fn sources(sources: &[bartizan_posture::Source]) -> Vec<String> {
    let shown = &sources[..sources.len().min(SOURCES)];
    event::sources(shown).iter().map(|source| short(source)).collect()
}

/// From 0, the worst, to what nothing is wrong with.
pub(super) fn rank(link: &Link) -> u8 {
    let rank = |verdict| match verdict {
        Verdict::ReadableNow => 0,
        Verdict::Vulnerable => 1,
        Verdict::NotObservable | Verdict::NotSeen => 2,
        Verdict::QuantumSafe => 3,
    };
    let verdicts = rank(link.confidentiality.verdict()) * 4 + rank(link.authenticity.verdict());
    verdicts * 2 + u8::from(link.objections.is_empty())
}

/// A link.
#[derive(Debug)]
pub(super) struct ShownLink {
    pub(super) rank: u8,
    pub(super) brief: Brief,
    pub(super) detail: Detail,
}

/// Fields of a link that every reader is given.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Brief {
    /// The place of its source.
    source: usize,
    #[serde(flatten)]
    name: LinkName,
    functions: [Vec<&'static str>; 2],
    kinds: Vec<String>,
    key_exchange: String,
    confidentiality: &'static str,
    authenticity: &'static str,
    /// Severity of the worst objection.
    severity: Option<&'static str>,
    in_file: Option<bool>,
}

/// Fields of a link that only readers who open it are given.
#[derive(Debug, Serialize)]
pub(super) struct Detail {
    confidentiality: Said,
    authenticity: Said,
    packets: [u64; 2],
    bytes: [u64; 2],
    first_ns: u64,
    last_ns: u64,
    in_ledger: u64,
    phases: Vec<ShownPhase>,
    beyond_phases: u64,
    objections: Vec<ShownObjection>,
    exception: Option<String>,
}

#[derive(Debug, Serialize)]
struct Said {
    verdict: &'static str,
    because: String,
    sources: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ShownPhase {
    occasion: &'static str,
    kind: String,
    key_exchange: Option<String>,
    confidentiality: &'static str,
    authenticity: &'static str,
    first_ns: u64,
    last_ns: u64,
    parts: u64,
    rekeys: u64,
}

#[derive(Debug, Serialize)]
struct ShownObjection {
    concern: &'static str,
    severity: &'static str,
    because: String,
    sources: Vec<String>,
    remedy: &'static str,
    changes: &'static [Change],
    command: Option<&'static str>,
    about: Option<Subject>,
}

impl Shown for ShownLink {
    fn differs(&self, other: &Self) -> bool {
        self.brief != other.brief
    }
}

impl ShownLink {
    pub(super) fn new(source: usize, link: &Link) -> Self {
        let worst = link.objections.iter().map(|objection| Severity::of(objection.concern));
        Self {
            rank: rank(link),
            brief: Brief {
                source,
                name: named(&LinkName::of(link)),
                functions: link.functions.clone(),
                kinds: link.by_kind.keys().map(|kind| short(&kind.name())).collect(),
                key_exchange: short(&key_exchanges(link)),
                confidentiality: link.confidentiality.verdict().name(),
                authenticity: link.authenticity.verdict().name(),
                severity: worst.min().map(Severity::name),
                in_file: match link.listing {
                    Listing::NoDeployment | Listing::Within(_) => None,
                    Listing::Listed(_) => Some(true),
                    Listing::Unlisted => Some(false),
                },
            },
            detail: Detail::new(link),
        }
    }
}

impl Brief {
    pub(super) fn ends(&self) -> &[String; 2] {
        &self.name.ends
    }
}

impl Detail {
    fn new(link: &Link) -> Self {
        let [there, back] = &link.directions;
        Self {
            confidentiality: said(&link.confidentiality),
            authenticity: said(&link.authenticity),
            packets: [there.packets, back.packets],
            bytes: [there.bytes, back.bytes],
            first_ns: link.first.time.0,
            last_ns: link.last.time.0,
            in_ledger: link.in_ledger,
            phases: link.phases.iter().map(phase).collect(),
            beyond_phases: link.beyond_phases,
            objections: link
                .objections
                .iter()
                .map(|objection| {
                    let concern = objection.concern;
                    let Remedy {
                        what,
                        changes,
                        command,
                        subject,
                        ..
                    } = remedy(concern, Place::of_link(link, concern));
                    ShownObjection {
                        concern: concern.name(),
                        severity: Severity::of(concern).name(),
                        because: short(&objection.because),
                        sources: sources(&objection.sources),
                        remedy: what,
                        changes,
                        command,
                        about: subject,
                    }
                })
                .collect(),
            exception: link.exception.as_deref().map(short),
        }
    }
}

fn said(judgement: &Judgement) -> Said {
    Said {
        verdict: judgement.verdict().name(),
        because: short(judgement.because()),
        sources: sources(judgement.sources()),
    }
}

fn phase(phase: &Phase) -> ShownPhase {
    ShownPhase {
        occasion: phase.occasion.name(),
        kind: short(&phase.kind.name()),
        key_exchange: phase.key_exchange.as_deref().map(short),
        confidentiality: phase.confidentiality.name(),
        authenticity: phase.authenticity.name(),
        first_ns: phase.first.time.0,
        last_ns: phase.last.time.0,
        parts: phase.parts,
        rekeys: phase.rekeys,
    }
}

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct ShownEvent {
    at_ns: u64,
    event: &'static str,
    source: Option<String>,
    link: Option<LinkName>,
    words: String,
}

impl ShownEvent {
    pub(super) fn new(event: &Event, at_ns: u64) -> Self {
        Self {
            at_ns,
            event: event.name,
            source: event.source.as_deref().map(short),
            link: event.link.as_ref().map(named),
            words: short(&event.words),
        }
    }
}

/// A finding that stands.
#[derive(Debug, Serialize)]
pub(super) struct ShownFinding {
    #[serde(skip)]
    pub(super) severity: Severity,
    /// Since when.
    at_ns: u64,
    source: Option<String>,
    link: Option<LinkName>,
    #[serde(flatten)]
    fields: serde_json::Map<String, Value>,
}

/// Fields of a finding's event that are shown. The frameworks are said once, by what they are
/// about.
const FIELDS: [&str; 8] = [
    "severity", "concern", "because", "sources", "remedy", "changes", "command", "about",
];

impl ShownFinding {
    pub(super) fn new(event: &Event, at_ns: u64) -> Self {
        let fields = FIELDS.iter().filter_map(|&name| {
            let value = event.fields.get(name)?;
            Some((name.to_owned(), cleaned(value)))
        });
        let severity = event.fields.get("severity").and_then(Value::as_str);
        Self {
            severity: severity.and_then(Severity::named).unwrap_or(Severity::Medium),
            at_ns,
            source: event.source.as_deref().map(short),
            link: event.link.as_ref().map(named),
            fields: fields.collect(),
        }
    }
}

impl Shown for ShownFinding {
    /// One that stands does not change.
    fn differs(&self, other: &Self) -> bool {
        self.fields != other.fields
    }
}

/// The same with each text in printable characters, and no longer than it may be.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(short(text)),
        Value::Array(all) => Value::Array(all.iter().take(SOURCES).map(cleaned).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), cleaned(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}
