//! Trust anchors: certificates of authorities, each within its dates.
//!
//! Path building takes an anchor as a name and a key. It asks for no date, nor whether the
//! certificate is of an authority: the holder of a leaf's key could issue certificates.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, ExtendedKeyUsageValidator, RevocationOptions, VerifiedPath, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Version};

use crate::trust::{certificate, may_certify, path_length};

/// Most characters of a subject in a message.
const LONGEST_TEXT: usize = 256;

/// Certificates that end chains.
#[derive(Debug, Clone, Default)]
pub struct TrustAnchors {
    anchors: Vec<TrustAnchor<'static>>,
    /// First and last second of each, since 1970.
    validities: Vec<(i64, i64)>,
    /// Most authorities below each.
    path_lengths: Vec<Option<usize>>,
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
            Some(_) => may_certify(&certificate),
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
        self.path_lengths.push(path_length(&certificate));
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
    /// webpki asks neither for the key usage of authorities nor for an anchor's path length.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn verify(
        &self,
        leaf: &EndEntityCert<'_>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        between: &[CertificateDer<'_>],
        now: UnixTime,
        usage: impl ExtendedKeyUsageValidator,
        revocation: Option<RevocationOptions<'_>>,
    ) -> Result<(), Untrusted> {
        let is_outside = Cell::new(false);
        // Another path may lead to another root: the search goes on after an error.
        let is_permitted = |path: &VerifiedPath<'_>| {
            let mut between = path.intermediate_certificates();
            if !between.all(|one| certificate(&one.der()).is_some_and(|one| may_certify(&one))) {
                return Err(webpki::Error::EndEntityUsedAsCa);
            }
            let length = path.intermediate_certificates().count();
            match self.of(path.anchor(), now) {
                None => {
                    is_outside.set(true);
                    Err(webpki::Error::UnknownIssuer)
                }
                Some(longest) if longest.is_some_and(|longest| longest < length) => {
                    Err(webpki::Error::PathLenConstraintViolated)
                }
                Some(_) => Ok(()),
            }
        };
        let path = leaf.verify_for_usage(
            algorithms,
            &self.anchors,
            between,
            now,
            usage,
            revocation,
            Some(&is_permitted),
        );
        path.map(drop).map_err(|error| match error {
            webpki::Error::UnknownIssuer if is_outside.get() => Untrusted::RootOutsideDates,
            error => Untrusted::Path(error),
        })
    }

    /// Path length of an anchor that is within its dates; none where it is not.
    ///
    /// A root that is renewed has one name and key in several certificates.
    fn of(&self, anchor: &TrustAnchor<'_>, now: UnixTime) -> Option<Option<usize>> {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let all = self.anchors.iter().zip(&self.validities).zip(&self.path_lengths);
        let current = all.filter(|((known, (begins, ends)), _)| {
            known.subject == anchor.subject
                && known.subject_public_key_info == anchor.subject_public_key_info
                && (*begins..=*ends).contains(&now)
        });
        // The least strict of several: each of them is trusted.
        current
            .map(|(_, length)| *length)
            .max_by_key(|length| length.unwrap_or(usize::MAX))
    }
}
