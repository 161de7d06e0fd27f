//! The signature algorithms of keys and certificates.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::{self, VerificationAlgorithm};
use pkcs8::ObjectIdentifier;
use serde::{Serialize, Serializer};

use crate::Error;

bartizan_registry::named! {
    /// A signature algorithm together with the kind of key it needs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Algorithm, name {
        /// ML-DSA-44 (FIPS 204), NIST category 2.
        MlDsa44 = "ml-dsa-44",
        /// ML-DSA-65 (FIPS 204), NIST category 3.
        MlDsa65 = "ml-dsa-65",
        /// ML-DSA-87 (FIPS 204), NIST category 5; the one of CNSA 2.0.
        MlDsa87 = "ml-dsa-87",
        /// ECDSA with P-256 and SHA-256.
        EcdsaP256 = "ecdsa-p256",
        /// ECDSA with P-384 and SHA-384.
        EcdsaP384 = "ecdsa-p384",
        /// Ed25519 (RFC 8032).
        Ed25519 = "ed25519",
    }
}

impl Algorithm {
    /// All names, for messages.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// True where no known quantum algorithm forges signatures.
    #[must_use]
    pub fn is_quantum_safe(self) -> bool {
        matches!(self, Self::MlDsa44 | Self::MlDsa65 | Self::MlDsa87)
    }

    /// Octets of the expanded private key of FIPS 204; none for classical algorithms.
    pub(crate) fn expanded_key_size(self) -> Option<usize> {
        match self {
            Self::MlDsa44 => Some(2560),
            Self::MlDsa65 => Some(4032),
            Self::MlDsa87 => Some(4896),
            Self::EcdsaP256 | Self::EcdsaP384 | Self::Ed25519 => None,
        }
    }

    /// The algorithm of a private or public key, from its AlgorithmIdentifier (RFC 9881, RFC 5480, RFC 8410).
    pub(crate) fn of_key(algorithm: &ObjectIdentifier, curve: Option<&ObjectIdentifier>) -> Option<Self> {
        match (*algorithm, curve.copied()) {
            (oid::ML_DSA_44, None) => Some(Self::MlDsa44),
            (oid::ML_DSA_65, None) => Some(Self::MlDsa65),
            (oid::ML_DSA_87, None) => Some(Self::MlDsa87),
            (oid::EC_PUBLIC_KEY, Some(oid::SECP256R1)) => Some(Self::EcdsaP256),
            (oid::EC_PUBLIC_KEY, Some(oid::SECP384R1)) => Some(Self::EcdsaP384),
            (oid::ED25519, None) => Some(Self::Ed25519),
            _ => None,
        }
    }

    /// Identifier of a signature by such a key in an AlgorithmIdentifier; its parameters are absent
    /// (RFC 5758, RFC 8410, RFC 9881).
    pub fn signature_oid(self) -> ObjectIdentifier {
        match self {
            Self::MlDsa44 => oid::ML_DSA_44,
            Self::MlDsa65 => oid::ML_DSA_65,
            Self::MlDsa87 => oid::ML_DSA_87,
            Self::EcdsaP256 => oid::ECDSA_WITH_SHA256,
            Self::EcdsaP384 => oid::ECDSA_WITH_SHA384,
            Self::Ed25519 => oid::ED25519,
        }
    }

    /// Verification of a signature by such a key that names its algorithm so; none where the two do
    /// not fit.
    pub(crate) fn verification(self, named: ObjectIdentifier) -> Option<&'static dyn VerificationAlgorithm> {
        Some(match (self, named) {
            (Self::MlDsa44, oid::ML_DSA_44) => &signature::ML_DSA_44,
            (Self::MlDsa65, oid::ML_DSA_65) => &signature::ML_DSA_65,
            (Self::MlDsa87, oid::ML_DSA_87) => &signature::ML_DSA_87,
            (Self::EcdsaP256, oid::ECDSA_WITH_SHA256) => &signature::ECDSA_P256_SHA256_ASN1,
            (Self::EcdsaP256, oid::ECDSA_WITH_SHA384) => &signature::ECDSA_P256_SHA384_ASN1,
            (Self::EcdsaP384, oid::ECDSA_WITH_SHA256) => &signature::ECDSA_P384_SHA256_ASN1,
            (Self::EcdsaP384, oid::ECDSA_WITH_SHA384) => &signature::ECDSA_P384_SHA384_ASN1,
            (Self::Ed25519, oid::ED25519) => &signature::ED25519,
            _ => return None,
        })
    }

    pub(crate) fn for_rcgen(self) -> &'static rcgen::SignatureAlgorithm {
        match self {
            Self::MlDsa44 => &rcgen::PKCS_ML_DSA_44,
            Self::MlDsa65 => &rcgen::PKCS_ML_DSA_65,
            Self::MlDsa87 => &rcgen::PKCS_ML_DSA_87,
            Self::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Self::EcdsaP384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            Self::Ed25519 => &rcgen::PKCS_ED25519,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    /// Case and hyphens do not matter: `ML-DSA-65`, `mldsa65` and `ecdsa-p-256` are understood.
    fn from_str(text: &str) -> Result<Self, Error> {
        let fold = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|known| fold(known.name()) == fold(text))
            .ok_or_else(|| Error::UnknownAlgorithm(text.to_owned()))
    }
}

impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Object identifiers of keys and signatures.
pub(crate) mod oid {
    use pkcs8::ObjectIdentifier;

    /// RFC 9881, section 2.
    pub(crate) const ML_DSA_44: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.17");
    pub(crate) const ML_DSA_65: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.18");
    pub(crate) const ML_DSA_87: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.19");
    /// RFC 5480, section 2.1.1.
    pub(crate) const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
    pub(crate) const SECP256R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
    pub(crate) const SECP384R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
    /// RFC 8410, section 3.
    pub(crate) const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
    /// RFC 5758, section 3.2.
    pub(crate) const ECDSA_WITH_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
    pub(crate) const ECDSA_WITH_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.name().parse::<Algorithm>().unwrap(), algorithm);
            assert_eq!(algorithm.name().to_uppercase().parse::<Algorithm>().unwrap(), algorithm);
        }
        assert_eq!("mldsa65".parse::<Algorithm>().unwrap(), Algorithm::MlDsa65);
    }

    #[test]
    fn an_unknown_name_is_refused() {
        assert!("rsa-2048".parse::<Algorithm>().is_err());
        assert!("".parse::<Algorithm>().is_err());
    }
}
