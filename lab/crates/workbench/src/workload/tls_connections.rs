//! Connections one after the other at a fixed cadence, captured live and timed from the packets, as
//! González Maldonado 2025 does it: its four metrics, and those that matter next to them.

mod ends;
mod link;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use bartizan_testing::RootPrograms as _;
use bartizan_testing::{Capture, Direction};
use bartizan_wire::timing::{Handshake, Overview, Timing};
use bartizan_wire::{CaptureReader, Content, Limits, Side};
use serde_json::Value;

pub(super) use self::ends::Ends;
use self::ends::Server;
use self::link::Link;
use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

pub(super) const GROUP: FactorKind = FactorKind {
    name: "group",
    about: "the one key exchange both ends are willing to use",
    levels: &["X25519", "MLKEM512", "MLKEM1024", "X25519MLKEM768"],
};

pub(super) const CERTIFICATE: FactorKind = FactorKind {
    name: "certificate",
    about: "what both ends sign the handshake with, and their authority signs certificates with",
    levels: &["ecdsa-p256", "ml-dsa-44", "ml-dsa-65", "ml-dsa-87"],
};

const CHAIN: FactorKind = FactorKind {
    name: "chain",
    about: "certificates that each end sends: its own, or an intermediate's too",
    levels: &["1", "2"],
};

const SERVER: FactorKind = FactorKind {
    name: "server",
    about: "who answers our client: `openssl s_server` of the lab root, or our own end",
    levels: &["openssl", "bartizan"],
};

const fn metric(name: &'static str, unit: &'static str, about: &'static str, better: Better) -> MetricKind {
    MetricKind {
        name,
        unit,
        about,
        better,
    }
}

