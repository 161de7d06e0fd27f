//! Half a round trip between the two hosts, by the size of what is sent.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};

use super::{PROTECTION, Protected, lacks, microseconds, number, protection_of};
use crate::stand_in::e2::link::{Link, NODE, RIC};
use crate::stand_in::e2::protection::Selector;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "e2-echo",
    about: "Sends a message of a size and waits for it to come back, again and again.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "transport",
            about: "sctp and udp: a program at the other end sends it back; icmp: the other kernel does (ping)",
            levels: &["sctp", "udp", "icmp"],
        },
        FactorKind {
            name: "size",
            about: "bytes of the message, no less than 4",
            levels: &[],
        },
    ],
    parameters: &[
        ParameterKind {
            name: "messages",
            about: "round trips in a trial",
            default: Some(Default::Number(100.0)),
        },
        ParameterKind {
            name: "pause",
            about: "before each, in microseconds",
            default: Some(Default::Number(0.0)),
        },
    ],
    metrics: &[MetricKind {
        name: "half-round-trip",
        unit: "us",
        about: "half the time from handing a message to the kernel to having it back",
        better: Better::Lower,
    }],
    targets: Targets::Own,
    lacks,
    start,
};

/// UDP port of the echo service at the far end (RFC 862).
const ECHO_PORT: u16 = 7;
/// Round trips that warm up.
const WARM: usize = 20;
const PATIENCE: Duration = Duration::from_secs(5);
/// ICMP echo and its answer (RFC 792): type, code, checksum, identifier, sequence number.
const ECHO: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ICMP_HEADER: usize = 8;

struct Echo {
    link: Protected,
    messages: usize,
    pause: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Echo {
        link: Protected::make(setting)?,
        messages: setting.parameters.count("messages")?,
        pause: Duration::from_micros(setting.parameters.count("pause")? as u64),
    }))
}

/// The near end of a way there and back.
enum Near {
    Sctp(Association),
    Udp(UdpSocket),
    Icmp(UdpSocket),
}

impl Workload for Echo {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let size = number(trial.levels, "size", 64.0)?.max(4.0) as usize;
        let transport = trial.levels.level("transport").unwrap_or("sctp");
        self.link.with(protection, Selector::All)?;
        let link = &self.link.link;
        let (messages, pause) = (self.messages, self.pause);
        let trips = thread::scope(|scope| {
            let mut near = match transport {
                "sctp" => {
                    let listener = link
                        .ric()
                        .enter(|| Listener::bind(Link::ric_address(), Opening::default()))??;
                    scope.spawn(move || sctp_back(&listener));
                    let local = SocketAddr::new(IpAddr::V4(NODE), 0);
                    let connect = || Association::connect(local, Link::ric_address(), Opening::default());
                    let association = link.node().enter(connect)??;
                    association.set_patience(Some(PATIENCE)).map_err(Error::Broken)?;
                    Near::Sctp(association)
                }
                "udp" => {
                    let far = link
                        .ric()
                        .enter(|| UdpSocket::bind((RIC, ECHO_PORT)))?
                        .map_err(Error::Broken)?;
                    scope.spawn(move || udp_back(&far));
                    Near::Udp(
                        link.node()
                            .enter(|| connected(UdpSocket::bind((NODE, 0))?, ECHO_PORT))?
                            .map_err(Error::Broken)?,
                    )
                }
                _ => {
                    let raw = || {
                        let flags = SockFlag::SOCK_CLOEXEC;
                        let raw: OwnedFd = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp)?;
                        connected(UdpSocket::from(raw), 0)
                    };
                    Near::Icmp(link.node().enter(raw)?.map_err(Error::Broken)?)
                }
            };
            let trips = near.warm_and_measure(size, messages, pause, trial.deadline);
            // An empty datagram ends the far end.
            if let Near::Udp(socket) = &near {
                socket.send(&[]).map_err(Error::Broken)?;
            }
            trips
        })?;
        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        let halves = trips.iter().map(|trip| microseconds(*trip) / 2.0).collect();
        observation.values.insert("half-round-trip", halves);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs()
    }
}

