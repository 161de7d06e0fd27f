//! A short and a long message, which the RIC's kernel acknowledges by one SACK: what a published study saw on E2.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use bartizan_testing::{Capture, Direction};

use super::{Egress, PROTECTION, Protected, complete, lacks, protection_of};
use crate::stand_in::e2::frames::{self, ESP, Frame, SCTP};
use crate::stand_in::e2::link::{INTERFACE, Link, NODE};
use crate::stand_in::e2::protection::{Growth, Selector};
use crate::workload::{
    Better, Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "e2-pairs",
    about: "Sends pairs of a short and a long E2-sized message over kernel SCTP and looks at the frames: their sizes, and how long the SACK takes.",
    factors: &[PROTECTION],
    parameters: &[
        ParameterKind {
            name: "pairs",
            about: "pairs in a trial",
            default: Some(Default::Number(200.0)),
        },
        ParameterKind {
            name: "pause",
            about: "between two pairs, in microseconds",
            default: Some(Default::Number(2000.0)),
        },
        ParameterKind {
            name: "short",
            about: "bytes of the short message; 133 make a frame of 195 bytes and SCTP's padding",
            default: Some(Default::Number(133.0)),
        },
        ParameterKind {
            name: "long",
            about: "bytes of the long message; 1363 make a frame of 1425 bytes and SCTP's padding",
            default: Some(Default::Number(1363.0)),
        },
    ],
    metrics: &[
        MetricKind {
            name: "sack-delay",
            unit: "us",
            about: "from the long message's frame leaving the node's host to the SACK's frame being there, by the kernel's times of both",
            better: Better::Lower,
        },
        size("sack-frame", "bytes of the SACK's frame where it leaves"),
        size("short-frame", "bytes of the short message's frame where it leaves"),
        size("long-frame", "bytes of the long message's frame where it leaves"),
        size(
            "sack-padding",
            "bytes of padding and trailer in the SACK's frame: what block and alignment of ESP cost, by RFC 4303; the measured frame agrees, or the trial is a failed one",
        ),
        size("short-padding", "the same of the short message's frame"),
        size("long-padding", "the same of the long message's frame"),
        MetricKind {
            name: "clear-packets",
            unit: "",
            about: "SCTP packets that left either host readable",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

const fn size(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "bytes",
        about,
        better: Better::Lower,
    }
}

/// Bytes of the headers before the user's: Ethernet, IPv4, SCTP, DATA.
const ETHERNET: usize = 14;
const IP: usize = 20;
const COMMON: usize = 12;
const DATA: usize = 16;
/// A SACK chunk without gaps (RFC 9260, section 3.3.4).
const SACK: usize = 16;
/// Pairs that warm up.
const WARM: usize = 10;

struct Pairs {
    link: Protected,
    folder: PathBuf,
    pairs: usize,
    pause: Duration,
    sizes: [usize; 2],
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    Ok(Box::new(Pairs {
        link: Protected::make(setting)?,
        folder: setting.folder.to_owned(),
        pairs: parameters.count("pairs")?,
        pause: Duration::from_micros(parameters.count("pause")? as u64),
        sizes: [parameters.count("short")?, parameters.count("long")?],
    }))
}

impl Workload for Pairs {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        self.link.with(protection, Selector::Sctp)?;
        let link = &self.link.link;
        let (pairs, pause, [short, long]) = (self.pairs, self.pause, self.sizes);
        let listener = link
            .ric()
            .enter(|| Listener::bind(Link::ric_address(), Opening::default()))??;
        let wanted = 2 * (pairs + WARM);
        let path = self.folder.join("both.pcap");
        let (egress, both) = thread::scope(|scope| {
            let receiver = scope.spawn(move || receive(&listener, wanted));
            let local = Link::node_address(0).ok_or_else(|| Error::Configuration("no address".to_owned()))?;
            let connect = || Association::connect(local, Link::ric_address(), Opening::default());
            let association = link.node().enter(connect)??;
            let messages = [vec![0x20; short], vec![0x20; long]];
            let pair = || {
                for message in &messages {
                    association.send(0, 0, message).map_err(Error::Broken)?;
                }
                thread::sleep(pause);
                Ok::<_, Error>(())
            };
            (0..WARM).try_for_each(|_| pair())?;
            let egress = Egress::start(link, &self.folder)?;
            let both = Capture::start(Some(link.node()), INTERFACE, &path, Direction::Both)?;
            (0..pairs).try_for_each(|_| pair())?;
            // The last SACK.
            thread::sleep(pause);
            let captures = (egress.stop()?, both);
            association.finish().map_err(Error::Broken)?;
            receiver
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok::<_, Error>(captures)
        })?;
        complete(both.stop()?)?;
        let protocol = if protection.is_esp() { ESP } else { SCTP };
        let turns = frames::turns(&path, protocol)?;
        fs::remove_file(&path).map_err(Error::file(&path))?;
        let delays = turns
            .iter()
            .filter(|turn| turn.before.source == IpAddr::V4(NODE) && turn.run == 2);
        let delays: Vec<f64> = delays.map(|turn| turn.took_ns() as f64 / 1e3).collect();
        // One pair may have been cut at either end of the capture; more is not what this workload is about.
        if delays.len() + 2 < pairs {
            let seen = delays.len();
            return Err(Error::Protocol(format!(
                "{seen} of {pairs} pairs were answered by a SACK of their own"
            )));
        }
        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        observation.values.insert("sack-delay", delays);
        let data = |size: usize| IP + COMMON + DATA + size.next_multiple_of(4);
        let inner = [IP + COMMON + SACK, data(short), data(long)];
        let growths = inner.map(|inner| protection.growth(inner));
        let [sack, small, large] =
            [0, 1, 2].map(|which| ETHERNET + inner[which] + growths[which].map_or(0, Growth::sum));
        sent(&egress.ric, protocol, &[sack])?;
        sent(&egress.node, protocol, &[small, large])?;
        for (name, length) in [("sack-frame", sack), ("short-frame", small), ("long-frame", large)] {
            observation.values.insert(name, vec![length as f64]);
        }
        for (name, growth) in ["sack-padding", "short-padding", "long-padding"]
            .into_iter()
            .zip(growths)
        {
            let filled = growth.map_or(0, |growth| growth.padding + growth.trailer);
            observation.values.insert(name, vec![filled as f64]);
        }
        let clear = if protection.is_esp() { egress.clear() } else { 0 };
        observation.values.insert("clear-packets", vec![clear as f64]);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs()
    }
}

/// Reads until the node ends the association, which is what ends it: the RIC's end would be among the frames otherwise.
fn receive(listener: &Listener, wanted: usize) -> Result<(), Error> {
    let (mut association, _) = listener.accept().map_err(Error::Broken)?;
    let mut arrived = 0;
    loop {
        match association.receive().map_err(Error::Broken)? {
            Arrival::Message(_) => arrived += 1,
            Arrival::End if arrived == wanted => return Ok(()),
            other => {
                return Err(Error::Protocol(format!(
                    "{other:?} behind {arrived} of {wanted} messages"
                )));
            }
        }
    }
}

/// Fails unless the packets that left a host have exactly these sizes, in turn.
fn sent(frames: &[Frame], protocol: u8, expected: &[usize]) -> Result<(), Error> {
    let lengths = frames
        .iter()
        .filter(|frame| frame.protocol == protocol)
        .map(|frame| frame.length);
    for (length, &expected) in lengths.zip(expected.iter().cycle()) {
        if length != expected {
            let name = if protocol == ESP { "RFC 4303" } else { "RFC 9260" };
            return Err(Error::Protocol(format!(
                "a frame of {length} bytes where {name} has {expected}"
            )));
        }
    }
    Ok(())
}
