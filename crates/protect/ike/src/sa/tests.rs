//! A peer that has the keys and sends whatever it wants: nothing makes an end panic, hold without
//! bound, or wait for ever.

use std::time::Duration;

use bartizan_wire::ike::{
    Body, ExchangeType, Flags, Header, KeyExchangeMethod, Message, NotifyType, Payload, PayloadType, Proposal,
    TrafficSelector, Transform,
};
use proptest::prelude::*;
use rustls_pki_types::alg_id;

use super::IkeSa;
use crate::config::Ppk;
use crate::credential::identifier;
use crate::event::Event;
use crate::link::{Algorithm, Authority, DELAY, HYBRID, Link, config, esp, proposal};

/// Content of a payload.
#[derive(Debug, Clone)]
enum Piece {
    Proposals(Vec<Proposal>),
    Nonce(Vec<u8>),
    KeyExchange(u16, Vec<u8>),
    Notify {
        kind: u16,
        protocol: u8,
        /// None stands for the SPI by which the victim sends.
        spi: Option<Vec<u8>>,
        data: Vec<u8>,
    },
    /// The same holds here.
    Delete(u8, Option<Vec<u8>>),
    /// Selector of the initiator or of the responder, with this last byte of the address.
    Traffic(bool, u8),
    Other(u8, bool, Vec<u8>),
}

fn bytes(lengths: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<u8>> {
    (lengths, any::<u8>()).prop_map(|(length, byte)| vec![byte; length])
}

fn proposals() -> impl Strategy<Value = Piece> {
    let lists = prop_oneof![
        Just(esp(HYBRID)),
        Just(esp(&["x25519"])),
        Just(esp(&[])),
        Just(proposal(HYBRID)),
        Just(proposal(&["mlkem768"])),
        prop::collection::vec((1..13_u8, 0..40_u16), 0..6).prop_map(|list| {
            let transform = |(kind, id)| Transform {
                kind,
                id,
                key_length: None,
            };
            list.into_iter().map(transform).collect()
        }),
    ];
    let lengths = prop_oneof![Just(4_usize), Just(8), Just(0), 0..10_usize];
    let one = (0..3_u8, 1..4_u8, bytes(lengths), lists).prop_map(|(number, protocol, spi, transforms)| Proposal {
        number,
        protocol,
        spi,
        transforms,
    });
    prop::collection::vec(one, 0..3).prop_map(Piece::Proposals)
}

fn piece() -> impl Strategy<Value = Piece> {
    let methods = prop_oneof![Just(31_u16), Just(36), Just(0), 0..60_u16];
    let lengths = prop_oneof![Just(32_usize), Just(1184), Just(1088), 0..100_usize];
    let kinds = prop_oneof![
        Just(NotifyType::REKEY_SA.0),
        Just(NotifyType::ADDITIONAL_KEY_EXCHANGE.0),
        Just(NotifyType::USE_TRANSPORT_MODE.0),
        Just(NotifyType::INVALID_KE_PAYLOAD.0),
        Just(NotifyType::TEMPORARY_FAILURE.0),
        Just(NotifyType::CHILD_SA_NOT_FOUND.0),
        Just(NotifyType::NO_ADDITIONAL_SAS.0),
        Just(NotifyType::STATE_NOT_FOUND.0),
        any::<u16>(),
    ];
    let spis = || prop::option::of(bytes(0..10_usize));
    prop_oneof![
        3 => proposals(),
        3 => bytes(prop_oneof![Just(32_usize), 0..300_usize]).prop_map(Piece::Nonce),
        3 => (methods, bytes(lengths)).prop_map(|(method, data)| Piece::KeyExchange(method, data)),
        3 => (kinds, 0..4_u8, spis(), bytes(0..12_usize)).prop_map(|(kind, protocol, spi, data)| Piece::Notify {
            kind,
            protocol,
            spi,
            data
        }),
        1 => (0..4_u8, spis()).prop_map(|(protocol, spi)| Piece::Delete(protocol, spi)),
        3 => (any::<bool>(), 1..4_u8).prop_map(|(of, last)| Piece::Traffic(of, last)),
        1 => (1..60_u8, any::<bool>(), bytes(0..50_usize)).prop_map(|(kind, critical, data)| Piece::Other(kind, critical, data)),
    ]
}

/// Pieces as they stand in a message: with the victim's SPI where one is to be.
fn payloads<'a>(pieces: &'a [Piece], known: &'a [u8; 4], ranges: &'a [[u8; 12]; 4]) -> Vec<Payload<'a>> {
    let build = |piece: &'a Piece| {
        let (kind, body, critical) = match piece {
            Piece::Proposals(all) => (PayloadType::SA, Body::Proposals(all.clone()), false),
            Piece::Nonce(data) => (PayloadType::NONCE, Body::Nonce(data), false),
            Piece::KeyExchange(method, data) => {
                let method = KeyExchangeMethod(*method);
                (PayloadType::KE, Body::KeyExchange { method, data }, false)
            }
            Piece::Notify {
                kind,
                protocol,
                spi,
                data,
            } => {
                let body = Body::Notify {
                    protocol: *protocol,
                    spi: spi.as_deref().unwrap_or(known),
                    kind: NotifyType(*kind),
                    data,
                };
                (PayloadType::NOTIFY, body, false)
            }
            Piece::Delete(protocol, spis) => {
                let spis = spis.as_deref().unwrap_or(known);
                let body = Body::Delete {
                    protocol: *protocol,
                    spi_size: spis.len() as u8,
                    count: 1,
                    spis,
                };
                (PayloadType::DELETE, body, false)
            }
            Piece::Traffic(of_initiator, last) => {
                let kind = if *of_initiator {
                    PayloadType::TS_INITIATOR
                } else {
                    PayloadType::TS_RESPONDER
                };
                let range = &ranges[usize::from(*last)];
                let selector = TrafficSelector {
                    kind: 7,
                    protocol: 0,
                    range,
                };
                (kind, Body::TrafficSelectors(vec![selector]), false)
            }
            Piece::Other(kind, critical, data) => (PayloadType(*kind), Body::Other(data), *critical),
        };
        Payload { kind, critical, body }
    };
    pieces.iter().map(build).collect()
}

