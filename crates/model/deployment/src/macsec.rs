//! MACsec links: what stands between two nodes that share an Ethernet link.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_registry::{MACSEC_SUITES, MacsecSuite, ethertype, macsec_suite_named};

use crate::error::Fault;
use crate::ipsec::period;
use crate::node::NodeName;
use crate::raw::RawMacsecLink;
use crate::schema::{Text, Unprotected};
use crate::word::{Word, words};

bartizan_registry::named! {
    /// Encryption of a link's frames.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Confidentiality, name {
        /// They are, and their integrity is protected: the default.
        Encrypt = "encrypt",
        /// Their integrity alone is protected, for planes that something above encrypts (PDCP the U-plane).
        Integrity = "integrity",
    }
}

/// Source of a link's keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Keying {
    /// An exchange between two Bartizan nodes over the link itself: TLS 1.3 under the interface's policy.
    Direct,
    /// MKA (IEEE 802.1X, clause 9) by wpa_supplicant, under a pre-shared CAK.
    Mka(Cak),
    /// MKA under a CAK of EAP-TLS 1.3 between the two: the initiator is the authenticator, wpa_supplicant at the other end the peer.
    EapTls,
}

/// Source of MKA's CAK.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cak {
    /// The exchange of [`Keying::Direct`], which is repeated to replace it.
    Exchange,
    /// A file of each end that Bartizan runs at; an end without one is other equipment, a switch, that was given the same.
    Files([Option<PathBuf>; 2]),
}

/// Protocols that may pass a link's port unencrypted, besides EAPOL and the key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unencrypted {
    /// PTP (IEEE 1588 over Ethernet): the S-plane may stay outside of MACsec.
    Ptp,
}

/// A MACsec link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacsecLink {
    /// The Ethernet port of each end, in the order of the interface; empty where Bartizan does not run.
    pub ports: [String; 2],
    /// The MACsec device of each end, in the same order.
    pub devices: [String; 2],
    /// Which of the two begins an exchange, and is key server or authenticator.
    pub initiator: NodeName,
    /// The cipher suite.
    pub suite: &'static MacsecSuite,
    /// Encryption of frames.
    pub confidentiality: Confidentiality,
    /// Frames that may overtake each other before the latest counts as replayed.
    pub replay_window: u32,
    /// Octets that frames of the link may have; what the port leaves where the file does not say.
    pub mtu: Option<u32>,
    /// Source of keys.
    pub keying: Keying,
    /// Age at which a key is replaced.
    pub rekey: Duration,
    /// Frames after which it is.
    pub rekey_packets: u64,
    /// Keys that one exchange gives to each direction.
    pub keys_per_exchange: u64,
    /// Protocols that may pass unencrypted.
    pub unencrypted: Vec<Unencrypted>,
}

words!(Confidentiality);

impl Keying {
    /// The word in the deployment file.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Mka(_) => "mka",
            Self::EapTls => "eap-tls",
        }
    }
}

impl Unencrypted {
    /// The word in the deployment file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ptp => "ptp",
        }
    }

    /// The EtherType of its frames.
    pub const fn ethertype(self) -> u16 {
        match self {
            Self::Ptp => ethertype::PTP,
        }
    }
}

/// The kernel's own bound of an MTU.
const MOST_MTU: u32 = 65_535;
/// An IPv6 packet must pass (RFC 8200, section 5).
const LEAST_MTU: u32 = 1280;
/// `IFNAMSIZ` of linux/if.h without its terminator.
const LONGEST_NAME: usize = 15;
/// A kernel's window has as many bits as its packet numbers; more than this is no window any more.
const MOST_REPLAY_WINDOW: u32 = 1 << 20;
const REPLAY_WINDOW: u32 = 32;
const REKEY: Duration = Duration::from_secs(3600);
/// Default age of a CAK under MKA. wpa_supplicant begins anew with a new CAK, and frames are lost
/// for some seconds.
const REKEY_CAK: Duration = Duration::from_secs(24 * 3600);
const KEYS_PER_EXCHANGE: u64 = 8;
/// Half of the packet numbers of 32 bits, and of 64 as many as are never used up.
const PACKETS: u64 = 1 << 31;
const PACKETS_EXTENDED: u64 = 1 << 62;

impl MacsecLink {
    /// Port and device of `node`; none where it is neither end's, or an end that Bartizan does not run at.
    pub fn at(&self, between: &[NodeName; 2], node: &str) -> Option<(&str, &str)> {
        let end = between.iter().position(|name| name.as_str() == node)?;
        self.is_ours(end).then_some((&self.ports[end], &self.devices[end]))
    }

