use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::Timestamp;

fn moment(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

fn packets(sequences: &[u32]) -> EspSa {
    let end = |last| SocketAddr::new(Ipv4Addr::new(10, 0, 0, last).into(), 0);
    let first = Header {
        spi: 0x1234,
        sequence: sequences[0],
    };
    let mut sa = EspSa::new(1, end(1), end(2), Carrier::Ip, first, moment(1));
    for (number, &sequence) in sequences.iter().enumerate() {
        let header = Header { sequence, ..first };
        sa.packet(header, &[0xaa; 20], 0, moment(number as u64 + 1));
    }
    sa
}

#[test]
fn packets_in_order_have_no_gaps() {
    let sa = packets(&[1, 2, 3, 4]);
    assert_eq!((sa.packets, sa.bytes, sa.highest_sequence), (4, 80, 4));
    assert_eq!((sa.missing, sa.repeated, sa.late, sa.wrapped), (0, 0, 0, 0));
}

#[test]
fn packets_that_a_host_sends_at_once_are_read_one_by_one() {
    let packet = |sequence: u32, length: usize| {
        let header = Header { spi: 0x1234, sequence };
        [&header.encode()[..], &vec![0x5a; length - HEADER]].concat()
    };
    let at_once: Vec<u8> = (1..=40)
        .flat_map(|sequence| packet(sequence, if sequence < 40 { 88 } else { 40 }))
        .collect();
    let read: Vec<_> = super::packets(&at_once, 0)
        .filter_map(|(packet, _)| header(packet))
        .collect();
    assert_eq!(read.len(), 40);
    assert!((1..).zip(&read).all(|(sequence, header)| header.sequence == sequence));
    // Captured in part: the last of those that are there lacks bytes.
    let read: Vec<_> = super::packets(&at_once[..1000], at_once.len() - 1000).collect();
    assert_eq!((read.len(), read[10].1, read[11].1), (12, 0, at_once.len() - 1000));
    // Also where it ends within a header; octets after the last of a whole capture are no packet.
    assert_eq!(super::packets(&at_once[..88 * 20 + 5], 83).count(), 20);
    assert_eq!(super::packets(&at_once[..88 * 20 + 5], 0).count(), 1);
    // One packet, one of the size that a link takes, and one among others: none is split.
    for whole in [
        packet(7, 9000),
        at_once[..88 * 10].to_vec(),
        [packet(1, 800), packet(2, 808), packet(9, 808)].concat(),
    ] {
        assert_eq!(super::packets(&whole, 0).count(), 1);
        assert!(
            super::counted(&whole, 0, Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()).is_none()
                || whole.len() <= LARGEST
        );
    }
}

#[test]
fn lost_late_and_repeated_packets_are_distinguished() {
    let sa = packets(&[1, 2, 5, 4, 4, 5, 9]);
    assert_eq!((sa.missing, sa.late, sa.repeated), (1 + 3, 1, 2));
}

#[test]
fn a_packet_behind_the_window_counts_as_repeated() {
    assert_eq!(packets(&[1, 2, 100, 3]).repeated, 1);
}

#[test]
fn a_sequence_that_goes_past_its_end_says_so() {
    let sa = packets(&[u32::MAX - 1, u32::MAX, 0, 1]);
    assert_eq!((sa.wrapped, sa.missing, sa.highest_sequence), (1, 0, 1));
}

/// With an implicit vector (RFC 8750) nothing else shows that a nonce was used twice.
#[test]
fn a_sequence_number_with_other_bytes_is_noticed_and_a_copy_or_a_new_cycle_is_none() {
    let sent = |packets: &[(u32, u8)]| {
        let end = |last| SocketAddr::new(Ipv4Addr::new(10, 0, 0, last).into(), 0);
        let first = Header {
            spi: 0x1234,
            sequence: packets[0].0,
        };
        let mut sa = EspSa::new(1, end(1), end(2), Carrier::Ip, first, moment(1));
        for (number, &(sequence, content)) in packets.iter().enumerate() {
            let bytes = [&0x1234u32.to_be_bytes()[..], &sequence.to_be_bytes(), &[content; 80]].concat();
            let header = Header { spi: 0x1234, sequence };
            sa.packet(header, &bytes, 0, moment(number as u64 + 2));
        }
        sa.begins_again()
    };
    assert!(!sent(&[(9, 0xaa), (10, 1), (11, 1), (10, 1), (11, 1)]), "copies");
    assert!(sent(&[(9, 0xaa), (10, 1), (11, 1), (10, 2)]));
    let cycle = [(u32::MAX - 1, 1), (u32::MAX, 1), (0, 1), (1, 1)];
    assert!(!sent(&cycle));
    let late = [(0, 1), (u32::MAX, 1), (1, 1)];
    let end = [(u32::MAX - 1, 2), (u32::MAX, 2), (2, 2)];
    let far = [(1 << 30, 1), (1 << 31, 1), (3 << 30, 1)];
    assert!(
        !sent(&[&late[..], &far, &end].concat()),
        "a late packet of the cycle before"
    );
    let next = cycle.map(|(sequence, _)| (sequence, 2));
    assert!(!sent(&[&cycle[..], &far, &next].concat()), "another cycle");
}

#[test]
fn an_association_with_a_reserved_number_is_not_passed_over() {
    for spi in [0, 1, 255, 256] {
        let packet = [0, 0, (spi >> 8) as u8, spi as u8, 0, 0, 0, 1];
        assert_eq!(header(&packet), Some(Header { spi, sequence: 1 }));
    }
    assert_eq!(header(&[1; 7]), None);
}

/// An IPv4 packet with a checksum that is right, as NULL encryption shows it.
fn null_encrypted(vector: usize, icv: usize) -> Vec<u8> {
    let mut inner = vec![0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let sum: u32 = inner
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    inner[10..12].copy_from_slice(&sum.to_be_bytes());
    inner.extend([7; 8]);
    let mut packet = vec![0, 0, 0x12, 0x34, 0, 0, 0, 1];
    packet.extend(vec![0xee; vector]);
    packet.extend(inner);
    packet.extend([1, 2, 2, 4]);
    packet.extend(vec![0xdd; icv]);
    packet
}

#[test]
fn null_encryption_is_seen_with_and_without_a_vector() {
    for (vector, icv) in [(0, 12), (0, 16), (8, 16)] {
        assert!(is_in_plaintext(&null_encrypted(vector, icv), 0));
    }
    let mut wrong = null_encrypted(0, 12);
    wrong[20] ^= 1;
    assert!(!is_in_plaintext(&wrong, 0), "its checksum is wrong");
}

/// An ESP packet with this in it, padded as it must be, and a check of so many bytes.
fn with_trailer(held: &[u8], next: u8, vector: usize, check: usize) -> Vec<u8> {
    let mut packet = vec![0, 0, 0x12, 0x34, 0, 0, 0, 1];
    packet.extend(vec![0xee; vector]);
    packet.extend(held);
    let padding = (held.len() + 2).next_multiple_of(4) - held.len() - 2;
    packet.extend((1..).take(padding));
    packet.extend([padding as u8, next]);
    packet.extend((0..check).map(|at| at as u8 ^ 0x5c));
    packet
}

/// Bytes without a pattern.
fn spread(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 167 + 13) as u8).collect()
}

