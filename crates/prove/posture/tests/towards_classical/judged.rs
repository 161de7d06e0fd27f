//! Verdicts on a capture, by subject.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use bartizan_posture::{Answer, Evidence, Ipsec, Ledgers, Links, Network, Part, Posture, Reply, Verdict};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};

use super::frame::Ends;

/// Subject of a judgement: a connection by its ends, IKE and ESP by their hosts and SPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Connection(SocketAddr, SocketAddr, u64),
    Ike(IpAddr, IpAddr, u64),
    Esp(IpAddr, IpAddr, u32),
}

impl Subject {
    /// Returns true if any of these packets is of its connection, or passed between its hosts.
    pub(crate) fn is_touched(&self, packets: &BTreeSet<Ends>) -> bool {
        let hosts = |one: IpAddr, other: IpAddr| {
            let mut packets = packets
                .iter()
                .map(|(source, destination)| (source.ip(), destination.ip()));
            packets.any(|hosts| hosts == (one, other) || hosts == (other, one))
        };
        match *self {
            Self::Connection(client, server, _) => {
                packets.contains(&(client, server)) || packets.contains(&(server, client))
            }
            Self::Ike(one, other, _) | Self::Esp(one, other, _) => hosts(one, other),
        }
    }
}

/// Everything judged in a capture.
pub(crate) struct Judged {
    pub(crate) postures: BTreeMap<Subject, Posture>,
    pub(crate) network: Network,
}

#[derive(Default)]
struct Judging {
    postures: BTreeMap<Subject, Posture>,
    ipsec: Ipsec,
    links: Links,
}

impl Sink for Judging {
    fn connection(&mut self, connection: Connection) {
        let ledgers = Ledgers::default();
        let posture = Evidence::new(&connection, &ledgers).posture();
        self.links.add(&Part::connection(&connection, &posture));
        // The same ends may begin anew.
        let subject = (0..)
            .map(|nth| Subject::Connection(connection.client, connection.server, nth))
            .find(|subject| !self.postures.contains_key(subject));
        self.postures.insert(subject.unwrap(), posture);
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

/// Reads a capture as far as it goes.
pub(crate) fn judge(file: &[u8]) -> Judged {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut observer = Observer::new(Limits::default());
    let mut judging = Judging::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.observe(&packet, &mut judging);
    }
    observer.finish_into(&mut judging);
    let (ike, esp) = judging.ipsec.judge(&Ledgers::default());
    for one in ike {
        judging.links.add(&Part::ike(&one));
        let subject = Subject::Ike(one.sa.initiator.ip(), one.sa.responder.ip(), one.sa.initiator_spi);
        judging.postures.insert(subject, one.posture);
    }
    for one in esp {
        judging.links.add(&Part::esp(&one));
        let subject = Subject::Esp(one.sa.source, one.sa.destination, one.sa.spi);
        judging.postures.insert(subject, one.posture);
    }
    Judged {
        postures: judging.postures,
        network: judging.links.finish(None),
    }
}

impl Judged {
    pub(crate) fn safe(&self) -> usize {
        self.postures.values().filter(|posture| is_safe(posture)).count()
    }

    /// Nothing is safe here that was not there, and no link is better than what it is made of.
    pub(crate) fn assert_no_better(&self, before: &Self, what: &str) {
        for (subject, is) in self.postures.iter().filter(|(_, is)| is_safe(is)) {
            let was = before.postures.get(subject);
            let because = is.confidentiality.because();
            assert!(was.is_some_and(is_safe), "{what}: {subject:?} rose: {because}");
        }
        let links = self.network.links.iter();
        for link in links.filter(|link| link.confidentiality.verdict() == Verdict::QuantumSafe) {
            let mut phases = link.phases.iter();
            let safe = phases.all(|phase| phase.confidentiality == Verdict::QuantumSafe);
            assert!(safe && link.parts > 0, "{what}: {:?}", link.ends);
        }
    }
}

pub(crate) fn is_safe(posture: &Posture) -> bool {
    posture.confidentiality.verdict() == Verdict::QuantumSafe
}

/// The six questions.
pub(crate) fn answers(posture: &Posture) -> [Answer; 7] {
    [
        &posture.offered,
        &posture.preferred,
        &posture.negotiated,
        &posture.server_authenticated,
        &posture.client_authenticated,
        &posture.stayed,
        &posture.clear,
    ]
    .map(Reply::answer)
}