    /// Returns true if Bartizan runs at this end, 0 or 1 in the order of the interface. Other ends
    /// are equipment with a CAK of its own.
    #[must_use]
    pub fn is_ours(&self, end: usize) -> bool {
        match &self.keying {
            Keying::Mka(Cak::Files(files)) => files.get(end).is_some_and(Option::is_some),
            Keying::Direct | Keying::Mka(Cak::Exchange) | Keying::EapTls => true,
        }
    }

    /// Returns true if both ends authenticate by certificates, in an exchange over the link.
    #[must_use]
    pub fn has_exchange(&self) -> bool {
        !matches!(self.keying, Keying::Mka(Cak::Files(_)))
    }

    /// Reads a link; paths are relative to `base`.
    pub(crate) fn parse(raw: &RawMacsecLink, between: &[NodeName; 2], base: &Path) -> Result<Self, Fault> {
        let suite = suite(raw.cipher.as_deref())?;
        let keying = keying(raw, between, base)?;
        let confidentiality = match raw.confidentiality.as_deref() {
            None => Confidentiality::Encrypt,
            Some(word) => Confidentiality::named(word)
                .ok_or_else(|| unknown("confidentiality", word, &Confidentiality::hint()))?,
        };
        let initiator = match raw.initiator.as_deref() {
            None => between[0].clone(),
            Some(name) => {
                let found = between.iter().find(|end| end.as_str() == name);
                let [one, other] = between;
                let hint = || format!("name one of its ends: {one} or {other}");
                found.cloned().ok_or_else(|| unknown("initiator", name, &hint()))?
            }
        };
        let extended = suite.packet_number_bits == 64;
        let most_packets = if extended { PACKETS_EXTENDED } else { PACKETS };
        if keying != Keying::Direct {
            of_mka(raw, keying.name(), extended)?;
        }
        let other_equipment = |end: usize| match &keying {
            Keying::Mka(Cak::Files(files)) => files[end].is_none(),
            _ => false,
        };
        let other_equipment = [other_equipment(0), other_equipment(1)];
        Ok(Self {
            ports: names("port", &raw.port, between, None, other_equipment)?,
            devices: names("device", &raw.device, between, Some("macsec0"), other_equipment)?,
            initiator,
            suite,
            confidentiality,
            replay_window: within("replay-window", raw.replay_window, REPLAY_WINDOW, 0, MOST_REPLAY_WINDOW)?,
            mtu: match raw.mtu {
                None => None,
                mtu => Some(within("mtu", mtu, LEAST_MTU, LEAST_MTU, MOST_MTU).map_err(|fault| {
                    Fault {
                        hint: "write what frames of the link need, or leave it out: then it is what the port leaves"
                            .to_owned(),
                        ..fault
                    }
                })?),
            },
            rekey: rekey(
                raw.rekey.as_deref(),
                match keying {
                    Keying::Direct => REKEY,
                    Keying::Mka(_) | Keying::EapTls => REKEY_CAK,
                },
            )?,
            keying,
            rekey_packets: within("rekey-packets", raw.rekey_packets, most_packets, 1000, most_packets)?,
            keys_per_exchange: within("keys-per-exchange", raw.keys_per_exchange, KEYS_PER_EXCHANGE, 1, 1000)?,
            unencrypted: unencrypted(raw.unencrypted.as_deref().unwrap_or_default())?,
        })
    }
}

fn suite(name: Option<&str>) -> Result<&'static MacsecSuite, Fault> {
    // Suites without a name in iproute2 cannot be configured.
    let usable = |suite: &&MacsecSuite| suite.iproute2.is_some();
    let named = macsec_suite_named(name.unwrap_or("gcm-aes-256")).filter(usable);
    named.ok_or_else(|| {
        let known: Vec<_> = MACSEC_SUITES.iter().filter_map(|suite| suite.iproute2).collect();
        unknown(
            "cipher",
            name.unwrap_or_default(),
            &format!("one of {}", known.join(", ")),
        )
    })
}

fn keying(raw: &RawMacsecLink, between: &[NodeName; 2], base: &Path) -> Result<Keying, Fault> {
    let files = &raw.cak;
    match raw.keying.as_deref() {
        None | Some("direct") if files.is_empty() => Ok(Keying::Direct),
        Some("eap-tls") if files.is_empty() => Ok(Keying::EapTls),
        None | Some("direct" | "eap-tls") => Err(Fault::new(
            "cak",
            format!(
                "stands next to `keying: {}`, which needs none",
                raw.keying.as_deref().unwrap_or("direct")
            ),
            "write `keying: mka`, or remove it",
        )),
        Some("mka") if files.is_empty() => Ok(Keying::Mka(Cak::Exchange)),
        Some("mka") => {
            if let Some(other) = files
                .keys()
                .find(|name| !between.iter().any(|end| end.as_str() == **name))
            {
                let [one, two] = between;
                let cause = format!("`{other}` is no end of this interface");
                let hint = format!("its ends are {one} and {two}");
                return Err(Fault::new(format!("cak.{other}"), cause, hint));
            }
            let file = |node: &NodeName| files.get(node.as_str()).map(|file| base.join(file));
            Ok(Keying::Mka(Cak::Files(between.each_ref().map(file))))
        }
        Some(word) => Err(unknown("keying", word, "write direct, mka or eap-tls")),
    }
}

