//! A hostile peer, and a hostile path: nothing makes either role panic, and what is not proven changes nothing.

use std::time::Duration;

use bartizan_ike::Failure;
use bartizan_wire::ike::{
    Body, ExchangeType, Flags, Header, KeyExchangeMethod, Message, NotifyType, Payload, PayloadType,
};
use proptest::prelude::*;

use crate::link::{Algorithm, Authority, DELAY, HYBRID, Link, config};
use crate::{SOON, both};

/// Everything that two ends send each other while they set an IKE_SA up.
fn recorded(seed: u64) -> (Link, Vec<(usize, Vec<u8>)>) {
    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let mut link = Link::new(one, other, seed);
    link.run_well(SOON);
    let sent = link
        .sent
        .iter()
        .map(|(from, transmit)| (*from, transmit.datagram.clone()))
        .collect();
    (link, sent)
}

#[test]
fn whoever_takes_the_post_quantum_exchange_out_of_the_proposals_is_found_out_by_both() {
    let authority = Authority::new(Algorithm::EcdsaP256);
    // Both would do without it, so that only the signatures differ.
    let [one, other] = [0, 1].map(|who| config(who, &authority, &[HYBRID, &["x25519"]]));
    let mut link = Link::new(one, other, 1);
    link.run(SOON, &mut |from, datagram| {
        let header = Header::read(datagram).unwrap();
        if from == 1 || header.exchange != ExchangeType::IKE_SA_INIT {
            return vec![(DELAY, datagram.to_vec())];
        }
        let mut message = Message::read(header.next, &datagram[Header::LENGTH..]).unwrap();
        for payload in &mut message.payloads {
            if let Body::Proposals(proposals) = &mut payload.body {
                proposals.remove(0);
            }
        }
        let (next, bytes) = message.encode().unwrap();
        let length = (Header::LENGTH + bytes.len()) as u32;
        let header = Header { next, length, ..header };
        vec![(DELAY, [&header.encode()[..], &bytes].concat())]
    });
    let wrong = Failure::Authentication("its signature is wrong");
    assert_eq!(link.closed(1), Some(&wrong), "{:?}", link.events);
    assert_eq!(
        link.closed(0),
        Some(&Failure::Refused(NotifyType::AUTHENTICATION_FAILED))
    );
}

#[test]
fn every_message_that_comes_again_changes_nothing() {
    let (mut link, sent) = recorded(2);
    let answers = link.sent.len();
    for (from, datagram) in sent.iter().chain(sent.iter().rev()) {
        link.deliver(1 - from, datagram);
    }
    link.run_well(Duration::from_millis(5));
    link.assert_joined();
    assert!(
        link.initiator.is_established() && link.responder.as_ref().is_some_and(bartizan_ike::IkeSa::is_established)
    );
    assert_eq!(link.events.iter().map(Vec::len).sum::<usize>(), 4);
    // The last request alone is answered again, each time.
    let last = sent.iter().rfind(|(from, _)| *from == 1).unwrap();
    let again = link.sent[answers..]
        .iter()
        .filter(|(_, transmit)| transmit.datagram == last.1);
    assert_eq!(again.count(), 2);
    assert_eq!(link.sent.len(), answers + 2);
}

/// The datagram with another list of payloads.
fn rewritten(datagram: &[u8], change: impl FnOnce(&mut Vec<Payload<'_>>)) -> Vec<u8> {
    let header = Header::read(datagram).unwrap();
    let mut message = Message::read(header.next, &datagram[Header::LENGTH..]).unwrap();
    change(&mut message.payloads);
    let (next, bytes) = message.encode().unwrap();
    let length = (Header::LENGTH + bytes.len()) as u32;
    [&Header { next, length, ..header }.encode()[..], &bytes].concat()
}

fn notification<'a>(kind: NotifyType, data: &'a [u8]) -> Payload<'a> {
    let body = Body::Notify {
        protocol: 0,
        spi: &[],
        kind,
        data,
    };
    Payload {
        kind: PayloadType::NOTIFY,
        critical: false,
        body,
    }
}

