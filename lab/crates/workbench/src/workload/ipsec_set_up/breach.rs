//! A peer that forgets the post-quantum half of a rekey, between two real charons, and how long its
//! CHILD_SA lives under the watch.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_deployment::{InterfaceKind, Policy};
use bartizan_ipsec::Metrics;
use bartizan_ipsec::sa::{ChildSa, IkeSa, rekeyed_child_sas};
use bartizan_ipsec::vici::{Client, Event, Section};
use bartizan_ipsec::watch::{Expectation, Expectations, ExpectedChild, Notice, Watch};
use bartizan_ledger::Ledger;
use bartizan_testing::{Capture, Direction};
use bartizan_wire::esp::EspSa;

use super::kind::AUTHENTICATION;
use super::link::{ENDS, INTERFACE, Link};
use super::{complete, issue, link, milliseconds};
use crate::stand_in::charons::{self, PATIENCE, methods, negotiated, refused, seen};
use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{
    Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

/// Key exchange of the SA, and the one that its rekey should have.
const HYBRID: &str = "x25519-ke1_mlkem768";
/// The discard port, with no listener (RFC 863).
const DISCARD: u16 = 9;
/// Packets that go through the SA before it is rekeyed.
const BEFORE: usize = 20;

const REKEY: FactorKind = FactorKind {
    name: "rekey",
    about: "the key exchange that the responder's configuration has left for the CHILD_SA's rekey; none keys it from the IKE_SA",
    levels: &["x25519", "none"],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "ipsec-breach",
    about: "A CHILD_SA of a hybrid IKE_SA is rekeyed by a peer that drops the additional key exchange, under the watch of `bartizan up`.",
    factors: &[REKEY],
    parameters: &[
        ParameterKind {
            name: "interval",
            about: "microseconds between the packets that each end sends through the SA",
            default: Some(Default::Number(1000.0)),
        },
        ParameterKind {
            name: "size",
            about: "bytes of data in such a packet",
            default: Some(Default::Number(100.0)),
        },
    ],
    metrics: &[
        MetricKind::lower(
            "gone",
            "ms",
            "from charon's event that the CHILD_SA was rekeyed to its event that the new one is gone, by a connection to charon next to the watch's",
        ),
        MetricKind::lower(
            "carried-packets",
            "packets",
            "ESP packets with the SPIs of that CHILD_SA in either direction, at the watched end's interface",
        ),
        MetricKind::lower("carried-bytes", "B", "of them, bytes of ESP"),
        MetricKind::lower(
            "carried-for",
            "ms",
            "from the last packet of the exchange that made it to the last ESP packet with its SPIs, where there was one",
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

fn lacks(_: &Levels, tools: &Tools) -> Option<Lack> {
    super::kind::lacks(&Levels::default(), tools)
}

struct Breach {
    link: Link,
    /// The level and the number of its connection.
    connections: Vec<(String, u8)>,
    interval: Duration,
    size: usize,
    folder: PathBuf,
    programs: Vec<String>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let root = charons::root(setting.tools)?;
    let mut link = Link::make(setting.folder, root, "watched", |_| {}, 1500, false)?;
    let papers = issue(setting.folder, AUTHENTICATION.levels[0])?;
    let mut connections = Vec::new();
    for (number, levels) in (1..).zip(setting.combinations) {
        let left = REKEY.of(levels);
        let what_is_left = match left {
            "none" => "",
            key_exchange => key_exchange,
        };
        // The watched end's configuration would let it pass: the policy is all that is in the way.
        link.load(number, HYBRID, [&[HYBRID, what_is_left], &[what_is_left]], &papers)?;
        connections.push((left.to_owned(), number));
    }
    let interval = setting.parameters.number("interval")?;
    let interval = Duration::try_from_secs_f64(interval / 1e6)
        .map_err(|_| Error::Configuration(format!("`interval` of {interval} us")))?;
    let programs = vec![link.version()?];
    Ok(Box::new(Breach {
        link,
        connections,
        interval,
        size: setting.parameters.count("size")?.clamp(1, 1200),
        folder: setting.folder.to_owned(),
        programs,
    }))
}

impl Workload for Breach {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let left = REKEY.of(trial.levels);
        let known = self.connections.iter().find(|(level, _)| level == left);
        let (_, number) = known.ok_or_else(|| Error::Configuration(format!("{left} was not announced")))?;
        let capture = self.folder.join("breach.pcap");
        let taken = self.watched(*number, &capture, trial.deadline);
        self.link.clear()?;
        let taken = taken?;
        let mut observation = Observation::default();
        for (name, value) in judge(&capture, left, &taken)? {
            observation.values.insert(name, vec![value]);
        }
        observation.facts.insert("esp".to_owned(), self.link.esp().into());
        let processors = self.link.processors().to_vec();
        observation.facts.insert("processors".to_owned(), processors.into());
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.programs.clone()
    }
}

/// The CHILD_SA that broke the policy.
struct Taken {
    child: ChildSa,
    /// From charon's event to charon's event.
    gone: Duration,
}

/// Packets sent through the SA meanwhile.
#[derive(Default)]
struct Traffic {
    sent: AtomicUsize,
    stop: AtomicBool,
}

/// Ends threads also where something fails.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Breach {
    /// Lets a watch see it, with a capture at the watched end.
    fn watched(&self, number: u8, capture: &Path, deadline: Instant) -> Result<Taken, Error> {
        let policy = Policy::hybrid();
        let expectations = Expectations::new(vec![Expectation {
            connection: link::connection(number),
            peer: ENDS[1].to_owned(),
            policy: policy.clone(),
            requires_ppk: false,
            decides: false,
            reauthentication: None,
            ends: None,
            children: vec![ExpectedChild {
                name: link::child("first", number),
                interface: InterfaceKind::E2,
                policy,
                form: None,
            }],
        }]);
        let path = self.folder.join("breach.ledger");
        let ledger = Ledger::open(&path, ENDS[0]).map_err(|error| Error::Configuration(error.to_string()))?;
        let (metrics, traffic) = (Metrics::default(), Traffic::default());
        let watch = Watch::new(self.link.socket(), &expectations, ledger.recorder(), &metrics);
        let (says, said) = mpsc::channel();
        thread::scope(|scope| {
            let traffic = &traffic;
            scope.spawn(move || {
                watch.run(&|| traffic.stop.load(Ordering::Relaxed), &mut |notice| {
                    if matches!(notice, Notice::Connected) {
                        // The receiver is gone after the first notice.
                        let _ = says.send(());
                    }
                });
            });
            let _stopped = Raised(&traffic.stop);
            let left = deadline.saturating_duration_since(Instant::now()).min(PATIENCE);
            said.recv_timeout(left)
                .map_err(|_| Error::Configuration("the watch does not see charon".to_owned()))?;
            let capture = Capture::start(Some(self.link.initiator()), INTERFACE, capture, Direction::Both)?;
            let taken = self.set_up(number, deadline).and_then(|()| {
                for (here, there) in [(0, 1), (1, 0)] {
                    let socket = self.link.inner_socket(number, here)?;
                    let to = (link::inner(number, there), DISCARD);
                    scope.spawn(move || self.send(&socket, to, traffic));
                }
                self.rekey(number, traffic, deadline)
            });
            let captured = capture.stop()?;
            let taken = taken?;
            complete(&captured)?;
            Ok(taken)
        })
    }

    fn set_up(&self, number: u8, deadline: Instant) -> Result<(), Error> {
        let ask = Section::new()
            .with("child", link::child("first", number))
            .with("ike", link::connection(number));
        let mut client = self.link.client()?;
        let left = deadline.saturating_duration_since(Instant::now()).min(PATIENCE);
        client.command_within("initiate", ask, left).map(drop).map_err(refused)
    }

    fn send(&self, socket: &UdpSocket, to: (Ipv4Addr, u16), traffic: &Traffic) {
        let data = vec![0x20; self.size];
        while !traffic.stop.load(Ordering::Relaxed) {
            // Without an SA there is no way: that then nothing is sent is the point.
            if socket.send_to(&data, to).is_ok() {
                traffic.sent.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(self.interval);
        }
    }

    /// Has the responder rekey the SA, and waits until what came of that is gone.
    fn rekey(&self, number: u8, traffic: &Traffic, deadline: Instant) -> Result<Taken, Error> {
        let left = || deadline.saturating_duration_since(Instant::now()).min(PATIENCE);
        let mut events = self.link.client()?;
        for event in ["child-rekey", "child-updown"] {
            events.register(event).map_err(refused)?;
        }
        while traffic.sent.load(Ordering::Relaxed) < BEFORE {
            if left().is_zero() {
                return Err(Error::Handshake("nothing can be sent through the SA".to_owned()));
            }
            thread::sleep(Duration::from_millis(1));
        }
        let ask = Section::new().with("child", link::child("first", number));
        self.link.responder_client()?.command("rekey", ask).map_err(refused)?;
        let (child, reported) = loop {
            if let Some(child) = rekeyed_to(&next(&mut events, left())?) {
                break (child, Instant::now());
            }
        };
        loop {
            let event = next(&mut events, left())?;
            let ends = event.name == "child-updown" && !event.message.is_yes("up");
            if ends && IkeSa::of_row(&event.message).any(|sa| sa.children.iter().any(|one| one.id == child.id)) {
                let gone = reported.elapsed();
                return Ok(Taken { child, gone });
            }
        }
    }
}

fn next(events: &mut Client, patience: Duration) -> Result<Event, Error> {
    let event = events.event(patience).map_err(refused)?;
    event.ok_or_else(|| Error::Handshake("the SA that broke the policy stands".to_owned()))
}

/// The new CHILD_SA of a `child-rekey`.
fn rekeyed_to(event: &Event) -> Option<ChildSa> {
    let mut rekeyed = rekeyed_child_sas(&event.message).filter(|_| event.name == "child-rekey");
    rekeyed.next().map(|(_, _, new)| new)
}

/// The values, of a capture that shows a hybrid IKE_SA and a rekey without the additional key exchange.
fn judge(file: &Path, left: &str, taken: &Taken) -> Result<Vec<(&'static str, f64)>, Error> {
    let (sas, esp) = seen(file)?;
    let unlike = |what: String| Err(Error::Handshake(what));
    let [sa] = sas.as_slice() else {
        return unlike(format!("{} IKE_SAs in the capture of one", sas.len()));
    };
    negotiated(sa, &methods(HYBRID)?)?;
    let rekeyed = sa.rekeyed();
    let [(rekey, follow_ups)] = rekeyed.as_slice() else {
        return unlike(format!("{} rekeys in the capture of one", sa.rekeys));
    };
    if !follow_ups.is_empty() {
        return unlike("the rekey has an additional key exchange".to_owned());
    }
    let own: Vec<_> = taken.child.key_exchanges.iter().map(|one| one.code).collect();
    let wanted: Vec<_> = match left {
        "none" => Vec::new(),
        key_exchange => methods(key_exchange)?.into_iter().map(Some).collect(),
    };
    if own != wanted {
        return unlike(format!("charon tells of key exchanges {own:?} instead of {wanted:?}"));
    }
    let spis = [taken.child.spi_in.0, taken.child.spi_out.0];
    let carried: Vec<&EspSa> = esp.iter().filter(|sa| spis.contains(&sa.spi)).collect();
    let mut values = vec![
        ("gone", milliseconds(taken.gone)),
        (
            "carried-packets",
            carried.iter().map(|sa| sa.packets).sum::<u64>() as f64,
        ),
        ("carried-bytes", carried.iter().map(|sa| sa.bytes).sum::<u64>() as f64),
    ];
    let made = rekey.last().map(|moment| moment.time);
    let last = carried.iter().map(|sa| sa.last.time).max();
    values.extend(
        made.zip(last)
            .map(|(made, last)| ("carried-for", last.since(made) as f64 / 1e6)),
    );
    Ok(values)
}
