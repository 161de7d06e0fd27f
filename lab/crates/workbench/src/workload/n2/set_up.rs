//! Associations that are opened one after the other: how long until the first message has been answered.

use std::thread;
use std::time::{Duration, Instant};

use super::{PROTECTION, ROUND_TRIP, Stage, lacks, milliseconds, numbered, parameter, round_trip, soon};
use crate::stand_in::n2::function::{Function, Waiting};
use crate::workload::{Error, Kind, MetricKind, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "n2-set-up",
    about: "Opens an association and sends a message, which the other end returns, with a connection between sidecars ready where they keep one.",
    factors: &[PROTECTION, ROUND_TRIP],
    parameters: &[
        parameter("associations", "in a trial", 5.0),
        parameter(
            "warm",
            "connections that a sidecar keeps ready; 0: each association waits for a handshake",
            1.0,
        ),
    ],
    metrics: &[
        MetricKind::lower(
            "first-answer",
            "ms",
            "from asking the kernel for an association to having the first message back",
        ),
        MetricKind::lower(
            "round-trips",
            "",
            "the same in round trips of the cable, where it delays",
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

struct SetUp {
    stage: Stage,
    associations: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(SetUp {
        stage: Stage::make(setting, setting.parameters.count("warm")?)?,
        associations: setting.parameters.count("associations")?,
    }))
}

impl Workload for SetUp {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let places = self.stage.prepare(trial.levels)?;
        self.stage.impair(trial.levels, Duration::ZERO)?;
        let round_trip = round_trip(trial.levels)?;
        let deadline = trial.deadline;
        let mut times = Vec::with_capacity(self.associations);
        let message = numbered(1, 0, 165);
        for _ in 0..self.associations {
            self.stage.settle(trial.levels)?;
            let link = self.stage.link();
            let waiting = Waiting::at(link.ric(), places.service)?;
            times.push(thread::scope(|scope| {
                let far = scope.spawn(move || {
                    let mut association = waiting.accept(soon(deadline))?;
                    while let Some(message) = association.receive(deadline)? {
                        association.send(&message, deadline)?;
                    }
                    Ok::<_, Error>(())
                });
                let began = Instant::now();
                let mut near = Function::open(link.node(), places.local(), places.entry)?;
                near.send(&message, deadline)?;
                let back = near.receive(deadline)?;
                let took = began.elapsed();
                if back.is_none_or(|back| back.octets != message.octets) {
                    return Err(Error::Protocol("what came back is not what was sent".to_owned()));
                }
                near.close(deadline)?;
                let far = far.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                far.map(|()| took)
            })?);
        }
        let mut observation = Observation {
            facts: self.stage.facts(trial.levels)?,
            ..Observation::default()
        };
        let values = &mut observation.values;
        values.insert("first-answer", times.iter().copied().map(milliseconds).collect());
        if !round_trip.is_zero() {
            let share = |took: &Duration| took.as_secs_f64() / round_trip.as_secs_f64();
            values.insert("round-trips", times.iter().map(share).collect());
        }
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.stage.programs()
    }
}
