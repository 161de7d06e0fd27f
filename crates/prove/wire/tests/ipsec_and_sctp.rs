//! IKEv2, ESP and SCTP of programs this project did not write; tests/data/README.md says how the captures were made.

use crate::observe;
use bartizan_wire::datagrams::DatagramProtocol;
use bartizan_wire::esp::Carrier;
use bartizan_wire::ike::{ExchangeType, IkeSa, KeyExchangeMethod, NotifyType, Origin, Party, Retry};
use bartizan_wire::sctp::{Begun, Event};
use bartizan_wire::{Ending, FragmentLimits, Limits, Unread};
use observe::Seen;
use proptest::prelude::*;

const STRONGSWAN: &[u8] = include_bytes!("data/strongswan-6.1.0.pcap");
const FLEXRIC: &[u8] = include_bytes!("data/e2-flexric-kpm.pcap");
const FREE5GC: &[u8] = include_bytes!("data/n2-free5gc-two-registrations.pcap");

/// The IKE_SAs of one situation, in order.
fn situation(seen: &Seen, number: u8) -> Vec<&IkeSa> {
    let address = format!("10.77.{number}.1");
    let of = |sa: &&IkeSa| sa.initiator.ip().to_string() == address;
    seen.ike.iter().filter(of).collect()
}

fn methods(sa: &IkeSa) -> Vec<u16> {
    sa.key_exchanges().map(|KeyExchangeMethod(number)| number).collect()
}

fn kinds(sa: &IkeSa) -> Vec<u8> {
    sa.exchanges.iter().map(|exchange| exchange.kind.0).collect()
}

#[test]
fn every_situation_of_strongswan_shows_what_was_negotiated() {
    let seen = observe::file(STRONGSWAN);
    let expected: [(u8, &[u16]); 12] = [
        (1, &[31]),
        (2, &[36]),
        (3, &[31, 36]),
        (4, &[37]),
        (5, &[31, 36]),
        (6, &[31, 36]),
        (7, &[36]),
        (8, &[]),
        (9, &[31]),
        (10, &[31, 36, 35]),
        (11, &[31]),
        (12, &[31]),
    ];
    for (number, chosen) in expected {
        let sa = situation(&seen, number)[0];
        assert_eq!(methods(sa), chosen, "situation {number}");
        assert_eq!((sa.origin, sa.faults.count()), (Origin::Init, 0));
        assert!(sa.offered.is_some());
    }
    let ipv6 = seen.ike.iter().find(|sa| sa.initiator.is_ipv6()).unwrap();
    assert_eq!(methods(ipv6), [37]);
    assert_eq!(seen.totals.ike_sas, 23);
    let unread = seen.totals.unread.iter();
    let unread: Vec<_> = unread.map(|(what, captured)| (*what, captured.packets)).collect();
    assert_eq!(unread, [(Unread::Protocol(1), 1), (Unread::Protocol(58), 4)]);
}

#[test]
fn a_hybrid_sa_shows_each_of_its_exchanges_with_times_bytes_and_fragments() {
    let seen = observe::file(STRONGSWAN);
    let sa = situation(&seen, 3)[0];
    assert_eq!(kinds(sa), [34, 43, 35, 36, 44, 36, 44]);
    let intermediate = sa.exchanges_of(ExchangeType::IKE_INTERMEDIATE).next().unwrap();
    let (request, response) = (intermediate.request.unwrap(), intermediate.response.unwrap());
    assert_eq!((request.packets, request.fragments, request.bytes), (2, 2, 1248 + 66));
    assert_eq!((response.packets, response.fragments, response.bytes), (1, 0, 1153));
    assert_eq!((request.first.packet, response.last.packet), (74, 76));
    assert_eq!(intermediate.duration(), Some(680_000));
    assert_eq!(sa.set_up(), Some(3_726_000));
    assert_eq!(sa.from_initiator.ike_fragments, 6);
    assert!(sa.has_notified(Party::Responder, NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED));
    assert!(sa.has_notified(Party::Responder, NotifyType::SIGNATURE_HASH_ALGORITHMS));
    assert!(sa.encapsulated);
    assert_eq!(
        sa.chosen.as_ref().unwrap().value.to_string(),
        "ENCR_AES_GCM_16-256/PRF_HMAC_SHA2_384/Curve25519/ke1_ml-kem-768"
    );
}

