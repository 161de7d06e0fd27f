//! IKE_SAs that moved to other addresses (RFC 4555) next to IKE_SAs that stand there: none borrows
//! the other's verdict.

use bartizan_posture::{JudgedEspSa, JudgedIkeSa, Verdict};
use bartizan_wire::ike::Origin;

use crate::attribution::{CLASSICAL, HYBRID, apart, exchange, ike_at, is_response, judge, set_up, situation};
use crate::towards_classical::frame::Packet;

/// The end that does not move; its neighbours have lesser and greater addresses.
const GATEWAY: u8 = 50;
const HOME: u8 = 90;
const ABROAD: u8 = 10;

/// Packets with this last byte of the initiator's address, and the gateway's of the responder's.
fn at(initiator: u8, packets: &[Packet]) -> Vec<Packet> {
    let address = |byte: u8| if byte == 1 { initiator } else { GATEWAY };
    let moved = packets.iter().map(|packet| {
        let mut bytes = packet.bytes.clone();
        (bytes[29], bytes[33]) = (address(bytes[29]), address(bytes[33]));
        packet.with(bytes)
    });
    moved.collect()
}

/// The life of an IKE_SA up to its own rekey, what rekeyed it, and the life of the one that took
/// its place.
struct Life {
    before: Vec<Packet>,
    rekey: Vec<Packet>,
    after: Vec<Packet>,
}

fn life(number: u8) -> Life {
    life_of(&situation(number))
}

fn life_of(packets: &[Packet]) -> Life {
    let spi = |packet: &Packet| ike_at(packet).map(|at| packet.bytes[at..at + 8].to_vec());
    let first = spi(&packets[0]).unwrap();
    let end = packets.iter().rposition(|packet| exchange(packet) == Some(36)).unwrap();
    let of_first = |packet: &&Packet| spi(packet).is_some_and(|spi| spi == first);
    let rekey = packets[..=end]
        .iter()
        .filter(of_first)
        .filter(|packet| matches!(exchange(packet), Some(36 | 44)));
    let mut rekey: Vec<Packet> = rekey.cloned().collect();
    // The last CREATE_CHILD_SA, with the exchanges that follow it.
    let asked = rekey
        .iter()
        .rposition(|packet| exchange(packet) == Some(36) && !is_response(packet))
        .unwrap();
    let rekey = rekey.split_off(asked);
    let start = packets.iter().position(|packet| *packet == rekey[0]).unwrap();
    let after = packets
        .iter()
        .filter(|packet| spi(packet).is_some_and(|spi| spi != first));
    Life {
        before: packets[..start].to_vec(),
        rekey,
        after: after.cloned().collect(),
    }
}

fn rekeyed(ike: &[JudgedIkeSa]) -> Vec<&JudgedIkeSa> {
    ike.iter().filter(|judged| judged.sa.origin == Origin::Rekey).collect()
}

/// The beginning of a neighbour that stands where another moves to, with one CREATE_CHILD_SA whose
/// product stays unused.
fn neighbour() -> Vec<Packet> {
    let packets = situation(HYBRID);
    let rekeys = packets.iter().position(|packet| exchange(packet) == Some(36)).unwrap();
    let mut until = rekeys;
    while matches!(exchange(&packets[until]), Some(36 | 44)) {
        until += 1;
    }
    at(ABROAD, &packets[..until])
}

#[test]
fn an_ike_sa_that_moved_and_rekeyed_inherits_nothing_from_its_neighbour() {
    let moving = life(CLASSICAL);
    // Its rekey goes over the new addresses, of which the initiator's is now the lesser.
    let packets = [
        neighbour(),
        at(HOME, &moving.before),
        at(ABROAD, &moving.rekey),
        at(ABROAD, &moving.after),
    ];
    let (ike, _) = judge(packets.concat());
    assert_eq!(ike[1].sa.moved.len(), 1);
    let [after] = rekeyed(&ike)[..] else {
        panic!("one rekey")
    };
    let judgement = &after.posture.confidentiality;
    assert_ne!(judgement.verdict(), Verdict::QuantumSafe, "{}", judgement.because());
}

#[test]
fn an_ike_sa_that_moved_as_its_first_act_inherits_nothing_from_its_neighbour() {
    let moving = life(CLASSICAL);
    let packets = [
        neighbour(),
        at(HOME, &moving.before),
        at(HOME, &moving.rekey),
        at(ABROAD, &moving.after),
    ];
    let (ike, _) = judge(packets.concat());
    let [after] = rekeyed(&ike)[..] else {
        panic!("one rekey")
    };
    let judgement = &after.posture.confidentiality;
    assert_ne!(judgement.verdict(), Verdict::QuantumSafe, "{}", judgement.because());
}

