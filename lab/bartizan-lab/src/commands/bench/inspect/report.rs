//! Report of `bartizan bench inspect`, as text and as JSON.

use std::fmt::Write as _;

use bartizan_estimators::{Pairs, Resampling, Summary, ratio_of_medians};
use bartizan_host::Facts;
use bartizan_workbench::captures::Written;
use bartizan_workbench::inspection::Cost;
use bartizan_workbench::runner::trial::load_average;
use serde::Serialize;

use crate::Outcome;
use crate::output::errln;

/// Ours is to be so many times as fast as tshark.
const FASTER: f64 = 10.0;
/// Bytes of bulk per second on one processor.
const BULK: f64 = 500e6;
/// Speed as a share of that of the other build, and memory as a multiple of what that one needs.
const AS_FAST: f64 = 0.9;
const AS_SMALL: f64 = 1.1;
/// Speed through tunnels as a share of that without.
const WRAPPED: f64 = 0.5;
/// Bytes for a million flows at once.
const MILLION: f64 = 2.5e9;
/// Bytes for one that is idle.
const IDLE: f64 = 2000.0;

/// Processor time that ten times as many hostile bytes take at most: linear, and what a table and caches that grow add.
const TENFOLD: f64 = 15.0;

/// Subject of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Subject {
    Mixed,
    Wrapped,
    Bulk,
    Flows,
    Idle,
    Hostile,
}

impl Subject {
    const ALL: [Self; 6] = [
        Self::Mixed,
        Self::Wrapped,
        Self::Bulk,
        Self::Flows,
        Self::Idle,
        Self::Hostile,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Wrapped => "wrapped",
            Self::Bulk => "bulk",
            Self::Flows => "flows",
            Self::Idle => "idle",
            Self::Hostile => "hostile",
        }
    }

    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|subject| subject.name() == name);
        found.ok_or_else(|| "it is one of mixed, wrapped, bulk, flows, idle, hostile".to_owned())
    }
}

/// Program that reads a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reader {
    Ours,
    /// Another build of ours.
    Other,
    Tshark,
}

impl Reader {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "bartizan inspect",
            Self::Other => "the other build",
            Self::Tshark => "tshark -T fields",
        }
    }
}

/// One reading of one capture.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Trial {
    pub(super) subject: Subject,
    pub(super) reader: Reader,
    repetition: u16,
    /// Kinds and number of flows, where it read those.
    pub(super) flows: Option<(String, u32)>,
    cost: Cost,
    /// Load average over a minute when it ended.
    load: Option<f64>,
}

impl Trial {
    pub(super) fn new(subject: Subject, reader: Reader, repetition: u16, cost: Cost) -> Self {
        Self {
            subject,
            reader,
            repetition,
            flows: None,
            cost,
            load: load_average(),
        }
    }
}

pub(super) struct Report {
    seed: u64,
    pub(super) raised: bool,
    pub(super) tshark: Option<String>,
    captures: Vec<(Subject, Written)>,
    trials: Vec<Trial>,
}

