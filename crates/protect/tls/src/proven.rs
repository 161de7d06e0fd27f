//! Signatures on certificates and revocation lists that were found valid, so that they are not verified again in every
//! handshake.
//!
//! Validity of a signature depends on algorithm, key, message and signature and on nothing else, so
//! the entries here cannot grow old. An entry says neither that a certificate is trusted nor that
//! it is current. Roots, dates, usage, revocation and names are judged anew each time. Entries are
//! compared byte for byte, so no hash has to be trusted either. All of it is public, so the time of
//! a comparison reveals nothing secret.
//!
//! Paths are verified from the root downwards, so only what a trusted authority has signed gets in: an unauthenticated peer cannot fill
//! this up. CertificateVerify, the proof of possession, is never looked up here.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bartizan_registry::SignatureScheme;
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

use crate::scheme;

/// Bytes kept in all. A leaf signed by ML-DSA-65 takes 7.5 kB, a revocation list as much as its file and 2 kB.
const AT_MOST: usize = 4 * 1024 * 1024;

/// Signatures that were found valid.
#[derive(Debug, Default)]
pub(crate) struct Proven {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The one used last comes first.
    signatures: Vec<Signed>,
    bytes: usize,
}

/// A valid signature with all it depends on.
#[derive(Debug)]
struct Signed {
    scheme: SignatureScheme,
    key: Box<[u8]>,
    message: Box<[u8]>,
    signature: Box<[u8]>,
}

bartizan_registry::made! {
    /// A signature algorithm that verifies nothing twice.
    #[derive(Debug)]
    pub(crate) struct Remembering<'a>,
    /// None where this project verifies no such scheme.
    pub(crate) new(scheme: SignatureScheme, proven: &'a Proven) -> Option<Self> {
        scheme: SignatureScheme,
        verifier: &'static dyn SignatureVerificationAlgorithm = scheme::verifier(scheme)?,
        proven: &'a Proven,
    }
}

impl SignatureVerificationAlgorithm for Remembering<'_> {
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        if self.proven.lock().knows(self.scheme, public_key, message, signature) {
            return Ok(());
        }
        self.verifier.verify_signature(public_key, message, signature)?;
        self.proven.lock().keep(Signed {
            scheme: self.scheme,
            key: public_key.into(),
            message: message.into(),
            signature: signature.into(),
        });
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.verifier.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.verifier.signature_alg_id()
    }

    fn fips(&self) -> bool {
        self.verifier.fips()
    }
}

impl Proven {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn knows(&mut self, scheme: SignatureScheme, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let found = self.signatures.iter().position(|known| {
            known.scheme == scheme && *known.signature == *signature && *known.key == *key && *known.message == *message
        });
        if let Some(index) = found {
            self.signatures[..=index].rotate_right(1);
        }
        found.is_some()
    }

    fn keep(&mut self, signed: Signed) {
        if signed.bytes() > AT_MOST {
            return;
        }
        self.bytes += signed.bytes();
        self.signatures.insert(0, signed);
        while self.bytes > AT_MOST {
            let Some(oldest) = self.signatures.pop() else { break };
            self.bytes -= oldest.bytes();
        }
    }
}

impl Signed {
    fn bytes(&self) -> usize {
        self.key.len() + self.message.len() + self.signature.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

    use super::*;

    /// A signature algorithm that counts how often it is asked.
    #[derive(Debug)]
    struct Counting(&'static dyn SignatureVerificationAlgorithm, AtomicU32);

    impl SignatureVerificationAlgorithm for Counting {
        fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.verify_signature(key, message, signature)
        }

        fn public_key_alg_id(&self) -> AlgorithmIdentifier {
            self.0.public_key_alg_id()
        }

        fn signature_alg_id(&self) -> AlgorithmIdentifier {
            self.0.signature_alg_id()
        }
    }

    fn signed(message: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let random = aws_lc_rs::rand::SystemRandom::new();
        let signature = key.sign(&random, message).unwrap();
        (key.public_key().as_ref().to_vec(), signature.as_ref().to_vec())
    }

    fn counting() -> &'static Counting {
        let verifier = scheme::verifier(SignatureScheme::ECDSA_SECP256R1_SHA256).unwrap();
        Box::leak(Box::new(Counting(verifier, AtomicU32::new(0))))
    }

    #[test]
    fn a_valid_signature_is_verified_once_and_any_flipped_bit_again() {
        let (key, signature) = signed(b"certificate");
        let (proven, counting) = (Proven::default(), counting());
        let remembering = Remembering {
            scheme: SignatureScheme::ECDSA_SECP256R1_SHA256,
            verifier: counting,
            proven: &proven,
        };
        for _ in 0..3 {
            remembering.verify_signature(&key, b"certificate", &signature).unwrap();
        }
        assert_eq!(counting.1.load(Ordering::Relaxed), 1);
        let mut asked = 1;
        for place in 0..3 {
            let mut parts = [key.clone(), b"certificate".to_vec(), signature.clone()];
            for index in 0..parts[place].len() {
                parts[place][index] ^= 1;
                let [key, message, signature] = &parts;
                assert!(remembering.verify_signature(key, message, signature).is_err());
                parts[place][index] ^= 1;
                asked += 1;
            }
        }
        assert_eq!(counting.1.load(Ordering::Relaxed), asked, "each was verified");
        assert_eq!(proven.lock().signatures.len(), 1, "what does not verify is not kept");
    }

    #[test]
    fn the_same_bytes_under_another_scheme_are_verified_by_that() {
        let (key, signature) = signed(b"certificate");
        let proven = Proven::default();
        let of = |scheme| Remembering::new(scheme, &proven).unwrap();
        let p256 = of(SignatureScheme::ECDSA_SECP256R1_SHA256);
        p256.verify_signature(&key, b"certificate", &signature).unwrap();
        for scheme in [SignatureScheme::ED25519, SignatureScheme::MLDSA65] {
            assert!(of(scheme).verify_signature(&key, b"certificate", &signature).is_err());
        }
        assert!(Remembering::new(SignatureScheme(0), &proven).is_none());
    }

    #[test]
    fn what_was_used_least_makes_room() {
        let mut kept = Kept::default();
        let of = |number: u8, bytes| Signed {
            scheme: SignatureScheme::MLDSA65,
            key: [].into(),
            message: vec![number; bytes].into(),
            signature: [number].into(),
        };
        let knows = |kept: &mut Kept, number: u8, bytes| {
            kept.knows(SignatureScheme::MLDSA65, &[], &vec![number; bytes], &[number])
        };
        const THIRD: usize = AT_MOST / 3 - 1;
        for number in 0..3 {
            kept.keep(of(number, THIRD));
        }
        assert!(knows(&mut kept, 0, THIRD));
        kept.keep(of(3, THIRD));
        assert!(!knows(&mut kept, 1, THIRD));
        for number in [0, 2, 3] {
            assert!(knows(&mut kept, number, THIRD), "{number}");
        }
        kept.keep(of(4, AT_MOST));
        assert!(
            !knows(&mut kept, 4, AT_MOST),
            "one that is too long for all is not kept"
        );
        let bytes: usize = kept.signatures.iter().map(Signed::bytes).sum();
        assert_eq!(kept.bytes, bytes);
        assert!(bytes <= AT_MOST);
    }
}
