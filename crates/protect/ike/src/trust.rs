//! Trust in peers: certificates under trust anchors (RFC 7296, section 3.6; RFC 4945).

use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::digest;
use bartizan_pki::{TrustAnchors, Untrusted};
use rustls_pki_types::{AlgorithmIdentifier, CertificateDer, ServerName, SignatureVerificationAlgorithm, UnixTime};
use webpki::{
    ALL_VERIFICATION_ALGS, CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, RevocationCheckDepth,
    RevocationOptionsBuilder, UnknownStatusPolicy,
};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::credential::{Identity, identifier};

/// id-kp-ipsecIKE, 1.3.6.1.5.5.7.3.17 (RFC 4945, section 5.1.3.12), as the value of an OBJECT IDENTIFIER.
const IPSEC_IKE: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x11];

/// Refusal of a signature that does not fit the signed octets.
pub(crate) const WRONG_SIGNATURE: &str = "its signature is wrong";

/// Identity that a peer claims, and the signature that is to prove it.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Claimed identity.
    pub identity: &'a Identity,
    /// Its certificate, and those that lead to an authority, in DER.
    pub certificates: &'a [Vec<u8>],
    /// The AlgorithmIdentifier of the signature, in DER.
    pub algorithm: &'a [u8],
    /// Signed octets.
    pub octets: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
}

/// Decides whether a peer is who it says it is.
pub trait Trust: Send + Sync {
    /// SHA-1 digests of the authorities' public keys, which a certificate request carries (RFC 7296, section 3.7).
    fn authorities(&self) -> Vec<[u8; 20]>;

    /// Verifies the claim.
    ///
    /// # Errors
    /// The reason, for this end alone: the peer learns only that it failed.
    fn verify(&self, claim: Claim<'_>) -> Result<(), &'static str>;

    /// Judges a peer again that has proven its identity by these certificates, in DER, its own
    /// first.
    ///
    /// # Errors
    /// The reason, for this end alone.
    fn certify(&self, identity: &Identity, certificates: &[Vec<u8>]) -> Result<(), &'static str>;
}

/// A list of revoked certificates that was read.
#[derive(Debug, Clone)]
pub struct RevocationList {
    /// Begin of its validity (thisUpdate).
    pub begins: UnixTime,
    /// The list itself, with the end of its time.
    pub list: Arc<CertRevocationList<'static>>,
}

/// Certificates of authorities, at a time, with lists of what they have revoked.
#[must_use]
pub struct Anchors {
    trusted: TrustAnchors,
    /// SHA-1 digests of their public keys.
    authorities: Vec<[u8; 20]>,
    time: UnixTime,
    lists: Vec<RevocationList>,
    revocation: Revocation,
    accepted: Option<Vec<AlgorithmIdentifier>>,
    /// Signatures of authorities that are accepted.
    of_chains: Vec<&'static dyn SignatureVerificationAlgorithm>,
}

/// Requirement on certificate revocation lists (RFC 5280, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// A list that is there is obeyed, also after it was due to be replaced; what no list is about is not revoked.
    IfPresent,
    /// A current list must show for each certificate that it is not revoked.
    Required,
}

impl Anchors {
    /// Trusts these certificates of authorities, in DER, within their dates. One that cannot be
    /// read, or is none of an authority, is trusted for nothing.
    pub fn new(certificates: Vec<Vec<u8>>, time: UnixTime) -> Self {
        let mut trusted = TrustAnchors::default();
        let authorities: Vec<_> = certificates.iter().filter(|der| trusted.add(der).is_ok()).collect();
        Self {
            authorities: authorities.into_iter().filter_map(|der| key_digest(der)).collect(),
            trusted,
            time,
            lists: Vec::new(),
            revocation: Revocation::IfPresent,
            accepted: None,
            of_chains: ALL_VERIFICATION_ALGS.to_vec(),
        }
    }

    /// Adds these lists. Among several of one issuer the first that covers a certificate decides.
    pub fn revoking(mut self, lists: Vec<RevocationList>, revocation: Revocation) -> Self {
        self.lists = lists;
        self.revocation = revocation;
        self
    }

    /// Accepts only these signature algorithms from a peer, by their AlgorithmIdentifiers without
    /// the SEQUENCE around them.
    pub fn accepting(mut self, accepted: Vec<AlgorithmIdentifier>) -> Self {
        self.accepted = Some(accepted);
        self
    }

    /// Accepts only these signatures on certificates and revocation lists.
    pub fn accepting_of_chains(mut self, accepted: Vec<&'static dyn SignatureVerificationAlgorithm>) -> Self {
        self.of_chains = accepted;
        self
    }

