//! Cost of a pair of proxies for the requests that pass through it.

use bartizan_estimators::{Interval, Summary};
use bartizan_workbench::runner::experiment::{Experiment, Form, Levels, Part};
use bartizan_workbench::runner::trial::Record;
use bartizan_workbench::stand_in::proxies::{Level, Mode, Placement, Proxy, Route, What};
use serde::Serialize;

use super::{Target, Verdict};
use crate::model::comparison::judge;
use crate::model::pace::Paces;
use crate::model::samples::{Trial, paired};
use crate::{Samples, Statistics};

/// Repetitions that a comparison to 3 % takes.
const RATIO_REPETITIONS: usize = 100;

/// A figure of one route.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Name of the figure.
    pub figure: Name,
    /// Placement of the processes.
    pub placement: Placement,
    /// On which proxy; absent on the direct route, and of handshakes in memory.
    pub proxy: Option<Proxy>,
    /// Unit that the proxy forwards.
    pub level: Option<Level>,
    /// By which algorithms; absent on the direct route, and where they are compared.
    pub mode: Option<Mode>,
    /// Requests at once, of throughput.
    pub streams: Option<usize>,
    /// Its unit.
    pub unit: &'static str,
    /// Repetitions, median and quartiles.
    pub summary: Summary,
    /// Its 95 % interval, with the dependence of trials that follow each other; absent below six repetitions.
    pub interval: Option<Interval>,
    /// Processor time of both proxies together per request, in microseconds: the median of the repetitions.
    pub cpu_us: Option<f64>,
    /// Trials that failed and are left out.
    pub failed: usize,
    /// Target of the figure.
    pub target: Option<Target>,
    /// Verdict on the target.
    pub verdict: Verdict,
}

/// Name of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// The median of requests one after the other, of the repetitions.
    RoundTrip,
    /// The same less that of the direct route in the same repetition.
    Added,
    /// Post-quantum over classical, in the same repetitions.
    Ratio,
    /// Ratio of the latency that this build adds to that which the other build adds, in the same
    /// repetitions.
    OtherAdded,
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

/// The figures of a run of the experiment `bench-sidecar`, or of others with its workloads, by what they are.
#[must_use]
pub fn figures(experiment: &Experiment, records: &[Record]) -> Vec<Figure> {
    let run = Run {
        samples: Samples::of(records, &Paces::of(records)),
        quick: records.iter().any(|record| record.quick),
    };
    let parts = experiment.parts.iter();
    let mut figures: Vec<Figure> = parts.flat_map(|part| run.of(part)).collect();
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

/// The trials of a combination, what is said of them, and from which factor they come.
struct Cell<'a> {
    part: &'a Part,
    levels: &'a Levels,
    route: Route,
    placement: Placement,
}

struct Run {
    samples: Samples,
    quick: bool,
}

