//! IKE_SAs without a CHILD_SA (RFC 6023), and proofs of the whole of IKE_SA_INIT
//! (draft-ietf-ipsecme-ikev2-downgrade-prevention).

use std::sync::Arc;
use std::time::Duration;

use bartizan_ike::{Claim, Failure, Identity, IkeSa, Trust};
use bartizan_wire::ike::{Body, ExchangeType, Header, Message, NotifyType, Payload, PayloadType};

use crate::link::{Algorithm, DELAY, HYBRID, Link};
use crate::{SOON, both};

/// IKE_SA_INIT of this end as the other sees it.
fn changing_init(of: usize, time: Duration, change: fn(&mut Vec<Payload<'_>>)) -> Link {
    let [one, other] = both(Algorithm::EcdsaP256, &[HYBRID]);
    let mut link = Link::new(one, other, 5);
    link.run(time, &mut |from, datagram| {
        let header = Header::read(datagram).unwrap();
        if from != of || header.exchange != ExchangeType::IKE_SA_INIT {
            return vec![(DELAY, datagram.to_vec())];
        }
        let mut message = Message::read(header.next, &datagram[Header::LENGTH..]).unwrap();
        change(&mut message.payloads);
        let (next, bytes) = message.encode().unwrap();
        let length = (Header::LENGTH + bytes.len()) as u32;
        let header = Header { next, length, ..header };
        vec![(DELAY, [&header.encode()[..], &bytes].concat())]
    });
    link
}

fn is_notify(payload: &Payload<'_>, wanted: NotifyType) -> bool {
    matches!(payload.body, Body::Notify { kind, .. } if kind == wanted)
}

#[test]
fn each_end_signs_what_both_have_sent_first() {
    let [one, other] = both(Algorithm::MlDsa65, &[HYBRID]);
    let mut link = Link::new(one, other, 4);
    link.run_well(SOON);
    link.assert_settled();
    assert!(
        [0, 1]
            .iter()
            .all(|end| link.agreed(*end).expect("established").full_transcript)
    );
}

#[test]
fn whatever_the_path_changes_in_either_message_is_found_out_by_the_end_that_has_sent_it() {
    let wrong = Failure::Authentication("its signature is wrong");
    // Changes to the responder's message. Without the initiator's signature of it the responder
    // would not know.
    for change in [
        |payloads: &mut Vec<Payload<'_>>| {
            let body = Body::Notify {
                protocol: 0,
                spi: &[],
                kind: NotifyType(40_000),
                data: &[],
            };
            payloads.push(Payload {
                kind: PayloadType::NOTIFY,
                critical: false,
                body,
            });
        },
        |payloads: &mut Vec<Payload<'_>>| {
            payloads.retain(|payload| !is_notify(payload, NotifyType::IKE_SA_INIT_FULL_TRANSCRIPT_AUTH));
        },
        |payloads: &mut Vec<Payload<'_>>| {
            payloads.retain(|payload| !is_notify(payload, NotifyType::CHILDLESS_IKEV2_SUPPORTED));
        },
    ] {
        let link = changing_init(1, SOON, change);
        assert_eq!(link.closed(1), Some(&wrong), "{:?}", link.events);
    }
    // That the initiator can is taken away: it sees no difference, and its peer does.
    let link = changing_init(0, SOON, |payloads| {
        payloads.retain(|payload| !is_notify(payload, NotifyType::IKE_SA_INIT_FULL_TRANSCRIPT_AUTH));
    });
    assert_eq!(link.closed(1), Some(&wrong), "{:?}", link.events);
}

#[test]
fn an_ike_sa_begins_without_a_child_sa_and_each_then_has_key_exchanges_of_its_own() {
    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let mut link = Link::new(one, other, 6);
    link.initiator.begin_childless();
    link.run_well(SOON);
    assert!(link.initiator.is_established() && link.responder.as_ref().is_some_and(IkeSa::is_established));
    assert!(
        [0, 1]
            .iter()
            .all(|end| link.child(*end).is_none() && link.closed(*end).is_none())
    );
    assert!(
        !link
            .events
            .iter()
            .flatten()
            .any(|event| matches!(event, bartizan_ike::Event::ChildRefused { .. }))
    );
    let now = link.now;
    link.initiator.make_child(now, 0);
    link.run_well(SOON);
    link.assert_settled();
    assert_eq!(link.requests(0, ExchangeType::CREATE_CHILD_SA), 1);
    let with_its_own = |end| {
        link.child(end)
            .expect("a CHILD_SA")
            .transforms
            .iter()
            .any(|one| one.is_additional())
    };
    assert!(with_its_own(0) && with_its_own(1));
}

