//! A connection as `load-conn` describes it, in strongSwan's words, and what the engine makes of it.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bartizan_esp::Suite;
use bartizan_host::clock;
use bartizan_ike::{
    Allowance, ChildConfig, Config, Ends, Identity, Lifetime, Mode, Pace, Ppk, Prf, Revocation, Selector, Timing,
    key_exchange,
};
use bartizan_registry::{Header, TransformKind, transform_named};
use bartizan_wire::ike::{KeyExchangeMethod, Transform};
use bartizan_wire::udp::{IKE, IKE_NAT};

use crate::Options;
use crate::credentials::Store;
use crate::trust::Believed;
use bartizan_ipsec::TrafficSelector;
use bartizan_ipsec::proposal::{Choice, Proposal};
use bartizan_ipsec::vici::{Section, Value};
use bartizan_ipsec::xfrm::Path;

/// Until a first message is sent again, and the longest such wait: those of a charon of ours, with the same end after 23 s.
const RETRANSMIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(4);
const ATTEMPTS: u32 = 6;
/// Longer than any message: nothing is fragmented.
const WHOLE: usize = 65_000;
/// CHILD_SAs of an IKE_SA at most.
const CHILDREN: usize = 64;
/// SA requests that a peer may make at once, and more for each CHILD_SA: to set it up, and to
/// replace it a few times.
const ASKED: u32 = 24;
const ASKED_OF_EACH: u32 = 8;
/// Pace at which this end begins anew after deletions by the peer. A peer that deletes every SA
/// would otherwise cause endless work.
const AGAIN: Pace = Pace {
    at_once: 4,
    each: Duration::from_secs(5),
};

/// A connection that is loaded.
pub(crate) struct Connection {
    pub(crate) name: String,
    pub(crate) config: Arc<Config>,
    pub(crate) ends: Ends,
    /// Identities of the two ends, as in `load-conn`.
    pub(crate) identities: [String; 2],
    /// Its CHILD_SAs, in the order of `config`.
    pub(crate) children: Vec<Arc<Protected>>,
    /// Names of those that this end has been asked to set up: they are set up again with the next IKE_SA.
    pub(crate) wanted: BTreeSet<String>,
    /// Allowance for beginning anew after the peer's deletions. `overdue` if that is due as soon as
    /// the allowance permits.
    pub(crate) allowance: Allowance,
    pub(crate) overdue: bool,
    /// No `unload-conn` has come since.
    pub(crate) loaded: bool,
}

/// Traffic that a CHILD_SA protects, and its upkeep.
#[derive(Debug)]
pub(crate) struct Protected {
    /// Its VICI name.
    pub(crate) name: String,
    pub(crate) path: Path,
    pub(crate) mode: Mode,
    pub(crate) local: Vec<Selector>,
    pub(crate) remote: Vec<Selector>,
    pub(crate) limits: Limits,
    /// Restart after the peer's deletion, and after the loss of the peer.
    pub(crate) again: [bool; 2],
    /// True if it is set up when a packet asks for it.
    pub(crate) trap: bool,
    /// The suites that may protect it.
    pub(crate) suites: Vec<Suite>,
}

/// Limits of an SA's traffic: bytes and packets after which it is replaced, and after which it is
/// deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) rekey: (Option<u64>, Option<u64>),
    pub(crate) life: (Option<u64>, Option<u64>),
}

impl Limits {
    pub(crate) fn any(&self) -> bool {
        self.rekey != (None, None) || self.life != (None, None)
    }
}

