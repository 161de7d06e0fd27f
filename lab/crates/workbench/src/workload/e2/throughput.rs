//! Throughput of the link at an offered or at the highest rate, and processor use meanwhile.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};

use super::machine::{self, Ticks};
use super::{PROTECTION, Protected, lacks, number, protection_of};
use crate::stand_in::e2::link::{Link, NODE, RIC};
use crate::stand_in::e2::protection::Selector;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "e2-throughput",
    about: "Sends messages from the nodes' host to the RIC's, paced to an offered rate or as fast as they are taken.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "transport",
            about: "what carries the messages; segments are not put together for offload",
            levels: &["sctp", "tcp"],
        },
        FactorKind {
            name: "offered",
            about: "megabits per second that are offered, without headers; 0 for as much as goes",
            levels: &[],
        },
    ],
    parameters: &[
        ParameterKind {
            name: "lasting",
            about: "milliseconds for which is sent",
            default: Some(Default::Number(1000.0)),
        },
        ParameterKind {
            name: "size",
            about: "bytes of a message; 1360 are one packet of SCTP in ESP with every cipher here",
            default: Some(Default::Number(1360.0)),
        },
    ],
    metrics: &[
        MetricKind {
            name: "achieved",
            unit: "Mb/s",
            about: "what the receiver got, without headers, from its first message to its last",
            better: Better::Higher,
        },
        share(
            "cpu",
            "time of all processors of the kernel that ran it that was not idle: sender, receiver and both kernels' halves together",
        ),
        share("cpu-user", "of it, in programs; where the kernel tells them apart"),
        share("cpu-system", "of it, in system calls; where the kernel tells"),
        share(
            "cpu-interrupts",
            "of it, in interrupts, where packets are received; where the kernel tells",
        ),
        MetricKind {
            name: "cpu-by-rate",
            unit: "%/(Mb/s)",
            about: "per cent of one processor for each megabit per second received",
            better: Better::Lower,
        },
        MetricKind {
            name: "per-message",
            unit: "us",
            about: "time of processors that were not idle, over messages received",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

const fn share(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "%",
        about,
        better: Better::Lower,
    }
}

/// Lead over its pace from which a sender sleeps: sleeping takes time itself.
const AHEAD: Duration = Duration::from_micros(200);
/// Room of the sockets in bytes, of which the kernel takes twice. It is below the last value of
/// `net.sctp.sctp_rmem` (1 011 936 in a guest of 1 GB): SCTP offers its peer what the socket was
/// given and drops what is above that, after which the sender waits for a timer of a second, each
/// time: 1.3 to 2.5 Mb/s where this room carries 163 to 190.
const ROOM: usize = 212_992;
const PATIENCE: Duration = Duration::from_secs(5);
/// Port of the receiver.
const PORT: u16 = 5201;

struct Throughput {
    link: Protected,
    lasting: Duration,
    size: usize,
    /// True if the shares of system calls and interrupts are credible.
    distinguished: bool,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Throughput {
        link: Protected::make(setting)?,
        lasting: Duration::from_millis(setting.parameters.count("lasting")? as u64),
        size: setting.parameters.count("size")?.clamp(1, 64 << 10),
        distinguished: machine::tells_system_calls()?,
    }))
}

/// The sending end.
enum Sender {
    Sctp(Association),
    Tcp(TcpStream),
}

/// Counters of the receiver.
#[derive(Debug, Clone, Copy)]
struct Received {
    bytes: u64,
    messages: u64,
    took: Duration,
}

