use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn transform() -> impl Strategy<Value = Transform> {
    (any::<u8>(), any::<u16>(), proptest::option::of(any::<u16>())).prop_map(|(kind, id, key_length)| Transform {
        kind,
        id,
        key_length,
    })
}

fn proposal() -> impl Strategy<Value = Proposal> {
    let fields = (
        any::<u8>(),
        any::<u8>(),
        vec(any::<u8>(), 0..20),
        vec(transform(), 0..20),
    );
    fields.prop_map(|(number, protocol, spi, transforms)| Proposal {
        number,
        protocol,
        spi,
        transforms,
    })
}

/// A payload of each kind, made of the same bytes.
fn body(choice: u8, a: u8, b: u16, bytes: &[u8], proposals: Vec<Proposal>) -> (PayloadType, Body<'_>) {
    match choice % 17 {
        0 => (PayloadType::SA, Body::Proposals(proposals)),
        1 => {
            let method = KeyExchangeMethod(b);
            (PayloadType::KE, Body::KeyExchange { method, data: bytes })
        }
        2 => (PayloadType::NONCE, Body::Nonce(bytes)),
        3 => {
            let (spi, data) = bytes.split_at(bytes.len() / 2);
            let notify = Body::Notify {
                protocol: a,
                spi,
                kind: NotifyType(b),
                data,
            };
            (PayloadType::NOTIFY, notify)
        }
        4 => (PayloadType::VENDOR, Body::Vendor(bytes)),
        5 => (PayloadType::ID_INITIATOR, Body::Identification { kind: a, data: bytes }),
        6 => (PayloadType::ID_RESPONDER, Body::Identification { kind: a, data: bytes }),
        7 => {
            let (encoding, data) = (a, bytes);
            (PayloadType::CERT, Body::Certificate { encoding, data })
        }
        8 => {
            let (encoding, data) = (a, bytes);
            (PayloadType::CERTREQ, Body::Certificate { encoding, data })
        }
        9 => (PayloadType::AUTH, Body::Authentication { method: a, data: bytes }),
        10 => {
            let spis = &bytes[..bytes.len() / 4 * 4];
            let delete = Body::Delete {
                protocol: a,
                spi_size: 4,
                count: (spis.len() / 4) as u16,
                spis,
            };
            (PayloadType::DELETE, delete)
        }
        11 => {
            let selector = TrafficSelector {
                kind: 7,
                protocol: a,
                range: bytes,
            };
            (PayloadType::TS_INITIATOR, Body::TrafficSelectors(vec![selector; 2]))
        }
        12 => (PayloadType::TS_RESPONDER, Body::TrafficSelectors(Vec::new())),
        13 => {
            let attributes = vec![(b & 0x7fff, bytes), (1, &bytes[..0])];
            (PayloadType::CONFIGURATION, Body::Configuration { kind: a, attributes })
        }
        14 => {
            let (code, identifier) = (a, b as u8);
            let eap = Body::Eap {
                code,
                identifier,
                data: bytes,
            };
            (PayloadType::EAP, eap)
        }
        15 => (PayloadType(49), Body::Other(bytes)),
        _ => (PayloadType(200), Body::Other(bytes)),
    }
}

#[test]
fn an_encrypted_payload_ends_the_chain_whatever_it_calls_next() {
    let bytes = [35, 0, 0, 8, 1, 2, 3, 4];
    let message = Message::read(PayloadType::ENCRYPTED, &bytes).unwrap();
    let expected = Body::Encrypted {
        first: PayloadType::ID_INITIATOR,
        data: &[1, 2, 3, 4],
    };
    assert_eq!(message.payloads[0].body, expected);
    let fragment = [0, 0, 0, 9, 0, 2, 0, 3, 9];
    let message = Message::read(PayloadType::ENCRYPTED_FRAGMENT, &fragment).unwrap();
    let expected = Body::EncryptedFragment {
        first: PayloadType::NONE,
        number: 2,
        total: 3,
        data: &[9],
    };
    assert_eq!(message.payloads[0].body, expected);
    let beyond = [0, 0, 0, 8, 0, 4, 0, 3];
    assert!(Message::read(PayloadType::ENCRYPTED_FRAGMENT, &beyond).is_err());
}