#[test]
fn rekeys_show_whether_a_follow_up_had_room_for_ml_kem() {
    let seen = observe::file(STRONGSWAN);
    // Hybrid throughout; hybrid without key exchange, and with a classical one, for CHILD_SAs.
    for (number, follow_ups, room) in [
        (3, [1, 1], (1259, 1121)),
        (5, [0, 1], (157, 145)),
        (6, [0, 1], (205, 193)),
    ] {
        let sa = situation(&seen, number)[0];
        let counts: Vec<usize> = sa.rekeyed().iter().map(|(_, follow_ups)| follow_ups.len()).collect();
        assert_eq!(sa.rekeys, counts.len() as u64);
        assert_eq!(counts, follow_ups, "situation {number}");
        let tightest = sa.tightest_rekey.as_ref().unwrap();
        assert_eq!(tightest.capacity(), Some(room), "situation {number}");
        assert_eq!((sa.refused_rekeys, sa.unseen_rekeys), (0, 0));
    }
    // Two additional key exchanges have two follow-ups each.
    let sa = situation(&seen, 10)[0];
    assert!(sa.rekeyed().iter().all(|(_, follow_ups)| follow_ups.len() == 2));
}

#[test]
fn an_ike_sa_made_by_a_rekey_is_distinguished_from_one_that_was_already_there() {
    let seen = observe::file(STRONGSWAN);
    for number in [1, 2, 3, 4, 5, 6, 10] {
        let sas = situation(&seen, number);
        assert_eq!(sas.len(), 2, "situation {number}");
        assert_eq!(sas[1].origin, Origin::Rekey);
        assert_eq!((methods(sas[1]).len(), sas[1].informational), (0, 1));
    }
    // The capture from packet 50 on: situation 2 was there.
    let cut = from_packet(STRONGSWAN, 50);
    let seen = observe::file(&cut);
    assert_eq!(situation(&seen, 2)[0].origin, Origin::Midstream);
    assert_eq!(situation(&seen, 2)[0].unseen_rekeys, 1, "its first packet is cut off");
}

#[test]
fn a_method_asked_for_a_cookie_and_a_refusal_are_seen() {
    let seen = observe::file(STRONGSWAN);
    let retry = |sa: &IkeSa| sa.retries.first.iter().map(|seen| seen.value).collect::<Vec<_>>();
    let sa = situation(&seen, 7)[0];
    assert_eq!(retry(sa), [Retry::KeyExchange(KeyExchangeMethod(36))]);
    assert_eq!(kinds(sa), [34, 34, 35]);
    assert_eq!(sa.offered_key_exchange.unwrap().length, 1184);
    assert_eq!(sa.chosen_key_exchange.unwrap().length, 1088);
    let sa = *situation(&seen, 14).last().unwrap();
    assert_eq!(retry(sa), [Retry::Cookie]);
    assert!(sa.chosen.is_some());
    let sa = situation(&seen, 8)[0];
    assert_eq!(sa.refused.as_ref().unwrap().value, NotifyType::NO_PROPOSAL_CHOSEN);
    assert_eq!(sa.responder_spi, 0);
    let sa = situation(&seen, 12)[0];
    assert!(sa.has_notified(Party::Initiator, NotifyType::USE_PPK));
    assert!(sa.has_notified(Party::Responder, NotifyType::USE_PPK));
}

#[test]
fn ml_kem_1024_in_ike_sa_init_comes_in_ip_fragments_of_both_versions() {
    let seen = observe::file(STRONGSWAN);
    assert_eq!(seen.totals.reassembled, 4);
    let over_ipv6 = seen.ike.iter().find(|sa| sa.initiator.is_ipv6()).unwrap();
    for sa in [situation(&seen, 4)[0], over_ipv6] {
        let init = sa.exchanges.iter().next().unwrap();
        let (request, response) = (init.request.unwrap(), init.response.unwrap());
        assert_eq!((request.packets, request.ip_fragments), (2, 2));
        assert_eq!((response.packets, response.ip_fragments), (2, 2));
        assert_eq!((request.bytes, response.bytes), (1768, 1801));
        assert_eq!(sa.from_initiator.ip_fragments, 2);
        assert!(request.first.packet < request.last.packet);
    }
}