/// One figure, and what it is to reach.
#[derive(Debug, Clone, Serialize)]
struct Figure {
    what: String,
    unit: &'static str,
    summary: Summary,
    /// At least, or at most, this.
    target: Option<Target>,
    reached: Option<bool>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Report {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            raised: false,
            tshark: None,
            captures: Vec::new(),
            trials: Vec::new(),
        }
    }

    pub(super) fn capture(&mut self, subject: Subject, written: Written) {
        self.captures.push((subject, written));
    }

    pub(super) fn add(&mut self, trial: Trial) {
        let seconds = trial.cost.wall_ns as f64 / 1e9;
        let what = trial
            .flows
            .as_ref()
            .map_or_else(String::new, |(kinds, count)| format!(" {count} {kinds}"));
        errln!(
            "{}{what}, {}: {seconds:.2} s",
            trial.subject.name(),
            trial.reader.name()
        );
        self.trials.push(trial);
    }

    fn of(&self, subject: Subject, reader: Reader) -> impl Iterator<Item = &Cost> + Clone {
        let trials = self.trials.iter();
        trials
            .filter(move |trial| trial.subject == subject && trial.reader == reader)
            .map(|trial| &trial.cost)
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (subject, written) in &self.captures {
            for reader in [Reader::Ours, Reader::Other, Reader::Tshark] {
                let costs = self.of(*subject, reader);
                let what = |what: &str| format!("{}, {}: {what}", subject.name(), reader.name());
                let bulk = *subject == Subject::Bulk && reader == Reader::Ours;
                let target = bulk.then_some(Target::AtLeast(BULK / 1e6));
                let speed = |nanoseconds: u64| written.bytes as f64 * 1e3 / nanoseconds as f64;
                let walls = costs.clone().map(|cost| speed(cost.wall_ns));
                figures.extend(Figure::of(what("by the clock"), "MB/s", walls, target));
                let cpus = costs.clone().map(|cost| speed(cost.cpu_ns));
                figures.extend(Figure::of(what("by processor time"), "MB/s", cpus, None));
                let peaks = costs.map(|cost| cost.peak_bytes as f64 / 1e6);
                figures.extend(Figure::of(what("most memory"), "MB", peaks, None));
            }
            let pairs = self.of(*subject, Reader::Ours).zip(self.of(*subject, Reader::Tshark));
            let ratios = pairs.map(|(ours, theirs)| theirs.wall_ns as f64 / ours.wall_ns as f64);
            let what = format!("{}, times as fast as tshark", subject.name());
            figures.extend(Figure::of(what, "times", ratios, Some(Target::AtLeast(FASTER))));
            self.other(*subject, &mut figures);
        }
        self.decapsulation(&mut figures);
        self.memory(&mut figures);
        self.growth(&mut figures);
        figures
    }

    /// Ours as a multiple of the other build, repetition by repetition.
    fn other(&self, subject: Subject, figures: &mut Vec<Figure>) {
        let pairs = || self.of(subject, Reader::Ours).zip(self.of(subject, Reader::Other));
        let what = |what: &str| format!("{}, {what} the other build", subject.name());
        let faster = pairs().map(|(ours, theirs)| theirs.wall_ns as f64 / ours.wall_ns as f64);
        let least = Some(Target::AtLeast(AS_FAST));
        figures.extend(Figure::of(what("times as fast as"), "times", faster, least));
        let cheaper = pairs().map(|(ours, theirs)| theirs.cpu_ns as f64 / ours.cpu_ns as f64);
        figures.extend(Figure::of(what("by processor time, as"), "times", cheaper, None));
        let larger = pairs().map(|(ours, theirs)| ours.peak_bytes as f64 / theirs.peak_bytes as f64);
        let most = Some(Target::AtMost(AS_SMALL));
        figures.extend(Figure::of(what("times the memory of"), "times", larger, most));
    }

    /// The speed through tunnels as a share of that without, where both were read in turn.
    fn decapsulation(&self, figures: &mut Vec<Figure>) {
        let bytes = |wanted| {
            let mut captures = self.captures.iter().filter(move |(subject, _)| *subject == wanted);
            captures.next().map(|(_, written)| written.bytes as f64)
        };
        let (Some(mixed), Some(wrapped)) = (bytes(Subject::Mixed), bytes(Subject::Wrapped)) else {
            return;
        };
        let pairs = || {
            self.of(Subject::Wrapped, Reader::Ours)
                .zip(self.of(Subject::Mixed, Reader::Ours))
        };
        let walls = pairs().map(|(tunnel, plain)| wrapped / tunnel.wall_ns as f64 * plain.wall_ns as f64 / mixed);
        let what = "wrapped, share of the speed of mixed".to_owned();
        figures.extend(Figure::of(what, "times", walls, Some(Target::AtLeast(WRAPPED))));
    }

    /// Growth of the time with ten times as many bytes, by kind of hostile capture.
    fn growth(&self, figures: &mut Vec<Figure>) {
        let hostile = || self.trials.iter().filter(|trial| trial.subject == Subject::Hostile);
        let mut kinds: Vec<&str> = hostile()
            .filter_map(|trial| trial.flows.as_ref())
            .map(|(kind, _)| kind.as_str())
            .collect();
        kinds.dedup();
        for kind in kinds {
            let sizes = || {
                hostile()
                    .filter_map(|trial| trial.flows.as_ref())
                    .filter(|(known, _)| known == kind)
                    .map(|(_, size)| *size)
            };
            let times = |wanted: Option<u32>| {
                let is = move |trial: &&Trial| {
                    trial
                        .flows
                        .as_ref()
                        .is_some_and(|(known, size)| known == kind && Some(*size) == wanted)
                };
                hostile().filter(is).map(|trial| trial.cost.cpu_ns as f64)
            };
            let ratios = times(sizes().max())
                .zip(times(sizes().min()))
                .map(|(much, little)| much / little);
            let what = format!("hostile, {kind}: time of ten times as much");
            figures.extend(Figure::of(what, "times", ratios, Some(Target::AtMost(TENFOLD))));
        }
    }

    fn memory(&self, figures: &mut Vec<Figure>) {
        let mut many: Option<(&(String, u32), Vec<f64>)> = None;
        let mut idle: Vec<(&str, Vec<f64>)> = Vec::new();
        let mut few: Option<(&str, u32, u64)> = None;
        for trial in self.trials.iter().filter(|trial| trial.subject != Subject::Hostile) {
            let Some(flows) = &trial.flows else { continue };
            let peak = trial.cost.peak_bytes;
            match (trial.subject, few.take()) {
                (Subject::Flows, _) => {
                    many.get_or_insert_with(|| (flows, Vec::new()))
                        .1
                        .push(peak as f64 / 1e6);
                }
                // The same kind with fewer went before.
                (_, Some((kind, count, less))) if kind == flows.0 && count < flows.1 => {
                    let each = peak.saturating_sub(less) as f64 / f64::from(flows.1 - count);
                    match idle.iter_mut().find(|(known, _)| *known == kind) {
                        Some((_, values)) => values.push(each),
                        None => idle.push((kind, vec![each])),
                    }
                }
                _ => few = Some((&flows.0, flows.1, peak)),
            }
        }
        for (kind, values) in idle {
            let what = format!("one idle flow, {kind}");
            figures.extend(Figure::of(what, "bytes", values, Some(Target::AtMost(IDLE))));
        }
        if let Some(((kinds, count), peaks)) = many {
            let what = format!("{count} flows at once ({kinds}), most memory");
            let target = MILLION / 1e6 * f64::from(*count).max(1e6) / 1e6;
            figures.extend(Figure::of(what, "MB", peaks, Some(Target::AtMost(target))));
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        if self.figures().iter().any(|figure| figure.reached == Some(false)) {
            Outcome::Finding
        } else {
            Outcome::Clean
        }
    }

    /// The interval of how many times as fast as tshark, where both read.
    fn interval(&self) -> Option<(f64, f64, f64)> {
        let walls = |reader| -> Vec<f64> {
            let costs = self.of(Subject::Mixed, reader);
            costs.map(|cost| cost.wall_ns as f64).collect()
        };
        let pairs = Pairs::new(&walls(Reader::Tshark), &walls(Reader::Ours)).ok()?;
        let estimate = ratio_of_medians(&pairs, &Resampling::seeded(self.seed)).ok()?;
        Some((estimate.value, estimate.interval.low, estimate.interval.high))
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for (subject, written) in &self.captures {
            let _ = writeln!(
                text,
                "{}: {} bytes, {} packets",
                subject.name(),
                written.bytes,
                written.packets
            );
        }
        let _ = writeln!(
            text,
            "{:<66}{:>4}{:>12}{:>12}{:>12} {:<6}  target",
            "", "n", "quartile", "median", "quartile", ""
        );
        for figure in self.figures() {
            let Summary {
                n,
                lower_quartile,
                median,
                upper_quartile,
            } = figure.summary;
            let places = if figure.unit == "times" { 2 } else { 1 };
            let _ = write!(
                text,
                "{:<66}{n:>4}{lower_quartile:>12.places$}{median:>12.places$}{upper_quartile:>12.places$} {:<6}",
                figure.what, figure.unit
            );
            let (word, target) = match figure.target {
                Some(Target::AtLeast(target)) => ("at least", target),
                Some(Target::AtMost(target)) => ("at most", target),
                None => {
                    text.push('\n');
                    continue;
                }
            };
            let verdict = if figure.reached == Some(true) {
                "reached"
            } else {
                "not reached"
            };
            let _ = writeln!(text, "  {word} {target}: {verdict}");
        }
        if let Some((value, low, high)) = self.interval() {
            let _ = writeln!(
                text,
                "ratio of the medians of tshark and ours {value:.1} [{low:.1}, {high:.1}], 95 %, by bootstrap over repetitions"
            );
        }
        let loads = self.trials.iter().filter_map(|trial| trial.load);
        let (low, high) = loads.fold((f64::INFINITY, 0.0_f64), |(low, high), load| {
            (load.min(low), load.max(high))
        });
        let facts = Facts::gather();
        let _ = writeln!(
            text,
            "{}, Linux {}, load average {low:.1} to {high:.1}, {}, seed {}; {}",
            facts.cpu.as_deref().unwrap_or("unknown processor"),
            facts.kernel,
            if self.raised {
                "before other programs"
            } else {
                "compared with other programs"
            },
            self.seed,
            self.tshark.as_deref().unwrap_or("without tshark")
        );
        text
    }

    pub(super) fn document(&self) -> serde_json::Value {
        let facts = Facts::gather();
        serde_json::json!({
            "schema": "bartizan-bench-inspect/1",
            "seed": self.seed,
            "kernel": facts.kernel,
            "cpu": facts.cpu,
            "before_other_programs": self.raised,
            "tshark": self.tshark,
            "captures": self.captures.iter().map(|(subject, written)| serde_json::json!({
                "what": subject.name(), "bytes": written.bytes, "packets": written.packets,
            })).collect::<Vec<_>>(),
            "figures": self.figures(),
            "times_as_fast_as_tshark": self.interval().map(|(value, low, high)| serde_json::json!({
                "value": value, "interval": [low, high],
            })),
            "trials": self.trials,
        })
    }
}

impl Figure {
    fn of(
        what: String,
        unit: &'static str,
        values: impl IntoIterator<Item = f64>,
        target: Option<Target>,
    ) -> Option<Self> {
        let summary = Summary::of(values)?;
        let reached = target.map(|target| match target {
            Target::AtLeast(least) => summary.median >= least,
            Target::AtMost(most) => summary.median <= most,
        });
        Some(Self {
            what,
            unit,
            summary,
            target,
            reached,
        })
    }
}