#[test]
fn a_nonce_that_is_shorter_than_half_of_the_key_of_the_prf_is_refused_by_either_end() {
    // PRF_HMAC_SHA2_384: 24 octets.
    for (length, is_refused) in [(16, true), (23, true), (24, false)] {
        for of in 0..2 {
            let change = match length {
                16 => |payloads: &mut Vec<Payload<'_>>| shorten(payloads, 16),
                23 => |payloads: &mut Vec<Payload<'_>>| shorten(payloads, 23),
                _ => |payloads: &mut Vec<Payload<'_>>| shorten(payloads, 24),
            };
            // Until every attempt is made.
            let link = changing_init(of, Duration::from_secs(300), change);
            let short =
                matches!(link.closed(0), Some(Failure::Unauthenticated(why)) if why.to_string().contains("nonce"));
            assert_eq!(
                of == 1 && is_refused,
                short,
                "{length} octets of end {of}: {:?}",
                link.events
            );
            assert_eq!(
                of == 0 && is_refused,
                link.responder.is_none(),
                "{length} octets of end {of}"
            );
        }
    }
}

fn shorten(payloads: &mut [Payload<'_>], length: usize) {
    for payload in payloads {
        if let Body::Nonce(nonce) = &mut payload.body {
            *nonce = &nonce[..length];
        }
    }
}

#[test]
fn an_answer_with_a_critical_payload_that_is_unknown_is_left_alone_where_nothing_is_authenticated() {
    for critical in [false, true] {
        let change = match critical {
            true => |payloads: &mut Vec<Payload<'_>>| unknown(payloads, true),
            false => |payloads: &mut Vec<Payload<'_>>| unknown(payloads, false),
        };
        let link = changing_init(1, SOON, change);
        // The signatures reveal any change, if the response is taken at all.
        assert_eq!(link.closed(0).is_none(), critical, "{:?}", link.events);
        assert!(!link.initiator.is_established());
    }
}

fn unknown(payloads: &mut Vec<Payload<'_>>, critical: bool) {
    payloads.push(Payload {
        kind: PayloadType(200),
        critical,
        body: Body::Other(&[]),
    });
}

/// Trust of an end that has both values of IntAuth, 48 octets each with SHA-384, the other way
/// round: its view of a right proof is this end's view of one by Libreswan 5.4.
struct Swapping(Arc<dyn Trust>);

impl Trust for Swapping {
    fn authorities(&self) -> Vec<[u8; 20]> {
        self.0.authorities()
    }

    fn verify(&self, claim: Claim<'_>) -> Result<(), &'static str> {
        let mut octets = claim.octets.to_vec();
        let begin = octets.len() - 4 - 2 * 48;
        octets[begin..begin + 2 * 48].rotate_left(48);
        let octets = &octets;
        self.0.verify(Claim { octets, ..claim })
    }

    fn certify(&self, identity: &Identity, certificates: &[Vec<u8>]) -> Result<(), &'static str> {
        self.0.certify(identity, certificates)
    }
}

#[test]
fn proof_over_the_intermediate_exchanges_in_the_wrong_order_is_refused_by_that_name() {
    let run = |proposal: &[&str]| {
        let [mut one, other] = both(Algorithm::EcdsaP256, &[proposal]);
        one.trust = Arc::new(Swapping(one.trust));
        let mut link = Link::new(one, other, 7);
        link.run_well(SOON);
        let closed = link.closed(0).expect("refused").to_string();
        assert!(!link.initiator.is_established());
        closed
    };
    assert!(
        run(HYBRID).contains("IKE_INTERMEDIATE exchanges in the wrong order (RFC 9242"),
        "{}",
        run(HYBRID)
    );
    // Without such exchanges it is any other wrong signature.
    assert!(run(&["x25519"]).ends_with("its signature is wrong"));
}
