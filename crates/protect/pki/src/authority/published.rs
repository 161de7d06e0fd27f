//! Certificates and revocation lists that an authority publishes.

use std::time::SystemTime;

use super::issued::Trusted;
use crate::certificate::to_pem;
use crate::records::{Entry, Own, Phase, Records, Role};
use crate::revocation_list::LABEL;
use crate::{Certificate, Error};

/// The authority's own certificates and its newest revocation lists.
#[derive(Debug, Clone)]
pub struct Published {
    /// The authority's certificates: the intermediate that issues first, roots last.
    pub certificates: Vec<Certificate>,
    /// The roots for relying parties, PEM: the one that signs first.
    pub roots_pem: String,
    /// The newest revocation lists, PEM: those of intermediates, then those of roots, each the
    /// newest issuer first. The certificates of intermediates follow, by which relying parties
    /// recognise the next lists.
    pub lists_pem: String,
    lists: Vec<PublishedList>,
}

/// The newest list of an issuer of network functions' certificates.
#[derive(Debug, Clone)]
struct PublishedList {
    serial: String,
    /// Its certificates name the distribution point without an issuer.
    is_first: bool,
    der: Vec<u8>,
}

impl Published {
    pub(crate) fn of(records: &Records, own: &[Own]) -> Result<Self, Error> {
        let trusted = Trusted::of(own);
        let mut issuing = own.iter().rev();
        let issuing = issuing.find(|own| own.phase == Phase::Current && own.entry.role == Role::Intermediate);
        let issuing = issuing.map(|own| own.entry.certificate.clone());
        let (mut lists_pem, mut lists) = (String::new(), Vec::new());
        let mut issuers = String::new();
        for issuer in with_lists(own) {
            let Some(list) = records.list(issuer.serial)? else {
                continue;
            };
            lists_pem.push_str(&to_pem(LABEL, &list.der));
            if issuer.role == Role::Intermediate {
                issuers.push_str(&issuer.certificate.to_pem());
            }
            if !is_above_an_intermediate(own, issuer) {
                lists.push(PublishedList {
                    serial: issuer.serial.to_string(),
                    is_first: issuer.replaces.is_none(),
                    der: list.der,
                });
            }
        }
        Ok(Self {
            roots_pem: trusted.pem(),
            certificates: issuing.into_iter().chain(trusted.roots.iter().cloned()).collect(),
            lists_pem: lists_pem + &issuers,
            lists,
        })
    }

    /// The newest revocation list of an issuer, DER, as at a distribution point. `issuer` is the
    /// name that its certificates have for it; those of the first issuer have none.
    pub fn list(&self, issuer: Option<&str>) -> Option<&[u8]> {
        let found = self.lists.iter().find(|list| match issuer {
            Some(serial) => list.serial == serial,
            None => list.is_first,
        });
        found.map(|list| list.der.as_slice())
    }
}

/// Issuers with a revocation list: intermediates, then roots, each the newest first.
pub(super) fn with_lists(own: &[Own]) -> impl Iterator<Item = &Entry> {
    let of = move |role| {
        own.iter()
            .rev()
            .filter(move |own| own.entry.role == role && has_list(own))
    };
    of(Role::Intermediate).chain(of(Role::Root)).map(|own| &own.entry)
}

/// True for an own certificate that signs a revocation list.
pub(super) fn has_list(own: &Own) -> bool {
    matches!(own.phase, Phase::Current | Phase::Previous)
}

/// True for an own certificate whose list is needed: nothing is valid below a previous one that has
/// ended.
pub(super) fn is_live(own: &Own, now: SystemTime) -> bool {
    has_list(own) && (own.phase == Phase::Current || own.entry.certificate.ends() > now)
}

/// True for a root that leaves the daily work to an intermediate.
pub(super) fn is_above_an_intermediate(own: &[Own], issuer: &Entry) -> bool {
    own.iter()
        .any(|other| other.entry.issuer == issuer.serial && other.entry.role == Role::Intermediate)
}
