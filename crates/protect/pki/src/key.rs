//! Keys: generated, read from any PKCS#8 form, written in one.

mod encoding;
mod encryption;

use std::fmt;
use std::path::Path;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, PqdsaKeyPair, PqdsaSigningAlgorithm,
    UnparsedPublicKey, VerificationAlgorithm,
};
use pkcs8::ObjectIdentifier;
use x509_parser::prelude::FromDer;
use x509_parser::x509::SubjectPublicKeyInfo;
use zeroize::Zeroizing;

use crate::{Algorithm, Error, files};

pub use encryption::Passphrase;

/// PEM label of an unencrypted PKCS#8 key (RFC 7468, section 10).
const PRIVATE_KEY: &str = "PRIVATE KEY";
/// PEM label of a key encrypted under a passphrase (RFC 7468, section 11).
const ENCRYPTED_PRIVATE_KEY: &str = "ENCRYPTED PRIVATE KEY";

bartizan_registry::made! {
    /// The public half of a key: what a certificate certifies.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PublicKey,
    /// A key from the contents of a SubjectPublicKeyInfo's bit string.
    pub(crate) from_raw(algorithm: Algorithm, raw: &[u8]) {
        algorithm: Algorithm,
        raw: Vec<u8> = raw.to_vec(),
    }
}

/// A private key that signs, with the PKCS#8 document it came from or is written as.
pub struct PrivateKey {
    pair: Pair,
    public: PublicKey,
    pkcs8: Zeroizing<Vec<u8>>,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    MlDsa(PqdsaKeyPair),
}

impl PrivateKey {
    /// A fresh key from the system's random generator.
    pub fn generate(algorithm: Algorithm) -> Result<Self, Error> {
        let pair = match kind(algorithm) {
            Kind::Ecdsa(signing) => Pair::Ecdsa(EcdsaKeyPair::generate(signing)?),
            Kind::Ed25519 => Pair::Ed25519(Ed25519KeyPair::generate()?),
            Kind::MlDsa(signing) => Pair::MlDsa(PqdsaKeyPair::generate(signing)?),
        };
        Self::with_own_encoding(algorithm, pair)
    }

    /// Reads a PKCS#8 document (RFC 5958), DER.
    ///
    /// An ML-DSA key may hold the seed, the expanded key or both (RFC 9881, section 6); where it holds both they must
    /// agree. The bare forms without an inner tag, which OpenSSL can write, are refused.
    pub fn from_pkcs8(document: &[u8]) -> Result<Self, Error> {
        encoding::read(document)
    }

    /// Reads the first private key of a PEM text; the passphrase is used if that key is encrypted.
    pub fn from_pem(text: &[u8], passphrase: Option<&Passphrase>) -> Result<Self, Error> {
        encoding::read_pem(text, passphrase)
    }

    /// The public key of a private key that others have written, DER: PKCS#8, or for ECDSA the form
    /// of SEC 1 (RFC 5915), which OpenSSL writes by default. None where it is no key of that
    /// algorithm.
    pub(crate) fn public_of(document: &[u8], algorithm: Algorithm) -> Option<PublicKey> {
        if let Ok(key) = encoding::read(document) {
            return (key.algorithm() == algorithm).then_some(key.public);
        }
        let Kind::Ecdsa(signing) = kind(algorithm) else {
            return None;
        };
        let pair = EcdsaKeyPair::from_private_key_der(signing, document).ok()?;
        Some(PublicKey::from_raw(algorithm, pair.public_key().as_ref()))
    }

    /// The reason why a private key that others have written, DER, cannot be used; none where it
    /// can.
    #[must_use]
    pub fn fault(document: &[u8]) -> Option<String> {
        let error = encoding::read(document).err()?;
        let is_read = |algorithm| Self::public_of(document, algorithm).is_some();
        match error {
            _ if Algorithm::ALL.into_iter().any(is_read) => None,
            Error::Key(why) => Some(why),
            other => Some(other.to_string()),
        }
    }

    /// The PKCS#8 document, DER: for ML-DSA the 54 octets with the seed alone, unless only the expanded key is known.
    pub fn to_pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// The key as a PEM text.
    pub fn to_pem(&self) -> Zeroizing<String> {
        encoding::pem(PRIVATE_KEY, &self.pkcs8)
    }

    /// The key as a PEM text, encrypted under a passphrase (PBES2: PBKDF2 with HMAC-SHA-256, AES-256-CBC).
    pub fn to_encrypted_pem(&self, passphrase: &Passphrase) -> Result<Zeroizing<String>, Error> {
        let document = encryption::encrypt(&self.pkcs8, passphrase)?;
        Ok(encoding::pem(ENCRYPTED_PRIVATE_KEY, &document))
    }

    /// A signature over `message`, by the algorithm that [`Algorithm::signature_oid`] names.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(rcgen::SigningKey::sign(self, message)?)
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Kind of the key.
    pub fn algorithm(&self) -> Algorithm {
        self.public.algorithm
    }

