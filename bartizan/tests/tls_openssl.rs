//! TLS between crates/protect/tls and OpenSSL 3.5, each as client and as server: group and
//! signature are asserted from what both ends say was negotiated.

mod tls_peer;

use bartizan_deployment::USABLE_GROUPS;
use bartizan_ledger::{Certificate, Verdict};
use bartizan_pki::Algorithm;
use bartizan_registry::{NamedGroup, SignatureScheme, group};
use bartizan_tls::{Credentials, Established, Reason};

use tls_peer::{Chain, Judged, Place, endpoint};

const LEVELS: [(Algorithm, SignatureScheme); 3] = [
    (Algorithm::MlDsa44, SignatureScheme::MLDSA44),
    (Algorithm::MlDsa65, SignatureScheme::MLDSA65),
    (Algorithm::MlDsa87, SignatureScheme::MLDSA87),
];

/// A policy of exactly this group and this scheme.
fn exactly(code: NamedGroup, scheme: SignatureScheme) -> String {
    let profile = match group(code).expect("a known group").category {
        Some(_) => "hybrid",
        None => "classical",
    };
    format!(
        "{{ profile: {profile}, lab: true, groups: [{code}], signatures: [{scheme}], chain-signatures: [{scheme}] }}"
    )
}

fn openssl_name(code: NamedGroup) -> &'static str {
    let known = group(code).expect("a known group");
    known.openssl.expect("OpenSSL has it")
}

fn assert_ours(judged: &Judged, peer: &str, code: NamedGroup, scheme: SignatureScheme, length: usize) {
    let Established {
        peer: found,
        negotiated,
        chain,
        key,
        bytes,
        verdict,
        ..
    } = judged
        .as_ref()
        .unwrap_or_else(|refused| panic!("{code} {scheme}: {refused}"));
    assert_eq!(found.as_str(), peer);
    assert_eq!(negotiated.group.code, code.0);
    assert_eq!(negotiated.peer_signature.as_ref().map(|code| code.code), Some(scheme.0));
    assert_eq!(
        negotiated.local_signature.as_ref().map(|code| code.code),
        Some(scheme.0)
    );
    assert!(!negotiated.resumed && !negotiated.hello_retry);
    assert_eq!(chain.len(), length);
    assert_eq!(chain[0].names, [format!("dns:{peer}")]);
    assert!(key.is_some());
    assert!(bytes.sent > 1000 && bytes.received > 1000);
    assert_eq!(*verdict, Verdict::Accepted);
}

/// The line by which OpenSSL shows a group: for the old ones that of the ephemeral key.
fn shown(code: NamedGroup, line: &str) -> String {
    match code {
        NamedGroup::X25519 => "Peer Temp Key: X25519, 253 bits\n".to_owned(),
        NamedGroup::SECP256R1 => "Peer Temp Key: ECDH, prime256v1, 256 bits\n".to_owned(),
        NamedGroup::SECP384R1 => "Peer Temp Key: ECDH, secp384r1, 384 bits\n".to_owned(),
        other => format!("{line}{}\n", openssl_name(other)),
    }
}

/// OpenSSL connects to us.
fn openssl_connects(place: &mut Place, code: NamedGroup, scheme: SignatureScheme, length: usize) {
    let ours = endpoint("nrf", place.node("nrf").credentials(None), &exactly(code, scheme));
    let amf = place.node("amf");
    let arguments = format!("-tls1_3 -groups {}", openssl_name(code));
    let (judged, said) = place.openssl_client(&ours, &arguments, Some(&amf));
    assert_ours(&judged, "amf", code, scheme, length);
    let text = said.text();
    assert!(said.status.success(), "{text}");
    assert!(
        text.contains(&shown(code, "Negotiated TLS1.3 group: ")),
        "{code}: {text}"
    );
    assert!(text.contains(&format!("Peer signature type: {scheme}\n")), "{text}");
    assert!(text.contains("Verify return code: 0 (ok)"), "{text}");
    assert!(text.contains("ALPN protocol: h2"), "{text}");
    assert!(text.contains("bartizan\n"), "{text}");
}

