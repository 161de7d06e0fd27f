//! Many handshakes at once with one responder, and what one of a few took its ends just before:
//! what a simulation is given, and what it is compared with.

mod tls;

use std::time::Duration;

use super::{Default, Error, MetricKind, Observation, ParameterKind, Setting};

pub(super) use tls::KIND as TLS;

pub(super) const METRICS: &[MetricKind] = &[
    MetricKind::lower(
        "connected-after",
        "s",
        "from the beginning of the storm until a client was connected, of each client",
    ),
    MetricKind::lower("all-connected", "s", "until the last one was"),
    MetricKind::lower(
        "began-within",
        "s",
        "from the first client's first packet to the last one's, where one program begins one after the other",
    ),
    MetricKind::lower(
        "client-cpu",
        "us",
        "processor time of the client's end for a set-up, a few at a time just before the storm",
    ),
    MetricKind::lower("responder-cpu", "us", "the same of the responder"),
    MetricKind::lower(
        "storm-client-cpu",
        "us",
        "processor time of the client's end for a set-up of the storm itself: more than a few at a time where its tables grow",
    ),
    MetricKind::lower("storm-responder-cpu", "us", "the same of the responder"),
    MetricKind::lower(
        "beyond-cpu",
        "us",
        "what a set-up that is alone takes on the clock beyond the processor time of both ends",
    ),
    MetricKind::lower(
        "retransmissions",
        "messages",
        "IKE messages that were sent again in the storm; those of TCP are not counted",
    ),
];

pub(super) const PARAMETERS: &[ParameterKind] = &[
    ParameterKind {
        name: "clients",
        about: "set-ups of the storm, 1 to 10000",
        default: Some(Default::Number(2000.0)),
    },
    ParameterKind {
        name: "at-once",
        about: "set-ups that are under way together before the storm",
        default: Some(Default::Number(16.0)),
    },
    ParameterKind {
        name: "batches",
        about: "how many times these are set up",
        default: Some(Default::Number(20.0)),
    },
];

/// Size of a storm and of its steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) clients: usize,
    pub(super) at_once: usize,
    pub(super) batches: usize,
}

impl Size {
    pub(super) fn of(setting: &Setting<'_>) -> Result<Self, Error> {
        let within = |name: &str, most: usize| {
            let count = setting.parameters.count(name)?;
            if (1..=most).contains(&count) {
                Ok(count)
            } else {
                Err(Error::Configuration(format!("`{name}` is 1 to {most}")))
            }
        };
        Ok(Self {
            clients: within("clients", 10_000)?,
            at_once: within("at-once", 1_000)?,
            batches: within("batches", 1_000)?,
        })
    }
}

/// Cost of set-ups before a storm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    /// Processor time of the client's end and of the responder for one of a few.
    pub(super) cpu: [Duration; 2],
    /// A single set-up without others: elapsed time, and processor time of both ends together.
    pub(super) alone: [Duration; 2],
}

/// The outcome of a storm.
pub(super) struct Connected {
    /// Time at which each client was connected, in seconds since the beginning.
    pub(super) connected_s: Vec<f64>,
    /// Time at which the last one began, in seconds.
    pub(super) began_within_s: f64,
    /// Messages sent again.
    pub(super) retransmissions: u64,
}

/// Processor time of the client's end and of the responder for one of a storm's set-ups.
pub(super) type InStorm = [Duration; 2];

/// The outcome of a storm, with what was known before.
pub(super) fn observation(size: Size, before: Before, outcome: Connected, in_storm: InStorm) -> Observation {
    let Connected {
        connected_s,
        began_within_s,
        retransmissions,
    } = outcome;
    let us = |time: Duration| vec![time.as_secs_f64() * 1e6];
    let mut observation = Observation::default();
    observation.values.extend([
        ("all-connected", vec![connected_s.iter().copied().fold(0.0, f64::max)]),
        ("connected-after", connected_s),
        ("began-within", vec![began_within_s]),
        ("client-cpu", us(before.cpu[0])),
        ("responder-cpu", us(before.cpu[1])),
        ("storm-client-cpu", us(in_storm[0])),
        ("storm-responder-cpu", us(in_storm[1])),
        ("beyond-cpu", us(before.alone[0].saturating_sub(before.alone[1]))),
        ("retransmissions", vec![retransmissions as f64]),
    ]);
    observation.facts.extend([
        ("clients".to_owned(), size.clients.into()),
        ("at-once".to_owned(), size.at_once.into()),
    ]);
    observation
}
