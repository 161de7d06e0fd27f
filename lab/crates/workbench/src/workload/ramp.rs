//! Load that an NRF and the proxies before it carry until responses take too long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_estimators::Sample;

use crate::stand_in::sbi::{Client, Question, Session};
use crate::workload::sbi::{self, Asked, CA, DEPLOYMENT, PLACEMENT, Stages, function, milliseconds};
use crate::workload::{
    Better, Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

pub(super) static KIND: Kind = Kind {
    name: "ramp",
    about: "Discoveries at an NRF at a rate, or so many at once, that rises until a latency bound breaks twice at one level: the last level that held.",
    factors: &[DEPLOYMENT, CA, PLACEMENT],
    parameters: &[
        ParameterKind {
            name: "by",
            about: "what rises: `rate` (discoveries per second, each timed from when it was due) or `concurrency` (discoveries under way at once)",
            default: Some(Default::Text("rate")),
        },
        ParameterKind {
            name: "first",
            about: "the first level",
            default: Some(Default::Number(100.0)),
        },
        ParameterKind {
            name: "growth",
            about: "each level to the one before",
            default: Some(Default::Number(1.5)),
        },
        ParameterKind {
            name: "most",
            about: "the last level that is tried",
            default: Some(Default::Number(200_000.0)),
        },
        ParameterKind {
            name: "bound-ms",
            about: "milliseconds that may be taken",
            default: Some(Default::Number(10.0)),
        },
        ParameterKind {
            name: "quantile",
            about: "by this share of the discoveries of a level, from 0 to 1",
            default: Some(Default::Number(0.95)),
        },
        ParameterKind {
            name: "dwell-ms",
            about: "milliseconds on each level",
            default: Some(Default::Number(300.0)),
        },
        ParameterKind {
            name: "work-us",
            about: "microseconds for which our NRF is busy with each request, one after the other: a server of a known capacity",
            default: Some(Default::Number(0.0)),
        },
    ],
    metrics: &[
        MetricKind {
            name: "held",
            unit: "",
            about: "the last level that held the bound: discoveries per second, or at once; 0 where the first broke",
            better: Better::Higher,
        },
        MetricKind {
            name: "throughput",
            unit: "requests/s",
            about: "discoveries answered in a second at that level",
            better: Better::Higher,
        },
        MetricKind {
            name: "latency",
            unit: "ms",
            about: "the quantile at that level",
            better: Better::Lower,
        },
    ],
    targets: Targets::Given,
    lacks: sbi::lacks_sidecar,
    start,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rising {
    Rate,
    Concurrency,
}

struct Ramp {
    stages: Stages,
    rising: Rising,
    first: f64,
    growth: f64,
    most: f64,
    bound_ms: f64,
    quantile: f64,
    dwell: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let unfit = |what: &str| Error::Configuration(what.to_owned());
    let rising = match parameters.text("by")? {
        "rate" => Rising::Rate,
        "concurrency" => Rising::Concurrency,
        _ => return Err(unfit("`by` is rate or concurrency")),
    };
    let (first, growth, most) = (
        parameters.number("first")?,
        parameters.number("growth")?,
        parameters.number("most")?,
    );
    let quantile = parameters.number("quantile")?;
    // Anything else would never end, or end before it began.
    if !(first >= 1.0 && growth >= 1.05 && most >= first && (0.0..=1.0).contains(&quantile)) {
        return Err(unfit(
            "a ramp needs first >= 1, growth >= 1.05, most >= first and a quantile from 0 to 1",
        ));
    }
    let work = Duration::from_micros(parameters.count("work-us")? as u64);
    let mut stages = Stages::new(setting)?.working(work);
    stages.prepare(setting.combinations)?;
    Ok(Box::new(Ramp {
        stages,
        rising,
        first,
        growth,
        most,
        bound_ms: parameters.number("bound-ms")?,
        quantile,
        dwell: Duration::from_millis(parameters.count("dwell-ms")? as u64),
    }))
}

/// Measurements at a level.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reached {
    level: f64,
    latency_ms: f64,
    throughput: f64,
}

impl Workload for Ramp {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let asked = Asked::of(trial.levels)?;
        let function = function(trial.levels)?;
        let (mut client, stage) = self.stages.take(asked)?;
        let mut producer = sbi::populate(&mut client, &self.stages, function.looks_for, trial.seed)?;
        let question = Arc::new(Session::new(function, trial.seed).discovery());
        client.load(&question, 1, 20, Session::judge)?;
        let (mut held, mut broke) = (None, None);
        let mut level = self.first;
        while level <= self.most && broke.is_none() {
            if !sbi::in_time(trial) {
                return Err(sbi::late());
            }
            let mut reached = self.level(&mut client, &question, level)?;
            if reached.latency_ms > self.bound_ms {
                // Something else may have had the machine for a moment.
                reached = self.level(&mut client, &question, level)?;
            }
            if reached.latency_ms > self.bound_ms {
                broke = Some(reached);
            } else {
                held = Some(reached);
                level = (level * self.growth).ceil();
            }
        }
        let mut observation = Observation::default();
        let mut note = |name, value| observation.values.insert(name, vec![value]);
        note("held", held.map_or(0.0, |held| held.level));
        if let Some(held) = held {
            note("throughput", held.throughput);
            note("latency", held.latency_ms);
        }
        let broke = broke.map(|broke| serde_json::json!({ "level": broke.level, "latency-ms": broke.latency_ms }));
        observation.facts.insert("broke".to_owned(), broke.into());
        if let Some(producer) = &mut producer {
            sbi::tidy(&mut client, producer)?;
        }
        self.stages.keep(asked, client, stage);
        Ok(observation)
    }
}

impl Ramp {
    fn level(&self, client: &mut Client, question: &Arc<Question>, level: f64) -> Result<Reached, Error> {
        let began = Instant::now();
        let (took, dropped) = match self.rising {
            Rising::Rate => client.stream(question, level, self.dwell, Session::judge)?,
            Rising::Concurrency => {
                let streams = level as usize;
                let mut all = Vec::new();
                while began.elapsed() < self.dwell {
                    all.extend(client.load(question, streams, streams.max(20), Session::judge)?);
                }
                (all, 0)
            }
        };
        let elapsed = began.elapsed();
        let answered = took.len() as f64;
        let latencies: Vec<f64> = took.into_iter().map(milliseconds).collect();
        let latency_ms = if dropped > 0 {
            f64::INFINITY
        } else {
            quantile(latencies, self.quantile)
        };
        Ok(Reached {
            level,
            latency_ms,
            throughput: answered / elapsed.as_secs_f64(),
        })
    }
}

/// The value that this share does not exceed; infinite where there is none.
fn quantile(samples: Vec<f64>, share: f64) -> f64 {
    Sample::new(samples).map_or(f64::INFINITY, |sample| sample.quantile(share))
}
