//! Speed of the machine during trials, by the fixed work before each: one mode or two, and the mode
//! that each trial met.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bartizan_estimators::{Modes, OneMode, Sample};
use bartizan_workbench::runner::trial::{KernelKind, Record};
use serde::Serialize;

/// Two modes are reported where they are this unlikely to be one.
const SURE: f64 = 0.01;
/// Modes that are closer to each other than this are one for all purposes.
pub(crate) const APART: f64 = 1.1;

/// Mode of a machine with two modes during a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Speed {
    /// The fast one.
    Fast,
    /// The slow one.
    Slow,
}

/// Modes by the calibrations of some trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "modes", rename_all = "kebab-case")]
pub enum Pace {
    /// No trial has one.
    NotRecorded,
    /// Too few trials to tell modes.
    TooFew,
    /// No second mode was found.
    One {
        /// Trials.
        trials: usize,
        /// 5, 50 and 95 % of the paces, in microseconds.
        spread: [f64; 3],
    },
    /// The machine had two modes.
    Two {
        /// Trials.
        trials: usize,
        /// Boundary between the modes, and probability of a single mode.
        found: Modes,
    },
}

/// The pace of each machine that trials were taken on: the host's, and that of guests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paces(BTreeMap<bool, Pace>);

impl Paces {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut paces: BTreeMap<bool, Vec<f64>> = BTreeMap::new();
        for record in records {
            paces.entry(is_guest(record)).or_default().extend(pace(record));
        }
        Self(
            paces
                .into_iter()
                .map(|(guest, paces)| (guest, Pace::of(paces)))
                .collect(),
        )
    }

    /// Pace of the host, and of guests, if there were any.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (KernelKind, &Pace)> {
        self.0.iter().map(|(guest, pace)| {
            let kind = if *guest { KernelKind::Guest } else { KernelKind::Host };
            (kind, pace)
        })
    }

    /// Mode that a trial met; `None` if the machine had one only, or the mode is unknown.
    pub(crate) fn speed(&self, record: &Record) -> Option<Speed> {
        let Pace::Two { found, .. } = self.0.get(&is_guest(record))? else {
            return None;
        };
        let slow = found.is_upper(pace(record)?);
        Some(if slow { Speed::Slow } else { Speed::Fast })
    }
}

fn is_guest(record: &Record) -> bool {
    record.environment.kernel_kind == KernelKind::Guest
}

/// Pace of a trial: the geometric mean over the calibrated processors, in microseconds.
fn pace(record: &Record) -> Option<f64> {
    let paces: Vec<f64> = record
        .calibration
        .iter()
        .map(bartizan_workbench::runner::trial::Calibration::pace)
        .collect();
    let sum: f64 = paces.iter().map(|pace| pace.ln()).sum();
    let pace = (sum / paces.len() as f64).exp();
    (!paces.is_empty() && pace.is_finite() && pace > 0.0).then_some(pace)
}

impl Pace {
    fn of(paces: Vec<f64>) -> Self {
        let Ok(sample) = Sample::new(paces) else {
            return Self::NotRecorded;
        };
        let trials = sample.n();
        match two_modes(&sample, SURE) {
            Err(bartizan_estimators::Error::TooFew { .. }) => Self::TooFew,
            Ok(Some(found)) => Self::Two { trials, found },
            Ok(None) | Err(_) => Self::One {
                trials,
                spread: [0.05, 0.5, 0.95].map(|share| sample.quantile(share)),
            },
        }
    }
}

/// Modes of values above 0, where one alone is less likely than `sure` and they are apart.
pub(crate) fn two_modes(sample: &Sample, sure: f64) -> Result<Option<Modes>, bartizan_estimators::Error> {
    let modes = with_one_mode(sample.n(), |one| Modes::of(sample, one))?;
    Ok((modes.p < sure && modes.ratio() >= APART).then_some(modes))
}

/// The distribution of the dip of one mode takes thousands of samples to make, and reports ask for
/// the same sizes again and again.
fn with_one_mode<T>(n: usize, work: impl FnOnce(&OneMode) -> T) -> T {
    static KNOWN: Mutex<BTreeMap<usize, OneMode>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let one = known.entry(n).or_insert_with(|| OneMode::of_size(n, 1));
    work(one)
}
