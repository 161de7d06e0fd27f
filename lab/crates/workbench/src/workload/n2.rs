//! Workloads on N2: an association between a gNB and an AMF whose hosts are joined by a cable, not
//! protected, bridged by socat, carried by sidecars over TLS or QUIC, or in ESP.
//!
//! They need SCTP of the kernel that runs them, and root.

mod echo;
mod exchange;
mod head_of_line;
mod messages;
mod set_up;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bartizan_estimators::Sample;
use bartizan_host::Feature;
use bartizan_pki::{Algorithm, Profile};
use bartizan_testing::Impairment;
use bartizan_testing::Wiring as _;
use serde_json::Value;

use super::e2::Protected;
use crate::stand_in::charons::{self, Papers};
use crate::stand_in::e2::link::{INTERFACE, Link};
use crate::stand_in::e2::protection::{Protection as Esp, Selector};
use crate::stand_in::n2::pair::{self, Pair};
use crate::stand_in::n2::protection::Places;
use crate::stand_in::n2::{Message, Protection};
use crate::stand_in::proxies::{Proxy, Tools};
use crate::workload::{
    Default, Error, FactorKind, Lack, Levels, MetricKind, ParameterKind, Setting, lacks_feature, number,
};

pub(super) use self::echo::KIND as ECHO;
pub(super) use self::exchange::KIND as EXCHANGE;
pub(super) use self::head_of_line::KIND as HEAD_OF_LINE;
pub(super) use self::messages::KIND as MESSAGES;
pub(super) use self::set_up::KIND as SET_UP;

const PROTECTION: FactorKind = FactorKind {
    name: "protection",
    about: "none: one association from host to host; socat: two socats, between which TLS 1.3 of OpenSSL carries what they read; gateway-tls, gateway-quic: two sidecars that carry the association; ipsec: ESP keyed by two charons",
    levels: &["none", "socat", "gateway-tls", "gateway-quic", "ipsec"],
};

const ROUND_TRIP: FactorKind = FactorKind {
    name: "round-trip",
    about: "milliseconds by which both directions of the cable together delay a packet, by netem",
    levels: &[],
};

const LOSS: FactorKind = FactorKind {
    name: "loss",
    about: "packets of a hundred that the cable loses in each direction, by netem",
    levels: &[],
};

/// TLS group unless a factor names another.
const HYBRID: &str = "X25519MLKEM768";
/// Time limit for an association to reach the other end, besides the end of the trial.
const PATIENCE: Duration = Duration::from_secs(20);
/// NGAP's (TS 38.412, clause 7).
const NGAP: &str = "N2";

const fn parameter(name: &'static str, about: &'static str, default: f64) -> ParameterKind {
    ParameterKind {
        name,
        about,
        default: Some(Default::Number(default)),
    }
}

const fn count(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind::lower(name, "", about)
}

fn protection_of(levels: &Levels) -> Result<Protection, Error> {
    let name = levels.level(PROTECTION.name).unwrap_or("none");
    Protection::named(name).ok_or_else(|| Error::Configuration(format!("no protection {name}")))
}

/// First missing requirement of a combination: kernel features and lab roots.
fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let protection = protection_of(levels).ok()?;
    let lack = |what: &str, reason: String, hint: &str| Lack {
        what: what.to_owned(),
        reason,
        hint: hint.to_owned(),
        feature: None,
    };
    let impaired = [ROUND_TRIP.name, LOSS.name, "jitter"]
        .iter()
        .any(|factor| levels.level(factor).is_some_and(|level| level != "0"));
    let needed = [
        ("SCTP", Some(Feature::Sctp)),
        ("ESP", (protection == Protection::Ipsec).then_some(Feature::Esp)),
        ("netem", impaired.then_some(Feature::Netem)),
    ];
    let mut needed = needed.into_iter().filter_map(|(name, feature)| Some((name, feature?)));
    if let Some(lack) = needed.find_map(|(name, feature)| lacks_feature(name, feature)) {
        return Some(lack);
    }
    match protection {
        Protection::Ipsec => charons::lack(tools),
        Protection::Socat => {
            let socat = tools
                .root
                .as_ref()
                .is_some_and(|root| root.packages().any(|(name, _)| name == "socat"));
            let reason = "there is no lab root with socat".to_owned();
            (!socat).then(|| lack("socat", reason, "as root: bartizan lab root"))
        }
        _ if protection.by_sidecars() && !tools.sidecar.is_file() => {
            let reason = format!("there is no file {}", tools.sidecar.display());
            Some(lack(
                "a sidecar",
                reason,
                "--binary takes a bartizan, for example target/release/bartizan",
            ))
        }
        _ => None,
    }
}

/// A cable with a host at either end, and the programs that were asked for between them so far.
struct Stage {
    // Before the link.
    pairs: BTreeMap<(Protection, String), (Places, Pair)>,
    protected: Protected,
    papers: Papers,
    tools: Tools,
    folder: PathBuf,
    /// Connections that a sidecar keeps ready.
    warm: usize,
    started: u16,
    impaired: Impairment,
}

impl Stage {
    fn make(setting: &Setting<'_>, warm: usize) -> Result<Self, Error> {
        let algorithm = Algorithm::MlDsa65.name();
        Ok(Self {
            pairs: BTreeMap::new(),
            protected: Protected::make(setting)?,
            papers: Papers::issue(setting.folder, algorithm, ["gnb", "amf"], Profile::NetworkFunction)?,
            tools: setting.tools.clone(),
            folder: setting.folder.to_owned(),
            warm,
            started: 0,
            impaired: Impairment::default(),
        })
    }

