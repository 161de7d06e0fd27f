//! The table against rustls' own enumerations and its provider: a program we did not write.

use bartizan_registry::{CIPHERS, GROUPS, NamedGroup, SIGNATURES, group, primitive};
use rustls::crypto::aws_lc_rs as provider;

#[test]
fn rustls_gives_every_group_it_names_the_same_name() {
    for known in GROUPS {
        let theirs = rustls::NamedGroup::from(known.code.0);
        match known.rustls {
            Some(name) => assert_eq!(format!("{theirs:?}"), name, "{}", known.name),
            None => assert!(matches!(theirs, rustls::NamedGroup::Unknown(_)), "{theirs:?}"),
        }
    }
}

#[test]
fn rustls_gives_every_signature_scheme_it_names_the_same_name() {
    for known in SIGNATURES {
        let theirs = rustls::SignatureScheme::from(known.code.0);
        match known.rustls {
            Some(name) => assert_eq!(format!("{theirs:?}"), name, "{}", known.name),
            None => assert!(matches!(theirs, rustls::SignatureScheme::Unknown(_)), "{theirs:?}"),
        }
    }
}

#[test]
fn rustls_gives_every_cipher_suite_it_names_the_same_name() {
    for known in CIPHERS {
        let theirs = rustls::CipherSuite::from(known.code.0);
        if let Some(name) = known.rustls {
            assert_eq!(format!("{theirs:?}"), name, "{}", known.name);
        }
    }
}

#[test]
fn every_group_of_the_provider_sends_a_share_of_the_listed_size() {
    for offered in provider::ALL_KX_GROUPS {
        let code = NamedGroup(u16::from(offered.name()));
        let known = group(code).unwrap_or_else(|| panic!("{code} is not in the table"));
        let client = offered.start().unwrap();
        assert_eq!(
            client.pub_key().len(),
            usize::from(known.client_share),
            "{}",
            known.name
        );
        let server = offered.start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.pub_key.len(), usize::from(known.server_share), "{}", known.name);
        assert_eq!(
            server.secret.secret_bytes().len(),
            usize::from(known.secret),
            "{}",
            known.name
        );
    }
}

/// The order of `parts` is the order on the wire: the hybrid's secret begins with its first part's.
#[test]
fn a_hybrid_share_begins_with_its_first_part() {
    let hybrid = provider::kx_group::X25519MLKEM768;
    let known = group(NamedGroup::X25519MLKEM768).unwrap();
    let client = hybrid.start().unwrap();
    // rustls can hand out the classical half alone: it is the tail of the share when ML-KEM comes first.
    let (classical, share) = client.hybrid_component().unwrap();
    assert_eq!(known.parts[1].0, u16::from(classical));
    assert!(client.pub_key().ends_with(share));
    let hybrid = provider::kx_group::SECP256R1MLKEM768;
    let known = group(NamedGroup::SECP256R1MLKEM768).unwrap();
    let client = hybrid.start().unwrap();
    let (classical, share) = client.hybrid_component().unwrap();
    assert_eq!(known.parts[0].0, u16::from(classical));
    assert!(client.pub_key().starts_with(share));
}

#[test]
fn the_provider_under_rustls_makes_keys_and_signatures_of_the_listed_sizes() {
    use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_512, ML_KEM_768, ML_KEM_1024};
    use aws_lc_rs::signature::{KeyPair, ML_DSA_44_SIGNING, ML_DSA_65_SIGNING, ML_DSA_87_SIGNING, PqdsaKeyPair};

    for (name, algorithm) in [
        ("ML_KEM_512", &ML_KEM_512),
        ("ML_KEM_768", &ML_KEM_768),
        ("ML_KEM_1024", &ML_KEM_1024),
    ] {
        let known = primitive(name).unwrap();
        let public = DecapsulationKey::generate(algorithm)
            .unwrap()
            .encapsulation_key()
            .unwrap();
        let (ciphertext, secret) = public.encapsulate().unwrap();
        assert_eq!(
            Some(public.key_bytes().unwrap().as_ref().len() as u32),
            known.public_key
        );
        assert_eq!(Some(ciphertext.as_ref().len() as u32), known.output);
        assert_eq!(Some(secret.as_ref().len() as u8), known.shared_secret);
    }
    for (name, algorithm) in [
        ("ML_DSA_44", &ML_DSA_44_SIGNING),
        ("ML_DSA_65", &ML_DSA_65_SIGNING),
        ("ML_DSA_87", &ML_DSA_87_SIGNING),
    ] {
        let known = primitive(name).unwrap();
        let key = PqdsaKeyPair::generate(algorithm).unwrap();
        let mut signature = vec![0; algorithm.signature_len()];
        let written = key.sign(b"a network function", &mut signature).unwrap();
        assert_eq!(Some(key.public_key().as_ref().len() as u32), known.public_key);
        assert_eq!(Some(written as u32), known.output);
    }
}
