//! An E2 node that starts while its SA is not up yet: when does its first message reach the RIC?

use std::fs;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use bartizan_testing::{Capture, Direction};
use bartizan_wire::ike::ExchangeType;
use nix::poll::{PollFd, PollFlags};
use serde_json::Value;

use super::machine::{self, Counters};
use super::{Anchor, Egress, PROTECTION, Protected, complete, lacks, milliseconds_between, number, protection_of};
use crate::stand_in::charons::{PATIENCE, ike_sa, methods, negotiated};
use crate::stand_in::e2::frames::{ESP, Frame, SCTP};
use crate::stand_in::e2::link::{INTERFACE, Link};
use crate::stand_in::e2::play::wait;
use crate::stand_in::e2::protection::Selector;
use crate::stand_in::e2::{Exchange, Procedure};
use crate::workload::{Better, Error, FactorKind, Kind, MetricKind, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "e2-start-up",
    about: "Starts an E2 node over kernel SCTP while its SA is not up yet, and looks how long its first message and the RIC's answer take.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "sa",
            about: "trap: the node's first packet has it set up; standing: it was set up before the node started",
            levels: &["trap", "standing"],
        },
        FactorKind {
            name: "without-sa",
            about: "what the kernel does with a packet whose SA is being set up (net.core.xfrm_larval_drop): drop, as it does by default, or queue",
            levels: &["drop", "queue"],
        },
        FactorKind {
            name: "rto-initial",
            about: "milliseconds after which SCTP sends an INIT again (net.sctp.rto_initial); 3000 is the kernel's own",
            levels: &[],
        },
    ],
    parameters: &[],
    metrics: &[
        time(
            "delivered",
            "from the node opening its association to the E2 Setup Request being there, at the RIC's program",
        ),
        time(
            "ric-packet",
            "from the node opening its association to the first packet of it leaving the RIC's host",
        ),
        time(
            "node-packet",
            "from the node opening its association to the first packet of it leaving the nodes' host",
        ),
        time(
            "associated",
            "from the node opening its association to the association established, at the node",
        ),
        time(
            "ike-begins",
            "from the node opening its association to the first packet of IKE_SA_INIT",
        ),
        time("ike", "first packet of IKE_SA_INIT to the response of IKE_AUTH"),
        time(
            "idle",
            "from the response of IKE_AUTH to the first packet of the association leaving the nodes' host: the SA stands and nothing uses it",
        ),
        count("inits-again", "INIT chunks that nothing answered in time, at the node"),
        count(
            "wrong-checksums",
            "SCTP packets that came to the RIC with a wrong checksum and were dropped there",
        ),
        count(
            "clear-packets",
            "SCTP packets that left either host readable although the link is protected, the time before the SA included",
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

const fn time(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "ms",
        about,
        better: Better::Lower,
    }
}

const fn count(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "",
        about,
        better: Better::Lower,
    }
}

/// The kernel's own (RFC 9260, section 16).
const RTO_INITIAL: f64 = 3000.0;
/// As a program that sets nothing: the kernel's own wait between INITs, but not its eight attempts, which are minutes.
const OPENING: Opening = Opening {
    outbound_streams: 10,
    inbound_streams: 10,
    attempts: 4,
    longest_wait: Duration::ZERO,
};

struct StartUp {
    link: Protected,
    folder: PathBuf,
    exchange: Exchange,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(StartUp {
        link: Protected::make(setting)?,
        folder: setting.folder.to_owned(),
        exchange: Exchange::flexric(),
    }))
}