/// We connect to OpenSSL.
fn openssl_accepts(place: &mut Place, code: NamedGroup, scheme: SignatureScheme, length: usize) {
    let ours = endpoint("amf", place.node("amf").credentials(None), &exactly(code, scheme));
    let nrf = place.node("nrf");
    let arguments = format!("-tls1_3 -groups {}", openssl_name(code));
    let (met, said) = place.openssl_server(&ours, &arguments, &nrf);
    assert_ours(&met.judged, "nrf", code, scheme, length);
    assert!(met.later.is_none(), "{}", met.later.unwrap());
    assert_eq!(met.echo, "nazitrab\n");
    let key = match code {
        NamedGroup::MLKEM512 => "Peer Temp Key: ML-KEM-512\n".to_owned(),
        NamedGroup::MLKEM768 => "Peer Temp Key: ML-KEM-768\n".to_owned(),
        NamedGroup::MLKEM1024 => "Peer Temp Key: ML-KEM-1024\n".to_owned(),
        other => shown(other, "Peer Temp Key: "),
    };
    assert!(said.contains(&key), "{code}: {said}");
    assert!(said.contains(&format!("Signature type: {scheme}\n")), "{said}");
    assert!(said.contains("Verification: OK"), "{said}");
}

#[test]
fn openssl_connects_by_every_group() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Intermediate);
    for code in USABLE_GROUPS.iter().copied() {
        openssl_connects(&mut place, code, SignatureScheme::MLDSA65, 2);
    }
}

#[test]
fn openssl_accepts_every_group() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Intermediate);
    for code in USABLE_GROUPS.iter().copied() {
        openssl_accepts(&mut place, code, SignatureScheme::MLDSA65, 2);
    }
}

#[test]
fn every_level_of_mldsa_authenticates_both_ends_with_and_without_an_intermediate() {
    for (algorithm, scheme) in LEVELS {
        for chain in [Chain::Root, Chain::Intermediate] {
            let mut place = Place::new(algorithm, chain);
            // Without an intermediate OpenSSL completes the chain by the root: two certificates either way.
            openssl_connects(&mut place, NamedGroup::X25519MLKEM768, scheme, 2);
            openssl_accepts(&mut place, NamedGroup::X25519MLKEM768, scheme, 2);
        }
    }
}

#[test]
fn openssl_follows_our_hello_retry_request_to_our_own_hybrid() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Root);
    let policy = "{ profile: hybrid, groups: [SecP384r1MLKEM1024] }";
    let ours = endpoint("nrf", place.node("nrf").credentials(None), policy);
    let amf = place.node("amf");
    let (judged, said) = place.openssl_client(&ours, "-groups X25519MLKEM768:SecP384r1MLKEM1024", Some(&amf));
    let negotiated = judged.unwrap().negotiated;
    assert!(negotiated.hello_retry);
    assert_eq!(negotiated.group.code, NamedGroup::SECP384R1MLKEM1024.0);
    assert!(said.text().contains("Negotiated TLS1.3 group: SecP384r1MLKEM1024"));
}

#[test]
fn we_follow_openssl_s_hello_retry_request() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Root);
    let policy = "{ profile: hybrid, groups: [X25519MLKEM768, SecP384r1MLKEM1024] }";
    let ours = endpoint("amf", place.node("amf").credentials(None), policy);
    let nrf = place.node("nrf");
    let (met, _) = place.openssl_server(&ours, "-groups SecP384r1MLKEM1024", &nrf);
    let negotiated = met.judged.unwrap().negotiated;
    assert!(negotiated.hello_retry);
    assert_eq!(negotiated.group.code, NamedGroup::SECP384R1MLKEM1024.0);
    assert_eq!(met.echo, "nazitrab\n");
}

