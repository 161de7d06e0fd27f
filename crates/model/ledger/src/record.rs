//! The record, and what TLS writes.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use bartizan_registry::{NamedGroup, SignatureScheme};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::association::Association;
use crate::ipsec::{ChildSa, IkeSa, IkeSpi, SaClosed, SaRefused};
use crate::macsec::{MacsecKey, MacsecNotRekeyed, MacsecOutlived, MacsecRefused};
use crate::prefix::Prefix;
use crate::refusals::Kind;

/// The version of the shape of records.
pub const VERSION: u32 = 1;

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this shape.
    pub v: u32,
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub at_us: u64,
    /// The node whose sidecar or daemon writes.
    pub node: String,
    /// Event.
    #[serde(flatten)]
    pub event: Event,
}

/// Event of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A handshake ended, well or not.
    Handshake(Box<Handshake>),
    /// A protected connection ended.
    Closed(Closed),
    /// Records that could not be written because the disk was slower than the handshakes.
    Lost(Lost),
    /// An IKE_SA stands: it was set up, rekeyed, authenticated anew, or found.
    IkeSa(Box<IkeSa>),
    /// A CHILD_SA stands.
    ChildSa(Box<ChildSa>),
    /// An IKE_SA or a CHILD_SA ended.
    SaClosed(SaClosed),
    /// Something of IKE that was asked for and did not come about.
    SaRefused(Box<SaRefused>),
    /// Refusals that were counted, since one like them has a record of its own.
    Refusals(Box<Refusals>),
    /// A key of a MACsec link came into use.
    MacsecKey(Box<MacsecKey>),
    /// A key of a MACsec link is used for longer than its policy lets it be.
    MacsecOutlived(Box<MacsecOutlived>),
    /// An exchange of keys for a MACsec link did not come to its end.
    MacsecRefused(Box<MacsecRefused>),
    /// The peer of a MACsec link was authenticated again, and the key stayed the same.
    MacsecNotRekeyed(Box<MacsecNotRekeyed>),
    /// An SCTP association that a gateway carried has ended.
    Association(Box<Association>),
}

impl Event {
    /// Kind and source address of a refusal; none if it is no refusal.
    pub(crate) fn refusal(&self) -> Option<(Kind, IpAddr)> {
        match self {
            Self::Handshake(handshake) => {
                let Verdict::Refused { reason, .. } = &handshake.verdict else {
                    return None;
                };
                let kind = Kind {
                    protocol: Protocol::Tls,
                    direction: handshake.direction,
                    interface: handshake.interface.clone(),
                    peer: handshake.peer.clone(),
                    reason: reason.clone(),
                };
                Some((kind, handshake.peer_address.ip()))
            }
            // Both ends try again without end.
            Self::SaRefused(refused) => {
                let kind = Kind {
                    protocol: Protocol::Ike,
                    direction: refused.direction,
                    interface: refused.interfaces.first().cloned().unwrap_or_default(),
                    peer: refused.peer.clone(),
                    reason: refused.reason.clone(),
                };
                Some((kind, refused.peer_address?.ip()))
            }
            _ => None,
        }
    }
}

/// A handshake: its negotiated algorithms, its peer, and the verdict of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// Identifier of the handshake in captures.
    pub key: Option<Key>,
    /// The interface of the standards, `SBI`.
    pub interface: String,
    /// Direction: the end that began it.
    pub direction: Direction,
    /// The node at the other end, once its certificate was matched to one.
    pub peer: Option<String>,
    /// Our end of the connection.
    pub local_address: SocketAddr,
    /// Their end.
    pub peer_address: SocketAddr,
    /// Negotiated algorithms; absent if the handshake ended before.
    pub negotiated: Option<Negotiated>,
    /// The chain the peer sent, leaf first; on resumption the one of the first handshake.
    #[serde(default)]
    pub chain: Vec<Certificate>,
    /// The chain that the writer sent, leaf first; empty on resumption, and where the handshake was
    /// refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_chain: Vec<Certificate>,
    /// Bytes of TLS records up to the end of the handshake.
    pub bytes: Bytes,
    /// Durations.
    pub times: Times,
    /// Verdict of the policy.
    pub verdict: Verdict,
}

/// The end of a protected connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// The key of its handshake.
    pub key: Option<Key>,
    /// Bytes of plain text carried.
    pub bytes: Bytes,
    /// Microseconds from the end of the handshake.
    pub lasted_us: u64,
    /// Reason for which it was ended early: judged again, it would have been refused. Absent if
    /// either end closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
}

