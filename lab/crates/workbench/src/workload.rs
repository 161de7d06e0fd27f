//! Workloads of trials: each kind by its name, with its factors, parameters and metrics.
//!
//! A workload keeps what it started warm between trials, because trials of different combinations
//! take turns, and ends all of it when it is dropped.

mod breakdown;
mod clock;
mod e2;
mod fronthaul;
mod handshake_storm;
mod handshakes_in_memory;
mod hostile;
mod ipsec_set_up;
mod levels;
mod n2;
mod nagle;
mod new_connection;
mod parameters;
mod proxies;
mod ramp;
mod replay;
mod responder;
mod sbi;
mod scale;
mod service_calls;
mod sidecar_traces;
mod sidecar_workers;
#[cfg(test)]
mod started;
mod steady;
mod tls_connections;
mod transactions;
#[cfg(test)]
mod trials;
mod tunnels;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use bartizan_host::{Feature, Support};
use serde_json::Value;

pub use crate::Error;
pub use crate::stand_in::Lack;
use crate::stand_in::proxies::Tools;
pub use levels::Levels;
pub use parameters::Parameters;

/// Every kind, by name in an experiment's file.
pub const KINDS: &[&Kind] = &[
    &clock::KIND,
    &proxies::LATENCY,
    &proxies::THROUGHPUT,
    &proxies::NEW_CONNECTION,
    &proxies::HANDSHAKES,
    &proxies::MEMORY,
    &handshakes_in_memory::KIND,
    &hostile::KIND,
    &sidecar_workers::KIND,
    &sidecar_traces::KIND,
    &transactions::KIND,
    &service_calls::KIND,
    &tls_connections::KIND,
    &ipsec_set_up::KIND,
    &ipsec_set_up::BREACH,
    &ipsec_set_up::MEMORY,
    &ipsec_set_up::STORM,
    &handshake_storm::TLS,
    &scale::HOLD,
    &scale::STORM,
    &scale::BODY,
    &breakdown::KIND,
    &nagle::KIND,
    &steady::KIND,
    &new_connection::KIND,
    &ramp::KIND,
    &replay::KIND,
    &e2::EXCHANGE,
    &e2::PAIRS,
    &e2::ECHO,
    &e2::THROUGHPUT,
    &e2::UNDER_LOAD,
    &e2::START_UP,
    &e2::REKEY,
    &e2::CIPHER,
    &e2::MESSAGE,
    &fronthaul::MIX,
    &fronthaul::REPLAY,
    &fronthaul::ECHO,
    &fronthaul::LOAD,
    &fronthaul::TRANSFER,
    &fronthaul::REKEY,
    &fronthaul::KEYING,
    &fronthaul::IPSEC,
    &n2::ECHO,
    &n2::HEAD_OF_LINE,
    &n2::MESSAGES,
    &n2::SET_UP,
    &n2::EXCHANGE,
    &tunnels::KIND,
    &tunnels::KEYED,
    &responder::RATE,
    &responder::HELD,
    &responder::STORM,
    &responder::KEYED,
];

/// A kind of workload.
#[derive(Debug)]
pub struct Kind {
    /// The name in an experiment's file.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// The factors it knows; an experiment varies all of them or takes each one's first level.
    pub factors: &'static [FactorKind],
    /// The parameters it knows.
    pub parameters: &'static [ParameterKind],
    /// Metrics that it can measure.
    pub metrics: &'static [MetricKind],
    /// Support for an external network function as target.
    pub targets: Targets,
    /// First requirement of a combination that this machine does not meet; `None` if it can run.
    pub lacks: fn(&Levels, &Tools) -> Option<Lack>,
    /// Makes it ready: everything that need not be started for each trial.
    pub start: fn(&Setting<'_>) -> Result<Box<dyn Workload>, Error>,
}

/// A factor that a workload can vary.
#[derive(Debug)]
pub struct FactorKind {
    /// Its name.
    pub name: &'static str,
    /// Meaning of the factor.
    pub about: &'static str,
    /// Its levels; empty where every number is one.
    pub levels: &'static [&'static str],
}

impl FactorKind {
    /// Its level in a combination, or its first where the experiment does not vary it; none of a factor of numbers.
    #[must_use]
    pub fn of<'a>(&self, levels: &'a Levels) -> &'a str {
        let first = || self.levels.first().copied().unwrap_or_default();
        levels.level(self.name).unwrap_or_else(first)
    }
}

/// Something a workload measures.
#[derive(Debug, PartialEq)]
pub struct MetricKind {
    /// Its name.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// Meaning of the metric.
    pub about: &'static str,
    /// Direction of improvement.
    pub better: Better,
}

impl MetricKind {
    /// One of which small values are good.
    const fn lower(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        Self {
            name,
            unit,
            about,
            better: Better::Lower,
        }
    }
}

/// Direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Small ones.
    Lower,
    /// Large ones.
    Higher,
    /// It depends.
    Neither,
}

/// A parameter of a workload.
#[derive(Debug)]
pub struct ParameterKind {
    /// Its name.
    pub name: &'static str,
    /// Meaning of the parameter, with its unit.
    pub about: &'static str,
    /// Its value when none is given, which also says of what type it is; without one it is a number that must be given.
    pub default: Option<Default>,
}

