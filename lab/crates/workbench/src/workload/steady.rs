//! Discoveries at an NRF under steady load, so many at once on one connection.

use std::sync::Arc;
use std::time::Instant;

use crate::stand_in::sbi::Session;
use crate::workload::sbi::{
    self, Asked, CA, CPU_CONSUMER, CPU_NRF, CPU_PRODUCER, DEPLOYMENT, LATENCY, MEMORY_CONSUMER, MEMORY_NRF,
    MEMORY_PRODUCER, PLACEMENT, Stages, function, milliseconds,
};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

pub(super) static KIND: Kind = Kind {
    name: "steady",
    about: "Discoveries at an NRF, so many under way at once on one kept connection: throughput, and what it costs the processor.",
    factors: &[
        DEPLOYMENT,
        FactorKind {
            name: "streams",
            about: "discoveries under way at once",
            levels: &[],
        },
        CA,
        PLACEMENT,
    ],
    parameters: &[ParameterKind {
        name: "requests",
        about: "discoveries in a trial; an eighth of them with one stream",
        default: Some(Default::Number(4000.0)),
    }],
    metrics: &[
        MetricKind {
            name: "throughput",
            unit: "requests/s",
            about: "discoveries answered in a second",
            better: Better::Higher,
        },
        LATENCY,
        CPU_CONSUMER,
        CPU_PRODUCER,
        CPU_NRF,
        MEMORY_CONSUMER,
        MEMORY_PRODUCER,
        MEMORY_NRF,
    ],
    targets: Targets::Given,
    lacks: sbi::lacks_sidecar,
    start,
};

struct Steady {
    stages: Stages,
    requests: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mut stages = Stages::new(setting)?;
    stages.prepare(setting.combinations)?;
    Ok(Box::new(Steady {
        stages,
        requests: setting.parameters.count("requests")?,
    }))
}

impl Workload for Steady {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let asked = Asked::of(trial.levels)?;
        let function = function(trial.levels)?;
        let streams = trial.levels.level("streams").unwrap_or("1");
        let streams: usize = match streams.parse() {
            Ok(streams @ 1..=1000) => streams,
            _ => return Err(Error::Configuration(format!("{streams} streams: it is 1 to 1000"))),
        };
        let requests = if streams == 1 {
            self.requests.div_ceil(8)
        } else {
            self.requests
        };
        let (mut client, stage) = self.stages.take(asked)?;
        let mut producer = sbi::populate(&mut client, &self.stages, function.looks_for, trial.seed)?;
        let question = Arc::new(Session::new(function, trial.seed).discovery());
        client.load(&question, streams, 10 * streams, Session::judge)?;
        let before = stage.spent()?;
        let began = Instant::now();
        let took = client.load(&question, streams, requests, Session::judge)?;
        let elapsed = began.elapsed();
        let after = stage.spent()?;
        let mut observation = Observation::default();
        sbi::note_spent(&mut observation, before, after, requests);
        let latencies = took.into_iter().map(milliseconds).collect();
        observation.values.insert(LATENCY.name, latencies);
        let throughput = requests as f64 / elapsed.as_secs_f64();
        observation.values.insert("throughput", vec![throughput]);
        if let Some(producer) = &mut producer {
            sbi::tidy(&mut client, producer)?;
        }
        self.stages.keep(asked, client, stage);
        Ok(observation)
    }
}