fn connected(socket: UdpSocket, port: u16) -> io::Result<UdpSocket> {
    socket.connect((RIC, port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

impl Near {
    fn warm_and_measure(
        &mut self,
        size: usize,
        messages: usize,
        pause: Duration,
        deadline: Instant,
    ) -> Result<Vec<Duration>, Error> {
        let mut trips = Vec::with_capacity(messages);
        for number in 0..WARM + messages {
            if Instant::now() >= deadline {
                return Err(Error::Broken(io::ErrorKind::TimedOut.into()));
            }
            if !pause.is_zero() {
                thread::sleep(pause);
            }
            let trip = self.once(size, number as u32).map_err(Error::Broken)?;
            if number >= WARM {
                trips.push(trip);
            }
        }
        Ok(trips)
    }

    /// There and back; the number stands in the message, so that an earlier one is not taken for it.
    fn once(&mut self, size: usize, number: u32) -> io::Result<Duration> {
        let mut message = vec![0x20; size];
        message[..4].copy_from_slice(&number.to_be_bytes());
        let mut buffer = vec![0; size + 128];
        let icmp = echo_request(number as u16, &message);
        let began = Instant::now();
        match self {
            Self::Sctp(association) => {
                association.send(0, 0, &message)?;
                match association.receive()? {
                    Arrival::Message(back) if back.bytes == message => Ok(began.elapsed()),
                    _ => Err(io::Error::other("what came back is not what was sent")),
                }
            }
            Self::Udp(socket) => {
                socket.send(&message)?;
                let length = socket.recv(&mut buffer)?;
                let took = began.elapsed();
                if buffer[..length] == message {
                    Ok(took)
                } else {
                    Err(io::Error::other("what came back is not what was sent"))
                }
            }
            Self::Icmp(socket) => {
                socket.send(&icmp)?;
                loop {
                    let length = socket.recv(&mut buffer)?;
                    let took = began.elapsed();
                    // A raw socket hands over the IP header too, and everything of ICMP that comes.
                    let header = usize::from(buffer[0] & 0x0f) * 4;
                    let answer = buffer[..length].get(header..).unwrap_or_default();
                    if answer.first() == Some(&ECHO_REPLY) && answer.get(ICMP_HEADER..) == Some(&message[..]) {
                        return Ok(took);
                    }
                }
            }
        }
    }
}

/// An echo request with its checksum (RFC 792, RFC 1071).
fn echo_request(sequence: u16, message: &[u8]) -> Vec<u8> {
    let mut packet = vec![ECHO, 0, 0, 0, 0xe2, 0x00];
    packet.extend(sequence.to_be_bytes());
    packet.extend(message);
    let mut sum: u32 = packet
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = !(sum as u16);
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Sends every message back until the near end ends.
fn sctp_back(listener: &Listener) {
    let Ok((mut association, _)) = listener.accept() else {
        return;
    };
    while let Ok(Arrival::Message(message)) = association.receive() {
        if association
            .send(message.stream, message.payload_protocol, &message.bytes)
            .is_err()
        {
            break;
        }
    }
}

/// Sends every datagram back until an empty one comes.
fn udp_back(socket: &UdpSocket) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok((length @ 1.., from)) = socket.recv_from(&mut buffer) {
        if socket.send_to(&buffer[..length], from).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_an_echo_request_adds_up() {
        for message in [&b"even"[..], b"odd", b""] {
            let packet = echo_request(7, message);
            let sum: u64 = packet
                .chunks(2)
                .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u64::from))
                .sum();
            assert_eq!(sum % 0xffff, 0, "RFC 1071: the sum of all is minus zero");
            assert_eq!(&packet[ICMP_HEADER..], message);
        }
    }
}
