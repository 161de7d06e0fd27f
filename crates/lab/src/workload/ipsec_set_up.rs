//! IPsec SAs set up, given another CHILD_SA, rekeyed and deleted, by two real charons over a virtual cable, timed from the packets at
//! the initiator: what papers 1 and 2 time.

mod link;
mod measure;
mod papers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bartizan_host::{Capture, Direction, Usage};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_registry::{TRANSFORMS, TransformKind};
use serde_json::Value;

use self::link::{INTERFACE, Link};
use self::measure::Measured;
use self::papers::Papers;
use crate::bench::Tools;
use crate::experiment::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

const KEY_EXCHANGE: FactorKind = FactorKind {
    name: "key-exchange",
    about: "of IKE_SA and CHILD_SAs, in strongSwan's words: `x25519-ke1_mlkem768` is a hybrid of RFC 9370",
    levels: &[
        "x25519",
        "mlkem512",
        "mlkem768",
        "mlkem1024",
        "x25519-ke1_mlkem512",
        "x25519-ke1_mlkem768",
        "x25519-ke1_mlkem1024",
    ],
};

const AUTHENTICATION: FactorKind = FactorKind {
    name: "authentication",
    about: "what both ends sign with, and their authority signs certificates with",
    levels: &["ecdsa-p256", "ed25519"],
};

const CONFIGURATION: FactorKind = FactorKind {
    name: "configuration",
    about: "of both charons: what Bartizan writes, or strongSwan's own values",
    levels: &["bartizan", "default"],
};

const DRIVER: FactorKind = FactorKind {
    name: "driver",
    about: "who asks for the SA: Bartizan over VICI, or `swanctl --initiate`",
    levels: &["bartizan", "swanctl"],
};

/// How long charon may take for an answer that sends no packet.
const PATIENCE: Duration = Duration::from_secs(30);

const fn metric(name: &'static str, unit: &'static str, about: &'static str, better: Better) -> MetricKind {
    MetricKind {
        name,
        unit,
        about,
        better,
    }
}

