//! Why a handshake was refused, in words that stay the same.

use std::fmt;

use bartizan_deployment::NodeName;
use bartizan_ledger as ledger;

/// A handshake that did not come to be.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}: {detail}")]
pub struct Refused {
    /// The reason, for counting.
    pub reason: Reason,
    /// The same in a sentence, with names and values.
    pub detail: String,
    /// Advice for the operator.
    pub hint: String,
    /// The node at the other end, where it is known.
    pub peer: Option<NodeName>,
    /// Proof of the peer's identity.
    pub identity: PeerIdentity,
    /// Key that identifies this handshake in a capture.
    pub key: Option<ledger::Key>,
    /// Bytes of TLS records until it ended; in QUIC of the messages themselves.
    pub bytes: ledger::Bytes,
    /// The negotiated parameters, where the handshake came so far.
    pub negotiated: Option<ledger::Negotiated>,
    /// The chain the peer sent, leaf first.
    pub chain: Vec<ledger::Certificate>,
}

/// Proof that a peer holds the key of its certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeerIdentity {
    /// The handshake was complete: it was refused for what was negotiated.
    Proven,
    /// Any party could have caused the refusal, also with another's certificate.
    Unproven,
}

/// Why a handshake was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The peer sent no certificate.
    NoCertificate,
    /// The peer's chain does not lead to a root trusted here.
    UnknownCa,
    /// A certificate of the chain has ended.
    Expired,
    /// A certificate of the chain has not begun.
    NotYetValid,
    /// A certificate of the chain is on a revocation list.
    Revoked,
    /// The policy requires a current revocation list and there is none.
    RevocationUnknown,
    /// The certificate carries no node's names, or another's than the one asked for.
    WrongName,
    /// No key exchange group in common.
    NoCommonGroup,
    /// No signature scheme in common.
    NoCommonSignature,
    /// The peer does not speak TLS 1.3.
    NoCommonVersion,
    /// No cipher suite in common.
    NoCommonCipher,
    /// A signature does not verify: CertificateVerify, certificate or Finished.
    BadSignature,
    /// A certificate that cannot be read or must not be used so.
    BadCertificate,
    /// The negotiated parameters are not those that the policy of this peer asks for.
    Policy,
    /// The peer refused us; the detail names its alert.
    PeerRefused,
    /// The peer broke the protocol.
    Malformed,
    /// The peer closed the connection before the handshake ended.
    Closed,
    /// The handshake took longer than it may.
    TimedOut,
    /// The peer could not be reached.
    Unreachable,
    /// A fault of ours.
    Ours,
}

impl Reason {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::NoCertificate,
        Self::UnknownCa,
        Self::Expired,
        Self::NotYetValid,
        Self::Revoked,
        Self::RevocationUnknown,
        Self::WrongName,
        Self::NoCommonGroup,
        Self::NoCommonSignature,
        Self::NoCommonVersion,
        Self::NoCommonCipher,
        Self::BadSignature,
        Self::BadCertificate,
        Self::Policy,
        Self::PeerRefused,
        Self::Malformed,
        Self::Closed,
        Self::TimedOut,
        Self::Unreachable,
        Self::Ours,
    ];

    /// A word for metrics and ledgers. It never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoCertificate => "no-certificate",
            Self::UnknownCa => "unknown-ca",
            Self::Expired => "expired",
            Self::NotYetValid => "not-yet-valid",
            Self::Revoked => "revoked",
            Self::RevocationUnknown => "revocation-unknown",
            Self::WrongName => "wrong-name",
            Self::NoCommonGroup => "no-common-group",
            Self::NoCommonSignature => "no-common-signature",
            Self::NoCommonVersion => "no-common-version",
            Self::NoCommonCipher => "no-common-cipher",
            Self::BadSignature => "bad-signature",
            Self::BadCertificate => "bad-certificate",
            Self::Policy => "policy",
            Self::PeerRefused => "peer-refused",
            Self::Malformed => "malformed",
            Self::Closed => "closed",
            Self::TimedOut => "timed-out",
            Self::Unreachable => "unreachable",
            Self::Ours => "ours",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