impl Connection {
    /// Reads the section of a connection.
    ///
    /// # Errors
    /// What of it is not understood, or not done here.
    pub(crate) fn read(name: &str, section: &Section, store: &Store, options: &Options) -> Result<Self, String> {
        let address = |list: &str| -> Result<IpAddr, String> {
            let mut addresses = section.list(list);
            let first = addresses.next().and_then(|text| text.parse().ok());
            match (first, addresses.next()) {
                (Some(address), None) => Ok(address),
                _ => Err(format!(
                    "{list} must be one address: this engine follows no peer behind a NAT that gives it one"
                )),
            }
        };
        let (local, remote) = (address("local_addrs")?, address("remote_addrs")?);
        let sections = || section.section("children").into_iter().flat_map(Section::sections);
        let children: Vec<Protected> = sections()
            .map(|(name, child)| Protected::read(name, child, local, remote))
            .collect::<Result<_, _>>()?;
        let mut configs: Vec<ChildConfig> = sections()
            .zip(&children)
            .map(|((_, section), child)| child.config(section))
            .collect::<Result<_, _>>()?;
        if !(1..=CHILDREN).contains(&children.len()) {
            return Err(format!("1 to {CHILDREN} CHILD_SAs, not {}", children.len()));
        }
        let first = configs.remove(0);
        // One time for all: the shortest.
        let lifetime = sections().filter_map(|(_, child)| period(child, "rekey_time")).min();
        let part = |name: &str| section.section(name).ok_or_else(|| format!("no section {name}"));
        let (own, peer) = (part("local")?, part("remote")?);
        let id = |of: &Section| of.text("id").map(str::to_owned).ok_or("no identity");
        let identities = [id(own)?, id(peer)?];
        let roots = bytes(peer, "cacerts");
        let certificate = bytes(own, "certs").into_iter().next().ok_or("no certificate")?;
        let key = store.key_of(&certificate)?;
        let certificates = store.chain(&certificate, &roots);
        let revocation = match peer.text("revocation") {
            Some("strict") => Revocation::Required,
            _ => Revocation::IfPresent,
        };
        let (signatures, of_chains) = (peer.list("signatures"), peer.list("chain_signatures"));
        let trust = Believed::new(roots, store.lists(), revocation, signatures, of_chains)?;
        let fragments = section.text("fragmentation") != Some("no");
        let config = Config {
            proposals: proposals(section.list("proposals"), Protocol::Ike)?,
            child: first,
            more: configs,
            identity: identity(&identities[0]),
            peer: identity(&identities[1]),
            certificates,
            key,
            ppk: ppk(section, store)?,
            trust: Arc::new(trust),
            timing: Timing {
                retransmit: RETRANSMIT,
                longest_wait: LONGEST_WAIT,
                attempts: ATTEMPTS,
                liveness: period(section, "dpd_delay"),
                ike: period(section, "rekey_time").map(Lifetime::of),
                child: lifetime.map(Lifetime::of),
                authentication: period(section, "reauth_time").map(Lifetime::of),
                asked: Pace {
                    at_once: ASKED + ASKED_OF_EACH * children.len() as u32,
                    each: Duration::from_secs(1),
                },
                ..Timing::default()
            },
            longest: match fragments {
                true => usize::from(options.fragment_size.saturating_sub(around(local))),
                false => WHOLE,
            },
            always_in_udp: options.userspace.is_some(),
        };
        Ok(Self {
            name: name.to_owned(),
            config: Arc::new(config),
            ends: Ends {
                local: SocketAddr::new(local, IKE),
                remote: SocketAddr::new(remote, IKE),
            },
            identities,
            children: children.into_iter().map(Arc::new).collect(),
            wanted: BTreeSet::new(),
            allowance: Allowance::new(AGAIN, clock::now()),
            overdue: false,
            loaded: true,
        })
    }

    /// The place of a CHILD_SA.
    pub(crate) fn place(&self, child: &str) -> Option<usize> {
        self.children.iter().position(|known| known.name == child)
    }

    /// Every pair of selectors of this end and of the peer: the kernel has policies for each.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Selector, &Selector)> {
        self.children.iter().flat_map(|child| child.pairs())
    }
}

/// The pre-shared key that a connection names.
fn ppk(section: &Section, store: &Store) -> Result<Option<Ppk>, String> {
    let Some(name) = section.text("ppk_id") else {
        return Ok(None);
    };
    let secret = store
        .ppk(name)
        .ok_or_else(|| format!("no pre-shared key {name} was loaded"))?;
    Ok(Some(Ppk {
        identity: name.as_bytes().to_vec(),
        secret,
        required: section.is_yes("ppk_required"),
        // A peer that cannot do that says so, and it is mixed in later.
        early: true,
    }))
}

