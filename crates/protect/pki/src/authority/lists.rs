//! Revocation lists (RFC 5280, section 5): signed, renewed in time, written out.

use std::time::{Duration, SystemTime};

use rcgen::{CertificateRevocationListParams, Issuer, KeyIdMethod, RevokedCertParams, SerialNumber};
use rusqlite::Transaction;
use time::OffsetDateTime;

use super::Authority;
use super::key::{AuthorityKey, is_elsewhere};
use super::published::{Published, has_list, is_above_an_intermediate, is_live, with_lists};
use crate::certificate::to_pem;
use crate::files::{self, Readers};
use crate::lifetime::whole_seconds;
use crate::records::{self, Entry, Own, Phase, Reason, StoredList};
use crate::revocation_list::LABEL;
use crate::{Certificate, Error, RevocationList, Serial, Signed};

/// Days a list is good for where nothing else is asked for.
pub(super) const DAYS: u32 = 7;
/// Days the root's list is good for when an intermediate does the daily work and the root's key may be elsewhere.
pub(super) const ROOT_DAYS: u32 = 180;

/// A revoked certificate stays on the lists for this long after its end; RFC 5280, section 3.3,
/// asks for one list beyond it.
const AFTER_END: time::Duration = time::Duration::days(31);

/// Least time between two lists of an issuer that requesters cause.
const PAUSE: time::Duration = time::Duration::MINUTE;

/// The newest revocation list of one of the authority's own certificates.
#[derive(Debug, Clone)]
pub struct IssuedList {
    /// Its issuer.
    pub issuer: Certificate,
    /// URL of it in network functions' certificates below its issuer.
    pub url: Option<String>,
    /// The list, DER.
    pub der: Vec<u8>,
}

/// A revocation list that could not be renewed.
#[derive(Debug)]
pub struct Unrenewed {
    /// Subject of its issuer.
    pub issuer: String,
    /// Relying parties that require a list refuse the issuer's certificates from then on.
    pub until: Option<SystemTime>,
    /// The reason.
    pub error: Error,
    /// Its issuer's certificate.
    pub serial: Serial,
}

impl Authority {
    /// Signs new revocation lists that are good for `days` and writes them to the directory; gives both, PEM.
    ///
    /// Without the key of one at hand its newest list stays; the root's list is good for 180 days where an intermediate
    /// does the daily work, unless `days` is more.
    pub fn refresh_lists(&mut self, days: u32, now: SystemTime) -> Result<String, Error> {
        let mut signing = Vec::new();
        for own in self.own.iter().filter(|own| has_list(own)) {
            let key = match self.key_of(&own.entry) {
                Err(error) if is_elsewhere(&error) => continue,
                key => key?,
            };
            signing.push((own.entry.clone(), key, days.max(self.list_days(&own.entry, days))));
        }
        self.sign_lists(&signing, now)?;
        self.crl()
    }

    fn sign_lists(&mut self, signing: &[(Entry, AuthorityKey, u32)], now: SystemTime) -> Result<(), Error> {
        if signing.is_empty() {
            return Ok(());
        }
        let transaction = self.records.begin()?;
        for (issuer, key, days) in signing {
            sign_list(&transaction, issuer, key, *days, now)?;
        }
        transaction.commit()?;
        for own in &mut self.own {
            own.list_due &= signing.iter().all(|(issuer, ..)| issuer.serial != own.entry.serial);
        }
        self.write_lists()
    }

    /// Days that a list of this issuer is good for; `days` where network functions' certificates are below it.
    pub(super) fn list_days(&self, issuer: &Entry, days: u32) -> u32 {
        match is_above_an_intermediate(&self.own, issuer) {
            true => ROOT_DAYS,
            false => days,
        }
    }

    /// Roots, own certificates and newest lists as they are published.
    pub fn published(&self) -> Result<Published, Error> {
        Published::of(&self.records, &self.own)
    }

