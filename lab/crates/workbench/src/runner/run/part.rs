//! The trials of a part, by a worker that is replaced when it is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bartizan_estimators::{Random, shuffle};
use bartizan_testing::Guest;

use crate::Error;
use crate::runner::experiment::{Levels, Parameters, Part};
use crate::runner::run::log::Log;
use crate::runner::run::plan::Planned;
use crate::runner::run::remote::{Answer, Network, Remote};
use crate::runner::run::{Observer, Options, RunError, Settings};
use crate::runner::trial::{Environment, Outcome, Record, SCHEMA, Steal, Under, load_average};
use crate::runner::worker::{Done, Measured, Start, TrialOrder, now};
use crate::workload::Kind;

/// Failures of a combination in a row after which it is not tried any more: one that hangs would hold all others up.
const FAILURES: usize = 3;
/// Messages by which the way to the worker is measured.
const PINGS: usize = 20;

pub(super) struct Runner<'a> {
    options: &'a Options<'a>,
    settings: &'a Settings,
    name: &'a str,
    log: Log,
    observer: &'a mut dyn Observer,
    recorded: u64,
    trials: u64,
    given_up: Vec<(String, String)>,
    /// Workers so far: each has a folder of its own.
    workers: usize,
}

/// State of a part while it runs.
struct PartState<'p> {
    part: &'p Part,
    /// Its guest; none on this machine's kernel.
    guest: Option<&'p Guest>,
    parameters: &'p Parameters,
    combinations: Vec<Levels>,
    /// Those whose twins are to be measured.
    controls: Vec<Levels>,
    worker: Option<Remote>,
    /// Combinations that this worker has done before.
    warm: BTreeSet<Cell>,
    /// In a row.
    failures: BTreeMap<Cell, usize>,
}

/// A combination, or its twin.
type Cell = (Levels, bool);

impl<'a> Runner<'a> {
    pub(super) fn new(
        options: &'a Options<'a>,
        settings: &'a Settings,
        name: &'a str,
        log: Log,
        observer: &'a mut dyn Observer,
        recorded: u64,
        trials: u64,
    ) -> Self {
        Self {
            options,
            settings,
            name,
            log,
            observer,
            recorded,
            trials,
            given_up: Vec::new(),
            workers: 0,
        }
    }

    pub(super) fn end(self) -> (PathBuf, Vec<(String, String)>) {
        (self.log.path().to_owned(), self.given_up)
    }

    /// Does these trials of a part, in their order.
    pub(super) fn part(&mut self, part: &Part, guest: Option<&Guest>, missing: &[&Planned]) -> Result<(), RunError> {
        self.observer.part(part, missing.len() as u64);
        let of = |twin: bool| -> Vec<Levels> {
            let trials = missing.iter().filter(|trial| trial.twin == twin);
            let levels: BTreeSet<&Levels> = trials.map(|trial| &trial.levels).collect();
            levels.into_iter().cloned().collect()
        };
        let mut state = PartState {
            part,
            guest,
            parameters: if self.settings.quick {
                &part.quick.parameters
            } else {
                &part.parameters
            },
            combinations: {
                // A resumed run may lack a twin whose combination it has.
                let all: BTreeSet<Levels> = of(false).into_iter().chain(of(true)).collect();
                all.into_iter().collect()
            },
            controls: of(true),
            worker: None,
            warm: BTreeSet::new(),
            failures: BTreeMap::new(),
        };
        let done = self.trials(&mut state, missing);
        if let Some(worker) = state.worker.take() {
            worker.stop();
        }
        done
    }

    fn trials(&mut self, state: &mut PartState<'_>, missing: &[&Planned]) -> Result<(), RunError> {
        if !self.warm_up_all(state)? {
            return Ok(());
        }
        for &trial in missing {
            self.check()?;
            let cell = (trial.levels.clone(), trial.twin);
            if state.is_given_up(&cell) {
                continue;
            }
            if trial.twin && !self.lead_in(state, trial)? {
                return Ok(());
            }
            // A new worker is cold.
            if !state.warm.contains(&cell) && !self.warm_up(state, &cell)? {
                return Ok(());
            }
            if state.is_given_up(&cell) {
                continue;
            }
            let (began, at) = (now(), Instant::now());
            let before = state.guest.map(|_| under());
            let Some((answer, environment)) = self.ask(state, &cell, trial.repetition, trial.seed)? else {
                return Ok(());
            };
            let under = before.map(Before::since);
            let record = self.record(state.part, trial, answer, environment, (began, at, under));
            self.take(state, record)?;
        }
        Ok(())
    }

