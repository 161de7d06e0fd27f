//! Runs an experiment: plans its trials, has workers do them, and writes a record of each.

mod error;
mod floor;
mod guard;
mod kernel;
mod log;
mod part;
mod plan;
mod remote;
mod resume;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bartizan_machine::Priority;

use crate::Experiment;
use crate::runner::experiment::{Part, Selection};
use crate::runner::trial::{Build, Controls, KernelChoice, LeftOut, RUN_SCHEMA, Record, Records, Run};
use crate::runner::worker::now;
use crate::stand_in::proxies::Tools;
use crate::workload::{Lack, Target, Targets};

pub use error::RunError;
pub use floor::runner_part;
pub use guard::{Guard, watch};
use log::Log;
use part::Runner;
pub use plan::{Planned, plan};

/// Experiment to run, and settings.
#[derive(Debug)]
pub struct Options<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// This program: workers are it.
    pub own: PathBuf,
    /// Destination of the records.
    pub out: Out,
    /// Origin of this program.
    pub build: Build,
    /// A folder for sockets, keys and configurations, with a short path.
    pub scratch: PathBuf,
    /// Settings of a new run, or the run to resume.
    pub how: How,
}

/// Destination of a run's records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// `FOLDER/<experiment>/<run>.jsonl`; folders are made where they are missing.
    Folder(PathBuf),
    /// This file, which a new run empties.
    File(PathBuf),
}

/// A new run, or one that was begun.
#[derive(Debug, Clone, PartialEq)]
pub enum How {
    /// A new one.
    New(Settings),
    /// The newest run of the experiment, or the one in this file, with the settings that are recorded in it.
    Resume(Option<PathBuf>),
}

/// Settings of a run. They are recorded, and are the same when it is resumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Decides every order.
    pub seed: u64,
    /// True for a quick run.
    pub quick: bool,
    /// Repetitions of every part, instead of the experiment's.
    pub repetitions: Option<usize>,
    /// Ids of the parts, instead of all.
    pub parts: Option<Vec<String>>,
    /// External network function under test.
    pub target: Option<String>,
    /// The root that its certificate is judged by.
    pub target_ca: Option<PathBuf>,
    /// The binary whose sidecar is measured, instead of this.
    pub binary: Option<PathBuf>,
    /// Another build whose sidecar is measured in the same repetitions.
    pub other: Option<PathBuf>,
    /// Selected settings of each part.
    pub selection: Selection,
    /// Kernel on which trials run.
    pub kernel: KernelChoice,
    /// Combinations that are measured twice.
    pub controls: Controls,
}

/// Observer of a run.
pub trait Observer {
    /// The records go to this file; so many trials are in it already, of so many.
    fn begins(&mut self, file: &Path, recorded: u64, trials: u64);
    /// Something cannot run on this machine; each is said once.
    fn left_out(&mut self, lack: &Lack);
    /// A part begins, of which so many trials are missing.
    fn part(&mut self, part: &Part, trials: u64);
    /// A trial is recorded.
    fn recorded(&mut self, record: &Record);
    /// Something a reader of the result should know.
    fn note(&mut self, note: &str);
    /// True if the run shall end after this trial.
    fn interrupted(&self) -> bool;
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The file of records.
    pub file: PathBuf,
    /// Records in the file, of this run and of those that it resumes.
    pub records: Records,
    /// Trials of the whole run.
    pub trials: u64,
    /// Trials that cannot run on this machine.
    pub left_out: Vec<LeftOut>,
    /// Trials that were not tried any more, because those before them failed: part, and why.
    pub given_up: Vec<(String, String)>,
}

/// Runs the experiment to its end, or as far as it goes.
///
/// # Errors
/// [`RunError`]. A trial that fails, crashes or takes too long is a record and does not end the run.
pub fn run(options: &Options<'_>, observer: &mut dyn Observer) -> Result<Ended, RunError> {
    let experiment = options.experiment;
    // Removes remains of earlier runs that were killed.
    let _ = bartizan_host::sweep();
    let (mut log, before, settings, name, parts) = match &options.how {
        How::New(settings) => {
            // Before there is a file: what cannot be run leaves none.
            let parts = parts(experiment, settings)?;
            let (log, name) = new_log(options)?;
            (log, Records::default(), settings.clone(), name, parts)
        }
        How::Resume(file) => {
            let (log, before, settings, name) = resume::resume(options, file.as_deref(), observer)?;
            let parts = parts(experiment, &settings)?;
            (log, before, settings, name, parts)
        }
    };
    let planned = plan(
        parts.iter().map(|part| (part, repetitions(part, &settings))),
        settings.seed,
    );
    let trials = planned.len() as u64;
    let done: BTreeSet<u64> = before.trials.iter().map(|record| record.trial).collect();
    observer.begins(log.path(), done.len() as u64, trials);
    let tools = Tools::find(options.own.clone(), settings.binary.as_deref())?.with_other(settings.other.as_deref())?;
    let placed = kernel::place(&parts, &tools, settings.kernel, observer)?;
    let line = Run {
        schema: RUN_SCHEMA.to_owned(),
        experiment: experiment.id.clone(),
        digest: experiment.digest.clone(),
        run: name.clone(),
        began: now(),
        seed: settings.seed,
        quick: settings.quick,
        repetitions: settings.repetitions,
        parts: settings.parts.clone(),
        target: settings.target.clone(),
        target_ca: settings.target_ca.as_ref().map(|path| path.display().to_string()),
        binary: settings.binary.as_ref().map(|path| path.display().to_string()),
        other: settings.other.as_ref().map(|path| path.display().to_string()),
        selection: settings.selection.clone(),
        trials,
        kernel: settings.kernel,
        controls: settings.controls,
        left_out: placed.left_out.clone(),
    };
    let recorded = done.len() as u64;
    log.write(&line).map_err(|source| RunError::Disk {
        file: log.path().to_owned(),
        source,
        recorded,
        trials,
    })?;
    // Held next to those of the workers, so that what a killed one has raised is undone.
    let _priority = Priority::highest().ok();
    let mut runner = Runner::new(options, &settings, &name, log, observer, recorded, trials);
    for (index, part) in parts.iter().enumerate() {
        let can_run = |trial: &&Planned| {
            trial.part == index
                && !done.contains(&trial.trial)
                && !placed
                    .left_out
                    .iter()
                    .any(|left_out| left_out.part == part.id && left_out.levels == trial.levels)
        };
        let missing: Vec<&Planned> = planned.iter().filter(can_run).collect();
        if !missing.is_empty() {
            runner.part(part, placed.guest(part), &missing)?;
        }
    }
    let (file, given_up) = runner.end();
    let records = Records::read(&file).map_err(|source| RunError::File {
        file: file.clone(),
        source,
    })?;
    Ok(Ended {
        file,
        records,
        trials,
        left_out: placed.left_out,
        given_up,
    })
}

