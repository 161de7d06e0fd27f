//! A message there and back, again and again.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Namespace;

use super::{LOSS, ROUND_TRIP, Stage, lacks, number, numbered, p99, parameter, protection_of, soon};
use crate::stand_in::n2::function::{Function, Waiting};
use crate::stand_in::n2::protection::Places;
use crate::workload::e2::microseconds;
use crate::workload::{Better, Error, FactorKind, Kind, MetricKind, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "n2-echo",
    about: "Sends a message of a size on an association and waits for it to come back, again and again.",
    factors: &[
        FactorKind {
            name: "protection",
            about: "as in n2-exchange; tcp and splice: a connection of TCP in place of the association, from host to host and through two sidecars of path `splice`",
            levels: &["none", "socat", "gateway-tls", "gateway-quic", "ipsec", "tcp", "splice"],
        },
        LOSS,
        ROUND_TRIP,
        FactorKind {
            name: "size",
            about: "octets of the message, no less than 4",
            levels: &[],
        },
    ],
    parameters: &[
        parameter("messages", "round trips in a trial", 200.0),
        parameter("pause", "before each, in microseconds", 0.0),
    ],
    metrics: &[
        MetricKind::lower("loop", "us", "from handing a message to the kernel to having it back"),
        MetricKind::lower("loop-p99", "us", "what one of a hundred of them exceeds, of a trial"),
        MetricKind {
            name: "returned",
            unit: "%",
            about: "messages that came back with the octets, the stream and the payload protocol identifier they were sent with",
            better: Better::Higher,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// The largest message that is recorded of an NG Setup and two registrations.
const SIZE: f64 = 165.0;
/// Round trips that warm up.
const WARM: usize = 20;

struct Echo {
    stage: Stage,
    messages: usize,
    pause: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Echo {
        stage: Stage::make(setting, 1)?,
        messages: setting.parameters.count("messages")?,
        pause: Duration::from_micros(setting.parameters.count("pause")? as u64),
    }))
}

/// The gNB's end.
enum Near {
    Association(Function),
    Connection(TcpStream),
}

impl Workload for Echo {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let size = number(trial.levels, "size", SIZE)?.max(4.0) as usize;
        let places = self.stage.prepare(trial.levels)?;
        self.stage.impair(trial.levels, Duration::ZERO)?;
        let link = self.stage.link();
        let (gnb, amf) = (link.node(), link.ric());
        let deadline = trial.deadline;
        let (times, whole) = thread::scope(|scope| {
            let (mut near, far) = if protection.of_tcp() {
                let listening = amf
                    .enter(|| TcpListener::bind(places.service))?
                    .map_err(Error::Broken)?;
                let far = scope.spawn(move || connection_back(&listening, deadline));
                (Near::Connection(connected(gnb, places)?), far)
            } else {
                let waiting = Waiting::at(amf, places.service)?;
                let far = scope.spawn(move || association_back(&waiting, deadline));
                (
                    Near::Association(Function::open(gnb, places.local(), places.entry)?),
                    far,
                )
            };
            let done = self.times(&mut near, size, deadline);
            let ended = near.end(deadline);
            let far = far.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let done = done?;
            ended.and(far)?;
            Ok::<_, Error>(done)
        })?;
        let mut observation = Observation {
            facts: self.stage.facts(trial.levels)?,
            ..Observation::default()
        };
        let values = &mut observation.values;
        values.insert("loop-p99", p99(&times));
        values.insert("returned", vec![100.0 * whole as f64 / times.len().max(1) as f64]);
        values.insert("loop", times);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.stage.programs()
    }
}

impl Echo {
    /// The time of each round trip in microseconds, and of how many the message came back as it was.
    fn times(&self, near: &mut Near, size: usize, deadline: Instant) -> Result<(Vec<f64>, usize), Error> {
        let (mut times, mut whole) = (Vec::with_capacity(self.messages), 0);
        for turn in 0..WARM + self.messages {
            if !self.pause.is_zero() {
                thread::sleep(self.pause);
            }
            // Not the first stream: what reads a message and writes it on another takes that.
            let message = numbered(1, turn as u32, size);
            let began = Instant::now();
            let same = match near {
                Near::Association(association) => {
                    association.send(&message, deadline)?;
                    let mut octets = Vec::new();
                    let mut same = true;
                    // A relay that reads less than a whole message sends it in parts.
                    while octets.len() < message.octets.len() {
                        let Some(part) = association.receive(deadline)? else {
                            return Err(Error::Protocol("the association ended before its messages".to_owned()));
                        };
                        same &= part == message;
                        octets.extend(part.octets);
                    }
                    if octets != message.octets {
                        return Err(Error::Protocol("what came back is not what was sent".to_owned()));
                    }
                    same
                }
                Near::Connection(connection) => {
                    connection.write_all(&message.octets).map_err(Error::Broken)?;
                    let mut back = vec![0; message.octets.len()];
                    connection.read_exact(&mut back).map_err(Error::Broken)?;
                    back == message.octets
                }
            };
            let took = began.elapsed();
            if turn >= WARM {
                times.push(microseconds(took));
                whole += usize::from(same);
            }
        }
        Ok((times, whole))
    }
}

impl Near {
    fn end(self, deadline: Instant) -> Result<(), Error> {
        match self {
            Self::Association(association) => association.close(deadline),
            Self::Connection(connection) => connection.shutdown(std::net::Shutdown::Both).map_err(Error::Broken),
        }
    }
}

fn connected(gnb: &Namespace, places: Places) -> Result<TcpStream, Error> {
    let connect = || -> io::Result<TcpStream> {
        let connection = TcpStream::connect(places.entry)?;
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(super::PATIENCE))?;
        Ok(connection)
    };
    gnb.enter(connect)?.map_err(|source| Error::Connection {
        address: places.entry,
        source,
    })
}

/// Sends every message back until the association ends.
fn association_back(waiting: &Waiting, deadline: Instant) -> Result<(), Error> {
    let mut association = waiting.accept(soon(deadline))?;
    while let Some(message) = association.receive(deadline)? {
        association.send(&message, deadline)?;
    }
    Ok(())
}

/// Sends everything back until the connection ends.
fn connection_back(listening: &TcpListener, deadline: Instant) -> Result<(), Error> {
    listening.set_nonblocking(true).map_err(Error::Broken)?;
    let until = soon(deadline);
    let mut connection = loop {
        match listening.accept() {
            Ok((connection, _)) => break connection,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(Error::Broken(error)),
        }
    };
    let ready = connection
        .set_nonblocking(false)
        .and_then(|()| connection.set_nodelay(true));
    ready.map_err(Error::Broken)?;
    let mut buffer = [0; 16 << 10];
    loop {
        match connection.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => connection.write_all(&buffer[..length]).map_err(Error::Broken)?,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(Error::Broken(error)),
        }
    }
}