    /// Has the twin do a trial of any combination, which is not recorded, before one of its own
    /// counts. What is not a twin has just done another combination's, while a twin alone would
    /// stand idle for all of a repetition, and be colder (a charon: by 85 us of 365). False when
    /// there is no worker.
    fn lead_in(&mut self, state: &mut PartState<'_>, trial: &Planned) -> Result<bool, RunError> {
        if state.part.warm_up == 0 || state.controls.len() == state.combinations.len() {
            return Ok(true);
        }
        let any = Random::seeded(trial.seed).below(state.combinations.len());
        let cell = (state.combinations[any].clone(), true);
        let Some((answer, _)) = self.ask(state, &cell, trial.repetition, trial.seed)? else {
            return Ok(false);
        };
        let error = match answer {
            Answer::Done(done) => done.result.err(),
            Answer::Lost(error) => Some(error),
        };
        if let Some(error) = error {
            let what = state.named(&cell);
            self.observer
                .note(&format!("{what}: leading in to a control failed: {error}"));
        }
        Ok(true)
    }

    /// Takes every combination before the first trial, so that all are up when the first is
    /// measured. False when the part cannot be begun.
    fn warm_up_all(&mut self, state: &mut PartState<'_>) -> Result<bool, RunError> {
        let once = state.combinations.iter().map(|levels| (levels.clone(), false));
        let twins = state.controls.iter().map(|levels| (levels.clone(), true));
        let mut order: Vec<Cell> = once.chain(twins).collect();
        shuffle(&mut Random::seeded(self.settings.seed), &mut order);
        for cell in &order {
            self.check()?;
            if !self.warm_up(state, cell)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn warm_up(&mut self, state: &mut PartState<'_>, cell: &Cell) -> Result<bool, RunError> {
        state.warm.insert(cell.clone());
        for _ in 0..state.part.warm_up {
            let Some((answer, _)) = self.ask(state, cell, 0, self.settings.seed)? else {
                return Ok(false);
            };
            let error = match answer {
                Answer::Done(done) => done.result.err(),
                Answer::Lost(error) => Some(error),
            };
            if let Some(error) = error {
                let what = state.named(cell);
                self.observer.note(&format!("{what}: warming up failed: {error}"));
                self.failed(state, cell, &error);
                // It is tried again, and recorded, as a trial.
                break;
            }
        }
        Ok(true)
    }

    /// Has the worker do a trial; `None` when there is none and cannot be.
    fn ask(
        &mut self,
        state: &mut PartState<'_>,
        (levels, twin): &Cell,
        repetition: usize,
        seed: u64,
    ) -> Result<Option<(Answer, Environment)>, RunError> {
        let mut worker = match state.worker.take() {
            Some(worker) => worker,
            None => match self.start(state) {
                Ok(worker) => worker,
                Err(error) => {
                    self.cannot_begin(state.part, &error);
                    return Ok(None);
                }
            },
        };
        let bound = state.part.bound;
        let order = TrialOrder {
            levels: levels.clone(),
            twin: *twin,
            repetition,
            seed,
            bound_ms: u64::try_from(bound.as_millis()).unwrap_or(u64::MAX),
        };
        let mut environment = worker.environment.clone();
        let mut answer = worker.trial(order, bound);
        if let Answer::Done(done) = &mut answer {
            environment.programs = std::mem::take(&mut done.programs);
            measure_round_trip(&mut worker, state.part.workload, done);
        }
        if matches!(answer, Answer::Lost(_)) {
            worker.kill();
            state.warm.clear();
        } else {
            state.worker = Some(worker);
        }
        Ok(Some((answer, environment)))
    }

    fn start(&mut self, state: &PartState<'_>) -> Result<Remote, Error> {
        self.workers += 1;
        let folder = self.options.scratch.join(self.workers.to_string());
        let network = match &self.settings.target {
            Some(target) => Network::Machine(format!("{target} is outside")),
            None => Network::Own,
        };
        let start = Start {
            part: state.part.id.clone(),
            workload: state.part.workload.name.to_owned(),
            combinations: state.combinations.clone(),
            controls: state.controls.clone(),
            parameters: state.parameters.clone(),
            seed: self.settings.seed,
            quick: self.settings.quick,
            target: self.settings.target.clone(),
            target_ca: self.settings.target_ca.clone(),
            binary: self.settings.binary.clone(),
            other: self.settings.other.clone(),
            folder: PathBuf::new(),
            namespace: String::new(),
            build: self.options.build.clone(),
        };
        match state.guest {
            Some(guest) => Remote::in_guest(&self.options.own, start, guest, folder),
            None => Remote::start(&self.options.own, start, network, folder),
        }
    }

    fn cannot_begin(&mut self, part: &Part, error: &Error) {
        self.observer.note(&format!("part {} cannot be run: {error}", part.id));
        if let Some(hint) = error.hint() {
            self.observer.note(&format!("hint: {hint}"));
        }
        self.given_up.push((part.id.clone(), error.to_string()));
    }

    fn record(
        &self,
        part: &Part,
        trial: &Planned,
        answer: Answer,
        environment: Environment,
        (began, at, under): (String, Instant, Option<Under>),
    ) -> Record {
        let done = match answer {
            Answer::Done(done) => *done,
            Answer::Lost(error) => Done {
                began,
                elapsed_ms: at.elapsed().as_secs_f64() * 1e3,
                cores: environment.processors.clone(),
                calibration: Vec::new(),
                steal: None,
                load: load_average().unwrap_or(-1.0),
                programs: Vec::new(),
                result: Err(error),
            },
        };
        Record {
            schema: SCHEMA.to_owned(),
            experiment: self.options.experiment.id.clone(),
            digest: self.options.experiment.digest.clone(),
            run: self.name.to_owned(),
            part: part.id.clone(),
            trial: trial.trial,
            repetition: trial.repetition,
            position: trial.position,
            levels: trial.levels.clone(),
            twin: trial.twin,
            began: done.began,
            elapsed_ms: done.elapsed_ms,
            seed: trial.seed,
            quick: self.settings.quick,
            cores: done.cores,
            calibration: done.calibration,
            steal: done.steal,
            load: done.load,
            under,
            environment,
            outcome: outcome(part, done.result),
        }
    }

    fn take(&mut self, state: &mut PartState<'_>, record: Record) -> Result<(), RunError> {
        self.log.write(&record).map_err(|source| RunError::Disk {
            file: self.log.path().to_owned(),
            source,
            recorded: self.recorded,
            trials: self.trials,
        })?;
        self.recorded += 1;
        self.observer.recorded(&record);
        let cell = (record.levels, record.twin);
        match &record.outcome {
            Outcome::Measured { .. } => {
                state.failures.remove(&cell);
            }
            Outcome::Failed { error } => self.failed(state, &cell, error),
        }
        Ok(())
    }

    fn failed(&mut self, state: &mut PartState<'_>, cell: &Cell, error: &str) {
        let failures = state.failures.entry(cell.clone()).or_default();
        *failures += 1;
        if *failures == FAILURES {
            let what = state.named(cell);
            self.observer
                .note(&format!("{what}: given up after {FAILURES} failures in a row"));
            self.given_up.push((what, error.to_owned()));
        }
    }

    fn check(&self) -> Result<(), RunError> {
        if self.observer.interrupted() {
            return Err(RunError::Interrupted {
                recorded: self.recorded,
                trials: self.trials,
            });
        }
        Ok(())
    }
}

/// The machine under a guest before a trial: only the runner, which is no guest, can see it.
struct Before {
    under: Under,
    stolen: Option<Duration>,
}

fn under() -> Before {
    Before {
        under: Under {
            load: load_average().unwrap_or(-1.0),
            processors: bartizan_machine::processors().map_or(0, |processors| processors.len()),
            steal: None,
        },
        stolen: bartizan_machine::stolen(),
    }
}

impl Before {
    /// With what was stolen until now.
    fn since(self) -> Under {
        let steal = self.stolen.zip(bartizan_machine::stolen());
        Under {
            steal: steal.map(|(before, after)| Steal {
                before: before.as_secs_f64() * 1e3,
                after: after.as_secs_f64() * 1e3,
            }),
            ..self.under
        }
    }
}

impl PartState<'_> {
    fn is_given_up(&self, cell: &Cell) -> bool {
        self.failures.get(cell).is_some_and(|failures| *failures >= FAILURES)
    }

    /// A combination in messages.
    fn named(&self, (levels, twin): &Cell) -> String {
        let twin = if *twin { " (twin)" } else { "" };
        format!("{} {levels}{twin}", self.part.id)
    }
}

/// Outcome with the metrics that the part records. A metric may have no meaning in some
/// combinations, such as the memory of a proxy in a route without one. A trial without any metric
/// has failed.
fn outcome(part: &Part, result: Result<Measured, String>) -> Outcome {
    match result {
        Err(error) => Outcome::Failed { error },
        Ok(Measured { mut values, facts }) => {
            values.retain(|name, samples| {
                part.metric(name).is_some() && !samples.is_empty() && samples.iter().all(|value| value.is_finite())
            });
            if values.is_empty() {
                let wanted: Vec<&str> = part.metrics.iter().map(|metric| metric.name).collect();
                let error = format!("nothing was measured of {}", wanted.join(", "));
                return Outcome::Failed { error };
            }
            Outcome::Measured { values, facts }
        }
    }
}

/// Only the runner can see what its messages take.
fn measure_round_trip(worker: &mut Remote, workload: &Kind, done: &mut Done) {
    if workload.name == Kind::clock().name
        && let Ok(measured) = &mut done.result
    {
        let pings = (0..PINGS).map_while(|_| worker.ping().ok());
        let micros = pings.map(|time| time.as_nanos() as f64 / 1e3).collect();
        measured.values.insert("round-trip".to_owned(), micros);
    }
}
