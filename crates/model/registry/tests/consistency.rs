//! The tables agree with themselves and with each other.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

use bartizan_registry::*;

fn assert_unique<T: Eq + Hash + Debug>(values: impl IntoIterator<Item = T>) {
    let mut seen = HashSet::new();
    for value in values {
        let shown = format!("{value:?}");
        assert!(seen.insert(value), "{shown} stands twice");
    }
}

#[test]
fn no_code_point_stands_twice() {
    assert_unique(GROUPS.iter().map(|known| known.code));
    assert_unique(SIGNATURES.iter().map(|known| known.code));
    assert_unique(CIPHERS.iter().map(|known| known.code));
    assert_unique(TRANSFORMS.iter().map(|known| (known.kind, known.id)));
    assert_unique(AUTHENTICATION_METHODS.iter().map(|known| known.id));
    assert_unique(HASH_ALGORITHMS.iter().map(|known| known.id));
    assert_unique(MACSEC_SUITES.iter().map(|known| known.id));
    assert_unique(X509_ALGORITHMS.iter().map(|known| (known.oid, known.parameters)));
    assert_unique(PRIMITIVES.iter().map(|known| known.name));
}

#[test]
fn every_table_stands_in_order_of_its_code_points() {
    assert!(GROUPS.is_sorted_by_key(|known| known.code));
    assert!(SIGNATURES.is_sorted_by_key(|known| known.code));
    assert!(CIPHERS.is_sorted_by_key(|known| known.code));
    assert!(TRANSFORMS.is_sorted_by_key(|known| (known.kind.code(), known.id)));
    assert!(AUTHENTICATION_METHODS.is_sorted_by_key(|known| known.id));
    assert!(MACSEC_SUITES.is_sorted_by_key(|known| known.id));
}

#[test]
fn every_code_point_and_every_name_leads_back_to_its_row() {
    for known in GROUPS {
        assert_eq!(group(known.code).unwrap().name, known.name);
        for name in [Some(known.name), known.openssl, known.rustls].into_iter().flatten() {
            assert_eq!(group_named(name).unwrap().code, known.code, "{name}");
            assert_eq!(group_named(&name.to_uppercase()).unwrap().code, known.code, "{name}");
        }
    }
    for known in SIGNATURES {
        assert_eq!(signature(known.code).unwrap().name, known.name);
        for name in [Some(known.name), known.openssl, known.rustls].into_iter().flatten() {
            assert_eq!(signature_named(name).unwrap().code, known.code, "{name}");
        }
    }
    for known in CIPHERS {
        assert_eq!(cipher(known.code).unwrap().name, known.name);
        for name in [Some(known.name), known.openssl, known.rustls].into_iter().flatten() {
            assert_eq!(cipher_named(name).unwrap().code, known.code, "{name}");
        }
    }
    for known in TRANSFORMS {
        assert_eq!(transform(known.kind, known.id).unwrap().name, known.name);
        for name in [Some(known.name), known.strongswan].into_iter().flatten() {
            assert_eq!(transform_named(known.kind, name).unwrap().id, known.id, "{name}");
        }
    }
    for known in MACSEC_SUITES {
        assert_eq!(macsec_suite(known.id).unwrap().name, known.name);
        for name in [Some(known.name), known.iproute2].into_iter().flatten() {
            assert_eq!(macsec_suite_named(name).unwrap().id, known.id, "{name}");
        }
    }
    for known in X509_ALGORITHMS {
        assert_eq!(x509_algorithm(known.oid, known.parameters).unwrap().name, known.name);
        for name in [Some(known.name), known.openssl].into_iter().flatten() {
            assert_eq!(x509_algorithm_named(name).unwrap().name, known.name, "{name}");
        }
    }
    for known in PRIMITIVES {
        for name in [Some(known.name), known.openssl, known.aws_lc_rs, known.strongswan]
            .into_iter()
            .flatten()
        {
            assert_eq!(primitive(name).unwrap().name, known.name, "{name}");
        }
    }
    for known in AUTHENTICATION_METHODS {
        assert_eq!(authentication_method(known.id).unwrap().name, known.name);
    }
}