    /// The newest revocation lists, PEM: those of intermediates, then those of roots, each the newest issuer first.
    pub fn crl(&self) -> Result<String, Error> {
        Ok(self.published()?.lists_pem.to_owned())
    }

    /// The newest revocation list of each issuer.
    pub fn lists(&self) -> Result<Vec<IssuedList>, Error> {
        let mut lists = Vec::new();
        for issuer in with_lists(&self.own) {
            if let Some(list) = self.records.list(issuer.serial)? {
                lists.push(IssuedList {
                    issuer: issuer.certificate.clone(),
                    url: match is_above_an_intermediate(&self.own, issuer) {
                        true => None,
                        false => self.list_url(issuer),
                    },
                    der: list.der,
                });
            }
        }
        Ok(lists)
    }

    /// URL of an issuer's list in certificates below it: a successor's differs from its
    /// predecessor's.
    pub(super) fn list_url(&self, issuer: &Entry) -> Option<String> {
        let url = self.issuance.crl_url.as_ref()?;
        Some(match issuer.replaces {
            None => url.clone(),
            Some(_) => format!("{url}?issuer={}", issuer.serial),
        })
    }

    /// The same, with the other authorities' lists of the file that is replaced.
    pub fn crl_next_to(&self, present: &[u8]) -> Result<String, Error> {
        let mut text = self.crl()?;
        let blocks = pem::parse_many(present).unwrap_or_default();
        for block in &blocks {
            // A list that cannot be read is of another authority too: it stays.
            let is_own = self.own.iter().any(|own| {
                let issuer = own.entry.certificate.der();
                RevocationList::from_der(block.contents())
                    .map_or(block.contents() == issuer, |list| list.signed_by(issuer) == Signed::Yes)
            });
            if !is_own {
                text.push_str(&to_pem(block.tag(), block.contents()));
            }
        }
        Ok(text)
    }

    /// When the first of the newest revocation lists ends: relying parties refuse every certificate from then on.
    pub fn crl_next_update(&self, now: SystemTime) -> Result<Option<SystemTime>, Error> {
        let mut soonest: Option<OffsetDateTime> = None;
        for own in self.own.iter().filter(|own| is_live(own, now)) {
            if let Some(list) = self.records.list_times(own.entry.serial)? {
                soonest = Some(soonest.map_or(list.next_update, |known| known.min(list.next_update)));
            }
        }
        Ok(soonest.map(SystemTime::from))
    }

    /// Renews the lists of the issuers of network functions' certificates that are past half of their time.
    pub(super) fn keep_list_fresh(&mut self, now: SystemTime) -> Result<(), Error> {
        let unrenewed = self.renew_lists_of(now, |authority, own| {
            !is_above_an_intermediate(&authority.own, &own.entry)
        })?;
        // A previous issuer's key may be elsewhere.
        let mut failed = unrenewed
            .into_iter()
            .filter(|(own, unrenewed)| own.phase != Phase::Previous || !is_elsewhere(&unrenewed.error));
        failed.next().map_or(Ok(()), |(_, unrenewed)| Err(unrenewed.error))
    }

    /// Renews the list of the key that is open: no other key is read, and no token asked, with each request.
    pub(super) fn keep_issuing_list_fresh(&mut self, now: SystemTime) -> Result<(), Error> {
        let key = self.key.public_key().clone();
        let of = |_: &Self, own: &Own| own.entry.certificate.public_key() == &key;
        let unrenewed = self.renew_lists_of(now, of)?.pop();
        unrenewed.map_or(Ok(()), |(_, unrenewed)| Err(unrenewed.error))
    }

    /// Renews the lists of all live issuers but `waiting` that are past half of their time; returns
    /// those that cannot be.
    pub fn renew_lists(&mut self, waiting: &[Serial], now: SystemTime) -> Result<Vec<Unrenewed>, Error> {
        let unrenewed = self.renew_lists_of(now, |_, own| !waiting.contains(&own.entry.serial))?;
        Ok(unrenewed.into_iter().map(|(_, unrenewed)| unrenewed).collect())
    }

