use super::*;

fn of(algorithm: &Algorithm, key: &str) -> Value {
    algorithm.properties.get(key).cloned().unwrap_or(Value::Null)
}

#[test]
fn a_hybrid_group_is_a_combiner_of_its_two_parts_with_their_category() {
    let hybrid = Algorithm::group(NamedGroup::X25519MLKEM768);
    assert_eq!(of(&hybrid, "primitive"), "combiner");
    assert_eq!(of(&hybrid, "nistQuantumSecurityLevel"), 3);
    let [kem, curve] = &hybrid.parts[..] else {
        panic!("{hybrid:?}")
    };
    assert_eq!(
        (of(kem, "algorithmFamily"), of(kem, "parameterSetIdentifier")),
        (json!("ML-KEM"), json!("768"))
    );
    assert_eq!(of(kem, "primitive"), "kem");
    assert_eq!(of(curve, "ellipticCurve"), "other/Curve25519");
    assert_eq!(of(curve, "nistQuantumSecurityLevel"), 0);
}

#[test]
fn a_classical_group_never_has_a_level_above_0() {
    for known in registry::GROUPS.iter().filter(|known| known.kind == Kind::Classical) {
        let algorithm = Algorithm::group(known.code);
        assert_eq!(of(&algorithm, "nistQuantumSecurityLevel"), 0, "{}", known.name);
        assert_ne!(of(&algorithm, "algorithmFamily"), Value::Null, "{}", known.name);
    }
}

#[test]
fn what_agrees_on_keys_is_no_derivation_and_has_its_object_identifier() {
    let hybrid = Algorithm::group(NamedGroup::X25519MLKEM768);
    assert_eq!((of(&hybrid, "cryptoFunctions"), hybrid.oid), (json!(["keygen"]), None));
    assert_eq!(hybrid.parts[0].oid, Some("2.16.840.1.101.3.4.4.2"));
    assert_eq!(hybrid.parts[1].oid, Some("1.3.101.110"));
    for known in registry::GROUPS {
        let functions = of(&Algorithm::group(known.code), "cryptoFunctions");
        assert!(!functions.to_string().contains("keyderive"), "{}", known.name);
    }
    let suite = Algorithm::of_suite(CipherSuite::AES_256_GCM_SHA384);
    assert_eq!(suite[0].oid, Some("2.16.840.1.101.3.4.1.46"));
    assert_eq!(suite[1].oid, Some("2.16.840.1.101.3.4.2.2"));
    assert_eq!(Algorithm::x509("ecdsa-with-SHA256").oid, Some("1.2.840.10045.4.3.2"));
    let ecp = |id| {
        Algorithm::transform(bartizan_wire::ike::Transform {
            kind: bartizan_wire::ike::Transform::KE,
            id,
            key_length: None,
        })
    };
    assert_eq!(ecp(19).name, "ECDH, 256-bit random ECP");
    assert_eq!(ecp(14).name, "FFDH, 2048-bit MODP");
    assert_eq!(ecp(36).name, "ml-kem-768");
}

#[test]
fn a_curve_is_one_that_cyclonedx_lists() {
    let listed = include_str!("../../../../../../bartizan/tests/data/cyclonedx-1.7/cryptography-defs.schema.json");
    for known in registry::GROUPS {
        if let Some(curve) = of(&Algorithm::group(known.code), "ellipticCurve").as_str() {
            assert!(listed.contains(&format!("\"{curve}\"")), "{}: {curve}", known.name);
        }
    }
}

#[test]
fn a_suite_is_its_record_cipher_and_its_hash() {
    let suite = Algorithm::of_suite(CipherSuite::AES_256_GCM_SHA384);
    let names: Vec<&str> = suite.iter().map(|algorithm| algorithm.name.as_str()).collect();
    assert_eq!(names, ["AES-256-GCM", "SHA-384"]);
    assert_eq!(of(&suite[0], "mode"), "gcm");
    assert_eq!(of(&suite[0], "nistQuantumSecurityLevel"), 5);
    for known in registry::CIPHERS {
        assert_eq!(Algorithm::of_suite(known.code).len(), 2, "{}", known.name);
    }
    assert_eq!(Algorithm::of_suite(CipherSuite(0xfafa)), []);
}

