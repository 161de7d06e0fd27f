//! Security associations: the records of IKEv2 and ESP.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::record::{Bytes, Direction, Key, Verdict};

/// An IKE_SA that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IkeSa {
    /// Its SPIs, as packets show them.
    pub key: Key,
    /// Cause.
    pub cause: Cause,
    /// The IKE_SA it took the place of, by a rekey.
    pub replaces: Option<Key>,
    /// The connection it belongs to, by its name in charon.
    pub connection: String,
    /// The interfaces of the standards it serves: `E2`.
    pub interfaces: Vec<String>,
    /// Direction: the end that initiated it.
    pub direction: Direction,
    /// The node at the other end; absent where the connection is none of the deployment's.
    pub peer: Option<String>,
    /// The identity the peer has proven.
    pub peer_identity: Option<String>,
    /// Our end, with the port IKE uses now.
    pub local_address: Option<SocketAddr>,
    /// Their end.
    pub peer_address: Option<SocketAddr>,
    /// Key exchanges, the first and the additional ones (RFC 9370) in order: all of them were done.
    pub key_exchanges: Vec<Algorithm>,
    /// A pre-shared post-quantum key (RFC 8784) went into it.
    pub ppk: bool,
    /// Encryption algorithm of IKE.
    pub encryption: Option<Algorithm>,
    /// Integrity algorithm of IKE; none with an AEAD cipher.
    pub integrity: Option<Algorithm>,
    /// Pseudorandom function.
    pub prf: Option<Algorithm>,
    /// Authentication of both ends, in the daemon's words; absent if it was not seen.
    pub authentication: Option<Authentication>,
    /// IKE messages on the wire until now; absent if they were not seen.
    pub messages: Option<Messages>,
    /// Seconds since it was established, by the daemon's clock.
    pub established_s: u64,
    /// Microseconds from its first sign of life to its establishment, by the writer's clock; absent
    /// where it was there before.
    pub set_up_us: Option<u64>,
    /// Verdict of the policy on its keys: confidentiality of recorded traffic.
    pub verdict: Verdict,
}

/// A CHILD_SA that stands: a pair of ESP SAs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSa {
    /// The IKE_SA it belongs to.
    pub key: Key,
    /// SPI of what we receive.
    pub spi_in: EspSpi,
    /// SPI of what we send.
    pub spi_out: EspSpi,
    /// Cause.
    pub cause: Cause,
    /// The inbound SPI of the CHILD_SA it took the place of.
    pub replaces: Option<EspSpi>,
    /// The connection, by its name in charon.
    pub connection: String,
    /// Its own name in charon.
    pub child: String,
    /// The interface of the standards: `E2`.
    pub interface: Option<String>,
    /// The node at the other end.
    pub peer: Option<String>,
    /// `TUNNEL` or `TRANSPORT`.
    pub mode: String,
    /// `ESP`, or `AH`, which encrypts nothing; absent where the daemon did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// ESP travels in UDP.
    pub udp: bool,
    /// Sequence numbers have 64 bits.
    pub extended_sequence_numbers: bool,
    /// Key exchanges of its own. None: it is keyed from its IKE_SA and is worth what that is.
    pub key_exchanges: Vec<Algorithm>,
    /// Encryption algorithm; absent if it does not encrypt.
    pub encryption: Option<Algorithm>,
    /// Integrity algorithm; none with an AEAD cipher.
    pub integrity: Option<Algorithm>,
    /// Traffic selectors of our end.
    pub local: Vec<String>,
    /// Traffic selectors of the peer's end.
    pub remote: Vec<String>,
    /// Seconds since it was installed, by the daemon's clock.
    pub installed_s: u64,
    /// Verdict of the policy on its keys.
    pub verdict: Verdict,
}

/// The end of an IKE_SA or a CHILD_SA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaClosed {
    /// The IKE_SA.
    pub key: Key,
    /// The inbound SPI, where a CHILD_SA ended.
    pub spi_in: Option<EspSpi>,
    /// Reason.
    pub why: Why,
    /// Bytes of plain text that a CHILD_SA carried, as the daemon counted them last.
    pub bytes: Bytes,
    /// Packets it carried.
    pub packets: Bytes,
    /// Seconds it stood, by the daemon's clock.
    pub lasted_s: u64,
    /// The daemon's own line about it, where it wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Something of IKE that was asked for and did not come about: an IKE_SA, or an exchange of one that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaRefused {
    /// The SPIs of the IKE_SA; absent where the responder had not chosen its own.
    pub key: Option<Key>,
    /// The connection by its name in the daemon; absent where it came to none.
    pub connection: Option<String>,
    /// The interfaces of the standards it would have served; empty where that is not known.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Direction: the end that initiated the IKE_SA.
    pub direction: Direction,
    /// The node at the other end, by the connection or by its address: before an IKE_SA stands it
    /// has not proven to be that.
    pub peer: Option<String>,
    /// The identity that the peer claims, where it got so far.
    pub peer_identity: Option<String>,
    /// Our end.
    pub local_address: Option<SocketAddr>,
    /// Their end.
    pub peer_address: Option<SocketAddr>,
    /// The requested SA.
    pub what: Asked,
    /// The end that refused it.
    pub by: Refuser,
    /// A stable word.
    pub reason: String,
    /// The daemon's own line about it.
    pub detail: String,
}

