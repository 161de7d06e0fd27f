//! Links that were gathered apart, put together: as if they had been gathered at once, and never better than what is known.

use bartizan_posture::{
    Evidence, Ipsec, Ledgers, Links, Network, Part, Verdict, association_posture, datagrams_posture,
};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Omitted, Sink};
use proptest::prelude::*;

const CAPTURES: [&[u8]; 5] = [
    include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap"),
    include_bytes!("../../wire/tests/data/sbi-free5gc-two-registrations.pcap"),
    include_bytes!("../../wire/tests/data/n2-free5gc-two-registrations.pcap"),
    include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap"),
    SIDECAR,
];
const SIDECAR: &[u8] = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");

/// Parts dealt out, one after the other, to the places that `turns` names.
struct Dealt {
    ledgers: Ledgers,
    hands: Vec<Links>,
    turns: Vec<usize>,
    dealt: usize,
    ipsec: Ipsec,
}

impl Dealt {
    fn next(&mut self) -> &mut Links {
        let turn = self.turns[self.dealt % self.turns.len()];
        self.dealt += 1;
        &mut self.hands[turn]
    }
}

impl Sink for Dealt {
    fn connection(&mut self, connection: Connection) {
        let posture = Evidence::new(&connection, &self.ledgers).posture();
        self.next().add(&Part::connection(&connection, &posture));
    }

    fn association(&mut self, association: Association) {
        let posture = association_posture(&association);
        self.next().add(&Part::association(&association, &posture));
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, &Ledgers::default());
        self.next().add(&Part::datagrams(&datagrams, &posture));
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }

    fn omitted(&mut self, omitted: Omitted) {
        self.next().omit(&omitted);
    }
}

fn dealt(file: &[u8], limits: Limits, turns: &[usize]) -> Vec<Links> {
    let hands = turns.iter().max().map_or(1, |most| most + 1);
    let mut dealt = Dealt {
        ledgers: Ledgers::default(),
        hands: (0..hands).map(|_| Links::default()).collect(),
        turns: turns.to_vec(),
        dealt: 0,
        ipsec: Ipsec::default(),
    };
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut observer = Observer::new(limits);
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.observe(&packet, &mut dealt);
    }
    observer.finish_into(&mut dealt);
    let (ike, esp) = std::mem::take(&mut dealt.ipsec).judge(&dealt.ledgers);
    ike.iter().map(Part::ike).for_each(|part| dealt.next().add(&part));
    esp.iter().map(Part::esp).for_each(|part| dealt.next().add(&part));
    dealt.hands
}

fn merged<'a>(hands: impl IntoIterator<Item = &'a Links>, within: Links) -> Network {
    let mut all = within;
    hands.into_iter().for_each(|hand| all.merge(hand));
    all.finish(None)
}

fn safe(network: &Network) -> usize {
    let verdicts = network.links.iter().map(|link| link.confidentiality.verdict());
    verdicts.filter(|verdict| *verdict == Verdict::QuantumSafe).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn however_parts_are_dealt_out_together_they_are_the_same_links(
        capture in 0..CAPTURES.len(),
        turns in proptest::collection::vec(0..5usize, 1..12),
    ) {
        let whole = dealt(CAPTURES[capture], Limits::default(), &[0]);
        let expected = merged(&whole, Links::default());
        let hands = dealt(CAPTURES[capture], Limits::default(), &turns);
        prop_assert_eq!(&merged(&hands, Links::default()).links, &expected.links);
        prop_assert_eq!(&merged(hands.iter().rev(), Links::default()).links, &expected.links);
        for hand in whole {
            prop_assert_eq!(&hand.finish(None).links, &expected.links);
        }
    }
}

#[test]
fn what_one_could_not_read_the_other_does_not_make_safe() {
    let seen = dealt(SIDECAR, Limits::default(), &[0]);
    assert_eq!(safe(&merged(&seen, Links::default())), 1);
    let none = Limits {
        connections: 0,
        ..Limits::default()
    };
    let missing = dealt(SIDECAR, none, &[0, 1]);
    for network in [
        merged(seen.iter().chain(&missing), Links::default()),
        merged(missing.iter().chain(&seen), Links::default()),
        // One of the two that miss something is enough.
        merged(seen.iter().chain(&missing[1..]), Links::default()),
    ] {
        assert_eq!(network.links.len(), 1);
        let link = &network.links[0];
        assert_eq!(link.confidentiality.verdict(), Verdict::NotSeen);
        assert!(
            link.confidentiality.because().starts_with("memory was full"),
            "{}",
            link.confidentiality.because()
        );
    }
}

#[test]
fn what_finds_no_room_when_it_is_merged_is_counted_and_not_safe() {
    let seen = dealt(SIDECAR, Limits::default(), &[0]);
    let link = &merged(&seen, Links::default()).links[0];
    let parts = link.parts + link.attempts;
    let network = merged(&seen, Links::within(1));
    assert_eq!(network.untracked, parts);
    assert_eq!(network.untracked_from.unwrap().packet, 1);
    assert_eq!(safe(&network), 0);
    assert_eq!(network.links[0].confidentiality.verdict(), Verdict::NotSeen);
    assert!(
        network.links[0]
            .directions
            .iter()
            .all(|direction| direction.packets > 0)
    );
}

#[test]
fn what_was_merged_is_counted_as_what_was_added() {
    let hands = dealt(CAPTURES[1], Limits::default(), &[0, 1, 2, 0, 1]);
    let whole = &dealt(CAPTURES[1], Limits::default(), &[0])[0];
    let mut all = Links::default();
    hands.iter().for_each(|hand| all.merge(hand));
    // Sources that several give are kept in lists of different room.
    let (merged, added) = (all.held(), whole.held());
    assert!(merged.abs_diff(added) < added / 4, "{merged} {added}");
    assert!(merged < hands.iter().map(Links::held).sum());
}
