//! Resumption: off unless the policy says otherwise, and never past what a full handshake would meet.

use bartizan_deployment::InterfaceKind;
use bartizan_ledger::Verdict;
use bartizan_tls::{Credentials, Endpoint, Reason, peers};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ML_DSA_65};
use time::{Duration, OffsetDateTime};

use crate::authority::{Authority, Wanted, dns};
use crate::wire::{Clock, Outcome, amf, client_end, converse, deployment, now, nrf, server_end, shake};

const TEN_MINUTES: &str = "{ profile: hybrid, resumption: 10m }";

fn connect(client: &Endpoint, server: &Endpoint) -> Outcome {
    shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    )
}

fn resumed(outcome: &Outcome) -> [bool; 2] {
    [&outcome.client, &outcome.server].map(|end| {
        end.as_ref()
            .unwrap_or_else(|error| panic!("{error}"))
            .negotiated
            .resumed
    })
}

fn root() -> Authority {
    Authority::root("root", &PKCS_ML_DSA_65)
}

#[test]
fn by_default_nothing_is_resumed() {
    let authority = root();
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    for _ in 0..3 {
        assert_eq!(resumed(&connect(&client, &server)), [false, false]);
    }
}

#[test]
fn a_resumed_handshake_shows_the_chain_and_no_signature_and_is_smaller() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(authority.node("nrf"), &deployment);
    let first = connect(&client, &server);
    assert_eq!(resumed(&first), [false, false]);
    let second = connect(&client, &server);
    assert_eq!(resumed(&second), [true, true]);
    for (full, again) in [(first.client, second.client), (first.server, second.server)] {
        let (full, again) = (full.unwrap(), again.unwrap());
        assert_eq!(again.chain, full.chain);
        assert_eq!(again.peer, full.peer);
        assert_eq!(again.negotiated.group, full.negotiated.group);
        assert_eq!(again.negotiated.local_signature, None);
        assert_eq!(again.negotiated.peer_signature, None);
        assert_eq!(again.verdict, Verdict::Accepted);
        assert_ne!(again.key, full.key);
        assert!(again.bytes.sent * 2 < full.bytes.sent);
    }
}

#[test]
fn a_session_of_one_interface_is_none_of_another() {
    let authority = root();
    let text = format!(
        "policy: {TEN_MINUTES}\nnodes:\n  amf: {{ function: AMF, address: 10.0.0.1 }}\n  nrf: {{ function: NRF, address: 10.0.0.2 }}\n\
         interfaces:\n  - {{ kind: O1, between: [amf, nrf], with: sidecar }}\n  - {{ kind: SBI, between: [amf, nrf], with: sidecar }}\n"
    );
    let deployment = bartizan_deployment::Deployment::parse(&text, "two.yaml", std::path::Path::new("/")).unwrap();
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(authority.node("nrf"), &deployment);
    let over = |ours, theirs| resumed(&shake(client.connect("nrf", ours).unwrap(), server.accept_any(theirs)));
    let (sbi, o1) = (InterfaceKind::Sbi, InterfaceKind::O1);
    assert_eq!(over(sbi, sbi), [false, false]);
    // The client has no ticket for O1, and with one for SBI it is not resumed by a listener of O1.
    assert_eq!(over(o1, o1), [false, false]);
    assert_eq!(over(sbi, o1), [false, false]);
    assert_eq!(over(o1, o1), [true, true]);
}

#[test]
fn a_session_is_good_once_and_hands_on_a_new_one() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(authority.node("nrf"), &deployment);
    connect(&client, &server);
    // Two connections begun before either ends: one session for the two.
    let [first, second] = [
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
    ];
    assert_eq!(
        resumed(&shake(first, server.accept_any(InterfaceKind::Sbi))),
        [true, true]
    );
    assert_eq!(
        resumed(&shake(second, server.accept_any(InterfaceKind::Sbi))),
        [false, false]
    );
    for _ in 0..3 {
        assert_eq!(resumed(&connect(&client, &server)), [true, true]);
    }
}

#[test]
fn a_session_ends_with_its_time_however_often_it_was_resumed() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let start = now();
    let clock = Clock::at(start);
    let client = Endpoint::with_clock(authority.node("amf"), peers(&deployment, "amf"), clock.clone()).unwrap();
    let server = Endpoint::with_clock(authority.node("nrf"), peers(&deployment, "nrf"), clock.clone()).unwrap();
    for (minute, expected) in [(0, false), (4, true), (8, true), (10, true), (11, false), (12, true)] {
        clock.set(start + minute * 60);
        assert_eq!(
            resumed(&connect(&client, &server)),
            [expected, expected],
            "minute {minute}"
        );
    }
}

#[test]
fn a_server_does_not_resume_an_old_session_for_a_client_that_still_offers_it() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let start = now();
    let (ours, theirs) = (Clock::at(start), Clock::at(start));
    let client = Endpoint::with_clock(authority.node("amf"), peers(&deployment, "amf"), ours).unwrap();
    let server = Endpoint::with_clock(authority.node("nrf"), peers(&deployment, "nrf"), theirs.clone()).unwrap();
    connect(&client, &server);
    theirs.set(start + 601);
    assert_eq!(resumed(&connect(&client, &server)), [false, false]);
}

