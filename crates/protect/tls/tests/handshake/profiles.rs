//! Results of each profile's negotiation.

use bartizan_deployment::{Identity, InterfaceKind, Policy, USABLE_GROUPS, USABLE_SIGNATURES};
use bartizan_ledger::{Negotiated, Verdict};
use bartizan_registry::{NamedGroup, SignatureScheme, group, signature};
use bartizan_tls::{Endpoint, Error, Reason, peers};
use rcgen::{
    PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_ML_DSA_44, PKCS_ML_DSA_65, PKCS_ML_DSA_87,
    SignatureAlgorithm,
};

use crate::authority::{Authority, Wanted, dns, ip, uri};
use crate::wire::{Clock, End, Outcome, amf, client_end, converse, deployment, now, nrf, shake, under};

/// A handshake between amf and nrf, both of one CA.
fn between(authority: &Authority, policy: &str) -> Outcome {
    let deployment = deployment(policy);
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(authority.node("nrf"), &deployment);
    shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    )
}

fn assert_negotiated(negotiated: &Negotiated, group: NamedGroup, scheme: SignatureScheme) {
    assert_eq!(negotiated.version, "TLS 1.3");
    assert_eq!(negotiated.group.code, group.0);
    assert_eq!(negotiated.group.name, group.to_string());
    assert_eq!(
        negotiated.local_signature.as_ref().map(|code| code.code),
        Some(scheme.0)
    );
    assert_eq!(negotiated.peer_signature.as_ref().map(|code| code.code), Some(scheme.0));
    assert!(!negotiated.resumed);
}

fn assert_both(outcome: &Outcome, group: NamedGroup, scheme: SignatureScheme, verdict: &Verdict) {
    for (end, peer) in [(&outcome.client, "nrf"), (&outcome.server, "amf")] {
        let established = end.as_ref().unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(established.peer.as_str(), peer);
        assert_eq!(established.interface.name(), "SBI");
        assert_negotiated(&established.negotiated, group, scheme);
        assert_eq!(established.verdict, *verdict);
    }
}

#[test]
fn hybrid_negotiates_x25519mlkem768_and_mldsa65_at_both_ends() {
    let outcome = between(&Authority::root("root", &PKCS_ML_DSA_65), "hybrid");
    assert_both(
        &outcome,
        NamedGroup::X25519MLKEM768,
        SignatureScheme::MLDSA65,
        &Verdict::Accepted,
    );
    assert!(!outcome.client.unwrap().negotiated.hello_retry);
}

#[test]
fn cnsa2_negotiates_mlkem1024_mldsa87_and_aes_256() {
    let outcome = between(&Authority::root("root", &PKCS_ML_DSA_87), "cnsa2");
    assert_both(
        &outcome,
        NamedGroup::MLKEM1024,
        SignatureScheme::MLDSA87,
        &Verdict::Accepted,
    );
    assert_eq!(outcome.client.unwrap().negotiated.cipher.name, "TLS_AES_256_GCM_SHA384");
}

#[test]
fn classical_negotiates_x25519_and_ecdsa_in_a_lab() {
    let outcome = between(
        &Authority::root("root", &PKCS_ECDSA_P256_SHA256),
        "{ profile: classical, lab: true }",
    );
    let (group, scheme) = (NamedGroup::X25519, SignatureScheme::ECDSA_SECP256R1_SHA256);
    assert_both(&outcome, group, scheme, &Verdict::Accepted);
}

#[test]
fn every_group_is_negotiated_where_the_policy_names_it() {
    let authority = Authority::root("root", &PKCS_ML_DSA_44);
    for &code in USABLE_GROUPS {
        let profile = if group(code).unwrap().category.is_some() {
            "hybrid"
        } else {
            "classical"
        };
        let schemes = "signatures: [mldsa44], chain-signatures: [mldsa44]";
        let policy = format!("{{ profile: {profile}, lab: true, groups: [{code}], {schemes} }}");
        let outcome = between(&authority, &policy);
        assert_both(&outcome, code, SignatureScheme::MLDSA44, &Verdict::Accepted);
    }
}

