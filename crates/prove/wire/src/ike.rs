//! IKEv2 (RFC 7296), and of IKEv1 what phase 1 negotiates: messages, and what the exchanges of an
//! IKE_SA show although most of them are encrypted.
//!
//! A message is read by [`Header::read`] and [`Message::read`]; a [`Session`] turns messages into one [`IkeSa`]. Key
//! exchange methods are those of transform type 4 and, as additional key exchanges (RFC 9370), of types 6 to 12.

mod code;
mod exchange;
mod exchanges;
mod header;
mod named;
mod notify;
mod opened;
mod payload;
mod proposal;
mod sa;
mod session;
mod stream;
mod v1;

pub use code::{ExchangeType, KeyExchangeMethod, PayloadType};
pub use exchange::{Exchange, Half, Rekey};
pub use exchanges::Exchanges;
pub use header::{Flags, Header};
pub use notify::NotifyType;
pub use opened::{Made, Opened, Proof};
pub use payload::{Body, Message, Payload, TrafficSelector};
pub use proposal::{Proposal, Transform};
pub use sa::{
    Fault, FirstOffer, IkeSa, Kept, KeyExchangeData, Negotiation, Notified, Origin, Party, PartyTraffic, Retry,
};
pub use session::{Arrival, Session};
pub(crate) use stream::{STREAM_PREFIX, Stream};
pub use v1::{Mode, Phase1};

/// Reason for which a message could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

#[cfg(test)]
mod tests;
