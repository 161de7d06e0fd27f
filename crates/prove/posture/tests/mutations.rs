//! A classical link is never called safe: every safe connection and security association of the captures in the tree is
//! changed towards classical, one way after the other, and its verdict falls; nobody else's rises. Captures are damaged as well.

use crate::towards_classical;
use std::collections::BTreeMap;

use bartizan_posture::Kind;
use towards_classical::frame::{Capture, Frame};
use towards_classical::judged::judge;
use towards_classical::{Mutation, assert_borne, assert_no_rise, fallen, ike, ssh, tls};

const OPENSSL: &[u8] = include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap");
const SIDECAR: &[u8] = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");
const STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");
const OPENSSH: &[u8] = include_bytes!("../../wire/tests/data/openssh-10.0.pcap");

/// Makes each mutation in each of these; one that reaches nobody is none.
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
