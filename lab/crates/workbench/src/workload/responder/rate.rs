//! Set-ups one after the other, by the responder's processor time.

use std::time::{Duration, Instant};

use bartizan_ike::HalfOpen;

use super::{AUTHENTICATION, KEY_EXCHANGE, Pairs};
use crate::stand_in::responder::{Responder, set_up_and_forget};
use crate::workload::{
    Better, Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
    lacks_nothing,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "responder-rate",
    about: "IKE_SAs with a CHILD_SA each, set up one after the other in memory by Bartizan's engine, by the processor time of the responder; none is kept.",
    factors: &[KEY_EXCHANGE, AUTHENTICATION],
    parameters: &[ParameterKind {
        name: "set-ups",
        about: "IKE_SAs in a trial, after one that warms up",
        default: Some(Default::Number(200.0)),
    }],
    metrics: &[
        MetricKind {
            name: "sas",
            unit: "SAs/s",
            about: "IKE_SAs with a CHILD_SA each per second of the responder's processor time",
            better: Better::Higher,
        },
        MetricKind {
            name: "responder-cpu",
            unit: "us",
            about: "processor time of the responder for one of them",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

struct Rate {
    pairs: Pairs,
    set_ups: usize,
    processors: Vec<usize>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Rate {
        pairs: Pairs::make(setting.folder, setting.combinations)?,
        set_ups: setting.parameters.count("set-ups")?.max(1),
        processors: setting.processors.to_vec(),
    }))
}

impl Workload for Rate {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let pair = self.pairs.of(trial.levels)?;
        let last = self.processors.last().map_or(&[][..], std::slice::from_ref);
        bartizan_machine::pin_this_thread(last)?;
        let mut responder = Responder::new(pair, HalfOpen::default());
        set_up_and_forget(pair, &mut responder, 0)?;
        responder.spent = Duration::ZERO;
        for number in 1..=self.set_ups {
            if Instant::now() > trial.deadline {
                return Err(Error::Handshake(format!("not {} set-ups in time", self.set_ups)));
            }
            set_up_and_forget(pair, &mut responder, number)?;
        }
        let each = responder.spent.as_secs_f64() / self.set_ups as f64;
        let mut observation = Observation::default();
        observation.values.insert("sas", vec![1.0 / each.max(1e-9)]);
        observation.values.insert("responder-cpu", vec![each * 1e6]);
        Ok(observation)
    }
}
