use std::ops::Range;
use std::sync::Arc;

use bartizan_registry::QuicVersion;
use proptest::prelude::*;

use super::session::{Session, Taken};
use super::*;
use crate::keys::{Candidate, Certificate, IkeCandidate, InitialKeys, Keys, TlsDirection};
use crate::{Moment, Timestamp};

/// Keys under which every packet to an identifier of the client's is what it says, with a number of one byte.
struct Plain;

struct PlainOf;

impl InitialKeys for PlainOf {
    fn open(&self, from: Side, packet: &mut [u8], number: usize, _: u64) -> Option<(u64, Range<usize>)> {
        let wanted = if from == Side::Client { 0xc1 } else { 0xd1 };
        let body = number + 1..packet.len();
        (*packet.get(body.start)? == wanted).then(|| (u64::from(packet[number]), body.start + 1..body.end))
    }
}

impl Keys for Plain {
    fn knows_tls(&self, _: &[u8; 32]) -> bool {
        false
    }

    fn tls(&self, _: &TlsDirection<'_>) -> Vec<Candidate> {
        Vec::new()
    }

    fn unpack(&self, _: u16, _: &[u8], _: usize) -> Option<Vec<u8>> {
        None
    }

    fn certificate(&self, _: &[u8]) -> Certificate {
        unreachable!("QUIC shows no certificate")
    }

    fn ike(&self, _: u64, _: u64) -> Vec<IkeCandidate> {
        Vec::new()
    }

    fn quic(&self, _: &QuicVersion, _: &[u8]) -> Option<Arc<dyn InitialKeys>> {
        Some(Arc::new(PlainOf))
    }
}

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

/// An Initial packet of version 1 with these frames.
fn initial(mark: u8, destination: &[u8], source: &[u8], frames: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xc0, 0, 0, 0, 1, destination.len() as u8];
    packet.extend(destination);
    packet.push(source.len() as u8);
    packet.extend(source);
    // No token; the length takes two bytes.
    packet.push(0);
    packet.extend((0x4000 | (frames.len() as u16 + 2)).to_be_bytes());
    packet.extend([7, mark]);
    packet.extend(frames);
    packet
}

fn crypto(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![6];
    frame.extend((0x4000 | offset as u16).to_be_bytes());
    frame.extend((0x4000 | bytes.len() as u16).to_be_bytes());
    frame.extend(bytes);
    frame
}

/// A ClientHello with a share of X25519MLKEM768, a random that begins with `mark`, and without anything else.
fn client_hello(mark: u8) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([mark; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let mut extensions = vec![0, 43, 0, 3, 2, 3, 4, 0, 10, 0, 4, 0, 2, 0x11, 0xec];
    extensions.extend([0, 51]);
    extensions.extend((1216u16 + 6).to_be_bytes());
    extensions.extend((1216u16 + 4).to_be_bytes());
    extensions.extend([0x11, 0xec]);
    extensions.extend(1216u16.to_be_bytes());
    extensions.extend((0..1216u16).map(|byte| byte as u8));
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let mut message = vec![1, 0];
    message.extend((body.len() as u16).to_be_bytes());
    message.extend(body);
    message
}

fn server_hello() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([9; 32]);
    body.extend([0, 0x13, 1, 0]);
    body.extend([0, 46, 0, 43, 0, 2, 3, 4, 0, 51, 0, 36, 0, 29, 0, 32]);
    body.extend([5; 32]);
    let mut message = vec![2, 0];
    message.extend((body.len() as u16).to_be_bytes());
    message.extend(body);
    message
}

#[test]
fn both_hellos_are_read_and_what_follows_is_counted() {
    let mut session = Session::new();
    let hello = client_hello(1);
    let (one, other) = hello.split_at(700);
    let first = initial(0xc1, b"original", b"client", &crypto(700, other));
    let second = initial(0xc1, b"original", b"client", &crypto(0, one));
    assert_eq!(session.datagram(&first, 0, 0, at(1), Some(&Plain)), Taken::Here);
    assert_eq!(session.datagram(&second, 0, 0, at(2), Some(&Plain)), Taken::Here);
    // The answer, and behind it in the same datagram a Handshake packet, and one with a short header.
    let mut answer = initial(
        0xd1,
        b"client",
        b"server",
        &[&[2, 1, 0, 0, 0][..], &crypto(0, &server_hello())].concat(),
    );
    answer.extend([0xe0, 0, 0, 0, 1, 6]);
    answer.extend(b"client");
    answer.push(0);
    answer.extend([3, 1, 2, 3]);
    answer.extend([0x40; 30]);
    session.datagram(&answer, 0, 1, at(3), Some(&Plain));
    assert_eq!(session.take_new_cids().len(), 3);
    assert_eq!(session.client(), Some(0));
    let seen = session.outcome();
    let hello = seen.tls.client_hello.unwrap();
    assert_eq!(
        (hello.first.packet, hello.last.packet),
        (1, 2),
        "its bytes came in both packets"
    );
    assert_eq!(hello.value.key_shares[0].length, 1216);
    assert!(seen.tls.server_hello.is_some());
    assert_eq!((seen.opened, seen.unopened), (3, 0));
    assert_eq!((seen.protected, seen.short), ([0, 2], [0, 1]));
    assert_eq!((seen.contradicted, seen.tls.faults), (None, vec![]));
}