#[test]
fn every_scheme_authenticates_both_ends() {
    let algorithms: [(&'static SignatureAlgorithm, SignatureScheme); 6] = [
        (&PKCS_ML_DSA_44, SignatureScheme::MLDSA44),
        (&PKCS_ML_DSA_65, SignatureScheme::MLDSA65),
        (&PKCS_ML_DSA_87, SignatureScheme::MLDSA87),
        (&PKCS_ECDSA_P256_SHA256, SignatureScheme::ECDSA_SECP256R1_SHA256),
        (&PKCS_ECDSA_P384_SHA384, SignatureScheme::ECDSA_SECP384R1_SHA384),
        (&PKCS_ED25519, SignatureScheme::ED25519),
    ];
    // One that a policy may name and that is not tried here would be trusted on its word.
    assert_eq!(algorithms.map(|(_, scheme)| scheme), USABLE_SIGNATURES);
    for (algorithm, scheme) in algorithms {
        let profile = if signature(scheme).unwrap().category.is_some() {
            "hybrid"
        } else {
            "classical"
        };
        let schemes = format!("signatures: [{scheme}], chain-signatures: [{scheme}]");
        let policy = format!("{{ profile: {profile}, lab: true, groups: [X25519MLKEM768], {schemes} }}");
        let outcome = between(&Authority::root("root", algorithm), &policy);
        assert_both(&outcome, NamedGroup::X25519MLKEM768, scheme, &Verdict::Accepted);
    }
}

#[test]
fn an_intermediate_is_sent_and_the_root_is_not() {
    let root = Authority::root("root", &PKCS_ML_DSA_87);
    let authority = root.intermediate("issuing", &PKCS_ML_DSA_65);
    let mut issued = authority.issue(Wanted::named([dns("nrf")]));
    issued.certificate.push_str(root.trusted());
    let deployment = deployment("hybrid");
    let client = amf(authority.node("amf"), &deployment);
    let server = nrf(authority.credentials(&issued, None), &deployment);
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    let chain = outcome.client.unwrap().chain;
    let read: Vec<_> = chain
        .iter()
        .map(|one| (one.public_key.as_str(), one.signature.as_str()))
        .collect();
    assert_eq!(
        read,
        [("id-ml-dsa-65", "id-ml-dsa-65"), ("id-ml-dsa-65", "id-ml-dsa-87")]
    );
    assert_eq!(chain[0].names, ["dns:nrf"]);
    assert_eq!(chain[0].sha256.len(), 64);
}

const TRANSITION: &str = "{ profile: transition, reason: the old SMF, expires: 2040-06-30 }";
/// 2040-06-30T23:59:59Z, the last second of the exception.
const LAST_SECOND: u64 = 2_224_713_599;

/// With SBI `hybrid` and O1 `transition` between two nodes, either was judged by whichever policy admitted it.
#[test]
fn a_listener_admits_by_the_policy_of_its_own_interface_whatever_another_one_allows() {
    let text = format!(
        "nodes:\n  amf: {{ function: AMF, address: 10.0.0.1 }}\n  nrf: {{ function: NRF, address: 10.0.0.2 }}\n\
         interfaces:\n  - {{ kind: O1, between: [amf, nrf], with: sidecar, policy: {TRANSITION} }}\n\
         \x20 - {{ kind: SBI, between: [amf, nrf], with: sidecar }}\n"
    );
    let deployment = bartizan_deployment::Deployment::parse(&text, "two.yaml", std::path::Path::new("/")).unwrap();
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let server = nrf(authority.node("nrf"), &deployment);
    let classical = under(peers(&deployment, "amf"), |policy| {
        let (signatures, chain_signatures) = (Policy::hybrid().signatures, Policy::hybrid().chain_signatures);
        *policy = Policy {
            signatures,
            chain_signatures,
            ..Policy::classical()
        };
    });
    let client = Endpoint::new(authority.node("amf"), classical).unwrap();
    for (ours, theirs) in [
        (InterfaceKind::O1, InterfaceKind::O1),
        (InterfaceKind::Sbi, InterfaceKind::O1),
    ] {
        let outcome = shake(client.connect("nrf", ours).unwrap(), server.accept_any(theirs));
        let established = outcome.server.unwrap();
        assert_eq!(established.interface, InterfaceKind::O1);
        assert!(matches!(established.verdict, Verdict::Excepted { .. }));
    }
    for ours in [InterfaceKind::O1, InterfaceKind::Sbi] {
        let outcome = shake(
            client.connect("nrf", ours).unwrap(),
            server.accept_any(InterfaceKind::Sbi),
        );
        assert_eq!(outcome.server.unwrap_err().reason, Reason::NoCommonGroup);
    }
    // An interface that joins no peer to the node admits no client, with the best of certificates.
    let good = amf(authority.node("amf"), &deployment);
    let outcome = shake(
        good.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::A1),
    );
    let refused = outcome.server.unwrap_err();
    assert_eq!(refused.reason, Reason::WrongName);
    assert!(
        refused
            .detail
            .ends_with("no node joined to this one by A1 is known by that"),
        "{refused}"
    );
    assert!(client.connect("nrf", InterfaceKind::A1).is_err());
}

