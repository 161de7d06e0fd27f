//! A chain that was seen before is judged like one that was not: remembered is only what its bytes say and that its signatures
//! verify.

use std::sync::Arc;

use bartizan_deployment::InterfaceKind;
use bartizan_tls::{Connecting, Credentials, Endpoint, Reason, peers};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ML_DSA_65};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use time::{Duration, OffsetDateTime};

use crate::authority::{Authority, Issued, Wanted, dns};
use crate::refusals::Presenting;
use crate::wire::{Clock, Outcome, amf, deployment, now, nrf, shake};

fn root() -> Authority {
    Authority::root("root", &PKCS_ML_DSA_65)
}

fn connect(client: &Endpoint, server: &Endpoint) -> Outcome {
    shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    )
}

/// Two handshakes that end well at both ends: from the second on, both chains and all signatures are remembered.
fn acquaint(client: &Endpoint, server: &Endpoint) {
    for _ in 0..2 {
        let outcome = connect(client, server);
        let (client, server) = (outcome.client.unwrap(), outcome.server.unwrap());
        assert!(!client.negotiated.resumed && !server.negotiated.resumed);
    }
}

fn judged_by_server(outcome: &Outcome) -> Option<Reason> {
    outcome.server.as_ref().err().map(|refused| refused.reason)
}

fn listed(authority: &Authority, revoked: &[&Issued], until: OffsetDateTime, own: &Issued) -> Credentials {
    authority.credentials(own, Some(&authority.list(revoked, until)))
}

#[test]
fn the_second_handshake_says_the_same_of_the_peer_as_the_first() {
    let authority = root();
    let issuing = authority.intermediate("issuing", &PKCS_ML_DSA_65);
    let client = amf(issuing.node("amf"), &deployment("hybrid"));
    let server = nrf(issuing.node("nrf"), &deployment("hybrid"));
    let [first, second] = [connect(&client, &server), connect(&client, &server)];
    for (first, second) in [(first.client, second.client), (first.server, second.server)] {
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(first.chain.len(), 2);
        assert_eq!(first.chain, second.chain);
        assert_eq!(first.peer, second.peer);
        assert_eq!(first.verdict, second.verdict);
        assert_eq!(first.negotiated, second.negotiated);
    }
}

#[test]
fn a_certificate_that_ends_between_two_handshakes_is_refused() {
    let authority = root();
    let start = now();
    let mut wanted = Wanted::named([dns("amf")]);
    wanted.not_after = OffsetDateTime::from_unix_timestamp(i64::try_from(start).unwrap() + 60).unwrap();
    let clock = Clock::at(start);
    let client = amf(
        authority.credentials(&authority.issue(wanted), None),
        &deployment("hybrid"),
    );
    let nodes = peers(&deployment("hybrid"), "nrf");
    let server = Endpoint::with_clock(authority.node("nrf"), nodes, clock.clone()).unwrap();
    acquaint(&client, &server);
    clock.set(start + 61);
    assert_eq!(judged_by_server(&connect(&client, &server)), Some(Reason::Expired));
    clock.set(start - 2 * 24 * 60 * 60);
    assert_eq!(judged_by_server(&connect(&client, &server)), Some(Reason::NotYetValid));
    clock.set(start);
    acquaint(&client, &server);
}

#[test]
fn a_root_that_ends_between_two_handshakes_vouches_for_nobody_any_more() {
    let start = now();
    let end = OffsetDateTime::from_unix_timestamp(i64::try_from(start).unwrap() + 60).unwrap();
    let authority = Authority::root_until("root", &PKCS_ML_DSA_65, end);
    let clock = Clock::at(start);
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let nodes = peers(&deployment("hybrid"), "nrf");
    let server = Endpoint::with_clock(authority.node("nrf"), nodes, clock.clone()).unwrap();
    acquaint(&client, &server);
    clock.set(start + 61);
    assert_eq!(judged_by_server(&connect(&client, &server)), Some(Reason::Expired));
}

