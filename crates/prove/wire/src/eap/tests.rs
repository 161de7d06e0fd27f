use proptest::prelude::*;

use super::*;
use crate::eapol::Pdu;
use crate::tls::Fault;
use crate::{CaptureReader, Timestamp};

const OPENSSL: &[u8] = include_bytes!("../../tests/data/openssl-3.5.7.pcap");

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

/// The bytes of the connection to port 4401, by turns.
fn handshake() -> Vec<(Side, Vec<u8>)> {
    let mut reader = CaptureReader::new();
    reader.push(OPENSSL);
    let mut said: Vec<(Side, Vec<u8>)> = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let frame = packet.data;
        let number = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        if frame[12..14] != [8, 0] || frame[23] != 6 {
            continue;
        }
        let from = match (number(34), number(36)) {
            (_, 4401) => Side::Client,
            (4401, _) => Side::Server,
            _ => continue,
        };
        let payload = &frame[34 + usize::from(frame[46] >> 4) * 4..usize::from(number(16)) + 14];
        match said.last_mut() {
            Some((before, bytes)) if *before == from => bytes.extend(payload),
            _ if payload.is_empty() => {}
            _ => said.push((from, payload.to_vec())),
        }
    }
    said
}

fn packet(code: u8, identifier: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![code, identifier];
    bytes.extend((5 + body.len() as u16).to_be_bytes());
    bytes.push(13);
    bytes.extend(body);
    bytes
}

/// Packets of EAP that carry this in fragments, with acknowledgements; identifiers go on from `first`.
fn packets(said: &[(Side, Vec<u8>)], fragment: usize, first: u8) -> Vec<(Side, Vec<u8>)> {
    let mut packets = Vec::new();
    let mut identifier = first;
    packets.push((Side::Server, packet(REQUEST, identifier, &[BEGINS])));
    for (from, message) in said {
        let pieces: Vec<&[u8]> = message.chunks(fragment).collect();
        for (index, piece) in pieces.iter().enumerate() {
            let (is_first, is_last) = (index == 0, index + 1 == pieces.len());
            let mut body = vec![if is_first { LENGTH } else { 0 } | if is_last { 0 } else { MORE }];
            if is_first {
                body.extend((message.len() as u32).to_be_bytes());
            }
            body.extend(*piece);
            // Each request has an identifier of its own, and its answer the same.
            match from {
                Side::Server => {
                    identifier = identifier.wrapping_add(1);
                    packets.push((Side::Server, packet(REQUEST, identifier, &body)));
                    if !is_last {
                        packets.push((Side::Client, packet(RESPONSE, identifier, &[0])));
                    }
                }
                Side::Client => {
                    packets.push((Side::Client, packet(RESPONSE, identifier, &body)));
                    if !is_last {
                        identifier = identifier.wrapping_add(1);
                        packets.push((Side::Server, packet(REQUEST, identifier, &[0])));
                    }
                }
            }
        }
    }
    packets
}

fn read(packets: &[(Side, Vec<u8>)]) -> (Eap, Vec<Taken>) {
    read_cut(packets, None)
}

/// Reads packets, of which one was captured without its last 40 octets.
fn read_cut(packets: &[(Side, Vec<u8>)], cut: Option<usize>) -> (Eap, Vec<Taken>) {
    let mut session = Session::default();
    let mut taken = Vec::new();
    for (index, (from, body)) in packets.iter().enumerate() {
        let missing = if cut == Some(index) { 40 } else { 0 };
        let pdu = Pdu {
            kind: kind::EAP,
            body: &body[..body.len() - missing],
            missing,
        };
        let from = usize::from(*from == Side::Client);
        taken.push(session.take(&pdu, from, at(index as u64 + 1), None));
    }
    (session.outcome(), taken)
}

fn group(eap: &Eap) -> Option<u16> {
    let hello = eap.tls.as_ref()?.server_hello.as_ref()?;
    hello.value.key_share.map(|share| share.group.0)
}

