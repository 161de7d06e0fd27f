//! With a cipher that is none: what is sealed is a letter for the sender, and every byte turned round.

use proptest::prelude::*;

use super::super::{Flags, IkeSa, Session, Transform};
use super::*;
use crate::Timestamp;
use crate::keys::{Candidate, IkeKey, TlsDirection};

/// The key of the letter for the initiator's messages, and of the next for the responder's.
struct Letter(u8);

impl IkeKey for Letter {
    fn open(&self, from: Party, message: &[u8], start: usize) -> Option<Vec<u8>> {
        let (letter, rest) = message.get(start..)?.split_first()?;
        (*letter == self.0 + index(from) as u8).then(|| rest.iter().map(|byte| byte ^ 0xff).collect())
    }

    fn held(&self) -> usize {
        1
    }
}

/// Keys of one IKE_SA.
struct Letters(&'static [u8]);

impl Keys for Letters {
    fn knows_tls(&self, _: &[u8; 32]) -> bool {
        false
    }

    fn tls(&self, _: &TlsDirection<'_>) -> Vec<Candidate> {
        Vec::new()
    }

    fn unpack(&self, _: u16, _: &[u8], _: usize) -> Option<Vec<u8>> {
        None
    }

    fn certificate(&self, der: &[u8]) -> Certificate {
        Certificate {
            subject: String::from_utf8_lossy(der).into_owned(),
            public_key: "key".into(),
            signature: "signature".into(),
            not_after: 0,
            sha256: String::new(),
        }
    }

    fn ike(&self, initiator_spi: u64, responder_spi: u64) -> Vec<IkeCandidate> {
        let letters = if (initiator_spi, responder_spi) == SPIS {
            self.0
        } else {
            &[]
        };
        let candidate = |letter: &u8| IkeCandidate {
            key: Box::new(Letter(*letter)),
            given: format!("line {letter}"),
        };
        letters.iter().map(candidate).collect()
    }
}

const SPIS: (u64, u64) = (7, 8);

/// A message and its header, sealed whole or as this fragment of so many.
fn sealed(
    exchange: ExchangeType,
    (message_id, flags): (u32, u8),
    letter: u8,
    (first, content): (PayloadType, &[u8]),
    fragment: Option<(u16, u16)>,
) -> (Header, Vec<u8>) {
    let mut body = vec![first.0, 0, 0, 0];
    if let Some((number, total)) = fragment {
        body.extend([number.to_be_bytes(), total.to_be_bytes()].concat());
    }
    let from = if flags & Flags::INITIATOR != 0 { 0 } else { 1 };
    body.push(letter + from);
    body.extend(content.iter().map(|byte| byte ^ 0xff));
    let length = body.len() as u16;
    body[2..4].copy_from_slice(&length.to_be_bytes());
    let header = Header {
        initiator_spi: SPIS.0,
        responder_spi: SPIS.1,
        next: if fragment.is_some() {
            PayloadType::ENCRYPTED_FRAGMENT
        } else {
            PayloadType::ENCRYPTED
        },
        major: 2,
        minor: 0,
        exchange,
        flags: Flags(flags),
        message_id,
        length: (Header::LENGTH + body.len()) as u32,
    };
    let message = [&header.encode()[..], &body].concat();
    (header, message)
}

fn payload(kind: PayloadType, body: Body<'_>) -> super::super::Payload<'_> {
    super::super::Payload {
        kind,
        critical: false,
        body,
    }
}

fn encoded(payloads: Vec<super::super::Payload<'_>>) -> (PayloadType, Vec<u8>) {
    Message { payloads }.encode().unwrap()
}

fn proposal(protocol: u8, spi: &[u8], methods: &[(u8, u16)]) -> Body<'static> {
    let methods = methods.iter().map(|(kind, id)| Transform {
        kind: *kind,
        id: *id,
        key_length: None,
    });
    let cipher = Transform {
        kind: 1,
        id: 20,
        key_length: Some(256),
    };
    Body::Proposals(vec![Proposal {
        number: 1,
        protocol,
        spi: spi.to_vec(),
        transforms: [cipher].into_iter().chain(methods).collect(),
    }])
}

fn key_exchange(method: u16) -> Body<'static> {
    Body::KeyExchange {
        method: KeyExchangeMethod(method),
        data: b"public",
    }
}

const REQUEST: u8 = Flags::INITIATOR;
const RESPONSE: u8 = Flags::RESPONSE;

