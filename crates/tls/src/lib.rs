//! The one place where the provider, the groups, the policy and the certificate checks become rustls configurations.
//!
//! An [`Endpoint`] holds what the handshakes of one node share. Each connection gets a configuration of its own from
//! [`Endpoint::connect`] or [`Endpoint::accept`] with a [`Watch`] beside it, so that what was negotiated, the chain the peer
//! sent and the reason of a refusal are observed per connection and never guessed from what was configured.
#![forbid(unsafe_code)]

mod again;
mod certificate;
mod chain;
mod client;
mod credentials;
mod endpoint;
mod error;
mod ground;
mod group;
mod handshake;
mod hello;
mod identity;
mod knock;
mod outsider;
mod peer;
mod proven;
mod refusal;
mod scheme;
mod server;
mod session;
mod terms;
mod verify;
mod watch;

pub use again::{Refusal, SessionFacts};
pub use certificate::certificate_of;
pub use credentials::{Credentials, Flaw, Weight};
pub use endpoint::{Accepting, Connecting, Endpoint, module};
pub use error::Error;
pub use knock::{Answer, knock};
pub use outsider::outsider;
pub use peer::{Peer, peers};
pub use refusal::{PeerIdentity, Reason, Refused};
pub use watch::{Established, Watch};
