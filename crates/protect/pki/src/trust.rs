//! Signatures on certificates and revocation lists, by their DER: of any authority, not of ours
//! alone.

use std::time::{Duration, SystemTime};

use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use pkcs8::ObjectIdentifier;
use x509_parser::oid_registry::OID_X509_SERIALNUMBER;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use crate::Error;
use crate::algorithm::oid;

/// PKCS #1 (RFC 8017, appendix C).
const RSA: &str = "1.2.840.113549.1.1.1";
const SECP521R1: &str = "1.3.132.0.35";

/// Result of verifying a certificate's signature on something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It has.
    Yes,
    /// It has not: the names differ, or the signature does not verify.
    No,
    /// It could have by the names; its key or the signature is of a kind that is not verified here.
    Unknown,
}

/// A certificate of an authority that is none of ours, whose key may be of another kind, such as RSA: a vendor's.
#[derive(Debug, Clone)]
pub struct ForeignCertificate {
    der: Vec<u8>,
    /// Common names and serial number attributes of its subject.
    pub(crate) names: Vec<String>,
    is_authority: bool,
    signs: bool,
    not_before: SystemTime,
    not_after: SystemTime,
}

impl ForeignCertificate {
    /// Reads DER.
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        let refuse = |reason: &str| Error::Certificate {
            place: "vendor's certificate".to_owned(),
            reason: reason.to_owned(),
        };
        let parsed = certificate(der).ok_or_else(|| refuse("it cannot be read"))?;
        let subject = parsed.subject();
        let names = subject
            .iter_common_name()
            .chain(subject.iter_by_oid(&OID_X509_SERIALNUMBER))
            .filter_map(|name| name.as_str().ok())
            .map(str::to_owned)
            .collect();
        let usage = parsed.key_usage().map_err(|_| refuse("its key usage cannot be read"))?;
        let moment = |time: x509_parser::time::ASN1Time| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(time.timestamp()).unwrap_or_default())
        };
        Ok(Self {
            names,
            is_authority: parsed.is_ca(),
            signs: usage.is_none_or(|usage| usage.value.digital_signature()),
            not_before: moment(parsed.validity().not_before),
            not_after: moment(parsed.validity().not_after),
            der: der.to_vec(),
        })
    }

    /// Reads the first certificate of a PEM text, or DER.
    pub fn read(contents: &[u8]) -> Result<Self, Error> {
        if contents.first() == Some(&0x30) {
            return Self::from_der(contents);
        }
        let blocks = pem::parse_many(contents).unwrap_or_default();
        let block = blocks.iter().find(|block| block.tag() == "CERTIFICATE");
        Self::from_der(block.map(pem::Pem::contents).unwrap_or_default())
    }

    /// Every certificate of a PEM text that can be read.
    #[must_use]
    pub fn all_of(text: &[u8]) -> Vec<Self> {
        let blocks = pem::parse_many(text).unwrap_or_default();
        let certificates = blocks.iter().filter(|block| block.tag() == "CERTIFICATE");
        certificates
            .filter_map(|block| Self::from_der(block.contents()).ok())
            .collect()
    }

    /// The certificate, DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns true if it may sign certificates, by its basic constraints.
    #[must_use]
    pub fn is_authority(&self) -> bool {
        self.is_authority
    }

    /// Returns true if a signature by the algorithm that is named (an AlgorithmIdentifier, DER) is
    /// its key's. One of RSASSA-PSS or of a kind that is not verified here is not; nor is any where
    /// its key is not for signatures.
    #[must_use]
    pub fn has_signed(&self, algorithm: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let (Some(own), Ok((_, algorithm))) = (certificate(&self.der), AlgorithmIdentifier::from_der(algorithm)) else {
            return false;
        };
        self.signs && verified(own.public_key(), &algorithm, message, signature) == Signed::Yes
    }

    /// Returns true if `root` stands above it, through authorities of those at hand, all valid at
    /// `now`.
    #[must_use]
    pub fn leads_to(&self, root: &Self, at_hand: &[Self], now: SystemTime) -> bool {
        let is_valid = |one: &Self| one.not_before <= now && now <= one.not_after;
        is_valid(root) && is_valid(self) && self.has_chain(root, at_hand.iter().filter(|one| is_valid(one)))
    }

    /// Returns true if `root` stands above it, through authorities of those at hand, whatever their
    /// dates.
    #[must_use]
    pub fn is_below(&self, root: &Self, at_hand: &[Self]) -> bool {
        self.has_chain(root, at_hand.iter())
    }

    fn has_chain<'a>(&self, root: &Self, at_hand: impl Iterator<Item = &'a Self>) -> bool {
        let authorities: Vec<_> = at_hand.filter(|one| one.is_authority).map(Self::der).collect();
        root.is_authority && chain_to(&self.der, &authorities, &[&root.der]).is_some()
    }
}

