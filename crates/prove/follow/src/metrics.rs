//! Metrics of followed sources. `docs/follow-reference.md` has the same list in words.

mod exposition;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bartizan_inspect::follow::LinkName;
use bartizan_inspect::follow::metric::{Metric, PREFIX};
use bartizan_posture::Verdict;
use bartizan_wire::Holding;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use super::delivery::Counts;
use super::event_writer::since_1970;
use crate::stream::Passed;
use exposition::Exposition;

/// Links with a series of their own; of more only the number is reported.
pub const SERIES: usize = 500;

/// Numbers of one source.
#[derive(Debug, Clone, Default)]
pub struct SourceNumbers {
    /// Its name.
    pub name: String,
    /// Packets read.
    pub packets: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// In and out, where a source tells them apart.
    pub passed: Option<[Passed; 2]>,
    /// Packets lost at the capture.
    pub dropped: u64,
    /// Packets of connections beyond the bound of memory.
    pub untracked: u64,
    /// Time of the newest packet, nanoseconds since 1970; none before the first.
    pub newest_ns: Option<u64>,
    /// Live state, and its memory.
    pub holding: Holding,
}

/// All numbers at one time.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    /// Numbers of each source.
    pub sources: Vec<SourceNumbers>,
    /// By interface, confidentiality, authenticity.
    pub links: BTreeMap<[&'static str; 3], u64>,
    /// At most [`SERIES`].
    pub each: Vec<(String, LinkName, Verdict, Verdict)>,
    /// Links beyond that bound.
    pub beyond: u64,
    /// Findings that stand, by concern.
    pub findings: BTreeMap<&'static str, u64>,
    /// Events reported, by name.
    pub events: BTreeMap<&'static str, u64>,
    /// Lines of ledgers that are no records.
    pub ledger_lines_damaged: u64,
    /// Time that the last view took.
    pub view_seconds: f64,
}

bartizan_registry::made! {
    /// The newest numbers, for metrics requests.
    #[derive(Debug, Default)]
    pub struct Metrics,
    /// No numbers yet.
    pub new(delivery: Option<Counts>) {
        numbers: Mutex<Numbers> = Mutex::default(),
        /// Counts of events on their way to a collector, if one is configured.
        delivery: Option<Counts>,
    }
}

impl Metrics {
    /// These are the numbers now.
    pub fn set(&self, numbers: Numbers) {
        *self.numbers.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
    }

    /// All of it.
    pub fn all(&self) -> Vec<Metric> {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut metrics = Vec::from(of_sources(&numbers));
        metrics.extend(of_links(&numbers));
        metrics.extend(self.delivery.iter().flat_map(Counts::metrics));
        metrics
    }

    /// All of it in the text format of Prometheus (OpenMetrics).
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(Exposition(self.all())));
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut out, &registry);
        out
    }
}

fn of_sources(numbers: &Numbers) -> [Metric; 7] {
    let mut packets = Metric::sum("packets", "Packets read, by direction where an interface tells it");
    let mut bytes = Metric::sum("bytes", "Bytes of these packets as they were on the wire");
    let mut dropped = Metric::sum("dropped_packets", "Packets lost at the capture");
    let mut untracked = Metric::sum(
        "untracked_packets",
        "Packets of connections beyond the ceiling of memory",
    );
    let mut age = Metric::gauge(
        "last_packet_age_seconds",
        "Time since the newest packet, by its own time",
    );
    let mut live = Metric::gauge(
        "live",
        "Connections, associations and security associations that are followed",
    );
    let mut memory = Metric::gauge("memory_bytes", "Bytes these take, about");
    let now = since_1970();
    for numbers in &numbers.sources {
        let source = ("source", numbers.name.as_str());
        let mut passed = |direction, of: Passed| {
            let labels = [source, ("direction", direction)];
            packets.count(&labels, of.packets);
            bytes.count(&labels, of.bytes);
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
        dropped.count(&[source], numbers.dropped);
        untracked.count(&[source], numbers.untracked);
        if let Some(newest) = numbers.newest_ns {
            // Nanoseconds as seconds: a double is exact to the microsecond here.
            age.real(&[source], now.as_secs_f64() - newest as f64 / 1e9);
        }
        let holding = &numbers.holding;
        for (kind, count) in [
            ("tcp", holding.connections),
            ("sctp", holding.associations),
            ("ike", holding.ike_sas),
            ("esp", holding.esp_sas),
            ("udp", holding.datagrams),
        ] {
            live.count(&[source, ("kind", kind)], count as u64);
        }
        memory.count(&[source], holding.bytes as u64);
    }
    [packets, bytes, dropped, untracked, age, live, memory]
}

fn of_links(numbers: &Numbers) -> [Metric; 7] {
    let mut links = Metric::gauge("links", "Links by interface and verdicts");
    for (&[interface, confidentiality, authenticity], &count) in &numbers.links {
        let labels = [
            ("interface", interface),
            ("confidentiality", confidentiality),
            ("authenticity", authenticity),
        ];
        links.count(&labels, count);
    }
    let mut each = Metric::gauge("link", "1 for each link with its verdicts, up to a bound");
    for (source, link, confidentiality, authenticity) in &numbers.each {
        let [one, other] = &link.ends;
        let interface = link.named();
        let labels = [
            ("source", source.as_str()),
            ("one", one),
            ("other", other),
            ("path", link.path.as_deref().unwrap_or_default()),
            ("interface", interface.as_ref()),
            ("confidentiality", confidentiality.name()),
            ("authenticity", authenticity.name()),
        ];
        each.count(&labels, 1);
    }
    let mut beyond = Metric::gauge("links_without_series", "Links beyond that bound");
    beyond.count(&[], numbers.beyond);
    let mut findings = Metric::gauge("findings", "Findings that stand, by concern");
    for (&concern, &count) in &numbers.findings {
        findings.count(&[("concern", concern)], count);
    }
    let mut events = Metric::sum("events", "Events reported, by name");
    for (&event, &count) in &numbers.events {
        events.count(&[("event", event)], count);
    }
    let mut damaged = Metric::sum("ledger_lines_damaged", "Lines of ledgers that are no records");
    damaged.count(&[], numbers.ledger_lines_damaged);
    let mut view = Metric::gauge(
        "view_seconds",
        "How long it took to judge all that is followed, last time",
    );
    view.real(&[], numbers.view_seconds);
    [links, each, beyond, findings, events, damaged, view]
}
