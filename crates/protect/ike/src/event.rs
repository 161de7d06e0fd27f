//! Events of an IKE_SA.

use bartizan_esp::{Inbound, Outbound, SequenceNumbers, Suite, Unusable};
use bartizan_wire::ike::{NotifyType, Transform};

use crate::config::Mode;
use crate::credential::Identity;
use crate::error::Failure;
use crate::key_exchange::Secret;
use crate::proposal::Agreed;
use crate::sa::{Ends, IkeSa};
use crate::selector::Selector;

/// An event of an IKE_SA.
#[derive(Debug)]
pub enum Event {
    /// The peer says that it has no other IKE_SA with this end (INITIAL_CONTACT; RFC 7296, section
    /// 2.4): those that it had are no more. Said of a peer that is authenticated, before
    /// [`Self::Established`].
    InitialContact,
    /// Both ends are authenticated.
    Established {
        /// Identity of the peer.
        peer: Identity,
        /// Agreed algorithms.
        agreed: Agreed,
        /// Signature algorithms with which this end and the peer have authenticated themselves, as
        /// AlgorithmIdentifiers in DER. An IKE_SA that replaces another has its.
        proofs: [Vec<u8>; 2],
        /// The peer's certificates, in DER, as it has sent them: its own first. None where this
        /// IKE_SA replaces another.
        certificates: Vec<Vec<u8>>,
    },
    /// A CHILD_SA was made.
    Child(Box<Child>),
    /// The ends are authenticated and agree on no CHILD_SA.
    ChildRefused {
        /// Its place in the configuration.
        place: usize,
        /// End that requested it.
        requester: Requester,
        /// Notify message type of the refusing end.
        kind: NotifyType,
    },
    /// A CHILD_SA was deleted, in both directions, by either end.
    ChildDeleted {
        /// The SPI by which this end received.
        inbound: u32,
    },
    /// An SA was not replaced: the peer refuses. It is tried again unless the peer says that it never will.
    NotReplaced {
        /// The SPI by which this end receives in the CHILD_SA; none where it is the IKE_SA.
        inbound: Option<u32>,
        /// Notify message type of the peer.
        kind: NotifyType,
    },
    /// An IKE_SA that replaces this one, with its CHILD_SAs. From now on its datagrams are to be
    /// passed to it, by its SPIs. If both ends have replaced this one at once, there are two such
    /// events: one IKE_SA has the CHILD_SAs, the other ends by itself.
    Rekeyed(Box<IkeSa>),
    /// The peer is behind a translator that has another mapping now: IKE and ESP go there.
    Moved(Ends),
    /// The IKE_SA has ended, and its CHILD_SAs with it, unless another has them now
    /// ([`Self::Rekeyed`]). Nothing follows.
    Closed(Failure),
}

/// End that requested an SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Requester {
    /// This one: the peer has the keys already, so that packets may be sent.
    ThisEnd,
    /// The peer: it may not have the keys yet.
    Peer,
}

/// A CHILD_SA: the keys of both directions, and the traffic that they protect. Its `Debug` prints no key.
#[derive(Clone)]
pub struct Child {
    /// Its place in the configuration.
    pub place: usize,
    /// Agreed transforms: one of each type, with the key exchanges of the CHILD_SA if it has its
    /// own.
    pub transforms: Vec<Transform>,
    /// Algorithms of both directions.
    pub suite: Suite,
    /// Kind of sequence numbers.
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
    /// True if a NAT is between the ends, so that ESP is carried in UDP (RFC 3948).
    pub in_udp: bool,
    /// End that requested it.
    pub requester: Requester,
    /// The CHILD_SA that it replaces, by the SPI by which this end receives. That one still
    /// receives, and sends until this one may (see [`IkeSa::sending`]).
    pub replaces: Option<u32>,
}

impl Child {
    /// The SA by which this end sends.
    ///
    /// # Errors
    /// The cryptographic library refuses the keys.
    pub fn sender(&self) -> Result<Outbound, Unusable> {
        Outbound::new(self.outbound.0, self.suite, &self.outbound.1, self.numbers)
    }

    /// The SA by which it receives, with a replay window of so many packets.
    ///
    /// # Errors
    /// There is no such window, or the cryptographic library refuses the keys.
    pub fn receiver(&self, window: u16) -> Result<Inbound, Unusable> {
        Inbound::new(self.inbound.0, self.suite, &self.inbound.1, self.numbers, window)
    }
}

impl std::fmt::Debug for Child {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Child")
            .field("place", &self.place)
            .field("transforms", &self.transforms)
            .field("suite", &self.suite)
            .field("numbers", &self.numbers)
            .field("mode", &self.mode)
            .field("inbound", &format_args!("{:#010x}", self.inbound.0))
            .field("outbound", &format_args!("{:#010x}", self.outbound.0))
            .field("local", &self.local)
            .field("remote", &self.remote)
            .field("in_udp", &self.in_udp)
            .field("requester", &self.requester)
            .field("replaces", &self.replaces.map(|spi| format!("{spi:#010x}")))
            .finish_non_exhaustive()
    }
}
