//! What an end is configured with.

use std::sync::Arc;
use std::time::Duration;

use bartizan_wire::ike::Transform;

use crate::credential::{Identity, SigningKey};
use crate::selector::Selector;
use crate::trust::Trust;

/// What one end proposes, accepts and is.
pub struct Config {
    /// Proposals of the IKE_SA, the best first: transforms of ENCR, PRF, KE and ADDKE, of INTEG where the cipher is no AEAD.
    pub proposals: Vec<Vec<Transform>>,
    /// The CHILD_SA that is made with it.
    pub child: ChildConfig,
    /// Who this end is.
    pub identity: Identity,
    /// Who the peer must be.
    pub peer: Identity,
    /// This end's certificate, and those that lead to an authority, in DER.
    pub certificates: Vec<Vec<u8>>,
    /// The key of the first.
    pub key: SigningKey,
    /// Whom to believe.
    pub trust: Arc<dyn Trust>,
    /// How long to wait for what.
    pub timing: Timing,
    /// The longest datagram of IKE, in bytes behind its UDP header; longer messages are sent in fragments where the peer
    /// takes them. Below 128 nothing fits.
    pub longest: usize,
}

/// What a CHILD_SA protects, and how.
pub struct ChildConfig {
    /// Proposals of ESP, the best first: transforms of ENCR and SN, of INTEG where the cipher is no AEAD.
    pub proposals: Vec<Vec<Transform>>,
    /// Tunnel or transport.
    pub mode: Mode,
    /// Traffic of this end.
    pub local: Vec<Selector>,
    /// Traffic of the peer.
    pub remote: Vec<Selector>,
}

/// How ESP protects packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Whole IP packets between gateways.
    Tunnel,
    /// The payload of packets between two hosts.
    Transport,
}

/// How long an end waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Until the first retransmission of a request; each further one waits twice as long.
    pub retransmit: Duration,
    /// Retransmissions before a peer counts as unreachable.
    pub attempts: u32,
    /// How long a responder keeps an IKE_SA whose peer has not authenticated itself.
    pub half_open: Duration,
    /// Silence after which the peer is asked whether it is alive; none asks never.
    pub liveness: Option<Duration>,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            retransmit: Duration::from_millis(500),
            attempts: 7,
            half_open: Duration::from_secs(30),
            liveness: Some(Duration::from_secs(30)),
        }
    }
}
