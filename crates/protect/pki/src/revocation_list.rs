//! Revocation lists (RFC 5280, section 5), read by one function for every protocol.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use webpki::{CertRevocationList, OwnedCertRevocationList};
use x509_parser::oid_registry::OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::time::ASN1Time;

use crate::Serial;
use crate::trust::{Signed, certificate, verified};

/// PEM label of a revocation list (RFC 7468, section 6).
pub(crate) const LABEL: &str = "X509 CRL";
/// Begin of a block of PEM.
const BEGIN: &str = "-----BEGIN ";

/// The difference between two hosts' clocks up to which a list that was just signed counts as
/// begun.
pub const CLOCKS_DIFFER: Duration = Duration::from_secs(300);

/// A revocation list that every verifier of this project can use.
#[derive(Debug, Clone)]
pub struct RevocationList {
    der: Vec<u8>,
    issuer: String,
    scope: Scope,
    number: Number,
    this_update: SystemTime,
    next_update: Option<SystemTime>,
    verifiable: Arc<CertRevocationList<'static>>,
}

/// The issuer, its key and the part of its certificates that a list covers: a list replaces those
/// of the same scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    issuer: Vec<u8>,
    key: Option<Vec<u8>>,
    part: Option<Vec<u8>>,
}

/// cRLNumber in decimal (RFC 5280, section 5.2.3); empty where the list has none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Number(String);

impl Ord for Number {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Without leading zeros the longer of two numbers is the greater.
        (self.0.len(), &self.0).cmp(&(other.0.len(), &other.0))
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl RevocationList {
    /// Reads DER.
    ///
    /// # Errors
    /// Says why the list cannot be used: by x509-parser or by webpki, which verifies with it. No
    /// list is used that one of them does not read.
    pub fn from_der(der: &[u8]) -> Result<Self, String> {
        let list = list(der).ok_or("it is no revocation list in DER")?;
        if list.version().is_none() {
            return Err("it is of version 1, which has no number (RFC 5280, section 5.1.2.1); `openssl ca -gencrl` writes version 2 \
                        where its configuration has `crlnumber`"
                .to_owned());
        }
        let verifiable = OwnedCertRevocationList::from_der(der).map_err(|error| match error {
            webpki::Error::UnsupportedCrlIssuingDistributionPoint => {
                "its issuing distribution point is of a kind that is not supported".to_owned()
            }
            webpki::Error::UnsupportedRevocationReasonsPartitioning => {
                "its issuing distribution point covers some reasons alone".to_owned()
            }
            webpki::Error::UnsupportedIndirectCrl => {
                "it is an indirect one, with other issuers' certificates".to_owned()
            }
            webpki::Error::UnsupportedDeltaCrl => "it is a delta of another list".to_owned(),
            other => format!("{other:?}"),
        })?;
        let verifiable = CertRevocationList::from(verifiable);
        let key = list
            .extensions()
            .iter()
            .find(|extension| extension.oid == OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER);
        Ok(Self {
            scope: Scope {
                issuer: list.issuer().as_raw().to_vec(),
                key: key.map(|key| key.value.to_vec()),
                part: verifiable.issuing_distribution_point().map(<[u8]>::to_vec),
            },
            number: Number(list.crl_number().map(ToString::to_string).unwrap_or_default()),
            this_update: moment(list.last_update()),
            next_update: list.next_update().map(moment),
            issuer: list.issuer().to_string(),
            der: der.to_vec(),
            verifiable: Arc::new(verifiable),
        })
    }

    /// Every list of a PEM text; of several of one scope the newest alone. The newest comes first:
    /// webpki asks the first of an issuer.
    ///
    /// # Errors
    /// Says which list cannot be used and why, or that there is none.
    pub fn read(text: &[u8]) -> Result<Vec<Self>, String> {
        let blocks = pem::parse_many(text).map_err(|error| format!("is not PEM: {error}"))?;
        let ders = blocks.iter().filter(|block| block.tag() == LABEL);
        let lists: Vec<Self> = ders
            .zip(1..)
            .map(|(block, place)| {
                Self::from_der(block.contents()).map_err(|error| format!("list {place} cannot be used: {error}"))
            })
            .collect::<Result<_, _>>()?;
        match lists.is_empty() {
            true => Err("holds no revocation list in PEM".to_owned()),
            false => Ok(newest(lists)),
        }
    }

    /// As [`Self::read`] for the lists that can be used; why each other block is left out.
    pub fn usable(text: &[u8]) -> (Vec<Self>, Vec<String>) {
        let (mut lists, mut left_out) = (Vec::new(), Vec::new());
        let text = String::from_utf8_lossy(text);
        for (block, place) in text.split(BEGIN).skip(1).zip(1..) {
            let read = match pem::parse(format!("{BEGIN}{block}")) {
                Ok(block) if block.tag() != LABEL => continue,
                Ok(block) => Self::from_der(block.contents()),
                Err(error) => Err(error.to_string()),
            };
            match read {
                Ok(list) => lists.push(list),
                Err(why) => left_out.push(format!("block {place} cannot be used: {why}")),
            }
        }
        (newest(lists), left_out)
    }

    /// Those of a PEM text that can be used.
    pub fn all_of(text: &[u8]) -> Vec<Self> {
        let blocks = pem::parse_many(text).unwrap_or_default();
        let lists = blocks.iter().filter(|block| block.tag() == LABEL);
        lists
            .filter_map(|block| Self::from_der(block.contents()).ok())
            .collect()
    }

    /// The list, DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The same for verification of certificates by webpki.
    pub fn verifiable(&self) -> &Arc<CertRevocationList<'static>> {
        &self.verifiable
    }