/// Verifies that the certificate `issuer` has signed the certificate `subject`, both DER. For DER
/// that cannot be read it is `No`, and for a key or a signature of a kind that is not verified here
/// `Unknown`.
#[must_use]
pub fn signed_by(subject: &[u8], issuer: &[u8]) -> Signed {
    let (Some(subject), Some(issuer)) = (certificate(subject), certificate(issuer)) else {
        return Signed::No;
    };
    // Algorithms inside and outside of the signed part are the same (RFC 5280, section 4.1.1.2).
    let is_said = subject.signature_algorithm == subject.tbs_certificate.signature;
    if !is_said || subject.issuer().as_raw() != issuer.subject().as_raw() {
        return Signed::No;
    }
    verified(
        issuer.public_key(),
        &subject.signature_algorithm,
        subject.tbs_certificate.as_ref(),
        &subject.signature_value.data,
    )
}

pub(crate) fn certificate(der: &[u8]) -> Option<X509Certificate<'_>> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    Some(parsed)
}

/// The shortest chain from a certificate to one of these roots, as places in `authorities`, all
/// DER. Several may have signed it: an authority that is renewed or cross-signed has one name and
/// key in several certificates.
#[must_use]
pub fn chain_to(leaf: &[u8], authorities: &[&[u8]], roots: &[&[u8]]) -> Option<Vec<usize>> {
    /// Certificates of a chain, and authorities that are tried: more are made nowhere in the field.
    const DEEPEST: usize = 4;
    const MOST: usize = 32;
    let mut untried: Vec<usize> = (0..authorities.len().min(MOST)).collect();
    let mut chains = vec![Vec::new()];
    for _ in 0..DEEPEST {
        let mut longer = Vec::new();
        for chain in chains {
            let last = chain.last().map_or(leaf, |&above| authorities[above]);
            let has_signed = |above: &[u8]| signed_by(last, above) == Signed::Yes;
            if roots.iter().any(|root| has_signed(root)) {
                return Some(chain);
            }
            let signers = untried.extract_if(.., |above| has_signed(authorities[*above]));
            longer.extend(signers.map(|above| [&chain[..], &[above]].concat()));
        }
        chains = longer;
    }
    None
}

pub(crate) fn verified(
    key: &SubjectPublicKeyInfo<'_>,
    named: &AlgorithmIdentifier<'_>,
    message: &[u8],
    value: &[u8],
) -> Signed {
    let Some(scheme) = scheme(key, named) else {
        return Signed::Unknown;
    };
    let key = UnparsedPublicKey::new(scheme, &key.subject_public_key.data);
    match key.verify(message, value) {
        Ok(()) => Signed::Yes,
        Err(_) => Signed::No,
    }
}

/// Verification of a signature by this key; none where its kind is not known here.
fn scheme(
    key: &SubjectPublicKeyInfo<'_>,
    named: &AlgorithmIdentifier<'_>,
) -> Option<&'static dyn VerificationAlgorithm> {
    let named = ObjectIdentifier::from_bytes(named.algorithm.as_bytes()).ok()?;
    let of_key = ObjectIdentifier::from_bytes(key.algorithm.algorithm.as_bytes()).ok()?;
    let curve = key
        .algorithm
        .parameters
        .as_ref()
        .and_then(|parameters| parameters.as_oid().ok());
    let curve = curve.and_then(|curve| ObjectIdentifier::from_bytes(curve.as_bytes()).ok());
    if of_key == oid::EC_PUBLIC_KEY {
        return Some(match (curve?, named) {
            (oid::SECP256R1, oid::ECDSA_WITH_SHA256) => &signature::ECDSA_P256_SHA256_ASN1,
            (oid::SECP256R1, oid::ECDSA_WITH_SHA384) => &signature::ECDSA_P256_SHA384_ASN1,
            (oid::SECP384R1, oid::ECDSA_WITH_SHA256) => &signature::ECDSA_P384_SHA256_ASN1,
            (oid::SECP384R1, oid::ECDSA_WITH_SHA384) => &signature::ECDSA_P384_SHA384_ASN1,
            (curve, oid::ECDSA_WITH_SHA256) if curve.to_string() == SECP521R1 => &signature::ECDSA_P521_SHA256_ASN1,
            (curve, oid::ECDSA_WITH_SHA384) if curve.to_string() == SECP521R1 => &signature::ECDSA_P521_SHA384_ASN1,
            (curve, named) if curve.to_string() == SECP521R1 && named.to_string() == "1.2.840.10045.4.3.4" => {
                &signature::ECDSA_P521_SHA512_ASN1
            }
            _ => return None,
        });
    }
    if of_key.to_string() == RSA {
        // RFC 8017, appendix A.2.4; PSS names its hash in parameters and is left out.
        return Some(match named.to_string().as_str() {
            "1.2.840.113549.1.1.11" => &signature::RSA_PKCS1_2048_8192_SHA256,
            "1.2.840.113549.1.1.12" => &signature::RSA_PKCS1_2048_8192_SHA384,
            "1.2.840.113549.1.1.13" => &signature::RSA_PKCS1_2048_8192_SHA512,
            _ => return None,
        });
    }
    Some(match (of_key, named) {
        (oid::ED25519, oid::ED25519) => &signature::ED25519,
        (oid::ML_DSA_44, oid::ML_DSA_44) => &signature::ML_DSA_44,
        (oid::ML_DSA_65, oid::ML_DSA_65) => &signature::ML_DSA_65,
        (oid::ML_DSA_87, oid::ML_DSA_87) => &signature::ML_DSA_87,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