    fn link(&self) -> &Link {
        &self.protected.link
    }

    /// Protects the hosts as a trial asks, and says where its ends are.
    fn prepare(&mut self, levels: &Levels) -> Result<Places, Error> {
        let protection = protection_of(levels)?;
        let group = levels.level("group").unwrap_or(HYBRID).to_owned();
        let esp = match (protection, group.as_str()) {
            (Protection::Ipsec, "X25519") => "ike-x25519",
            (Protection::Ipsec, HYBRID) => "ike-x25519-ke1_mlkem768",
            (Protection::Ipsec, _) => {
                return Err(Error::Configuration(format!("IPsec is not keyed by {group} here")));
            }
            _ => "none",
        };
        let esp = Esp::named(esp).ok_or_else(|| Error::Configuration(format!("no protection {esp}")))?;
        self.protected.with(esp, Selector::Sctp)?;
        if !protection.by_programs() {
            return Ok(Places::of(protection, 0));
        }
        if let Some((places, pair)) = self.pairs.get_mut(&(protection, group.clone())) {
            // One that cannot serve is started anew for the next trial.
            if pair.settle(&self.protected.link).is_ok() {
                return Ok(*places);
            }
            self.pairs.remove(&(protection, group.clone()));
        }
        let places = Places::of(protection, self.started);
        let pair = Pair::start(&pair::Setting {
            protection,
            group: &group,
            warm: self.warm,
            places,
            papers: &self.papers,
            link: &self.protected.link,
            tools: &self.tools,
            folder: &self.folder.join(format!("pair-{}", self.started)),
        })?;
        self.started += 1;
        self.pairs.insert((protection, group), (places, pair));
        Ok(places)
    }

    /// Waits until the programs of a trial are ready for the next association.
    fn settle(&mut self, levels: &Levels) -> Result<(), Error> {
        let group = levels.level("group").unwrap_or(HYBRID).to_owned();
        match self.pairs.get_mut(&(protection_of(levels)?, group)) {
            Some((_, pair)) => pair.settle(&self.protected.link),
            None => Ok(()),
        }
    }

    /// Has the cable delay and lose as a trial asks, in both directions alike.
    fn impair(&mut self, levels: &Levels, jitter: Duration) -> Result<(), Error> {
        let impairment = Impairment {
            delay: round_trip(levels)? / 2,
            jitter,
            loss_percent: number(levels, LOSS.name, 0.0)?,
            ..Impairment::default()
        };
        if self.impaired != impairment {
            for host in [self.link().node(), self.link().ric()] {
                host.impair(INTERFACE, &impairment)?;
            }
            self.impaired = impairment;
        }
        Ok(())
    }

    /// Facts of every record about the protection of N2.
    fn facts(&self, levels: &Levels) -> Result<BTreeMap<String, Value>, Error> {
        let mut facts = self.protected.facts()?;
        if protection_of(levels)?.by_programs() {
            let group = levels.level("group").unwrap_or(HYBRID);
            let keys = format!("TLS 1.3, {group} and nothing else, ml-dsa-65 at both ends");
            facts.insert("keys".to_owned(), Value::from(keys));
        }
        Ok(facts)
    }

    /// Names and versions of what it has started.
    fn programs(&self) -> Vec<String> {
        let mut programs = self.protected.programs();
        let has = |one: fn(Protection) -> bool| self.pairs.keys().any(|(protection, _)| one(*protection));
        if has(Protection::by_sidecars) {
            programs.extend(self.tools.version(Proxy::Splice));
        }
        if has(|one| one == Protection::Socat) {
            let packages = self.tools.root.iter().flat_map(bartizan_host::LabRoot::packages);
            programs.extend(
                packages
                    .filter(|(name, _)| ["socat", "openssl"].contains(name))
                    .map(|(name, version)| format!("{name} {version}")),
            );
        }
        programs
    }
}

fn round_trip(levels: &Levels) -> Result<Duration, Error> {
    Ok(Duration::from_secs_f64(number(levels, ROUND_TRIP.name, 0.0)? / 1e3))
}

/// Deadline for an association that is opened now to reach the other end.
fn soon(deadline: Instant) -> Instant {
    deadline.min(Instant::now() + PATIENCE)
}

/// The value that one of a hundred exceeds; none of no values.
fn p99(values: &[f64]) -> Vec<f64> {
    let sample = Sample::new(values.iter().copied());
    sample.map(|sample| sample.quantile(0.99)).into_iter().collect()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The payload protocol identifier of NGAP.
fn ngap() -> u32 {
    let known = bartizan_registry::SCTP_APPLICATIONS
        .iter()
        .find(|one| one.interface == NGAP);
    known.and_then(|one| one.payload_protocol).unwrap_or_default()
}

/// A message of NGAP's kind that begins with a number and has so many octets, no less than the number's four.
fn numbered(stream: u16, number: u32, size: usize) -> Message {
    let mut octets = number.to_be_bytes().to_vec();
    octets.resize(size.max(octets.len()), stream as u8);
    Message {
        stream,
        payload_protocol: ngap(),
        ordering: bartizan_host::sctp::Ordering::Ordered,
        octets,
    }
}

/// The number of such a message.
fn number_of(message: &Message) -> Option<u32> {
    message
        .octets
        .first_chunk::<4>()
        .map(|octets| u32::from_be_bytes(*octets))
}
