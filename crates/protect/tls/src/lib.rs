//! The one place where the provider, the groups, the policy and the certificate checks become rustls configurations.
//!
//! An [`Endpoint`] holds what the handshakes of one node share. Each connection gets a configuration of its own from
//! [`Endpoint::connect`] or [`Endpoint::accept`] with a [`Watch`] next to it, so that what was negotiated, the chain the peer
//! sent and the reason of a refusal are observed per connection and never guessed from what was configured.
#![forbid(unsafe_code)]

mod admission;
mod again;
mod cause;
mod certificate;
mod chain;
mod client;
mod credentials;
mod endpoint;
mod enrolment;
mod error;
mod group;
mod handshake;
mod hello;
mod identity;
mod peer;
mod probe;
mod proven;
mod quic;
mod refusal;
mod scheme;
mod server;
mod session;
mod stack;
mod terms;
mod unlisted;
mod verify;
mod watch;

pub use admission::AdmissionServer;
pub use again::{Refusal, SessionFacts};
pub use certificate::certificate_of;
pub use credentials::{Credentials, Flaw, OwnCertificate, Weight};
pub use endpoint::{Accepting, Connecting, Endpoint, module};
pub use enrolment::enrolment_server;
pub use error::Error;
pub use identity::issue_options;
pub use peer::{Peer, peers};
pub use probe::{Answer, Asking, Shown, probe};
pub use quic::{AcceptingQuic, ConnectingQuic, QuicHandshake, listening_quic};
pub use refusal::{PeerIdentity, Reason, Refused};
pub use unlisted::{api_server, collector, unlisted_server};
pub use watch::{Established, Watch};
