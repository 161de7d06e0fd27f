//! Both roles against each other: what they agree on, what they refuse, and what neither makes of anything else.

mod authentication;
mod endpoint;
mod extensions;
mod hostile;
mod libreswan;
mod link;
mod lossy;
mod preshared;
mod rekey;
mod several;
mod strongswan;
mod trusted;

use std::time::Duration;

use std::sync::Arc;

use bartizan_ike::{Anchors, Config, Event, Failure, Mode, Port, Revocation, RevocationList, Selector, SigningKey};
use bartizan_wire::ike::{ExchangeType, Header, KeyExchangeMethod, NotifyType};
use rustls_pki_types::{AlgorithmIdentifier, UnixTime, alg_id};
use webpki::OwnedCertRevocationList;

use link::{Algorithm, Authority, HYBRID, Link, config, transform};

const SOON: Duration = Duration::from_secs(5);

/// Both ends with certificates of one authority.
fn both(algorithm: Algorithm, proposals: &[&[&str]]) -> [Config; 2] {
    let authority = Authority::new(algorithm);
    [0, 1].map(|who| config(who, &authority, proposals))
}

#[test]
fn every_signature_authenticates_both_ends() {
    for algorithm in Algorithm::ALL {
        let [one, other] = both(algorithm, &[HYBRID]);
        let mut link = Link::new(one, other, 1);
        link.run_well(SOON);
        link.assert_joined();
        assert!(link.closed(0).is_none() && link.closed(1).is_none(), "{algorithm:?}");
    }
}

#[test]
fn every_key_exchange_is_made_alone_and_as_an_additional_one() {
    let all = [
        "x25519",
        "ecp256",
        "ecp384",
        "ecp521",
        "mlkem512",
        "mlkem768",
        "mlkem1024",
    ];
    for method in all {
        for proposal in [&[method][..], &["x25519", method], &["ecp256", method, "mlkem512"]] {
            let [one, other] = both(Algorithm::Ed25519, &[proposal]);
            let mut link = Link::new(one, other, 2);
            link.run_well(SOON);
            link.assert_joined();
            let agreed = link.agreed(0).expect("established");
            let names = proposal.iter().zip([4].into_iter().chain(6..));
            let expected: Vec<_> = names.map(|(name, kind)| transform(kind, name, None).id).collect();
            let made: Vec<u16> = std::iter::once(agreed.first)
                .chain(agreed.additional.iter().copied())
                .map(|method| method.0)
                .collect();
            assert_eq!(made, expected);
            // One round trip for IKE_SA_INIT, one for each additional key exchange, one for IKE_AUTH.
            let requests = link.sent.iter().filter(|(from, _)| *from == 0);
            let mut kinds: Vec<_> = requests
                .map(|(_, transmit)| Header::read(&transmit.datagram).unwrap().message_id)
                .collect();
            kinds.dedup();
            assert_eq!(kinds, (0..=proposal.len() as u32).collect::<Vec<_>>());
        }
    }
}