#[test]
fn a_required_list_that_runs_out_between_two_handshakes_answers_no_more() {
    let authority = root();
    let start = now();
    let until = OffsetDateTime::from_unix_timestamp(i64::try_from(start).unwrap() + 60).unwrap();
    let clock = Clock::at(start);
    let own = authority.issue(Wanted::named([dns("nrf")]));
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let nodes = peers(&deployment("{ profile: hybrid, revocation: require }"), "nrf");
    let server = Endpoint::with_clock(listed(&authority, &[], until, &own), nodes, clock.clone()).unwrap();
    acquaint(&client, &server);
    clock.set(start + 61);
    assert_eq!(
        judged_by_server(&connect(&client, &server)),
        Some(Reason::RevocationUnknown)
    );
}

#[test]
fn a_certificate_revoked_between_two_handshakes_is_refused() {
    let authority = root();
    let until = OffsetDateTime::now_utc() + Duration::days(1);
    let (theirs, own) = (
        authority.issue(Wanted::named([dns("amf")])),
        authority.issue(Wanted::named([dns("nrf")])),
    );
    let client = amf(authority.credentials(&theirs, None), &deployment("hybrid"));
    for policy in ["hybrid", "{ profile: hybrid, revocation: require }"] {
        let server = nrf(listed(&authority, &[], until, &own), &deployment(policy));
        acquaint(&client, &server);
        let reloaded = server
            .with_credentials(listed(&authority, &[&theirs], until, &own))
            .unwrap();
        assert_eq!(
            judged_by_server(&connect(&client, &reloaded)),
            Some(Reason::Revoked),
            "{policy}"
        );
        // And back, as after a list that was wrong.
        acquaint(
            &client,
            &reloaded.with_credentials(listed(&authority, &[], until, &own)).unwrap(),
        );
    }
}

#[test]
fn a_list_of_another_authority_of_the_same_name_is_not_believed_the_second_time_either() {
    let authority = root();
    let until = OffsetDateTime::now_utc() + Duration::days(1);
    let own = authority.issue(Wanted::named([dns("nrf")]));
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let server = nrf(
        authority.credentials(&own, Some(&root().list(&[], until))),
        &deployment("hybrid"),
    );
    for _ in 0..3 {
        assert_eq!(
            judged_by_server(&connect(&client, &server)),
            Some(Reason::RevocationUnknown)
        );
    }
}

#[test]
fn a_root_taken_away_between_two_handshakes_vouches_for_nobody_any_more() {
    let (old, new) = (root(), Authority::root("new", &PKCS_ML_DSA_65));
    let own = old.issue(Wanted::named([dns("nrf")]));
    let trusting = |roots: &str| {
        let (certificate, key) = (own.certificate.as_bytes(), own.key.as_bytes());
        Credentials::from_pem(certificate, key, roots.as_bytes(), None).unwrap()
    };
    let client = amf(old.node("amf"), &deployment("hybrid"));
    let server = nrf(
        trusting(&[old.trusted(), new.trusted()].concat()),
        &deployment("hybrid"),
    );
    acquaint(&client, &server);
    let reloaded = server.with_credentials(trusting(new.trusted())).unwrap();
    assert_eq!(judged_by_server(&connect(&client, &reloaded)), Some(Reason::UnknownCa));
    // The endpoint that was replaced serves the handshakes it began by what it had.
    acquaint(&client, &server);
}

#[test]
fn a_trusted_root_of_the_same_name_with_another_key_does_not_inherit_what_the_first_has_signed() {
    let (first, second) = (root(), root());
    let client = amf(first.node("amf"), &deployment("hybrid"));
    let server = nrf(first.node("nrf"), &deployment("hybrid"));
    acquaint(&client, &server);
    let own = first.issue(Wanted::named([dns("nrf")]));
    let (certificate, key, roots) = (
        own.certificate.as_bytes(),
        own.key.as_bytes(),
        second.trusted().as_bytes(),
    );
    let reloaded = server
        .with_credentials(Credentials::from_pem(certificate, key, roots, None).unwrap())
        .unwrap();
    assert_eq!(judged_by_server(&connect(&client, &reloaded)), Some(Reason::UnknownCa));
}

