//! Reasons for which an IKE_SA ends, or is not made.

use bartizan_wire::ike::{KeyExchangeMethod, Malformed, NotifyType};

/// Reason for which an IKE_SA was closed. Each names the party at fault as far as this end can
/// know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Every retransmission of a request went unanswered (RFC 7296, section 2.4).
    #[error("the peer does not answer")]
    Unanswered,
    /// An exchange that the peer began did not go on in time.
    #[error("the peer did not complete the exchange that it began")]
    Abandoned,
    /// The peer refuses.
    #[error("the peer refuses: {0}")]
    Refused(NotifyType),
    /// Responses to IKE_SA_INIT, which are unauthenticated, could not be used until the last
    /// retransmission; the reason of the latest.
    #[error("no usable answer to IKE_SA_INIT; the latest, which is not authenticated: {0}")]
    Unauthenticated(Box<Failure>),
    /// No proposal of the peer is acceptable here, or it chose what was not offered.
    #[error("no proposal is acceptable to both ends")]
    NoProposal,
    /// The peer's key exchange data cannot be used.
    #[error("the peer's data of the key exchange {0} cannot be used")]
    KeyExchange(KeyExchangeMethod),
    /// The peer lacks an extension that is needed.
    #[error("the peer does not support {0}")]
    Unsupported(&'static str),
    /// The peer has not proven who it is.
    #[error("the peer is not authenticated: {0}")]
    Authentication(&'static str),
    /// A message that was proven cannot be read.
    #[error("a message of the peer cannot be read: {0}")]
    Malformed(#[from] Malformed),
    /// A message that was proven lacks a payload, or has one too many.
    #[error("a message of the peer is incomplete: {0}")]
    Incomplete(&'static str),
    /// An authenticated response has a critical payload that is not understood (RFC 7296, section
    /// 2.5).
    #[error("the peer answers with a critical payload of the unknown type {0}")]
    Critical(u8),
    /// The peer deleted the IKE_SA.
    #[error("the peer has deleted the IKE_SA")]
    Deleted,
    /// This end has dropped it without a message to the peer, which does not know it any more, or has too many.
    #[error("dropped by this end")]
    Dropped,
    /// Another IKE_SA has taken its place, and its CHILD_SAs.
    #[error("replaced by another IKE_SA")]
    Replaced,
    /// Its lifetime is over, and it was not replaced.
    #[error("its lifetime is over")]
    Expired,
    /// The peer was not authenticated anew in time.
    #[error("the peer was not authenticated anew in time")]
    Outdated,
    /// This end closed it.
    #[error("closed by this end")]
    Closed,
    /// The cryptographic library failed.
    #[error("the cryptographic library failed")]
    Cryptography,
}