/// Calls the victim before a message arrives.
fn ask(sa: &mut IkeSa, what: u8, now: std::time::Instant) {
    match (what, sa.sending()) {
        (0, Some(spi)) => sa.rekey_child(now, spi),
        (1, _) => sa.rekey(now),
        (2, Some(spi)) => sa.delete_child(now, spi),
        (3, _) => sa.make_child(now, 0),
        (4, _) => sa.close(now),
        _ => {}
    }
}

#[test]
fn an_spi_that_the_peer_receives_by_already_is_not_taken_for_another_child_sa() {
    let authority = Authority::new(Algorithm::Ed25519);
    let [one, other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    let mut link = Link::new(one, other, 42);
    link.run_well(Duration::from_secs(1));
    let now = link.now;
    let Link {
        initiator: hostile,
        responder: Some(victim),
        ..
    } = &mut link
    else {
        unreachable!("both are settled");
    };
    let known = victim.children[0].outbound.to_be_bytes();
    let ranges = [1_u8, 2].map(|last| [0, 0, 0xff, 0xff, 10, 78, 0, last, 10, 78, 0, last]);
    for (spi, is_taken) in [(known, false), ([0x7f; 4], true)] {
        let transforms = esp(HYBRID);
        let proposal = Proposal {
            number: 1,
            protocol: 3,
            spi: spi.to_vec(),
            transforms,
        };
        let pieces = [
            Piece::Notify {
                kind: NotifyType::REKEY_SA.0,
                protocol: 3,
                spi: None,
                data: Vec::new(),
            },
            Piece::Proposals(vec![proposal]),
            Piece::Nonce(vec![7; 32]),
            Piece::KeyExchange(31, vec![9; 32]),
            Piece::Traffic(true, 0),
            Piece::Traffic(false, 1),
        ];
        let padded = [ranges[0], ranges[1], ranges[0], ranges[0]];
        let header = hostile.header(ExchangeType::CREATE_CHILD_SA, 0, victim.expected);
        let (_, datagrams) = hostile
            .seal(header, payloads(&pieces, &known, &padded))
            .expect("sealed");
        for datagram in datagrams {
            victim.receive(now, &datagram);
        }
        assert_eq!(victim.responding.is_some(), is_taken, "{spi:?}");
        assert_eq!(victim.children.len(), 1);
    }
}

/// No traffic is named.
const RANGES: [[u8; 12]; 4] = [[0; 12]; 4];

/// Both ends joined, the initiator first.
fn joined() -> Link {
    let authority = Authority::new(Algorithm::Ed25519);
    let [one, other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    let mut link = Link::new(one, other, 43);
    link.run_well(Duration::from_secs(1));
    link.assert_settled();
    link
}

#[test]
fn a_nonce_that_is_too_short_for_the_prf_makes_no_sa() {
    // PRF_HMAC_SHA2_384: 24 octets.
    for (length, is_taken) in [(16, false), (23, false), (24, true)] {
        let mut link = joined();
        let now = link.now;
        let Link {
            initiator: victim,
            responder: Some(hostile),
            ..
        } = &mut link
        else {
            unreachable!("both are settled");
        };
        let known = victim.children[0].outbound.to_be_bytes();
        let proposal = Proposal {
            number: 1,
            protocol: 1,
            spi: vec![1; 8],
            transforms: proposal(HYBRID),
        };
        let pieces = [
            Piece::Proposals(vec![proposal]),
            Piece::Nonce(vec![7; length]),
            Piece::KeyExchange(31, vec![9; 32]),
        ];
        let header = hostile.header(ExchangeType::CREATE_CHILD_SA, 0, victim.expected);
        let (_, datagrams) = hostile
            .seal(header, payloads(&pieces, &known, &RANGES))
            .expect("sealed");
        for datagram in datagrams {
            victim.receive(now, &datagram);
        }
        assert_eq!(victim.responding.is_some(), is_taken, "{length} octets");
    }
}

#[test]
fn a_proven_response_with_a_critical_payload_that_is_unknown_ends_the_ike_sa() {
    for critical in [false, true] {
        let mut link = joined();
        let now = link.now;
        let Link {
            initiator: victim,
            responder: Some(hostile),
            ..
        } = &mut link
        else {
            unreachable!("both are settled");
        };
        let inbound = victim.children[0].inbound;
        victim.delete_child(now, inbound);
        let message_id = victim.outgoing.as_ref().expect("it asks").message_id;
        let header = hostile.header(ExchangeType::INFORMATIONAL, Flags::RESPONSE, message_id);
        let pieces = [Piece::Other(200, critical, vec![1])];
        let (_, datagrams) = hostile
            .seal(header, payloads(&pieces, &[0; 4], &RANGES))
            .expect("sealed");
        for datagram in datagrams {
            victim.receive(now, &datagram);
        }
        assert_eq!(victim.is_closed(), critical);
        assert_eq!(victim.is_established(), !critical);
    }
}

/// It was that of AUTH, which an initiator with another pre-shared key makes and this end does not
/// verify.
#[test]
fn the_signature_that_is_reported_is_the_one_that_was_verified() {
    let authority = Authority::new(Algorithm::Ed25519);
    let [mut one, mut other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    let ppk = |identity: &str| Ppk {
        identity: identity.into(),
        secret: vec![1; 32].into(),
        required: false,
        early: false,
    };
    (one.ppk, other.ppk) = (Some(ppk("theirs")), Some(ppk("ours")));
    let mut link = Link::new(one, other, 44);
    link.run(Duration::from_secs(1), &mut |_, datagram| {
        let exchange = Header::read(datagram).expect("a header").exchange;
        let copies = usize::from(exchange != ExchangeType::IKE_AUTH);
        vec![(DELAY, datagram.to_vec()); copies]
    });
    let now = link.now;
    let Link {
        initiator: hostile,
        responder: Some(victim),
        ..
    } = &mut link
    else {
        unreachable!("both have keys");
    };
    let asked = hostile.outgoing.as_ref().expect("IKE_AUTH");
    let [datagram] = &asked.datagrams[..] else {
        unreachable!("it is short");
    };
    let header = hostile.header(ExchangeType::IKE_AUTH, 0, asked.message_id);
    let protection = victim.security.as_ref().map(|security| &security.protection);
    let part = protection.and_then(|protection| protection.open(PayloadType::ENCRYPTED, datagram));
    let part = part.expect("opened");
    let mut message = Message::read(part.first, &part.content).expect("a message");
    let claimed = identifier(&alg_id::ML_DSA_65).expect("an identifier");
    let claimed = [&[claimed.len() as u8], &claimed[..], &[0; 64]].concat();
    let mut verified = None;
    for payload in &mut message.payloads {
        match &mut payload.body {
            Body::Authentication { data, .. } => *data = &claimed,
            Body::Notify { kind, data, .. } if *kind == NotifyType::NO_PPK_AUTH => {
                let (length, rest) = data.split_first().expect("a proof");
                verified = Some(rest[..usize::from(*length)].to_vec());
            }
            _ => {}
        }
    }
    let (_, datagrams) = hostile.seal(header, message.payloads).expect("sealed");
    for datagram in datagrams {
        victim.receive(now, &datagram);
    }
    let reported = std::iter::from_fn(|| victim.poll_event()).find_map(|event| match event {
        Event::Established { proofs, .. } => Some(proofs[1].clone()),
        _ => None,
    });
    assert!(verified.is_some() && reported == verified, "{reported:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_proven_message_makes_either_role_panic_or_hold_without_bound(
        victim in 0..2_usize,
        steps in prop::collection::vec((0..12_u8, any::<bool>(), 34..46_u8, prop::collection::vec(piece(), 0..8)), 1..12),
    ) {
        let authority = Authority::new(Algorithm::Ed25519);
        let [one, other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
        let mut link = Link::new(one, other, 41);
        link.run_well(Duration::from_secs(1));
        link.assert_settled();
        let mut now = link.now;
        let Link { initiator, responder: Some(responder), .. } = &mut link else {
            unreachable!("both are settled");
        };
        let (victim, hostile) = if victim == 0 { (initiator, responder) } else { (responder, initiator) };
        let ranges = [0_u8, 1, 2, 3].map(|last| [0, 0, 0xff, 0xff, 10, 78, 0, last, 10, 78, 0, last]);
        let count = steps.len();
        for (what, responds, exchange, pieces) in steps {
            ask(victim, what, now);
            let known = victim.children.first().map_or(0, |child| child.outbound).to_be_bytes();
            let payloads = payloads(&pieces, &known, &ranges);
            let (flags, exchange, message_id) = match victim.outgoing.as_ref().filter(|_| responds) {
                Some(outgoing) => (Flags::RESPONSE, outgoing.exchange, outgoing.message_id),
                // Mostly of the types that are understood.
                None if exchange >= 44 => (0, ExchangeType::IKE_FOLLOWUP_KE, victim.expected),
                None => (0, ExchangeType(exchange.min(37)), victim.expected),
            };
            let header = hostile.header(exchange, flags, message_id);
            if let Ok((_, datagrams)) = hostile.seal(header, payloads) {
                for datagram in datagrams {
                    victim.receive(now, &datagram);
                }
            }
            while victim.poll_transmit().is_some() {}
            while victim.poll_event().is_some() {}
            now += Duration::from_millis(50);
            prop_assert!(victim.children.len() <= 9 && victim.tasks.len() <= 2 * count);
        }
        // Each wait ends.
        for _ in 0..10_000 {
            let Some(due) = victim.timeout() else { break };
            now = now.max(due);
            victim.handle_timeout(now);
            while victim.poll_transmit().is_some() {}
        }
        prop_assert!(victim.is_closed() && victim.timeout().is_none(), "{victim:?}");
    }
}