#[test]
fn transition_admits_classical_until_its_date_and_offers_none_after_without_a_restart() {
    // The old SMF: X25519 and ECDSA. Its own policy lies outside the deployment file.
    let classical = Authority::root("classical", &PKCS_ECDSA_P256_SHA256);
    let hybrid = Authority::root("hybrid", &PKCS_ML_DSA_65);
    let deployment = deployment(TRANSITION);
    let clock = Clock::at(LAST_SECOND);
    let both = format!("{}{}", classical.trusted(), hybrid.trusted());
    let node = |authority: &Authority, name: &str| {
        let mut wanted = Wanted::named([dns(name)]);
        wanted.not_after = time::OffsetDateTime::from_unix_timestamp(2_300_000_000).unwrap();
        let issued = authority.issue(wanted);
        let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
        bartizan_tls::Credentials::from_pem(certificate, key, both.as_bytes(), None).unwrap()
    };
    let server = Endpoint::with_clock(node(&hybrid, "nrf"), peers(&deployment, "nrf"), clock.clone()).unwrap();
    let old = under(peers(&deployment, "amf"), |policy| {
        let signatures = [Policy::classical().signatures, Policy::hybrid().signatures].concat();
        *policy = Policy::classical();
        policy.signatures = signatures.clone();
        policy.chain_signatures = signatures;
    });
    let client = Endpoint::with_clock(node(&classical, "amf"), old, clock.clone()).unwrap();

    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    let established = outcome.server.unwrap();
    assert_eq!(established.negotiated.group.code, NamedGroup::X25519.0);
    let excepted = Verdict::Excepted {
        reason: "the old SMF".into(),
    };
    assert_eq!(established.verdict, excepted);

    clock.set(LAST_SECOND + 1);
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    let refused = outcome.server.unwrap_err();
    assert_eq!(refused.reason, Reason::NoCommonGroup);
    assert!(
        refused.detail.contains("the peer offers x25519, secp256r1, secp384r1"),
        "{refused}"
    );
    assert!(refused.detail.contains("this node accepts X25519MLKEM768"), "{refused}");
    assert_eq!(outcome.client.unwrap_err().reason, Reason::PeerRefused);

    let modern = Endpoint::with_clock(node(&hybrid, "amf"), peers(&deployment, "amf"), clock).unwrap();
    let outcome = shake(
        modern.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    assert_both(
        &outcome,
        NamedGroup::X25519MLKEM768,
        SignatureScheme::MLDSA65,
        &Verdict::Accepted,
    );
}

#[test]
fn transition_prefers_post_quantum_and_says_so() {
    let outcome = between(&Authority::root("root", &PKCS_ML_DSA_65), TRANSITION);
    assert_both(
        &outcome,
        NamedGroup::X25519MLKEM768,
        SignatureScheme::MLDSA65,
        &Verdict::Accepted,
    );
}

#[test]
fn transition_prefers_post_quantum_against_the_order_of_the_client() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let deployment = deployment(TRANSITION);
    let server = nrf(authority.node("nrf"), &deployment);
    for (groups, expected) in [
        (
            vec![NamedGroup::X25519, NamedGroup::X25519MLKEM768],
            NamedGroup::X25519MLKEM768,
        ),
        (vec![NamedGroup::SECP384R1, NamedGroup::X25519], NamedGroup::SECP384R1),
    ] {
        let reversed = under(peers(&deployment, "amf"), |policy| policy.groups.clone_from(&groups));
        let client = Endpoint::new(authority.node("amf"), reversed);
        // A policy with no post-quantum group cannot outlive its exception, so this client's has none to end.
        let client = client.unwrap_or_else(|_| {
            let lab = under(peers(&deployment, "amf"), |policy| {
                policy.groups.clone_from(&groups);
                policy.post_quantum = bartizan_deployment::PostQuantum::Forbid;
            });
            Endpoint::new(authority.node("amf"), lab).unwrap()
        });
        let mut client = client_end(client.connect("nrf", InterfaceKind::Sbi).unwrap());
        let hello = client.speak();
        let mut acceptor = rustls::server::Acceptor::default();
        acceptor.read_tls(&mut &hello[..]).unwrap();
        let accepted = acceptor.accept().unwrap().unwrap();
        let accepting = server.accept_any(InterfaceKind::Sbi);
        let config = accepting.config_for(&accepted.client_hello());
        accepting.watch.received(&hello);
        let connection = accepted.into_connection(config).unwrap();
        let outcome = converse(&mut client, &mut End::new(connection, accepting.watch));
        let established = outcome.server.unwrap();
        assert_eq!(established.negotiated.group.code, expected.0);
        assert_eq!(established.key, outcome.client.unwrap().key);
    }
}