/// A product at home accounts for one of two that may have departed, and nothing shows for which.
#[test]
fn a_product_of_another_ike_sa_at_home_accounts_for_none_of_two() {
    let (moving, staying) = (life(CLASSICAL), life_of(&respun(&situation(HYBRID))));
    let packets = [
        neighbour(),
        at(HOME, &moving.before),
        at(HOME, &staying.before),
        at(HOME, &moving.rekey),
        at(HOME, &staying.rekey),
        at(HOME, &staying.after),
        at(ABROAD, &moving.after),
    ];
    let (ike, _) = judge(packets.concat());
    let gone = rekeyed(&ike).into_iter().max_by_key(|judged| judged.sa.first.packet);
    let judgement = &gone.expect("a rekey").posture.confidentiality;
    assert_ne!(judgement.verdict(), Verdict::QuantumSafe, "{}", judgement.because());
}

#[test]
fn an_ike_sa_that_moved_next_to_no_worse_one_keeps_its_verdict() {
    let moving = life(HYBRID);
    for (rekey, after) in [(ABROAD, ABROAD), (HOME, HOME)] {
        let packets = [
            at(HOME, &moving.before),
            at(rekey, &moving.rekey),
            at(after, &moving.after),
        ];
        let (ike, _) = judge(packets.concat());
        let [after] = rekeyed(&ike)[..] else {
            panic!("one rekey")
        };
        let judgement = &after.posture.confidentiality;
        assert_eq!(judgement.verdict(), Verdict::QuantumSafe, "{}", judgement.because());
    }
}

#[test]
fn a_rekey_elsewhere_does_not_account_for_what_a_neighbour_made() {
    // A classical neighbour made a CHILD_SA that carries nothing yet.
    let (esp, classical) = apart(set_up(CLASSICAL));
    // An IKE_SA that was rekeyed at home comes to the same hosts.
    let moving = life(HYBRID);
    // Another hybrid one stands there too.
    let (_, third) = apart(respun(&set_up(HYBRID)));
    let packets = [
        at(ABROAD, &classical),
        at(HOME, &moving.before),
        at(HOME, &moving.rekey),
        at(HOME, &moving.after),
        at(ABROAD, &moving.after),
        at(ABROAD, &third),
        at(ABROAD, &esp),
    ];
    let (ike, esp) = judge(packets.concat());
    assert!(ike.iter().any(|judged| !judged.sa.moved.is_empty()));
    let abroad: Vec<&JudgedEspSa> = esp
        .iter()
        .filter(|judged| {
            let ends = [judged.sa.source, judged.sa.destination].map(|end| end.to_string());
            ends.iter().any(|end| end.ends_with(&format!(".{ABROAD}")))
        })
        .collect();
    assert!(!abroad.is_empty());
    for judged in abroad {
        let judgement = &judged.posture.confidentiality;
        assert_ne!(judgement.verdict(), Verdict::QuantumSafe, "{}", judgement.because());
    }
}

/// The same IKE_SA with other SPIs: another one of its kind.
fn respun(packets: &[Packet]) -> Vec<Packet> {
    let other = packets.iter().map(|packet| {
        let mut bytes = packet.bytes.clone();
        if let Some(at) = ike_at(packet) {
            bytes[at] ^= 0x55;
            if bytes[at + 8..at + 16] != [0; 8] {
                bytes[at + 8] ^= 0x55;
            }
        }
        packet.with(bytes)
    });
    other.collect()
}

#[test]
fn esp_whose_sequence_begins_twice_under_one_spi_is_not_judged_by_one_ike_sa() {
    // A second association with the SPI of the first, keyed by an IKE_SA that is classical.
    let (safe, _) = apart(set_up(HYBRID));
    let packets = [set_up(HYBRID), set_up(CLASSICAL)].concat();
    let spis: Vec<Vec<u8>> = safe.iter().map(|packet| esp_header(packet)[..4].to_vec()).collect();
    let shared = packets.into_iter().map(|packet| {
        let sender = packet.bytes[29];
        let own = safe.iter().position(|other| other.bytes[29] == sender);
        match own.filter(|_| ike_at(&packet).is_none()) {
            Some(own) => {
                let mut bytes = packet.bytes.clone();
                let at = bytes.len() - esp_header(&packet).len();
                bytes[at..at + 4].copy_from_slice(&spis[own]);
                packet.with(bytes)
            }
            None => packet,
        }
    });
    let (_, esp) = judge(shared.collect());
    assert_eq!(esp.len(), 2);
    for judged in &esp {
        let judgement = &judged.posture.confidentiality;
        assert_ne!(judgement.verdict(), Verdict::QuantumSafe, "{}", judgement.because());
        assert!(!judged.posture.contradictions.is_empty());
    }
}

/// An ESP packet from its header on.
fn esp_header(packet: &Packet) -> &[u8] {
    use crate::towards_classical::frame::Frame;
    let frame = Frame::read(&packet.bytes);
    match frame.protocol {
        50 => &packet.bytes[frame.transport..],
        _ => &packet.bytes[frame.payload.start..],
    }
}
