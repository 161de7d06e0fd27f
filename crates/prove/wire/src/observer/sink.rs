//! Receivers of an observer's results.

use super::FlowKind;
use crate::datagrams::Datagrams;
use crate::end::Address;
use crate::esp::EspSa;
use crate::ike::IkeSa;
use crate::sctp::{Association, Event};
use crate::{Connection, Moment};

/// A packet that was not read, because what it belongs to has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Omitted {
    /// Kind of its flow.
    pub flow: FlowKind,
    /// Its sender.
    pub source: Address,
    /// Its receiver.
    pub destination: Address,
    /// The packet.
    pub at: Moment,
}

/// Receives the results of an [`Observer`](crate::Observer). Methods that an implementation leaves
/// out ignore theirs.
pub trait Sink {
    /// A TCP connection has ended.
    fn connection(&mut self, connection: Connection);

    /// An SCTP association has ended.
    fn association(&mut self, association: Association) {
        let _ = association;
    }

    /// Something happened in the association with this number.
    fn in_association(&mut self, number: u64, event: Event) {
        let _ = (number, event);
    }

    /// All there is of an IKE_SA.
    fn ike_sa(&mut self, sa: IkeSa) {
        let _ = sa;
    }

    /// All there is of an ESP security association.
    fn esp_sa(&mut self, sa: EspSa) {
        let _ = sa;
    }

    /// A packet was not read, because there was no room for what it belongs to.
    fn omitted(&mut self, omitted: Omitted) {
        let _ = omitted;
    }

    /// All there is of a protocol without connections between two ends.
    fn datagrams(&mut self, datagrams: Datagrams) {
        let _ = datagrams;
    }
}

/// For callers that want TCP connections and nothing else.
pub(super) struct TcpAlone<F>(pub(super) F);

impl<F: FnMut(Connection)> Sink for TcpAlone<F> {
    fn connection(&mut self, connection: Connection) {
        (self.0)(connection);
    }
}
