//! What the records of a run say: one figure per route, with its target.

mod beside;

use std::collections::{BTreeMap, BTreeSet};

use bartizan_stats::{Estimate, Interval, Pairs, Resampling, Sample, Summary, median_interval, ratio_of_medians};
use serde::Serialize;

use crate::bench::record::{Cpu, Measured, Over, Record};
use crate::bench::route::Level;
use crate::bench::{Mode, Placement, Proxy, What};

/// Repetitions that the comparison of post-quantum with classical takes.
const RATIO_REPETITIONS: usize = 100;

/// A figure of one route.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What it is.
    pub figure: Name,
    /// Where it was measured.
    pub placement: Placement,
    /// On which proxy; absent on the direct route.
    pub proxy: Option<Proxy>,
    /// What that looks at.
    pub level: Option<Level>,
    /// By which algorithms; absent on the direct route, and where they are compared.
    pub mode: Option<Mode>,
    /// Requests at once, of throughput.
    pub streams: Option<usize>,
    /// Its unit.
    pub unit: &'static str,
    /// Repetitions, median and quartiles.
    pub summary: Summary,
    /// The 95 % interval of the median (bootstrap by repetitions), or of the ratio.
    pub interval: Interval,
    /// Processor time of both proxies together per request, in microseconds: the median of the repetitions.
    pub cpu_us: Option<f64>,
    /// Trials that failed and are left out.
    pub failed: usize,
    /// What it must reach.
    pub target: Option<Target>,
    /// Whether it does.
    pub verdict: Verdict,
}

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// The median of requests one after the other, of the repetitions.
    RoundTrip,
    /// The same less that of the direct route in the same repetition.
    Added,
    /// The median of post-quantum over that of classical, in the same repetitions.
    Ratio,
    /// What this build adds over what the other one does, in the same repetitions.
    BesideAdded,
    /// Requests per second.
    Throughput,
    /// A request on a connection of its own.
    NewConnection,
    /// Full handshakes per second of the server's processor time, in memory.
    HandshakesInMemory,
    /// The same between ends that have not met before.
    FirstContactsInMemory,
    /// The same of a proxy, over TCP.
    HandshakesOverTcp,
    /// Memory of the larger of the two proxies.
    Memory,
}

/// What a figure must reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// The whole interval between these.
    Inside(f64, f64),
}

/// Whether it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing is asked of it.
    NoTarget,
    /// It does.
    Reached,
    /// It does not.
    NotReached,
    /// It cannot be said, and why.
    NotJudged(String),
}

/// Trials of one kind on one route.
type Key = (
    What,
    Placement,
    Option<Proxy>,
    Option<Mode>,
    Option<usize>,
    Option<Over>,
);

/// The figures of a run, by what they are.
#[must_use]
pub fn figures(records: &[Record]) -> Vec<Figure> {
    let seed = records.first().map_or(0, |record| record.seed);
    let mut trials: BTreeMap<Key, Vec<&Record>> = BTreeMap::new();
    for record in records {
        let (streams, over) = match record.measured {
            Measured::Load { streams, .. } => (Some(streams), None),
            Measured::Handshakes { over, .. } => (None, Some(over)),
            _ => (None, None),
        };
        let key = (record.what, record.placement, record.proxy, record.mode, streams, over);
        trials.entry(key).or_default().push(record);
    }
    let run = Trials {
        trials,
        resampling: Resampling::seeded(seed),
        quick: records.iter().any(|record| record.quick),
    };
    let mut figures: Vec<Figure> = run.trials.keys().filter_map(|key| run.figure(key)).collect();
    figures.extend(run.ratios());
    figures.extend(run.besides());
    figures.sort_by_key(|figure| {
        (
            figure.figure,
            figure.placement,
            figure.streams,
            figure.level,
            figure.proxy,
            figure.mode,
        )
    });
    figures
}

struct Trials<'a> {
    trials: BTreeMap<Key, Vec<&'a Record>>,
    resampling: Resampling,
    quick: bool,
}