/// Reason with which our server refuses OpenSSL as this client, and the alert that OpenSSL shows.
fn refused_client(
    place: &Place,
    ours: &bartizan_tls::Endpoint,
    arguments: &str,
    node: Option<&tls_peer::Node>,
    alert: u8,
) -> Reason {
    let (judged, said) = place.openssl_client(ours, arguments, node);
    let refused = judged.expect_err("refused");
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.status.success(), "openssl noticed nothing of {refused}");
    assert!(
        error.contains(&format!("SSL alert number {alert}\n")),
        "{refused}: {error}"
    );
    assert!(!refused.hint.is_empty());
    refused.reason
}

#[test]
fn our_server_refuses_openssl_clients_for_the_right_reason_and_tells_them() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Intermediate);
    let mut elsewhere = Place::new(Algorithm::MlDsa65, Chain::Intermediate);
    let (nrf, amf, revoked, expired) = (
        place.node("nrf"),
        place.node("amf"),
        place.node("amf"),
        place.expired("amf"),
    );
    let smf = place.node("smf");
    let mut foreign = elsewhere.node("amf");
    foreign.roots.clone_from(&nrf.roots);
    let list = place.revoke(&revoked);
    let ours = endpoint(
        "nrf",
        nrf.credentials(Some(&list)),
        "{ profile: hybrid, revocation: require }",
    );

    let (judged, _) = place.openssl_client(&ours, "", Some(&amf));
    assert_eq!(judged.unwrap().peer.as_str(), "amf");
    let refused = |arguments, node, alert| refused_client(&place, &ours, arguments, node, alert);
    assert_eq!(refused("", Some(&expired), 45), Reason::Expired);
    assert_eq!(refused("", Some(&revoked), 44), Reason::Revoked);
    assert_eq!(refused("", Some(&foreign), 48), Reason::UnknownCa);
    assert_eq!(refused("", Some(&smf), 49), Reason::WrongName);
    assert_eq!(refused("", None, 116), Reason::NoCertificate);
    assert_eq!(refused("-groups X25519", Some(&amf), 40), Reason::NoCommonGroup);
    assert_eq!(refused("-groups ffdhe2048", Some(&amf), 40), Reason::NoCommonGroup);
    assert_eq!(refused("-groups X448", Some(&amf), 40), Reason::NoCommonGroup);
    assert_eq!(refused("-groups MLKEM512", Some(&amf), 40), Reason::NoCommonGroup);
    assert_eq!(refused("-tls1_2", Some(&amf), 70), Reason::NoCommonVersion);
    assert_eq!(
        refused("-sigalgs ECDSA+SHA256", Some(&amf), 40),
        Reason::NoCommonSignature
    );
    assert_eq!(
        refused("-ciphersuites TLS_CHACHA20_POLY1305_SHA256", Some(&amf), 40),
        Reason::NoCommonCipher
    );
}

#[test]
fn our_client_refuses_openssl_servers_for_the_right_reason() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Intermediate);
    let mut elsewhere = Place::new(Algorithm::MlDsa65, Chain::Intermediate);
    let (nrf, amf, revoked, expired) = (
        place.node("nrf"),
        place.node("amf"),
        place.node("nrf"),
        place.expired("nrf"),
    );
    let mut foreign = elsewhere.node("nrf");
    foreign.roots.clone_from(&nrf.roots);
    let list = place.revoke(&revoked);
    let ours = endpoint(
        "amf",
        amf.credentials(Some(&list)),
        "{ profile: hybrid, revocation: require }",
    );

    let (met, _) = place.openssl_server(&ours, "", &nrf);
    assert_eq!(met.echo, "nazitrab\n");
    for (node, reason, alert) in [
        (&expired, Reason::Expired, 45),
        (&revoked, Reason::Revoked, 44),
        (&foreign, Reason::UnknownCa, 48),
        (&amf, Reason::WrongName, 49),
    ] {
        let (met, said) = place.openssl_server(&ours, "", node);
        assert_eq!(met.judged.unwrap_err().reason, reason);
        assert!(
            said.contains(&format!("SSL alert number {alert}\n")),
            "{reason}: {said}"
        );
    }
    for arguments in ["-groups X25519", "-groups X448", "-tls1_2"] {
        let (met, _) = place.openssl_server(&ours, arguments, &nrf);
        assert_eq!(met.judged.unwrap_err().reason, Reason::PeerRefused, "{arguments}");
    }
}

