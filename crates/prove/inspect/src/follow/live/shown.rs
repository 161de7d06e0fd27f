//! Shown form of a link, a finding, an event. Text that packets may have chosen is of printable
//! characters, and of bounded length.

use bartizan_posture::{Judgement, Link, Listing, Objection, Phase, Verdict};
use bartizan_registry::Subject;
use serde::Serialize;
use serde_json::Value;

use super::super::tracker::key_exchanges;
use super::super::{Event, LinkName, event};
use super::table::Shown;
use crate::remedy::{Change, Place, Severity, remedy};
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

bartizan_registry::made! {
    /// A link.
    #[derive(Debug)]
    pub(super) struct ShownLink, pub(super) new(source: usize, link: &Link) {
        pub(super) rank: u8 = rank(link),
        pub(super) brief: Brief = Brief::new(source, link),
        pub(super) detail: Detail = Detail::new(link),
    }
}

bartizan_registry::made! {
    /// Fields of a link that every reader is given.
    #[derive(Debug, PartialEq, Eq, Serialize)]
    pub(super) struct Brief, new(source: usize, link: &Link) {
        let worst = link.objections.iter().map(|objection| Severity::of(objection.concern));
        /// The place of its source.
        source: usize = source,
        #[serde(flatten)]
        name: LinkName = named(&LinkName::of(link)),
        functions: [Vec<&'static str>; 2] = link.functions.clone(),
        kinds: Vec<String> = link.by_kind.keys().map(|kind| short(&kind.name())).collect(),
        key_exchange: String = short(&key_exchanges(link)),
        confidentiality: &'static str = link.confidentiality.verdict().name(),
        authenticity: &'static str = link.authenticity.verdict().name(),
        /// Severity of the worst objection.
        severity: Option<&'static str> = worst.min().map(Severity::name),
        in_file: Option<bool> = match link.listing {
            Listing::NoDeployment | Listing::Within(_) => None,
            Listing::Listed(_) => Some(true),
            Listing::Unlisted => Some(false),
        },
    }
}

bartizan_registry::made! {
    /// Fields of a link that only readers who open it are given.
    #[derive(Debug, Serialize)]
    pub(super) struct Detail, new(link: &Link) {
        let [there, back] = &link.directions;
        confidentiality: Said = Said::of(&link.confidentiality),
        authenticity: Said = Said::of(&link.authenticity),
        packets: [u64; 2] = [there.packets, back.packets],
        bytes: [u64; 2] = [there.bytes, back.bytes],
        first_ns: u64 = link.first.time.0,
        last_ns: u64 = link.last.time.0,
        in_ledger: u64 = link.in_ledger,
        phases: Vec<ShownPhase> = link.phases.iter().map(ShownPhase::of).collect(),
        beyond_phases: u64 = link.beyond_phases,
        objections: Vec<ShownObjection> =
            link.objections.iter().map(|objection| ShownObjection::new(link, objection)).collect(),
        exception: Option<String> = link.exception.as_deref().map(short),
    }
}

bartizan_registry::made! {
    #[derive(Debug, Serialize)]
    struct Said, of(judgement: &Judgement) {
        verdict: &'static str = judgement.verdict().name(),
        because: String = short(judgement.because()),
        sources: Vec<String> = sources(judgement.sources()),
    }
}

bartizan_registry::made! {
    #[derive(Debug, Serialize)]
    struct ShownPhase, of(phase: &Phase) {
        occasion: &'static str = phase.occasion.name(),
        kind: String = short(&phase.kind.name()),
        key_exchange: Option<String> = phase.key_exchange.as_deref().map(short),
        confidentiality: &'static str = phase.confidentiality.name(),
        authenticity: &'static str = phase.authenticity.name(),
        first_ns: u64 = phase.first.time.0,
        last_ns: u64 = phase.last.time.0,
        parts: u64 = phase.parts,
        rekeys: u64 = phase.rekeys,
    }
}

bartizan_registry::made! {
    #[derive(Debug, Serialize)]
    struct ShownObjection, new(link: &Link, objection: &Objection) {
        let concern = objection.concern;
        let remedy = remedy(concern, Place::of_link(link, concern));
        concern: &'static str = concern.name(),
        severity: &'static str = Severity::of(concern).name(),
        because: String = short(&objection.because),
        sources: Vec<String> = sources(&objection.sources),
        remedy: &'static str = remedy.what,
        changes: &'static [Change] = remedy.changes,
        command: Option<&'static str> = remedy.command,
        about: Option<Subject> = remedy.subject,
    }
}

impl Shown for ShownLink {
    fn differs(&self, other: &Self) -> bool {
        self.brief != other.brief
    }
}

impl Brief {
    pub(super) fn ends(&self) -> &[String; 2] {
        &self.name.ends
    }
}

bartizan_registry::made! {
    /// An event.
    #[derive(Debug, Serialize)]
    pub(super) struct ShownEvent, pub(super) new(event: &Event, at_ns: u64) {
        at_ns: u64 = at_ns,
        event: &'static str = event.name,
        source: Option<String> = event.source.as_deref().map(short),
        link: Option<LinkName> = event.link.as_ref().map(named),
        words: String = short(&event.words),
    }
}

bartizan_registry::made! {
    /// A finding that stands.
    #[derive(Debug, Serialize)]
    pub(super) struct ShownFinding, pub(super) new(event: &Event, at_ns: u64) {
        let fields = FIELDS.iter().filter_map(|&name| {
            let value = event.fields.get(name)?;
            Some((name.to_owned(), cleaned(value)))
        });
        let severity = event.fields.get("severity").and_then(Value::as_str);
        #[serde(skip)]
        pub(super) severity: Severity =
            severity.and_then(Severity::named).unwrap_or(Severity::Medium),
        /// Since when.
        at_ns: u64 = at_ns,
        source: Option<String> = event.source.as_deref().map(short),
        link: Option<LinkName> = event.link.as_ref().map(named),
        #[serde(flatten)]
        fields: serde_json::Map<String, Value> = fields.collect(),
    }
}

/// Fields of a finding's event that are shown. The frameworks are said once, by what they are
/// about.
const FIELDS: [&str; 8] = [
    "severity", "concern", "because", "sources", "remedy", "changes", "command", "about",
];

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
