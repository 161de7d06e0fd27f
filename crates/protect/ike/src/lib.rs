//! IKEv2 (RFC 7296) without sockets: datagrams and a time in; datagrams, timers and events out.
//!
//! An [`IkeSa`] is one end of an IKE_SA. [`IkeSa::initiate`] begins one; an [`Acceptor`] answers first requests, with a cookie while many
//! are half open, and gives an [`IkeSa`] for each that it admits. Whoever owns one passes datagrams to [`IkeSa::receive`], calls
//! [`IkeSa::handle_timeout`] when [`IkeSa::timeout`] has come, sends what [`IkeSa::poll_transmit`] gives and learns by
//! [`IkeSa::poll_event`] what has happened: at last the keys of a CHILD_SA, for `esp` or a kernel.
//!
//! Key exchanges are those of IKE_SA_INIT and, as additional ones (RFC 9370), of IKE_INTERMEDIATE (RFC 9242); ends prove who they are by
//! digital signatures (RFC 7427). Payloads are those of `bartizan_wire::ike`, where reader and encoder of each stand next to each other and
//! serve the inspector too.
//!
//! Not here yet: rekeys (a CREATE_CHILD_SA is answered with NO_ADDITIONAL_SAS, as section 1.3 allows), pre-shared keys (RFC 8784, RFC
//! 9867), childless IKE_SAs, revocation lists.
#![forbid(unsafe_code)]

mod acceptor;
mod assembly;
mod config;
mod credential;
mod error;
mod event;
mod key_exchange;
mod proposal;
mod protection;
mod random;
mod sa;
mod schedule;
mod selector;
mod trust;

pub use acceptor::{Acceptor, Admission};
pub use config::{ChildConfig, Config, Mode, Timing};
pub use credential::{Identity, SigningKey};
pub use error::Failure;
pub use event::{Child, Event};
pub use key_exchange::{ExchangeFailed, KeyExchange, Pending, Secret, key_exchange};
pub use proposal::Agreed;
pub use random::Random;
pub use sa::{Ends, IkeSa, Port, Transmit};
pub use schedule::Prf;
pub use selector::Selector;
pub use trust::{Anchors, Claim, Trust};
