//! Several certificates of one node: the policy of interface, peer and day and the peer's schemes choose among them.

use std::sync::Arc;

use bartizan_deployment::{Deployment, InterfaceKind, Policy, PostQuantum};
use bartizan_ledger::Verdict;
use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_tls::{Credentials, Endpoint, Peer, Reason, Weight, peers};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ML_DSA_65};
use time::{Duration, OffsetDateTime};

use crate::authority::{Authority, Issued, Wanted, dns};
use crate::quic;
use crate::wire::{Clock, Outcome, deployment, now, shake, under};

const TRANSITION: &str = "{ profile: transition, reason: the old SMF, expires: 2036-12-31 }";
/// 2036-12-31T23:59:59Z.
const LAST_SECOND: u64 = 2_114_380_799;
const ECDSA: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
const MLDSA: SignatureScheme = SignatureScheme::MLDSA65;

/// A post-quantum and a classical authority, which all nodes trust.
struct Both {
    safe: Authority,
    classical: Authority,
}

impl Both {
    fn new() -> Self {
        Self {
            safe: Authority::root("safe", &PKCS_ML_DSA_65),
            classical: Authority::root("classical", &PKCS_ECDSA_P256_SHA256),
        }
    }

    fn roots(&self) -> String {
        format!("{}{}", self.safe.trusted(), self.classical.trusted())
    }

    /// A node with these certificates, the classical one first where it has both.
    fn node(&self, name: &str, of: &[&Authority]) -> Credentials {
        let wanted = || Wanted::named([dns(name)]);
        let issued: Vec<_> = of.iter().map(|authority| authority.issue(wanted())).collect();
        self.with(&issued.iter().collect::<Vec<_>>())
    }

    fn with(&self, issued: &[&Issued]) -> Credentials {
        let pair = |issued: &&Issued| (issued.certificate.clone(), issued.key.clone());
        let pairs: Vec<_> = issued.iter().map(pair).collect();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(certificate, key)| (certificate.as_bytes(), key.as_bytes()))
            .collect();
        Credentials::from_several(&pairs, self.roots().as_bytes(), None).unwrap()
    }

    fn two(&self, name: &str) -> Credentials {
        self.node(name, &[&self.classical, &self.safe])
    }
}

/// A peer that does what its stack does: it offers these groups and schemes, whatever the deployment file says.
fn stack(name: &str, groups: &[NamedGroup], schemes: &[SignatureScheme]) -> Vec<Peer> {
    under(peers(&deployment(TRANSITION), name), |policy| {
        *policy = Policy::classical();
        policy.groups = groups.to_vec();
        policy.signatures = schemes.to_vec();
        policy.chain_signatures = [ECDSA, MLDSA].to_vec();
    })
}

fn endpoint(credentials: Credentials, peers: Vec<Peer>, clock: &Arc<Clock>) -> Endpoint {
    Endpoint::with_clock(credentials, peers, clock.clone()).unwrap()
}

fn connect(client: &Endpoint, server: &Endpoint) -> Outcome {
    let connecting = client.connect("nrf", InterfaceKind::Sbi).unwrap();
    shake(connecting, server.accept_any(InterfaceKind::Sbi))
}

/// The schemes in which a node and its peer signed.
fn signed(judged: Result<bartizan_tls::Established, Box<bartizan_tls::Refused>>) -> [u16; 2] {
    let negotiated = judged.unwrap_or_else(|refused| panic!("{refused}")).negotiated;
    [negotiated.local_signature, negotiated.peer_signature].map(|code| code.unwrap().code)
}