#[test]
fn every_cipher_protects_messages_whole_and_in_fragments() {
    let gcm = |bits| vec![transform(1, "ENCR_AES_GCM_16", Some(bits))];
    let cbc = |bits, proof| vec![transform(1, "ENCR_AES_CBC", Some(bits)), transform(3, proof, None)];
    let ccm = |name, bits| vec![transform(1, name, Some(bits))];
    let chacha = vec![transform(1, "ENCR_CHACHA20_POLY1305", None)];
    for cipher in [
        gcm(128),
        gcm(256),
        ccm("ENCR_AES_CCM_16", 128),
        ccm("ENCR_AES_CCM_16", 192),
        ccm("ENCR_AES_CCM_12", 256),
        chacha,
        cbc(128, "sha256"),
        cbc(256, "sha384"),
        cbc(256, "sha512"),
    ] {
        for prf in ["prfsha256", "prfsha384", "prfsha512"] {
            // In UDP of port 4500 a marker goes before each message.
            for (longest, in_udp) in [(300, false), (1232, false), (1232, true), (60_000, false)] {
                let mut configs = both(Algorithm::Ed25519, &[HYBRID]);
                for config in &mut configs {
                    let exchanges = [transform(4, "x25519", None), transform(6, "mlkem768", None)];
                    let rest = [transform(2, prf, None)].into_iter().chain(exchanges);
                    config.proposals = vec![cipher.iter().copied().chain(rest).collect()];
                    config.child.proposals = vec![cipher.clone()];
                    config.longest = longest;
                    config.always_in_udp = in_udp;
                }
                let [one, other] = configs;
                let mut link = Link::new(one, other, 3);
                link.run_well(SOON);
                link.assert_joined();
                for (_, transmit) in &link.sent {
                    let header = Header::read(&transmit.datagram).unwrap();
                    // IKE_SA_INIT is never fragmented (RFC 7383, section 2).
                    let marker = if transmit.port == Port::Nat { 4 } else { 0 };
                    let length = transmit.datagram.len() + marker;
                    let is_first = header.exchange == ExchangeType::IKE_SA_INIT;
                    assert!(is_first || length <= longest, "{length} octets: {header:?}");
                    assert_eq!(marker > 0, in_udp && !is_first, "{header:?}");
                }
                // The public key of ML-KEM-768 takes 1184 bytes: with headers and check value it is over 1232.
                let intermediate = link.sent.iter().filter(|(from, transmit)| {
                    *from == 0 && Header::read(&transmit.datagram).unwrap().exchange == ExchangeType::IKE_INTERMEDIATE
                });
                assert_eq!(intermediate.count() > 1, longest <= 1232);
            }
        }
    }
}

#[test]
fn a_responder_that_demands_cookies_keeps_nothing_until_one_returns() {
    let [one, other] = both(Algorithm::EcdsaP256, &[HYBRID]);
    let mut link = Link::new(one, other, 4);
    link.must_return = true;
    link.run_well(Duration::from_millis(15));
    assert!(link.responder.is_none());
    link.run_well(SOON);
    link.assert_joined();
    let first: Vec<_> = link.sent.iter().filter(|(from, _)| *from == 0).take(2).collect();
    assert!(first[1].1.datagram.len() > first[0].1.datagram.len());
}

#[test]
fn an_initiator_begins_again_with_the_method_that_the_responder_wants() {
    let authority = Authority::new(Algorithm::EcdsaP256);
    let one = config(0, &authority, &[&["x25519", "mlkem768"], &["ecp384", "mlkem768"]]);
    let other = config(1, &authority, &[&["ecp384", "mlkem768"]]);
    let mut link = Link::new(one, other, 5);
    link.run_well(SOON);
    link.assert_joined();
    let ecp384 = KeyExchangeMethod(transform(4, "ecp384", None).id);
    assert_eq!(link.agreed(1).expect("established").first, ecp384);
}

#[test]
fn ends_without_a_proposal_in_common_both_end_without_an_sa() {
    let authority = Authority::new(Algorithm::EcdsaP256);
    let one = config(0, &authority, &[HYBRID]);
    let other = config(1, &authority, &[&["x25519"]]);
    let mut link = Link::new(one, other, 6);
    link.run_well(Duration::from_secs(300));
    // The refusal is unauthenticated, so that all attempts are made first.
    let refused = Failure::Unauthenticated(Box::new(Failure::Refused(NotifyType::NO_PROPOSAL_CHOSEN)));
    assert_eq!(link.closed(0), Some(&refused));
    assert!(link.responder.is_none());
}

#[test]
fn a_peer_under_another_authority_is_refused_by_name_at_both_ends() {
    let authorities = [0, 1].map(|_| Authority::new(Algorithm::EcdsaP256));
    // The responder does not believe the initiator.
    let [one, other] = [0, 1].map(|who| config(who, &authorities[who], &[HYBRID]));
    let mut link = Link::new(one, other, 7);
    link.run_well(SOON);
    assert!(
        matches!(link.closed(1), Some(Failure::Authentication(_))),
        "{:?}",
        link.events
    );
    assert_eq!(
        link.closed(0),
        Some(&Failure::Refused(NotifyType::AUTHENTICATION_FAILED))
    );
    // The initiator does not believe the responder, which believes it.
    let [mut one, other] = both(Algorithm::EcdsaP256, &[HYBRID]);
    one.trust = config(0, &authorities[0], &[HYBRID]).trust;
    let mut link = Link::new(one, other, 8);
    link.run_well(SOON);
    assert!(
        matches!(link.closed(0), Some(Failure::Authentication(_))),
        "{:?}",
        link.events
    );
    assert_eq!(
        link.closed(1),
        Some(&Failure::Refused(NotifyType::AUTHENTICATION_FAILED))
    );
    assert!(link.child(0).is_none());
}