#[test]
fn a_classical_chain_under_an_exception_is_excepted_though_the_exchange_is_hybrid() {
    let outcome = between(&Authority::root("root", &PKCS_ECDSA_P256_SHA256), TRANSITION);
    let excepted = Verdict::Excepted {
        reason: "the old SMF".into(),
    };
    assert_both(
        &outcome,
        NamedGroup::X25519MLKEM768,
        SignatureScheme::ECDSA_SECP256R1_SHA256,
        &excepted,
    );
}

#[test]
fn a_key_the_policy_does_not_accept_fails_before_any_packet_with_the_command_to_mend_it() {
    let classical = Authority::root("root", &PKCS_ECDSA_P256_SHA256);
    let error = Endpoint::new(classical.node("amf"), peers(&deployment("hybrid"), "amf")).unwrap_err();
    assert!(
        error.to_string().contains("its key signs by ecdsa_secp256r1_sha256"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("bartizan ca issue"), "{error}");
}

#[test]
fn a_chain_the_policy_does_not_accept_fails_before_any_packet() {
    let classical = Authority::root("root", &PKCS_ECDSA_P256_SHA256);
    let mut wanted = Wanted::named([dns("amf")]);
    wanted.algorithm = Some(&PKCS_ML_DSA_65);
    let credentials = classical.credentials(&classical.issue(wanted), None);
    let error = Endpoint::new(credentials, peers(&deployment("hybrid"), "amf")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("its chain is signed by ecdsa_secp256r1_sha256"),
        "{error}"
    );
}

#[test]
fn revocation_required_without_a_list_fails_before_any_packet() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let deployment = deployment("{ profile: hybrid, revocation: require }");
    let error = Endpoint::new(authority.node("amf"), peers(&deployment, "amf")).unwrap_err();
    assert!(error.hint().unwrap().contains("bartizan ca crl"), "{error}");
}

