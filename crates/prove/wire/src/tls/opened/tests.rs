//! Tests with a mock cipher: a body is the key's letter, the sequence number, and the plaintext
//! with every byte inverted. The reading of records and the change of keys do not depend on the
//! cipher.

use proptest::prelude::*;

use super::super::session::Session;
use super::*;
use crate::Timestamp;
use crate::keys::Candidate;
use crate::tls::Tls;

const RANDOM: [u8; 32] = [0xaa; 32];

/// A key by its letter; an update makes it the next letter.
struct Letter(u8);

impl RecordKey for Letter {
    fn open(&mut self, sequence: u64, header: &[u8; 5], body: &mut Vec<u8>) -> bool {
        let right = header[0] == 23 && body.len() >= 2 && body[..2] == [self.0, sequence as u8];
        body.drain(..2.min(body.len()));
        body.iter_mut().for_each(|byte| *byte ^= 0xff);
        right
    }

    fn update(&mut self) -> bool {
        self.0 += 1;
        true
    }

    fn held(&self) -> usize {
        1
    }
}

/// Keys of one connection, except those of `lacking`; those of `wrong` are others.
#[derive(Default)]
struct Letters {
    lacking: Vec<(Side, Epoch)>,
    wrong: Vec<(Side, Epoch)>,
}

fn letter(side: Side, epoch: Epoch) -> u8 {
    match (side, epoch) {
        (Side::Client, Epoch::Early) => b'e',
        (Side::Client, Epoch::Handshake) => b'h',
        (Side::Client, Epoch::Application) => b'a',
        (Side::Server, Epoch::Handshake) => b'H',
        (Side::Server, _) => b'A',
    }
}

impl Keys for Letters {
    fn knows_tls(&self, client_random: &[u8; 32]) -> bool {
        *client_random == RANDOM
    }

    fn tls(&self, wanted: &TlsDirection<'_>) -> Vec<Candidate> {
        let what = (wanted.side, wanted.epoch);
        if self.lacking.contains(&what) {
            return Vec::new();
        }
        let wrong = self.wrong.contains(&what);
        let key = if wrong { b'x' } else { letter(wanted.side, wanted.epoch) };
        vec![Candidate {
            key: Box::new(Letter(key)),
            given: "line 7 of letters".into(),
        }]
    }

    /// Packed is backwards.
    fn unpack(&self, algorithm: u16, packed: &[u8], length: usize) -> Option<Vec<u8>> {
        (algorithm == 1 && packed.len() == length).then(|| packed.iter().rev().copied().collect())
    }

    fn ike(&self, _: u64, _: u64) -> Vec<crate::keys::IkeCandidate> {
        Vec::new()
    }

    fn certificate(&self, der: &[u8]) -> Certificate {
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        Certificate {
            subject: text(der),
            public_key: "key".into(),
            signature: "signature".into(),
            not_after: 0,
            sha256: String::new(),
        }
    }
}

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![kind, 3, 3];
    record.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    record.extend(body);
    record
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(&u32::try_from(body.len()).unwrap().to_be_bytes()[1..]);
    message.extend(body);
    message
}

/// A protected record: its key, its number, and what it holds, with some padding.
fn sealed(key: u8, sequence: u8, kind: u8, content: &[u8]) -> Vec<u8> {
    let inner = [content, &[kind, 0, 0]].concat();
    let mut body = vec![key, sequence];
    body.extend(inner.iter().map(|byte| byte ^ 0xff));
    record(23, &body)
}

fn client_hello(early: bool) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend(RANDOM);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let mut extensions = vec![0, 43, 0, 3, 2, 3, 4];
    if early {
        extensions.extend([0, 42, 0, 0]);
    }
    body.extend([0, extensions.len() as u8]);
    body.extend(extensions);
    record(22, &message(1, &body))
}

fn server_hello() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4]);
    record(22, &message(2, &body))
}

fn certificate(names: &[&[u8]]) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        list.extend(&u32::try_from(name.len()).unwrap().to_be_bytes()[1..]);
        list.extend(*name);
        list.extend([0, 0]);
    }
    let mut body = vec![0];
    body.extend(&u32::try_from(list.len()).unwrap().to_be_bytes()[1..]);
    body.extend(list);
    message(11, &body)
}

fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, 0]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A whole conversation: mutual authentication, HTTP/2, a key changed by each end.
fn conversation() -> Vec<(Side, Vec<u8>)> {
    let alpn = message(8, &[0, 9, 0, 16, 0, 5, 0, 3, 2, b'h', b'2']);
    let signed = |code: u16| message(15, &[&code.to_be_bytes()[..], &[0, 1, 9]].concat());
    let finished = message(20, &[5; 32]);
    let server = [certificate(&[b"nrf", b"ca"]), signed(0x0905), finished.clone()].concat();
    let (one, other) = server.split_at(30);
    let client = [certificate(&[b"amf"]), signed(0x0403), finished].concat();
    vec![
        (Side::Client, client_hello(false)),
        (
            Side::Server,
            [
                server_hello(),
                record(20, &[1]),
                sealed(b'H', 0, 22, &[alpn, message(13, &[0, 0, 0])].concat()),
                sealed(b'H', 1, 22, one),
                sealed(b'H', 2, 22, other),
                sealed(b'A', 0, 23, &frame(4, 0, &[])),
            ]
            .concat(),
        ),
        (
            Side::Client,
            [
                record(20, &[1]),
                sealed(b'h', 0, 22, &client),
                sealed(b'a', 0, 23, &[&HTTP2_PREFACE[..], &frame(1, 1, b"head")].concat()),
                sealed(b'a', 1, 22, &message(24, &[1])),
                sealed(b'b', 0, 23, &frame(1, 3, b"head")),
            ]
            .concat(),
        ),
        (
            Side::Server,
            [
                sealed(b'A', 1, 22, &message(4, b"ticket")),
                sealed(b'A', 2, 22, &message(24, &[0])),
                sealed(b'B', 0, 23, &frame(0, 1, b"body")),
                sealed(b'B', 1, 21, &[1, 0]),
            ]
            .concat(),
        ),
    ]
}

fn read_with(pieces: &[(Side, Vec<u8>)], keys: &Letters) -> Tls {
    let mut session = Session::new();
    for (index, (side, bytes)) in pieces.iter().enumerate() {
        session.data(*side, bytes, at(index as u64 + 1), Some(keys));
    }
    session.outcome()
}

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

fn opened(pieces: &[(Side, Vec<u8>)], keys: &Letters) -> Opened {
    *read_with(pieces, keys).opened.unwrap()
}

fn subjects(seen: Option<&Seen<Vec<Certificate>>>) -> Vec<&str> {
    let chain = &seen.unwrap().value;
    chain.iter().map(|certificate| certificate.subject.as_str()).collect()
}

#[test]
fn a_handshake_and_what_follows_it_is_read_with_its_keys() {
    let opened = opened(&conversation(), &Letters::default());
    assert_eq!(opened.alpn.as_ref().unwrap().value, "h2");
    assert_eq!(subjects(opened.server_certificates.as_ref()), ["nrf", "ca"]);
    assert_eq!(subjects(opened.client_certificates.as_ref()), ["amf"]);
    assert_eq!(
        opened.server_signature.as_ref().unwrap().value,
        SignatureScheme::MLDSA65
    );
    let classical = SignatureScheme::ECDSA_SECP256R1_SHA256;
    assert_eq!(opened.client_signature.as_ref().unwrap().value, classical);
    assert!(opened.certificate_request.is_some() && opened.server_finished.is_some());
    assert_eq!(opened.client_finished.as_ref().unwrap().last.packet, 3);
    assert_eq!(
        (opened.tickets, opened.key_updates, opened.records),
        (1, [1, 1], [4, 8])
    );
    assert_eq!(opened.alerts[0].value.description, 0);
    assert_eq!((opened.ended.clone(), opened.wrong.len()), ([None, None], 0));
    let http2 = opened.http2.as_ref().unwrap();
    assert_eq!((http2.streams, http2.from_server.data_bytes), (2, 4));
}

#[test]
fn what_is_in_plaintext_is_read_alike_with_keys_and_without() {
    let with = read_with(&conversation(), &Letters::default());
    let mut session = Session::new();
    for (index, (side, bytes)) in conversation().iter().enumerate() {
        session.data(*side, bytes, at(index as u64 + 1), None);
    }
    assert_eq!(Tls { opened: None, ..with }, session.outcome());
}

#[test]
fn a_wrong_key_is_reported_by_its_line_and_ends_its_direction_alone() {
    let keys = Letters {
        wrong: vec![(Side::Server, Epoch::Handshake)],
        ..Letters::default()
    };
    let opened = opened(&conversation(), &keys);
    assert_eq!(opened.wrong.len(), 1);
    assert_eq!(
        (opened.wrong[0].value.as_str(), opened.wrong[0].last.packet),
        ("line 7 of letters", 2)
    );
    assert_eq!(opened.ended[1].as_ref().unwrap().value, Unopened::WrongKey);
    assert_eq!((opened.records[1], opened.server_signature), (0, None));
    assert_eq!(opened.records[0], 4, "the client's keys are right");
}

#[test]
fn a_key_that_is_lacking_ends_its_direction_and_is_said_to_be() {
    let keys = Letters {
        lacking: vec![(Side::Server, Epoch::Application)],
        ..Letters::default()
    };
    let opened = opened(&conversation(), &keys);
    let why = Unopened::NoKey(Epoch::Application);
    assert_eq!(opened.ended[1].as_ref().unwrap().value, why);
    assert!(opened.wrong.is_empty() && opened.server_finished.is_some());
}

