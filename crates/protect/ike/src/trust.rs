//! Whom to believe: certificates under trust anchors (RFC 7296, section 3.6; RFC 4945).

use std::net::IpAddr;

use aws_lc_rs::digest;
use rustls_pki_types::{CertificateDer, ServerName, SignatureVerificationAlgorithm, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::credential::{Identity, identifier};

/// id-kp-ipsecIKE, 1.3.6.1.5.5.7.3.17 (RFC 4945, section 5.1.3.12), as the value of an OBJECT IDENTIFIER.
const IPSEC_IKE: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x11];

/// What a peer says of itself, and the signature that is to prove it.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Who it says it is.
    pub identity: &'a Identity,
    /// Its certificate, and those that lead to an authority, in DER.
    pub certificates: &'a [Vec<u8>],
    /// The AlgorithmIdentifier of the signature, in DER.
    pub algorithm: &'a [u8],
    /// What is signed.
    pub octets: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
}

/// Decides whether a peer is who it says it is.
pub trait Trust: Send + Sync {
    /// SHA-1 digests of the authorities' public keys, which a certificate request carries (RFC 7296, section 3.7).
    fn authorities(&self) -> Vec<[u8; 20]>;

    /// Whether the claim is true; why not, where it is not.
    ///
    /// # Errors
    /// The reason, for this end alone: the peer learns only that it failed.
    fn verify(&self, claim: Claim<'_>) -> Result<(), &'static str>;
}

/// Certificates of authorities, at a time. Revocation lists are not looked at.
pub struct Anchors {
    certificates: Vec<CertificateDer<'static>>,
    time: UnixTime,
}

impl Anchors {
    /// These certificates, in DER, of authorities. What is not one is trusted for nothing.
    #[must_use]
    pub fn new(certificates: Vec<Vec<u8>>, time: UnixTime) -> Self {
        Self {
            certificates: certificates.into_iter().map(CertificateDer::from).collect(),
            time,
        }
    }
}

impl Trust for Anchors {
    fn authorities(&self) -> Vec<[u8; 20]> {
        let digest = |certificate: &CertificateDer<'_>| {
            let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
            let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, certificate.public_key().raw);
            digest.as_ref().try_into().ok()
        };
        self.certificates.iter().filter_map(digest).collect()
    }

    fn verify(&self, claim: Claim<'_>) -> Result<(), &'static str> {
        let (own, above) = claim.certificates.split_first().ok_or("it sent no certificate")?;
        let own = CertificateDer::from(&own[..]);
        let own = EndEntityCert::try_from(&own).map_err(|_| "its certificate cannot be read")?;
        let above: Vec<_> = above.iter().map(|one| CertificateDer::from(&one[..])).collect();
        let anchors = self
            .certificates
            .iter()
            .filter_map(|one| anchor_from_trusted_cert(one).ok());
        let anchors: Vec<_> = anchors.collect();
        own.verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &anchors,
            &above,
            self.time,
            KeyUsage::required_if_present(IPSEC_IKE),
            None,
            None,
        )
        .map_err(|_| "its certificate leads to no authority that is trusted, or is not valid now")?;
        let name = match claim.identity {
            Identity::Name(name) => ServerName::try_from(name.as_str()).map_err(|_| "its identity is no DNS name")?,
            Identity::Address(IpAddr::V4(address)) => ServerName::from(IpAddr::V4(*address)),
            Identity::Address(IpAddr::V6(address)) => ServerName::from(IpAddr::V6(*address)),
            Identity::Other(..) => return Err("its identity is of a kind that no certificate is compared with"),
        };
        own.verify_is_valid_for_subject_name(&name)
            .map_err(|_| "its certificate is not of the identity that it claims")?;
        let named = |algorithm: &&&dyn SignatureVerificationAlgorithm| {
            identifier(&algorithm.signature_alg_id()).as_deref() == Some(claim.algorithm)
        };
        // Several verify signatures of one name, each with keys of one curve.
        let mut candidates = ALL_VERIFICATION_ALGS.iter().filter(named).peekable();
        if candidates.peek().is_none() {
            return Err("its signature is of an algorithm that is not verified here");
        }
        let verified = |algorithm: &&dyn SignatureVerificationAlgorithm| {
            own.verify_signature(*algorithm, claim.octets, claim.signature).is_ok()
        };
        candidates.any(verified).then_some(()).ok_or("its signature is wrong")
    }
}