#[test]
fn another_connection_between_the_same_sockets_is_recognised_by_its_own_keys() {
    let mut session = Session::new();
    let hello = crypto(0, &client_hello(1));
    session.datagram(
        &initial(0xc1, b"original", b"client", &hello),
        0,
        0,
        at(1),
        Some(&Plain),
    );
    let mut other = client_hello(2);
    other[8] = 0xaa;
    // PlainOf opens all: with the keys that are known it is one of this connection, and says something else.
    session.datagram(
        &initial(0xc1, b"original", b"client", &crypto(0, &other)),
        0,
        0,
        at(2),
        Some(&Plain),
    );
    assert_eq!(session.outcome().contradicted, Some(at(2)));
}

#[test]
fn version_negotiation_makes_the_client_begin_again_unless_the_server_has_answered() {
    let negotiation = [&[0x80, 0, 0, 0, 0, 6][..], b"client", &[8], b"original", &[0, 0, 0, 1]].concat();
    for answered in [false, true] {
        let mut session = Session::new();
        let hello = |mark| initial(0xc1, b"original", b"client", &crypto(0, &client_hello(mark)));
        session.datagram(&hello(1), 0, 0, at(1), Some(&Plain));
        if answered {
            let answer = initial(0xd1, b"client", b"server", &crypto(0, &server_hello()));
            session.datagram(&answer, 0, 1, at(2), Some(&Plain));
        }
        session.datagram(&negotiation, 0, 1, at(3), Some(&Plain));
        session.datagram(&hello(2), 0, 0, at(4), Some(&Plain));
        let seen = session.outcome();
        assert_eq!(seen.contradicted.is_some(), answered);
        let random = seen.tls.client_hello.unwrap().value.random;
        assert_eq!(random[0], if answered { 1 } else { 2 });
    }
}

/// A Retry of version 1, and its tag.
fn retry(destination: &[u8], source: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xf0, 0, 0, 0, 1, destination.len() as u8];
    packet.extend(destination);
    packet.push(source.len() as u8);
    packet.extend(source);
    packet.extend([0x5a; 24]);
    packet
}

#[test]
fn behind_a_retry_the_clients_second_hello_counts() {
    let mut session = Session::new();
    let hello = |mark, to: &[u8]| initial(0xc1, to, b"client", &crypto(0, &client_hello(mark)));
    session.datagram(&hello(1, b"original"), 0, 0, at(1), Some(&Plain));
    session.datagram(&retry(b"client", b"server"), 0, 1, at(2), Some(&Plain));
    session.datagram(&hello(2, b"server"), 0, 0, at(3), Some(&Plain));
    let answer = initial(0xd1, b"client", b"server", &crypto(0, &server_hello()));
    session.datagram(&answer, 0, 1, at(4), Some(&Plain));
    // Repeated bytes are compared.
    session.datagram(&hello(2, b"server"), 0, 0, at(5), Some(&Plain));
    let seen = session.outcome();
    assert_eq!((seen.contradicted, seen.retry), (None, Some(at(2))));
    assert_eq!(seen.tls.client_hello.unwrap().value.random[0], 2);
    assert!(seen.tls.server_hello.is_some());
}

/// Keys that open packets with the mark of their identifier, or one more from the server.
struct Marked;

struct MarkedOf(u8);

impl InitialKeys for MarkedOf {
    fn open(&self, from: Side, packet: &mut [u8], number: usize, _: u64) -> Option<(u64, Range<usize>)> {
        let wanted = self.0 + u8::from(from == Side::Server);
        let body = number + 1..packet.len();
        (*packet.get(body.start)? == wanted).then(|| (u64::from(packet[number]), body.start + 1..body.end))
    }
}

impl Keys for Marked {
    fn knows_tls(&self, random: &[u8; 32]) -> bool {
        Plain.knows_tls(random)
    }

    fn tls(&self, direction: &TlsDirection<'_>) -> Vec<Candidate> {
        Plain.tls(direction)
    }