#[test]
fn somebody_else_with_a_certificate_of_the_same_authority_is_refused() {
    let authority = Authority::new(Algorithm::EcdsaP256);
    let [mut one, other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    // It says that it is the one that is expected; its certificate says who it is.
    let (certificate, key) = authority.issue("third.test");
    one.certificates = vec![certificate];
    one.key = bartizan_ike::SigningKey::from_pkcs8(&key).expect("a key");
    let mut link = Link::new(one, other, 9);
    link.run_well(SOON);
    let reason = "its certificate is not of the identity that it claims";
    assert_eq!(link.closed(1), Some(&Failure::Authentication(reason)));
}

/// Reason for which the responder refuses the initiator, with these lists and this strictness; none
/// if it does not.
fn refused(
    revocation: Revocation,
    lists: impl Fn(&Authority) -> Vec<Vec<u8>>,
    change: impl Fn(Anchors) -> Anchors,
) -> Option<Failure> {
    refused_at(UnixTime::since_unix_epoch(Duration::ZERO), revocation, lists, change)
}

/// The same with lists that begin then.
fn refused_at(
    begins: UnixTime,
    revocation: Revocation,
    lists: impl Fn(&Authority) -> Vec<Vec<u8>>,
    change: impl Fn(Anchors) -> Anchors,
) -> Option<Failure> {
    let authority = Authority::new(Algorithm::EcdsaP256);
    let [one, mut other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    let read = |der: Vec<u8>| RevocationList {
        begins,
        list: Arc::new(OwnedCertRevocationList::from_der(&der).expect("a list").into()),
    };
    let lists = lists(&authority).into_iter().map(read).collect();
    let anchors = Anchors::new(vec![authority.certificate()], UnixTime::now());
    other.trust = Arc::new(change(anchors.revoking(lists, revocation)));
    let mut link = Link::new(one, other, 12);
    link.run_well(SOON);
    link.closed(1).cloned()
}

#[test]
fn a_certificate_that_was_revoked_is_refused_and_so_is_one_of_unknown_status_where_lists_are_required() {
    const REVOKED: Failure = Failure::Authentication("its certificate was revoked");
    const UNKNOWN: Failure = Failure::Authentication("whether its certificate was revoked is not known, and must be");
    let same = |anchors| anchors;
    let on_it = |due| move |authority: &Authority| vec![authority.list(&["one.test"], due)];
    let empty = |due| move |authority: &Authority| vec![authority.list(&[], due)];
    let none = |_: &Authority| Vec::new();
    let of_another = |_: &Authority| vec![Authority::new(Algorithm::Ed25519).list(&[], 2040)];
    for both in [Revocation::IfPresent, Revocation::Required] {
        assert_eq!(refused(both, on_it(2040), same), Some(REVOKED), "{both:?}");
        assert_eq!(refused(both, empty(2040), same), None, "{both:?}");
    }
    // One that was due to be replaced is obeyed, but what it does not have may have been revoked since.
    assert_eq!(refused(Revocation::IfPresent, on_it(2021), same), Some(REVOKED));
    assert_eq!(refused(Revocation::IfPresent, empty(2021), same), None);
    assert_eq!(refused(Revocation::Required, empty(2021), same), Some(UNKNOWN));
    assert_eq!(refused(Revocation::IfPresent, none, same), None);
    assert_eq!(refused(Revocation::Required, none, same), Some(UNKNOWN));
    // One of the future is no current one either.
    let later = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs() + 3600));
    assert_eq!(
        refused_at(later, Revocation::IfPresent, on_it(2040), same),
        Some(REVOKED)
    );
    assert_eq!(
        refused_at(later, Revocation::Required, empty(2040), same),
        Some(UNKNOWN)
    );
    // A list that another key has signed in the authority's name says nothing that could be believed.
    let why = refused(Revocation::Required, of_another, same);
    assert!(matches!(why, Some(Failure::Authentication(_))), "{why:?}");
}

