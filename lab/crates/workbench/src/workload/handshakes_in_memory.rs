//! Full handshakes between two ends in one thread, as the `tls` crate makes them: what the
//! cryptography and the checks of a sidecar cost without its sockets.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::stand_in::proxies::{Ends, Mode, Papers};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload, lacks_nothing,
};

const MODE: &str = "mode";
const CONTACT: &str = "contact";
/// Ends that have met, whose chains are known to each other, and ends made for the handshake.
const KNOWN: &str = "known";
const FIRST: &str = "first";
/// One in this many handshakes is between ends that have not met: those ends are made anew, which
/// takes longer.
const FIRST_OF: usize = 8;

pub(super) static KIND: Kind = Kind {
    name: "handshakes-in-memory",
    about: "Full handshakes between two ends in one thread, by the processor time of the server's half.",
    factors: &[
        FactorKind {
            name: MODE,
            about: "the algorithms: X25519 with ECDSA P-256, or X25519MLKEM768 with ML-DSA-65",
            levels: &["classical", "post-quantum"],
        },
        FactorKind {
            name: CONTACT,
            about: "whether the two ends have met before: what is remembered of a peer's chain is missing at first contact",
            levels: &[KNOWN, FIRST],
        },
    ],
    parameters: &[ParameterKind {
        name: "handshakes",
        about: "handshakes of a trial, after one that warms up; an eighth of it at first contact",
        default: Some(Default::Number(40.0)),
    }],
    metrics: &[MetricKind {
        name: "handshakes",
        unit: "handshakes/s",
        about: "full handshakes per second of processor time of the server's half",
        better: Better::Higher,
    }],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

struct InMemory {
    ends: Vec<(Mode, Ends)>,
    handshakes: usize,
    processors: Vec<usize>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let folder: PathBuf = setting.folder.to_owned();
    let made = Mode::ALL.map(|mode| Ok((mode, Ends::new(&Papers::make(&folder, mode)?, &folder)?)));
    Ok(Box::new(InMemory {
        ends: made.into_iter().collect::<Result<_, Error>>()?,
        handshakes: setting.parameters.count("handshakes")?,
        processors: setting.processors.to_vec(),
    }))
}

impl Workload for InMemory {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let mode = trial.levels.level(MODE).unwrap_or("classical");
        let ends = self.ends.iter().find(|(one, _)| one.name() == mode);
        let (_, ends) = ends.ok_or_else(|| Error::Configuration(format!("no mode {mode}")))?;
        let last = self.processors.last().map_or(&[][..], std::slice::from_ref);
        bartizan_machine::pin_this_thread(last)?;
        let first = trial.levels.level(CONTACT) == Some(FIRST);
        let mut server = Duration::ZERO;
        let wanted = if first {
            self.handshakes.div_ceil(FIRST_OF)
        } else {
            ends.in_memory()?;
            self.handshakes
        };
        for _ in 0..wanted {
            if Instant::now() > trial.deadline {
                return Err(Error::Handshake(format!("not {wanted} handshakes in time")));
            }
            server += if first {
                ends.never_met()?.in_memory()?
            } else {
                ends.in_memory()?
            };
        }
        let mut observation = Observation::default();
        let rate = wanted as f64 / server.as_secs_f64().max(1e-9);
        observation.values.insert("handshakes", vec![rate]);
        Ok(observation)
    }
}
