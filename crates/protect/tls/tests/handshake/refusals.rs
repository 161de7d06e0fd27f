//! Every reason for which a handshake is refused, provoked.

use std::io;
use std::sync::Arc;

use bartizan_deployment::{CipherSuite, InterfaceKind, NodeName, Policy, PostQuantum};
use bartizan_ledger::Verdict;
use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_tls::{Accepting, Connecting, Credentials, Endpoint, Reason, Refused, peers};
use rcgen::{ExtendedKeyUsagePurpose, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ML_DSA_65, PKCS_ML_DSA_87};
use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use time::{Duration, OffsetDateTime};

use crate::authority::{Authority, Issued, Wanted, dns};
use crate::wire::{Clock, Outcome, amf, client_end, deployment, now, nrf, server_end, shake, under};

/// The verdict of nrf on an amf with these credentials, under this policy of nrf.
fn judged_by_nrf(server: &Endpoint, client: Credentials) -> Outcome {
    let client = amf(client, &deployment("hybrid"));
    shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    )
}

fn refused(outcome: &Outcome) -> &Refused {
    outcome.server.as_ref().expect_err("refused")
}

/// The client has ended by then; its refusal comes with the next read.
fn assert_client_learns(outcome: &Outcome, alert: &str) {
    assert!(outcome.client.is_ok());
    let later = outcome.client_later.as_ref().expect("an alert");
    assert_eq!(later.reason, Reason::PeerRefused);
    assert!(later.detail.contains(alert), "{later}");
    assert_eq!(later.peer.as_ref().map(NodeName::as_str), Some("nrf"));
    assert!(later.key.is_some());
}

fn root() -> Authority {
    Authority::root("root", &PKCS_ML_DSA_65)
}

#[test]
fn an_expired_certificate_is_refused_with_its_last_moment() {
    let authority = root();
    let mut wanted = Wanted::named([dns("amf")]);
    wanted.not_before = OffsetDateTime::from_unix_timestamp(1_600_000_000).unwrap();
    wanted.not_after = OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
    let client = authority.credentials(&authority.issue(wanted), None);
    let outcome = judged_by_nrf(&nrf(authority.node("nrf"), &deployment("hybrid")), client);
    let refused = refused(&outcome);
    assert_eq!(refused.reason, Reason::Expired);
    assert!(refused.detail.contains("2023-11-14T22:13:20Z"), "{refused}");
    assert_eq!(refused.chain[0].names, ["dns:amf"]);
    // A name in a certificate that was refused is not proven.
    assert_eq!(refused.peer, None);
    assert_client_learns(&outcome, "certificate_expired");
}

#[test]
fn a_certificate_of_tomorrow_is_not_yet_valid() {
    let authority = root();
    let mut wanted = Wanted::named([dns("amf")]);
    wanted.not_before = OffsetDateTime::now_utc() + Duration::days(1);
    let client = authority.credentials(&authority.issue(wanted), None);
    let outcome = judged_by_nrf(&nrf(authority.node("nrf"), &deployment("hybrid")), client);
    assert_eq!(refused(&outcome).reason, Reason::NotYetValid);
}

#[test]
fn a_certificate_of_another_ca_is_of_an_unknown_ca() {
    let outcome = judged_by_nrf(
        &nrf(root().node("nrf"), &deployment("hybrid")),
        foreign_node("another root", "amf"),
    );
    assert_eq!(outcome.client.as_ref().unwrap_err().reason, Reason::UnknownCa);
    // Here it is the client that refuses first, and the server learns it.
    assert_eq!(refused(&outcome).reason, Reason::PeerRefused);
    assert!(refused(&outcome).detail.contains("unknown_ca"));
}

/// A node of a CA of its own that trusts only that CA.
fn foreign_node(ca: &str, name: &str) -> Credentials {
    Authority::root(ca, &PKCS_ML_DSA_65).node(name)
}

/// A node with a certificate of one CA that trusts another.
fn intruder(issuer: &Authority, trusted: &Authority, name: &str) -> Credentials {
    let issued = issuer.issue(Wanted::named([dns(name)]));
    let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
    Credentials::from_pem(certificate, key, trusted.trusted().as_bytes(), None).unwrap()
}