impl Trials<'_> {
    fn figure(&self, key: &Key) -> Option<Figure> {
        let &(what, placement, proxy, mode, streams, over) = key;
        let (name, unit) = match (what, over) {
            (What::Latency, _) if proxy.is_none() => (Name::RoundTrip, "us"),
            (What::Latency, _) => (Name::Added, "us"),
            (What::Throughput, _) => (Name::Throughput, "requests/s"),
            (What::NewConnection, _) => (Name::NewConnection, "ms"),
            (What::Handshakes, Some(Over::Memory)) => (Name::HandshakesInMemory, "handshakes/s"),
            (What::Handshakes, Some(Over::MemoryFirstContact)) => (Name::FirstContactsInMemory, "handshakes/s"),
            (What::Handshakes, _) => (Name::HandshakesOverTcp, "handshakes/s"),
            (What::Memory, _) => (Name::Memory, "MB"),
        };
        let mut values = self.values(key);
        if name == Name::Added {
            let direct = self.values(&(what, placement, None, None, None, None));
            values = values
                .into_iter()
                .filter_map(|(repetition, value)| Some((repetition, value - direct.get(&repetition)?)))
                .collect();
        }
        let sample = Sample::new(values.values().copied()).ok()?;
        let target = target(name, placement, proxy, mode);
        let estimate = median_interval(&sample, &self.resampling);
        let verdict = self.unverified(key).unwrap_or_else(|| self.verdict(target, estimate));
        // Failures know neither streams nor what they met over.
        let failures = self.trials.get(&(what, placement, proxy, mode, None, None));
        Some(Figure {
            figure: name,
            placement,
            proxy,
            level: proxy.map(Proxy::level),
            mode,
            streams,
            unit,
            summary: Summary::of(values.into_values())?,
            interval: estimate.interval,
            cpu_us: self.cpu_us(key),
            failed: failures.map_or(0, |records| records.iter().filter(|record| is_failure(record)).count()),
            target,
            verdict,
        })
    }

    /// One value per repetition.
    fn values(&self, key: &Key) -> BTreeMap<usize, f64> {
        let records = self.trials.get(key).into_iter().flatten();
        records
            .filter_map(|record| Some((record.repetition, value(record)?)))
            .collect()
    }

    fn cpu_us(&self, key: &Key) -> Option<f64> {
        let per_request = self.trials.get(key)?.iter().filter_map(|record| match record.measured {
            Measured::Latencies {
                cpu: Some(cpu),
                requests,
                ..
            }
            | Measured::Load {
                cpu: Some(cpu),
                requests,
                ..
            } => Some(together_us(cpu) / requests as f64),
            _ => None,
        });
        Summary::of(per_request).map(|summary| summary.median)
    }

    fn verdict(&self, target: Option<Target>, estimate: Estimate) -> Verdict {
        let reached = match target {
            None => return Verdict::NoTarget,
            Some(_) if self.quick => return Verdict::NotJudged("a quick run".to_owned()),
            Some(Target::AtMost(bound)) => estimate.value <= bound,
            Some(Target::AtLeast(bound)) => estimate.value >= bound,
            Some(Target::Inside(low, high)) => estimate.interval.lies_inside(low, high),
        };
        if reached { Verdict::Reached } else { Verdict::NotReached }
    }

    /// Where the ledger does not show as many full handshakes as there were connections.
    fn unverified(&self, key: &Key) -> Option<Verdict> {
        self.trials.get(key)?.iter().find_map(|record| match record.measured {
            Measured::Ledger {
                connections,
                full_handshakes,
                others,
            } if full_handshakes != connections || others != 0 => Some(Verdict::NotJudged(format!(
                "the ledger shows {full_handshakes} full handshakes and {others} others for {connections} connections"
            ))),
            _ => None,
        })
    }

    /// Post-quantum over classical, of each proxy that was measured with both.
    fn ratios(&self) -> Vec<Figure> {
        let latency = |key: &&Key| key.0 == What::Latency && key.2.is_some();
        let kinds: BTreeSet<_> = self.trials.keys().filter(latency).map(|key| (key.1, key.2)).collect();
        kinds
            .into_iter()
            .filter_map(|(placement, proxy)| self.ratio(placement, proxy?))
            .collect()
    }

    fn ratio(&self, placement: Placement, proxy: Proxy) -> Option<Figure> {
        let of = |mode| self.values(&(What::Latency, placement, Some(proxy), Some(mode), None, None));
        let (post_quantum, classical) = (of(Mode::PostQuantum), of(Mode::Classical));
        let both = post_quantum
            .iter()
            .filter_map(|(repetition, value)| Some((*value, *classical.get(repetition)?)));
        let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
        let pairs = Pairs::new(&first, &second).ok()?;
        let estimate = ratio_of_medians(&pairs, &self.resampling).ok()?;
        let target = target(Name::Ratio, placement, Some(proxy), None);
        let verdict = match target {
            Some(_) if pairs.n() < RATIO_REPETITIONS => {
                Verdict::NotJudged(format!("{} repetitions, it takes {RATIO_REPETITIONS}", pairs.n()))
            }
            _ => self.verdict(target, estimate),
        };
        let ratios = first.iter().zip(&second).map(|(first, second)| first / second);
        let summary = Summary::of(ratios)?;
        Some(Figure {
            figure: Name::Ratio,
            placement,
            proxy: Some(proxy),
            level: Some(proxy.level()),
            mode: None,
            streams: None,
            unit: "",
            summary: Summary {
                median: estimate.value,
                ..summary
            },
            interval: estimate.interval,
            cpu_us: None,
            failed: 0,
            target,
            verdict,
        })
    }
}