impl Workload for Throughput {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let offered = number(trial.levels, "offered", 0.0)?;
        let tcp = trial.levels.level("transport") == Some("tcp");
        self.link.with(protection, Selector::All)?;
        let link = &self.link.link;
        let (size, lasting) = (self.size, self.lasting);
        let (received, shares, busy) = thread::scope(|scope| {
            let (mut sender, receiver) = if tcp {
                let listener = link
                    .ric()
                    .enter(|| TcpListener::bind((RIC, PORT)))?
                    .map_err(Error::Broken)?;
                let receiver = scope.spawn(move || receive_tcp(&listener, size));
                let stream = link
                    .node()
                    .enter(|| TcpStream::connect((RIC, PORT)))?
                    .map_err(Error::Broken)?;
                stream.set_nodelay(true).map_err(Error::Broken)?;
                (Sender::Tcp(stream), receiver)
            } else {
                let listener = link
                    .ric()
                    .enter(|| Listener::bind(Link::ric_address(), Opening::default()))??;
                let receiver = scope.spawn(move || receive_sctp(&listener));
                let connect = || Association::connect((NODE, 0).into(), Link::ric_address(), Opening::default());
                let association = link.node().enter(connect)??;
                association.set_room(ROOM).map_err(Error::Broken)?;
                (Sender::Sctp(association), receiver)
            };
            let message = vec![0x20; size];
            sender.send(&message).map_err(Error::Broken)?;
            let (ticks, began) = (Ticks::now()?, Instant::now());
            sender.pace(&message, offered, lasting).map_err(Error::Broken)?;
            let (shares, lasted) = (Ticks::now()?.since(ticks), began.elapsed());
            sender.finish().map_err(Error::Broken)?;
            let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let shares = shares.ok_or_else(|| Error::Configuration("the trial is shorter than a tick".to_owned()))?;
            Ok::<_, Error>((received.map_err(Error::Broken)?, shares, lasted))
        })?;
        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        let distinguished = if self.distinguished {
            "system calls and interrupts apart"
        } else {
            "whole: this kernel's ticks are all the program's"
        };
        observation.facts.insert("accounting".to_owned(), distinguished.into());
        let processors = machine::processors()?;
        let values = &mut observation.values;
        let rate = 8.0 * received.bytes as f64 / received.took.as_secs_f64() / 1e6;
        values.insert("achieved", vec![rate]);
        values.insert("cpu", vec![shares.busy]);
        values.insert("cpu-by-rate", vec![processors * shares.busy / rate]);
        if self.distinguished {
            values.insert("cpu-user", vec![shares.user]);
            values.insert("cpu-system", vec![shares.system]);
            values.insert("cpu-interrupts", vec![shares.interrupts]);
        }
        let spent = busy.as_secs_f64() * 1e6 * processors * shares.busy / 100.0;
        values.insert("per-message", vec![spent / received.messages.max(1) as f64]);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs()
    }
}

impl Sender {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self {
            Self::Sctp(association) => association.send(0, 0, message),
            Self::Tcp(stream) => stream.write_all(message),
        }
    }

    /// Sends for so long, by the pace as far as it goes.
    fn pace(&mut self, message: &[u8], megabits: f64, lasting: Duration) -> io::Result<()> {
        let began = Instant::now();
        let each = if megabits > 0.0 {
            Duration::from_secs_f64(8.0 * message.len() as f64 / megabits / 1e6)
        } else {
            Duration::ZERO
        };
        let mut due = began;
        while began.elapsed() < lasting {
            let ahead = due.saturating_duration_since(Instant::now());
            if ahead > AHEAD {
                thread::sleep(ahead);
            }
            self.send(message)?;
            due += each;
        }
        Ok(())
    }

    fn finish(&self) -> io::Result<()> {
        match self {
            Self::Sctp(association) => association.finish(),
            Self::Tcp(stream) => stream.shutdown(std::net::Shutdown::Write),
        }
    }
}

fn receive_sctp(listener: &Listener) -> io::Result<Received> {
    let (mut association, _) = listener.accept()?;
    association.set_room(ROOM)?;
    association.set_patience(Some(PATIENCE))?;
    received(|| match association.receive()? {
        Arrival::Message(message) => Ok(message.bytes.len()),
        Arrival::End => Ok(0),
        Arrival::Nothing => Err(io::ErrorKind::TimedOut.into()),
    })
}

fn receive_tcp(listener: &TcpListener, size: usize) -> io::Result<Received> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = vec![0; 64 << 10];
    let mut received = received(|| stream.read(&mut buffer))?;
    // A stream has no messages: they are counted by their size.
    received.messages = received.bytes / size as u64;
    Ok(received)
}

/// Takes pieces until an empty one, and times from the first to the last, whose bytes count.
fn received(mut next: impl FnMut() -> io::Result<usize>) -> io::Result<Received> {
    next()?;
    let began = Instant::now();
    let mut received = Received {
        bytes: 0,
        messages: 0,
        took: Duration::ZERO,
    };
    loop {
        match next()? {
            0 => return Ok(received),
            length => {
                received.bytes += length as u64;
                received.messages += 1;
                received.took = began.elapsed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_starts_the_clock_and_is_not_counted() {
        let mut pieces = vec![0, 30, 20, 10].into_iter();
        let got = received(|| pieces.next_back().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())).unwrap();
        assert_eq!((got.bytes, got.messages), (50, 2));
        assert!(received(|| Err(io::ErrorKind::TimedOut.into())).is_err());
    }
}