/// An additional exchange, proofs, and a rekey with an additional exchange.
fn conversation() -> Vec<(Header, Vec<u8>)> {
    // ecdsa-with-SHA256, 1.2.840.10045.4.3.2, and a signature.
    let digital: &[u8] = &[12, 0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2, 1, 2, 3];
    let intermediate = encoded(vec![payload(PayloadType::KE, key_exchange(36))]);
    let certificate = Body::Certificate {
        encoding: 4,
        data: b"CN=cu",
    };
    let proof = |method, data| Body::Authentication { method, data };
    let auth = encoded(vec![
        payload(PayloadType::CERT, certificate),
        payload(PayloadType::AUTH, proof(14, digital)),
        payload(PayloadType::SA, proposal(3, &[0, 0, 0, 1], &[])),
    ]);
    let authed = encoded(vec![
        payload(PayloadType::AUTH, proof(2, b"mac")),
        payload(PayloadType::SA, proposal(3, &[0, 0, 0, 2], &[])),
    ]);
    let rekey = Body::Notify {
        protocol: 3,
        spi: &[0, 0, 0, 1],
        kind: NotifyType::REKEY_SA,
        data: &[],
    };
    let create = encoded(vec![
        payload(PayloadType::NOTIFY, rekey),
        payload(PayloadType::SA, proposal(3, &[0, 0, 0, 3], &[(4, 31), (6, 36)])),
        payload(PayloadType::KE, key_exchange(31)),
    ]);
    let created = encoded(vec![
        payload(PayloadType::SA, proposal(3, &[0, 0, 0, 4], &[(4, 31), (6, 36)])),
        payload(PayloadType::KE, key_exchange(31)),
    ]);
    let follow = encoded(vec![payload(PayloadType::KE, key_exchange(36))]);
    let delete = Body::Delete {
        protocol: 3,
        spi_size: 4,
        count: 1,
        spis: &[0, 0, 0, 1],
    };
    let delete = encoded(vec![payload(PayloadType::DELETE, delete)]);
    let whole = |exchange, place, letter, (first, content): &(PayloadType, Vec<u8>)| {
        sealed(exchange, place, letter, (*first, content), None)
    };
    let (first, content) = &auth;
    let (one, other) = content.split_at(20);
    let part = |first, content: &[u8], number| {
        sealed(
            ExchangeType::IKE_AUTH,
            (2, REQUEST),
            b'c',
            (first, content),
            Some((number, 2)),
        )
    };
    vec![
        whole(ExchangeType::IKE_INTERMEDIATE, (1, REQUEST), b'a', &intermediate),
        whole(ExchangeType::IKE_INTERMEDIATE, (1, RESPONSE), b'a', &intermediate),
        part(PayloadType::NONE, other, 2),
        part(*first, one, 1),
        whole(ExchangeType::IKE_AUTH, (2, RESPONSE), b'c', &authed),
        whole(ExchangeType::CREATE_CHILD_SA, (3, REQUEST), b'c', &create),
        whole(ExchangeType::CREATE_CHILD_SA, (3, RESPONSE), b'c', &created),
        whole(ExchangeType::CREATE_CHILD_SA, (3, RESPONSE), b'c', &created),
        whole(ExchangeType::IKE_FOLLOWUP_KE, (4, REQUEST), b'c', &follow),
        whole(ExchangeType::IKE_FOLLOWUP_KE, (4, RESPONSE), b'c', &follow),
        whole(ExchangeType::INFORMATIONAL, (5, REQUEST), b'c', &delete),
    ]
}

fn read(messages: &[(Header, Vec<u8>)], letters: &'static [u8]) -> IkeSa {
    let mut session = None;
    for (number, (header, message)) in messages.iter().enumerate() {
        let at = Moment {
            packet: number as u64 + 1,
            time: Timestamp(number as u64),
        };
        let arrival = Arrival {
            at,
            first: at,
            source: "192.0.2.1:500".parse().unwrap(),
            destination: "192.0.2.2:500".parse().unwrap(),
            packets: 1,
            ip_bytes: message.len() as u64 + 28,
            whole: true,
        };
        let session = session.get_or_insert_with(|| Session::new(1, header, &arrival));
        session.message(header, message, &arrival);
        session.open(header, message, &arrival, &Letters(letters));
    }
    session.unwrap().finish()
}