fn is_failure(record: &Record) -> bool {
    matches!(record.measured, Measured::Failed { .. })
}

fn together_us(cpu: Cpu) -> f64 {
    (cpu.consumer_ns + cpu.producer_ns) as f64 / 1e3
}

/// The value of a trial in the unit of its figure.
fn value(record: &Record) -> Option<f64> {
    match &record.measured {
        Measured::Latencies { latencies_ns, .. } => {
            let median = Summary::of(latencies_ns.iter().map(|&ns| ns as f64))?.median;
            Some(if record.what == What::NewConnection {
                median / 1e6
            } else {
                median / 1e3
            })
        }
        &Measured::Load {
            requests, elapsed_ns, ..
        } => Some(requests as f64 / (elapsed_ns as f64 / 1e9)),
        &Measured::Handshakes {
            handshakes,
            server_cpu_ns,
            ..
        } => Some(handshakes as f64 / (server_cpu_ns as f64 / 1e9)),
        &Measured::Memory {
            consumer_bytes,
            producer_bytes,
            ..
        } => Some(consumer_bytes.max(producer_bytes) as f64 / 1e6),
        Measured::Ledger { .. } | Measured::Failed { .. } => None,
    }
}

/// What our own paths must reach.
fn target(name: Name, placement: Placement, proxy: Option<Proxy>, mode: Option<Mode>) -> Option<Target> {
    let proxy = proxy.filter(|proxy| proxy.is_ours())?;
    if name == Name::Ratio {
        return Some(Target::Inside(0.97, 1.03));
    }
    mode.filter(|mode| *mode == Mode::PostQuantum)?;
    match (name, proxy, placement) {
        (Name::Added, Proxy::Splice, Placement::OneCore) => Some(Target::AtMost(55.0)),
        (Name::Added, Proxy::Http2, Placement::OneCore) => Some(Target::AtMost(130.0)),
        (Name::NewConnection, ..) => Some(Target::AtMost(1.2)),
        (Name::HandshakesInMemory, ..) => Some(Target::AtLeast(2700.0)),
        (Name::HandshakesOverTcp, ..) => Some(Target::AtLeast(2000.0)),
        (Name::Memory, Proxy::Splice, _) => Some(Target::AtMost(11.0)),
        (Name::Memory, Proxy::Http2, _) => Some(Target::AtMost(20.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
