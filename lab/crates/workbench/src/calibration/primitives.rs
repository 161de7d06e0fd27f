//! Operations of KEMs, key agreements, signatures and a hash.

use std::hint::black_box;

use aws_lc_rs::agreement::{self, ECDH_P256, ECDH_P384, PrivateKey, UnparsedPublicKey as AgreementKey, X25519, agree};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::kem::{self, DecapsulationKey, ML_KEM_512, ML_KEM_768, ML_KEM_1024};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA384_ASN1_SIGNING,
    ED25519, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, ML_DSA_44, ML_DSA_44_SIGNING, ML_DSA_65,
    ML_DSA_65_SIGNING, ML_DSA_87, ML_DSA_87_SIGNING, PqdsaKeyPair, PqdsaSigningAlgorithm, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_SHA256, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};
use bartizan_simulation::cost::Operation;

use super::{CalibrationError, Subject, Work};

/// Message to sign, about as long as the transcript hash and context of a CertificateVerify, or the
/// octets of an IKE_AUTH.
const MESSAGE: [u8; 130] = [0x42; 130];

type Add<'a> = &'a mut dyn FnMut(Subject, Work);

pub(super) fn all(add: Add<'_>) -> Result<(), CalibrationError> {
    for (name, algorithm) in [
        ("X25519", &X25519),
        ("ECDH P-256", &ECDH_P256),
        ("ECDH P-384", &ECDH_P384),
    ] {
        agreements(add, name, algorithm).map_err(|_| failed(name))?;
    }
    for (name, algorithm) in [
        ("ML-KEM-512", &ML_KEM_512),
        ("ML-KEM-768", &ML_KEM_768),
        ("ML-KEM-1024", &ML_KEM_1024),
    ] {
        kems(add, name, algorithm).map_err(|_| failed(name))?;
    }
    ecdsa(
        add,
        "ECDSA P-256",
        &ECDSA_P256_SHA256_ASN1_SIGNING,
        &ECDSA_P256_SHA256_ASN1,
    )
    .map_err(|_| failed("ECDSA P-256"))?;
    ecdsa(
        add,
        "ECDSA P-384",
        &ECDSA_P384_SHA384_ASN1_SIGNING,
        &ECDSA_P384_SHA384_ASN1,
    )
    .map_err(|_| failed("ECDSA P-384"))?;
    ed25519(add).map_err(|_| failed("Ed25519"))?;
    ml_dsa(add, "ML-DSA-44", &ML_DSA_44_SIGNING, &ML_DSA_44).map_err(|_| failed("ML-DSA-44"))?;
    ml_dsa(add, "ML-DSA-65", &ML_DSA_65_SIGNING, &ML_DSA_65).map_err(|_| failed("ML-DSA-65"))?;
    ml_dsa(add, "ML-DSA-87", &ML_DSA_87_SIGNING, &ML_DSA_87).map_err(|_| failed("ML-DSA-87"))?;
    rsa(add, "RSA-2048", KeySize::Rsa2048).map_err(|_| failed("RSA-2048"))?;
    rsa(add, "RSA-3072", KeySize::Rsa3072).map_err(|_| failed("RSA-3072"))?;
    add(
        Subject::Primitive("SHA-256", Operation::Hashing),
        Box::new(|| {
            black_box(digest(&SHA256, black_box(&MESSAGE)));
            Ok(())
        }),
    );
    Ok(())
}

fn failed(name: &str) -> CalibrationError {
    CalibrationError::Library(name.to_owned())
}

fn agreements(add: Add<'_>, name: &'static str, algorithm: &'static agreement::Algorithm) -> Result<(), Unspecified> {
    let (ours, theirs) = (PrivateKey::generate(algorithm)?, PrivateKey::generate(algorithm)?);
    let public = theirs.compute_public_key()?.as_ref().to_vec();
    add(
        Subject::Primitive(name, Operation::KeyGeneration),
        Box::new(move || {
            black_box(PrivateKey::generate(algorithm)?.compute_public_key()?);
            Ok(())
        }),
    );
    add(
        Subject::Primitive(name, Operation::Agreement),
        Box::new(move || {
            let peer = AgreementKey::new(algorithm, &public);
            agree(&ours, peer, Unspecified, |secret| {
                black_box(secret);
                Ok(())
            })
        }),
    );
    Ok(())
}