#[test]
fn a_foreign_ca_of_the_same_name_is_unknown_too() {
    let ours = root();
    for algorithm in [&PKCS_ML_DSA_65, &PKCS_ML_DSA_87] {
        let theirs = Authority::root("root", algorithm);
        let mut wanted = Wanted::named([dns("amf")]);
        wanted.algorithm = Some(&PKCS_ML_DSA_65);
        let issued = theirs.issue(wanted);
        let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
        let client = Credentials::from_pem(certificate, key, ours.trusted().as_bytes(), None).unwrap();
        let outcome = judged_by_nrf(&nrf(ours.node("nrf"), &deployment("hybrid")), client);
        assert_eq!(refused(&outcome).reason, Reason::UnknownCa, "{}", refused(&outcome));
        assert_client_learns(&outcome, "unknown_ca");
    }
}

#[test]
fn a_root_past_its_end_vouches_for_nobody() {
    let authority = Authority::root_until("old", &PKCS_ML_DSA_65, OffsetDateTime::now_utc() - Duration::days(1));
    let outcome = judged_by_nrf(
        &nrf(authority.node("nrf"), &deployment("hybrid")),
        authority.node("amf"),
    );
    let refused = outcome.client.unwrap_err();
    assert_eq!(refused.reason, Reason::Expired);
    assert!(refused.detail.contains("root"), "{refused}");
}

fn with_list(authority: &Authority, revoked: &[&Issued], due: Duration, name: &str) -> Credentials {
    let list = authority.list(revoked, OffsetDateTime::now_utc() + due);
    authority.credentials(&authority.issue(Wanted::named([dns(name)])), Some(&list))
}

#[test]
fn a_revoked_certificate_is_refused_under_either_strictness_and_though_the_list_is_stale() {
    let authority = root();
    let issued = authority.issue(Wanted::named([dns("amf")]));
    for (policy, due) in [
        ("{ profile: hybrid, revocation: require }", Duration::days(1)),
        ("hybrid", Duration::days(1)),
        ("hybrid", Duration::minutes(-1)),
    ] {
        let server = nrf(with_list(&authority, &[&issued], due, "nrf"), &deployment(policy));
        let outcome = judged_by_nrf(&server, authority.credentials(&issued, None));
        assert_eq!(refused(&outcome).reason, Reason::Revoked, "{policy} {due}");
        assert_client_learns(&outcome, "certificate_revoked");
        let spared = judged_by_nrf(&server, authority.node("amf"));
        assert!(spared.server.is_ok());
    }
}

#[test]
fn a_revoked_intermediate_takes_its_leaves_along() {
    let authority = root();
    let issuing = authority.intermediate("issuing", &PKCS_ML_DSA_65);
    let serial = |pem: &str| {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
            .map(Result::unwrap)
            .collect();
        let (_, read) = x509_parser::parse_x509_certificate(&chain[1]).unwrap();
        rcgen::SerialNumber::from_slice(read.raw_serial())
    };
    let mut issued = issuing.issue(Wanted::named([dns("amf")]));
    let client = issuing.credentials(&issued, None);
    issued.serial = serial(&issued.certificate);
    let server = nrf(
        with_list(&authority, &[&issued], Duration::days(1), "nrf"),
        &deployment("hybrid"),
    );
    assert_eq!(refused(&judged_by_nrf(&server, client)).reason, Reason::Revoked);
}

#[test]
fn revocation_required_refuses_where_no_current_list_answers() {
    let authority = root();
    let required = deployment("{ profile: hybrid, revocation: require }");
    let stale = nrf(with_list(&authority, &[], Duration::minutes(-1), "nrf"), &required);
    let outcome = judged_by_nrf(&stale, authority.node("amf"));
    assert_eq!(refused(&outcome).reason, Reason::RevocationUnknown);
    assert!(refused(&outcome).detail.contains("due to be replaced"));

    // A list of the root says nothing of what an intermediate issued.
    let server = nrf(with_list(&authority, &[], Duration::days(1), "nrf"), &required);
    let outcome = judged_by_nrf(&server, authority.intermediate("issuing", &PKCS_ML_DSA_65).node("amf"));
    assert_eq!(refused(&outcome).reason, Reason::RevocationUnknown);
    assert!(judged_by_nrf(&server, authority.node("amf")).server.is_ok());
}

#[test]
fn a_list_signed_by_another_authority_of_the_same_name_is_not_believed() {
    let authority = root();
    let list = root().list(&[], OffsetDateTime::now_utc() + Duration::days(1));
    let credentials = authority.credentials(&authority.issue(Wanted::named([dns("nrf")])), Some(&list));
    let outcome = judged_by_nrf(&nrf(credentials, &deployment("hybrid")), authority.node("amf"));
    assert_eq!(refused(&outcome).reason, Reason::RevocationUnknown);
}