impl Protected {
    fn read(name: &str, child: &Section, local: IpAddr, remote: IpAddr) -> Result<Self, String> {
        let mode = match child.text("mode") {
            Some("tunnel") => Mode::Tunnel,
            Some("transport") => Mode::Transport,
            other => return Err(format!("no mode {}", other.unwrap_or("at all"))),
        };
        if !matches!(child.text("copy_dscp"), None | Some("out")) {
            return Err("this engine copies the DSCP of packets to the tunnel and in no other way".to_owned());
        }
        let selectors = |name: &str| -> Result<Vec<Selector>, String> {
            let read = child.list(name).map(|text| {
                let read = TrafficSelector::parse(text);
                read.map(|read| read.negotiated())
                    .ok_or_else(|| format!("no selector {text}"))
            });
            let all: Vec<_> = read.collect::<Result<_, _>>()?;
            if all.is_empty() {
                Err(format!("no {name}"))
            } else {
                Ok(all)
            }
        };
        let number = |name: &str| child.number(name);
        let window = number("replay_window").and_then(|window| u16::try_from(window).ok());
        Ok(Self {
            name: name.to_owned(),
            path: Path {
                local,
                remote,
                remote_port: IKE_NAT,
                reqid: number("reqid")
                    .and_then(|reqid| u32::try_from(reqid).ok())
                    .ok_or("no reqid")?,
                window: window.unwrap_or(32),
                offload: match child.text("hw_offload") {
                    None | Some("no") => false,
                    Some("crypto") => true,
                    Some(other) => return Err(format!("hw_offload = {other}: this engine has no and crypto")),
                },
            },
            mode,
            local: selectors("local_ts")?,
            remote: selectors("remote_ts")?,
            limits: Limits {
                rekey: (number("rekey_bytes"), number("rekey_packets")),
                life: (number("life_bytes"), number("life_packets")),
            },
            again: ["close_action", "dpd_action"].map(|action| child.text(action) == Some("start")),
            trap: child.text("start_action") == Some("trap"),
            suites: suites(child)?,
        })
    }

    fn config(&self, child: &Section) -> Result<ChildConfig, String> {
        Ok(ChildConfig {
            proposals: proposals(child.list("esp_proposals"), Protocol::Esp)?,
            mode: self.mode,
            local: self.local.clone(),
            remote: self.remote.clone(),
        })
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Selector, &Selector)> {
        let with = move |local| self.remote.iter().map(move |remote| (local, remote));
        self.local.iter().flat_map(with)
    }

    /// Returns true if these selectors cover all of its traffic.
    pub(crate) fn is_covered(&self, selectors: [&[Selector]; 2]) -> bool {
        let mut both = [&self.local, &self.remote].into_iter().zip(selectors);
        both.all(|(wanted, agreed)| {
            let covered = |wanted: &Selector| agreed.iter().any(|agreed| agreed.contains(wanted));
            wanted.iter().all(covered)
        })
    }
}

/// Seconds; zero is never.
/// Bytes of the headers around a datagram from this address.
fn around(local: IpAddr) -> u16 {
    let ip = if local.is_ipv4() { Header::IPV4 } else { Header::IPV6 };
    ip.bytes + Header::UDP.bytes
}

fn period(section: &Section, name: &str) -> Option<Duration> {
    section
        .number(name)
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs)
}

/// Every suite that the proposals of a CHILD_SA have.
fn suites(child: &Section) -> Result<Vec<Suite>, String> {
    let proposals = proposals(child.list("esp_proposals"), Protocol::Esp)?;
    let mut suites = Vec::new();
    for transforms in &proposals {
        let of = |kind: TransformKind| transforms.iter().filter(move |one| one.kind == kind.code());
        let integrities = || of(TransformKind::Integrity).map(|one| Some(one.id)).chain([None]);
        for cipher in of(TransformKind::Encryption) {
            suites.extend(integrities().filter_map(|proof| Suite::of(cipher.id, cipher.key_length, proof).ok()));
        }
    }
    Ok(suites)
}

fn bytes(section: &Section, name: &str) -> Vec<Vec<u8>> {
    match section.value(name) {
        Some(Value::List(items)) => items.clone(),
        _ => Vec::new(),
    }
}

fn identity(text: &str) -> Identity {
    text.parse()
        .map_or_else(|_| Identity::Name(text.to_owned()), Identity::Address)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Ike,
    Esp,
}

fn proposals<'a>(texts: impl Iterator<Item = &'a str>, protocol: Protocol) -> Result<Vec<Vec<Transform>>, String> {
    let all: Vec<_> = texts.map(|text| proposal(text, protocol)).collect::<Result<_, _>>()?;
    if all.is_empty() {
        return Err("no proposals: this engine has none of its own".to_owned());
    }
    Ok(all)
}