fn kems(add: Add<'_>, name: &'static str, algorithm: &'static kem::Algorithm) -> Result<(), Unspecified> {
    let private = DecapsulationKey::generate(algorithm)?;
    let public = private.encapsulation_key()?;
    let (ciphertext, _) = public.encapsulate()?;
    let ciphertext = ciphertext.as_ref().to_vec();
    add(
        Subject::Primitive(name, Operation::KeyGeneration),
        Box::new(move || {
            let key = DecapsulationKey::generate(algorithm)?;
            black_box(key.encapsulation_key()?);
            Ok(())
        }),
    );
    add(
        Subject::Primitive(name, Operation::Encapsulation),
        Box::new(move || {
            black_box(public.encapsulate()?);
            Ok(())
        }),
    );
    add(
        Subject::Primitive(name, Operation::Decapsulation),
        Box::new(move || {
            black_box(private.decapsulate(ciphertext.as_slice().into())?);
            Ok(())
        }),
    );
    Ok(())
}

fn verification(
    add: Add<'_>,
    name: &'static str,
    algorithm: &'static dyn VerificationAlgorithm,
    public: Vec<u8>,
    signature: Vec<u8>,
) {
    add(
        Subject::Primitive(name, Operation::Verification),
        Box::new(move || UnparsedPublicKey::new(algorithm, &public).verify(&MESSAGE, &signature)),
    );
}

fn ecdsa(
    add: Add<'_>,
    name: &'static str,
    signing: &'static EcdsaSigningAlgorithm,
    verifying: &'static dyn VerificationAlgorithm,
) -> Result<(), Unspecified> {
    let key = EcdsaKeyPair::generate(signing)?;
    let signature = key.sign(&SystemRandom::new(), &MESSAGE)?.as_ref().to_vec();
    verification(add, name, verifying, key.public_key().as_ref().to_vec(), signature);
    add(
        Subject::Primitive(name, Operation::Signing),
        Box::new(move || {
            black_box(key.sign(&SystemRandom::new(), &MESSAGE)?);
            Ok(())
        }),
    );
    Ok(())
}

fn ed25519(add: Add<'_>) -> Result<(), Unspecified> {
    let key = Ed25519KeyPair::generate()?;
    let signature = key.try_sign(&MESSAGE)?.as_ref().to_vec();
    verification(add, "Ed25519", &ED25519, key.public_key().as_ref().to_vec(), signature);
    add(
        Subject::Primitive("Ed25519", Operation::Signing),
        Box::new(move || {
            black_box(key.try_sign(&MESSAGE)?);
            Ok(())
        }),
    );
    Ok(())
}

fn ml_dsa(
    add: Add<'_>,
    name: &'static str,
    signing: &'static PqdsaSigningAlgorithm,
    verifying: &'static dyn VerificationAlgorithm,
) -> Result<(), Unspecified> {
    let key = PqdsaKeyPair::generate(signing)?;
    let mut signature = vec![0; signing.signature_len()];
    key.sign(&MESSAGE, &mut signature)?;
    verification(
        add,
        name,
        verifying,
        key.public_key().as_ref().to_vec(),
        signature.clone(),
    );
    // Signing rejects candidates at random and takes longer or shorter by that: its quartiles lie apart.
    add(
        Subject::Primitive(name, Operation::Signing),
        Box::new(move || {
            key.sign(&MESSAGE, &mut signature)?;
            black_box(&signature);
            Ok(())
        }),
    );
    Ok(())
}

fn rsa(add: Add<'_>, name: &'static str, size: KeySize) -> Result<(), Unspecified> {
    let key = RsaKeyPair::generate(size)?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PSS_SHA256, &SystemRandom::new(), &MESSAGE, &mut signature)?;
    verification(
        add,
        name,
        &RSA_PSS_2048_8192_SHA256,
        key.public_key().as_ref().to_vec(),
        signature,
    );
    Ok(())
}