#[test]
fn a_name_of_nobody_is_refused_by_the_server_and_another_s_name_by_the_client() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let outcome = judged_by_nrf(&server, authority.node("smf"));
    assert_eq!(refused(&outcome).reason, Reason::WrongName);
    assert!(refused(&outcome).detail.contains("carries dns:smf"));
    assert_client_learns(&outcome, "access_denied");

    let impostor = nrf(authority.node("amf"), &deployment("hybrid"));
    let outcome = judged_by_nrf(&impostor, authority.node("amf"));
    let refused = outcome.client.unwrap_err();
    assert_eq!(refused.reason, Reason::WrongName);
    assert!(
        refused.detail.contains("carries dns:amf, and nrf is known by dns:nrf"),
        "{refused}"
    );
    assert!(
        refused.hint.contains("bartizan ca issue --name nrf --dns nrf"),
        "{}",
        refused.hint
    );
}

#[test]
fn a_wildcard_names_nobody() {
    let authority = root();
    let wanted = Wanted::named([dns("*"), dns("*.5gc")]);
    let client = authority.credentials(&authority.issue(wanted), None);
    let outcome = judged_by_nrf(&nrf(authority.node("nrf"), &deployment("hybrid")), client);
    assert_eq!(refused(&outcome).reason, Reason::WrongName);
}

/// A client endpoint whose policy is not the deployment's: what a peer configured otherwise looks like.
fn deviating(credentials: Credentials, change: impl Fn(&mut Policy)) -> Connecting {
    let peers = under(peers(&deployment("hybrid"), "amf"), change);
    Endpoint::new(credentials, peers)
        .unwrap()
        .connect("nrf", InterfaceKind::Sbi)
        .unwrap()
}

#[test]
fn a_peer_with_only_classical_groups_has_no_group_in_common() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let client = deviating(authority.node("amf"), |policy| {
        policy.post_quantum = PostQuantum::Forbid;
        policy.groups = vec![NamedGroup::X25519];
    });
    let outcome = shake(client, server.accept_any(InterfaceKind::Sbi));
    assert_eq!(refused(&outcome).reason, Reason::NoCommonGroup);
    assert_eq!(
        refused(&outcome).detail,
        "the peer offers x25519; this node accepts X25519MLKEM768"
    );
    let client = outcome.client.unwrap_err();
    assert_eq!(client.reason, Reason::PeerRefused);
    assert!(client.detail.contains("handshake_failure"), "{client}");
}

#[test]
fn a_peer_with_another_post_quantum_group_has_no_group_in_common() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let client = deviating(authority.node("amf"), |policy| {
        policy.groups = vec![NamedGroup::MLKEM512];
    });
    assert_eq!(
        refused(&shake(client, server.accept_any(InterfaceKind::Sbi))).reason,
        Reason::NoCommonGroup
    );
}

#[test]
fn a_peer_that_accepts_other_signatures_has_no_signature_in_common() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let theirs = Authority::root("root", &PKCS_ML_DSA_87);
    let client = deviating(theirs.node("amf"), |policy| {
        policy.signatures = vec![SignatureScheme::MLDSA87];
        policy.chain_signatures = vec![SignatureScheme::MLDSA87];
    });
    let outcome = shake(client, server.accept_any(InterfaceKind::Sbi));
    assert_eq!(refused(&outcome).reason, Reason::NoCommonSignature);
    assert_eq!(
        refused(&outcome).detail,
        "the peer accepts signatures by mldsa87; this node signs by mldsa65"
    );
}

#[test]
fn a_client_whose_certificate_the_server_does_not_accept_says_so_itself() {
    // The server accepts ML-DSA-87 from clients and signs by ML-DSA-65; the client has ML-DSA-65 alone.
    let authority = root();
    let server = under(peers(&deployment("hybrid"), "nrf"), |policy| {
        policy.signatures = vec![SignatureScheme::MLDSA87, SignatureScheme::MLDSA65];
    });
    let server = Endpoint::new(authority.node("nrf"), server).unwrap();
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let accepting = server.accept_any(InterfaceKind::Sbi);
    let strict = asking_for(&accepting, &[rustls::SignatureScheme::ML_DSA_87]);
    let outcome = shake(client.connect("nrf", InterfaceKind::Sbi).unwrap(), strict);
    let later = outcome.client.err().or(outcome.client_later).expect("refused");
    assert_eq!(later.reason, Reason::NoCommonSignature);
    assert_eq!(
        later.detail,
        "the peer accepts signatures by mldsa87; this node signs by mldsa65"
    );
    assert_eq!(outcome.server.unwrap_err().reason, Reason::NoCertificate);
}

