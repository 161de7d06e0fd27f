//! Messages between runner and worker: JSON, one message in a line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::runner::experiment::{Levels, Parameters};
use crate::runner::trial::{Build, Calibration, Environment, Steal};

/// From the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Once, first: what trials will be of.
    Start(Box<Start>),
    /// One trial.
    Trial(TrialOrder),
    /// Nothing: what a message takes.
    Ping,
}

/// Everything a worker needs to make a workload ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) part: String,
    pub(crate) workload: String,
    pub(crate) combinations: Vec<Levels>,
    /// Those that have a twin.
    pub(crate) controls: Vec<Levels>,
    pub(crate) parameters: Parameters,
    pub(crate) seed: u64,
    pub(crate) quick: bool,
    pub(crate) target: Option<String>,
    pub(crate) target_ca: Option<PathBuf>,
    /// The binary whose sidecar is measured, where it is another than this.
    pub(crate) binary: Option<PathBuf>,
    /// Another build whose sidecar is measured in the same repetitions.
    pub(crate) other: Option<PathBuf>,
    pub(crate) folder: PathBuf,
    /// `own`, or why the worker is in the network namespace of the machine: for the records.
    pub(crate) namespace: String,
    /// Origin of the program, for the records: the worker is the same program.
    pub(crate) build: Build,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrialOrder {
    pub(crate) levels: Levels,
    /// True if the combination's twin runs the trial.
    pub(crate) twin: bool,
    pub(crate) repetition: usize,
    pub(crate) seed: u64,
    pub(crate) bound_ms: u64,
}

/// From the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// To a start.
    Ready(Box<Environment>),
    /// To a start: it cannot be.
    Refused { error: String, hint: Option<String> },
    /// To a trial.
    Done(Box<Done>),
    /// To nothing.
    Pong,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// By RFC 3339.
    pub(crate) began: String,
    pub(crate) elapsed_ms: f64,
    /// Processors the trial could run on when it was over.
    pub(crate) cores: Vec<usize>,
    /// Just before it began.
    pub(crate) calibration: Vec<Calibration>,
    pub(crate) steal: Option<Steal>,
    /// Load average at the begin.
    pub(crate) load: f64,
    /// Names and versions of what the workload has started so far.
    pub(crate) programs: Vec<String>,
    pub(crate) result: Result<Measured, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) values: BTreeMap<String, Vec<f64>>,
    pub(crate) facts: BTreeMap<String, Value>,
}
