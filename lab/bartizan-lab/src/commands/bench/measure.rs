//! An experiment of the bench, measured by the lab's runner.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_workbench::Experiment;
use bartizan_workbench::runner::experiment::bench;
use bartizan_workbench::runner::run::{Guard, How, Options, Out, RunError, Settings, runner_part};
use bartizan_workbench::runner::trial::{Environment, Outcome as TrialOutcome, Record, Records};

use crate::commands::lab::{Progress, build};
use crate::interrupt::Interrupt;
use crate::{Failure, Outcome};

/// Measurements until the end of a run, which may have come early.
pub(super) struct Measured {
    pub(super) experiment: Experiment,
    /// Trials of the experiment, without those of the runner's own floor.
    pub(super) trials: Vec<Record>,
    /// Reason for an early end, if the run had one.
    pub(super) ended: Result<(), Failure>,
    /// Combinations that were given up after failures.
    pub(super) given_up: usize,
}

/// Runs the experiment of this id. Records go to the file if there is one, else they pass with the run.
pub(super) fn run(id: &str, settings: Settings, file: Option<&PathBuf>) -> Result<Measured, Failure> {
    let interrupt = Interrupt::install()?;
    let experiment = bench::experiment(id).ok_or_else(|| Failure::new(format!("no experiment {id}")))?;
    let experiment = experiment.map_err(Failure::new)?;
    let own = crate::commands::own()?;
    let scratch = tempfile::Builder::new()
        .prefix("bartizan-bench-")
        .tempdir()
        .map_err(|error| {
            Failure::new(format!("a temporary folder: {error}")).hint("set TMPDIR to a folder that can be written")
        })?;
    let _guard = Guard::start(&own, scratch.path())
        .map_err(|error| Failure::new(format!("starting {}: {error}", own.display())))?;
    let records = file.cloned().unwrap_or_else(|| scratch.path().join("records.jsonl"));
    let options = Options {
        experiment: &experiment,
        own,
        out: Out::File(records.clone()),
        build: build(),
        scratch: scratch.path().join("run"),
        how: How::New(settings),
    };
    let mut progress = Progress::new(interrupt);
    if file.is_none() {
        progress = progress.without_file();
    }
    let ended = bartizan_workbench::runner::run::run(&options, &mut progress);
    progress.finish();
    let (given_up, ended) = match ended {
        Ok(ended) => (ended.given_up.len(), Ok(())),
        Err(RunError::File { file, source }) if file == records => {
            return Err(
                Failure::usage(format!("{}: {source}", file.display())).hint("--file takes a file that can be written")
            );
        }
        Err(error) => (0, Err(refused(&error, id, file))),
    };
    let read = Records::read(&records).map_err(|error| Failure::new(format!("{}: {error}", records.display())))?;
    let floor = runner_part();
    let trials = read.trials.into_iter().filter(|record| record.part != floor.id);
    Ok(Measured {
        trials: trials.collect(),
        experiment,
        ended,
        given_up,
    })
}

fn refused(error: &RunError, id: &str, file: Option<&PathBuf>) -> Failure {
    let mut failure = if error.is_usage() {
        Failure::usage(error)
    } else {
        Failure::new(error)
    };
    if let Some(hint) = error.hint() {
        failure = failure.hint(hint);
    }
    if let (RunError::Interrupted { .. } | RunError::Disk { .. }, Some(file)) = (error, file) {
        failure = failure.hint(format!("to go on: bartizan lab run {id} --resume={}", file.display()));
    }
    failure
}

impl Measured {
    /// Trials that failed.
    pub(super) fn failed(&self) -> usize {
        let failed = |record: &&Record| matches!(record.outcome, TrialOutcome::Failed { .. });
        self.trials.iter().filter(failed).count()
    }

    /// The machine, with every program of the run.
    pub(super) fn environment(&self) -> Option<Environment> {
        let mut environment = self.trials.first()?.environment.clone();
        let programs = self.trials.iter().flat_map(|record| &record.environment.programs);
        environment.programs = programs.cloned().collect();
        environment.programs.sort_unstable();
        environment.programs.dedup();
        Some(environment)
    }

    /// Lowest and highest load average over a minute while trials ran.
    pub(super) fn load(&self) -> Option<(f64, f64)> {
        let loads = self.trials.iter().map(|record| record.load).filter(|load| *load >= 0.0);
        loads.fold(None, |range: Option<(f64, f64)>, load| {
            let (low, high) = range.unwrap_or((load, load));
            Some((low.min(load), high.max(load)))
        })
    }

    /// A finding where a target is not reached, a trial failed, or something was given up.
    pub(super) fn outcome(&self, missed: bool) -> Outcome {
        if missed || self.failed() > 0 || self.given_up > 0 {
            Outcome::Finding
        } else {
            Outcome::Clean
        }
    }
}

/// The seed of a run that names none.
pub(super) fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs()
}