pub(super) static KIND: Kind = Kind {
    name: "ipsec-set-up",
    about: "IKE_SAs set up, given a second CHILD_SA, rekeyed and deleted by two charons, timed from packets at the initiator.",
    factors: &[KEY_EXCHANGE, AUTHENTICATION, CONFIGURATION, DRIVER],
    parameters: &[
        ParameterKind {
            name: "set-ups",
            about: "IKE_SAs in a trial, one after the other",
            default: Some(Default::Number(1.0)),
        },
        ParameterKind {
            name: "mtu",
            about: "of the cable, in bytes",
            default: Some(Default::Number(1500.0)),
        },
    ],
    metrics: &[
        metric(
            "ike-sa-init",
            "ms",
            "IKE_SA_INIT: request's first byte to response's last",
            Better::Lower,
        ),
        metric(
            "intermediate",
            "ms",
            "IKE_INTERMEDIATE, where there is one: the same",
            Better::Lower,
        ),
        metric(
            "ike-auth",
            "ms",
            "IKE_AUTH, with which the first CHILD_SA comes: the same",
            Better::Lower,
        ),
        metric(
            "total",
            "ms",
            "first IKE_SA_INIT request to IKE_AUTH response: what the ends compute between is in it",
            Better::Lower,
        ),
        metric(
            "child-sa",
            "ms",
            "a second CHILD_SA with a key exchange of its own: CREATE_CHILD_SA request to the last response, IKE_FOLLOWUP_KE included",
            Better::Lower,
        ),
        metric(
            "rekey",
            "ms",
            "the first CHILD_SA rekeyed with a key exchange: the same",
            Better::Lower,
        ),
        metric(
            "call",
            "ms",
            "from asking charon for the SA to its answer that it is installed",
            Better::Lower,
        ),
        metric(
            "exchanges",
            "exchanges",
            "round trips until the SA is up",
            Better::Lower,
        ),
        metric("bytes", "B", "IP bytes of the set-up in both directions", Better::Lower),
        metric(
            "packets",
            "packets",
            "IP packets of the set-up in both directions",
            Better::Lower,
        ),
        metric(
            "ip-fragments",
            "packets",
            "of these, parts of fragmented IP packets",
            Better::Lower,
        ),
        metric(
            "ike-fragments",
            "messages",
            "IKE fragments (RFC 7383) of the set-up",
            Better::Neither,
        ),
        metric(
            "rekey-bytes",
            "B",
            "IP bytes of the rekey in both directions",
            Better::Lower,
        ),
        metric(
            "rekey-packets",
            "packets",
            "IP packets of the rekey in both directions",
            Better::Lower,
        ),
        metric(
            "rekey-ip-fragments",
            "packets",
            "of these, parts of fragmented IP packets",
            Better::Lower,
        ),
        metric(
            "retransmissions",
            "messages",
            "IKE messages of the IKE_SA seen before",
            Better::Lower,
        ),
        metric(
            "cpu-initiator",
            "ms",
            "time on a processor of the initiator's charon for the set-up",
            Better::Lower,
        ),
        metric("cpu-responder", "ms", "the same of the responder's", Better::Lower),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

fn lacks(_: &Levels, tools: &Tools) -> Option<Lack> {
    let lack = |what: &str, reason: String, hint: &str| {
        Some(Lack {
            what: what.to_owned(),
            reason,
            hint: hint.to_owned(),
            feature: None,
        })
    };
    if !nix::unistd::geteuid().is_root() {
        return lack("root", "two charons on a cable need it".to_owned(), "run this as root");
    }
    let charon = |root: &bartizan_host::LabRoot| root.packages().any(|(name, _)| name == "charon-systemd");
    if !tools.sid.as_ref().is_some_and(charon) {
        let reason = "there is no lab root with strongSwan 6.1".to_owned();
        return lack("strongSwan", reason, "as root, from a checkout: scripts/peers roots");
    }
    None
}

struct IpsecSetUp {
    set_ups: usize,
    // Pairs of charons by their configuration.
    links: BTreeMap<String, Link>,
    connections: Vec<Connection>,
    folder: PathBuf,
    programs: Vec<String>,
}

/// One combination, as both charons know it.
struct Connection {
    levels: Levels,
    /// Tells it from the others by its addresses and names.
    number: u8,
    /// Code points of the key exchanges that must be negotiated, the KE payload's first.
    methods: Vec<u16>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mtu = u16::try_from(setting.parameters.count("mtu")?)
        .ok()
        .filter(|mtu| (576..=9000).contains(mtu))
        .ok_or_else(|| Error::Configuration("`mtu` is 576 to 9000 bytes".to_owned()))?;
    let root = setting
        .tools
        .sid
        .as_ref()
        .ok_or_else(|| Error::Configuration("no lab root sid".to_owned()))?;
    let mut links = BTreeMap::new();
    let mut connections = Vec::new();
    let mut papers: BTreeMap<&str, Papers> = BTreeMap::new();
    for (number, levels) in (1..).zip(setting.combinations) {
        let configuration = level(levels, &CONFIGURATION);
        if !links.contains_key(configuration) {
            let link = Link::make(setting.folder, root, configuration == "default", mtu)?;
            links.insert(configuration.to_owned(), link);
        }
        let authentication = level(levels, &AUTHENTICATION);
        if !papers.contains_key(authentication) {
            papers.insert(authentication, Papers::issue(setting.folder, authentication)?);
        }
        let key_exchange = level(levels, &KEY_EXCHANGE);
        if let (Some(link), Some(papers)) = (links.get_mut(configuration), papers.get(authentication)) {
            link.load(number, key_exchange, papers)?;
        }
        connections.push(Connection {
            levels: levels.clone(),
            number,
            methods: methods(key_exchange)?,
        });
    }
    let programs = links.values().next().map(Link::version).transpose()?;
    Ok(Box::new(IpsecSetUp {
        set_ups: setting.parameters.count("set-ups")?.max(1),
        links,
        connections,
        folder: setting.folder.to_owned(),
        programs: programs.into_iter().collect(),
    }))
}

/// The level of a factor, or its first where the experiment does not vary it.
fn level<'a>(levels: &'a Levels, factor: &FactorKind) -> &'a str {
    levels.level(factor.name).unwrap_or(factor.levels[0])
}