    /// Compares issuer, key and part with those of `other`.
    #[must_use]
    pub fn replaces(&self, other: &Self) -> bool {
        self.scope == other.scope
    }

    /// Compares number, then date, with those of `other` of the same scope (RFC 5280, section
    /// 5.2.3).
    #[must_use]
    pub fn is_newer_than(&self, other: &Self) -> bool {
        (&self.number, self.this_update) > (&other.number, other.this_update)
    }

    /// `number 3 of 2026-11-29`.
    pub fn named(&self) -> String {
        let day = OffsetDateTime::from(self.this_update).date();
        match self.number.0.as_str() {
            "" => format!("one of {day} without a number"),
            number => format!("number {number} of {day}"),
        }
    }

    /// The serial numbers on it, of the size that this authority gives.
    pub fn serials(&self) -> Vec<Serial> {
        let Some(list) = list(&self.der) else {
            return Vec::new();
        };
        list.iter_revoked_certificates()
            .filter_map(|revoked| Serial::from_bytes(revoked.raw_serial()).ok())
            .collect()
    }

    /// The distinguished name of its authority.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Time at which it was signed.
    pub fn this_update(&self) -> SystemTime {
        self.this_update
    }

    /// Time at which the next one is due, where it says so.
    pub fn next_update(&self) -> Option<SystemTime> {
        self.next_update
    }

    /// Holds of a list that is signed at a time still to come: it is not current.
    #[must_use]
    pub fn is_of_the_future(&self, now: SystemTime) -> bool {
        self.this_update > now + CLOCKS_DIFFER
    }

    /// Holds of a list whose successor is overdue.
    #[must_use]
    pub fn is_overdue(&self, now: SystemTime) -> bool {
        self.next_update.is_some_and(|due| due < now)
    }

    /// Verifies that the certificate `issuer`, DER, has signed it.
    #[must_use]
    pub fn signed_by(&self, issuer: &[u8]) -> Signed {
        let (Some(list), Some(issuer)) = (list(&self.der), certificate(issuer)) else {
            return Signed::No;
        };
        // Algorithms inside and outside of the signed part are the same (RFC 5280, section
        // 5.1.1.2).
        let is_said = list.signature_algorithm == list.tbs_cert_list.signature;
        if !is_said || list.issuer().as_raw() != issuer.subject().as_raw() {
            return Signed::No;
        }
        verified(
            issuer.public_key(),
            &list.signature_algorithm,
            list.tbs_cert_list.as_ref(),
            &list.signature_value.data,
        )
    }

    /// Returns true if the certificate, DER, is on it: by its serial number, of the same authority.
    #[must_use]
    pub fn revokes(&self, certificate_der: &[u8]) -> bool {
        let (Some(list), Some(certificate)) = (list(&self.der), certificate(certificate_der)) else {
            return false;
        };
        list.issuer().as_raw() == certificate.issuer().as_raw()
            && list
                .iter_revoked_certificates()
                .any(|revoked| revoked.serial() == &certificate.tbs_certificate.serial)
    }
}

/// One list of each scope, its newest; those signed last come first.
pub(crate) fn newest(lists: Vec<RevocationList>) -> Vec<RevocationList> {
    let mut newest: Vec<RevocationList> = Vec::new();
    for list in lists {
        match newest.iter_mut().find(|known| known.replaces(&list)) {
            Some(known) if list.is_newer_than(known) => *known = list,
            Some(_) => {}
            None => newest.push(list),
        }
    }
    newest.sort_by_key(|list| Reverse(list.this_update));
    newest
}

fn moment(time: ASN1Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(time.timestamp()).unwrap_or_default())
}

fn list(der: &[u8]) -> Option<CertificateRevocationList<'_>> {
    let (_, parsed) = CertificateRevocationList::from_der(der).ok()?;
    Some(parsed)
}

#[cfg(test)]
mod tests;
