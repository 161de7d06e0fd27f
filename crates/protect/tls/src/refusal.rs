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

bartizan_registry::named! {
    /// Why a handshake was refused.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Reason, as_str {
        /// The peer sent no certificate.
        NoCertificate = "no-certificate",
        /// The peer's chain does not lead to a root trusted here.
        UnknownCa = "unknown-ca",
        /// A certificate of the chain has ended.
        Expired = "expired",
        /// A certificate of the chain has not begun.
        NotYetValid = "not-yet-valid",
        /// A certificate of the chain is on a revocation list.
        Revoked = "revoked",
        /// The policy requires a current revocation list and there is none.
        RevocationUnknown = "revocation-unknown",
        /// The certificate carries no node's names, or another's than the one asked for.
        WrongName = "wrong-name",
        /// No key exchange group in common.
        NoCommonGroup = "no-common-group",
        /// No signature scheme in common.
        NoCommonSignature = "no-common-signature",
        /// The peer does not speak TLS 1.3.
        NoCommonVersion = "no-common-version",
        /// No cipher suite in common.
        NoCommonCipher = "no-common-cipher",
        /// A signature does not verify: CertificateVerify, certificate or Finished.
        BadSignature = "bad-signature",
        /// A certificate that cannot be read or must not be used so.
        BadCertificate = "bad-certificate",
        /// The negotiated parameters are not those that the policy of this peer asks for.
        Policy = "policy",
        /// The peer refused us; the detail names its alert.
        PeerRefused = "peer-refused",
        /// The peer broke the protocol.
        Malformed = "malformed",
        /// The peer closed the connection before the handshake ended.
        Closed = "closed",
        /// The handshake took longer than it may.
        TimedOut = "timed-out",
        /// The peer could not be reached.
        Unreachable = "unreachable",
        /// A fault of ours.
        Ours = "ours",
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