#[test]
fn early_data_is_distinguished_from_the_handshake_with_its_key_and_without() {
    let mut conversation = conversation();
    conversation[0].1 = [client_hello(true), record(20, &[1])].concat();
    let early = [
        sealed(b'e', 0, 23, HTTP2_PREFACE),
        sealed(b'e', 1, 23, &frame(1, 1, b"head")),
    ]
    .concat();
    conversation[2].1.splice(..0, early);
    let with_key = opened(&conversation, &Letters::default());
    assert!(with_key.client_finished.is_some() && with_key.wrong.is_empty());
    let keys = Letters {
        lacking: vec![(Side::Client, Epoch::Early)],
        ..Letters::default()
    };
    let without = opened(&conversation, &keys);
    assert!(without.client_finished.is_some() && without.wrong.is_empty());
    let keys = Letters {
        wrong: vec![(Side::Client, Epoch::Handshake)],
        ..Letters::default()
    };
    let wrong = opened(&conversation, &keys);
    assert_eq!((wrong.wrong.len(), wrong.client_finished), (1, None));
}

#[test]
fn bytes_that_are_not_what_was_sent_end_what_is_opened() {
    let mut conversation = conversation();
    let length = conversation[3].1.len();
    // The number of the last record but one.
    let place = length - (5 + 2 + 2 + 3) - (5 + 2 + 13 + 3) + 6;
    conversation[3].1[place] ^= 0x80;
    let opened = opened(&conversation, &Letters::default());
    assert_eq!(opened.ended[1].as_ref().unwrap().value, Unopened::Damaged);
    assert!(opened.wrong.is_empty() && opened.alerts.is_empty());
}

#[test]
fn a_record_with_a_hole_costs_itself_and_a_longer_hole_all_that_follows() {
    let conversation = conversation();
    let last = &conversation[3].1;
    let cut = |from: usize, missing: usize| {
        let mut session = Session::new();
        for (index, (side, bytes)) in conversation[..3].iter().enumerate() {
            session.data(*side, bytes, at(index as u64 + 1), Some(&Letters::default()));
        }
        session.data(Side::Server, &last[..from], at(4), Some(&Letters::default()));
        session.gap(Side::Server, missing as u64, at(5));
        session.data(Side::Server, &last[from + missing..], at(6), Some(&Letters::default()));
        *session.outcome().opened.unwrap()
    };
    let torn = cut(10, 3);
    assert_eq!((torn.tickets, torn.key_updates[1], torn.alerts.len()), (0, 1, 1));
    let lost = cut(10, 30);
    assert_eq!(lost.ended[1].as_ref().unwrap().value, Unopened::Missing);
    assert!(lost.alerts.is_empty() && lost.server_finished.is_some());
}

#[test]
fn certificates_are_read_where_they_were_sent_compressed() {
    for (algorithm, subject) in [(1, Some("nrf")), (2, None)] {
        let mut conversation = conversation();
        let plain = &certificate(&[b"nrf"])[4..];
        let length = u32::try_from(plain.len()).unwrap().to_be_bytes();
        let mut body = vec![0, algorithm];
        body.extend([&length[1..], &length[1..]].concat());
        body.extend(plain.iter().rev());
        let finished = message(20, &[5; 32]);
        conversation[1].1 = [
            server_hello(),
            sealed(b'H', 0, 22, &[message(25, &body), finished].concat()),
        ]
        .concat();
        let opened = opened(&conversation, &Letters::default());
        let shown = opened.server_certificates.as_ref();
        assert_eq!(shown.map(|seen| seen.value[0].subject.as_str()), subject);
    }
}

#[test]
fn a_refusal_behind_the_handshake_is_found() {
    let mut conversation = conversation();
    conversation[3].1 = sealed(b'A', 1, 21, &[2, 42]);
    let refused = read_with(&conversation, &Letters::default());
    assert_eq!(refused.refusal().unwrap().value.description, 42);
    let good = read_with(&super::tests::conversation(), &Letters::default());
    assert_eq!(good.refusal(), None, "close_notify refuses nothing");
}

proptest! {
    /// Any change in pieces of any size: never a panic, and the same is read.
    #[test]
    fn any_change_in_any_pieces_is_read_alike(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        size in 1..200usize,
    ) {
        let mut conversation = conversation();
        let total: usize = conversation.iter().map(|(_, bytes)| bytes.len()).sum();
        for (place, byte) in changes {
            let mut place = place.index(total);
            for (_, bytes) in &mut conversation {
                if let Some(target) = bytes.get_mut(place) {
                    *target = byte;
                    break;
                }
                place -= bytes.len();
            }
        }
        let mut pieces = Session::new();
        let keys = Letters::default();
        for (index, (side, bytes)) in conversation.iter().enumerate() {
            for piece in bytes.chunks(size) {
                pieces.data(*side, piece, at(index as u64 + 1), Some(&keys));
            }
        }
        let shown = |tls: Tls| tls.opened.map(|opened| (opened.records, opened.alerts.len(), opened.http2));
        prop_assert_eq!(shown(pieces.outcome()), shown(read_with(&conversation, &keys)));
    }
}