impl Workload for StartUp {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let queues = trial.levels.level("without-sa") == Some("queue");
        let rto = number(trial.levels, "rto-initial", RTO_INITIAL)?;
        self.link.trapped(protection, Selector::Sctp)?;
        let link = &self.link.link;
        for namespace in [link.node(), link.ric()] {
            machine::set(namespace, "core/xfrm_larval_drop", u64::from(!queues))?;
            machine::set(namespace, "sctp/rto_initial", rto as u64)?;
        }
        let sctp = || {
            let (node, ric) = (Counters::of_sctp(link.node())?, Counters::of_sctp(link.ric())?);
            Ok::<_, Error>((node.unanswered_inits()?, ric.wrong_checksums()?))
        };
        let (inits, checksums) = sctp()?;
        let esp = Counters::of_esp(link.node())?;
        let egress = Egress::start(link, &self.folder)?;
        let path = self.folder.join("both.pcap");
        let both = Capture::start(Some(link.node()), INTERFACE, &path, Direction::Both)?;
        if let (Some(ike), Some("standing")) = (self.link.ike(), trial.levels.level("sa")) {
            ike.set_up(PATIENCE)?;
        }
        let contact = Contact::make(link, &self.exchange, trial.deadline);
        let left = egress.stop()?;
        complete(both.stop()?)?;
        let contact = contact?;

        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        let values = &mut observation.values;
        let began = contact.began.captured;
        let since = |later: Instant| milliseconds_between(began, contact.began.captured(later));
        values.insert("delivered", vec![since(contact.delivered)]);
        values.insert("associated", vec![since(contact.associated)]);
        let protocol = if protection.is_esp() { ESP } else { SCTP };
        let first = |frames: &[Frame], end: &str| {
            let mut of_it = frames
                .iter()
                .filter(|frame| frame.protocol == protocol && frame.at >= began);
            let first = of_it.next().map(|frame| frame.at);
            first.ok_or_else(|| Error::Protocol(format!("nothing of the association left {end}")))
        };
        let node = first(&left.node, "the nodes' host")?;
        values.insert("node-packet", vec![milliseconds_between(began, node)]);
        let ric = first(&left.ric, "the RIC's host")?;
        values.insert("ric-packet", vec![milliseconds_between(began, ric)]);
        if let Some(key_exchange) = protection.key_exchange() {
            let sa = ike_sa(&path)?;
            negotiated(&sa, &methods(key_exchange)?)?;
            let set_up = sa.set_up().map(|took| took as f64 / 1e6);
            values.insert("ike", set_up.into_iter().collect());
            let stands = sa
                .exchanges_of(ExchangeType::IKE_AUTH)
                .last()
                .and_then(|auth| auth.response);
            if let (Some(stands), Some("trap")) = (stands, trial.levels.level("sa")) {
                let first = sa.first.time.0;
                values.insert("ike-begins", vec![milliseconds_between(began, first)]);
                let stands = stands.last.time.0;
                values.insert("idle", vec![milliseconds_between(stands, node)]);
            }
        }
        fs::remove_file(&path).map_err(Error::file(&path))?;
        let (again, wrong) = sctp()?;
        values.insert("inits-again", vec![again.saturating_sub(inits) as f64]);
        values.insert("wrong-checksums", vec![wrong.saturating_sub(checksums) as f64]);
        let clear = if protection.is_esp() { left.clear() } else { 0 };
        values.insert("clear-packets", vec![clear as f64]);
        let dropped = Counters::of_esp(link.node())?.since(&esp);
        let dropped = dropped.into_iter().map(|(name, count)| (name, Value::from(count)));
        observation
            .facts
            .insert("esp-counters".to_owned(), Value::Object(dropped.collect()));
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs()
    }
}

/// Times of an E2 node's start.
struct Contact {
    /// It asks the kernel for the association.
    began: Anchor,
    associated: Instant,
    /// The RIC has the whole E2 Setup Request.
    delivered: Instant,
}

impl Contact {
    /// Opens an association, sends an E2 Setup Request and waits for the response.
    fn make(link: &Link, exchange: &Exchange, deadline: Instant) -> Result<Self, Error> {
        let message = |procedure| {
            let found = exchange.first(procedure).map(|(message, _)| message);
            found.ok_or_else(|| Error::Configuration(format!("the recording has no {procedure:?}")))
        };
        let (request, response) = (message(Procedure::SetupRequest)?, message(Procedure::SetupResponse)?);
        let listen = || Listener::bind(Link::ric_address(), Opening::default());
        let listener = link.ric().enter(listen)??;
        listener.set_nonblocking(true).map_err(Error::Broken)?;
        let local = Link::node_address(0).ok_or_else(|| Error::Configuration("no address".to_owned()))?;
        let given_up = AtomicBool::new(false);
        thread::scope(|scope| {
            let ric = scope.spawn(|| {
                let mut association = accepted(&listener, deadline, &given_up)?;
                let arrived = association.receive().map_err(Error::Broken)?;
                let delivered = Instant::now();
                expect(&arrived, &request.bytes, "E2 Setup Request")?;
                association
                    .send(response.stream, response.payload_protocol, &response.bytes)
                    .map_err(Error::Broken)?;
                match association.receive().map_err(Error::Broken)? {
                    Arrival::End => Ok(delivered),
                    other => Err(Error::Protocol(format!("{other:?} behind the E2 Setup"))),
                }
            });
            let node = || {
                let began = Anchor::now();
                let connect = || Association::connect(local, Link::ric_address(), OPENING);
                let mut association = link.node().enter(connect)??;
                let associated = Instant::now();
                association.set_patience(Some(PATIENCE)).map_err(Error::Broken)?;
                association
                    .send(request.stream, request.payload_protocol, &request.bytes)
                    .map_err(Error::Broken)?;
                let arrived = association.receive().map_err(Error::Broken)?;
                expect(&arrived, &response.bytes, "E2 Setup Response")?;
                association.finish().map_err(Error::Broken)?;
                Ok::<_, Error>((began, associated))
            };
            let node = node();
            given_up.store(node.is_err(), Ordering::Relaxed);
            let delivered = ric.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (began, associated) = node?;
            Ok(Self {
                began,
                associated,
                delivered: delivered?,
            })
        })
    }
}

/// The association that the node opens, unless it gives up.
fn accepted(listener: &Listener, deadline: Instant, given_up: &AtomicBool) -> Result<Association, Error> {
    loop {
        match listener.accept() {
            Ok((association, _)) => {
                association.set_patience(Some(PATIENCE)).map_err(Error::Broken)?;
                return Ok(association);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(Error::Broken(error)),
        }
        if given_up.load(Ordering::Relaxed) || Instant::now() >= deadline {
            return Err(Error::Broken(std::io::ErrorKind::TimedOut.into()));
        }
        wait(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], None)?;
    }
}

fn expect(arrived: &Arrival, bytes: &[u8], what: &str) -> Result<(), Error> {
    match arrived {
        Arrival::Message(message) if message.bytes == bytes => Ok(()),
        other => Err(Error::Protocol(format!("{other:?} instead of the {what}"))),
    }
}