#[test]
fn lengths_and_counts_that_cannot_be_right_are_refused() {
    for (what, bytes) in [
        ("longer than the message", &[0, 0, 0, 9, 1][..]),
        ("shorter than its header", &[0, 0, 0, 3]),
        ("bytes behind the last", &[0, 0, 0, 4, 0]),
        ("cut in its header", &[0, 0, 0]),
    ] {
        assert!(Message::read(PayloadType::NONCE, bytes).is_err(), "{what}");
    }
    // A proposal that counts two transforms and has one.
    let mut bytes = vec![0, 0, 0, 20, 0, 0, 0, 16, 1, 1, 0, 2, 0, 0, 0, 8, 4, 0, 0, 31];
    assert!(Message::read(PayloadType::SA, &bytes).is_err());
    bytes[11] = 1;
    assert!(Message::read(PayloadType::SA, &bytes).is_ok());
}

#[test]
fn a_chain_without_end_ends() {
    // 65 payloads of four bytes, each naming another.
    let bytes = [PayloadType::VENDOR.0, 0, 0, 4].repeat(65);
    assert_eq!(
        Message::read(PayloadType::VENDOR, &bytes),
        Err(Malformed("more than 64 payloads"))
    );
}

#[test]
fn an_additional_key_exchange_that_is_none_is_no_exchange() {
    let transform = |kind, id| Transform {
        kind,
        id,
        key_length: None,
    };
    let proposal = Proposal {
        number: 1,
        protocol: 1,
        spi: Vec::new(),
        transforms: vec![transform(4, 31), transform(6, 0), transform(7, 36)],
    };
    let methods: Vec<_> = proposal.key_exchanges().collect();
    assert_eq!(methods, [KeyExchangeMethod(31), KeyExchangeMethod(36)]);
    assert_eq!(proposal.additional_key_exchanges().count(), 1);
    assert_eq!(proposal.to_string(), "Curve25519/ke1_NONE/ke2_ml-kem-768");
}

proptest! {
    #[test]
    fn any_bytes_never_panic(first in any::<u8>(), bytes in vec(any::<u8>(), 0..400)) {
        let _ = Header::read(&bytes);
        let _ = Message::read(PayloadType(first), &bytes);
    }

    #[test]
    fn any_proposals_never_panic(bytes in vec(0..16u8, 0..200)) {
        let _ = Message::read(PayloadType::SA, &bytes);
    }

    #[test]
    fn a_header_comes_back(
        spis in (1..=u64::MAX, any::<u64>()),
        bytes in (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>()),
        numbers in (any::<u32>(), 28..=u32::MAX),
    ) {
        let header = Header {
            initiator_spi: spis.0,
            responder_spi: spis.1,
            next: PayloadType(bytes.0),
            major: bytes.1 >> 4,
            minor: bytes.1 & 0x0f,
            exchange: ExchangeType(bytes.2),
            flags: Flags(bytes.3),
            message_id: numbers.0,
            length: numbers.1,
        };
        prop_assert_eq!(Header::read(&header.encode()), Ok(header));
    }

    #[test]
    fn payloads_of_every_kind_come_back(
        choices in vec((any::<u8>(), any::<u8>(), any::<u16>(), any::<bool>()), 1..20),
        bytes in vec(any::<u8>(), 0..300),
        proposals in vec(proposal(), 1..5),
    ) {
        let payloads = choices.into_iter().map(|(choice, a, b, critical)| {
            let (kind, body) = body(choice, a, b, &bytes, proposals.clone());
            Payload { kind, critical, body }
        });
        let message = Message { payloads: payloads.collect() };
        let (first, encoded) = message.encode().unwrap();
        prop_assert_eq!(Message::read(first, &encoded), Ok(message));
    }

    #[test]
    fn a_message_cut_anywhere_is_refused(bytes in vec(any::<u8>(), 1..50), cut in any::<prop::sample::Index>()) {
        let message = Message { payloads: vec![
            Payload { kind: PayloadType::NONCE, critical: false, body: Body::Nonce(&bytes) },
            Payload { kind: PayloadType::VENDOR, critical: true, body: Body::Vendor(&bytes) },
        ]};
        let (first, encoded) = message.encode().unwrap();
        prop_assert!(Message::read(first, &encoded[..cut.index(encoded.len())]).is_err());
    }
}