#[test]
fn names_are_found_as_people_write_them() {
    assert_eq!(group_named("x25519-mlkem768").unwrap().code, NamedGroup::X25519MLKEM768);
    assert_eq!(group_named("ML-KEM-1024").unwrap().code, NamedGroup::MLKEM1024);
    assert_eq!(group_named("p256").unwrap().code, NamedGroup::SECP256R1);
    assert_eq!(signature_named("ML-DSA-65").unwrap().code, SignatureScheme::MLDSA65);
    assert_eq!(signature_named("ed25519").unwrap().code, SignatureScheme::ED25519);
    assert_eq!(
        transform_named(TransformKind::KeyExchange, "ML-KEM-768").unwrap().id,
        36
    );
    assert!(group_named("").is_none());
    assert!(group_named("X25519MLKEM76").is_none());
}

#[test]
fn a_hybrid_share_is_the_sum_of_its_parts() {
    let mut hybrids = 0;
    for known in GROUPS {
        assert_eq!(known.kind == Kind::Hybrid, known.parts.len() == 2, "{}", known.name);
        if known.parts.is_empty() {
            continue;
        }
        hybrids += 1;
        let parts: Vec<&Group> = known.parts.iter().map(|part| group(*part).unwrap()).collect();
        assert_eq!(
            known.client_share,
            parts.iter().map(|part| part.client_share).sum::<u16>(),
            "{}",
            known.name
        );
        assert_eq!(
            known.server_share,
            parts.iter().map(|part| part.server_share).sum::<u16>(),
            "{}",
            known.name
        );
        assert_eq!(
            known.secret,
            parts.iter().map(|part| part.secret).sum::<u16>(),
            "{}",
            known.name
        );
        assert_eq!(
            known.category,
            parts.iter().find_map(|part| part.category),
            "{}",
            known.name
        );
        assert_eq!(
            parts.iter().filter(|part| part.kind == Kind::PostQuantum).count(),
            1,
            "{}",
            known.name
        );
    }
    assert_eq!(hybrids, 11);
}

#[test]
fn only_what_has_a_category_is_quantum_safe() {
    for known in GROUPS {
        assert_eq!(
            known.category.is_some(),
            known.recording == Safety::QuantumSafe,
            "{}",
            known.name
        );
    }
    for known in SIGNATURES {
        assert_eq!(
            known.category.is_some(),
            known.forgery == Safety::QuantumSafe,
            "{}",
            known.name
        );
    }
    for known in X509_ALGORITHMS {
        assert_eq!(
            known.category.is_some(),
            known.safety == Safety::QuantumSafe,
            "{}",
            known.name
        );
    }
    for known in TRANSFORMS
        .iter()
        .filter(|known| known.kind == TransformKind::KeyExchange)
    {
        let safe = known.recording == Some(Safety::QuantumSafe);
        assert_eq!(known.category.is_some(), safe, "{}", known.name);
    }
}

#[test]
fn protocols_carry_the_sizes_of_the_primitives() {
    for (tls, ike, x509, name) in [
        ("MLKEM512", 35, "id-alg-ml-kem-512", "ML-KEM-512"),
        ("MLKEM768", 36, "id-alg-ml-kem-768", "ML-KEM-768"),
        ("MLKEM1024", 37, "id-alg-ml-kem-1024", "ML-KEM-1024"),
    ] {
        let kem = primitive(name).unwrap();
        let (group, ike) = (
            group_named(tls).unwrap(),
            transform(TransformKind::KeyExchange, ike).unwrap(),
        );
        assert_eq!(Some(u32::from(group.client_share)), kem.public_key);
        assert_eq!(Some(u32::from(group.server_share)), kem.output);
        assert_eq!(ike.initiator.map(u32::from), kem.public_key);
        assert_eq!(ike.responder.map(u32::from), kem.output);
        assert_eq!(
            x509_algorithm_named(x509).unwrap().public_key.map(u32::from),
            kem.public_key
        );
        assert_eq!((group.category, ike.category), (kem.category, kem.category));
    }
    for known in TRANSFORMS.iter().filter(|known| known.name.starts_with("FrodoKEM")) {
        let kem = primitive(known.name.trim_end_matches("-AES").trim_end_matches("-SHAKE")).unwrap();
        assert_eq!(known.initiator.map(u32::from), kem.public_key, "{}", known.name);
        assert_eq!(known.responder.map(u32::from), kem.output, "{}", known.name);
    }
    let mut schemes = 0;
    for known in SIGNATURES.iter().filter(|known| known.category.is_some()) {
        // mldsa65 is ML-DSA-65, slhdsa_sha2_128s is SLH-DSA-SHA2-128s: hyphens apart, the same name.
        let algorithm = primitive(known.name).unwrap();
        let x509 = x509_algorithm_named(&format!("id-{}", algorithm.name)).unwrap();
        assert_eq!(known.signature.map(u32::from), algorithm.output, "{}", known.name);
        assert_eq!(known.public_key.map(u32::from), algorithm.public_key, "{}", known.name);
        assert_eq!(known.public_key, x509.public_key, "{}", known.name);
        assert_eq!(
            (known.category, x509.category),
            (algorithm.category, algorithm.category)
        );
        schemes += 1;
    }
    assert_eq!(schemes, 15);
}

