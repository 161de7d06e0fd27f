//! What is followed, as Prometheus reads it. `docs/follow-reference.md` has the same list in words.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_inspect::follow::LinkName;
use bartizan_posture::Verdict;
use bartizan_wire::Holding;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::commands::inspect::stream::Passed;

/// Links with a series of their own; of more only the number is reported.
pub(super) const SERIES: usize = 500;

/// Numbers of one source.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct SourceNumbers {
    pub(in super::super) name: String,
    pub(in super::super) packets: u64,
    pub(in super::super) bytes: u64,
    /// In and out, where a source tells them apart.
    pub(in super::super) passed: Option<[Passed; 2]>,
    pub(in super::super) dropped: u64,
    pub(in super::super) untracked: u64,
    /// Time of the newest packet, nanoseconds since 1970; none before the first.
    pub(in super::super) newest_ns: Option<u64>,
    pub(in super::super) holding: Holding,
}

/// All numbers at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    pub(super) sources: Vec<SourceNumbers>,
    /// By interface, confidentiality, authenticity.
    pub(super) links: BTreeMap<[&'static str; 3], u64>,
    /// At most [`SERIES`].
    pub(super) each: Vec<(String, LinkName, Verdict, Verdict)>,
    pub(super) beyond: u64,
    pub(super) findings: BTreeMap<&'static str, u64>,
    pub(super) events: BTreeMap<&'static str, u64>,
    pub(super) ledger_lines_damaged: u64,
    pub(super) view_seconds: f64,
}

/// The newest numbers, for whoever asks.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<Numbers>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSource {
    source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfDirection {
    source: String,
    direction: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    source: String,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfVerdicts {
    interface: &'static str,
    confidentiality: &'static str,
    authenticity: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfLink {
    source: String,
    one: String,
    other: String,
    path: String,
    interface: &'static str,
    confidentiality: &'static str,
    authenticity: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfConcern {
    concern: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfEvent {
    event: &'static str,
}

impl Metrics {
    /// These are the numbers now.
    pub(super) fn set(&self, numbers: Numbers) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
    }

    /// All of it in the text format of Prometheus (OpenMetrics).
    pub(super) fn text(&self) -> String {
        let numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut registry = Registry::with_prefix("bartizan_inspect");
        of_sources(&numbers, &mut registry);
        of_links(&numbers, &mut registry);
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut out, &registry);
        out
    }
}

fn of_sources(numbers: &Numbers, registry: &mut Registry) {
    let (packets, bytes) = (
        Family::<OfDirection, Counter>::default(),
        Family::<OfDirection, Counter>::default(),
    );
    let (dropped, untracked) = (
        Family::<OfSource, Counter>::default(),
        Family::<OfSource, Counter>::default(),
    );
    let age = Family::<OfSource, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
    let (live, memory) = (Family::<OfKind, Gauge>::default(), Family::<OfSource, Gauge>::default());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    for numbers in &numbers.sources {
        let source = || OfSource {
            source: numbers.name.clone(),
        };
        let passed = |direction, of: Passed| {
            let labels = OfDirection {
                source: numbers.name.clone(),
                direction,
            };
            packets.get_or_create(&labels).inc_by(of.packets);
            bytes.get_or_create(&labels).inc_by(of.bytes);
        };
        match numbers.passed {
            Some([inbound, outbound]) => {
                passed("in", inbound);
                passed("out", outbound);
            }
            None => {
                let (packets, bytes) = (numbers.packets, numbers.bytes);
                passed("-", Passed { packets, bytes });
            }
        }
        dropped.get_or_create(&source()).inc_by(numbers.dropped);
        untracked.get_or_create(&source()).inc_by(numbers.untracked);
        if let Some(newest) = numbers.newest_ns {
            // Nanoseconds as seconds: a double is exact to the microsecond here.
            age.get_or_create(&source())
                .set(now.as_secs_f64() - newest as f64 / 1e9);
        }
        let holding = &numbers.holding;
        for (kind, count) in [
            ("tcp", holding.connections),
            ("sctp", holding.associations),
            ("ike", holding.ike_sas),
            ("esp", holding.esp_sas),
            ("udp", holding.datagrams),
        ] {
            let labels = OfKind {
                source: numbers.name.clone(),
                kind,
            };
            live.get_or_create(&labels)
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        memory
            .get_or_create(&source())
            .set(i64::try_from(holding.bytes).unwrap_or(i64::MAX));
    }
    registry.register(
        "packets",
        "Packets read, by direction where an interface tells it",
        packets,
    );
    registry.register("bytes", "Bytes of these packets as they were on the wire", bytes);
    registry.register("dropped_packets", "Packets lost at the capture", dropped);
    registry.register(
        "untracked_packets",
        "Packets of connections beyond the ceiling of memory",
        untracked,
    );
    registry.register(
        "last_packet_age_seconds",
        "Time since the newest packet, by its own time",
        age,
    );
    registry.register(
        "live",
        "Connections, associations and security associations that are followed",
        live,
    );
    registry.register("memory_bytes", "Bytes these take, about", memory);
}

fn of_links(numbers: &Numbers, registry: &mut Registry) {
    let links = Family::<OfVerdicts, Gauge>::default();
    for (&[interface, confidentiality, authenticity], &count) in &numbers.links {
        let labels = OfVerdicts {
            interface,
            confidentiality,
            authenticity,
        };
        links
            .get_or_create(&labels)
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    let each = Family::<OfLink, Gauge>::default();
    for (source, link, confidentiality, authenticity) in &numbers.each {
        let [one, other] = link.ends.clone();
        let labels = OfLink {
            source: source.clone(),
            one,
            other,
            path: link.path.clone().unwrap_or_default(),
            interface: link.interface.unwrap_or("-"),
            confidentiality: confidentiality.name(),
            authenticity: authenticity.name(),
        };
        each.get_or_create(&labels).set(1);
    }
    let beyond: Gauge = Gauge::default();
    beyond.set(i64::try_from(numbers.beyond).unwrap_or(i64::MAX));
    let findings = Family::<OfConcern, Gauge>::default();
    for (&concern, &count) in &numbers.findings {
        findings
            .get_or_create(&OfConcern { concern })
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    let events = Family::<OfEvent, Counter>::default();
    for (&event, &count) in &numbers.events {
        events.get_or_create(&OfEvent { event }).inc_by(count);
    }
    let damaged: Counter = Counter::default();
    damaged.inc_by(numbers.ledger_lines_damaged);
    let view = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
    view.set(numbers.view_seconds);
    registry.register("links", "Links by interface and verdicts", links);
    registry.register("link", "1 for each link with its verdicts, up to a bound", each);
    registry.register("links_without_series", "Links beyond that bound", beyond);
    registry.register("findings", "Findings that stand, by concern", findings);
    registry.register("events", "Events reported, by name", events);
    registry.register("ledger_lines_damaged", "Lines of ledgers that are no records", damaged);
    registry.register(
        "view_seconds",
        "How long it took to judge all that is followed, last time",
        view,
    );
}