#[test]
fn what_a_trailer_names_and_what_is_there_tell_null_encryption() {
    let mut ipv6 = vec![0x60, 1, 2, 3, 0, 25, 17, 64];
    ipv6.extend(spread(32 + 25));
    let mut udp = vec![0x9c, 0x41, 0x08, 0x68, 0, 31, 0xab, 0xcd];
    udp.extend(spread(23));
    // A DATA chunk of 18 bytes, padded, and a HEARTBEAT.
    let mut sctp = spread(12);
    sctp.extend([0, 3, 0, 18]);
    sctp.extend(spread(16));
    sctp.extend([4, 0, 0, 8, 9, 8, 7, 6]);
    for (held, next, other) in [(&ipv6, 41, 17), (&udp, 17, 132), (&sctp, 132, 41)] {
        for (vector, check) in [(0, 12), (0, 16), (8, 16), (0, 24), (0, 32)] {
            let packet = with_trailer(held, next, vector, check);
            assert!(is_in_plaintext(&packet, 0), "{next} {vector} {check}");
            assert!(
                !is_in_plaintext(&with_trailer(held, other, vector, check), 0),
                "{other}"
            );
            assert!(!is_in_plaintext(&packet[..packet.len() - 1], 0), "cut");
            assert!(!is_in_plaintext(&packet, 1), "its end is not in the capture");
        }
        let mut longer = held.clone();
        longer.push(7);
        assert!(!is_in_plaintext(&with_trailer(&longer, next, 0, 12), 0), "{next}");
    }
}

