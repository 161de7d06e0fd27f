//! IKEv2 (RFC 7296) without sockets: datagrams and a time in; datagrams, timers and events out.
//!
//! An [`IkeSa`] is one end of an IKE_SA. [`IkeSa::initiate`] begins one; an [`Acceptor`] answers
//! first requests, with a cookie while many are half open, and gives an [`IkeSa`] for each that it
//! admits. An [`Endpoint`] has all IKE_SAs of a node. The owner passes datagrams to
//! [`IkeSa::receive`], calls [`IkeSa::handle_timeout`] when [`IkeSa::timeout`] has come, learns by
//! [`IkeSa::poll_event`] what has happened (first of all the keys of a CHILD_SA, for `esp` or a
//! kernel), and then sends what [`IkeSa::poll_transmit`] gives. In that order: the peer sends by a
//! CHILD_SA as soon as it has the answer that makes it.
//!
//! Key exchanges are those of IKE_SA_INIT and, as additional ones (RFC 9370), of IKE_INTERMEDIATE
//! (RFC 9242). Ends prove who they are by digital signatures (RFC 7427), ML-DSA among them, each
//! over IKE_SA_INIT of both where both can do that (draft-ietf-ipsecme-ikev2-downgrade-prevention),
//! and may share a post-quantum key as well (RFC 8784, RFC 9867). Payloads are those of
//! `bartizan_wire::ike`, where reader and encoder of each stand next to each other and serve the
//! inspector too.
//!
//! An IKE_SA has a CHILD_SA for each kind of traffic that it is configured with: one comes with
//! IKE_AUTH, unless that is to have none (RFC 6023), others by CREATE_CHILD_SA.
//!
//! An end replaces CHILD_SAs and the IKE_SA when their lifetimes say so or its owner does, and lets
//! the peer do so (CREATE_CHILD_SA, with the additional key exchanges of IKE_FOLLOWUP_KE); where
//! both replace one SA at once, both end with the same one. An IKE_SA that takes the place of
//! another is another [`IkeSa`], which [`Event::Rekeyed`] gives.
//!
//! Not here yet: pre-shared keys in CREATE_CHILD_SA (RFC 9867, section 3.2).
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as bartizan_ike;

mod acceptor;
mod allowance;
mod assembly;
mod config;
mod credential;
mod endpoint;
mod error;
mod event;
mod key_exchange;
#[cfg(test)]
#[path = "../tests/engine/link/mod.rs"]
#[allow(dead_code)]
mod link;
mod proposal;
mod protection;
mod random;
mod sa;
mod schedule;
mod selector;
mod trust;

pub use acceptor::{Acceptor, Admission};
pub use allowance::{Allowance, Pace};
pub use config::{ChildConfig, Config, Lifetime, Mode, Ppk, Timing};
pub use credential::{Identity, SigningKey};
pub use endpoint::{Endpoint, HalfOpen, Report, SaId};
pub use error::Failure;
pub use event::{Child, Event, Requester};
pub use key_exchange::{ExchangeFailed, KeyExchange, Pending, Secret, key_exchange};
pub use proposal::Agreed;
pub use random::Random;
pub use sa::{Ends, IkeSa, Port, Transmit};
pub use schedule::Prf;
pub use selector::{Order, Selector};
pub use trust::{Anchors, Claim, Revocation, RevocationList, Trust};