/// Code points of `x25519-ke1_mlkem768`.
fn methods(key_exchange: &str) -> Result<Vec<u16>, Error> {
    let method = |word: &str| {
        let keyword = word.split_once('_').map_or(word, |(_, keyword)| keyword);
        let mut known = TRANSFORMS.iter().filter(|one| one.kind == TransformKind::KeyExchange);
        let known = known.find(|one| one.strongswan == Some(keyword));
        known
            .map(|one| one.id)
            .ok_or_else(|| Error::Configuration(format!("no key exchange is called `{keyword}`")))
    };
    key_exchange.split('-').map(method).collect()
}

impl Workload for IpsecSetUp {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let unknown = || Error::Configuration("a combination that was not announced".to_owned());
        let connection = self
            .connections
            .iter()
            .find(|connection| connection.levels == *trial.levels)
            .ok_or_else(unknown)?;
        let link = self
            .links
            .get_mut(level(trial.levels, &CONFIGURATION))
            .ok_or_else(unknown)?;
        let mut observation = Observation::default();
        for _ in 0..self.set_ups {
            let file = self.folder.join("trial.pcap");
            let capture = Capture::start(Some(link.initiator()), INTERFACE, &file, Direction::Both)?;
            let done = set_up(link, connection, level(trial.levels, &DRIVER), trial.deadline);
            let captured = capture.stop()?;
            let asked = done?;
            if !captured.complete() {
                return Err(Error::Configuration(format!(
                    "the capture has lost {} packets: the machine is too busy",
                    captured.dropped
                )));
            }
            let measured = Measured::read(&file, &connection.methods)?;
            for (name, value) in asked.into_iter().chain(measured.values()) {
                observation.values.entry(name).or_default().push(value);
            }
        }
        let mut fact = |name: &str, value: Value| observation.facts.insert(name.to_owned(), value);
        fact("mtu", Value::from(link.mtu()));
        fact("esp", Value::from(link.esp()));
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.programs.clone()
    }
}

/// Sets an SA up, gives it a second CHILD_SA, rekeys the first and deletes everything; what is not seen in packets is the result.
fn set_up(
    link: &mut Link,
    connection: &Connection,
    driver: &str,
    deadline: Instant,
) -> Result<Vec<(&'static str, f64)>, Error> {
    let left = || deadline.saturating_duration_since(Instant::now()).max(PATIENCE / 30);
    let mut client = link.client()?;
    let before = link.cpu()?;
    let began = Instant::now();
    match driver {
        "swanctl" => link.swanctl_initiate(connection.number, left())?,
        _ => initiate(&mut client, "first", connection.number, left())?,
    }
    let call = milliseconds(began.elapsed());
    let after = link.cpu()?;
    initiate(&mut client, "second", connection.number, left())?;

    let mut events = link.client()?;
    events.register("child-rekey").map_err(refused)?;
    let ask = Section::new().with("child", link::child("first", connection.number));
    client.command("rekey", ask).map_err(refused)?;
    // charon answers at once; that it is done it tells by an event.
    if events.event(left()).map_err(refused)?.is_none() {
        return Err(Error::Handshake("the rekey did not end".to_owned()));
    }
    let ask = Section::new().with("ike", link::connection(connection.number));
    client.command_within("terminate", ask, left()).map_err(refused)?;
    Ok(vec![
        ("call", call),
        ("cpu-initiator", milliseconds(spent(before.0, after.0))),
        ("cpu-responder", milliseconds(spent(before.1, after.1))),
    ])
}

fn initiate(client: &mut Client, which: &str, number: u8, patience: Duration) -> Result<(), Error> {
    let ask = Section::new()
        .with("child", link::child(which, number))
        .with("ike", link::connection(number));
    client
        .command_within("initiate", ask, patience)
        .map(drop)
        .map_err(refused)
}

fn spent(before: Usage, after: Usage) -> Duration {
    after.cpu.saturating_sub(before.cpu)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What charon said to a command.
fn refused(error: bartizan_ipsec::vici::Error) -> Error {
    Error::Refused {
        error: error.to_string(),
        hint: None,
    }
}

#[cfg(test)]
mod tests;