#[test]
fn a_listener_shows_each_client_the_certificate_that_it_verifies_until_the_exception_ends() {
    let both = Both::new();
    let clock = Clock::at(LAST_SECOND);
    let server = endpoint(both.two("nrf"), peers(&deployment(TRANSITION), "nrf"), &clock);
    let old = stack("amf", &[NamedGroup::X25519], &[ECDSA]);
    let old = endpoint(both.node("amf", &[&both.classical]), old, &clock);
    let outcome = connect(&old, &server);
    let established = outcome.server.unwrap_or_else(|refused| panic!("{refused}"));
    let reason = "the old SMF".to_owned();
    assert_eq!(established.verdict, Verdict::Excepted { reason });
    assert_eq!(signed(Ok(established)), [ECDSA.0, ECDSA.0]);
    assert_eq!(outcome.client.unwrap().chain[0].public_key, "id-ecPublicKey, P-256");

    // A client that verifies both gets the post-quantum one, in whatever order it lists them.
    let modern = stack("amf", &[NamedGroup::X25519MLKEM768], &[ECDSA, MLDSA]);
    let modern = endpoint(both.node("amf", &[&both.safe]), modern, &clock);
    let established = connect(&modern, &server).server.unwrap();
    assert_eq!(established.verdict, Verdict::Accepted);
    assert_eq!(signed(Ok(established)), [MLDSA.0, MLDSA.0]);

    clock.set(LAST_SECOND + 1);
    let refused = connect(&old, &server).server.unwrap_err();
    assert_eq!(refused.reason, Reason::NoCommonGroup, "{refused}");
    // With a post-quantum group the certificate is what is missing: the classical one is not shown.
    let half = stack("amf", &[NamedGroup::X25519MLKEM768], &[ECDSA]);
    let half = endpoint(both.node("amf", &[&both.classical]), half, &clock);
    let outcome = connect(&half, &server);
    let refused = outcome.server.unwrap_err();
    assert_eq!(refused.reason, Reason::NoCommonSignature, "{refused}");
    assert_eq!(
        refused.detail,
        "the peer accepts signatures by ecdsa_secp256r1_sha256; this node signs by mldsa65"
    );
    assert!(
        refused.hint.contains("OpenSSL 3.5 or later with -sigalgs mldsa65"),
        "{}",
        refused.hint
    );
    assert!(outcome.client.unwrap_err().chain.is_empty(), "no certificate was sent");
    assert_eq!(signed(connect(&modern, &server).server), [MLDSA.0, MLDSA.0]);
}

#[test]
fn a_client_shows_the_certificate_that_the_server_asks_for_until_the_exception_ends() {
    let both = Both::new();
    let clock = Clock::at(LAST_SECOND);
    let client = endpoint(both.two("amf"), peers(&deployment(TRANSITION), "amf"), &clock);
    for (authority, scheme) in [(&both.classical, ECDSA), (&both.safe, MLDSA)] {
        let server = stack("nrf", &[NamedGroup::X25519MLKEM768], &[scheme]);
        let server = endpoint(both.node("nrf", &[authority]), server, &clock);
        assert_eq!(signed(connect(&client, &server).client), [scheme.0; 2]);
    }
    clock.set(LAST_SECOND + 1);
    // The server proves itself by ML-DSA, and asks the client for ECDSA alone.
    let server = both.two("nrf");
    let server = endpoint(
        server,
        stack("nrf", &[NamedGroup::X25519MLKEM768], &[ECDSA, MLDSA]),
        &clock,
    );
    let accepting = server.accept_any(InterfaceKind::Sbi);
    let accepting = crate::refusals::asking_for(&accepting, &[rustls::SignatureScheme::ECDSA_NISTP256_SHA256]);
    let outcome = shake(client.connect("nrf", InterfaceKind::Sbi).unwrap(), accepting);
    let refused = outcome.client.err().or(outcome.client_later).expect("refused");
    assert_eq!(refused.reason, Reason::NoCommonSignature, "{refused}");
    assert!(refused.detail.ends_with("this node signs by mldsa65"), "{refused}");
    assert!(outcome.server.unwrap_err().chain.is_empty(), "no certificate was sent");
}

/// The classical one comes first, and a server that verifies no such signature would have refused
/// the client for its scheme, which says nothing about unknown authorities.
#[test]
fn a_probe_shows_the_certificate_that_the_server_verifies() {
    let (server, foreign) = (Authority::root("core", &PKCS_ML_DSA_65), Both::new());
    let (answer, judged) = crate::probing::attempt(&server, Some(&foreign.two("amf")));
    assert_eq!(answer, bartizan_tls::Answer::Refused("UnknownCA".into()));
    assert_eq!(judged.expect_err("refused").reason, Reason::UnknownCa);
}