fn revoking(authority: &Authority, name: &str) -> (Credentials, impl Fn() -> String) {
    let issued = authority.issue(Wanted::named([dns(name)]));
    let credentials = authority.credentials(&issued, None);
    let list = move || authority.list(&[&issued], OffsetDateTime::now_utc() + Duration::days(1));
    (credentials, list)
}

#[test]
fn a_client_revoked_between_two_connections_is_not_resumed() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let (credentials, list) = revoking(&authority, "amf");
    let client = amf(credentials, &deployment);
    let server = nrf(authority.node("nrf"), &deployment);
    connect(&client, &server);
    assert_eq!(resumed(&connect(&client, &server)), [true, true]);

    let renewed = authority.credentials(&authority.issue(Wanted::named([dns("nrf")])), Some(&list()));
    let server = server.with_credentials(renewed).unwrap();
    let outcome = connect(&client, &server);
    let refused = outcome.server.unwrap_err();
    assert_eq!(refused.reason, Reason::Revoked);
    assert!(refused.negotiated.as_ref().unwrap().resumed);
    // It leaves no session behind: the next one meets the list in a full handshake.
    let outcome = connect(&client, &server);
    let refused = outcome.server.unwrap_err();
    assert_eq!((refused.reason, refused.negotiated), (Reason::Revoked, None));
}

#[test]
fn a_server_revoked_between_two_connections_is_not_resumed() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let (credentials, list) = revoking(&authority, "nrf");
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(credentials, &deployment);
    connect(&client, &server);
    let renewed = authority.credentials(&authority.issue(Wanted::named([dns("amf")])), Some(&list()));
    let client = client.with_credentials(renewed).unwrap();
    let refused = connect(&client, &server).client.unwrap_err();
    assert_eq!(refused.reason, Reason::Revoked);
    assert!(refused.negotiated.as_ref().unwrap().resumed);
    let refused = connect(&client, &server).client.unwrap_err();
    assert_eq!((refused.reason, refused.negotiated), (Reason::Revoked, None));
}

#[test]
fn a_certificate_that_ends_ends_its_sessions() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let start = now();
    let clock = Clock::at(start);
    let mut wanted = Wanted::named([dns("amf")]);
    wanted.not_after = OffsetDateTime::from_unix_timestamp(i64::try_from(start).unwrap() + 60).unwrap();
    let short = authority.credentials(&authority.issue(wanted), None);
    let client = Endpoint::with_clock(short, peers(&deployment, "amf"), clock.clone()).unwrap();
    let server = Endpoint::with_clock(authority.node("nrf"), peers(&deployment, "nrf"), clock.clone()).unwrap();
    connect(&client, &server);
    clock.set(start + 61);
    assert_eq!(connect(&client, &server).server.unwrap_err().reason, Reason::Expired);
}

#[test]
fn a_classical_session_ends_with_the_exception() {
    // 2040-06-30T23:59:00Z
    const MINUTE_BEFORE: u64 = 2_224_713_540;
    let authority = Authority::root("root", &PKCS_ECDSA_P256_SHA256);
    let policy = "{ profile: transition, reason: old, expires: 2040-06-30, resumption: 1h }";
    let deployment = deployment(policy);
    let clock = Clock::at(MINUTE_BEFORE);
    let client = Endpoint::with_clock(authority.node("amf"), peers(&deployment, "amf"), clock.clone()).unwrap();
    let server = Endpoint::with_clock(authority.node("nrf"), peers(&deployment, "nrf"), clock.clone()).unwrap();
    let first = connect(&client, &server);
    let excepted = Verdict::Excepted { reason: "old".into() };
    assert_eq!(first.server.unwrap().verdict, excepted);
    let second = connect(&client, &server);
    assert_eq!(resumed(&second), [true, true]);
    assert_eq!(second.server.unwrap().verdict, excepted);
    clock.set(MINUTE_BEFORE + 61);
    let third = connect(&client, &server);
    // The key exchange would be hybrid. Neither node has a certificate that the policy still accepts.
    assert_eq!(third.client.unwrap_err().reason, Reason::PeerRefused);
    assert_eq!(third.server.unwrap_err().reason, Reason::NoCommonSignature);
}

#[test]
fn a_session_survives_renewed_credentials() {
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(authority.node("nrf"), &deployment);
    connect(&client, &server);
    let client = client.with_credentials(authority.node("amf")).unwrap();
    let server = server.with_credentials(authority.node("nrf")).unwrap();
    assert_eq!(resumed(&connect(&client, &server)), [true, true]);
}

#[test]
fn two_handshakes_never_share_the_verifier_of_a_session() {
    // A server that has lost its sessions declines: both connections make a full handshake, each observed on its own.
    let authority = root();
    let deployment = deployment(TEN_MINUTES);
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(authority.node("nrf"), &deployment);
    for _ in 0..3 {
        connect(&client, &server);
    }
    let restarted = nrf(authority.node("nrf"), &deployment);
    let mut ends: Vec<_> = (0..4)
        .map(|_| {
            (
                client_end(client.connect("nrf", InterfaceKind::Sbi).unwrap()),
                server_end(restarted.accept_any(InterfaceKind::Sbi)),
            )
        })
        .collect();
    for (client, server) in &mut ends {
        let hello = client.speak();
        server.hear(&hello);
    }
    for (client, server) in &mut ends {
        let outcome = converse(client, server);
        assert_eq!(resumed(&outcome), [false, false]);
        assert!(outcome.client.unwrap().negotiated.peer_signature.is_some());
    }
}