/// RFC 9881, 9909 and 9935: SEQUENCE { SEQUENCE { OID }, BIT STRING } with absent parameters.
#[test]
fn the_spki_of_a_post_quantum_key_is_the_key_and_the_labels_of_der() {
    let mut sizes = 0;
    for known in X509_ALGORITHMS.iter().filter(|known| known.category.is_some()) {
        let (Some(key), Some(spki)) = (known.public_key, known.spki) else {
            continue;
        };
        let algorithm = 2 + 2 + 9;
        let header = |length: u16| {
            if length < 0x80 {
                2
            } else if length < 0x100 {
                3
            } else {
                4
            }
        };
        let bits = key + 1;
        let body = algorithm + header(bits) + bits;
        assert_eq!(spki, header(body) + body, "{}", known.name);
        if known.name.starts_with("id-ml-dsa") {
            assert_eq!(spki, key + 22);
        }
        sizes += 1;
    }
    assert_eq!(sizes, 18);
}

/// SEQUENCE of two INTEGERs, each at most the order's bytes and one zero byte where the order fills its top bit.
#[test]
fn the_largest_ecdsa_signature_follows_from_the_order_of_its_curve() {
    let mut curves = 0;
    for known in SIGNATURES
        .iter()
        .filter(|known| known.name.contains("ecdsa_") || known.name.starts_with("sm2"))
    {
        let Some(public_key) = known.public_key else { continue };
        let order = (public_key - 1) / 2;
        let sign = u16::from(!known.name.contains("secp521"));
        let integers = 2 * (2 + order + sign);
        let header = if integers < 0x80 { 2 } else { 3 };
        assert_eq!(known.signature, Some(header + integers), "{}", known.name);
        curves += 1;
    }
    assert_eq!(curves, 7);
}

#[test]
fn no_classical_ike_exchange_is_called_safe() {
    for known in TRANSFORMS
        .iter()
        .filter(|known| known.kind == TransformKind::KeyExchange && known.id < 35)
    {
        assert_eq!(known.recording, Some(Safety::Vulnerable), "{}", known.name);
    }
}

#[test]
fn the_curve_decides_between_rows_of_one_object_identifier() {
    let p384 = x509_algorithm("1.2.840.10045.2.1", Some("1.3.132.0.34")).unwrap();
    assert_eq!(p384.openssl, Some("P-384"));
    assert!(x509_algorithm("1.2.840.10045.2.1", Some("1.3.132.0.10")).is_none());
    assert!(x509_algorithm("1.2.840.10045.9.9", None).is_none());
}

#[test]
fn an_unverified_composite_carries_no_size() {
    for known in X509_ALGORITHMS
        .iter()
        .filter(|known| known.name.starts_with("id-MLDSA"))
    {
        assert_eq!((known.public_key, known.spki), (None, None), "{}", known.name);
        assert!(known.note.unwrap().contains("unverified"));
    }
}

#[test]
fn a_row_serialises_with_its_code_point_in_the_base_of_its_document() {
    let json = serde_json::to_value(group(NamedGroup::X25519MLKEM768).unwrap()).unwrap();
    assert_eq!(json["code"], "0x11ec");
    assert_eq!(json["name"], "X25519MLKEM768");
    assert_eq!(json["parts"], serde_json::json!(["MLKEM768", "x25519"]));
    assert_eq!(json["recording"], "quantum-safe");
    assert_eq!(json["status"]["state"], "rfc");
    let json = serde_json::to_value(macsec_suite(0x0080_c200_0100_0002).unwrap()).unwrap();
    assert_eq!(json["id"], "0080c20001000002");
}
