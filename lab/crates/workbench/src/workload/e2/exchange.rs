//! The recorded exchange of E2 nodes and their RIC, at a scale, with what it costs and what is lost.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::machine::{Ticks, retransmissions};
use super::{Egress, PROTECTION, Protected, lacks, microseconds, number, protection_of};
use crate::stand_in::e2::Exchange;
use crate::stand_in::e2::frames::UDP;
use crate::stand_in::e2::link::{Link, NODE, RIC};
use crate::stand_in::e2::play::{Faults, play};
use crate::stand_in::e2::protection::Selector;
use crate::stand_in::e2::script::{Load, Pace, Script};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "e2",
    about: "Plays a recorded exchange of FlexRIC (set-up, subscription, indications, delete) over kernel SCTP, from one node to many and at a rate; a synthetic control message answers each indication.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "nodes",
            about: "E2 nodes, each with an association of its own",
            levels: &[],
        },
        FactorKind {
            name: "rate",
            about: "kilobits of indications per second from all nodes together, without headers; 0 plays the recording at its own pace, once",
            levels: &[],
        },
        FactorKind {
            name: "background",
            about: "megabits per second of user traffic (UDP, synthetic) between the same hosts, outside the protection",
            levels: &[],
        },
        FactorKind {
            name: "payload-protocol",
            about: "SCTP's payload protocol identifier: as recorded (FlexRIC sends 0), or the standard's",
            levels: &["recorded", "standard"],
        },
    ],
    parameters: &[
        ParameterKind {
            name: "lasting",
            about: "milliseconds for which nodes report, at a rate",
            default: Some(Default::Number(2000.0)),
        },
        ParameterKind {
            name: "faster",
            about: "how many times faster than recorded, at the recording's own pace",
            default: Some(Default::Number(1.0)),
        },
        ParameterKind {
            name: "control",
            about: "bytes of the synthetic control message and of its reply, 28 at least; 0 leaves both out",
            default: Some(Default::Number(133.0)),
        },
        ParameterKind {
            name: "abort-after",
            about: "the RIC aborts the first association after so many indications, once; 0 for never",
            default: Some(Default::Number(0.0)),
        },
        ParameterKind {
            name: "keep",
            about: "whether the frames of both hosts are kept as samples of `frame`",
            default: Some(Default::Flag(false)),
        },
    ],
    metrics: &[
        latency(
            "loop",
            "from handing an indication to the kernel to having its control message, at the node",
        ),
        latency(
            "reply",
            "from handing a control message to the kernel to having its reply, at the RIC",
        ),
        count(
            "lost",
            "indications whose control message did not come; without a control loop, indications that did not come",
        ),
        count("reconnects", "associations opened beyond the first of each node"),
        count("retransmissions", "DATA chunks that both kernels sent again"),
        count(
            "clear-packets",
            "SCTP packets that left either host readable although the link is protected",
        ),
        MetricKind {
            name: "carried",
            unit: "kb/s",
            about: "indications that came, without headers, over the time nodes reported",
            better: Better::Higher,
        },
        MetricKind {
            name: "frame",
            unit: "bytes",
            about: "frames of the associations where they leave",
            better: Better::Neither,
        },
        MetricKind {
            name: "cpu",
            unit: "%",
            about: "time of all processors of the kernel that ran it that was not idle, everything included",
            better: Better::Lower,
        },
        MetricKind {
            name: "user-traffic",
            unit: "Mb/s",
            about: "background traffic that came, without headers",
            better: Better::Higher,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

const fn latency(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "us",
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

/// Bytes of a datagram of user traffic, and the port of GTP-U, which it stands for.
const DATAGRAM: usize = 1400;
const USER_PORT: u16 = 2152;

struct Replay {
    link: Protected,
    folder: PathBuf,
    exchange: Exchange,
    lasting: Duration,
    faster: f64,
    control: Option<usize>,
    faults: Faults,
    keep: bool,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let some = |count| Some(count).filter(|&count| count > 0);
    Ok(Box::new(Replay {
        link: Protected::make(setting)?,
        folder: setting.folder.to_owned(),
        exchange: Exchange::flexric(),
        lasting: Duration::from_millis(parameters.count("lasting")? as u64),
        faster: parameters.number("faster")?,
        control: some(parameters.count("control")?),
        faults: Faults {
            abort_after: some(parameters.count("abort-after")?),
        },
        keep: parameters.flag("keep")?,
    }))
}

impl Replay {
    fn script(&self, trial: &Trial<'_>) -> Result<Script, Error> {
        let kilobits = number(trial.levels, "rate", 200.0)?;
        let standard = trial.levels.level("payload-protocol") == Some("standard");
        let e2 = bartizan_registry::SCTP_APPLICATIONS
            .iter()
            .find(|one| one.interface == "E2");
        let load = Load {
            nodes: number(trial.levels, "nodes", 1.0)? as usize,
            pace: if kilobits == 0.0 {
                Pace::Recorded { faster: self.faster }
            } else {
                let lasting = self.lasting;
                Pace::Rate { kilobits, lasting }
            },
            control: self.control,
            payload_protocol: e2.and_then(|e2| e2.payload_protocol).filter(|_| standard),
        };
        Script::new(&self.exchange, load).map_err(|error| Error::Configuration(error.to_string()))
    }
}

impl Workload for Replay {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let script = self.script(trial)?;
        let megabits = number(trial.levels, "background", 0.0)?;
        // With keys from IKE, the time before the SA is captured too.
        self.link.trapped(protection, Selector::Sctp)?;
        let link = &self.link.link;
        let again = || Ok::<_, Error>(retransmissions(link.node())? + retransmissions(link.ric())?);
        let (before, ticks) = (again()?, Ticks::now()?);
        let egress = Egress::start(link, &self.folder)?;
        let (played, user) = thread::scope(|scope| {
            let user = Background::start(scope, link, megabits)?;
            let played = play(&script, link, self.faults, trial.deadline);
            let user = user.end()?;
            Ok::<_, Error>((played?, user))
        })?;
        let left = egress.stop()?;
        let shares = Ticks::now()?.since(ticks);
        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        let values = &mut observation.values;
        if self.control.is_some() {
            values.insert("loop", played.loops.iter().map(|one| microseconds(one.took)).collect());
            values.insert("reply", played.replies.iter().copied().map(microseconds).collect());
            values.insert("lost", vec![played.lost as f64]);
        } else {
            values.insert("lost", vec![(played.sent - played.received.min(played.sent)) as f64]);
        }
        values.insert("reconnects", vec![played.reconnects as f64]);
        values.insert("retransmissions", vec![again()?.saturating_sub(before) as f64]);
        let clear = if protection.is_esp() { left.clear() } else { 0 };
        values.insert("clear-packets", vec![clear as f64]);
        let reported: usize = self.exchange.indications().map(|one| one.bytes.len()).sum();
        let mean = reported as f64 / self.exchange.indications().count() as f64;
        let lasts = script.lasts().as_secs_f64();
        if lasts > 0.0 {
            let carried = 8.0 * mean * played.received as f64 / lasts / 1000.0;
            values.insert("carried", vec![carried]);
        }
        if self.keep {
            let frames = left.node.iter().chain(&left.ric).filter(|frame| frame.protocol != UDP);
            values.insert("frame", frames.map(|frame| frame.length as f64).collect());
        }
        if let Some(shares) = shares {
            values.insert("cpu", vec![shares.busy]);
        }
        if let Some(user) = user {
            values.insert("user-traffic", vec![user]);
        }
        let mut sizes: Vec<_> = played.sizes.into_iter().collect();
        sizes.sort_unstable();
        let facts = &mut observation.facts;
        let sizes = sizes
            .into_iter()
            .map(|(size, count)| (size.to_string(), Value::from(count)));
        facts.insert("messages-by-size".to_owned(), Value::Object(sizes.collect()));
        facts.insert("indications".to_owned(), Value::from(played.sent));
        facts.insert("lasted-ms".to_owned(), Value::from(played.lasted.as_secs_f64() * 1e3));
        let control = self.control.map_or(Value::Null, Value::from);
        facts.insert("synthetic-control-bytes".to_owned(), control);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs()
    }
}

/// User traffic from the nodes' host to the RIC's while an exchange is played.
struct Background<'scope> {
    stop: std::sync::Arc<AtomicBool>,
    arrived: std::sync::Arc<AtomicU64>,
    sender: Option<thread::ScopedJoinHandle<'scope, ()>>,
    began: Instant,
}

impl<'scope> Background<'scope> {
    fn start<'env>(scope: &'scope thread::Scope<'scope, 'env>, link: &Link, megabits: f64) -> Result<Self, Error> {
        let (stop, arrived) = (
            std::sync::Arc::new(AtomicBool::new(false)),
            std::sync::Arc::new(AtomicU64::new(0)),
        );
        let mut background = Self {
            stop: stop.clone(),
            arrived: arrived.clone(),
            sender: None,
            began: Instant::now(),
        };
        if megabits == 0.0 {
            return Ok(background);
        }
        let far = link
            .ric()
            .enter(|| UdpSocket::bind((RIC, USER_PORT)))?
            .map_err(Error::Broken)?;
        far.set_read_timeout(Some(Duration::from_millis(50)))
            .map_err(Error::Broken)?;
        let near = link
            .node()
            .enter(|| UdpSocket::bind((NODE, USER_PORT)))?
            .map_err(Error::Broken)?;
        near.connect((RIC, USER_PORT)).map_err(Error::Broken)?;
        let stopped = stop.clone();
        scope.spawn(move || {
            let mut buffer = [0; DATAGRAM];
            while !stopped.load(Ordering::Relaxed) {
                if let Ok(length) = far.recv(&mut buffer) {
                    arrived.fetch_add(length as u64, Ordering::Relaxed);
                }
            }
        });
        let each = Duration::from_secs_f64(8.0 * DATAGRAM as f64 / megabits / 1e6);
        background.sender = Some(scope.spawn(move || {
            let datagram = [0x20; DATAGRAM];
            let mut due = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                // A datagram without room is dropped: user traffic does not wait.
                let _ = near.send(&datagram);
                due += each;
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }));
        Ok(background)
    }

    /// Ends it and says what came, in megabits per second; none without any.
    fn end(self) -> Result<Option<f64>, Error> {
        let lasted = self.began.elapsed().as_secs_f64();
        self.stop.store(true, Ordering::Relaxed);
        let Some(sender) = self.sender else { return Ok(None) };
        sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let bytes = self.arrived.load(Ordering::Relaxed);
        Ok(Some(8.0 * bytes as f64 / lasted / 1e6))
    }
}
