//! Where an observer puts what it has seen.

use crate::Connection;
use crate::datagrams::Datagrams;
use crate::esp::EspSa;
use crate::ike::IkeSa;
use crate::sctp::{Association, Event};

/// Takes what an [`Observer`](crate::Observer) gives. What an implementation leaves out is passed over.
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

    /// All there is of a protocol over UDP between two ends.
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
