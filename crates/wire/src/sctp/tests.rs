use std::net::{Ipv4Addr, SocketAddr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{Ending, Moment, Timestamp};

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet * 1000),
    }
}

/// A packet with these chunks: type, flags, value.
fn bytes(ports: (u16, u16), tag: u32, chunks: &[(u8, u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = [ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat();
    bytes.extend(tag.to_be_bytes());
    bytes.extend([0; 4]);
    for (kind, flags, value) in chunks {
        bytes.extend([*kind, *flags]);
        bytes.extend((value.len() as u16 + 4).to_be_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

fn data(tsn: u32, flags: u8, payload: &[u8]) -> (u8, u8, Vec<u8>) {
    let mut value = tsn.to_be_bytes().to_vec();
    value.extend([0, 1, 0, 0, 0, 0, 0, 60]);
    value.extend(payload);
    (kind::DATA, flags, value)
}

fn sack(cumulative: u32, gaps: &[(u16, u16)]) -> (u8, u8, Vec<u8>) {
    let mut value = cumulative.to_be_bytes().to_vec();
    value.extend([0, 0, 0xff, 0xff]);
    value.extend((gaps.len() as u16).to_be_bytes());
    value.extend([0, 0]);
    for (start, end) in gaps {
        value.extend(start.to_be_bytes());
        value.extend(end.to_be_bytes());
    }
    (kind::SACK, 0, value)
}

/// An association fed with packets, each of one direction.
fn follow(packets: &[(usize, Vec<u8>)]) -> (Association, Vec<Event>) {
    let end = |last, port| SocketAddr::new(Ipv4Addr::new(10, 0, 0, last).into(), port);
    let ends = [end(1, 50000), end(2, 38412)];
    let first = packet(&packets[0].1, 0).unwrap();
    let mut tracker = Tracker::new(1, ends[0], ends[1], &first, at(1));
    let mut events = Vec::new();
    for (number, (direction, bytes)) in packets.iter().enumerate() {
        let read = packet(bytes, 0).unwrap();
        let addresses = (ends[*direction].ip(), ends[1 - direction].ip());
        tracker.packet(&read, *direction, addresses, at(number as u64 + 1), |event| {
            events.push(event);
        });
    }
    let association = tracker.finish(Ending::Open, |event| events.push(event));
    (association, events)
}

fn up(chunks: &[(u8, u8, Vec<u8>)]) -> (usize, Vec<u8>) {
    (0, bytes((50000, 38412), 7, chunks))
}

fn down(chunks: &[(u8, u8, Vec<u8>)]) -> (usize, Vec<u8>) {
    (1, bytes((38412, 50000), 9, chunks))
}

#[test]
fn a_message_in_three_chunks_is_one_whatever_their_order() {
    for order in [[1, 2, 3], [2, 1, 3], [3, 2, 1], [1, 3, 2]] {
        let chunk = |tsn| data(tsn, [2, 0, 1][tsn as usize - 1], &[7; 100]);
        let mut packets = vec![up(&[data(0, 3, b"first")])];
        packets.extend(order.iter().map(|&tsn| up(&[chunk(tsn)])));
        let (association, events) = follow(&packets);
        let sent = &association.from_initiator;
        assert_eq!((sent.messages, sent.fragmented, sent.longest), (2, 1, 300), "{order:?}");
        assert_eq!(events.len(), 2);
        assert_eq!((sent.repeated, sent.missing), (0, 0));
    }
}

#[test]
fn a_chunk_that_came_twice_is_one() {
    let (association, _) = follow(&[up(&[data(1, 3, b"a")]), up(&[data(1, 3, b"a")])]);
    let sent = &association.from_initiator;
    assert_eq!((sent.chunks, sent.repeated, sent.messages), (1, 1, 1));
}

#[test]
fn a_hole_is_counted_at_the_end() {
    let (association, _) = follow(&[up(&[data(1, 3, b"a")]), up(&[data(4, 3, b"b")])]);
    let sent = &association.from_initiator;
    assert_eq!((sent.messages, sent.missing), (2, 2));
}

#[test]
fn acknowledgements_are_timed_by_tsn_also_behind_a_gap_and_not_for_what_was_sent_again() {
    let (association, events) = follow(&[
        up(&[data(1, 3, b"a"), data(2, 3, b"b"), data(3, 3, b"c")]),
        up(&[data(2, 3, b"b")]),
        down(&[sack(1, &[(2, 2)])]),
        down(&[sack(3, &[])]),
    ]);
    let acknowledged: Vec<(u32, u64)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Acknowledged { tsn, data, sack, .. } => Some((*tsn, sack.packet - data.packet)),
            Event::Message { .. } => None,
        })
        .collect();
    assert_eq!(acknowledged, [(1, 2), (3, 2)]);
    let delays = association.from_initiator.acknowledged_after;
    assert_eq!((delays.count, delays.least, delays.most), (2, 2000, 2000));
}

#[test]
fn sequence_numbers_go_past_their_end() {
    let (association, events) = follow(&[up(&[data(u32::MAX, 3, b"a"), data(0, 3, b"b")]), down(&[sack(0, &[])])]);
    assert_eq!(association.from_initiator.messages, 2);
    assert_eq!(events.len(), 4);
}

#[test]
fn i_data_names_its_payload_in_the_first_part_only() {
    let part = |tsn: u32, flags: u8, last: u32| {
        let mut value = tsn.to_be_bytes().to_vec();
        value.extend([0, 5, 0, 0, 0, 0, 0, 1]);
        value.extend(last.to_be_bytes());
        value.extend([9; 10]);
        (kind::I_DATA, flags, value)
    };
    let (association, events) = follow(&[up(&[part(1, 2, 70), part(2, 1, 1)])]);
    assert_eq!(association.from_initiator.payload_protocols, [(70, 1)]);
    let Event::Message {
        bytes,
        chunks,
        stream,
        payload_protocol,
        ..
    } = events[0]
    else {
        panic!()
    };
    assert_eq!((bytes, chunks, stream, payload_protocol), (20, 2, 5, Some(70)));
}

#[test]
fn further_addresses_come_from_init() {
    let mut value = 99u32.to_be_bytes().to_vec();
    value.extend([0, 0, 0xff, 0xff, 0, 10, 0, 10]);
    value.extend(1000u32.to_be_bytes());
    value.extend([0, 5, 0, 8, 192, 0, 2, 1]);
    let init = (0, bytes((50000, 38412), 0, &[(kind::INIT, 0, value)]));
    let (association, _) = follow(&[init, up(&[data(1000, 3, b"a")])]);
    let addresses: Vec<String> = association
        .initiator_addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(addresses, ["10.0.0.1", "192.0.2.1"]);
    assert_eq!((association.initiator_tag, association.begun), (Some(99), Begun::Init));
    assert_eq!(association.from_initiator.missing, 0);
}

/// A DTLS 1.2 record with a ServerHello that takes ECDHE-ECDSA-AES256-GCM.
fn server_hello() -> Vec<u8> {
    let mut hello = vec![0xfe, 0xfd];
    hello.extend([5; 32]);
    hello.extend([0, 0xc0, 0x2c, 0, 0, 0]);
    let mut handshake = vec![2, 0, 0, hello.len() as u8, 0, 0, 0, 0, 0, 0, 0, hello.len() as u8];
    handshake.extend(hello);
    let mut record = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, handshake.len() as u8];
    record.extend(handshake);
    record
}

#[test]
fn dtls_in_user_messages_is_recognised_with_its_version() {
    let sealed = [23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4];
    let (association, _) = follow(&[up(&[data(1, 3, &server_hello())]), down(&[data(1, 3, &sealed)])]);
    let dtls = association.dtls.unwrap();
    assert_eq!((dtls.messages, association.plain_messages), (2, 0));
    let hello = dtls.server_hello.unwrap().value;
    assert_eq!((hello.version.0, hello.cipher_suite), (0xfefd, 0xc02c));
}

#[test]
fn ngap_beside_dtls_is_plain() {
    let (association, _) = follow(&[
        up(&[data(1, 3, &server_hello())]),
        up(&[data(2, 3, &[0, 21, 0, 62, 0, 0, 4, 0, 27, 0, 9, 0, 2, 0xf8, 0x39])]),
    ]);
    assert_eq!((association.dtls.unwrap().messages, association.plain_messages), (1, 1));
}

proptest! {
    #[test]
    fn any_bytes_never_panic(packets in vec((0..2usize, vec(any::<u8>(), 12..200)), 1..20)) {
        let readable: Vec<_> = packets.into_iter().filter(|(_, bytes)| packet(bytes, 0).is_some()).collect();
        prop_assume!(!readable.is_empty());
        follow(&readable);
    }

    #[test]
    fn any_chunks_never_panic_and_stay_bounded(
        chunks in vec((0..2usize, 0..200u8, any::<u8>(), vec(0..8u8, 0..40)), 1..200)
    ) {
        let kinds = [kind::DATA, kind::I_DATA, kind::SACK, kind::INIT, kind::INIT_ACK, kind::FORWARD_TSN, kind::HEARTBEAT];
        let packets: Vec<_> = chunks
            .into_iter()
            .map(|(direction, kind, flags, value)| {
                let chunk = (kinds[usize::from(kind) % kinds.len()], flags, value);
                if direction == 0 { up(&[chunk]) } else { down(&[chunk]) }
            })
            .collect();
        let (association, _) = follow(&packets);
        prop_assert!(association.initiator_addresses.len() <= 16);
    }

    #[test]
    fn chunks_come_back(chunks in vec((any::<u8>(), any::<u8>(), vec(any::<u8>(), 0..50)), 0..20)) {
        let bytes = bytes((1, 2), 3, &chunks);
        let read: Vec<_> = packet(&bytes, 0).unwrap().chunks().map(|chunk| (chunk.kind, chunk.flags, chunk.value.to_vec())).collect();
        prop_assert_eq!(read, chunks);
    }

    #[test]
    fn messages_cut_into_chunks_and_shuffled_are_counted_once(
        lengths in vec(1..6usize, 1..20),
        order in any::<prop::sample::Index>(),
        start in any::<u32>(),
    ) {
        let mut chunks = Vec::new();
        for length in &lengths {
            for part in 0..*length {
                let flags = if part == 0 { 2 } else { 0 } | u8::from(part + 1 == *length);
                chunks.push(data(start.wrapping_add(chunks.len() as u32), flags, &[1; 50]));
            }
        }
        // The first stays first: it tells where the numbers begin.
        let count = chunks.len();
        if count > 1 {
            chunks[1..].rotate_left(order.index(count - 1));
        }
        let packets: Vec<_> = chunks.into_iter().map(|chunk| up(&[chunk])).collect();
        let (association, _) = follow(&packets);
        prop_assert_eq!(association.from_initiator.messages, lengths.len() as u64);
        prop_assert_eq!(association.from_initiator.bytes, 50 * count as u64);
    }
}