/// The same server, asking its clients for these schemes. It panics where it is shown a certificate.
pub(crate) fn asking_for(accepting: &Accepting, schemes: &[rustls::SignatureScheme]) -> Accepting {
    let provider = Arc::clone(accepting.config.crypto_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(Arc::new(Asking(schemes.to_vec())))
        .with_cert_resolver(Arc::clone(&accepting.config.cert_resolver));
    config.alpn_protocols.clone_from(&accepting.config.alpn_protocols);
    Accepting {
        config: Arc::new(config),
        watch: accepting.watch.clone(),
    }
}

/// A client verifier that asks for ML-DSA-87 and is never shown any certificate.
#[derive(Debug)]
struct Asking(Vec<rustls::SignatureScheme>);

impl rustls::server::danger::ClientCertVerifier for Asking {
    fn root_hint_subjects(&self) -> &[rustls::DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::server::danger::ClientCertVerified, rustls::Error> {
        panic!("a certificate was sent")
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        panic!("TLS 1.2 was spoken")
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        panic!("a certificate was sent")
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.clone()
    }
}

#[test]
fn cnsa2_has_no_cipher_in_common_with_aes_128() {
    let authority = Authority::root("root", &PKCS_ML_DSA_87);
    let server = nrf(authority.node("nrf"), &deployment("cnsa2"));
    let peers = under(peers(&deployment("cnsa2"), "amf"), |policy| {
        policy.ciphers = vec![CipherSuite::Aes128Gcm];
    });
    let client = Endpoint::new(authority.node("amf"), peers).unwrap();
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    assert_eq!(refused(&outcome).reason, Reason::NoCommonCipher);
}

#[test]
fn a_peer_that_speaks_tls_1_2_has_no_version_in_common() {
    // A ClientHello without supported_versions: TLS 1.2, one cipher suite, no compression, secp256r1, ECDSA with SHA-256.
    let extensions: &[u8] = &[0, 0x0a, 0, 4, 0, 2, 0, 0x17, 0, 0x0d, 0, 4, 0, 2, 4, 3];
    let mut body = vec![3, 3];
    body.extend([0x11; 32]);
    body.extend([0, 0, 2, 0xc0, 0x2b, 1, 0]);
    body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
    body.extend(extensions);
    let mut record = vec![22, 3, 1];
    record.extend(u16::try_from(body.len() + 4).unwrap().to_be_bytes());
    record.extend([1, 0]);
    record.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    record.extend(body);
    let refused = refused_bytes(&record);
    assert_eq!(refused.reason, Reason::NoCommonVersion, "{refused}");
    let key = serde_json::to_string(&refused.key.unwrap()).unwrap();
    assert!(key.contains(&"11".repeat(32)), "{key}");
}

/// The refusal of these bytes by nrf.
fn refused_bytes(bytes: &[u8]) -> Box<Refused> {
    let server = nrf(root().node("nrf"), &deployment("hybrid"));
    let mut server = server_end(server.accept_any(InterfaceKind::Sbi));
    server.hear(bytes);
    let error = server.error().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
    server.watch.failed(&error)
}

#[test]
fn plain_http2_at_the_tls_port_is_malformed_and_named_so() {
    let refused = refused_bytes(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert_eq!(refused.reason, Reason::Malformed, "{refused}");
    assert!(refused.hint.contains("plain network function"), "{}", refused.hint);
    assert_eq!(refused.bytes.received, 24);
    assert_eq!(refused.key, None);
}

#[test]
fn a_client_without_a_certificate_is_refused_for_that() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let connecting = client.connect("nrf", InterfaceKind::Sbi).unwrap();
    let mut config = (*connecting.config).clone();
    config.client_auth_cert_resolver = Arc::new(Presenting(None));
    let connecting = Connecting {
        config: Arc::new(config),
        ..connecting
    };
    let outcome = shake(connecting, server.accept_any(InterfaceKind::Sbi));
    assert_eq!(refused(&outcome).reason, Reason::NoCertificate);
    assert_client_learns(&outcome, "certificate_required");
}

/// A client that presents whatever it is given.
#[derive(Debug)]
pub(crate) struct Presenting(pub(crate) Option<Arc<CertifiedKey>>);

impl ResolvesClientCert for Presenting {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

#[test]
fn a_stolen_certificate_without_its_key_is_a_bad_signature() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let (stolen, other) = (
        authority.issue(Wanted::named([dns("amf")])),
        authority.issue(Wanted::named([dns("amf")])),
    );
    let chain = CertificateDer::pem_slice_iter(stolen.certificate.as_bytes()).map(Result::unwrap);
    let key = any_supported_type(&PrivateKeyDer::from_pem_slice(other.key.as_bytes()).unwrap()).unwrap();
    let connecting = client.connect("nrf", InterfaceKind::Sbi).unwrap();
    let mut config = (*connecting.config).clone();
    config.client_auth_cert_resolver = Arc::new(Presenting(Some(Arc::new(CertifiedKey::new(chain.collect(), key)))));
    let connecting = Connecting {
        config: Arc::new(config),
        ..connecting
    };
    let outcome = shake(connecting, server.accept_any(InterfaceKind::Sbi));
    assert_eq!(refused(&outcome).reason, Reason::BadSignature);
    assert_client_learns(&outcome, "decrypt_error");
}

#[test]
fn a_certificate_that_must_not_be_used_so_is_bad() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let mut for_servers = Wanted::named([dns("amf")]);
    for_servers.purposes = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let mut for_agreement = Wanted::named([dns("amf")]);
    for_agreement.usages = vec![KeyUsagePurpose::KeyAgreement];
    for wanted in [for_servers, for_agreement] {
        let client = authority.credentials(&authority.issue(wanted), None);
        assert_eq!(refused(&judged_by_nrf(&server, client)).reason, Reason::BadCertificate);
    }
}

#[test]
fn a_chain_signed_in_a_scheme_the_policy_lacks_is_refused_by_policy() {
    let trusted = root();
    let old = Authority::root("old", &PKCS_ECDSA_P256_SHA256);
    let mut wanted = Wanted::named([dns("amf")]);
    wanted.algorithm = Some(&PKCS_ML_DSA_65);
    let issued = old.issue(wanted);
    let both = format!("{}{}", trusted.trusted(), old.trusted());
    let credentials = |issued: &Issued| {
        let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
        Credentials::from_pem(certificate, key, both.as_bytes(), None).unwrap()
    };
    let server = nrf(
        credentials(&trusted.issue(Wanted::named([dns("nrf")]))),
        &deployment("hybrid"),
    );
    let client = deviating(credentials(&issued), |policy| {
        policy.post_quantum = PostQuantum::Forbid;
        policy.chain_signatures.push(SignatureScheme::ECDSA_SECP256R1_SHA256);
    });
    let outcome = shake(client, server.accept_any(InterfaceKind::Sbi));
    assert_eq!(refused(&outcome).reason, Reason::Policy);
    assert!(
        refused(&outcome).detail.contains("mldsa65, mldsa87"),
        "{}",
        refused(&outcome)
    );
}

#[test]
fn a_peer_held_to_a_stricter_policy_than_another_is_refused_what_the_other_may() {
    // nrf serves amf under cnsa2-like terms and smf under hybrid: the listener offers both, and judges by who came.
    let authority = Authority::root("root", &PKCS_ML_DSA_87);
    let text = "policy: { profile: hybrid, signatures: [mldsa87], chain-signatures: [mldsa87] }\n\
        nodes:\n  amf: { function: AMF, address: 10.0.0.1 }\n  smf: { function: SMF, address: 10.0.0.3 }\n\
        \x20 nrf: { function: NRF, address: 10.0.0.2 }\n\
        interfaces:\n  - { kind: SBI, between: [amf, nrf], with: sidecar, policy: cnsa2 }\n\
        \x20 - { kind: SBI, between: [smf, nrf], with: sidecar }\n";
    let deployment = bartizan_deployment::Deployment::parse(text, "test.yaml", std::path::Path::new("/")).unwrap();
    let server = nrf(authority.node("nrf"), &deployment);
    let lax = under(peers(&deployment, "smf"), |_| {});
    for (name, accepted) in [("smf", true), ("amf", false)] {
        let client = Endpoint::new(authority.node(name), lax.clone()).unwrap();
        let outcome = shake(
            client.connect("nrf", InterfaceKind::Sbi).unwrap(),
            server.accept_any(InterfaceKind::Sbi),
        );
        if accepted {
            let established = outcome.server.unwrap();
            assert_eq!(established.peer.as_str(), "smf");
            assert_eq!(established.verdict, Verdict::Accepted);
        } else {
            let refused = refused(&outcome);
            assert_eq!(refused.reason, Reason::Policy);
            let wrong = "the group X25519MLKEM768 is not one of MLKEM1024 (policy cnsa2)";
            assert_eq!(refused.detail, wrong);
            assert_eq!(refused.peer.as_ref().map(NodeName::as_str), Some("amf"));
            assert_eq!(refused.negotiated.as_ref().unwrap().group.code, 0x11ec);
        }
    }
    let client = amf(authority.node("amf"), &deployment);
    let established = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    )
    .server
    .unwrap();
    assert_eq!(established.negotiated.group.code, NamedGroup::MLKEM1024.0);
    assert_eq!(established.negotiated.cipher.code, 0x1302);
}