#[test]
fn an_unknown_code_point_stays_visible_as_a_number() {
    let unknown = Algorithm::group(NamedGroup(0x4444));
    assert_eq!(
        (unknown.name.as_str(), of(&unknown, "primitive")),
        ("unknown(0x4444)", json!("unknown"))
    );
    assert_eq!(of(&unknown, "nistQuantumSecurityLevel"), Value::Null);
}

#[test]
fn a_composite_of_x509_is_not_called_ml_dsa_alone() {
    let composite = Algorithm::x509("id-MLDSA65-ECDSA-P256-SHA512");
    assert_eq!(of(&composite, "algorithmFamily"), Value::Null);
    assert_eq!(of(&Algorithm::x509("id-ml-dsa-65"), "algorithmFamily"), "ML-DSA");
    assert_eq!(of(&Algorithm::x509("ecdsa-with-SHA256"), "nistQuantumSecurityLevel"), 0);
}

/// The verdict of a policy tool on an asset, as cbomctl and its like reach it: by the level, and
/// where key agreement, signatures or what it does not know have none, not at all.
fn passes(algorithm: &Algorithm) -> bool {
    let level = of(algorithm, "nistQuantumSecurityLevel");
    let primitive = of(algorithm, "primitive");
    match (level.as_u64(), primitive.as_str()) {
        (Some(level), _) => level > 0,
        // Functions overrule the primitive: a derivation from keys falls to no quantum computer.
        (None, _) if of(algorithm, "cryptoFunctions").to_string().contains("keyderive") => true,
        (None, Some("hash" | "mac" | "kdf" | "ae" | "block-cipher")) => true,
        (None, _) => false,
    }
}

#[test]
fn level_0_is_what_a_quantum_computer_breaks_and_no_asset_of_it_passes_a_policy() {
    use bartizan_ledger::Forgery;
    use bartizan_registry::{Safety, TransformKind};
    use bartizan_wire::ike::Transform;
    // Each kind of asset with the registry's word on each of its algorithms.
    let mut assets: Vec<(&str, Algorithm, Option<Safety>)> = Vec::new();
    for known in registry::GROUPS {
        assets.push(("group of TLS", Algorithm::group(known.code), Some(known.recording)));
    }
    for known in registry::SIGNATURES {
        assets.push(("scheme of TLS", Algorithm::scheme(known.code), Some(known.forgery)));
    }
    for code in [0x0301, 0x0402, 0x0603] {
        let scheme = SignatureScheme(code);
        assets.push((
            "pair of TLS 1.2",
            Algorithm::scheme(scheme),
            registry::signature_safety(scheme),
        ));
    }
    for known in registry::SSH_KEY_EXCHANGES {
        let method = Algorithm::ssh_key_exchange(known.name);
        assets.push(("key exchange of SSH", method, Some(known.recording)));
    }
    for known in registry::SSH_PUBLIC_KEYS {
        assets.push((
            "signature of SSH",
            Algorithm::ssh_signature(known.name),
            Some(known.forgery),
        ));
    }
    for known in registry::X509_ALGORITHMS {
        assets.push(("algorithm of X.509", Algorithm::x509(known.name), Some(known.safety)));
    }
    for known in registry::TRANSFORMS {
        let transform = Transform {
            kind: known.kind.code(),
            id: known.id,
            key_length: None,
        };
        if matches!(known.kind, TransformKind::KeyExchange | TransformKind::Encryption) {
            assets.push(("transform of IKE", Algorithm::transform(transform), known.recording));
        }
    }
    for (words, forgery, safety) in [
        (
            "ECDSA_WITH_SHA256_DER",
            Forgery::PossibleLater,
            Some(Safety::Vulnerable),
        ),
        ("of an unknown kind", Forgery::Unknown, None),
    ] {
        assets.push(("proof of IKE", Algorithm::proof_of_ledger(words, forgery), safety));
    }
    assert!(assets.len() > 150, "{}", assets.len());
    for (kind, asset, safety) in assets {
        let level = of(&asset, "nistQuantumSecurityLevel");
        let broken = safety == Some(Safety::Vulnerable);
        assert_eq!(level == 0, broken, "{kind} {}: {level}, {safety:?}", asset.name);
        assert!(!broken || !passes(&asset), "{kind} {}", asset.name);
        // Neither do the parts hide behind the whole.
        for part in &asset.parts {
            let level = of(part, "nistQuantumSecurityLevel");
            assert!(level != 0 || !passes(part), "{kind} {}: {}", asset.name, part.name);
        }
    }
}