    fn unpack(&self, algorithm: u16, packed: &[u8], length: usize) -> Option<Vec<u8>> {
        Plain.unpack(algorithm, packed, length)
    }

    fn certificate(&self, certificate: &[u8]) -> Certificate {
        Plain.certificate(certificate)
    }

    fn ike(&self, initiator: u64, responder: u64) -> Vec<IkeCandidate> {
        Plain.ike(initiator, responder)
    }

    fn quic(&self, _: &QuicVersion, destination: &[u8]) -> Option<Arc<dyn InitialKeys>> {
        Some(Arc::new(MarkedOf(destination[0])))
    }
}

#[test]
fn an_answer_to_what_was_said_before_a_retry_contradicts_the_retry() {
    for answered in [b'o', b's'] {
        let mut session = Session::new();
        let hello = |mark, to: &[u8]| initial(to[0], to, b"client", &crypto(0, &client_hello(mark)));
        session.datagram(&hello(1, b"original"), 0, 0, at(1), Some(&Marked));
        session.datagram(&retry(b"client", b"server"), 0, 1, at(2), Some(&Marked));
        session.datagram(&hello(2, b"server"), 0, 0, at(3), Some(&Marked));
        // Bytes that the client sent before arrive late: they no longer count.
        session.datagram(&hello(1, b"original"), 0, 0, at(4), Some(&Marked));
        let answer = initial(answered + 1, b"client", b"server", &crypto(0, &server_hello()));
        session.datagram(&answer, 0, 1, at(5), Some(&Marked));
        let seen = session.outcome();
        let believed = answered == b's';
        assert_eq!(seen.contradicted.is_none(), believed);
        assert_eq!(seen.tls.server_hello.is_some(), believed);
        assert_eq!(seen.tls.client_hello.unwrap().value.random[0], 2);
    }
}

#[test]
fn versions_are_distinguished_from_other_bytes() {
    assert_eq!(versions(&[0xc0, 0, 0, 0, 1, 0, 0, 0, 0]), [1]);
    assert_eq!(versions(&[0x80, 0, 0, 0, 1, 0, 0, 0, 0]), [0; 0], "no fixed bit");
    assert_eq!(versions(&[0xc0, 0, 0, 0, 9, 0, 0, 0]), [0; 0]);
    assert_eq!(versions(b"\xc3Q046\x00\x00"), [0x5130_3436]);
    assert_eq!(
        versions(&[0x9a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x1a, 0x2a, 0x3a, 0x4a]),
        [1, 0x1a2a_3a4a]
    );
    assert_eq!(versions(&[0x9a, 0, 0, 0, 0, 0, 0, 0, 0, 0]), [0; 0], "cut");
}

proptest! {
    /// RFC 9000, section 19.6: frames of the stream may be cut anywhere, and come in any order and twice.
    #[test]
    fn a_hello_is_the_same_however_its_frames_are_cut(
        cuts in proptest::collection::btree_set(1..1290usize, 0..20),
        order in any::<prop::sample::Index>(),
        again in any::<bool>(),
    ) {
        let hello = client_hello(3);
        let mut places: Vec<usize> = cuts.into_iter().filter(|cut| *cut < hello.len()).collect();
        places.insert(0, 0);
        places.push(hello.len());
        let mut frames: Vec<Vec<u8>> = places.windows(2).map(|pair| crypto(pair[0], &hello[pair[0]..pair[1]])).collect();
        let turn = order.index(frames.len());
        frames.rotate_left(turn);
        if again {
            // Cut otherwise.
            frames.push(crypto(5, &hello[5..600]));
        }
        let mut session = Session::new();
        for (index, frame) in frames.iter().enumerate() {
            let packet = initial(0xc1, b"original", b"client", frame);
            session.datagram(&packet, 0, 0, at(index as u64), Some(&Plain));
        }
        let seen = session.outcome();
        prop_assert_eq!(seen.tls.client_hello.map(|hello| hello.value.random), Some([3; 32]));
        prop_assert_eq!((seen.contradicted, seen.omitted), (None, 0));
    }

    #[test]
    fn anything_may_come(datagrams in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..80), 0..2usize, any::<bool>()), 0..20)) {
        let mut session = Session::new();
        for (index, (bytes, from, long)) in datagrams.into_iter().enumerate() {
            let bytes = if long { initial(0xc1, b"original", b"client", &bytes) } else { bytes };
            session.datagram(&bytes, 0, from, at(index as u64), Some(&Plain));
            let _ = (versions(&bytes), session.held(), session.take_new_cids());
        }
        session.outcome();
    }
}
