//! What an IKE_SA reports.

use bartizan_esp::{Inbound, Outbound, SequenceNumbers, Suite, Unusable};
use bartizan_wire::ike::NotifyType;

use crate::config::Mode;
use crate::credential::Identity;
use crate::error::Failure;
use crate::key_exchange::Secret;
use crate::proposal::Agreed;
use crate::selector::Selector;

/// What happened to an IKE_SA.
#[derive(Debug)]
pub enum Event {
    /// Both ends are authenticated.
    Established {
        /// Who the peer is.
        peer: Identity,
        /// By which algorithms.
        agreed: Agreed,
    },
    /// A CHILD_SA was made.
    Child(Box<Child>),
    /// The ends are authenticated and agree on no CHILD_SA.
    ChildRefused(NotifyType),
    /// The peer has deleted the CHILD_SA that it receives by this SPI, and its counterpart is deleted too.
    ChildDeleted {
        /// The SPI by which this end receives.
        inbound: u32,
    },
    /// The IKE_SA has ended, and its CHILD_SAs with it. Nothing follows.
    Closed(Failure),
}

/// A CHILD_SA: the keys of both directions, and the traffic that they protect. Its `Debug` prints no key.
pub struct Child {
    /// Algorithms of both directions.
    pub suite: Suite,
    /// How packets are counted.
    pub numbers: SequenceNumbers,
    /// Tunnel or transport.
    pub mode: Mode,
    /// SPI and keys by which this end receives.
    pub inbound: (u32, Secret),
    /// SPI and keys by which it sends.
    pub outbound: (u32, Secret),
    /// Traffic of this end.
    pub local: Vec<Selector>,
    /// Traffic of the peer.
    pub remote: Vec<Selector>,
    /// Whether addresses are translated between the ends, so that ESP is carried in UDP (RFC 3948).
    pub in_udp: bool,
}

impl Child {
    /// The SA by which this end sends.
    ///
    /// # Errors
    /// Where the cryptographic library refuses the keys.
    pub fn sender(&self) -> Result<Outbound, Unusable> {
        Outbound::new(self.outbound.0, self.suite, &self.outbound.1, self.numbers)
    }

    /// The SA by which it receives, with a replay window of so many packets.
    ///
    /// # Errors
    /// Where there is no such window, or the cryptographic library refuses the keys.
    pub fn receiver(&self, window: u16) -> Result<Inbound, Unusable> {
        Inbound::new(self.inbound.0, self.suite, &self.inbound.1, self.numbers, window)
    }
}

impl std::fmt::Debug for Child {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Child")
            .field("suite", &self.suite)
            .field("numbers", &self.numbers)
            .field("mode", &self.mode)
            .field("inbound", &format_args!("{:#010x}", self.inbound.0))
            .field("outbound", &format_args!("{:#010x}", self.outbound.0))
            .field("local", &self.local)
            .field("remote", &self.remote)
            .field("in_udp", &self.in_udp)
            .finish_non_exhaustive()
    }
}