/// Refuses settings that MKA decides instead of the file, and settings that wpa_supplicant lacks.
fn of_mka(raw: &RawMacsecLink, keying: &str, extended: bool) -> Result<(), Fault> {
    let decided = [
        ("rekey-packets", raw.rekey_packets.is_some()),
        ("keys-per-exchange", raw.keys_per_exchange.is_some()),
    ];
    if let Some((place, _)) = decided.into_iter().find(|(_, given)| *given) {
        let cause = format!("with `keying: {keying}` the key server decides when packets use a key up");
        let hint = "remove it; `rekey` says when the CAK is replaced";
        return Err(Fault::new(place, cause, hint));
    }
    if extended {
        let cause = "wpa_supplicant has no suite with extended packet numbers";
        return Err(Fault::new("cipher", cause, "write gcm-aes-128 or gcm-aes-256"));
    }
    Ok(())
}

fn rekey(text: Option<&str>, default: Duration) -> Result<Duration, Fault> {
    const HINT: &str = "write 30m or 24h";
    let read = period("rekey", text, Some(default)).map_err(|fault| Fault {
        hint: HINT.to_owned(),
        ..fault
    });
    read?.ok_or_else(|| Fault::new("rekey", "`never` leaves a key in use until its numbers run out", HINT))
}

/// An interface for each end; none where it is other equipment, which names its own as it likes.
fn names(
    place: &str,
    raw: &BTreeMap<String, String>,
    between: &[NodeName; 2],
    default: Option<&str>,
    other_equipment: [bool; 2],
) -> Result<[String; 2], Fault> {
    if let Some(other) = raw
        .keys()
        .find(|name| !between.iter().any(|end| end.as_str() == **name))
    {
        let [one, two] = between;
        let cause = format!("`{other}` is no end of this interface");
        let hint = format!("its ends are {one} and {two}");
        return Err(Fault::new(format!("{place}.{other}"), cause, hint));
    }
    let name = |node: &NodeName| {
        let Some(name) = raw.get(node.as_str()).map(String::as_str).or(default) else {
            let hint = format!("add `{place}: {{ {node}: eth1, ... }}`: the Ethernet interface that leads to the peer");
            return Err(Fault::new(place, format!("{node} has none"), hint));
        };
        let fits = (1..=LONGEST_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'"' | b'\\'))
            && !matches!(name, "." | "..");
        if fits {
            return Ok(name.to_owned());
        }
        let shown: String = name.chars().take(64).collect();
        let hint = format!("1 to {LONGEST_NAME} letters and digits, as `ip link` shows them");
        let cause = format!("`{shown}` cannot name an interface");
        Err(Fault::new(format!("{place}.{node}"), cause, hint))
    };
    let of_end = |end: usize| match other_equipment[end] {
        true => Ok(String::new()),
        false => name(&between[end]),
    };
    Ok([of_end(0)?, of_end(1)?])
}

fn unencrypted(words: &[Text<Unprotected>]) -> Result<Vec<Unencrypted>, Fault> {
    let word = |word: &Text<_>| match &**word {
        "ptp" => Ok(Unencrypted::Ptp),
        other => Err(unknown(
            "unencrypted",
            other,
            "write [ptp], or leave it out: all else is protected",
        )),
    };
    let mut list = words.iter().map(word).collect::<Result<Vec<_>, _>>()?;
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

fn within<T: Copy + PartialOrd + std::fmt::Display>(
    place: &str,
    value: Option<T>,
    default: T,
    least: T,
    most: T,
) -> Result<T, Fault> {
    let value = value.unwrap_or(default);
    if value >= least && value <= most {
        return Ok(value);
    }
    let cause = format!("{value} is not between {least} and {most}");
    Err(Fault::new(place, cause, format!("{default} is the default")))
}

fn unknown(place: &str, word: &str, hint: &str) -> Fault {
    let shown: String = word.chars().take(64).collect();
    Fault::new(place, format!("nothing is called `{shown}` here"), hint)
}
