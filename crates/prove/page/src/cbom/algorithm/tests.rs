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