#[test]
fn esp_in_udp_is_counted_by_association_and_direction() {
    let seen = observe::file(STRONGSWAN);
    assert_eq!(seen.esp.len(), 38);
    for sa in &seen.esp {
        let expected = Carrier::Udp {
            source: 4500,
            destination: 4500,
        };
        assert_eq!(sa.carrier, expected);
        assert_eq!((sa.first_sequence, u64::from(sa.highest_sequence)), (1, sa.packets));
        assert_eq!((sa.missing, sa.repeated, sa.in_plaintext()), (0, 0, None));
    }
    assert_eq!(seen.esp.iter().map(|sa| sa.packets).sum::<u64>(), 156);
}

#[test]
fn a_fragment_lost_leaves_its_message_incomplete_and_is_said() {
    // Packet 75 is the second IKE fragment of the hybrid's IKE_INTERMEDIATE, packet 113 the first IP fragment of
    // ML-KEM-1024's IKE_SA_INIT.
    let seen = observe::file(&without_packet(STRONGSWAN, 75));
    let intermediate = situation(&seen, 3)[0].exchanges.iter().nth(1).unwrap();
    assert!(!intermediate.request.unwrap().is_complete());
    assert_eq!((intermediate.duration(), intermediate.capacity()), (None, None));
    let seen = observe::file(&without_packet(STRONGSWAN, 113));
    assert!(situation(&seen, 4)[0].offered.is_none());
    let [lost] = &seen.datagrams[..] else {
        panic!("what is left of one packet")
    };
    assert_eq!(
        (lost.protocol, lost.captured.packets),
        (DatagramProtocol::Fragments(17), 1)
    );
}

#[test]
fn packets_that_came_twice_change_nothing_but_their_count() {
    let once = observe::file(STRONGSWAN);
    let twice = observe::file(&each_twice(STRONGSWAN));
    assert_eq!(once.ike.len(), twice.ike.len());
    for (one, two) in once.ike.iter().zip(&twice.ike) {
        assert_eq!(
            one.offered.as_ref().map(|seen| &seen.value),
            two.offered.as_ref().map(|seen| &seen.value)
        );
        assert_eq!(methods(one), methods(two));
        assert_eq!(kinds(one), kinds(two));
        assert_eq!(one.rekeys, two.rekeys);
        assert_eq!(two.faults.count(), 0);
        for (one, two) in one.exchanges.iter().zip(two.exchanges.iter()) {
            assert_eq!(one.duration(), two.duration());
            assert_eq!(one.request.unwrap().bytes, two.request.unwrap().bytes);
        }
    }
    for (one, two) in once.esp.iter().zip(&twice.esp) {
        assert_eq!((one.packets * 2, one.packets), (two.packets, two.repeated));
    }
}

#[test]
fn more_sas_than_the_limits_allow_are_counted_and_not_kept() {
    let limits = Limits {
        ike_sas: 3,
        esp_sas: 2,
        ..Limits::default()
    };
    let seen = observe::with(limits, STRONGSWAN);
    assert_eq!((seen.ike.len(), seen.esp.len()), (3, 2));
    assert!(seen.totals.untracked > 200);
    let limits = Limits {
        fragments: FragmentLimits {
            packets: 0,
            ..FragmentLimits::default()
        },
        associations: 0,
        ..Limits::default()
    };
    assert_eq!(observe::with(limits, STRONGSWAN).totals.reassembled, 0);
    assert_eq!(observe::with(limits, FREE5GC).associations.len(), 0);
}

