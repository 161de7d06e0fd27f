//! Signatures on certificates and revocation lists, by their DER: of any authority, not of ours
//! alone.

use std::cell::Cell;
use std::time::SystemTime;

use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use pkcs8::ObjectIdentifier;
use rustls_pki_types::{CertificateDer, UnixTime};
use webpki::{
    ALL_VERIFICATION_ALGS, CertRevocationList, EndEntityCert, ExpirationPolicy, ExtendedKeyUsageValidator,
    KeyPurposeIdIter, RevocationCheckDepth, RevocationOptionsBuilder, UnknownStatusPolicy,
};
use x509_parser::oid_registry::OID_X509_SERIALNUMBER;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use crate::algorithm::oid;
use crate::{Error, RevocationList, TrustAnchors, Untrusted};

/// PKCS #1 (RFC 8017, appendix C).
const RSA: &str = "1.2.840.113549.1.1.1";
const SECP521R1: &str = "1.3.132.0.35";
/// Most common names and serial number attributes of one subject. Each is looked up.
const MOST_NAMES: usize = 8;

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
        let mut names: Vec<String> = subject
            .iter_common_name()
            .chain(subject.iter_by_oid(&OID_X509_SERIALNUMBER))
            .take(MOST_NAMES + 1)
            .filter_map(|name| name.as_str().ok())
            .map(str::to_owned)
            .collect();
        if names.len() > MOST_NAMES {
            return Err(refuse("its subject has too many names"));
        }
        names.sort();
        names.dedup();
        let usage = parsed.key_usage().map_err(|_| refuse("its key usage cannot be read"))?;
        Ok(Self {
            names,
            is_authority: may_certify(&parsed),
            signs: usage.is_none_or(|usage| usage.value.digital_signature()),
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

    /// Returns true if it may sign certificates, by its basic constraints and its key usage.
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

    /// Returns true if `root` stands above it at `now`, through authorities of those at hand, by
    /// the rules of [`trusted_chain`].
    #[must_use]
    pub fn leads_to(&self, root: &Self, at_hand: &[Self], now: SystemTime) -> bool {
        let at_hand: Vec<_> = at_hand.iter().map(Self::der).collect();
        trusted_chain(&self.der, &at_hand, &[&root.der], &[], now).is_ok()
    }

    /// Returns true if `root` stands above it, through authorities of those at hand, whatever their
    /// dates.
    #[must_use]
    pub fn is_below(&self, root: &Self, at_hand: &[Self]) -> bool {
        let at_hand: Vec<_> = at_hand.iter().map(Self::der).collect();
        chain_to(&self.der, &at_hand, &[&root.der]).is_some()
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
    has_signed(&subject, &issuer)
}

fn has_signed(subject: &X509Certificate<'_>, issuer: &X509Certificate<'_>) -> Signed {
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

/// Returns true if a certificate is one of an authority whose key may sign certificates (RFC 5280,
/// section 6.1.4, k and n).
pub(crate) fn may_certify(certificate: &X509Certificate<'_>) -> bool {
    let usage = certificate.key_usage();
    certificate.is_ca() && usage.is_ok_and(|usage| usage.is_none_or(|usage| usage.value.key_cert_sign()))
}

/// Authorities that may stand below this one; none where there is no limit.
pub(crate) fn path_length(certificate: &X509Certificate<'_>) -> Option<usize> {
    let constraints = certificate.basic_constraints().ok()??.value;
    constraints
        .path_len_constraint
        .and_then(|length| usize::try_from(length).ok())
}

/// The shortest chain from a certificate to one of these roots, as places in `authorities`, all
/// DER. Several may have signed it: an authority that is renewed or cross-signed has one name and
/// key in several certificates.
///
/// Dates, names and extensions are not judged: [`trusted_chain`] does that.
#[must_use]
pub fn chain_to(leaf: &[u8], authorities: &[&[u8]], roots: &[&[u8]]) -> Option<Vec<usize>> {
    first_chain(leaf, authorities, roots, |_| true)
}

/// The first of the chains that [`chain_to`] tells of that is accepted; the shortest come first.
fn first_chain(
    leaf: &[u8],
    authorities: &[&[u8]],
    roots: &[&[u8]],
    mut accepts: impl FnMut(&[usize]) -> bool,
) -> Option<Vec<usize>> {
    /// Certificates of a chain, authorities that are tried, and signatures that are verified: more
    /// are made nowhere in the field.
    const DEEPEST: usize = 4;
    const MOST: usize = 32;
    const SIGNATURES: usize = 64;
    let leaf = certificate(leaf)?;
    // A copy of one before it leads nowhere else.
    let distinct = authorities.iter().take(MOST).enumerate();
    let all: Vec<_> = distinct
        .map(|(at, der)| certificate(der).filter(|_| !authorities[..at].contains(der)))
        .collect();
    let roots: Vec<_> = roots.iter().filter_map(|der| certificate(der)).collect();
    let left = Cell::new(SIGNATURES);
    let is_above = |above: &X509Certificate<'_>, below: &X509Certificate<'_>, between: usize| {
        let between = between + usize::from(leaf.is_ca());
        if !may_certify(above)
            || path_length(above).is_some_and(|longest| longest < between)
            || below.issuer().as_raw() != above.subject().as_raw()
            || left.get() == 0
        {
            return false;
        }
        left.set(left.get() - 1);
        has_signed(below, above) == Signed::Yes
    };
    let mut chains: Vec<Vec<usize>> = vec![Vec::new()];
    for between in 0..DEEPEST {
        let mut longer = Vec::new();
        for chain in chains {
            let last = chain.last().map_or(Some(&leaf), |&above| all[above].as_ref());
            let Some(last) = last else { continue };
            if roots.iter().any(|root| is_above(root, last, between)) {
                // Judging it verifies its signatures once more.
                left.set(left.get().saturating_sub(chain.len() + 1));
                if accepts(&chain) {
                    return Some(chain);
                }
            }
            let passed: Vec<_> = chain.iter().filter_map(|&at| all[at].as_ref()).collect();
            let signs = |above: &X509Certificate<'_>| {
                !passed.iter().any(|one| is_same_authority(one, above)) && is_above(above, last, between)
            };
            let signers = (0..all.len()).filter(|&above| all[above].as_ref().is_some_and(signs));
            longer.extend(signers.map(|above| [&chain[..], &[above]].concat()));
        }
        chains = longer;
    }
    None
}

fn is_same_authority(one: &X509Certificate<'_>, other: &X509Certificate<'_>) -> bool {
    one.subject().as_raw() == other.subject().as_raw() && one.public_key().raw == other.public_key().raw
}

/// Reason why a certificate leads to no root that is trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoChain {
    /// No valid certificates lead there.
    #[error("it leads to no root that is trusted")]
    Unknown,
    /// It, or an authority above it, was revoked.
    #[error("it, or an authority above it, was revoked")]
    Revoked,
    /// A rule of RFC 5280, section 6.1, is broken on the way.
    #[error("{0}")]
    Refused(webpki::Error),
}

impl From<Untrusted> for NoChain {
    fn from(untrusted: Untrusted) -> Self {
        match untrusted {
            Untrusted::RootOutsideDates | Untrusted::Path(webpki::Error::UnknownIssuer) => Self::Unknown,
            Untrusted::Path(webpki::Error::CertRevoked) => Self::Revoked,
            Untrusted::Path(error) => Self::Refused(error),
        }
    }
}

/// Any purpose, and none: a vendor's certificates are for whatever it says.
struct AnyPurpose;

impl ExtendedKeyUsageValidator for AnyPurpose {
    fn validate(&self, _: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        Ok(())
    }
}

/// The chain from a certificate to one of these roots as places in `at_hand`, all DER, by the rules
/// of RFC 5280, section 6.1: dates, path lengths, key usage, names, critical extensions. Revocation
/// lists are obeyed, also after they were due to be replaced; those signed last come first.
///
/// Any purpose of the certificates' keys is accepted, and signatures of RSA and P-521 too. Of
/// several ways the first that keeps the rules counts.
///
/// # Errors
/// The reason why there is none: for several ways that of the first.
pub fn trusted_chain(
    leaf: &[u8],
    at_hand: &[&[u8]],
    roots: &[&[u8]],
    lists: &[RevocationList],
    now: SystemTime,
) -> Result<Vec<usize>, NoChain> {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let is_current = |der: &[u8]| {
        certificate(der).is_some_and(|one| {
            let validity = one.validity();
            (validity.not_before.timestamp()..=validity.not_after.timestamp()).contains(&seconds)
        })
    };
    let current = |ders: &[&[u8]]| -> Vec<usize> { (0..ders.len()).filter(|&at| is_current(ders[at])).collect() };
    let (places, current_roots) = (current(at_hand), current(roots));
    let authorities: Vec<&[u8]> = places.iter().map(|&at| at_hand[at]).collect();
    let roots: Vec<&[u8]> = current_roots.iter().map(|&at| roots[at]).collect();
    let mut anchors = TrustAnchors::default();
    for root in &roots {
        // One that is no anchor is trusted for nothing.
        drop(anchors.add(root));
    }
    let lists: Vec<&CertRevocationList<'_>> = lists.iter().map(|list| &**list.verifiable()).collect();
    let revocation = RevocationOptionsBuilder::new(&lists).ok().map(|builder| {
        builder
            .with_depth(RevocationCheckDepth::Chain)
            .with_status_policy(UnknownStatusPolicy::Allow)
            .with_expiration_policy(ExpirationPolicy::Ignore)
            .build()
    });
    let time = UnixTime::since_unix_epoch(since);
    let judged = |found: &[usize]| -> Result<(), NoChain> {
        let between: Vec<_> = found.iter().map(|&at| CertificateDer::from(authorities[at])).collect();
        let leaf = CertificateDer::from(leaf);
        let leaf = EndEntityCert::try_from(&leaf).map_err(NoChain::Refused)?;
        Ok(anchors.verify(&leaf, ALL_VERIFICATION_ALGS, &between, time, AnyPurpose, revocation)?)
    };
    let mut refusal = None;
    let found = first_chain(leaf, &authorities, &roots, |found| match judged(found) {
        Ok(()) => true,
        Err(error) => {
            refusal.get_or_insert(error);
            false
        }
    });
    let found = found.ok_or(refusal.unwrap_or(NoChain::Unknown))?;
    Ok(found.into_iter().map(|at| places[at]).collect())
}

#[cfg(test)]
thread_local! {
    /// Number of signatures that this thread has verified.
    pub(crate) static VERIFIED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
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
    #[cfg(test)]
    VERIFIED.set(VERIFIED.get() + 1);
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