/// The value of a parameter that is not given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(&'static str),
}

/// Support of a workload for an external network function as target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// It runs against what it starts itself.
    Own,
    /// `--target URL` can name another.
    Given,
}

/// External network function under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its URL: `http://HOST:PORT`, HTTP/2 in plaintext with prior knowledge, or `https://HOST:PORT`.
    pub uri: http::Uri,
    /// The root that its certificate is judged by, PEM; needed for `https`.
    pub ca: Option<std::path::PathBuf>,
}

/// Setting with which a workload is started.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Id of the part.
    pub part: &'a str,
    /// Combinations of the trials that can run here.
    pub combinations: &'a [Levels],
    /// Complete, with defaults.
    pub parameters: &'a Parameters,
    /// Programs.
    pub tools: &'a Tools,
    /// A folder of its own, which is there and empty, and passes with the worker.
    pub folder: &'a Path,
    /// For whatever is left to chance before the first trial.
    pub seed: u64,
    /// True for a quick run.
    pub quick: bool,
    /// Target in place of our own network function; only for kinds that support one.
    pub target: Option<&'a Target>,
    /// Processors the run may use, by number.
    pub processors: &'a [usize],
}

/// One that is ready.
pub trait Workload {
    /// Does one trial and says what came out.
    ///
    /// # Errors
    /// Any failure of the trial. The next one may still work.
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error>;

    /// Names and versions of the programs it has started.
    fn programs(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Order for a trial.
#[derive(Debug)]
pub struct Trial<'a> {
    /// A level of each factor.
    pub levels: &'a Levels,
    /// From 0.
    pub repetition: usize,
    /// For whatever is left to chance.
    pub seed: u64,
    /// Time at which the worker is killed.
    pub deadline: Instant,
}

/// Result of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observation {
    /// Samples of each metric, in its unit; without those that warmed up.
    pub values: BTreeMap<&'static str, Vec<f64>>,
    /// Further facts, by name.
    pub facts: BTreeMap<String, Value>,
}

impl Target {
    /// Reads `http://HOST:PORT`, or `https://HOST:PORT` with the root that it is judged by.
    ///
    /// # Errors
    /// In words, when it is another kind of URL, or one without the other.
    pub fn parse(text: &str, ca: Option<&Path>) -> Result<Self, String> {
        let uri: http::Uri = text.parse().map_err(|error| format!("`{text}` is no URL: {error}"))?;
        if uri.host().is_none() || uri.path() != "/" || uri.query().is_some() {
            return Err(format!("`{text}` is neither http://HOST:PORT nor https://HOST:PORT"));
        }
        match (uri.scheme_str(), ca) {
            (Some("http"), None) | (Some("https"), Some(_)) => {}
            (Some("http"), Some(_)) => return Err(format!("{text} shows no certificate that a root could judge")),
            (Some("https"), None) => return Err(format!("the certificate of {text} needs a root to be judged by")),
            _ => return Err(format!("`{text}` is neither http://HOST:PORT nor https://HOST:PORT")),
        }
        Ok(Self {
            uri,
            ca: ca.map(Path::to_owned),
        })
    }
}

impl Kind {
    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().copied().find(|kind| kind.name == name)
    }

    /// The one that does nothing.
    pub(crate) fn clock() -> &'static Self {
        &clock::KIND
    }

    /// The factor of this name.
    #[must_use]
    pub fn factor(&self, name: &str) -> Option<&FactorKind> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    /// The metric of this name.
    #[must_use]
    pub fn metric(&'static self, name: &str) -> Option<&'static MetricKind> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

impl FactorKind {
    /// True if this is one of its levels.
    #[must_use]
    pub fn knows(&self, level: &str) -> bool {
        if self.levels.is_empty() {
            level.parse::<f64>().is_ok_and(f64::is_finite)
        } else {
            self.levels.contains(&level)
        }
    }
}

impl Default {
    /// As a value of an experiment's file.
    #[must_use]
    pub fn value(self) -> Value {
        match self {
            // A whole number is written as one.
            Self::Number(number) if number.fract() == 0.0 && (0.0..9e15).contains(&number) => {
                Value::from(number as u64)
            }
            Self::Number(number) => Value::from(number),
            Self::Flag(flag) => Value::from(flag),
            Self::Text(text) => Value::from(text),
        }
    }
}

/// For kinds that need nothing but this binary.
pub(crate) fn lacks_nothing(_: &Levels, _: &Tools) -> Option<Lack> {
    None
}

/// A kernel feature, if the kernel lacks it. A guest's kernel has each.
fn lacks_feature(name: &str, feature: Feature) -> Option<Lack> {
    let (Support::Absent(reason) | Support::Unknown(reason)) = feature.tried() else {
        return None;
    };
    Some(Lack {
        what: format!("{name} of the kernel"),
        reason,
        hint: "a guest's kernel has it: --kernel auto".to_owned(),
        feature: Some(feature),
    })
}

/// A level that is a number, or what stands for it where the experiment does not vary it.
fn number(levels: &Levels, factor: &str, otherwise: f64) -> Result<f64, Error> {
    let Some(level) = levels.level(factor) else {
        return Ok(otherwise);
    };
    let number = level
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| Error::Configuration(format!("{factor} is {level}")))
}