    fn renew_lists_of(
        &mut self,
        now: SystemTime,
        of: impl Fn(&Self, &Own) -> bool,
    ) -> Result<Vec<(Own, Unrenewed)>, Error> {
        let mut unrenewed = Vec::new();
        let live = self.own.iter().filter(|own| is_live(own, now) && of(self, own));
        for own in live.cloned().collect::<Vec<_>>() {
            let days = self.list_days(&own.entry, DAYS);
            let newest = self.records.list_times(own.entry.serial)?;
            if newest
                .as_ref()
                .is_some_and(|newest| is_fresh(newest, own.list_due, now))
            {
                continue;
            }
            let key = self.key_of(&own.entry);
            // Each on its own: a token that is gone keeps no other issuer's list.
            if let Err(error) = key.and_then(|key| self.sign_lists(&[(own.entry.clone(), key, days)], now)) {
                let unrenewed_list = Unrenewed {
                    issuer: own.entry.certificate.subject().to_owned(),
                    until: newest.map(|newest| newest.next_update.into()),
                    error,
                    serial: own.entry.serial,
                };
                unrenewed.push((own, unrenewed_list));
            }
        }
        Ok(unrenewed)
    }

    /// Writes the newest lists to the directory, if they are not there already.
    pub(super) fn write_lists(&self) -> Result<(), Error> {
        let pem = self.crl()?;
        let path = self.layout.lists();
        let most = u64::try_from(pem.len()).unwrap_or(u64::MAX);
        // A file that is too long or unreadable is not the newest list either.
        let present = files::read(&path, most).ok().flatten();
        if present.as_deref() == Some(pem.as_bytes()) {
            return files::remove(&files::staging_path(&path, files::NEW));
        }
        files::write(&path, pem.as_bytes(), Readers::Everybody)
    }
}

/// False past half of a list's time, where it begins in the future, and where a revocation is to be listed.
fn is_fresh(newest: &StoredList, is_due: bool, now: SystemTime) -> bool {
    let now = OffsetDateTime::from(now);
    let began = newest.this_update;
    let half = began + (newest.next_update - began) / 2;
    began <= now && now < half && (!is_due || now - began < PAUSE)
}

/// True while requesters cause no further list.
pub(super) fn is_recent(newest: &StoredList, now: SystemTime) -> bool {
    let age = OffsetDateTime::from(now) - newest.this_update;
    !age.is_negative() && age < PAUSE
}

/// Signs the next list of an issuer, records it, and gives it, PEM.
pub(super) fn sign_list(
    transaction: &Transaction<'_>,
    issuer: &Entry,
    key: &AuthorityKey,
    days: u32,
    now: SystemTime,
) -> Result<String, Error> {
    let this_update = whole_seconds(now)?;
    let next_update = whole_seconds(now + Duration::from_secs(86_400) * days)?;
    let number = records::newest_number(transaction, issuer.serial)? + 1;
    let revoked = records::revoked(transaction, issuer.serial, this_update - AFTER_END)?;
    let params = CertificateRevocationListParams {
        this_update,
        next_update,
        crl_number: SerialNumber::from(number),
        issuing_distribution_point: None,
        revoked_certs: revoked
            .iter()
            .map(|entry| RevokedCertParams {
                serial_number: entry.serial.for_rcgen(),
                revocation_time: entry.revoked,
                reason_code: entry.reason.map(Reason::for_rcgen),
                invalidity_date: None,
            })
            .collect(),
        key_identifier_method: KeyIdMethod::PreSpecified(key.public_key().identifier()),
    };
    let list =
        key.signing(|key| params.signed_by(&Issuer::from_ca_cert_der(&issuer.certificate.der().into(), key)?))?;
    let stored = StoredList {
        number,
        this_update,
        next_update,
        der: list.der().to_vec(),
    };
    records::insert_list(transaction, issuer.serial, &stored)?;
    Ok(to_pem(LABEL, list.der()))
}