#[test]
fn bytes_that_are_not_spread_as_encrypted_ones_are_a_hint_in_any_mode() {
    // SCTP with an E2AP message in transport mode, as FlexRIC sends it: many zeros.
    let mut clear = vec![0, 0, 0x12, 0x34, 0, 0, 0, 1];
    clear.extend([0x8e, 0x45, 0x9c, 0x18, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0, 3, 0, 80]);
    clear.extend(
        [
            0, 1, 0, 0, 0, 0, 0, 70, 0, 1, 0, 60, 0, 0, 4, 0, 49, 0, 2, 0, 0, 0, 3, 0, 9,
        ]
        .repeat(3),
    );
    assert_eq!(clear::is_skewed(&clear), Some(true));
    assert_eq!(of_packets([(&clear[..], 0)]).looks_encrypted(), Some(false));
    // A multiplicative generator's bytes, spread evenly.
    let mut state = 1u64;
    let mut sealed = vec![0, 0, 0x12, 0x34, 0, 0, 0, 1];
    sealed.extend((0..1400).map(|_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    }));
    for length in [40, 88, 200, 1408] {
        assert!(!is_in_plaintext(&sealed[..length], 0), "{length}");
        assert_ne!(clear::is_skewed(&sealed[..length]), Some(true), "{length}");
    }
}

fn is_in_plaintext(packet: &[u8], missing: usize) -> bool {
    let end = |last| Ipv4Addr::new(10, 0, 0, last).into();
    clear::look(packet, missing, end(1), end(2)) == Found::Structure
}

/// An association between 10.0.0.1 and 10.0.0.2 with these packets, of each of which so many bytes are missing.
fn of_packets<'a>(packets: impl IntoIterator<Item = (&'a [u8], usize)>) -> EspSa {
    let end = |last| SocketAddr::new(Ipv4Addr::new(10, 0, 0, last).into(), 0);
    let mut sa = EspSa::new(
        1,
        end(1),
        end(2),
        Carrier::Ip,
        Header {
            spi: 0x1234,
            sequence: 1,
        },
        moment(1),
    );
    for (number, (packet, missing)) in (1u32..).zip(packets) {
        let header = Header {
            spi: 0x1234,
            sequence: number,
        };
        sa.packet(header, packet, missing, moment(number.into()));
    }
    sa
}

/// Bytes as a good cipher gives them, of this packet.
fn sealed(number: u64, length: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = vec![0, 0, 0x12, 0x34, 0, 0, 0, number as u8];
    bytes.extend((0..length).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    }));
    bytes
}

/// A TCP segment between 10.0.0.1 and 10.0.0.2 with a checksum that is right.
fn segment(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![
        0x9c, 0x40, 0x13, 0xc4, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0,
    ];
    bytes.extend(payload);
    bytes
}

#[test]
fn sip_in_tcp_in_transport_mode_is_read_over_the_life_of_the_association() {
    // As the IMS of Open5GS sends it between a phone and its P-CSCF: its first packets are too
    // short, or captured in part.
    let text = b"REGISTER sip:ims.mnc001.mcc001.3gppnetwork.org SIP/2.0\r\nVia: SIP/2.0/TCP 10.0.0.1\r\n\r\n";
    let whole = with_trailer(&segment(text), 6, 0, 12);
    for packets in [
        vec![(&whole[..], 0), (&whole[..], 0)],
        vec![(&sealed(1, 4)[..], 0), (&whole[..], 0)],
        vec![(&whole[..40], whole.len() - 40), (&whole[..], 0)],
        // Captured in part throughout: the header is there.
        vec![(&whole[..60], whole.len() - 60); 3],
    ] {
        assert!(of_packets(packets).in_plaintext().is_some());
    }
    // Behind many dummy packets, as traffic flow confidentiality sends them.
    let dummies: Vec<Vec<u8>> = (0..200).map(|number| sealed(number, 100)).collect();
    let packets = dummies.iter().map(|packet| (&packet[..], 0));
    let late = packets.chain([(&whole[..], 0); 64]);
    assert_eq!(
        of_packets(late).in_plaintext().map(|at| at.packet),
        Some(209),
        "the first of those looked at"
    );
}