#[test]
fn what_an_openssl_server_thinks_of_our_certificate_reaches_us_after_our_handshake() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Root);
    let (nrf, expired) = (place.node("nrf"), place.expired("amf"));
    let ours = endpoint("amf", expired.credentials(None), "hybrid");
    let (met, _) = place.openssl_server(&ours, "", &nrf);
    assert!(met.judged.is_ok(), "a TLS 1.3 client ends before it is judged");
    let later = met.later.expect("an alert");
    assert_eq!(later.reason, Reason::PeerRefused);
    assert!(later.detail.contains("certificate_expired"), "{later}");
    assert!(later.hint.contains("bartizan ca renew"), "{}", later.hint);
}

#[test]
fn keys_and_certificates_made_by_openssl_are_loaded_in_every_encoding_of_rfc_9881() {
    let place = Place::new(Algorithm::MlDsa65, Chain::Root);
    for level in ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"] {
        for encoding in ["seed-only", "priv-only", "seed-priv"] {
            let run = |arguments: &str| {
                place
                    .openssl(arguments)
                    .run(std::time::Duration::from_secs(60))
                    .expect("openssl works");
            };
            run(&format!(
                "genpkey -algorithm {level} -provparam ml-dsa.output_formats={encoding} -out key.pem"
            ));
            run("req -x509 -new -key key.pem -out crt.pem -subj /CN=nrf -addext subjectAltName=DNS:nrf");
            let read = |name: &str| std::fs::read(place.path(name)).expect("a file");
            let credentials = Credentials::from_pem(&read("crt.pem"), &read("key.pem"), &read("crt.pem"), None);
            let credentials = credentials.unwrap_or_else(|error| panic!("{level} {encoding}: {error}"));
            let [Certificate { names, public_key, .. }] = credentials.own()[0].chain() else {
                panic!("one certificate")
            };
            assert_eq!(*names, ["dns:nrf"]);
            assert_eq!(*public_key, format!("id-{}", level.to_lowercase()));
        }
    }
}

#[test]
fn openssl_resumes_within_the_policy_s_time_until_it_is_revoked() {
    let mut place = Place::new(Algorithm::MlDsa65, Chain::Root);
    let (nrf, amf) = (place.node("nrf"), place.node("amf"));
    let ours = endpoint("nrf", nrf.credentials(None), "{ profile: hybrid, resumption: 10m }");
    let (judged, _) = place.openssl_client(&ours, "-sess_out session.pem", Some(&amf));
    assert!(!judged.unwrap().negotiated.resumed);
    let (judged, said) = place.openssl_client(&ours, "-sess_in session.pem -sess_out next.pem", Some(&amf));
    let established = judged.unwrap();
    assert!(established.negotiated.resumed);
    assert_eq!(established.peer.as_str(), "amf");
    assert_eq!(established.chain[0].names, ["dns:amf"]);
    assert!(said.text().contains("Reused, TLSv1.3"), "{}", said.text());

    let list = place.revoke(&amf);
    let ours = ours.with_credentials(nrf.credentials(Some(&list))).unwrap();
    let (judged, said) = place.openssl_client(&ours, "-sess_in next.pem", Some(&amf));
    let refused = judged.unwrap_err();
    assert_eq!(refused.reason, Reason::Revoked);
    assert!(refused.negotiated.unwrap().resumed);
    assert!(!said.text().contains("bartizan\n"), "not a byte passes");
}