#[test]
fn a_signature_that_is_not_among_those_that_are_accepted_is_refused() {
    let none = |_: &Authority| Vec::new();
    let accepting = |accepted: Vec<AlgorithmIdentifier>| move |anchors: Anchors| anchors.accepting(accepted.clone());
    let only = |accepted| refused(Revocation::IfPresent, none, accepting(accepted));
    assert_eq!(only(vec![alg_id::ML_DSA_65, alg_id::ECDSA_SHA256]), None);
    let why = Failure::Authentication("its signature is of an algorithm that is not accepted");
    assert_eq!(only(vec![alg_id::ML_DSA_65]), Some(why));
}

#[test]
fn a_certificate_with_a_wildcard_is_of_no_peer() {
    let authority = Authority::new(Algorithm::Ed25519);
    let [one, mut other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    let (certificate, key) = authority.issue("*.test");
    other.certificates = vec![certificate];
    other.key = SigningKey::from_pkcs8(&key).expect("a key");
    let mut link = Link::new(one, other, 16);
    link.run_well(SOON);
    let why = Failure::Authentication("its certificate is not of the identity that it claims");
    assert_eq!(link.closed(0), Some(&why));
    assert!(link.child(0).is_none());
}

#[test]
fn that_it_is_the_only_ike_sa_reaches_the_peer_where_it_is_said_and_only_there() {
    for is_said in [true, false] {
        let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
        let mut link = Link::new(one, other, 13);
        if is_said {
            link.initiator.announce_initial_contact();
        }
        link.run_well(SOON);
        link.assert_joined();
        let events = link.events.each_ref().map(|events| {
            let said = events.iter().position(|event| matches!(event, Event::InitialContact));
            let established = events
                .iter()
                .position(|event| matches!(event, Event::Established { .. }));
            (said, established.expect("it is"))
        });
        assert_eq!(events[0].0, None);
        assert_eq!(events[1].0.is_some(), is_said);
        assert!(events[1].0.is_none_or(|said| said < events[1].1));
    }
}

#[test]
fn both_ends_report_by_which_signatures_they_were_authenticated() {
    let [one, other] = both(Algorithm::MlDsa65, &[HYBRID]);
    let mut link = Link::new(one, other, 14);
    link.run_well(SOON);
    for events in &link.events {
        let proofs = events.iter().find_map(|event| match event {
            Event::Established { proofs, .. } => Some(proofs),
            _ => None,
        });
        for proof in proofs.expect("established") {
            // In the SEQUENCE of an AlgorithmIdentifier.
            assert_eq!(&proof[2..], &*alg_id::ML_DSA_65);
        }
    }
}

#[test]
fn an_ike_sa_that_is_discarded_sends_nothing_more() {
    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let mut link = Link::new(one, other, 15);
    link.run_well(SOON);
    let sent = link.sent.len();
    link.initiator.discard();
    assert!(link.initiator.is_closed() && link.initiator.poll_transmit().is_none());
    assert_eq!(link.sent.len(), sent);
    let ended = std::iter::from_fn(|| link.initiator.poll_event()).last();
    assert!(matches!(ended, Some(Event::Closed(Failure::Dropped))), "{ended:?}");
}

#[test]
fn traffic_is_narrowed_to_what_both_want_and_refused_where_that_is_nothing() {
    let net = |third: u8, last: u8| Selector::of([10, 78, third, 0].into(), [10, 78, third, last].into());
    let [mut one, mut other] = both(Algorithm::Ed25519, &[HYBRID]);
    one.child.local = vec![net(0, 255)];
    one.child.remote = vec![net(1, 255)];
    other.child.local = vec![net(1, 127)];
    other.child.remote = vec![net(0, 63), net(9, 255)];
    let mut link = Link::new(one, other, 10);
    link.run_well(SOON);
    link.assert_joined();
    let child = link.child(0).expect("made");
    assert_eq!((&child.local, &child.remote), (&vec![net(0, 63)], &vec![net(1, 127)]));

    let [one, mut other] = both(Algorithm::Ed25519, &[HYBRID]);
    other.child.local = vec![net(200, 255)];
    let mut link = Link::new(one, other, 11);
    link.run_well(SOON);
    for events in &link.events {
        let kind = NotifyType::TS_UNACCEPTABLE;
        let refused = |event: &Event| matches!(event, Event::ChildRefused { place: 0, kind: of, .. } if *of == kind);
        assert!(events.iter().any(refused), "{events:?}");
    }
    assert!(link.initiator.is_established());
}

#[test]
fn transport_mode_is_agreed_on_where_both_ask_for_it_and_not_otherwise() {
    let [mut one, mut other] = both(Algorithm::Ed25519, &[HYBRID]);
    one.child.mode = Mode::Transport;
    other.child.mode = Mode::Transport;
    let mut link = Link::new(one, other, 12);
    link.run_well(SOON);
    link.assert_joined();
    assert_eq!(link.child(0).expect("made").mode, Mode::Transport);

    let [mut one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    one.child.mode = Mode::Transport;
    let mut link = Link::new(one, other, 13);
    link.run_well(SOON);
    assert!(link.child(0).is_none());
    assert_eq!(link.closed(0), Some(&Failure::NoProposal));
    assert_eq!(link.closed(1), Some(&Failure::Deleted));
}

#[test]
fn translation_of_addresses_moves_both_ends_to_port_4500() {
    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let socket = |text: &str| text.parse().expect("a socket");
    let ends = [
        bartizan_ike::Ends {
            local: socket("10.0.0.5:500"),
            remote: socket("192.0.2.2:500"),
        },
        bartizan_ike::Ends {
            local: socket("192.0.2.2:500"),
            remote: socket("203.0.113.9:4711"),
        },
    ];
    let mut link = Link::between(ends, one, other, 14);
    link.run_well(SOON);
    link.assert_joined();
    assert!(link.child(0).expect("made").in_udp && link.child(1).expect("made").in_udp);
    assert_eq!(link.by(Port::Ike), 2);
    assert!(link.by(Port::Nat) > 2);

    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let mut link = Link::new(one, other, 15);
    link.run_well(SOON);
    assert!(!link.child(0).expect("made").in_udp);
    assert_eq!(link.by(Port::Nat), 0);
}

#[test]
fn a_deletion_ends_both_and_a_peer_that_is_gone_is_found_out() {
    for closing in 0..2 {
        let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
        let mut link = Link::new(one, other, 16);
        link.run_well(SOON);
        let now = link.now;
        match closing {
            0 => link.initiator.close(now),
            _ => link.responder.as_mut().expect("it is there").close(now),
        }
        link.run_well(SOON);
        assert_eq!(link.closed(closing), Some(&Failure::Closed));
        assert_eq!(link.closed(1 - closing), Some(&Failure::Deleted));
    }
    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let mut link = Link::new(one, other, 17);
    link.run_well(SOON);
    link.responder = None;
    link.run(Duration::from_secs(600), &mut |_, _| Vec::new());
    assert_eq!(link.closed(0), Some(&Failure::Unanswered));
    assert_eq!(link.initiator.timeout(), None);
}

#[test]
fn a_responder_gives_up_a_peer_that_does_not_authenticate_itself() {
    let [one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let mut link = Link::new(one, other, 18);
    let only_init = |_: usize, datagram: &[u8]| {
        let is_init = Header::read(datagram).unwrap().exchange == ExchangeType::IKE_SA_INIT;
        if is_init {
            vec![(link::DELAY, datagram.to_vec())]
        } else {
            Vec::new()
        }
    };
    link.run(Duration::from_secs(40), &mut { only_init });
    assert_eq!(link.closed(1), Some(&Failure::Abandoned));
}