#[test]
fn one_peers_exception_shows_no_classical_certificate_to_another_peer() {
    let both = Both::new();
    let text = format!(
        "nodes:\n  amf: {{ function: AMF, address: 10.0.0.1 }}\n  smf: {{ function: SMF, address: 10.0.0.3 }}\n\
         \x20 nrf: {{ function: NRF, address: 10.0.0.2 }}\ninterfaces:\n\
         \x20 - {{ kind: SBI, between: [smf, nrf], with: sidecar, policy: {TRANSITION} }}\n\
         \x20 - {{ kind: SBI, between: [amf, nrf], with: sidecar }}\n\
         \x20 - {{ kind: A1, between: [amf, nrf], with: sidecar }}\n"
    );
    let file = Deployment::parse(&text, "mixed.yaml", std::path::Path::new("/")).unwrap();
    let clock = Clock::at(now());
    let server = endpoint(both.two("nrf"), peers(&file, "nrf"), &clock);
    let groups = [NamedGroup::X25519MLKEM768];
    let smf = under(peers(&file, "smf"), |policy| {
        *policy = Policy::classical();
        policy.signatures = vec![ECDSA];
    });
    let smf = endpoint(both.node("smf", &[&both.classical]), smf, &clock);
    assert_eq!(signed(connect(&smf, &server).server), [ECDSA.0; 2]);

    // Before its certificate is seen amf is not known: what it negotiated is refused then.
    let mut amf = stack("amf", &groups, &[ECDSA]);
    amf.push(Peer {
        interface: InterfaceKind::A1,
        ..amf[0].clone()
    });
    let amf = endpoint(both.two("amf"), amf, &clock);
    let refused = connect(&amf, &server).server.unwrap_err();
    assert!(
        [Reason::Policy, Reason::NoCommonSignature].contains(&refused.reason),
        "{refused}"
    );
    // A link or an interface of its own does not even show it.
    for accepting in [
        server.accept("amf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::A1),
    ] {
        let outcome = shake(amf.connect("nrf", InterfaceKind::Sbi).unwrap(), accepting);
        assert_eq!(outcome.server.unwrap_err().reason, Reason::NoCommonSignature);
        assert!(outcome.client.unwrap_err().chain.is_empty());
    }
}

#[test]
fn a_certificate_that_no_one_policy_accepts_whole_is_shown_to_no_peer() {
    let both = Both::new();
    // One peer accepts the classical key, another the classical chain.
    let text = "nodes:\n  amf: { function: AMF, address: 10.0.0.1 }\n  smf: { function: SMF, address: 10.0.0.3 }\n\
         \x20 nrf: { function: NRF, address: 10.0.0.2 }\ninterfaces:\n\
         \x20 - { kind: SBI, between: [[smf, amf], nrf], with: sidecar }\n";
    let file = Deployment::parse(text, "mixed.yaml", std::path::Path::new("/")).unwrap();
    let mut known = peers(&file, "nrf");
    known[0].policy.signatures.push(ECDSA);
    known[1].policy.chain_signatures.push(ECDSA);
    for peer in &mut known {
        peer.policy.post_quantum = PostQuantum::Forbid;
    }
    let server = endpoint(both.two("nrf"), known, &Clock::at(now()));
    let client = stack("amf", &[NamedGroup::X25519MLKEM768], &[ECDSA]);
    let client = endpoint(both.two("amf"), client, &Clock::at(now()));
    let outcome = connect(&client, &server);
    assert_eq!(outcome.server.unwrap_err().reason, Reason::NoCommonSignature);
    assert!(outcome.client.unwrap_err().chain.is_empty());
}

#[test]
fn the_same_certificates_are_chosen_in_quic() {
    let both = Both::new();
    let node = |name| both.two(name);
    let quic = |groups: &[NamedGroup], schemes: &[SignatureScheme]| {
        let client = Endpoint::new(node("amf"), stack("amf", groups, schemes)).unwrap();
        let server = Endpoint::new(node("nrf"), peers(&deployment(TRANSITION), "nrf")).unwrap();
        let outcome = quic::between_endpoints(&client, &server);
        [outcome.client, outcome.server].map(|end| signed(end.expect("judged")))
    };
    assert_eq!(quic(&[NamedGroup::X25519], &[ECDSA]), [[ECDSA.0; 2]; 2]);
    assert_eq!(quic(&[NamedGroup::X25519MLKEM768], &[ECDSA, MLDSA]), [[MLDSA.0; 2]; 2]);
}

#[test]
fn the_end_of_a_certificate_counts_for_as_long_as_a_policy_accepts_it() {
    let both = Both::new();
    let until = |authority: &Authority, days| {
        authority.issue(Wanted {
            not_after: OffsetDateTime::now_utc() + Duration::days(days),
            ..Wanted::named([dns("nrf")])
        })
    };
    let (classical, safe) = (until(&both.classical, 10), until(&both.safe, 9000));
    let clock = Clock::at(now());
    let node = |issued: &[&Issued]| endpoint(both.with(issued), peers(&deployment(TRANSITION), "nrf"), &clock);
    let server = node(&[&classical, &safe]);
    let weights = |server: &Endpoint| -> Vec<_> {
        let flaws = server.flaws().into_iter().filter(|flaw| flaw.place != "trust.crl");
        flaws.map(|flaw| (flaw.weight, flaw.cause)).collect()
    };
    assert_eq!((server.in_use().count(), weights(&server)), (2, vec![]));
    clock.set(now() + 11 * 86_400);
    let [(weight, cause)] = &weights(&server)[..] else {
        panic!("{:?}", server.flaws())
    };
    assert!(*weight == Weight::Partial && cause.starts_with("ended with"), "{cause}");
    // Alone it would be the end of all handshakes.
    assert_eq!(weights(&node(&[&classical]))[0].0, Weight::Fatal);
    clock.set(LAST_SECOND + 1);
    assert_eq!((server.in_use().count(), weights(&server)), (1, vec![]));
    assert_eq!(node(&[&classical, &safe]).in_use().count(), 1, "it still starts");
    // A process with a classical certificate alone is hopeless by then, and shows it to no peer.
    clock.set(now());
    let lonely = node(&[&until(&both.classical, 9000)]);
    clock.set(LAST_SECOND + 1);
    assert_eq!(weights(&lonely)[0].0, Weight::Fatal);
    let client = stack("amf", &[NamedGroup::X25519MLKEM768], &[ECDSA]);
    let client = endpoint(both.two("amf"), client, &Clock::at(now()));
    let outcome = connect(&client, &lonely);
    let refused = outcome.server.unwrap_err();
    assert_eq!(refused.reason, Reason::NoCommonSignature);
    assert!(
        refused
            .detail
            .ends_with("no certificate that the policy of any peer accepts now"),
        "{refused}"
    );
    assert!(outcome.client.unwrap_err().chain.is_empty());
}

/// An ended one that is listed first failed every handshake, and `/ready` was 200.
#[test]
fn of_two_certificates_for_the_same_peers_the_one_within_its_dates_is_shown() {
    let both = Both::new();
    let until = |days| {
        both.safe.issue(Wanted {
            not_after: OffsetDateTime::now_utc() + Duration::days(days),
            ..Wanted::named([dns("nrf")])
        })
    };
    let (ended, renewed) = (until(10), until(900));
    let clock = Clock::at(now() + 11 * 86_400);
    let known = |name| peers(&deployment(TRANSITION), name);
    let server = endpoint(both.with(&[&ended, &renewed]), known("nrf"), &clock);
    let client = endpoint(both.two("amf"), known("amf"), &clock);
    assert_eq!(signed(connect(&client, &server).server), [MLDSA.0; 2]);
    let weight = |server: &Endpoint| server.flaws().first().map(|flaw| flaw.weight);
    assert_eq!(weight(&server), Some(Weight::Partial));
    let alone = endpoint(both.with(&[&ended]), known("nrf"), &clock);
    assert_eq!(weight(&alone), Some(Weight::Fatal));
}

#[test]
fn a_session_that_began_with_a_classical_signature_of_ours_is_not_resumed_after_the_exception() {
    let both = Both::new();
    let clock = Clock::at(LAST_SECOND);
    let policy = "{ profile: transition, reason: the old SMF, expires: 2036-12-31, resumption: 10m }";
    let known = |name| peers(&deployment(policy), name);
    let server = endpoint(both.node("nrf", &[&both.classical]), known("nrf"), &clock);
    // The client proves itself by ML-DSA, and its own policy stays as it was.
    let client = endpoint(both.node("amf", &[&both.safe]), known("amf"), &Clock::at(LAST_SECOND));
    assert_eq!(signed(connect(&client, &server).server), [ECDSA.0, MLDSA.0]);
    let resumed = connect(&client, &server).server.unwrap();
    assert!(resumed.negotiated.resumed && resumed.negotiated.local_signature.is_none());
    // It rests on that signature, and counts as classical for it.
    assert!(
        matches!(resumed.verdict, Verdict::Excepted { .. }),
        "{:?}",
        resumed.verdict
    );
    let server = server.with_credentials(both.two("nrf")).unwrap();
    clock.set(LAST_SECOND + 1);
    let full = connect(&client, &server).server;
    assert!(full.as_ref().is_ok_and(|full| !full.negotiated.resumed), "{full:?}");
    assert_eq!(signed(full), [MLDSA.0; 2]);
}

#[test]
fn of_two_classical_certificates_the_one_whose_chain_the_peer_verifies_is_shown() {
    let both = Both::new();
    let other = Authority::root("other", &PKCS_ECDSA_P384_SHA384);
    let issue = |authority: &Authority| {
        authority.issue(Wanted {
            algorithm: Some(&PKCS_ECDSA_P256_SHA256),
            ..Wanted::named([dns("nrf")])
        })
    };
    let issued = [issue(&other), issue(&both.classical)];
    let server = Endpoint::new(both.with(&issued.each_ref()), peers(&deployment(TRANSITION), "nrf")).unwrap();
    let client = stack("amf", &[NamedGroup::X25519], &[ECDSA]);
    let client = Endpoint::new(both.two("amf"), client).unwrap();
    let chain = connect(&client, &server).client.unwrap().chain;
    assert_eq!(chain[0].signature, "ecdsa-with-SHA256");
}

#[test]
fn a_refusal_names_the_certificate_that_is_missing_and_the_setting_of_the_peers_stack() {
    let both = Both::new();
    let server = both.node("nrf", &[&both.safe]);
    let server = Endpoint::new(server, peers(&deployment(TRANSITION), "nrf")).unwrap();
    let client = |groups: &[NamedGroup], schemes: &[u16]| {
        let schemes: Vec<_> = schemes.iter().copied().map(SignatureScheme).collect();
        Endpoint::new(both.two("amf"), stack("amf", groups, &schemes)).unwrap()
    };
    // A scheme that both policies accept is no help where this node cannot sign in it.
    let refused = connect(&client(&[NamedGroup::X25519], &[ECDSA.0]), &server)
        .server
        .unwrap_err();
    let detail = "the peer accepts signatures by ecdsa_secp256r1_sha256; this node signs by mldsa65";
    assert_eq!(
        (refused.reason, refused.detail.as_str()),
        (Reason::NoCommonSignature, detail)
    );
    for part in [
        "the policy accepts ecdsa_secp256r1_sha256: add a certificate with such a key to `certificates`",
        "bartizan ca init --algorithm ecdsa-p256",
        "OpenSSL 3.5 or later with -sigalgs mldsa65",
        "JDK 28 or later with jdk.tls.client.SignatureSchemes=mldsa65",
    ] {
        assert!(refused.hint.contains(part), "{part}: {}", refused.hint);
    }
    let strict = Authority::root("strict", &rcgen::PKCS_ML_DSA_87);
    let strict = Endpoint::new(strict.node("nrf"), peers(&deployment("cnsa2"), "nrf")).unwrap();
    let refused = connect(&client(&[NamedGroup::X25519MLKEM768], &[MLDSA.0]), &strict)
        .server
        .unwrap_err();
    assert_eq!(refused.reason, Reason::NoCommonGroup);
    assert!(!refused.hint.contains("transition"), "{}", refused.hint);
    assert!(
        refused
            .hint
            .contains("Go 1.27 or later with MLKEM1024 in CurvePreferences"),
        "{}",
        refused.hint
    );
    assert!(!refused.hint.contains("namedGroups=MLKEM1024"), "{}", refused.hint);
    let refused = connect(&client(&[NamedGroup::X25519], &[MLDSA.0]), &strict)
        .server
        .unwrap_err();
    assert!(
        refused
            .hint
            .contains("a peer without ML-KEM needs the profile transition"),
        "{}",
        refused.hint
    );
}