#[test]
fn another_certificate_for_the_same_key_is_judged_by_itself() {
    let lab = deployment("{ profile: classical, lab: true }");
    let root = || Authority::root("root", &PKCS_ECDSA_P256_SHA256);
    let authority = root();
    let server = nrf(authority.node("nrf"), &lab);
    let issued = authority.issue(Wanted::named([dns("amf")]));
    acquaint(&amf(authority.credentials(&issued, None), &lab), &server);
    let other = root();
    for (wanted, issuer, reason) in [
        (Wanted::named([dns("smf")]), &authority, Reason::WrongName),
        (Wanted::named([dns("amf")]), &other, Reason::UnknownCa),
    ] {
        let again = issuer.reissue(wanted, &issued);
        let client = amf(authority.credentials(&again, None), &lab);
        let outcome = shake(
            client.connect("nrf", InterfaceKind::Sbi).unwrap(),
            server.accept_any(InterfaceKind::Sbi),
        );
        assert_eq!(judged_by_server(&outcome), Some(reason), "{:?}", outcome.server.err());
    }
}

#[test]
fn one_flipped_bit_makes_another_chain_of_a_known_one() {
    let authority = root();
    let issued = authority.issue(Wanted::named([dns("amf")]));
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    acquaint(
        &amf(authority.credentials(&issued, None), &deployment("hybrid")),
        &server,
    );
    let leaf = pem::parse(&issued.certificate).unwrap();
    let length = leaf.contents().len();
    // One byte of the serial number, and three of the issuer's signature.
    for place in [25, length - 3000, length - 1000, length - 1] {
        let mut der = leaf.contents().to_vec();
        der[place] ^= 1;
        let flipped = Issued {
            certificate: pem::encode(&pem::Pem::new("CERTIFICATE", der)),
            key: issued.key.clone(),
            serial: issued.serial.clone(),
        };
        let client = amf(authority.credentials(&flipped, None), &deployment("hybrid"));
        for _ in 0..2 {
            let outcome = connect(&client, &server);
            assert_eq!(judged_by_server(&outcome), Some(Reason::UnknownCa), "byte {place}");
        }
    }
}

#[test]
fn a_known_chain_without_its_key_is_a_bad_signature() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let [stolen, other] = [(); 2].map(|()| authority.issue(Wanted::named([dns("amf")])));
    acquaint(
        &amf(authority.credentials(&stolen, None), &deployment("hybrid")),
        &server,
    );
    let thief = amf(authority.credentials(&other, None), &deployment("hybrid"));
    let chain = CertificateDer::pem_slice_iter(stolen.certificate.as_bytes()).map(Result::unwrap);
    let key = any_supported_type(&PrivateKeyDer::from_pem_slice(other.key.as_bytes()).unwrap()).unwrap();
    let connecting = thief.connect("nrf", InterfaceKind::Sbi).unwrap();
    let mut config = (*connecting.config).clone();
    config.client_auth_cert_resolver = Arc::new(Presenting(Some(Arc::new(CertifiedKey::new(chain.collect(), key)))));
    let connecting = Connecting {
        config: Arc::new(config),
        ..connecting
    };
    let outcome = shake(connecting, server.accept_any(InterfaceKind::Sbi));
    assert_eq!(judged_by_server(&outcome), Some(Reason::BadSignature));
}

#[test]
fn a_known_classical_chain_is_refused_once_its_exception_has_ended() {
    // 2040-06-30T23:59:00Z
    const MINUTE_BEFORE: u64 = 2_224_713_540;
    let authority = Authority::root("root", &PKCS_ECDSA_P256_SHA256);
    let deployment = deployment("{ profile: transition, reason: old, expires: 2040-06-30 }");
    let clock = Clock::at(MINUTE_BEFORE);
    let client = Endpoint::with_clock(authority.node("amf"), peers(&deployment, "amf"), clock.clone()).unwrap();
    let server = Endpoint::with_clock(authority.node("nrf"), peers(&deployment, "nrf"), clock.clone()).unwrap();
    acquaint(&client, &server);
    clock.set(MINUTE_BEFORE + 61);
    assert!(judged_by_server(&connect(&client, &server)).is_some());
}
