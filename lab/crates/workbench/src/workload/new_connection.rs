//! Discoveries at an NRF, each on a connection of its own.

use crate::stand_in::sbi::Session;
use crate::workload::sbi::{
    self, Asked, CA, CPU_CONSUMER, CPU_NRF, CPU_PRODUCER, DEPLOYMENT, LATENCY, PLACEMENT, Stages, function,
    milliseconds,
};
use crate::workload::{
    Better, Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

pub(super) static KIND: Kind = Kind {
    name: "new-connection",
    about: "Discoveries at an NRF, each on a connection of its own, as functions make them whose connections are closed when idle.",
    factors: &[DEPLOYMENT, CA, PLACEMENT],
    parameters: &[ParameterKind {
        name: "connections",
        about: "connections in a trial, one discovery on each",
        default: Some(Default::Number(20.0)),
    }],
    metrics: &[
        LATENCY,
        MetricKind {
            name: "opening",
            unit: "ms",
            about: "of it, opening the connection: TCP, and TLS where the consumer itself speaks it",
            better: Better::Lower,
        },
        CPU_CONSUMER,
        CPU_PRODUCER,
        CPU_NRF,
    ],
    targets: Targets::Given,
    lacks: sbi::lacks_sidecar,
    start,
};

struct NewConnection {
    stages: Stages,
    connections: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mut stages = Stages::new(setting)?;
    stages.prepare(setting.combinations)?;
    Ok(Box::new(NewConnection {
        stages,
        connections: setting.parameters.count("connections")?,
    }))
}

impl Workload for NewConnection {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let asked = Asked {
            new: true,
            ..Asked::of(trial.levels)?
        };
        let function = function(trial.levels)?;
        let (mut client, stage) = self.stages.take(asked)?;
        let mut producer = sbi::populate(&mut client, &self.stages, function.looks_for, trial.seed)?;
        let question = Session::new(function, trial.seed).discovery();
        let before = stage.spent()?;
        let mut observation = Observation::default();
        for _ in 0..self.connections {
            if !sbi::in_time(trial) {
                return Err(sbi::late());
            }
            let exchanged = client.exchange(&question)?;
            Session::judge(&question, &exchanged.said, &client.target().url)?;
            let mut note = |name, duration| {
                let samples: &mut Vec<f64> = observation.values.entry(name).or_default();
                samples.push(milliseconds(duration));
            };
            note(LATENCY.name, exchanged.took);
            if let Some(opening) = exchanged.opening {
                note("opening", opening);
            }
        }
        let after = stage.spent()?;
        sbi::note_spent(&mut observation, before, after, self.connections);
        // Memory is not a metric of this workload.
        observation.values.retain(|name, _| !name.starts_with("memory"));
        if let Some(producer) = &mut producer {
            sbi::tidy(&mut client, producer)?;
        }
        self.stages.keep(asked, client, stage);
        Ok(observation)
    }
}