#[test]
fn a_handshake_in_fragments_of_any_size_is_read() {
    for fragment in [100, 1398, 60_000] {
        let mut packets = packets(&handshake(), fragment, 7);
        packets.push((Side::Server, vec![SUCCESS, 200, 0, 4]));
        let (eap, taken) = read(&packets);
        assert_eq!(group(&eap), Some(0x11ec), "{fragment}");
        assert!(eap.begun && eap.success.is_some() && eap.methods == [13]);
        assert!(taken.iter().all(|taken| *taken == Taken::Here));
        assert!(eap.tls.unwrap().faults.is_empty());
    }
}

#[test]
fn packets_that_are_sent_again_change_nothing_and_other_ones_are_a_contradiction() {
    let packets = packets(&handshake(), 500, 0);
    let twice: Vec<_> = packets
        .iter()
        .flat_map(|packet| [packet.clone(), packet.clone()])
        .collect();
    let (eap, taken) = read(&twice);
    assert_eq!((group(&eap), eap.contradicted), (Some(0x11ec), None));
    assert!(taken.iter().all(|taken| *taken == Taken::Here));
    let mut forged = packets.clone();
    let mut another = packets[1].clone();
    *another.1.last_mut().unwrap() ^= 1;
    forged.insert(2, another);
    assert_eq!(read(&forged).0.contradicted, Some(at(3)));
}

#[test]
fn a_lost_fragment_is_a_fault() {
    let packets = packets(&handshake(), 500, 0);
    for lost in 1..packets.len() {
        let mut some = packets.clone();
        some.remove(lost);
        let (eap, _) = read(&some);
        let tls = eap.tls.unwrap();
        // Nothing tells of one behind the last.
        assert_eq!(tls.faults.is_empty(), lost + 1 == packets.len(), "{lost}");
    }
}

/// The rest of a message whose beginning is missing was read as a message of its own.
#[test]
fn a_fragment_that_was_captured_in_part_is_a_fault_of_its_message_and_of_nothing_else() {
    let packets = packets(&handshake(), 700, 0);
    let whole = read(&packets).0.tls.unwrap();
    for cut in (1..packets.len()).filter(|cut| packets[*cut].1.len() > 100) {
        let tls = read_cut(&packets, Some(cut)).0.tls.unwrap();
        assert!(
            tls.faults.iter().all(|fault| matches!(fault.value, Fault::Gap { .. })),
            "{cut}: {:?}",
            tls.faults
        );
        assert!(!tls.faults.is_empty() && whole.faults.is_empty(), "{cut}");
    }
}

/// Outer TLVs follow the octets of TLS (RFC 7170, section 4.1).
#[test]
fn outer_tlvs_of_teap_are_not_read_as_tls() {
    let mut packets = packets(&handshake(), 60_000, 7);
    for (_, packet) in &mut packets {
        packet[4] = TEAP;
    }
    let plain = read(&packets).0;
    let first = packets
        .iter()
        .position(|(side, packet)| *side == Side::Client && packet.len() > 100)
        .unwrap();
    let tlv = [0, 1, 0, 2, 7, 7];
    let body = packets[first].1[5..].to_vec();
    let (flags, data) = (body[0], if body[0] & LENGTH == 0 { &body[1..] } else { &body[5..] });
    let mut with = vec![flags & !LENGTH | OUTER];
    with.extend((tlv.len() as u32).to_be_bytes());
    with.extend(data);
    with.extend(tlv);
    let identifier = packets[first].1[1];
    packets[first].1 = packet(RESPONSE, identifier, &with);
    packets[first].1[4] = TEAP;
    let outer = read(&packets).0;
    assert_eq!(group(&outer), group(&plain));
    assert!(outer.tls.unwrap().faults.is_empty());
}

#[test]
fn a_request_that_begins_the_method_again_is_of_another_handshake() {
    let first = packets(&handshake(), 1398, 0);
    let again = packets(&handshake(), 1398, 100);
    let (_, taken) = read(&[&first[..], &again[..1]].concat());
    assert_eq!(taken.last(), Some(&Taken::Another));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_grow(frames in proptest::collection::vec((0u8..6, any::<bool>(), proptest::collection::vec(any::<u8>(), 0..60)), 0..60)) {
        let mut session = Session::default();
        for (index, (kind, from, body)) in frames.iter().enumerate() {
            let pdu = Pdu { kind: *kind, body, missing: 0 };
            session.take(&pdu, usize::from(*from), at(index as u64), None);
        }
        prop_assert!(session.held() < 1 << 20);
    }
}