/// The transforms of a proposal, each implemented here.
fn proposal(text: &str, protocol: Protocol) -> Result<Vec<Transform>, String> {
    let read = Proposal::parse(text);
    if let Some(unknown) = read.unknown.first() {
        return Err(format!("{text}: `{unknown}` is not known"));
    }
    let lacks = |what: &dyn std::fmt::Display| Err(format!("{text}: this engine has no {what}"));
    let mut transforms = Vec::new();
    let transform = |kind: TransformKind, id: u16, key_length: Option<u16>| Transform {
        kind: kind.code(),
        id,
        key_length,
    };
    for cipher in &read.ciphers {
        let known = cipher.known();
        let mut integrities = read.integrity.iter().map(|one| Some(one.id()));
        let fits = |integrity: Option<u16>| Suite::of(cipher.id(), cipher.key_bits(), integrity).is_ok();
        if !(known.is_aead() && fits(None) || !known.is_aead() && integrities.all(fits) && !read.integrity.is_empty()) {
            return lacks(cipher);
        }
        transforms.push(transform(TransformKind::Encryption, cipher.id(), cipher.key_bits()));
    }
    for integrity in &read.integrity {
        transforms.push(transform(TransformKind::Integrity, integrity.id(), None));
    }
    for prf in &read.prfs {
        if Prf::of(prf.id()).is_none() {
            return lacks(prf);
        }
        transforms.push(transform(TransformKind::PseudoRandomFunction, prf.id(), None));
    }
    let places = std::iter::once(Transform::KE).chain(Transform::ADDITIONAL_KE);
    for (kind, choices) in places.zip(&read.key_exchanges) {
        for choice in choices {
            let id = match choice {
                Choice::Nothing => KeyExchangeMethod::NONE.0,
                Choice::Method(method) if key_exchange(KeyExchangeMethod(method.id())).is_some() => method.id(),
                Choice::Method(method) => return lacks(method),
            };
            transforms.push(Transform {
                kind,
                id,
                key_length: None,
            });
        }
    }
    if protocol == Protocol::Esp {
        let words: Vec<_> = text.split('-').filter(|word| ["esn", "noesn"].contains(word)).collect();
        let named = if words.is_empty() { vec!["noesn"] } else { words };
        let known = |name: &&str| transform_named(TransformKind::SequenceNumbers, name);
        let numbers = named.iter().filter_map(known);
        transforms.extend(numbers.map(|known| transform(TransformKind::SequenceNumbers, known.id, None)));
    }
    let has = |kind: u8| transforms.iter().any(|one| one.kind == kind);
    let is_whole = match protocol {
        Protocol::Ike => has(Transform::KE) && has(TransformKind::PseudoRandomFunction.code()),
        Protocol::Esp => true,
    };
    if !is_whole || !has(TransformKind::Encryption.code()) {
        return Err(format!("{text}: is no proposal"));
    }
    Ok(transforms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_in_strongswans_words_become_transforms_and_what_is_not_done_here_is_named() {
        let kinds = |text: &str, protocol| -> Vec<_> {
            let transforms = proposal(text, protocol).unwrap();
            transforms
                .iter()
                .map(|one| (one.kind, one.id, one.key_length))
                .collect()
        };
        assert_eq!(
            kinds("aes256gcm16-prfsha384-x25519-ke1_mlkem768", Protocol::Ike),
            [(1, 20, Some(256)), (2, 6, None), (4, 31, None), (6, 36, None)]
        );
        assert_eq!(
            kinds("aes256-sha384-ecp384-ke1_mlkem1024-noesn", Protocol::Esp),
            [
                (1, 12, Some(256)),
                (3, 13, None),
                (4, 20, None),
                (6, 37, None),
                (5, 0, None)
            ]
        );
        for (text, lacking) in [
            ("aes256gcm16-prfsha384-x25519-ke1_frodoa3", "no frodoa3"),
            ("aes256ctr-sha384-prfsha384-x25519", "no aes256ctr"),
            ("aes256gcm16-prfsha384-modp3072", "no modp3072"),
            (
                "aes256gcm16-prfsha384-x25519-ke1_mlkem786",
                "`ke1_mlkem786` is not known",
            ),
            ("aes256gcm16-x25519", "is no proposal"),
        ] {
            let error = proposal(text, Protocol::Ike).unwrap_err();
            assert!(error.contains(lacking), "{text}: {error}");
        }
    }
}