impl Run {
    fn of(&self, part: &Part) -> Vec<Figure> {
        let cells: Vec<Cell<'_>> = part
            .combinations
            .iter()
            .filter_map(|levels| {
                Some(Cell {
                    part,
                    levels,
                    // Handshakes in memory have a mode and no proxy.
                    route: Route::of(levels)
                        .or_else(|_| Route::of(&levels.clone().without("mode")))
                        .ok()?,
                    placement: Placement::of(levels),
                })
            })
            .collect();
        let what = What::ALL
            .into_iter()
            .find(|what| part.workload.name == format!("proxies-{}", what.name()));
        match what {
            Some(What::Latency) => {
                let single = cells.iter().filter_map(|cell| self.latency(cell));
                let ratios = cells.iter().filter_map(|cell| self.ratio(cell));
                let builds = cells.iter().filter_map(|cell| self.other(cell));
                single.chain(ratios).chain(builds).collect()
            }
            Some(What::Throughput) => self.each(&cells, Name::Throughput, "throughput", ("requests/s", 1.0)),
            Some(What::NewConnection) => self.each(&cells, Name::NewConnection, "latency", ("ms", 1e-3)),
            Some(What::Handshakes) => self.each(&cells, Name::HandshakesOverTcp, "handshakes", ("handshakes/s", 1.0)),
            Some(What::Memory) => self.each(&cells, Name::Memory, "memory", ("MB", 1.0)),
            None if part.workload.name == "handshakes-in-memory" => {
                let in_memory = |cell: &Cell<'_>| {
                    let name = match cell.levels.level("contact") {
                        Some("first") => Name::FirstContactsInMemory,
                        _ => Name::HandshakesInMemory,
                    };
                    self.plain(cell, name, "handshakes", ("handshakes/s", 1.0))
                };
                cells.iter().filter_map(in_memory).collect()
            }
            None => Vec::new(),
        }
    }

    fn each(&self, cells: &[Cell<'_>], name: Name, metric: &str, unit: (&'static str, f64)) -> Vec<Figure> {
        cells
            .iter()
            .filter_map(|cell| self.plain(cell, name, metric, unit))
            .collect()
    }

    fn trials(&self, cell: &Cell<'_>, metric: &str) -> &[Trial] {
        self.samples.trials(&cell.part.id, cell.levels, metric)
    }

    /// The trials of the same part with these other levels.
    fn others(&self, cell: &Cell<'_>, levels: &[(&str, &str)]) -> &[Trial] {
        let change = |changed: Levels, (factor, level): &(&str, &str)| changed.with(factor, level);
        let levels = levels.iter().fold(cell.levels.clone(), change);
        self.samples.trials(&cell.part.id, &levels, "latency")
    }

    /// A metric of a combination, by its statistics in every report.
    fn plain(&self, cell: &Cell<'_>, name: Name, metric: &str, (unit, factor): (&'static str, f64)) -> Option<Figure> {
        let statistics = Statistics::of(self.trials(cell, metric))?;
        let summary = Summary {
            n: statistics.trials,
            lower_quartile: statistics.quartiles.low * factor,
            median: statistics.median * factor,
            upper_quartile: statistics.quartiles.high * factor,
        };
        let interval = statistics.interval.map(|interval| Interval {
            low: interval.low * factor,
            high: interval.high * factor,
        });
        Some(self.figure(cell, name, unit, summary, interval, 1))
    }

    /// On the direct route the round trip, else what is added to it in the same repetitions.
    fn latency(&self, cell: &Cell<'_>) -> Option<Figure> {
        if cell.route == Route::Direct {
            return self.plain(cell, Name::RoundTrip, "latency", ("us", 1.0));
        }
        let direct = self.others(cell, &[("proxy", "direct"), ("mode", "clear")]);
        self.compared(cell, Name::Added, Form::Added, self.trials(cell, "latency"), direct, 1)
    }

    /// Post-quantum over classical.
    fn ratio(&self, cell: &Cell<'_>) -> Option<Figure> {
        let Route::Through(_, Mode::PostQuantum) = cell.route else {
            return None;
        };
        let classical = self.others(cell, &[("mode", Mode::Classical.name())]);
        let figure = self.compared(
            cell,
            Name::Ratio,
            Form::Ratio,
            self.trials(cell, "latency"),
            classical,
            RATIO_REPETITIONS,
        )?;
        Some(Figure { mode: None, ..figure })
    }

    /// Ratio of the latency that this build adds to that which the other build adds.
    fn other(&self, cell: &Cell<'_>) -> Option<Figure> {
        let Route::Through(proxy, _) = cell.route else {
            return None;
        };
        let other = self.others(cell, &[("proxy", proxy.other()?.name())]);
        let direct = self.others(cell, &[("proxy", "direct"), ("mode", "clear")]);
        let (own, other) = (less(self.trials(cell, "latency"), direct), less(other, direct));
        self.compared(cell, Name::OtherAdded, Form::Ratio, &own, &other, RATIO_REPETITIONS)
    }

    /// One group of trials set against another, as reports compare them; judged from so many repetitions on.
    fn compared(
        &self,
        cell: &Cell<'_>,
        name: Name,
        form: Form,
        first: &[Trial],
        second: &[Trial],
        least: usize,
    ) -> Option<Figure> {
        let pairs = paired(first, second)?;
        let each = pairs
            .first()
            .iter()
            .zip(pairs.second())
            .map(|(first, second)| match form {
                Form::Ratio => first / second,
                Form::Shift | Form::Added => first - second,
            });
        let spread = Summary::of(each)?;
        let judged = judge(form, first, second);
        let summary = Summary {
            median: judged.value?,
            ..spread
        };
        let unit = if form == Form::Ratio { "" } else { "us" };
        let figure = self.figure(cell, name, unit, summary, judged.interval, least);
        Some(match form {
            // Two routes have no processor time in common.
            Form::Ratio => Figure {
                cpu_us: None,
                failed: 0,
                ..figure
            },
            Form::Shift | Form::Added => figure,
        })
    }

    fn figure(
        &self,
        cell: &Cell<'_>,
        name: Name,
        unit: &'static str,
        summary: Summary,
        interval: Option<Interval>,
        least: usize,
    ) -> Figure {
        let (proxy, mode) = match cell.route {
            Route::Direct => (
                None,
                Mode::ALL
                    .into_iter()
                    .find(|mode| Some(mode.name()) == cell.levels.level("mode")),
            ),
            Route::Through(proxy, mode) => (Some(proxy), Some(mode)),
        };
        let target = Target::of(name, cell.placement, proxy, mode);
        let verdict = match target {
            None => Verdict::NoTarget,
            Some(_) if self.quick => Verdict::NotJudged("a quick run".to_owned()),
            Some(_) if summary.n < least => Verdict::NotJudged(format!("{} repetitions, it takes {least}", summary.n)),
            Some(target) => target.verdict(summary.median, interval),
        };
        Figure {
            figure: name,
            placement: cell.placement,
            proxy,
            level: proxy.map(Proxy::level),
            mode,
            streams: cell.levels.level("streams").and_then(|streams| streams.parse().ok()),
            unit,
            summary,
            interval,
            // Seconds for a thousand requests are milliseconds for one.
            cpu_us: Statistics::of(self.trials(cell, "cpu")).map(|cpu| cpu.median * 1e3),
            failed: self.samples.failures(&cell.part.id, cell.levels).len(),
            target,
            verdict,
        }
    }
}

/// Trials with what the direct route took in the same repetition taken off.
fn less(trials: &[Trial], direct: &[Trial]) -> Vec<Trial> {
    let taken = trials.iter().filter_map(|trial| {
        let base = direct.iter().find(|direct| direct.repetition == trial.repetition)?;
        let median = trial.median - base.median;
        Some(Trial {
            median,
            values: vec![median],
            ..trial.clone()
        })
    });
    taken.collect()
}

#[cfg(test)]
mod tests;