#[test]
fn proofs_and_rekeys_are_read_with_keys_that_change_on_the_way() {
    let sa = read(&conversation(), b"ac");
    let opened = sa.opened.unwrap();
    assert_eq!((opened.messages, opened.unopened, opened.wrong.len()), ([5, 4], 0, 0));
    let (from, data) = opened.intermediate.first[1].value;
    assert_eq!(
        (from, data.method, data.length),
        (Party::Responder, KeyExchangeMethod(36), 6)
    );
    let [initiator, responder] = &opened.proofs;
    assert_eq!(initiator.method.as_ref().unwrap().value, 14);
    assert_eq!(initiator.algorithm.as_deref(), Some("1.2.840.10045.4.3.2"));
    assert_eq!(initiator.certificates[0].subject, "CN=cu");
    // Its fragments came the wrong way round.
    assert_eq!(initiator.method.as_ref().unwrap().first.packet, 3);
    assert_eq!(
        (responder.method.as_ref().unwrap().value, &responder.algorithm),
        (2, &None)
    );
    let made: Vec<_> = opened.made.first.iter().map(|seen| &seen.value).collect();
    assert_eq!(made.len(), 2, "a message seen twice counts once");
    assert_eq!(
        (made[0].by, made[0].is_rekey, made[0].esp_spis()),
        (ExchangeType::IKE_AUTH, false, Some([1, 2]))
    );
    assert_eq!(
        (made[1].is_rekey, made[1].esp_spis(), made[1].ike_spis()),
        (true, Some([3, 4]), None)
    );
    assert_eq!(made[1].key_exchanges, [KeyExchangeMethod(31), KeyExchangeMethod(36)]);
    assert_eq!((made[1].protocol(), opened.deleted), ("ESP", 1));
}

#[test]
fn keys_that_open_nothing_are_named_and_what_is_in_plaintext_stays() {
    let with = read(&conversation(), b"xy");
    let opened = with.opened.as_deref().unwrap();
    assert_eq!((opened.messages, opened.unopened), ([0, 0], 11));
    assert_eq!(opened.wrong, ["line 120", "line 121"]);
    let without = read(&conversation(), b"");
    assert_eq!(without.opened, None);
    assert_eq!(IkeSa { opened: None, ..with }, without);
}

#[test]
fn a_refused_create_child_sa_makes_nothing() {
    let refusal = Body::Notify {
        protocol: 0,
        spi: &[],
        kind: NotifyType::NO_PROPOSAL_CHOSEN,
        data: &[],
    };
    let refusal = encoded(vec![payload(PayloadType::NOTIFY, refusal)]);
    let mut messages = conversation();
    let content = (refusal.0, &refusal.1[..]);
    messages[6] = sealed(ExchangeType::CREATE_CHILD_SA, (3, RESPONSE), b'c', content, None);
    messages.truncate(7);
    let opened = read(&messages, b"ac").opened.unwrap();
    assert_eq!(
        (opened.made.count(), opened.refused.first[0].value),
        (1, NotifyType::NO_PROPOSAL_CHOSEN)
    );
}

#[test]
fn object_identifiers_are_read_or_not_at_all() {
    assert_eq!(
        dotted(&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 0x12]).unwrap(),
        "2.16.840.1.101.3.4.3.18"
    );
    assert_eq!(dotted(&[]), None);
    assert_eq!(dotted(&[0xff; 12]), None, "an arc of more than 64 bits");
    assert_eq!(algorithm(14, &[4, 0x30, 2, 6, 9]), None, "longer than what is there");
}

proptest! {
    #[test]
    fn no_change_and_no_cut_makes_it_panic(
        changes in prop::collection::vec((0..11usize, any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut messages = conversation();
        for (message, place, byte) in changes {
            // Not the header, which is read apart.
            let (_, bytes) = &mut messages[message];
            let place = Header::LENGTH + place.index(bytes.len() - Header::LENGTH);
            bytes[place] = byte;
        }
        let (_, last) = &mut messages[10];
        let length = cut.index(last.len());
        last.truncate(length);
        let opened = read(&messages, b"ac").opened.unwrap();
        prop_assert!(opened.made.count() <= 4);
    }

    #[test]
    fn no_content_makes_it_panic_or_hold_much(
        contents in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..200)), 1..40),
    ) {
        let messages: Vec<_> = contents.iter().enumerate().map(|(number, (first, content))| {
            let place = (number as u32 / 2, if number % 2 == 0 { REQUEST } else { RESPONSE });
            let exchange = ExchangeType(34 + *first % 11);
            let exchange = if exchange == ExchangeType::IKE_SA_INIT { ExchangeType::IKE_AUTH } else { exchange };
            sealed(exchange, place, b'a', (PayloadType(33 + first % 21), content), None)
        }).collect();
        let opened = read(&messages, b"a").opened.unwrap();
        prop_assert_eq!(opened.messages[0] + opened.messages[1], contents.len() as u64);
    }
}