/// Reason for a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A stable word, as in [`Verdict::Refused`].
    pub reason: String,
    /// The same in a sentence, with names and values.
    pub detail: String,
}

/// A gap in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Number of records missing here.
    pub records: u64,
}

/// Handshakes that were refused before the peer had proven who it is, counted: all of one kind, from one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Protocol.
    pub protocol: Protocol,
    /// The interface of the standards, `SBI`; empty where they were too many to be distinguished.
    pub interface: String,
    /// Direction: the end that began them.
    pub direction: Direction,
    /// The node at the other end, as in the record of the first; absent where they were too many to be distinguished.
    pub peer: Option<String>,
    /// The stable word of the refusal.
    pub reason: String,
    /// Source addresses; for those that we began, destination addresses.
    pub from: Prefix,
    /// Number of refusals, without the one with a record of its own.
    pub count: u64,
    /// The first of these, in microseconds since 1970.
    pub since_us: u64,
    /// The last of these.
    pub until_us: u64,
}

/// A protocol that sets up what protects a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TLS 1.3.
    Tls,
    /// IKEv2.
    Ike,
}

/// Identifier of a handshake or association in captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum Key {
    /// TLS: the random of the first ClientHello (a HelloRetryRequest does not change it).
    Tls {
        /// 32 bytes, lower-case hexadecimal in a ledger.
        client_random: Random,
    },
    /// IKEv2: the SPIs of an IKE_SA, in the header of each of its messages.
    Ike {
        /// The initiator's.
        initiator_spi: IkeSpi,
        /// The responder's.
        responder_spi: IkeSpi,
    },
}

/// The random of a ClientHello.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Random(pub [u8; 32]);

/// Direction: the end that began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The peer connected to us: we are the TLS server.
    Inbound,
    /// We connected: we are the TLS client.
    Outbound,
}

/// A code point with its name: a reader needs no table, and an unknown number stays visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The value on the wire.
    pub code: u16,
    /// Its name in the registry.
    pub name: String,
}

/// The outcome of a TLS 1.3 negotiation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Negotiated {
    /// `TLS 1.3`.
    pub version: String,
    /// Cipher suite.
    pub cipher: Code,
    /// Key exchange group.
    pub group: Code,
    /// The scheme we signed CertificateVerify with; absent on resumption.
    pub local_signature: Option<Code>,
    /// The scheme the peer signed CertificateVerify with; absent on resumption.
    pub peer_signature: Option<Code>,
    /// A session was resumed: no certificate was sent.
    pub resumed: bool,
    /// The server asked for another group first.
    pub hello_retry: bool,
}

/// Part of a certificate that a ledger keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Subject as text.
    pub subject: String,
    /// Serial number, lower-case hexadecimal.
    pub serial: String,
    /// Subject alternative names: `dns:nrf.5gc`, `ip:10.0.0.2`, `uri:urn:uuid:...`.
    pub names: Vec<String>,
    /// Algorithm of its key, by the registry's or the OID's name.
    pub public_key: String,
    /// Algorithm its issuer signed with.
    pub signature: String,
    /// Seconds since 1970 at which it ends.
    pub not_after: i64,
    /// SHA-256 of its DER, lower-case hexadecimal.
    pub sha256: String,
}

/// Bytes in both directions, as seen by the writer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Sent by us.
    pub sent: u64,
    /// Received from the peer.
    pub received: u64,
}

/// Durations in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// TCP connection set-up; 0 where the peer connected.
    pub connect_us: u64,
    /// First byte to the end of the handshake.
    pub handshake_us: u64,
}

/// Verdict of the policy on a handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// It meets the policy.
    Accepted,
    /// It passes only under a written exception.
    Excepted {
        /// The reason in the deployment file.
        reason: String,
    },
    /// It was refused, by us or by the peer.
    Refused {
        /// A stable word: `unknown-ca`, `revoked`, `no-common-group`.
        reason: String,
        /// The same in a sentence, with names and values.
        detail: String,
    },
}

impl From<NamedGroup> for Code {
    fn from(group: NamedGroup) -> Self {
        Self {
            code: group.0,
            name: group.to_string(),
        }
    }
}

impl From<SignatureScheme> for Code {
    fn from(scheme: SignatureScheme) -> Self {
        Self {
            code: scheme.0,
            name: scheme.to_string(),
        }
    }
}

impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Random {
    /// From 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut random = [0; 32];
        for (byte, pair) in random.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
            *byte = u8::try_from(high? << 4 | low?).ok()?;
        }
        Some(Self(random))
    }
}

impl Serialize for Random {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Random {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a client random has 64 hexadecimal digits"))
    }
}
