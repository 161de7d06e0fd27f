//! The record of a trial, and of the run it belongs to: one JSON line each, which are the product of a run.

mod conditions;
mod file;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::runner::experiment::{Levels, Selection};

pub use conditions::{Build, Calibration, Steal, load_average};
pub use file::{Damage, Records};

/// Name and version of the shape of a trial's record.
pub const SCHEMA: &str = "bartizan-lab-trial/1";
/// Name and version of the shape of a run's record, the first line of a file and one more for each
/// time the run was resumed.
pub const RUN_SCHEMA: &str = "bartizan-lab-run/1";

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Id of the experiment.
    pub experiment: String,
    /// SHA-256 of the experiment's file.
    pub digest: String,
    /// Name of the run.
    pub run: String,
    /// Id of the part; `runner` for what the runner itself takes.
    pub part: String,
    /// Number in the order of the run, from 0.
    pub trial: u64,
    /// From 0. Trials of one repetition follow each other, in random order.
    pub repetition: usize,
    /// Its place in that order, from 0.
    pub position: usize,
    /// A level of each factor.
    pub levels: Levels,
    /// True for the twin of a combination: the same, started and measured as a control.
    #[serde(default, skip_serializing_if = "is_false")]
    pub twin: bool,
    /// Begin time, by RFC 3339.
    pub began: String,
    /// Duration in milliseconds.
    pub elapsed_ms: f64,
    /// Seed of the trial's random choices.
    pub seed: u64,
    /// True for a quick run, whose results have little weight.
    pub quick: bool,
    /// Processors that the worker could run on when the trial was over, by number, as the kernel says.
    pub cores: Vec<usize>,
    /// Duration of fixed work just before, on the first and on the last processor of the run; empty
    /// in records from before this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<Calibration>,
    /// Processor time taken by the hypervisor; absent if the kernel does not count it, and in
    /// records from before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<Steal>,
    /// Load average over a minute when it began, our own part included; -1 where the kernel does not tell.
    pub load: f64,
    /// The machine below a guest. The guest's load shows nothing of the machine's other work.
    /// Absent without a guest, and in records from before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<Under>,
    /// The machine.
    pub environment: Environment,
    /// Result of the trial.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The machine that a guest runs on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Under {
    /// Its load average over a minute when the trial was asked for, the guest included; -1 where
    /// its kernel does not tell.
    pub load: f64,
    /// Number of processors available to the run.
    pub processors: usize,
    /// Its processor time taken by the hypervisor, as in [`Record::steal`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<Steal>,
}

/// The machine and the precedence of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of Bartizan.
    pub version: String,
    /// Origin of this program; absent in records from before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// Kernel release.
    pub kernel: String,
    /// Machine's or guest's kernel.
    pub kernel_kind: KernelKind,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Its flags by which code for ciphers is chosen and clocks are worth something; empty in records from before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processor_flags: Vec<String>,
    /// Clock source of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// Processors the run may use, by number.
    pub processors: Vec<usize>,
    /// `nice -20`, or why not.
    pub priority: String,
    /// Precedence of the scheduler's group; absent where the scheduler does not group by session.
    pub autogroup: Option<i32>,
    /// `own`, or why the trial ran in the network namespace of the machine.
    pub namespace: String,
    /// Names and versions of the programs in the part.
    pub programs: Vec<String>,
}

/// Kernel of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelKind {
    /// The machine's.
    #[default]
    Host,
    /// One that we started for what the machine's lacks; its speed is not the machine's.
    Guest,
}

/// Choice of the kernel for a run's trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelChoice {
    /// The machine's; what it lacks is left out.
    #[default]
    Host,
    /// A guest's, for everything.
    Guest,
    /// The machine's, and a guest's for parts that need what the machine's lacks.
    Auto,
}

/// Combinations of a part that are measured twice, by two instances of the workload. A difference
/// between the two is noise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Controls {
    /// Those that the experiment names.
    #[default]
    Declared,
    /// The first of every part that names none.
    First,
    /// All of them: an A/A experiment of the workload.
    All,
}

impl Controls {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_declared(&self) -> bool {
        *self == Self::Declared
    }
}

/// Result of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It was one.
    Measured {
        /// Samples of each metric, in its unit.
        values: BTreeMap<String, Vec<f64>>,
        /// Further facts, by name.
        facts: BTreeMap<String, Value>,
    },
    /// It was none.
    Failed {
        /// Reason.
        error: String,
    },
}

/// Properties of all trials that follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// Id of the experiment.
    pub experiment: String,
    /// SHA-256 of the experiment's file.
    pub digest: String,
    /// Name of the run.
    pub run: String,
    /// Begin time, or time of resumption, by RFC 3339.
    pub began: String,
    /// Decides every order.
    pub seed: u64,
    /// True for a quick run.
    pub quick: bool,
    /// Repetitions of every part, where they are others than the experiment's.
    pub repetitions: Option<usize>,
    /// Ids of the parts, where they are not all.
    pub parts: Option<Vec<String>>,
    /// External network function under test.
    pub target: Option<String>,
    /// The root that its certificate is judged by.
    pub target_ca: Option<String>,
    /// The binary whose sidecar is measured, where it is another than this.
    pub binary: Option<String>,
    /// Another build whose sidecar is measured in the same repetitions, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "beside")] // Its name in the first records that have it.
    pub other: Option<String>,
    /// Selected settings of each part, if they differ from the experiment's file.
    #[serde(default, skip_serializing_if = "Selection::is_empty")]
    pub selection: Selection,
    /// Requested kernel. Runs from before this field had the machine's.
    #[serde(default)]
    pub kernel: KernelChoice,
    /// Combinations that are measured twice. Runs from before this field had the experiment's.
    #[serde(default, skip_serializing_if = "Controls::is_declared")]
    pub controls: Controls,
    /// Trials of the whole run.
    pub trials: u64,
    /// Combinations that cannot run on this machine.
    pub left_out: Vec<LeftOut>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A combination that cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Id of the part.
    pub part: String,
    /// Levels of the combination.
    pub levels: Levels,
    /// The missing requirement.
    pub what: String,
    /// Reason for its absence.
    pub reason: String,
}
