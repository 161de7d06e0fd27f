//! Trust anchors: certificates of authorities, each within its dates.
//!
//! Path building takes an anchor as a name and a key. It asks for no date, nor whether the
//! certificate is of an authority: the holder of a leaf's key could issue certificates.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, RevocationOptions, VerifiedPath, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Version};

/// Most characters of a subject in a message.
const LONGEST_TEXT: usize = 256;

/// Certificates that end chains.
#[derive(Debug, Clone, Default)]
pub struct TrustAnchors {
    anchors: Vec<TrustAnchor<'static>>,
    /// First and last second of each, since 1970.
    validities: Vec<(i64, i64)>,
}

/// Reason why a certificate is no trust anchor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnchor {
    /// It is a certificate of this subject, and none of an authority.
    #[error("{0} is no authority's certificate")]
    NotOfAnAuthority(String),
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Reason why a chain is not trusted.
#[derive(Debug)]
pub enum Untrusted {
    /// It leads to roots that are outside their dates, and to no other.
    RootOutsideDates,
    /// It leads to no root, or something on the way is refused.
    Path(webpki::Error),
}

impl TrustAnchors {
    /// Adds a certificate, DER.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is none of an authority (RFC 5280, section 4.2.1.9). Before
    /// version 3 no certificate tells which it is, and all are taken.
    pub fn add(&mut self, der: &[u8]) -> Result<(), NoAnchor> {
        let unreadable = |why: String| NoAnchor::Unreadable(why);
        let certificate = match X509Certificate::from_der(der) {
            Ok(([], certificate)) => certificate,
            Ok(_) => return Err(unreadable("has bytes behind its end".to_owned())),
            Err(error) => return Err(unreadable(format!("is not a certificate: {error}"))),
        };
        let constraints = certificate
            .basic_constraints()
            .map_err(|error| unreadable(format!("basic constraints cannot be read: {error}")))?;
        let is_authority = match constraints {
            Some(constraints) => constraints.value.ca,
            None => certificate.version() != X509Version::V3,
        };
        if !is_authority {
            let subject = certificate.subject().to_string();
            let subject = subject.chars().take(LONGEST_TEXT).flat_map(char::escape_debug);
            return Err(NoAnchor::NotOfAnAuthority(subject.collect()));
        }
        let anchor = anchor_from_trusted_cert(&CertificateDer::from(der))
            .map_err(|error| unreadable(format!("cannot be a root: {error}")))?
            .to_owned();
        let validity = certificate.validity();
        self.anchors.push(anchor);
        self.validities
            .push((validity.not_before.timestamp(), validity.not_after.timestamp()));
        Ok(())
    }

    /// The anchors, whatever their dates: names and keys of those whose chains may be trusted.
    pub fn all(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }

    /// First and last second of each.
    pub fn validities(&self) -> Vec<(SystemTime, SystemTime)> {
        let moment = |seconds: i64| UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        let both = self.validities.iter();
        both.map(|&(begins, ends)| (moment(begins), moment(ends))).collect()
    }

    /// Verifies that a certificate leads to one of them that is within its dates, by those between.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn verify(
        &self,
        leaf: &EndEntityCert<'_>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        between: &[CertificateDer<'_>],
        now: UnixTime,
        usage: KeyUsage,
        revocation: Option<RevocationOptions<'_>>,
    ) -> Result<(), Untrusted> {
        let is_outside = Cell::new(false);
        let is_current = |path: &VerifiedPath<'_>| match self.is_current(path.anchor(), now) {
            true => Ok(()),
            // Another path may lead to another root: the search goes on.
            false => {
                is_outside.set(true);
                Err(webpki::Error::UnknownIssuer)
            }
        };
        let path = leaf.verify_for_usage(
            algorithms,
            &self.anchors,
            between,
            now,
            usage,
            revocation,
            Some(&is_current),
        );
        path.map(drop).map_err(|error| match error {
            webpki::Error::UnknownIssuer if is_outside.get() => Untrusted::RootOutsideDates,
            error => Untrusted::Path(error),
        })
    }

    /// A root that is renewed has one name and key in several certificates.
    fn is_current(&self, anchor: &TrustAnchor<'_>, now: UnixTime) -> bool {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        self.anchors
            .iter()
            .zip(&self.validities)
            .any(|(known, &(begins, ends))| {
                known.subject == anchor.subject
                    && known.subject_public_key_info == anchor.subject_public_key_info
                    && (begins..=ends).contains(&now)
            })
    }
}
