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
        tracker.packet(&read, *direction, addresses, at(number as u64 + 1), None, |event| {
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

/// A handshake message of DTLS 1.2 as records, each with a fragment of at most so many bytes.
fn dtls_message(kind: u8, sequence: u8, body: &[u8], most: usize) -> Vec<Vec<u8>> {
    let three = |number: usize| (number as u32).to_be_bytes()[1..].to_vec();
    let record = |(nth, piece): (usize, &[u8])| {
        let mut fragment = vec![kind];
        fragment.extend(three(body.len()));
        fragment.extend([0, sequence]);
        fragment.extend(three(nth * most));
        fragment.extend(three(piece.len()));
        fragment.extend(piece);
        let mut record = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1];
        record.extend((fragment.len() as u16).to_be_bytes());
        record.extend(fragment);
        record
    };
    body.chunks(most).enumerate().map(record).collect()
}

/// Two certificates of 700 and 400 bytes, nothing that reads as one.
fn certificates() -> Vec<u8> {
    let mut list = Vec::new();
    for length in [700_u32, 400] {
        list.extend(&length.to_be_bytes()[1..]);
        list.extend((0..length).map(|byte| byte as u8));
    }
    [&(list.len() as u32).to_be_bytes()[1..], &list].concat()
}

/// Each record as one user message, cut into chunks of at most so many bytes.
fn chunks_of(records: &[Vec<u8>], first: u32, most: usize) -> Vec<(u8, u8, Vec<u8>)> {
    let mut tsn = first;
    let mut chunks = Vec::new();
    for record in records {
        let pieces = record.chunks(most);
        let last = pieces.len() - 1;
        for (nth, piece) in pieces.enumerate() {
            chunks.push(data(tsn, u8::from(nth == last) | u8::from(nth == 0) << 1, piece));
            tsn = tsn.wrapping_add(1);
        }
    }
    chunks
}

#[test]
fn fragments_of_a_message_are_one_whatever_their_order_and_however_often_they_come() {
    let body = certificates();
    let whole = dtls_message(11, 2, &body, 250);
    let otherwise = dtls_message(11, 2, &body, 333);
    let mut reversed = whole.clone();
    reversed.reverse();
    let twice = [&whole[..3], &otherwise[..], &whole[3..]].concat();
    for records in [&whole, &reversed, &twice] {
        let records = [&[server_hello()][..], records].concat();
        let packets: Vec<_> = chunks_of(&records, 1, 80)
            .into_iter()
            .map(|chunk| up(&[chunk]))
            .collect();
        let (association, _) = follow(&packets);
        let dtls = association.dtls.unwrap();
        let shown = dtls
            .server_certificates
            .expect("the initiator sent a ServerHello")
            .value;
        assert_eq!((shown.count, shown.length), (2, body.len() + 4));
        assert_eq!((dtls.client, dtls.client_certificates), (Some(1), None));
    }
}

#[test]
fn a_message_of_which_a_part_is_missing_or_that_contradicts_itself_is_none() {
    let body = certificates();
    let whole = dtls_message(11, 2, &body, 250);
    let mut other = body.clone();
    other[300] ^= 1;
    // A retransmission with different bytes.
    let contradiction = [&whole[..2], &dtls_message(11, 2, &other, 333)[..]].concat();
    for records in [&whole[1..], &whole[..4], &contradiction] {
        let records = [&[server_hello()][..], records].concat();
        let packets: Vec<_> = chunks_of(&records, 1, 500)
            .into_iter()
            .map(|chunk| up(&[chunk]))
            .collect();
        assert_eq!(follow(&packets).0.dtls.unwrap().server_certificates, None);
    }
    // A chunk of it is not in the capture.
    let records = [server_hello(), dtls_message(11, 2, &body, 2000).remove(0)];
    let mut chunks = chunks_of(&records, 1, 200);
    chunks.remove(3);
    let packets: Vec<_> = chunks.into_iter().map(|chunk| up(&[chunk])).collect();
    let dtls = follow(&packets).0.dtls.unwrap();
    assert_eq!((dtls.server_hello.is_some(), dtls.server_certificates), (true, None));
}

#[test]
fn what_waits_for_the_rest_of_a_handshake_stays_bounded() {
    let ends = ["10.0.0.1:1000".parse().unwrap(), "10.0.0.2:2000".parse().unwrap()];
    let first = up(&[data(0, 3, &server_hello())]).1;
    let mut tracker = Tracker::new(1, ends[0], ends[1], &packet(&first, 0).unwrap(), at(1));
    let mut records = dtls_message(11, 0, &[7; 60_000], 1100);
    let mut most = 0;
    for number in 0..4000_u32 {
        // Beginnings without end, ends without beginning, fragments of messages that never are whole.
        let fragment = &mut records[number as usize % 50];
        let sequence = 13 + 5;
        fragment[sequence] = (number % 64) as u8;
        let flags = [2, 0, 3][number as usize % 3];
        let bytes = up(&[data(number, flags, fragment)]).1;
        let addresses = (ends[0].ip(), ends[1].ip());
        tracker.packet(&packet(&bytes, 0).unwrap(), 0, addresses, at(2), None, |_| {});
        most = most.max(tracker.held());
    }
    assert!(most < 250_000, "{most}");
}

#[test]
fn behind_the_handshake_nothing_is_put_together() {
    let sealed = [&[23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 1, 3, 232][..], &[9; 1000]].concat();
    let mut chunks = chunks_of(&[server_hello()], 1, 2000);
    chunks.extend(chunks_of(&vec![sealed; 60], 2, 300));
    let packets: Vec<_> = chunks.into_iter().map(|chunk| up(&[chunk])).collect();
    let ends = ["10.0.0.1:1000".parse().unwrap(), "10.0.0.2:2000".parse().unwrap()];
    let mut tracker = Tracker::new(1, ends[0], ends[1], &packet(&packets[0].1, 0).unwrap(), at(1));
    let resting = tracker.held();
    for (_, bytes) in &packets {
        let addresses = (ends[0].ip(), ends[1].ip());
        tracker.packet(&packet(bytes, 0).unwrap(), 0, addresses, at(2), None, |_| {});
    }
    // Next to the hello there are the numbers of chunks that were not acknowledged.
    assert!(tracker.held() < resting + 20_000, "{} {resting}", tracker.held());
    assert_eq!(tracker.finish(Ending::Open, |_| {}).dtls.unwrap().messages, 61);
}

#[test]
fn ngap_next_to_dtls_is_plain() {
    let (association, _) = follow(&[
        up(&[data(1, 3, &server_hello())]),
        up(&[data(2, 3, &[0, 21, 0, 62, 0, 0, 4, 0, 27, 0, 9, 0, 2, 0xf8, 0x39])]),
    ]);
    assert_eq!((association.dtls.unwrap().messages, association.plain_messages), (1, 1));
}

proptest! {
    #[test]
    fn certificates_of_dtls_are_the_same_however_they_are_cut(
        fragment in 60..1300usize,
        chunk in 100..1500usize,
        order in any::<prop::sample::Index>(),
    ) {
        let body = certificates();
        let mut records = dtls_message(11, 2, &body, fragment);
        let count = records.len();
        records.rotate_left(order.index(count));
        records.insert(0, server_hello());
        let packets: Vec<_> = chunks_of(&records, 1, chunk).into_iter().map(|chunk| up(&[chunk])).collect();
        let shown = follow(&packets).0.dtls.unwrap().server_certificates.map(|seen| seen.value);
        let expected = crate::tls::Certificates::read(&body, None);
        prop_assert_eq!(shown, Some(expected));
    }

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