pub(super) static KIND: Kind = Kind {
    name: "tls-connections",
    about: "TLS 1.3 connections one after the other over a virtual cable, both ends authenticated, timed from their packets.",
    factors: &[GROUP, CERTIFICATE, CHAIN, SERVER],
    parameters: &[
        ParameterKind {
            name: "connections",
            about: "connections in a trial",
            default: Some(Default::Number(50.0)),
        },
        ParameterKind {
            name: "cadence",
            about: "from the beginning of a connection to that of the next, in milliseconds",
            default: Some(Default::Number(100.0)),
        },
        ParameterKind {
            name: "mtu",
            about: "of the cable, in bytes",
            default: Some(Default::Number(1500.0)),
        },
    ],
    metrics: &[
        metric(
            "handshake-time",
            "ms",
            "from the first packet of ClientHello to the packet with the client's Finished, of each connection",
            Better::Lower,
        ),
        metric(
            "handshake-time-from-syn",
            "ms",
            "from SYN to the packet with the client's Finished, of each connection",
            Better::Lower,
        ),
        metric(
            "gap",
            "ms",
            "between consecutive packets of a handshake, acknowledgements included",
            Better::Lower,
        ),
        metric(
            "bytes-per-packet",
            "B",
            "bytes of frames over packets of a handshake, of each connection",
            Better::Neither,
        ),
        metric(
            "bytes-per-second",
            "B/s",
            "bytes of frames of a handshake over its time, of each connection",
            Better::Higher,
        ),
        metric(
            "handshake-bytes",
            "B",
            "bytes of frames of a handshake in both directions, of each connection",
            Better::Lower,
        ),
        metric("client-bytes", "B", "the client's part of them", Better::Lower),
        metric("server-bytes", "B", "the server's part of them", Better::Lower),
        metric(
            "handshake-packets",
            "packets",
            "packets of a handshake in both directions, of each connection",
            Better::Lower,
        ),
        metric(
            "loss",
            "%",
            "segments with data that were sent again, of all with data in the trial",
            Better::Lower,
        ),
        metric(
            "capture-gap",
            "s",
            "from the first packet of a trial to the last over the number of gaps between: the pauses between connections count",
            Better::Neither,
        ),
        metric(
            "capture-bytes-per-packet",
            "B",
            "all bytes of frames of a trial over all its packets",
            Better::Neither,
        ),
        metric(
            "capture-bytes-per-second",
            "B/s",
            "all bytes of frames of a trial over its time: the pauses between connections count",
            Better::Neither,
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let lack = |what: &str, reason: &str, hint: &str| {
        Some(Lack {
            what: what.to_owned(),
            reason: reason.to_owned(),
            hint: hint.to_owned(),
            feature: None,
        })
    };
    if !nix::unistd::geteuid().is_root() {
        return lack("root", "captures and cables need it", "run this as root");
    }
    match (levels.level("server").unwrap_or("openssl"), &tools.root) {
        ("openssl", None) => lack(
            "openssl",
            "there is no lab root with OpenSSL 3.5",
            "as root: bartizan lab root",
        ),
        _ => None,
    }
}

struct TlsConnections {
    connections: usize,
    cadence: Duration,
    mtu: u16,
    // Before the link: processes end before the namespace they are in goes.
    servers: Vec<(Levels, Server)>,
    link: Link,
    folder: std::path::PathBuf,
    program: Option<String>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mtu = u16::try_from(setting.parameters.count("mtu")?)
        .ok()
        .filter(|mtu| (576..=9000).contains(mtu))
        .ok_or_else(|| Error::Configuration("`mtu` is 576 to 9000 bytes".to_owned()))?;
    let link = Link::make(mtu)?;
    let mut servers = Vec::new();
    for levels in setting.combinations {
        let of = |factor: &FactorKind| factor.of(levels);
        let ends = Ends::make(setting.folder, of(&GROUP), of(&CERTIFICATE), of(&CHAIN))?;
        let server = match of(&SERVER) {
            "bartizan" => Server::own(ends, &link, servers.len())?,
            _ => Server::openssl(ends, &link, servers.len(), setting.tools)?,
        };
        servers.push((levels.clone(), server));
    }
    let openssl = setting
        .tools
        .root
        .as_ref()
        .and_then(|root| root.version("openssl").ok());
    Ok(Box::new(TlsConnections {
        connections: setting.parameters.count("connections")?.max(1),
        cadence: Duration::from_secs_f64(setting.parameters.number("cadence")?.clamp(0.0, 60_000.0) / 1e3),
        mtu,
        servers,
        link,
        folder: setting.folder.to_owned(),
        program: openssl,
    }))
}

impl Workload for TlsConnections {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let (_, server) = self
            .servers
            .iter()
            .find(|(levels, _)| levels == trial.levels)
            .ok_or_else(|| Error::Configuration("a combination that was not announced".to_owned()))?;
        let file = self.folder.join("trial.pcap");
        let capture = Capture::start(Some(self.link.client()), Link::INTERFACE, &file, Direction::Both)?;
        let began = Instant::now();
        let made = self.link.client().enter(|| {
            for index in 0..self.connections {
                let due = began + self.cadence * u32::try_from(index).unwrap_or(u32::MAX);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if Instant::now() > trial.deadline {
                    return Err(Error::Configuration(
                        "the bound is shorter than connections times cadence".to_owned(),
                    ));
                }
                server.connect()?;
            }
            Ok(())
        })?;
        // The last packets of the last connection are behind its close.
        std::thread::sleep(Duration::from_millis(20));
        let captured = capture.stop()?;
        made?;
        if !captured.complete() {
            return Err(Error::Configuration(format!(
                "the capture has lost {} packets: the machine is too busy",
                captured.dropped
            )));
        }
        let measured = measure(&file, server.code_point())?;
        if measured.handshakes.len() != self.connections {
            return Err(Error::Handshake(format!(
                "{} whole handshakes in the capture of {} connections",
                measured.handshakes.len(),
                self.connections
            )));
        }
        let mut observation = measured.observation();
        let mut fact = |name: &str, value: Value| observation.facts.insert(name.to_owned(), value);
        fact("connections", Value::from(self.connections));
        fact("cadence_ms", Value::from(self.cadence.as_secs_f64() * 1e3));
        fact("mtu", Value::from(self.mtu));
        fact("packets", Value::from(captured.packets));
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.program.iter().cloned().collect()
    }
}

/// Contents of a trial's capture.
struct Measured {
    handshakes: Vec<Handshake>,
    overview: Overview,
}

/// Reads the capture and makes sure that every connection in it negotiated this group.
fn measure(file: &Path, group: u16) -> Result<Measured, Error> {
    let unreadable = |what: String| Error::Configuration(format!("{}: {what}", file.display()));
    let mut bytes = Vec::new();
    let mut input = File::open(file).map_err(Error::file(file))?;
    input.read_to_end(&mut bytes).map_err(Error::file(file))?;
    let (mut capture, mut timing) = (CaptureReader::new(), Timing::new(Limits::default()));
    let mut timed = Vec::new();
    capture.push(&bytes);
    while let Some(packet) = capture.next_packet().map_err(|error| unreadable(error.to_string()))? {
        timing.packet(&packet, |connection| timed.push(connection));
    }
    timing.finish(|connection| timed.push(connection));
    let mut handshakes = Vec::new();
    for connection in timed {
        let Content::Tls(tls) = &connection.connection.content else {
            return Err(Error::Handshake("a connection in the capture is not TLS".to_owned()));
        };
        let negotiated = tls
            .server_hello
            .as_ref()
            .and_then(|hello| hello.value.key_share.as_ref());
        if negotiated.is_none_or(|share| share.group.0 != group) {
            return Err(Error::Handshake(format!(
                "the capture shows another group than 0x{group:04x}: {:?}",
                negotiated.map(|share| share.group)
            )));
        }
        let handshake = connection
            .handshake
            .map_err(|untimed| Error::Handshake(untimed.to_string()))?;
        handshakes.push(handshake);
    }
    Ok(Measured {
        handshakes,
        overview: timing.overview.clone(),
    })
}

impl Measured {
    fn observation(&self) -> Observation {
        let each = |of: &dyn Fn(&Handshake) -> f64| self.handshakes.iter().map(of).collect::<Vec<_>>();
        let bytes = |handshake: &Handshake, side| handshake.frame_bytes(side) as f64;
        let both = |handshake: &Handshake| bytes(handshake, Side::Client) + bytes(handshake, Side::Server);
        let milliseconds = |ns: u64| ns as f64 / 1e6;
        let overview = &self.overview;
        let (all, packets) = (overview.frame_bytes as f64, overview.packets as f64);
        let elapsed = milliseconds(overview.duration_ns());
        let gaps = self
            .handshakes
            .iter()
            .flat_map(|handshake| handshake.gaps_ns().map(milliseconds));
        let mut observation = Observation::default();
        observation.values.extend([
            (
                "handshake-time",
                each(&|handshake| milliseconds(handshake.duration_ns())),
            ),
            (
                "handshake-time-from-syn",
                self.handshakes
                    .iter()
                    .filter_map(|handshake| handshake.since_syn_ns().map(milliseconds))
                    .collect(),
            ),
            ("gap", gaps.collect()),
            (
                "bytes-per-packet",
                each(&|handshake| both(handshake) / handshake.frames.len() as f64),
            ),
            (
                "bytes-per-second",
                each(&|handshake| both(handshake) / (handshake.duration_ns() as f64 / 1e9)),
            ),
            ("handshake-bytes", each(&both)),
            ("client-bytes", each(&|handshake| bytes(handshake, Side::Client))),
            ("server-bytes", each(&|handshake| bytes(handshake, Side::Server))),
            ("handshake-packets", each(&|handshake| handshake.frames.len() as f64)),
            (
                "loss",
                vec![100.0 * overview.sent.retransmitted as f64 / (overview.sent.data_packets as f64).max(1.0)],
            ),
            ("capture-gap", vec![elapsed / 1e3 / (packets - 1.0).max(1.0)]),
            ("capture-bytes-per-packet", vec![all / packets.max(1.0)]),
            (
                "capture-bytes-per-second",
                vec![all / (elapsed / 1e3).max(f64::MIN_POSITIVE)],
            ),
        ]);
        observation
    }
}

#[cfg(test)]
mod tests;
