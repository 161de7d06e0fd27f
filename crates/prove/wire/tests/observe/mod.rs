//! A capture, observed whole.

use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::{Association, Event};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink, Totals};

/// All an observer gave.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) connections: Vec<Connection>,
    pub(crate) associations: Vec<Association>,
    pub(crate) events: Vec<(u64, Event)>,
    pub(crate) ike: Vec<IkeSa>,
    pub(crate) esp: Vec<EspSa>,
    pub(crate) datagrams: Vec<Datagrams>,
    pub(crate) totals: Totals,
}

impl Sink for Seen {
    fn connection(&mut self, connection: Connection) {
        self.connections.push(connection);
    }

    fn association(&mut self, association: Association) {
        self.associations.push(association);
    }

    fn in_association(&mut self, number: u64, event: Event) {
        self.events.push((number, event));
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ike.push(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.esp.push(sa);
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.datagrams.push(datagrams);
    }
}

#[allow(dead_code, reason = "not all tests that share this need it")]
pub(crate) fn file(bytes: &[u8]) -> Seen {
    with(Limits::default(), bytes)
}

pub(crate) fn with(limits: Limits, bytes: &[u8]) -> Seen {
    let mut reader = CaptureReader::new();
    reader.push(bytes);
    let mut observer = Observer::new(limits);
    let mut seen = Seen::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.observe(&packet, &mut seen);
    }
    observer.finish_into(&mut seen);
    seen.totals = observer.totals().clone();
    seen
}
