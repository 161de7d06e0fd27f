//! Algorithms by the mechanisms of PKCS#11: ECDSA over a digest made here, since every token has
//! that; EdDSA of version 3.0; ML-DSA of version 3.2.

use std::borrow::Cow;

use aws_lc_rs::digest::{SHA256, SHA384, digest};
use cryptoki::mechanism::dsa::{HedgeType, SignAdditionalContext};
use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, MlDsaParameterSetType};
use pkcs8::ObjectIdentifier;
use pkcs8::der::Encode;

use crate::Algorithm;
use crate::algorithm::oid;

/// Ed25519 as PKCS#11 3.0, section 2.3.3, lets CKA_EC_PARAMS name it too: a PrintableString.
const EDWARDS25519: &[u8] = b"\x13\x0cedwards25519";

/// Mechanism of a signature.
pub(super) fn signing(algorithm: Algorithm) -> Mechanism<'static> {
    match algorithm {
        Algorithm::EcdsaP256 | Algorithm::EcdsaP384 => Mechanism::Ecdsa,
        Algorithm::Ed25519 => Mechanism::Eddsa(EddsaParams::new(EddsaSignatureScheme::Pure)),
        Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => {
            Mechanism::MlDsa(SignAdditionalContext::new(HedgeType::Preferred, None))
        }
    }
}

/// Bytes that the token signs: CKM_ECDSA takes the digest, the others the message.
pub(super) fn signed(algorithm: Algorithm, message: &[u8]) -> Cow<'_, [u8]> {
    match algorithm {
        Algorithm::EcdsaP256 => Cow::Owned(digest(&SHA256, message).as_ref().to_vec()),
        Algorithm::EcdsaP384 => Cow::Owned(digest(&SHA384, message).as_ref().to_vec()),
        _ => Cow::Borrowed(message),
    }
}

/// Mechanism that makes a key, and attributes that name its kind: a token may know one of them and
/// not another.
pub(super) fn generating(algorithm: Algorithm) -> (Mechanism<'static>, Vec<Attribute>) {
    let curve = |oid: ObjectIdentifier| oid.to_der().ok().map(Attribute::EcParams);
    let set = |set: MlDsaParameterSetType| vec![Attribute::ParameterSet(set.into())];
    match algorithm {
        Algorithm::EcdsaP256 => (Mechanism::EccKeyPairGen, curve(oid::SECP256R1).into_iter().collect()),
        Algorithm::EcdsaP384 => (Mechanism::EccKeyPairGen, curve(oid::SECP384R1).into_iter().collect()),
        Algorithm::Ed25519 => {
            let by_name = Attribute::EcParams(EDWARDS25519.to_vec());
            let kinds = curve(oid::ED25519).into_iter().chain([by_name]);
            (Mechanism::EccEdwardsKeyPairGen, kinds.collect())
        }
        Algorithm::MlDsa44 => (Mechanism::MlDsaKeyPairGen, set(MlDsaParameterSetType::ML_DSA_44)),
        Algorithm::MlDsa65 => (Mechanism::MlDsaKeyPairGen, set(MlDsaParameterSetType::ML_DSA_65)),
        Algorithm::MlDsa87 => (Mechanism::MlDsaKeyPairGen, set(MlDsaParameterSetType::ML_DSA_87)),
    }
}

/// The algorithms of which a token makes keys and signatures.
pub(super) fn offered(mechanisms: &[MechanismType]) -> Vec<Algorithm> {
    let has = |algorithm: &Algorithm| {
        [signing(*algorithm), generating(*algorithm).0]
            .iter()
            .all(|needed| mechanisms.contains(&needed.mechanism_type()))
    };
    Algorithm::ALL.into_iter().filter(has).collect()
}

/// The algorithm of a curve in CKA_EC_PARAMS.
pub(super) fn algorithm_of_curve(parameters: &[u8]) -> Option<Algorithm> {
    let is = |oid: ObjectIdentifier| oid.to_der().is_ok_and(|der| der == parameters);
    if is(oid::SECP256R1) {
        Some(Algorithm::EcdsaP256)
    } else if is(oid::SECP384R1) {
        Some(Algorithm::EcdsaP384)
    } else if is(oid::ED25519) || is(ED25519_GNU) || parameters == EDWARDS25519 {
        Some(Algorithm::Ed25519)
    } else {
        None
    }
}

/// Ed25519 as modules named it before RFC 8410.
const ED25519_GNU: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.11591.15.1");
