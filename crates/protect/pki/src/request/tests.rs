use proptest::prelude::*;
use rcgen::{CertificateParams, CustomExtension, DnType, SanType};

use super::*;
use crate::PrivateKey;

/// A request made by rcgen with one of our keys.
fn request(algorithm: Algorithm, sans: &[&str]) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "amf");
    params.subject_alt_names = sans
        .iter()
        .map(|name| SanType::DnsName((*name).try_into().unwrap()))
        .collect();
    let key = PrivateKey::generate(algorithm).unwrap();
    params.serialize_request(&key).unwrap().der().to_vec()
}

#[test]
fn requests_of_every_algorithm_are_believed() {
    for algorithm in Algorithm::ALL {
        let request = SigningRequest::read(&request(algorithm, &["amf.5gc"])).unwrap();
        assert_eq!(request.public_key().algorithm(), algorithm);
        assert_eq!(request.common_name(), Some("amf"));
        assert_eq!(request.names()[0].to_string(), "DNS:amf.5gc");
    }
}

#[test]
fn pem_and_der_are_both_read() {
    let der = request(Algorithm::Ed25519, &["amf.5gc"]);
    let pem = crate::certificate::to_pem("CERTIFICATE REQUEST", &der);
    let text = format!("written by some tool\n{pem}");
    assert_eq!(
        SigningRequest::read(text.as_bytes()).unwrap().public_key(),
        SigningRequest::read(&der).unwrap().public_key()
    );
}

#[test]
fn a_request_without_proof_of_the_private_key_is_refused() {
    for algorithm in Algorithm::ALL {
        let mut der = request(algorithm, &["amf.5gc"]);
        // The subject is inside what is signed.
        let at = der.windows(3).position(|window| window == b"amf").unwrap();
        der[at] = b'x';
        let error = SigningRequest::read(&der).unwrap_err();
        assert!(error.to_string().contains("does not verify"), "{algorithm}: {error}");
    }
}

#[test]
fn a_name_no_certificate_can_carry_is_distinguished() {
    let der = request(Algorithm::Ed25519, &["amf.5gc", "*.5gc"]);
    let request = SigningRequest::read(&der).unwrap();
    assert_eq!(request.names().len(), 1);
    assert!(request.unusable_names()[0].contains("wildcard"));
}

#[test]
fn another_extension_in_a_request_is_not_taken_for_a_name() {
    let mut params = CertificateParams::default();
    params.custom_extensions = vec![CustomExtension::from_oid_content(
        &[2, 5, 29, 19],
        vec![0x30, 0x03, 1, 1, 0xff],
    )];
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let request = SigningRequest::read(params.serialize_request(&key).unwrap().der()).unwrap();
    assert!(request.names().is_empty());
}

#[test]
fn something_else_in_pem_is_named() {
    let pem = crate::certificate::to_pem("CERTIFICATE", b"0");
    let error = SigningRequest::read(pem.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("a CERTIFICATE is in it"), "{error}");
    assert!(SigningRequest::read(b"").is_err());
}

#[test]
fn a_request_that_is_written_asks_for_its_names_and_the_first_dns_name_is_the_common_name() {
    let names: Vec<AlternativeName> = ["IP:10.0.0.2", "DNS:amf.5gc", "URI:spiffe://5gc/amf"]
        .map(|name| name.parse().unwrap())
        .to_vec();
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let text = SigningRequest::write(&key, &names).unwrap();
        let read = SigningRequest::read(text.as_bytes()).unwrap();
        assert_eq!(read.public_key(), key.public_key());
        assert_eq!(read.names(), names);
        assert_eq!(read.common_name(), Some("amf.5gc"));
        assert!(read.unusable_names().is_empty());
    }
    let key = PrivateKey::generate(Algorithm::EcdsaP256).unwrap();
    let text = SigningRequest::write(&key, &names[..1]).unwrap();
    assert_eq!(SigningRequest::read(text.as_bytes()).unwrap().common_name(), None);
    assert!(matches!(SigningRequest::write(&key, &[]), Err(Error::NoNames)));
}

proptest! {
    #[test]
    fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = SigningRequest::read(&octets);
    }

    /// The wrapping of the signature may be written in more than one way; what is signed may not.
    #[test]
    fn a_changed_octet_never_changes_what_is_believed(at in 0usize..10_000, bit in 0u8..8) {
        let mut der = request(Algorithm::Ed25519, &["amf.5gc"]);
        let whole = SigningRequest::read(&der).unwrap();
        let at = at % der.len();
        der[at] ^= 1 << bit;
        if let Ok(changed) = SigningRequest::read(&der) {
            prop_assert_eq!(changed.public_key(), whole.public_key());
            prop_assert_eq!(changed.names(), whole.names());
            prop_assert_eq!(changed.common_name(), whole.common_name());
        }
    }

    #[test]
    fn a_damaged_request_or_certificate_never_panics(algorithm in 0usize..6, at: usize, octet: u8, keep: usize) {
        let mut der = request(Algorithm::ALL[algorithm], &["amf.5gc"]);
        let at = at % der.len();
        der[at] = octet;
        der.truncate(1 + keep % (2 * der.len()));
        let _ = SigningRequest::read(&der);
        let _ = crate::Certificate::from_der(&der, "test");

        let params = CertificateParams::new(vec!["amf.5gc".to_owned()]).unwrap();
        let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
        let mut der = params.self_signed(&key).unwrap().der().to_vec();
        let at = at % der.len();
        der[at] = octet;
        der.truncate(1 + keep % (2 * der.len()));
        let _ = crate::Certificate::from_der(&der, "test");
    }
}