    fn with_own_encoding(algorithm: Algorithm, pair: Pair) -> Result<Self, Error> {
        let document = match &pair {
            Pair::Ecdsa(pair) => pair.to_pkcs8v1()?,
            // Version 1: OpenSSL does not read the public key that version 2 appends.
            Pair::Ed25519(pair) => pair.to_pkcs8v1()?,
            Pair::MlDsa(pair) => pair.to_pkcs8v1()?,
        };
        let pkcs8 = Zeroizing::new(document.as_ref().to_vec());
        Ok(Self::with_encoding(algorithm, pair, pkcs8))
    }

    fn with_encoding(algorithm: Algorithm, pair: Pair, pkcs8: Zeroizing<Vec<u8>>) -> Self {
        let raw = match &pair {
            Pair::Ecdsa(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
            Pair::MlDsa(pair) => pair.public_key().as_ref().to_vec(),
        };
        let public = PublicKey { algorithm, raw };
        Self { pair, public, pkcs8 }
    }
}

/// Says the algorithm and nothing of the key.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("algorithm", &self.public.algorithm)
            .finish_non_exhaustive()
    }
}

impl rcgen::PublicKeyData for PrivateKey {
    fn der_bytes(&self) -> &[u8] {
        &self.public.raw
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        self.public.algorithm.for_rcgen()
    }
}

impl rcgen::SigningKey for PrivateKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let failed = |_| rcgen::Error::RingUnspecified;
        match &self.pair {
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message).map_err(failed)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Ed25519(pair) => Ok(pair.try_sign(message).map_err(failed)?.as_ref().to_vec()),
            Pair::MlDsa(pair) => {
                let mut signature = vec![0; pair.algorithm().signature_len()];
                let length = pair.sign(message, &mut signature).map_err(failed)?;
                signature.truncate(length);
                Ok(signature)
            }
        }
    }
}

impl PublicKey {
    /// Reads a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7), DER, of a kind that is certified here.
    pub fn from_spki(der: &[u8]) -> Result<Self, Error> {
        let (rest, info) =
            SubjectPublicKeyInfo::from_der(der).map_err(|error| Error::Request(format!("its key: {error}")))?;
        if !rest.is_empty() {
            return Err(Error::Request("octets after its key".to_owned()));
        }
        crate::certificate::public_key(&info)
            .ok_or_else(|| Error::RequestKey(crate::request::key_type(&info.algorithm.algorithm)))
    }

    /// The key as a SubjectPublicKeyInfo, DER.
    pub fn to_spki(&self) -> Vec<u8> {
        rcgen::PublicKeyData::subject_public_key_info(self)
    }

    /// Kind of the key.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns true if a signature over `message`, made by the algorithm that is named, is this
    /// key's. One that does not fit the key is not.
    #[must_use]
    pub fn has_signed(&self, algorithm: ObjectIdentifier, message: &[u8], signature: &[u8]) -> bool {
        self.algorithm
            .verification(algorithm)
            .is_some_and(|scheme| self.verify(scheme, message, signature).is_ok())
    }

    /// The contents of the SubjectPublicKeyInfo's bit string.
    pub fn as_bytes(&self) -> &[u8] {
        &self.raw
    }

    /// The key identifier of RFC 7093, section 2, method 1: the leftmost 160 bits of the SHA-256 of the bit string.
    pub fn identifier(&self) -> Vec<u8> {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &self.raw);
        digest.as_ref()[..20].to_vec()
    }

    /// Checks a signature over `message`.
    pub(crate) fn verify(
        &self,
        scheme: &'static dyn VerificationAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        UnparsedPublicKey::new(scheme, &self.raw)
            .verify(message, signature)
            .map_err(|_| Error::Request("its signature does not verify under its own key".to_owned()))
    }
}

impl rcgen::PublicKeyData for PublicKey {
    fn der_bytes(&self) -> &[u8] {
        &self.raw
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        self.algorithm.for_rcgen()
    }
}

/// Reads a key file into memory that is erased afterwards; none where it is not there.
pub(crate) fn read_file(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    Ok(files::read(path, encoding::LARGEST_FILE as u64)?.map(Zeroizing::new))
}

/// The library's name for an algorithm.
enum Kind {
    Ecdsa(&'static EcdsaSigningAlgorithm),
    Ed25519,
    MlDsa(&'static PqdsaSigningAlgorithm),
}

fn kind(algorithm: Algorithm) -> Kind {
    match algorithm {
        Algorithm::MlDsa44 => Kind::MlDsa(&signature::ML_DSA_44_SIGNING),
        Algorithm::MlDsa65 => Kind::MlDsa(&signature::ML_DSA_65_SIGNING),
        Algorithm::MlDsa87 => Kind::MlDsa(&signature::ML_DSA_87_SIGNING),
        Algorithm::EcdsaP256 => Kind::Ecdsa(&signature::ECDSA_P256_SHA256_ASN1_SIGNING),
        Algorithm::EcdsaP384 => Kind::Ecdsa(&signature::ECDSA_P384_SHA384_ASN1_SIGNING),
        Algorithm::Ed25519 => Kind::Ed25519,
    }
}

#[cfg(test)]
mod tests;