    /// Verifies the claim at another time.
    ///
    /// # Errors
    /// The reason, for this end alone.
    pub fn verify_at(&self, claim: Claim<'_>, time: UnixTime) -> Result<(), &'static str> {
        self.certify_at(claim.identity, claim.certificates, time)?;
        let own = claim.certificates.first().ok_or(NO_CERTIFICATE)?;
        let own = CertificateDer::from(&own[..]);
        let own = EndEntityCert::try_from(&own).map_err(|_| UNREADABLE)?;
        let is_accepted = |accepted: &Vec<AlgorithmIdentifier>| {
            let mut accepted = accepted.iter();
            accepted.any(|accepted| identifier(accepted).as_deref() == Some(claim.algorithm))
        };
        if !self.accepted.as_ref().is_none_or(is_accepted) {
            return Err("its signature is of an algorithm that is not accepted");
        }
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
        candidates.any(verified).then_some(()).ok_or(WRONG_SIGNATURE)
    }

    /// Judges certificates at a time: they lead to an authority, are not revoked and are of the
    /// identity.
    ///
    /// # Errors
    /// The reason, for this end alone.
    pub fn certify_at(
        &self,
        identity: &Identity,
        certificates: &[Vec<u8>],
        time: UnixTime,
    ) -> Result<(), &'static str> {
        let (own, above) = certificates.split_first().ok_or(NO_CERTIFICATE)?;
        let own = CertificateDer::from(&own[..]);
        let own = EndEntityCert::try_from(&own).map_err(|_| UNREADABLE)?;
        let above: Vec<_> = above.iter().map(|one| CertificateDer::from(&one[..])).collect();
        self.lead(&own, &above, time)?;
        let name = match identity {
            Identity::Name(name) => ServerName::try_from(name.as_str()).map_err(|_| "its identity is no DNS name")?,
            Identity::Address(IpAddr::V4(address)) => ServerName::from(IpAddr::V4(*address)),
            Identity::Address(IpAddr::V6(address)) => ServerName::from(IpAddr::V6(*address)),
            Identity::Other(..) => return Err("its identity is of a kind that no certificate is compared with"),
        };
        const ANOTHER: &str = "its certificate is not of the identity that it claims";
        own.verify_is_valid_for_subject_name(&name).map_err(|_| ANOTHER)?;
        if let Identity::Name(name) = identity
            && !names(&certificates[0], name)
        {
            return Err(ANOTHER);
        }
        Ok(())
    }

    fn lead(&self, own: &EndEntityCert<'_>, above: &[CertificateDer<'_>], time: UnixTime) -> Result<(), &'static str> {
        // One that begins later is not current, as one that has ended is not.
        let counts = |list: &&RevocationList| self.revocation == Revocation::IfPresent || list.begins <= time;
        let lists = self.lists.iter().filter(counts);
        let lists: Vec<_> = lists.map(|list| &*list.list).collect();
        let (unknown, stale) = match self.revocation {
            Revocation::Required => (UnknownStatusPolicy::Deny, ExpirationPolicy::Enforce),
            Revocation::IfPresent => (UnknownStatusPolicy::Allow, ExpirationPolicy::Ignore),
        };
        let revocation = match (RevocationOptionsBuilder::new(&lists), self.revocation) {
            (Ok(builder), _) => Some(
                builder
                    .with_depth(RevocationCheckDepth::Chain)
                    .with_status_policy(unknown)
                    .with_expiration_policy(stale)
                    .build(),
            ),
            (Err(_), Revocation::IfPresent) => None,
            (Err(_), Revocation::Required) => return Err(UNKNOWN_STATUS),
        };
        let usage = KeyUsage::required_if_present(IPSEC_IKE);
        self.trusted
            .verify(own, &self.of_chains, above, time, usage, revocation)
            .map_err(|untrusted| match untrusted {
                Untrusted::RootOutsideDates => "the root behind its certificate is outside its dates",
                Untrusted::Path(error) => refusal(&error),
            })
    }
}

fn refusal(error: &webpki::Error) -> &'static str {
    match error {
        webpki::Error::CertRevoked => "its certificate was revoked",
        webpki::Error::UnknownRevocationStatus | webpki::Error::CrlExpired { .. } => UNKNOWN_STATUS,
        webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. } => {
            "its certificate is outside its dates"
        }
        webpki::Error::UnknownIssuer => "its certificate leads to no authority that is trusted",
        webpki::Error::UnsupportedSignatureAlgorithmContext(_) => {
            "a certificate of its chain is signed by an algorithm that is not accepted"
        }
        _ => "its certificate cannot be accepted",
    }
}

/// SHA-1 digest of a certificate's public key.
fn key_digest(certificate: &[u8]) -> Option<[u8; 20]> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, certificate.public_key().raw);
    digest.as_ref().try_into().ok()
}

/// Returns true if a certificate has this very DNS name. A name with a wildcard identifies no end
/// of IKE (RFC 4945, section 3.1.2).
fn names(certificate: &[u8], name: &str) -> bool {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else {
        return false;
    };
    let Ok(Some(alternatives)) = certificate.subject_alternative_name() else {
        return false;
    };
    let mut known = alternatives.value.general_names.iter();
    known.any(|known| matches!(known, GeneralName::DNSName(known) if known.eq_ignore_ascii_case(name)))
}

const NO_CERTIFICATE: &str = "it sent no certificate";
const UNREADABLE: &str = "its certificate cannot be read";
const UNKNOWN_STATUS: &str = "whether its certificate was revoked is not known, and must be";

impl Trust for Anchors {
    fn authorities(&self) -> Vec<[u8; 20]> {
        self.authorities.clone()
    }

    fn verify(&self, claim: Claim<'_>) -> Result<(), &'static str> {
        self.verify_at(claim, self.time)
    }

    fn certify(&self, identity: &Identity, certificates: &[Vec<u8>]) -> Result<(), &'static str> {
        self.certify_at(identity, certificates, self.time)
    }
}

#[cfg(test)]
mod tests {
    mod wycheproof;
}