/// Answers that another sender on the path makes of the responder's own: each can be read, and none
/// can be used.
fn forged(answer: &[u8]) -> Vec<Vec<u8>> {
    let refusals = [
        (NotifyType::NO_PROPOSAL_CHOSEN, &[][..]),
        (NotifyType::INVALID_KE_PAYLOAD, &[0xff, 0xff]),
        (NotifyType::INVALID_SYNTAX, &[]),
        (NotifyType::COOKIE, &[7; 65]),
    ];
    let refused = refusals.map(|(kind, data)| rewritten(answer, |payloads| *payloads = vec![notification(kind, data)]));
    let change = |change: &dyn Fn(&mut Body<'_>)| {
        rewritten(answer, |payloads| {
            payloads.iter_mut().for_each(|payload| change(&mut payload.body));
        })
    };
    let chosen = [
        change(&|body| {
            if let Body::Proposals(proposals) = body {
                proposals[0].transforms.retain(|transform| transform.kind != 6);
            }
        }),
        change(&|body| {
            if let Body::Proposals(proposals) = body {
                proposals.push(proposals[0].clone());
            }
        }),
        change(&|body| {
            if let Body::KeyExchange { method, .. } = body {
                *method = KeyExchangeMethod(19);
            }
        }),
        // A point of small order (RFC 8031, section 2.3).
        change(&|body| {
            if let Body::KeyExchange { data, .. } = body {
                *data = &[0; 32];
            }
        }),
        change(&|body| {
            if let Body::KeyExchange { data, .. } = body {
                *data = &[9; 31];
            }
        }),
        change(&|body| {
            if let Body::Nonce(nonce) = body {
                *nonce = &[5; 16];
            }
        }),
        rewritten(answer, |payloads| {
            payloads.retain(|payload| payload.kind != PayloadType::NONCE);
        }),
        rewritten(answer, |payloads| {
            payloads.retain(|payload| {
                !matches!(payload.body, Body::Notify { kind, .. } if kind == NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED)
            });
        }),
    ];
    refused.into_iter().chain(chosen).collect()
}

#[test]
fn answers_of_another_sender_to_the_first_request_do_not_keep_the_peers_out() {
    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let mut link = Link::new(one, other, 3);
    let mut spoofed = 0;
    link.run(SOON, &mut |from, datagram| {
        let header = Header::read(datagram).unwrap();
        let mut fate = vec![(DELAY, datagram.to_vec())];
        if from == 1 && header.exchange == ExchangeType::IKE_SA_INIT && spoofed == 0 {
            // They arrive before the peer's own.
            let forged = forged(datagram);
            spoofed = forged.len();
            fate.extend(forged.into_iter().map(|forged| (DELAY / 2, forged)));
        }
        fate
    });
    assert_eq!(spoofed, 12);
    link.assert_joined();
}

#[test]
fn answer_to_the_first_request_that_cannot_be_used_is_reported_behind_the_last_attempt() {
    for number in 0..12 {
        let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
        let mut link = Link::new(one, other, 3);
        let mut forging = |from, datagram: &[u8]| match from {
            0 => vec![(DELAY, datagram.to_vec())],
            _ => vec![(DELAY, forged(datagram).swap_remove(number))],
        };
        link.run(SOON, &mut forging);
        assert_eq!(link.closed(0), None, "{number}");
        link.run(Duration::from_secs(300), &mut forging);
        assert!(
            matches!(link.closed(0), Some(Failure::Unauthenticated(_))),
            "{number}: {:?}",
            link.events
        );
    }
}