#[test]
fn a_peer_no_interface_leads_to_cannot_be_connected_to() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let endpoint = amf(authority.node("amf"), &deployment("hybrid"));
    assert!(
        matches!(endpoint.connect("smf", InterfaceKind::Sbi), Err(Error::UnknownPeer { peer, .. }) if peer == "smf")
    );
}

#[test]
fn a_certificate_without_the_node_s_own_names_is_reported_before_any_packet() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let issued = authority.issue(Wanted::named([dns("nrf.5gc"), ip("10.0.0.2"), uri("urn:uuid:AB")]));
    let credentials = authority.credentials(&issued, None);
    let identity = |names: &str| -> Identity {
        let text = format!("nodes: {{ nrf: {{ function: NRF, address: 10.0.0.2, names: {names} }} }}");
        let deployment = bartizan_deployment::Deployment::parse(&text, "test.yaml", std::path::Path::new("/")).unwrap();
        deployment.node("nrf").unwrap().identity.clone()
    };
    for fitting in [
        "{ dns: [NRF.5gc] }",
        "{ dns: [other, nrf.5gc], ip: [10.0.0.2] }",
        "{ uri: [\"urn:uuid:ab\"] }",
        "{ dns: [nrf.5gc], ip: [10.0.0.2], uri: [\"urn:uuid:AB\"] }",
    ] {
        credentials.check_identity(&identity(fitting)).unwrap();
    }
    for wrong in [
        "{ dns: [nrf] }",
        "{ dns: [nrf.5gc], ip: [10.0.0.3] }",
        "{ dns: [nrf.5gc], uri: [\"urn:uuid:ac\"] }",
        "{ dns: [\"a.nrf.5gc\"] }",
    ] {
        let error = credentials.check_identity(&identity(wrong)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("carries dns:nrf.5gc, ip:10.0.0.2, uri:urn:uuid:AB"),
            "{error}"
        );
        assert!(error.hint().unwrap().contains("bartizan ca issue --dns"), "{error}");
    }
}

#[test]
fn a_node_known_by_an_address_or_a_uri_alone_is_reached_without_a_dns_name() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    for (names, san) in [
        ("{ ip: [10.0.0.2] }", ip("10.0.0.2")),
        ("{ uri: [\"urn:uuid:7c\"] }", uri("urn:uuid:7c")),
    ] {
        let text = format!(
            "nodes:\n  amf: {{ function: AMF, address: 10.0.0.1 }}\n\
             \x20 nrf: {{ function: NRF, address: 10.0.0.2, names: {names} }}\n\
             interfaces: [{{ kind: SBI, between: [amf, nrf], with: sidecar }}]\n"
        );
        let deployment = bartizan_deployment::Deployment::parse(&text, "test.yaml", std::path::Path::new("/")).unwrap();
        let client = amf(authority.node("amf"), &deployment);
        let server = nrf(
            authority.credentials(&authority.issue(Wanted::named([san])), None),
            &deployment,
        );
        let outcome = shake(
            client.connect("nrf", InterfaceKind::Sbi).unwrap(),
            server.accept_any(InterfaceKind::Sbi),
        );
        assert_eq!(outcome.client.unwrap().peer.as_str(), "nrf");
        assert_eq!(outcome.server.unwrap().peer.as_str(), "amf");
    }
}

#[test]
fn the_end_of_a_certificate_is_that_of_the_first_of_its_chain_to_end() {
    let authority = Authority::root("root", &PKCS_ML_DSA_44);
    let mut wanted = Wanted::named([dns("amf")]);
    wanted.not_after = time::OffsetDateTime::from_unix_timestamp(1_999_999_999).unwrap();
    let credentials = authority.credentials(&authority.issue(wanted), None);
    let since = credentials.own()[0]
        .not_after()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(since.as_secs(), 1_999_999_999);
    assert!(now() < 1_999_999_999);
}