#[test]
fn a_server_that_signs_in_another_scheme_than_the_policy_s_is_refused_by_the_client() {
    let authority = Authority::root("root", &PKCS_ML_DSA_87);
    let strict = under(peers(&deployment("cnsa2"), "nrf"), |policy| {
        policy.groups = vec![NamedGroup::X25519MLKEM768];
    });
    let server = Endpoint::new(authority.node("nrf"), strict).unwrap();
    let issuing = authority.intermediate("issuing", &PKCS_ML_DSA_65);
    let client = amf(issuing.node("amf"), &deployment("hybrid"));
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    assert_eq!(refused(&outcome).reason, Reason::NoCommonSignature);
}

#[test]
fn a_bit_flipped_on_the_way_is_a_bad_signature() {
    let authority = root();
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let (mut client, mut server) = (
        client_end(client.connect("nrf", InterfaceKind::Sbi).unwrap()),
        server_end(server.accept_any(InterfaceKind::Sbi)),
    );
    server.hear(&client.speak());
    let mut flight = server.speak();
    let last = flight.len() - 1;
    flight[last] ^= 1;
    client.hear(&flight);
    let error = client.error().unwrap();
    assert_eq!(client.watch.failed(&error).reason, Reason::BadSignature);
}

#[test]
fn what_the_socket_says_has_a_reason_and_a_hint() {
    let authority = root();
    let endpoint = amf(authority.node("amf"), &deployment("hybrid"));
    let watch = || endpoint.connect("nrf", InterfaceKind::Sbi).unwrap().watch;
    for (kind, reason) in [
        (io::ErrorKind::UnexpectedEof, Reason::Closed),
        (io::ErrorKind::ConnectionReset, Reason::Closed),
        (io::ErrorKind::BrokenPipe, Reason::Closed),
        (io::ErrorKind::ConnectionRefused, Reason::Unreachable),
        (io::ErrorKind::HostUnreachable, Reason::Unreachable),
        (io::ErrorKind::NetworkUnreachable, Reason::Unreachable),
        (io::ErrorKind::TimedOut, Reason::TimedOut),
        (io::ErrorKind::OutOfMemory, Reason::Ours),
    ] {
        let refused = watch().failed(&kind.into());
        assert_eq!(refused.reason, reason, "{kind:?}");
        assert!(!refused.hint.is_empty() && !refused.detail.is_empty());
        assert_eq!(refused.peer.as_ref().map(NodeName::as_str), Some("nrf"));
    }
    assert_eq!(watch().timed_out().reason, Reason::TimedOut);
}

#[test]
fn a_machine_without_a_clock_is_at_fault_itself() {
    let authority = root();
    let clock = Clock::at(now());
    let server = Endpoint::with_clock(
        authority.node("nrf"),
        peers(&deployment("hybrid"), "nrf"),
        clock.clone(),
    );
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let server = server.unwrap();
    clock.set(None);
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    assert_eq!(refused(&outcome).reason, Reason::Ours);
}

#[test]
fn every_reason_has_a_word_of_its_own() {
    let mut words: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 20);
    assert!(
        words
            .iter()
            .all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
    );
    assert_eq!(Reason::UnknownCa.to_string(), "unknown-ca");
}

#[test]
fn an_intruder_that_trusts_our_root_is_still_an_unknown_ca_to_us() {
    let ours = root();
    let theirs = Authority::root("theirs", &PKCS_ML_DSA_65);
    let outcome = judged_by_nrf(
        &nrf(ours.node("nrf"), &deployment("hybrid")),
        intruder(&theirs, &ours, "amf"),
    );
    assert_eq!(refused(&outcome).reason, Reason::UnknownCa);
    assert_client_learns(&outcome, "unknown_ca");
}
