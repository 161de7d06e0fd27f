//! The daemon's own state of an IKE_SA and a CHILD_SA, in addition to the engine's.

use std::sync::Arc;
use std::time::Instant;

use bartizan_esp::SequenceNumbers;
use bartizan_ike::{Agreed, Child, Ends, Mode, SaId, Selector};
use bartizan_wire::ike::Transform;

use crate::connection::Protected;

/// Stands for the connection of an IKE_SA whose peer is not authenticated, as charon names it.
pub(crate) const UNNAMED: &str = "(unnamed)";

/// An IKE_SA that has not ended.
#[derive(Debug)]
pub(crate) struct Sa {
    /// By which commands and events name it; each has a greater one than those before.
    pub(crate) number: u32,
    /// The connection between its addresses. A forged sender is enough for that, so decisions about
    /// a connection use [`Self::is_of`].
    pub(crate) addressed: String,
    /// Membership in that connection: this end began the IKE_SA, or its peer is authenticated.
    pub(crate) belongs: bool,
    /// The CHILD_SAs that it was configured with, by place; its connection may have been loaded anew since.
    pub(crate) children: Vec<Arc<Protected>>,
    /// The place of the one that this end asks for in IKE_AUTH.
    pub(crate) first: usize,
    pub(crate) initiator: bool,
    pub(crate) ends: Ends,
    /// SPIs of initiator and responder. The latter is zero until it is known.
    pub(crate) spis: (u64, u64),
    pub(crate) agreed: Option<Agreed>,
    pub(crate) established: Option<Instant>,
    pub(crate) stage: Stage,
    /// The IKE_SA whose place it takes by a rekey.
    pub(crate) replaces: Option<SaId>,
    /// The one that is to end once this one has its CHILD_SA: both ends have authenticated each other anew.
    pub(crate) succeeds: Option<SaId>,
    /// Time at which this end last began another that is to succeed it.
    pub(crate) attempted: Option<Instant>,
    /// Requests that were sent again, of the one on its way.
    pub(crate) sent_again: u32,
    /// The certificates by which the peer has proven who it is, in DER, its own first.
    pub(crate) proven: Arc<[Vec<u8>]>,
}

/// Stage of an SA's life, as far as the engine does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Current,
    /// Another has its CHILD_SAs now.
    Replaced,
    /// This end ends it.
    Ending,
}

impl Sa {
    /// In charon's words.
    pub(crate) fn state(&self) -> &'static str {
        match (self.stage, self.established) {
            (Stage::Replaced, _) => "REKEYED",
            (Stage::Ending, _) => "DELETING",
            (Stage::Current, None) => "CONNECTING",
            (Stage::Current, Some(_)) => "ESTABLISHED",
        }
    }

    /// The one test of membership in a connection.
    pub(crate) fn is_of(&self, connection: &str) -> bool {
        self.belongs && self.addressed == connection
    }

    /// The name of its connection.
    pub(crate) fn connection(&self) -> &str {
        if self.belongs { &self.addressed } else { UNNAMED }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.stage == Stage::Current && self.established.is_some()
    }
}

bartizan_registry::made! {
    /// A CHILD_SA that is in the kernel.
    #[derive(Debug, Clone)]
    pub(crate) struct ChildSa,
    /// Without its keys.
    pub(crate) new(
        number: u32, (connection, of): (&str, Arc<Protected>), (child, remote_port): (&Child, u16), installed: Instant,
    ) {
        pub(crate) number: u32,
        pub(crate) connection: String = connection.to_owned(),
        /// The configured traffic to protect.
        pub(crate) of: Arc<Protected>,
        pub(crate) transforms: Vec<Transform> = child.transforms.clone(),
        pub(crate) numbers: SequenceNumbers = child.numbers,
        pub(crate) mode: Mode = child.mode,
        /// SPIs by which this end receives and sends.
        pub(crate) inbound: u32 = child.inbound.0,
        pub(crate) outbound: u32 = child.outbound.0,
        pub(crate) local: Vec<Selector> = child.local.clone(),
        pub(crate) remote: Vec<Selector> = child.remote.clone(),
        pub(crate) in_udp: bool = child.in_udp,
        /// UDP port of the peer that it was installed with.
        pub(crate) remote_port: u16,
        /// Earliest time at which this end replaces it for another port of the peer.
        pub(crate) follow_at: Option<Instant> = None,
        /// Replacements for another port, its own and those before it, and when the first was.
        pub(crate) moves: Option<(Instant, u8)> = None,
        pub(crate) installed: Instant,
        /// Another has taken its place.
        pub(crate) superseded: bool = false,
        /// This end has asked for its deletion.
        pub(crate) ending: bool = false,
        /// Since when this end replaces it for what it has carried.
        pub(crate) full: Option<Instant> = None,
        /// An SA of it is gone from the kernel; time of the latest attempt to replace it.
        pub(crate) lost: Option<Instant> = None,
    }
}