#[test]
fn what_else_ip_carries_is_read_too() {
    let checked = |mut bytes: Vec<u8>, at: usize| {
        let sum: u32 = bytes
            .chunks(2)
            .map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)))
            .sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        bytes
    };
    let echo = checked([&[8, 0, 0, 0, 0, 1, 0, 1][..], &spread(56)].concat(), 2);
    let ipv4 = null_encrypted(0, 0)[8..36].to_vec();
    let gre = [&[0, 0, 8, 0][..], &ipv4].concat();
    let mut ospf = vec![2, 1, 0, 44, 1, 2, 3, 4];
    ospf.extend(spread(36));
    // Hop-by-hop options before UDP, as IPv6 may have them.
    let mut udp = vec![17, 0, 1, 4, 0, 0, 0, 0, 0x9c, 0x41, 0x08, 0x68, 0, 31, 0xab, 0xcd];
    udp.extend(spread(23));
    // Its header damaged, the checksum of a TCP segment still counts.
    let mut odd = segment(&spread(40));
    odd[12] = 0x57;
    let pseudo = [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 6, 0, odd.len() as u8][..], &odd].concat();
    let odd = checked(pseudo, 12 + 16)[12..].to_vec();
    for (held, next) in [(&echo, 1), (&ipv4, 4), (&gre, 47), (&ospf, 89), (&udp, 0), (&odd, 6)] {
        assert!(is_in_plaintext(&with_trailer(held, next, 0, 16), 0), "{next}");
        assert!(
            is_in_plaintext(&with_trailer(held, next, 8, 16), 0),
            "{next} behind a vector"
        );
        let mut wrong = held.clone();
        let last = wrong.len() - 1;
        wrong[last] ^= 0x55;
        wrong[2] ^= 0x55;
        wrong[12] ^= 0x50;
        wrong.push(1);
        assert!(
            !is_in_plaintext(&with_trailer(&wrong, next, 0, 16), 0),
            "{next} damaged"
        );
    }
}

#[test]
fn of_a_hundred_thousand_encrypted_packets_none_is_taken_for_text() {
    let mut sa = of_packets([]);
    for number in 0..100_000u64 {
        let packet = sealed(number, 60 + number as usize % 90);
        let found = clear::look(&packet, if number % 3 == 0 { 40 } else { 0 }, sa.source, sa.destination);
        assert_ne!(found, Found::Structure, "{number}");
        sa.looked.add(found, clear::is_skewed(&packet), moment(number));
    }
    assert_eq!((sa.in_plaintext(), sa.looks_encrypted()), (None, Some(true)));
}

proptest! {
    #[test]
    fn any_packets_never_panic(packets in proptest::collection::vec((any::<u32>(), proptest::collection::vec(any::<u8>(), 0..80)), 1..50)) {
        let end = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let mut sa = EspSa::new(1, end, end, Carrier::Ip, Header { spi: 300, sequence: packets[0].0 }, moment(1));
        for (number, (sequence, bytes)) in packets.iter().enumerate() {
            let _ = header(bytes);
            sa.packet(Header { spi: 300, sequence: *sequence }, bytes, 0, moment(number as u64));
        }
        prop_assert_eq!(sa.packets, packets.len() as u64);
    }

    #[test]
    fn a_shuffle_within_the_window_loses_nothing(start in any::<u32>(), order in Just((0..60u32).collect::<Vec<_>>()).prop_shuffle()) {
        let mut sequences = vec![start];
        sequences.extend(order.iter().map(|step| start.wrapping_add(step + 1)));
        let sa = packets(&sequences);
        prop_assert_eq!((sa.missing, sa.repeated), (0, 0));
    }
}
