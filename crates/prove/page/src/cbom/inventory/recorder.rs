//! The inventory takes what `inspect` judges.

use bartizan_inspect::Recorder;
use bartizan_posture::{Evidence, JudgedEspSa, JudgedIkeSa, Ledgers, Posture};
use bartizan_wire::Connection;
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::sctp::Association;

use super::Inventory;

impl Recorder for Inventory {
    fn connection(&mut self, connection: &Connection, posture: &Posture, evidence: &Evidence<'_>) {
        self.connection(connection, posture, evidence.recorded_chains());
    }

    fn association(&mut self, association: &Association, posture: &Posture) {
        self.association(association, posture);
    }

    fn datagrams(&mut self, datagrams: &Datagrams, posture: &Posture) {
        self.datagrams(datagrams, posture);
    }

    fn ike(&mut self, judged: &JudgedIkeSa, ledgers: &Ledgers) {
        self.ike(judged, ledgers.of_ike(&judged.sa));
    }

    fn esp(&mut self, judged: &JudgedEspSa, ledgers: &Ledgers) {
        self.esp(judged, ledgers.of_esp(&judged.sa));
    }
}
