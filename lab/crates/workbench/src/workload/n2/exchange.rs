//! The recorded NG Setup and registrations, said again: how long each takes, what is on the cable,
//! and what arrives changed.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::{HYBRID, PROTECTION, ROUND_TRIP, Stage, count, lacks, milliseconds, parameter, protection_of, soon};
use crate::stand_in::n2::function::{Function, Waiting};
use crate::stand_in::n2::play::{Changed, play};
use crate::stand_in::n2::{End, Exchange, Procedure};
use crate::workload::e2::{Egress, microseconds};
use crate::workload::{Error, FactorKind, Kind, MetricKind, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "n2-exchange",
    about: "Says again what UERANSIM's gNB and the AMF of free5GC said in an NG Setup and two registrations, each message as soon as those before it have arrived.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "group",
            about: "the one key exchange that TLS is keyed by; with ipsec X25519 and X25519MLKEM768 are those of IKE with the same algorithms",
            levels: &[HYBRID, "X25519", "MLKEM512", "MLKEM1024", "SecP384r1MLKEM1024"],
        },
        ROUND_TRIP,
    ],
    parameters: &[
        parameter("times", "associations in a trial, each with the whole exchange", 5.0),
        parameter(
            "warm",
            "connections that a sidecar keeps ready; 0: each association waits for a handshake",
            1.0,
        ),
    ],
    metrics: &[
        MetricKind::lower(
            "start",
            "ms",
            "from asking the kernel for an association to having the NG Setup Response, at the gNB",
        ),
        MetricKind::lower(
            "ng-setup",
            "us",
            "from sending the NG Setup Request to having its response, at the gNB",
        ),
        MetricKind::lower(
            "registration",
            "us",
            "from sending the registration request to the last message of that UE, at the gNB or the AMF; the functions' own time is not in it",
        ),
        MetricKind::lower(
            "wire-bytes",
            "B",
            "of frames in both directions for an association with the exchange, its beginning and end, and one connection of the programs that carry it",
        ),
        MetricKind::lower("wire-packets", "", "the frames themselves"),
        count(
            "boundaries-changed",
            "of the 20 messages of an association, those that did not arrive as one message with their octets",
        ),
        count("streams-changed", "those that arrived on another stream"),
        count(
            "payload-protocols-changed",
            "those that arrived with another payload protocol identifier",
        ),
        count(
            "clear-packets",
            "packets of SCTP that left a host readable though N2 is protected",
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

struct Replay {
    stage: Stage,
    exchange: Exchange,
    times: usize,
    folder: PathBuf,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Replay {
        stage: Stage::make(setting, setting.parameters.count("warm")?)?,
        exchange: Exchange::free5gc(),
        times: setting.parameters.count("times")?.max(1),
        folder: setting.folder.to_owned(),
    }))
}

impl Workload for Replay {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let places = self.stage.prepare(trial.levels)?;
        self.stage.impair(trial.levels, Duration::ZERO)?;
        let deadline = trial.deadline;
        self.stage.settle(trial.levels)?;
        let egress = Egress::start(self.stage.link(), &self.folder)?;
        let (mut starts, mut set_ups, mut registrations) = (Vec::new(), Vec::new(), Vec::new());
        let mut changed = Changed::default();
        for _ in 0..self.times {
            let link = self.stage.link();
            let waiting = Waiting::at(link.ric(), places.service)?;
            let exchange = &self.exchange;
            let (began, gnb, amf) = thread::scope(|scope| {
                let far = scope.spawn(move || {
                    let mut association = waiting.accept(soon(deadline))?;
                    let seen = play(exchange, End::Amf, &mut association, deadline)?;
                    match association.receive(deadline)? {
                        None => Ok(seen),
                        Some(_) => Err(Error::Protocol("the gNB says more than was recorded".to_owned())),
                    }
                });
                let began = Instant::now();
                let mut near = Function::open(link.node(), places.local(), places.entry)?;
                let gnb = play(exchange, End::Gnb, &mut near, deadline)?;
                near.close(deadline)?;
                let amf = far.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Ok::<_, Error>((began, gnb, amf?))
            })?;
            for (procedure, range) in exchange.procedures() {
                let last = range.end - 1;
                // The receiver of the last message sees it last. Both ends have the same clock.
                let ended = gnb.at[last].max(amf.at[last]);
                let took = ended.saturating_duration_since(gnb.at[range.start]);
                match procedure {
                    Procedure::NgSetup => {
                        starts.push(milliseconds(ended.saturating_duration_since(began)));
                        set_ups.push(microseconds(took));
                    }
                    Procedure::Registration => registrations.push(microseconds(took)),
                }
            }
            changed.add(gnb.changed);
            changed.add(amf.changed);
            // The next association's connection belongs to this one.
            self.stage.settle(trial.levels)?;
        }
        let left = egress.stop()?;
        let mut observation = Observation {
            facts: self.stage.facts(trial.levels)?,
            ..Observation::default()
        };
        let values = &mut observation.values;
        let each = |number: usize| vec![number as f64 / self.times as f64];
        values.insert("start", starts);
        values.insert("ng-setup", set_ups);
        values.insert("registration", registrations);
        let frames = || left.node.iter().chain(&left.ric);
        values.insert("wire-bytes", each(frames().map(|frame| frame.length).sum()));
        values.insert("wire-packets", each(frames().count()));
        values.insert("boundaries-changed", each(changed.boundaries));
        values.insert("streams-changed", each(changed.streams));
        values.insert("payload-protocols-changed", each(changed.payload_protocols));
        let hides = protection_of(trial.levels)?.hides();
        values.insert("clear-packets", vec![if hides { left.clear() as f64 } else { 0.0 }]);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.stage.programs()
    }
}