#[test]
fn a_critical_payload_that_is_unknown_is_named_in_the_refusal_and_another_is_skipped() {
    for (critical, joined) in [(true, false), (false, true)] {
        let authority = Authority::new(Algorithm::Ed25519);
        let [one, other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
        let mut link = Link::new(one, other, 4);
        link.run(Duration::from_millis(5), &mut |_, _| Vec::new());
        let first = link.sent[0].1.datagram.clone();
        let header = Header::read(&first).unwrap();
        let mut message = Message::read(header.next, &first[Header::LENGTH..]).unwrap();
        let body = Body::Other(b"of tomorrow");
        message.payloads.push(bartizan_wire::ike::Payload {
            kind: PayloadType(200),
            critical,
            body,
        });
        let (next, bytes) = message.encode().unwrap();
        let length = (Header::LENGTH + bytes.len()) as u32;
        link.deliver(1, &[&Header { next, length, ..header }.encode()[..], &bytes].concat());
        assert_eq!(link.responder.is_some(), joined);
        if !joined {
            assert!(
                link.answered.iter().any(|answer| answer.ends_with(&[0, 0, 0, 1, 200])),
                "{:?}",
                link.answered
            );
        }
    }
}

/// One datagram of a set-up, changed in one of the ways that a path or a peer without keys can.
fn changed(datagram: &[u8], at: usize, bit: u8, cut: usize, way: u8) -> Vec<u8> {
    let mut changed = datagram.to_vec();
    let at = at % changed.len();
    match way {
        0 => changed[at] ^= 1 << (bit & 7),
        1 => changed.truncate(cut % (datagram.len() + 1)),
        2 => changed.extend_from_slice(&datagram[..at]),
        // With a length that says so.
        _ => {
            changed.truncate(Header::LENGTH.max(cut % (datagram.len() + 1)).min(datagram.len()));
            let length = changed.len() as u32;
            if let Some(field) = changed.get_mut(24..28) {
                field.copy_from_slice(&length.to_be_bytes());
            }
        }
    }
    changed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Changed messages arrive before the right ones, at every step of both roles.
    #[test]
    fn changed_messages_neither_panic_nor_keep_the_right_ones_out(
        seed in any::<u64>(),
        changes in prop::collection::vec((any::<usize>(), any::<u8>(), any::<usize>(), 0..4_u8), 1..30),
    ) {
        let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
        let mut link = Link::new(one, other, seed);
        let mut changes = changes.into_iter().cycle();
        link.run(SOON, &mut |_, datagram| {
            let header = Header::read(datagram).unwrap();
            let (at, bit, cut, way) = changes.next().unwrap();
            let right = (DELAY, datagram.to_vec());
            // Unencrypted messages are proven by IKE_AUTH alone: a change to them decides the
            // agreement.
            if header.exchange == ExchangeType::IKE_SA_INIT {
                return vec![right];
            }
            vec![(DELAY / 2, changed(datagram, at, bit, cut, way)), right]
        });
        link.assert_joined();
    }

    #[test]
    fn changed_first_messages_end_in_the_same_keys_or_in_none(
        seed in any::<u64>(),
        at in any::<usize>(),
        bit in any::<u8>(),
        cut in any::<usize>(),
        way in 0..4_u8,
        of in 0..2_usize,
    ) {
        let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
        let mut link = Link::new(one, other, seed);
        let mut done = false;
        link.run(Duration::from_secs(300), &mut |from, datagram| {
            if from == of && !done {
                done = true;
                return vec![(DELAY, changed(datagram, at, bit, cut, way))];
            }
            vec![(DELAY, datagram.to_vec())]
        });
        let established = link.initiator.is_established();
        prop_assert_eq!(established, link.responder.as_ref().is_some_and(bartizan_ike::IkeSa::is_established));
        if established {
            link.assert_joined();
        } else {
            prop_assert!(link.initiator.is_closed());
        }
    }

    #[test]
    fn no_bytes_make_either_role_panic(
        seed in any::<u64>(),
        stage in 0..6_u32,
        datagrams in prop::collection::vec((any::<bool>(), 0..2_usize, any::<u8>(), prop::collection::vec(any::<u8>(), 0..200)), 1..20),
    ) {
        let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
        let mut link = Link::new(one, other, seed);
        link.run_well(DELAY * stage + DELAY / 2);
        for (framed, to, exchange, bytes) in datagrams {
            let (initiator_spi, responder_spi) = link.initiator.spis();
            let header = Header {
                initiator_spi,
                responder_spi,
                next: PayloadType(33 + exchange % 21),
                major: 2,
                minor: 0,
                exchange: ExchangeType(34 + exchange % 11),
                flags: Flags(if to == 1 { Flags::INITIATOR } else { Flags::RESPONSE }),
                message_id: stage / 2,
                length: (Header::LENGTH + bytes.len()) as u32,
            };
            let datagram = if framed { [&header.encode()[..], &bytes].concat() } else { bytes };
            link.deliver(to, &datagram);
        }
    }
}
