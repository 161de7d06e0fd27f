//! Nothing at all: what the runner itself takes, which no other workload can be better than.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::workload::{
    Better, Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
    lacks_nothing,
};

pub(super) static KIND: Kind = Kind {
    name: "clock",
    about: "Does nothing between two looks at the clock: the floor of the runner itself.",
    factors: &[],
    parameters: &[
        ParameterKind {
            name: "readings",
            about: "pairs of looks at the clock in a trial",
            default: Some(Default::Number(100.0)),
        },
        ParameterKind {
            name: "sleeps",
            about: "sleeps of one millisecond in a trial",
            default: Some(Default::Number(5.0)),
        },
    ],
    metrics: &[
        MetricKind {
            name: "clock",
            unit: "ns",
            about: "between two looks at the clock",
            better: Better::Lower,
        },
        MetricKind {
            name: "late",
            unit: "us",
            about: "how much later than asked a sleep of one millisecond ends",
            better: Better::Lower,
        },
        // Added by the runner: only there it can be seen.
        MetricKind {
            name: "round-trip",
            unit: "us",
            about: "from the runner to its worker and back",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

/// Requested duration of each sleep.
const SLEEP: Duration = Duration::from_millis(1);

struct Clock {
    readings: usize,
    sleeps: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Clock {
        readings: setting.parameters.count("readings")?,
        sleeps: setting.parameters.count("sleeps")?,
    }))
}

impl Workload for Clock {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let mut observation = Observation::default();
        let clock = (0..self.readings)
            .take_while(|_| Instant::now() < trial.deadline)
            .map(|_| black_box(Instant::now()).elapsed().as_nanos() as f64);
        observation.values.insert("clock", clock.collect());
        let late = (0..self.sleeps)
            .take_while(|_| Instant::now() < trial.deadline)
            .map(|_| {
                let began = Instant::now();
                std::thread::sleep(SLEEP);
                began.elapsed().saturating_sub(SLEEP).as_nanos() as f64 / 1e3
            });
        observation.values.insert("late", late.collect());
        Ok(observation)
    }
}