/// A requested SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// An IKE_SA where there was none.
    SetUp,
    /// An IKE_SA in parallel with one to the same peer.
    ReAuthentication,
    /// An exchange of an IKE_SA that stands: a CHILD_SA, the first included, or a rekey.
    Exchange,
}

/// The end that refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refuser {
    /// This node.
    Us,
    /// The peer, or no end: the peer did not answer.
    Peer,
}

/// Cause of an SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Set up.
    SetUp,
    /// By a rekey of the one before.
    Rekey,
    /// By a re-authentication: a new IKE_SA in parallel with one to the same peer.
    ReAuthentication,
    /// It stood when the watch began: how it came about was not seen.
    Found,
}

impl std::fmt::Display for Cause {
    /// The word of the ledger's record.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::SetUp => "set-up",
            Self::Rekey => "rekey",
            Self::ReAuthentication => "re-authentication",
            Self::Found => "found",
        })
    }
}

bartizan_registry::named! {
    /// Reason for which an SA ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Why, word {
        /// Another took its place.
        Replaced = "replaced",
        /// It was deleted, by either end.
        Deleted = "deleted",
        /// It broke the policy and was taken down by the writer.
        Breach = "breach",
        /// The daemon went away, and with it the SA.
        DaemonGone = "daemon-gone",
        /// The peer deleted it.
        DeletedByPeer = "deleted-by-peer",
        /// The peer gave no answer any more.
        PeerLost = "peer-lost",
        /// The peer began anew and has forgotten it: it says so (INITIAL_CONTACT), or answers in a
        /// newer IKE_SA and not in this one.
        PeerRestarted = "peer-restarted",
        /// It was not rekeyed within its lifetime.
        Expired = "expired",
        /// Another to the same peer stood in parallel with it, as after both ends have begun at once.
        Duplicate = "duplicate",
    }
}

/// An algorithm as the daemon names it, with its number where the registry has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Algorithm {
    /// Transform identifier on the wire; absent for a name the registry does not know.
    pub code: Option<u16>,
    /// Its name in the registry, else the daemon's.
    pub name: String,
    /// Bits of key, where they are negotiated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<u16>,
}

/// Authentication of both ends of an IKE_SA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authentication {
    /// We: `ECDSA_WITH_SHA256_DER`.
    pub local: Option<String>,
    /// The peer.
    pub peer: Option<String>,
    /// Signature algorithms of the peer's certificate chain, from its own to the one by a root;
    /// empty if it was not seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer_chain: Vec<String>,
    /// The same of our own certificates; empty where the daemon does not report it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_chain: Vec<String>,
    /// Risk that a quantum computer impersonates the peer later, independent of the confidentiality
    /// of recorded traffic.
    pub forgery: Forgery,
}

/// Risk that a future quantum computer forges an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forgery {
    /// A classical signature: an attacker that has a quantum computer when an SA is set up can
    /// forge it.
    PossibleLater,
    /// A post-quantum signature.
    NotKnown,
    /// It depends on a shared key.
    AsSecretAsTheKey,
    /// The method is not known here, or was not seen.
    Unknown,
}

/// IKE messages on the wire, as the daemon reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Packets.
    pub packets: Bytes,
    /// Bytes of UDP payload.
    pub bytes: Bytes,
    /// Packets that are fragments of IKE messages (RFC 7383).
    pub fragments: Bytes,
}

/// An SPI of IKEv2: eight bytes, hexadecimal in a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IkeSpi(pub u64);

/// An SPI of ESP: four bytes, hexadecimal in a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EspSpi(pub u32);

macro_rules! hexadecimal {
    ($($name:ident $number:ident $digits:literal;)*) => {$(
        impl $name {
            /// From its hexadecimal digits, all of them.
            pub fn parse(text: &str) -> Option<Self> {
                let whole = text.len() == $digits && text.bytes().all(|digit| digit.is_ascii_hexdigit());
                whole.then(|| $number::from_str_radix(text, 16).ok().map(Self)).flatten()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{:0", $digits, "x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&text)
                    .ok_or_else(|| serde::de::Error::custom(concat!("an SPI of ", $digits, " hexadecimal digits")))
            }
        }
    )*};
}

hexadecimal! {
    IkeSpi u64 16;
    EspSpi u32 8;
}
