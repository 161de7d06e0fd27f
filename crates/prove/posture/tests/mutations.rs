//! A classical link is never called safe: every safe connection and security association of the captures in the tree is
//! changed towards classical, one way after the other, and its verdict falls; no other verdict
//! rises. Captures are damaged as well.

use crate::towards_classical;
use std::collections::BTreeMap;

use bartizan_posture::{Kind, Verdict};
use towards_classical::frame::{Capture, Frame, Packet};
use towards_classical::judged::{Subject, is_safe, judge};
use towards_classical::{Mutation, assert_borne, assert_no_rise, fallen, ike, ssh, tls};

const OPENSSL: &[u8] = include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap");
const SIDECAR: &[u8] = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");
const STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");
const OPENSSH: &[u8] = include_bytes!("../../wire/tests/data/openssh-10.0.pcap");

/// Makes each mutation in each of these; one that reaches no subject does not count.
fn assert_falls(captures: &[(&str, &[u8])], mutations: &[Mutation]) {
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, file) in captures {
        for (mutation, count) in fallen(name, file, mutations) {
            *all.entry(mutation).or_default() += count;
        }
    }
    assert_eq!(all.len(), mutations.len(), "two mutations have one name");
    for (mutation, count) in all {
        assert!(count > 0, "{mutation} reaches nobody");
    }
}

#[test]
fn every_safe_connection_of_tls_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls(&[("openssl", OPENSSL), ("sidecar", SIDECAR)], &tls::mutations());
}

#[test]
fn every_safe_association_of_ipsec_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls(&[("strongswan", STRONGSWAN)], &ike::mutations());
}

#[test]
fn every_safe_connection_of_ssh_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls(&[("openssh", OPENSSH)], &ssh::mutations());
}

#[test]
fn segments_and_datagrams_swapped_doubled_or_overlapping_change_no_verdict() {
    for (name, file) in [("openssl", OPENSSL), ("strongswan", STRONGSWAN), ("openssh", OPENSSH)] {
        assert_borne(name, file);
    }
}

#[test]
fn packets_lost_or_cut_make_nothing_safe_and_accuse_nobody() {
    for (name, file) in [("openssl", OPENSSL), ("strongswan", STRONGSWAN), ("openssh", OPENSSH)] {
        assert_no_rise(name, file);
    }
}

/// Handshakes that an end refused behind the ServerHello.
const REFUSED: [(&str, &[u8]); 4] = [
    (
        "alert in plaintext",
        include_bytes!("../../inspect/tests/data/tls-refused-cliref.pcap"),
    ),
    (
        "JSSE",
        include_bytes!("../../inspect/tests/data/tls-refused-in-jsse27.pcap"),
    ),
    (
        "wolfSSL",
        include_bytes!("../../inspect/tests/data/tls-refused-in-wolf.pcap"),
    ),
    (
        "no certificate",
        include_bytes!("../../inspect/tests/data/tls-refused-nocert.pcap"),
    ),
];

#[test]
fn a_refused_handshake_of_which_packets_are_missing_is_never_safe() {
    for (name, file) in REFUSED {
        assert_no_rise(name, file);
        let capture = Capture::read(file);
        for lost in 0..capture.packets.len() {
            let mut packets = capture.packets.clone();
            packets.remove(lost);
            assert_eq!(judge(&capture.with(packets).file()).safe(), 0, "{name}: without {lost}");
            let packets = capture.packets[..lost].to_vec();
            assert_eq!(judge(&capture.with(packets).file()).safe(), 0, "{name}: up to {lost}");
        }
    }
}

