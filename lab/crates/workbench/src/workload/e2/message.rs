//! Cost of a message for a program on this kernel without a network: handing over and copying.

use std::os::unix::net::UnixDatagram;
use std::os::unix::process::parent_id;
use std::time::{Duration, Instant};

use bartizan_host::Feature;

use super::{lacks_feature, microseconds, number};
use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "message-costs",
    about: "Asks the kernel for nothing, and has it copy messages in and out, without any network.",
    factors: &[FactorKind {
        name: "size",
        about: "bytes of a message",
        levels: &[],
    }],
    parameters: &[ParameterKind {
        name: "rounds",
        about: "samples in a trial, of 32 calls or messages each",
        default: Some(Default::Number(300.0)),
    }],
    metrics: &[
        MetricKind {
            name: "system-call",
            unit: "us",
            about: "a system call that does nothing (getppid)",
            better: Better::Lower,
        },
        MetricKind {
            name: "copy",
            unit: "us",
            about: "a message copied into the kernel and out of it again: through a pair of sockets, less a message of one byte, taken in turn",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// Timed together: one call takes less than what a guest's clock can distinguish, a microsecond.
const TOGETHER: u32 = 32;
/// Samples that warm up.
const WARM: usize = 20;
/// Largest message, bytes: one takes no more room than any socket has.
const LARGEST: usize = 60_000;

/// It says what a message costs where the others are measured: on a kernel with SCTP, a guest's
/// where the host's has none.
fn lacks(_: &Levels, _: &Tools) -> Option<Lack> {
    lacks_feature("SCTP", Feature::Sctp)
}

struct Messages {
    rounds: usize,
    ends: [UnixDatagram; 2],
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let (one, other) = UnixDatagram::pair().map_err(Error::Broken)?;
    Ok(Box::new(Messages {
        rounds: setting.parameters.count("rounds")?,
        ends: [one, other],
    }))
}

impl Messages {
    /// Each message is taken before the next is sent: nothing waits, and no other program has a turn.
    fn time(&self, message: &[u8], room: &mut [u8]) -> std::io::Result<Duration> {
        let [from, to] = &self.ends;
        let began = Instant::now();
        for _ in 0..TOGETHER {
            from.send(message)?;
            to.recv(room)?;
        }
        Ok(began.elapsed())
    }
}

impl Workload for Messages {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let size = (number(trial.levels, "size", 1360.0)? as usize).clamp(1, LARGEST);
        let (message, mut room) = (vec![0x20; size], vec![0; size]);
        let each = |time: Duration| microseconds(time) / f64::from(TOGETHER);
        let (mut calls, mut copies) = (Vec::new(), Vec::new());
        for round in 0..WARM + self.rounds {
            if Instant::now() >= trial.deadline {
                return Err(Error::Broken(std::io::ErrorKind::TimedOut.into()));
            }
            let began = Instant::now();
            for _ in 0..TOGETHER {
                std::hint::black_box(parent_id());
            }
            let call = began.elapsed();
            let whole = self.time(&message, &mut room).map_err(Error::Broken)?;
            let short = self.time(&message[..1], &mut room).map_err(Error::Broken)?;
            if round >= WARM {
                calls.push(each(call));
                copies.push(each(whole) - each(short));
            }
        }
        let mut observation = Observation::default();
        observation.values.insert("system-call", calls);
        observation.values.insert("copy", copies);
        Ok(observation)
    }
}
