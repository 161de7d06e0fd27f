//! A control loop on E2 while its SAs are rekeyed: what it costs the loop, and whether anything is lost.

mod asking;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bartizan_host::Feature;
use bartizan_testing::Wiring as _;
use bartizan_testing::{Capture, Direction, Impairment};
use bartizan_wire::ike::{ExchangeType, IkeSa, Party};
use serde_json::Value;

use self::asking::{Plan, Rekeyed, Who, ask};
use super::machine::{Counters, retransmissions};
use super::{Anchor, Egress, PROTECTION, Protected, complete, lacks, lacks_feature, microseconds, protection_of};
use crate::stand_in::charons::{PATIENCE, methods, negotiated, seen, span};
use crate::stand_in::e2::Exchange;
use crate::stand_in::e2::link::{INTERFACE, Link};
use crate::stand_in::e2::node::Loop;
use crate::stand_in::e2::play::{Faults, play};
use crate::stand_in::e2::protection::Selector;
use crate::stand_in::e2::script::{Load, Pace, Script};
use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "e2-rekey",
    about: "Plays control loops of an E2 node over kernel SCTP while two charons rekey CHILD_SA and IKE_SA every few seconds, one end at a time or both at once.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "rekeys",
            about: "none: the SAs stand; in-turn: the two ends ask for a rekey one after the other; both-ends: both ask at once for the same SA, so that the rekeys collide",
            levels: &["none", "in-turn", "both-ends"],
        },
    ],
    parameters: &[
        parameter("period", "milliseconds between two rekeys", 3000.0),
        parameter(
            "ike-every",
            "every so many rekeys it is the IKE_SA's instead of the CHILD_SA's; 0 for never",
            4.0,
        ),
        parameter("lasting", "milliseconds for which the node reports", 60_000.0),
        parameter("rate", "kilobits of indications per second, without headers", 200.0),
        parameter(
            "control",
            "bytes of the synthetic control message and of its reply, 28 at least",
            133.0,
        ),
        parameter(
            "delay",
            "milliseconds that every packet takes from end to end (netem); without any, the end that is asked first has rekeyed before the other begins",
            5.0,
        ),
    ],
    metrics: &[
        latency(
            "loop",
            "from handing an indication to the kernel to having its control message, at the node",
        ),
        latency("loop-worst", "the longest loop of a trial"),
        latency(
            "loop-during",
            "loops during which a CREATE_CHILD_SA was under way, or what followed it up, by the packets",
        ),
        latency("loop-beside", "all other loops"),
        count("lost", "indications whose control message did not come"),
        count("reconnects", "associations opened beyond the first"),
        count("retransmissions", "DATA chunks that both kernels sent again"),
        count(
            "clear-packets",
            "SCTP packets that left either host readable, the time before the SA included",
        ),
        count(
            "esp-drops",
            "packets that the tables of ESP sent to nowhere at either host, without those before the first SA",
        ),
        MetricKind {
            name: "child-rekeys",
            unit: "",
            about: "CHILD_SAs that took the place of another, by charon's events",
            better: Better::Neither,
        },
        MetricKind {
            name: "ike-rekeys",
            unit: "",
            about: "IKE_SAs that took the place of another, by charon's events",
            better: Better::Neither,
        },
        MetricKind {
            name: "collisions",
            unit: "",
            about: "CREATE_CHILD_SA of either end that were under way at one time, by the packets at the nodes' host",
            better: Better::Neither,
        },
        MetricKind {
            name: "rekey",
            unit: "ms",
            about: "CREATE_CHILD_SA request to the last response, IKE_FOLLOWUP_KE included, by the packets at the nodes' host",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks: lacks_delay,
    start,
};

/// First missing requirement of a link with keys from IKE and with delay.
fn lacks_delay(levels: &Levels, tools: &Tools) -> Option<Lack> {
    lacks(levels, tools).or_else(|| lacks_feature("netem", Feature::Netem))
}

const fn parameter(name: &'static str, about: &'static str, default: f64) -> ParameterKind {
    ParameterKind {
        name,
        about,
        default: Some(Default::Number(default)),
    }
}

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

struct Rekey {
    link: Protected,
    folder: PathBuf,
    script: Script,
    period: Duration,
    ike_every: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let milliseconds = |name| Ok::<_, Error>(Duration::from_millis(parameters.count(name)? as u64));
    let load = Load {
        nodes: 1,
        pace: Pace::Rate {
            kilobits: parameters.number("rate")?,
            lasting: milliseconds("lasting")?,
        },
        control: Some(parameters.count("control")?),
        payload_protocol: None,
    };
    let script = Script::new(&Exchange::flexric(), load).map_err(|error| Error::Configuration(error.to_string()))?;
    let link = Protected::make(setting)?;
    let impairment = Impairment {
        delay: milliseconds("delay")?,
        ..Impairment::default()
    };
    if impairment != Impairment::default() {
        for namespace in [link.link.node(), link.link.ric()] {
            namespace.impair(INTERFACE, &impairment)?;
        }
    }
    Ok(Box::new(Rekey {
        link,
        folder: setting.folder.to_owned(),
        script,
        period: milliseconds("period")?,
        ike_every: parameters.count("ike-every")?,
    }))
}

impl Workload for Rekey {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let who = match trial.levels.level("rekeys") {
            Some("in-turn") => Some(Who::InTurn),
            Some("both-ends") => Some(Who::Both),
            _ => None,
        };
        self.link.trapped(protection, Selector::Sctp)?;
        let link = &self.link.link;
        let plan = who.map(|who| Plan {
            who,
            period: self.period,
            ike_every: self.ike_every,
        });
        let ike = self.link.ike();
        if plan.is_some() && ike.is_none() {
            return Err(Error::Configuration(format!(
                "{} has no SAs that could be rekeyed",
                protection.name
            )));
        }
        let egress = Egress::start(link, &self.folder)?;
        let path = self.folder.join("both.pcap");
        let both = Capture::start(Some(link.node()), INTERFACE, &path, Direction::Both)?;
        // The first packet finds no SA and is lost or waits: that belongs to the start of an E2
        // node, not to its rekeys.
        if let Some(ike) = ike {
            ike.set_up(PATIENCE)?;
        }
        let again = || Ok::<_, Error>(retransmissions(link.node())? + retransmissions(link.ric())?);
        let (before, esp) = (again()?, esp_counters(link)?);
        let (anchor, stop) = (Anchor::now(), AtomicBool::new(false));
        let (played, rekeyed) = thread::scope(|scope| {
            let stopped = &stop;
            let asking = plan
                .zip(ike)
                .map(|(plan, ike)| scope.spawn(move || ask(ike, plan, stopped)));
            let played = play(&self.script, link, Faults::default(), trial.deadline);
            stop.store(true, Ordering::Relaxed);
            let rekeyed = asking.map(|asking| asking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            Ok::<_, Error>((played?, rekeyed.transpose()?.unwrap_or_default()))
        })?;
        let left = egress.stop()?;
        complete(both.stop()?)?;
        let (sas, _) = seen(&path)?;
        fs::remove_file(&path).map_err(Error::file(&path))?;

        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        let packets = Packets::of(&sas)?;
        if let Some(key_exchange) = protection.key_exchange() {
            judge(&rekeyed, &packets, who, &methods(key_exchange)?, &sas)?;
        }
        let values = &mut observation.values;
        let during = |one: &Loop| {
            let sent = anchor.captured(one.sent);
            packets.under_way(sent, anchor.captured(one.sent + one.took))
        };
        let times = |loops: &[Loop]| -> Vec<f64> { loops.iter().map(|one| microseconds(one.took)).collect() };
        let (inside, outside): (Vec<Loop>, Vec<Loop>) = played.loops.iter().partition(|one| during(one));
        let all = times(&played.loops);
        values.insert("loop-worst", all.iter().copied().reduce(f64::max).into_iter().collect());
        values.insert("loop", all);
        values.insert("loop-during", times(&inside));
        values.insert("loop-beside", times(&outside));
        values.insert("lost", vec![played.lost as f64]);
        values.insert("reconnects", vec![played.reconnects as f64]);
        values.insert("retransmissions", vec![again()?.saturating_sub(before) as f64]);
        let clear = if protection.is_esp() { left.clear() } else { 0 };
        values.insert("clear-packets", vec![clear as f64]);
        let drops = esp_counters(link)?;
        let dropped = drops.iter().zip(&esp).flat_map(|(after, before)| after.since(before));
        let dropped: Vec<(String, u64)> = dropped.collect();
        values.insert("esp-drops", vec![dropped.iter().map(|(_, count)| *count as f64).sum()]);
        values.insert("child-rekeys", vec![rekeyed.children.len() as f64]);
        values.insert("ike-rekeys", vec![rekeyed.ike.len() as f64]);
        values.insert("collisions", vec![packets.collisions as f64]);
        let took = packets.spans.iter().map(|(first, last)| (last - first) as f64 / 1e6);
        values.insert("rekey", took.collect());
        let facts = &mut observation.facts;
        let mut fact = |name: &str, value: Value| facts.insert(name.to_owned(), value);
        fact("asked", Value::from(rekeyed.asked));
        fact("refused", Value::from(rekeyed.refused));
        fact("create-child-sa", Value::from(packets.creates));
        fact("create-child-sa-refused", Value::from(packets.refused));
        fact("ike-retransmissions", Value::from(packets.repeated));
        fact("indications", Value::from(played.sent));
        let dropped = dropped.into_iter().map(|(name, count)| format!("{name} {count}"));
        fact("esp-counters", Value::from(dropped.collect::<Vec<_>>()));
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs()
    }
}

fn esp_counters(link: &Link) -> Result<[Counters; 2], Error> {
    Ok([Counters::of_esp(link.node())?, Counters::of_esp(link.ric())?])
}

/// Fails unless the requested rekeys happened, with the requested key exchanges. The packets show
/// those of the set-up, charon's events those of each rekey.
fn judge(rekeyed: &Rekeyed, packets: &Packets, who: Option<Who>, methods: &[u16], sas: &[IkeSa]) -> Result<(), Error> {
    let begun = sas.iter().find(|sa| sa.chosen.is_some());
    let begun = begun.ok_or_else(|| Error::Handshake("the capture has no set-up of an IKE_SA".to_owned()))?;
    negotiated(begun, methods)?;
    rekeyed.all_by(methods)?;
    let happened = rekeyed.children.len() + rekeyed.ike.len();
    match who {
        None if happened + packets.creates > 0 => Err(Error::Protocol("a rekey nobody asked for".to_owned())),
        Some(_) if rekeyed.children.is_empty() => Err(Error::Protocol("no CHILD_SA was rekeyed".to_owned())),
        Some(Who::Both) if packets.collisions == 0 => Err(Error::Protocol("no two rekeys collided".to_owned())),
        _ => Ok(()),
    }
}

/// Rekeys seen in packets.
#[derive(Debug, Default)]
struct Packets {
    /// CREATE_CHILD_SA, those that were refused included.
    creates: usize,
    refused: u64,
    repeated: u64,
    /// First and last packet of each rekey that was seen whole, in nanoseconds since 1970.
    spans: Vec<(u64, u64)>,
    /// Pairs of CREATE_CHILD_SA, one of either end, each begun before the other was answered.
    collisions: usize,
}

impl Packets {
    fn of(sas: &[IkeSa]) -> Result<Self, Error> {
        let mut packets = Self::default();
        for sa in sas {
            if sa.exchanges.omitted > 0 {
                let reason = "an IKE_SA has more exchanges than are kept: make `ike-every` smaller";
                return Err(Error::Configuration(reason.to_owned()));
            }
            packets.spans.extend(sa.rekeyed().iter().filter_map(span));
            packets.refused += sa.refused_rekeys;
            packets.repeated += sa.from_initiator.repeated + sa.from_responder.repeated;
            let creates = |party: Party| {
                let creates = sa.exchanges_of(ExchangeType::CREATE_CHILD_SA);
                let of_it = creates.filter(move |create| create.requester == party);
                of_it.filter_map(|create| Some((create.first()?.time.0, create.last()?.time.0)))
            };
            packets.creates += sa.exchanges_of(ExchangeType::CREATE_CHILD_SA).count();
            for one in creates(Party::Initiator) {
                packets.collisions += creates(Party::Responder)
                    .filter(|other| one.0 <= other.1 && other.0 <= one.1)
                    .count();
            }
        }
        Ok(packets)
    }

    /// True if a rekey was under way between two times.
    fn under_way(&self, from: u64, until: u64) -> bool {
        self.spans.iter().any(|(first, last)| from <= *last && *first <= until)
    }
}
