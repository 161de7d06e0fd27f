//! Registration, discovery and heart-beat at an NRF, one after the other: the workload of Faval et al. 2026.

use std::time::Duration;

use crate::stand_in::sbi::{Procedure, Session};
use crate::workload::sbi::{
    self, Asked, CA, CONNECTION, CONSUMER, CPU_CONSUMER, CPU_NRF, CPU_PRODUCER, DEPLOYMENT, LATENCY, MEMORY_CONSUMER,
    MEMORY_NRF, MEMORY_PRODUCER, PLACEMENT, Stages, function, milliseconds,
};
use crate::workload::{
    Better, Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

const fn of_procedure(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "ms",
        about,
        better: Better::Lower,
    }
}

pub(super) static KIND: Kind = Kind {
    name: "nrf-transactions",
    about: "A network function registers with an NRF, discovers another and sends a heart-beat, in turn, one transaction after the other.",
    factors: &[DEPLOYMENT, CONNECTION, CA, CONSUMER, PLACEMENT],
    parameters: &[
        ParameterKind {
            name: "transactions",
            about: "transactions in a trial",
            default: Some(Default::Number(100.0)),
        },
        ParameterKind {
            name: "warm-up",
            about: "transactions before those that count, on the same connection",
            default: Some(Default::Number(10.0)),
        },
        ParameterKind {
            name: "restart",
            about: "whether NRF and sidecars are started anew for each trial; otherwise they are kept, and trials of all combinations meet warm processes",
            default: Some(Default::Flag(false)),
        },
    ],
    metrics: &[
        LATENCY,
        of_procedure("registration", "the latency of registrations alone"),
        of_procedure("discovery", "the latency of discoveries alone"),
        of_procedure("heartbeat", "the latency of heart-beats alone"),
        of_procedure(
            "opening",
            "of it, opening the connection: TCP, and TLS where the consumer itself speaks it",
        ),
        of_procedure(
            "handshake",
            "how long the NRF's sidecar took for each full handshake, by its ledger",
        ),
        of_procedure(
            "first-latency",
            "the latency of the first transaction with an NRF and sidecars that were just started, where `restart` says so and something warms up; it is no part of the others",
        ),
        of_procedure(
            "first-handshake",
            "how long the NRF's sidecar took for the full handshake of that one, by its ledger: no signature of the consumer's chain is known to it yet",
        ),
        MetricKind {
            name: "handshakes",
            unit: "",
            about: "full TLS handshakes: of the transactions that count where each has its own, otherwise of the link since it was started, with those dialled ahead",
            better: Better::Neither,
        },
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

struct Transactions {
    stages: Stages,
    transactions: usize,
    warm_up: usize,
    restart: bool,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mut stages = Stages::new(setting)?;
    stages.prepare(setting.combinations)?;
    Ok(Box::new(Transactions {
        stages,
        transactions: setting.parameters.count("transactions")?,
        warm_up: setting.parameters.count("warm-up")?,
        restart: setting.parameters.flag("restart")?,
    }))
}

impl Workload for Transactions {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let asked = Asked::of(trial.levels)?;
        let function = function(trial.levels)?;
        let (mut client, stage) = self.stages.take(asked)?;
        let mut session = Session::new(function, trial.seed);
        // Before anything else, so that neither end has seen the other's certificates.
        let first = match self.restart && self.warm_up > 0 {
            true => Some(transact(&mut client, &mut session)?.1),
            false => None,
        };
        let mut producer = sbi::populate(&mut client, &self.stages, function.looks_for, trial.seed)?;
        for _ in usize::from(first.is_some())..self.warm_up {
            transact(&mut client, &mut session)?;
        }
        let opened_before = client.opened();
        let before = stage.spent()?;
        let mut observation = Observation::default();
        if let Some(first) = first {
            observation.values.insert("first-latency", vec![milliseconds(first)]);
        }
        for _ in 0..self.transactions {
            if !sbi::in_time(trial) {
                return Err(sbi::late());
            }
            let (procedure, took, opening) = transact(&mut client, &mut session)?;
            let mut note = |name, duration| {
                let samples: &mut Vec<f64> = observation.values.entry(name).or_default();
                samples.push(milliseconds(duration));
            };
            note(LATENCY.name, took);
            note(procedure.name(), took);
            if let Some(opening) = opening {
                note("opening", opening);
            }
        }
        let after = stage.spent()?;
        sbi::note_spent(&mut observation, before, after, self.transactions);
        observation.facts.insert("synthetic".to_owned(), true.into());
        observation
            .facts
            .insert("discovers".to_owned(), function.looks_for.into());
        let opened = client.opened() - opened_before;
        observation.facts.insert("connections".to_owned(), opened.into());
        // An NRF of the user's must not keep what was only tried.
        sbi::tidy(&mut client, &mut session)?;
        if let Some(producer) = &mut producer {
            sbi::tidy(&mut client, producer)?;
        }
        // On the path splice each connection of the consumer is one link, and what the ledger has is in that order.
        let own = asked.new && matches!(asked.deployment.path(), Some("splice"));
        let found = if self.restart {
            let opened = client.opened();
            drop(client);
            stage.stop()?.map(|found| (found, opened))
        } else {
            let opened = client.opened();
            let found = sbi::settled(&stage, if own { opened } else { 1 })?;
            self.stages.keep(asked, client, stage);
            found.map(|found| (found, opened))
        };
        match found {
            Some((found, all)) => {
                let mut took = found.took_us.as_slice();
                if own {
                    if found.full != all {
                        let what = format!("the ledger has {} handshakes for {all} connections", found.full);
                        return Err(Error::Configuration(what));
                    }
                    if let (Some(_), Some(us)) = (first, took.first()) {
                        observation.values.insert("first-handshake", vec![*us as f64 / 1e3]);
                    }
                    let before = usize::try_from(opened_before).unwrap_or(usize::MAX);
                    let counted = usize::try_from(opened).unwrap_or(usize::MAX);
                    took = took.get(before..).unwrap_or_default();
                    took = &took[..counted.min(took.len())];
                }
                observation.values.insert("handshakes", vec![took.len() as f64]);
                if !took.is_empty() {
                    let took = took.iter().map(|us| *us as f64 / 1e3);
                    observation.values.insert("handshake", took.collect());
                }
                sbi::note_handshakes(&mut observation, &found);
            }
            // Each connection of a consumer that speaks TLS itself is a full handshake: nothing is resumed.
            None if asked.deployment.authority(asked.ca).is_some() => {
                let handshakes = if asked.new { opened } else { opened_before.max(opened) };
                observation.values.insert("handshakes", vec![handshakes as f64]);
            }
            None => {}
        }
        Ok(observation)
    }
}

fn transact(
    client: &mut crate::stand_in::sbi::Client,
    session: &mut Session,
) -> Result<(Procedure, Duration, Option<Duration>), Error> {
    let (procedure, question) = session.turn();
    let exchanged = client.exchange(&question)?;
    Session::judge(&question, &exchanged.said, &client.target().url)?;
    Ok((procedure, exchanged.took, exchanged.opening))
}