#[test]
fn e2_of_flexric_is_one_association_with_fragmented_messages() {
    let seen = observe::file(FLEXRIC);
    let [e2] = &seen.associations[..] else {
        panic!("{:?}", seen.associations)
    };
    assert_eq!(e2.responder.to_string(), "10.9.0.1:36421");
    assert_eq!((e2.begun, e2.established, e2.ending), (Begun::Init, true, Ending::Open));
    assert_eq!(e2.from_initiator.payload_protocols, [(0, 14)]);
    let sent = &e2.from_initiator;
    assert_eq!((sent.messages, sent.fragmented, sent.longest), (8, 5, 2809));
    assert_eq!((sent.chunks, sent.repeated, sent.missing), (14, 0, 0));
    assert_eq!((e2.dtls.is_none(), e2.plain_messages), (true, 11));
    let set_up = seen.events.iter().find_map(|(_, event)| match event {
        Event::Message { bytes, chunks, .. } => Some((*bytes, *chunks)),
        Event::Acknowledged { .. } => None,
    });
    assert_eq!(set_up, Some((2809, 3)));
}

#[test]
fn n2_of_free5gc_has_20_messages_and_two_of_them_twice() {
    let seen = observe::file(FREE5GC);
    let n2 = &seen.associations[0];
    assert_eq!(n2.responder.to_string(), "127.0.0.18:38412");
    let protocols = [&n2.from_initiator, &n2.from_responder].map(|sent| sent.payload_protocols[0].0);
    assert_eq!(protocols, [60, 60]);
    assert_eq!(n2.from_initiator.messages + n2.from_responder.messages, 20);
    assert_eq!((n2.from_initiator.repeated, n2.from_responder.repeated), (0, 2));
    assert_eq!(n2.from_responder.heartbeats, 2);
    let sizes = seen.events.iter().filter_map(|(_, event)| match event {
        Event::Message { bytes, .. } => Some(*bytes),
        Event::Acknowledged { .. } => None,
    });
    let sizes: Vec<u64> = sizes.collect();
    assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&19), Some(&165)));
}

#[test]
fn an_association_picked_up_in_its_middle_is_followed_by_its_tags() {
    let seen = observe::file(&from_packet(FREE5GC, 9));
    let [n2] = &seen.associations[..] else {
        panic!("{:?}", seen.associations)
    };
    assert_eq!(n2.begun, Begun::Midstream);
    assert_eq!(n2.responder.port(), 38412);
    assert_eq!(n2.from_initiator.messages + n2.from_responder.messages, 18);
}

/// Records of a little-endian pcap file: the header, then each with its own.
fn records(file: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let mut records = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        records.push(&file[at..at + 16 + length]);
        at += 16 + length;
    }
    (&file[..24], records)
}

fn capture<'a>(header: &[u8], records: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut file = header.to_vec();
    records.into_iter().for_each(|record| file.extend(record));
    file
}

fn from_packet(file: &[u8], number: usize) -> Vec<u8> {
    let (header, records) = records(file);
    capture(header, records[number - 1..].iter().copied())
}

fn without_packet(file: &[u8], number: usize) -> Vec<u8> {
    let (header, mut records) = records(file);
    records.remove(number - 1);
    capture(header, records)
}

fn each_twice(file: &[u8]) -> Vec<u8> {
    let (header, records) = records(file);
    capture(header, records.into_iter().flat_map(|record| [record, record]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn captures_with_bytes_changed_anywhere_never_panic(
        which in 0..3usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
    ) {
        let file = [STRONGSWAN, FLEXRIC, FREE5GC][which];
        let (header, records) = records(file);
        let mut file = capture(header, records.iter().copied());
        let mut bodies = Vec::new();
        let mut at = 24;
        for record in records {
            bodies.extend(at + 16..at + record.len());
            at += record.len();
        }
        for (index, value) in changes {
            file[*index.get(&bodies)] = value;
        }
        observe::file(&file);
    }

    #[test]
    fn the_order_of_packets_within_an_exchange_decides_nothing(seed in proptest::collection::vec(any::<prop::sample::Index>(), 40)) {
        let (header, mut records) = records(STRONGSWAN);
        // Neighbours change places: what a network with two paths does.
        for index in seed {
            let place = index.index(records.len() - 1);
            records.swap(place, place + 1);
        }
        let once = observe::file(STRONGSWAN);
        let again = observe::file(&capture(header, records));
        let essence = |seen: &Seen| {
            let mut sas: Vec<_> = seen.ike.iter().map(|sa| (sa.initiator_spi, methods(sa), sa.rekeys)).collect();
            sas.sort();
            sas
        };
        prop_assert_eq!(essence(&once), essence(&again));
    }
}