/// The runner's own floor, and the parts that are asked for.
fn parts(experiment: &Experiment, settings: &Settings) -> Result<Vec<Part>, RunError> {
    if let Some(wanted) = &settings.parts {
        for id in wanted {
            if experiment.part(id).is_none() {
                let known: Vec<&str> = experiment.parts.iter().map(|part| part.id.as_str()).collect();
                let meant = bartizan_deployment::nearest(id, known.iter().copied());
                let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
                return Err(RunError::Usage {
                    cause: format!("{} has no part `{id}`", experiment.id),
                    hint: format!("{meant}there are {}", known.join(", ")),
                });
            }
        }
    }
    let wanted = |part: &&Part| settings.parts.as_ref().is_none_or(|wanted| wanted.contains(&part.id));
    let parts: Vec<Part> = std::iter::once(runner_part())
        .chain(
            experiment
                .parts
                .iter()
                .filter(wanted)
                .map(|part| settings.selection.of(&controlled(part, settings.controls))),
        )
        .collect();
    if let Some(target) = &settings.target {
        Target::parse(target, settings.target_ca.as_deref()).map_err(|cause| RunError::Usage {
            cause,
            hint: "--target takes http://127.0.0.10:8000, or https://nrf.5gc:8000 with --target-ca FILE".to_owned(),
        })?;
        if settings.kernel == KernelChoice::Guest {
            return Err(RunError::Usage {
                cause: format!("{target} cannot be reached from a guest's kernel, which has no network but its own"),
                hint: "leave --kernel or --target out".to_owned(),
            });
        }
        if let Some(part) = parts[1..].iter().find(|part| part.workload.targets == Targets::Own) {
            return Err(RunError::Usage {
                cause: format!("part {} cannot be pointed at {target}", part.id),
                hint: format!(
                    "{} runs against what it starts itself: leave --target out, or choose others with --part",
                    part.workload.name
                ),
            });
        }
    }
    Ok(parts)
}

/// A part with the controls that are asked for.
fn controlled(part: &Part, controls: Controls) -> Part {
    let mut part = part.clone();
    match controls {
        Controls::All => part.controls.clone_from(&part.combinations),
        Controls::First if part.controls.is_empty() => part.controls.extend(part.combinations.first().cloned()),
        Controls::First | Controls::Declared => {}
    }
    part
}

fn repetitions(part: &Part, settings: &Settings) -> usize {
    match settings {
        // The floor is the runner's, not the experiment's.
        Settings {
            repetitions: Some(repetitions),
            ..
        } if part.id != floor::RUNNER => *repetitions,
        Settings { quick: true, .. } => part.quick.repetitions,
        _ => part.repetitions,
    }
}

/// A run is named by the time of day, and so is its file in a folder; a number is added when two
/// runs begin in one second.
fn new_log(options: &Options<'_>) -> Result<(Log, String), RunError> {
    // 2026-11-21T09:30:00.123Z, without what a file's name is better without.
    let time: String = now().chars().take(19).filter(|letter| *letter != ':').collect();
    let folder = match &options.out {
        Out::Folder(folder) => folder.join(&options.experiment.id),
        Out::File(file) => return Ok((Log::replace(file.clone())?, format!("{time}Z"))),
    };
    for number in 1..1000 {
        let name = if number == 1 {
            format!("{time}Z")
        } else {
            format!("{time}Z-{number}")
        };
        match Log::create(folder.join(format!("{name}.jsonl"))) {
            Err(RunError::File { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
            created => return Ok((created?, name)),
        }
    }
    Err(RunError::Unusable {
        file: folder,
        cause: "a thousand runs began in one second".to_owned(),
    })
}
