//! Identity of an end and its proof: digital signatures (RFC 7427, RFC 8420,
//! draft-ietf-ipsecme-ikev2-pqc-auth).

use std::net::IpAddr;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{self, EcdsaKeyPair, Ed25519KeyPair, PqdsaKeyPair, RsaKeyPair};
use bartizan_registry::HASH_ALGORITHMS;
use rustls_pki_types::{AlgorithmIdentifier, alg_id};

/// Types of identities (RFC 7296, section 3.5).
const IPV4_ADDRESS: u8 = 1;
const FQDN: u8 = 2;
const IPV6_ADDRESS: u8 = 5;

/// Identity of an end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// ID_FQDN: a DNS name.
    Name(String),
    /// ID_IPV4_ADDR or ID_IPV6_ADDR.
    Address(IpAddr),
    /// Another kind, which nothing here compares with a certificate.
    Other(u8, Vec<u8>),
}

impl Identity {
    /// Type and value as they stand in a payload.
    pub(crate) fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Name(name) => (FQDN, name.as_bytes().to_vec()),
            Self::Address(IpAddr::V4(address)) => (IPV4_ADDRESS, address.octets().to_vec()),
            Self::Address(IpAddr::V6(address)) => (IPV6_ADDRESS, address.octets().to_vec()),
            Self::Other(kind, value) => (*kind, value.clone()),
        }
    }

    pub(crate) fn read(kind: u8, value: &[u8]) -> Self {
        let read = match kind {
            FQDN => std::str::from_utf8(value).ok().map(|name| Self::Name(name.to_owned())),
            IPV4_ADDRESS => <[u8; 4]>::try_from(value)
                .ok()
                .map(|octets| Self::Address(octets.into())),
            IPV6_ADDRESS => <[u8; 16]>::try_from(value)
                .ok()
                .map(|octets| Self::Address(octets.into())),
            _ => None,
        };
        read.unwrap_or_else(|| Self::Other(kind, value.to_vec()))
    }
}

/// A private key that signs for an end. It says nothing of itself.
pub struct SigningKey {
    pair: Pair,
    algorithm: AlgorithmIdentifier,
    hash: &'static str,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    MlDsa(PqdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Reads a PKCS#8 document (RFC 5958): ECDSA on P-256, P-384 or P-521, Ed25519, ML-DSA, RSA
    /// (used with PSS and SHA-256). None where it is none of these.
    pub fn from_pkcs8(document: &[u8]) -> Option<Self> {
        // Ed25519 and ML-DSA sign messages as they are: their hash is "Identity" (RFC 8420, section 2).
        let curves = [
            (
                &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
                alg_id::ECDSA_SHA256,
                "SHA2-256",
            ),
            (
                &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
                alg_id::ECDSA_SHA384,
                "SHA2-384",
            ),
            (
                &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
                alg_id::ECDSA_SHA512,
                "SHA2-512",
            ),
        ];
        for (signing, algorithm, hash) in curves {
            if let Ok(pair) = EcdsaKeyPair::from_pkcs8(signing, document) {
                let pair = Pair::Ecdsa(pair);
                return Some(Self { pair, algorithm, hash });
            }
        }
        let levels = [
            (&signature::ML_DSA_44_SIGNING, alg_id::ML_DSA_44),
            (&signature::ML_DSA_65_SIGNING, alg_id::ML_DSA_65),
            (&signature::ML_DSA_87_SIGNING, alg_id::ML_DSA_87),
        ];
        let hash = "Identity";
        for (signing, algorithm) in levels {
            if let Ok(pair) = PqdsaKeyPair::from_pkcs8(signing, document) {
                let pair = Pair::MlDsa(pair);
                return Some(Self { pair, algorithm, hash });
            }
        }
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(document) {
            let (pair, algorithm) = (Pair::Ed25519(pair), alg_id::ED25519);
            return Some(Self { pair, algorithm, hash });
        }
        let pair = Pair::Rsa(RsaKeyPair::from_pkcs8(document).ok()?);
        Some(Self {
            pair,
            algorithm: alg_id::RSA_PSS_SHA256,
            hash: "SHA2-256",
        })
    }

    /// The number of the hash algorithm that the peer must support (RFC 7427, section 4).
    pub(crate) fn hash(&self) -> Option<u16> {
        hash(self.hash)
    }

    /// The AlgorithmIdentifier of its signatures, in DER.
    pub(crate) fn identifier(&self) -> Option<Vec<u8>> {
        identifier(&self.algorithm)
    }

    /// Authentication data: the AlgorithmIdentifier behind its length, and the signature (RFC 7427, section 3).
    pub(crate) fn authenticate(&self, octets: &[u8]) -> Option<Vec<u8>> {
        let signature = match &self.pair {
            Pair::Ecdsa(pair) => pair.sign(&SystemRandom::new(), octets).ok()?.as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.try_sign(octets).ok()?.as_ref().to_vec(),
            Pair::MlDsa(pair) => {
                let mut signature = vec![0; pair.algorithm().signature_len()];
                let length = pair.sign(octets, &mut signature).ok()?;
                signature.truncate(length);
                signature
            }
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let random = SystemRandom::new();
                pair.sign(&signature::RSA_PSS_SHA256, &random, octets, &mut signature)
                    .ok()?;
                signature
            }
        };
        let identifier = self.identifier()?;
        let mut data = vec![u8::try_from(identifier.len()).ok()?];
        data.extend(identifier);
        data.extend(signature);
        Some(data)
    }
}

/// An AlgorithmIdentifier in DER, with the SEQUENCE that the contents are in.
pub(crate) fn identifier(algorithm: &AlgorithmIdentifier) -> Option<Vec<u8>> {
    const SEQUENCE: u8 = 0x30;
    let length = u8::try_from(algorithm.len()).ok().filter(|length| *length < 0x80)?;
    Some([&[SEQUENCE, length], &algorithm[..]].concat())
}

/// The number of a hash algorithm of SIGNATURE_HASH_ALGORITHMS.
fn hash(name: &str) -> Option<u16> {
    let known = HASH_ALGORITHMS.iter().find(|known| known.name == name)?;
    Some(known.id)
}

/// Hash algorithms that this end verifies: SHA-2, and Identity for signatures without a hash.
pub(crate) fn hashes() -> Vec<u16> {
    let names = ["SHA2-256", "SHA2-384", "SHA2-512", "Identity"];
    names.into_iter().filter_map(hash).collect()
}