#[test]
fn one_record_of_the_clients_flight_in_several_segments_is_no_data_behind_its_finished() {
    /// The client's flight: ChangeCipherSpec, and records behind it.
    const FLIGHT: usize = 7;
    const CHANGE: usize = 6;
    let capture = Capture::read(REFUSED[3].1);
    let mut packets = capture.packets.clone();
    let frame = Frame::read(&packets[FLIGHT].bytes);
    let mut payload = frame.payload().to_vec();
    let length = u16::try_from(payload.len() - CHANGE - 5).unwrap();
    payload[CHANGE..CHANGE + 3].copy_from_slice(&[23, 3, 3]);
    payload[CHANGE + 3..CHANGE + 5].copy_from_slice(&length.to_be_bytes());
    let (first, rest) = payload.split_at(payload.len() - 20);
    let first_packet = packets[FLIGHT].with(frame.with_payload(first));
    let rest_packet = packets[FLIGHT].with(frame.moved(u32::try_from(first.len()).unwrap(), rest));
    packets.splice(FLIGHT..=FLIGHT, [first_packet, rest_packet]);
    let judged = judge(&capture.with(packets).file());
    assert_eq!(judged.safe(), 0);
    let noted = judged
        .postures
        .values()
        .filter(|posture| posture.refused_by_size)
        .count();
    assert_eq!(noted, 1);
    let mut postures = judged.postures.values();
    assert!(postures.all(|posture| posture.kind == Kind::TlsNotAgreed));
}

#[test]
fn one_packet_injected_under_a_used_nonce_proves_nothing_and_two_make_a_link_readable() {
    let capture = Capture::read(STRONGSWAN);
    let before = judge(STRONGSWAN);
    let subjects = before.postures.iter().filter(|(_, posture)| is_safe(posture));
    let spi = subjects.filter_map(|(subject, _)| match subject {
        Subject::Esp(_, _, spi) => Some(*spi),
        _ => None,
    });
    let of = |spi: u32| {
        let has = move |packet: &&Packet| Frame::read(&packet.bytes).payload().starts_with(&spi.to_be_bytes());
        capture.packets.iter().filter(has).collect::<Vec<_>>()
    };
    let (spi, packets) = spi
        .map(|spi| (spi, of(spi)))
        .find(|(_, packets)| packets.len() > 1)
        .unwrap();
    let injected = |count: usize| {
        let forged = packets[..count].iter().map(|packet| {
            let frame = Frame::read(&packet.bytes);
            let mut payload = frame.payload().to_vec();
            *payload.last_mut().unwrap() ^= 1;
            packet.with(frame.with_payload(&payload))
        });
        let judged = judge(
            &capture
                .with(capture.packets.iter().cloned().chain(forged).collect())
                .file(),
        );
        let mut postures = judged.postures.into_iter();
        let found = postures.find(|(subject, _)| matches!(subject, Subject::Esp(_, _, known) if *known == spi));
        let posture = found.unwrap().1;
        (posture.confidentiality.verdict(), posture.contradictions.len())
    };
    assert_eq!(injected(0), (Verdict::QuantumSafe, 0));
    assert_eq!(injected(1), (Verdict::NotObservable, 1));
    assert_eq!(injected(2).0, Verdict::ReadableNow);
}

#[test]
fn an_answer_to_ike_auth_of_which_a_fragment_is_missing_makes_nothing_safe() {
    let capture = Capture::read(STRONGSWAN);
    let safe = |file: &[u8]| {
        let judged = judge(file);
        let ike = judged
            .postures
            .iter()
            .filter(|(subject, _)| matches!(subject, Subject::Ike(..)));
        ike.filter(|(_, posture)| is_safe(posture)).count()
    };
    assert!(safe(STRONGSWAN) > 0);
    let first_of_two = |packet: &Packet| {
        // The marker of RFC 3948, the header with SK as the next payload, and IKE_AUTH with the flag of a response.
        let frame = Frame::read(&packet.bytes);
        let payload = frame.payload();
        let is_answer = payload.starts_with(&[0; 4])
            && payload.len() > 36
            && (payload[20], payload[22], payload[23] & 0x20) == (46, 35, 0x20);
        if !frame.is_on(4500) || !is_answer {
            return packet.clone();
        }
        let mut fragment = payload[..36].to_vec();
        fragment[20] = 53;
        let longer = |at: usize| u16::from_be_bytes([payload[at], payload[at + 1]]) + 4;
        fragment[30..32].copy_from_slice(&longer(30).to_be_bytes());
        fragment[34..36].copy_from_slice(&longer(34).to_be_bytes());
        fragment.extend([0, 1, 0, 2]);
        fragment.extend(&payload[36..]);
        packet.with(frame.with_payload(&fragment))
    };
    let packets = capture.packets.iter().map(first_of_two).collect();
    assert_eq!(safe(&capture.with(packets).file()), 0);
}
