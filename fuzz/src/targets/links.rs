//! The links of IP packets, each packet behind its length: in whatever order and by however many
//! their parts are gathered, they are the same, and with next to no memory none is better.

use bartizan_posture::{
    Evidence, Ipsec, Ledgers, Links, Network, Part, Verdict, association_posture, datagrams_posture,
};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::link::LinkType;
use bartizan_wire::sctp::Association;
use bartizan_wire::{Connection, Limits, Observer, Sink};

use super::packets;

/// All that an observer gave.
#[derive(Default)]
struct Given {
    connections: Vec<Connection>,
    associations: Vec<Association>,
    datagrams: Vec<Datagrams>,
    ipsec: Ipsec,
}

impl Sink for Given {
    fn connection(&mut self, connection: Connection) {
        self.connections.push(connection);
    }

    fn association(&mut self, association: Association) {
        self.associations.push(association);
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.datagrams.push(datagrams);
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut observer = Observer::new(Limits::default());
    let mut given = Given::default();
    packets(bytes, LinkType::RAW, |packet| observer.observe(packet, &mut given));
    observer.finish_into(&mut given);
    let ledgers = Ledgers::default();
    let (ike, esp) = std::mem::take(&mut given.ipsec).judge(&ledgers);
    let of_tcp: Vec<_> = given
        .connections
        .iter()
        .map(|one| Evidence::new(one, &ledgers).posture())
        .collect();
    let of_sctp: Vec<_> = given.associations.iter().map(association_posture).collect();
    let of_udp: Vec<_> = given
        .datagrams
        .iter()
        .map(|one| datagrams_posture(one, &ledgers))
        .collect();
    let tcp = given.connections.iter().zip(&of_tcp);
    let sctp = given.associations.iter().zip(&of_sctp);
    let udp = given.datagrams.iter().zip(&of_udp);
    let parts: Vec<Part<'_>> = (tcp.map(|(one, posture)| Part::connection(one, posture)))
        .chain(sctp.map(|(one, posture)| Part::association(one, posture)))
        .chain(udp.map(|(one, posture)| Part::datagrams(one, posture)))
        .chain(ike.iter().map(Part::ike))
        .chain(esp.iter().map(Part::esp))
        .collect();
    let whole = gathered(Links::default(), parts.iter());
    let turned = gathered(Links::default(), parts.iter().rev());
    assert_eq!(whole.links, turned.links, "the order decides nothing");
    let mut hands = [Links::default(), Links::default()];
    for (place, part) in parts.iter().enumerate() {
        hands[place % 2].add(part);
    }
    let [mut one, other] = hands;
    one.merge(&other);
    assert_eq!(one.finish(None).links, whole.links, "who gathers decides nothing");
    // Hosts that are safe with little memory are so with more.
    let hosts = |network: &Network| {
        let links = network.links.iter();
        let safe = links.filter(|link| link.confidentiality.verdict() == Verdict::QuantumSafe);
        safe.map(|link| link.ends.clone().map(|end| end.address))
            .collect::<Vec<_>>()
    };
    let (all, few) = (hosts(&whole), hosts(&gathered(Links::within(10_000), parts.iter())));
    assert!(
        few.iter()
            .all(|ends| all.contains(ends) || all.contains(&[ends[1], ends[0]]))
    );
    let counted: u64 = whole.links.iter().map(|link| link.parts + link.attempts).sum();
    assert_eq!(counted, parts.len() as u64, "each part is of one link");
}

fn gathered<'a>(mut links: Links, parts: impl Iterator<Item = &'a Part<'a>>) -> Network {
    parts.for_each(|part| links.add(part));
    links.finish(None)
}
