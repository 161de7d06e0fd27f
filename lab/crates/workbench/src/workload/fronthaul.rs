//! Workloads on the open fronthaul: eCPRI and PTP in frames from an O-DU to an O-RU, over a link
//! that MACsec protects or nothing does; one has eCPRI over IP, in ESP.
//!
//! They need root, and MACsec of the kernel that runs them, or ESP.

mod echo;
mod ipsec;
mod keying;
mod load;
mod mix;
mod planes;
mod rekey;
mod replay;
#[cfg(test)]
mod tests;
mod transfer;

use std::collections::BTreeMap;

use bartizan_host::Feature;
use serde_json::Value;

use crate::stand_in::fronthaul::{Link, Protection, protection};
use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{Better, Default, Error, FactorKind, Lack, MetricKind, ParameterKind, lacks_feature};

pub(super) use self::echo::KIND as ECHO;
pub(super) use self::ipsec::KIND as IPSEC;
pub(super) use self::keying::KIND as KEYING;
pub(super) use self::load::KIND as LOAD;
pub(super) use self::mix::KIND as MIX;
pub(super) use self::rekey::KIND as REKEY;
pub(super) use self::replay::KIND as REPLAY;
pub(super) use self::transfer::KIND as TRANSFER;

/// Protection of the link, with random keys.
const PROTECTION: FactorKind = FactorKind {
    name: "protection",
    about: "MACsec of the kernel between the two ports, with SCI and with static random keys (netlink, no key exchange): none; the integrity of frames alone; or encrypted as well, with keys of 128 or 256 bits",
    levels: protection::NAMES,
};

/// Source of the controllers' keys.
const KEYING_FACTOR: FactorKind = FactorKind {
    name: "keying",
    about: "direct: keys from TLS 1.3 over the link itself; mka: by MKA of wpa_supplicant under a CAK of the same; eap-tls: by MKA under a CAK of EAP-TLS 1.3 between Bartizan and wpa_supplicant",
    levels: &["direct", "mka", "eap-tls"],
};

/// Bytes behind the Ethernet header that the ports take: frames of 9000 bytes fit with what MACsec adds.
const PORT_MTU: u16 = 9100;

/// First missing requirement of a protected link: MACsec of the kernel.
fn lacks(levels: &Levels, _: &Tools) -> Option<Lack> {
    let protection = protection_of(levels).ok()?;
    protection.suite().and_then(|_| lacks_macsec())
}

fn lacks_macsec() -> Option<Lack> {
    lacks_feature("MACsec", Feature::Macsec)
}

/// First missing requirement of a link with keys from MKA: wpa_supplicant of the lab root.
fn lacks_supplicant(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let direct = levels.level(KEYING_FACTOR.name).is_none_or(|keying| keying == "direct");
    (!direct && tools.root.is_none()).then(|| Lack {
        what: "wpa_supplicant".to_owned(),
        reason: "there is no lab root".to_owned(),
        hint: "as root: bartizan lab root".to_owned(),
        feature: None,
    })
}

fn protection_of(levels: &Levels) -> Result<Protection, Error> {
    let name = levels.level(PROTECTION.name).unwrap_or("none");
    Protection::named(name).ok_or_else(|| Error::Configuration(format!("no protection {name}")))
}

/// Facts of every record about the link's protection.
fn facts(link: &Link) -> BTreeMap<String, Value> {
    let keys = match link.protection().suite() {
        Some(suite) => format!("{}, static random keys by netlink, no key exchange", suite.name),
        None => "none".to_owned(),
    };
    BTreeMap::from([("keys".to_owned(), Value::from(keys))])
}

const fn parameter(name: &'static str, about: &'static str, default: f64) -> ParameterKind {
    ParameterKind {
        name,
        about,
        default: Some(Default::Number(default)),
    }
}

const fn time(name: &'static str, about: &'static str) -> MetricKind {
    metric(name, "us", about, Better::Lower)
}

const fn count(name: &'static str, about: &'static str) -> MetricKind {
    metric(name, "", about, Better::Lower)
}

const fn metric(name: &'static str, unit: &'static str, about: &'static str, better: Better) -> MetricKind {
    MetricKind {
        name,
        unit,
        about,
        better,
    }
}
