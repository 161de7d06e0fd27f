//! Revocation, and the lists that tell of it (RFC 5280, section 5).

use std::time::{Duration, SystemTime};

use rcgen::{CertificateRevocationListParams, Issuer, KeyIdMethod, RevokedCertParams, SerialNumber};
use rusqlite::Transaction;
use time::OffsetDateTime;

use super::Authority;
use super::key::{AuthorityKey, is_elsewhere};
use crate::certificate::to_pem;
use crate::files::{self, Readers};
use crate::lifetime::whole_seconds;
use crate::records::{self, Entry, Own, Phase, Reason, Role, State};
use crate::revocation_list::LABEL;
use crate::{Certificate, Error, RevocationList, Serial};

/// Days a list is good for where nothing else is asked for.
pub(super) const DAYS: u32 = 7;
/// Days the root's list is good for when an intermediate does the daily work and the root's key may be elsewhere.
pub(super) const ROOT_DAYS: u32 = 180;

/// A revoked certificate stays on the lists for this long after its end; RFC 5280, section 3.3, asks for one list beyond it.
const AFTER_END: time::Duration = time::Duration::days(31);

/// The newest revocation list of one of the authority's own certificates.
#[derive(Debug, Clone)]
pub struct IssuedList {
    /// Whose it is.
    pub issuer: Certificate,
    /// Where network functions' certificates below it have it that it is to be found.
    pub url: Option<String>,
    /// The list, DER.
    pub der: Vec<u8>,
}

/// What a revocation did.
#[derive(Debug, Clone)]
pub struct Revoked {
    /// The certificate.
    pub serial: Serial,
    /// The name it was issued under.
    pub name: String,
    /// Number of the list that tells of it.
    pub list_number: u64,
}

impl Authority {
    /// Revokes a certificate, by serial number or by the name of the only one in use, and signs a new list.
    pub fn revoke(&mut self, serial_or_name: &str, reason: Reason, now: SystemTime) -> Result<Revoked, Error> {
        let entry = self.in_use(serial_or_name)?;
        self.revoke_entry(entry, reason, now)
    }

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
            let days = match self.is_above_an_intermediate(&own.entry) {
                true => days.max(ROOT_DAYS),
                false => days,
            };
            signing.push((own.entry.clone(), key, days));
        }
        let transaction = self.records.begin()?;
        for (issuer, key, days) in &signing {
            sign_list(&transaction, issuer, key, *days, now)?;
        }
        transaction.commit()?;
        self.write_lists()?;
        self.crl()
    }

    /// The newest revocation lists, PEM: those of intermediates, then those of roots, each the newest issuer first.
    pub fn crl(&self) -> Result<String, Error> {
        let mut pem = String::new();
        for issuer in self.with_lists() {
            if let Some(list) = self.records.list(issuer.serial)? {
                pem.push_str(&to_pem(LABEL, &list.der));
            }
        }
        Ok(pem)
    }

    /// The newest revocation list of each issuer.
    pub fn lists(&self) -> Result<Vec<IssuedList>, Error> {
        let mut lists = Vec::new();
        for issuer in self.with_lists() {
            if let Some(list) = self.records.list(issuer.serial)? {
                lists.push(IssuedList {
                    issuer: issuer.certificate.clone(),
                    url: match self.is_above_an_intermediate(issuer) {
                        true => None,
                        false => self.list_url(issuer),
                    },
                    der: list.der,
                });
            }
        }
        Ok(lists)
    }

    /// Where certificates below an issuer have its list: where one is, another issuer's is not.
    pub(super) fn list_url(&self, issuer: &Entry) -> Option<String> {
        let url = self.issuance.crl_url.as_ref()?;
        Some(match issuer.replaces {
            None => url.clone(),
            Some(_) => format!("{url}?issuer={}", issuer.serial),
        })
    }

    fn with_lists(&self) -> impl Iterator<Item = &Entry> {
        let of = |role| {
            self.own
                .iter()
                .rev()
                .filter(move |own| own.entry.role == role && has_list(own))
        };
        of(Role::Intermediate).chain(of(Role::Root)).map(|own| &own.entry)
    }

    fn is_above_an_intermediate(&self, own: &Entry) -> bool {
        self.own
            .iter()
            .any(|other| other.entry.issuer == own.serial && other.entry.role == Role::Intermediate)
    }

    /// The newest revocation list of an issuer, DER: what a distribution point gives. `issuer` is as the certificates that are below it name it there;
    /// those of the first one do not.
    pub fn newest_list(&self, issuer: Option<&str>) -> Result<Option<Vec<u8>>, Error> {
        let mut issuers = self.with_lists().filter(|own| !self.is_above_an_intermediate(own));
        let found = match issuer {
            Some(serial) => issuers.find(|own| own.serial.to_string() == serial),
            None => issuers.find(|own| own.replaces.is_none()),
        };
        let list = found.map(|own| self.records.list(own.serial)).transpose()?.flatten();
        Ok(list.map(|list| list.der))
    }

    /// When the first of the newest revocation lists ends: relying parties refuse every certificate from then on.
    pub fn crl_next_update(&self) -> Result<Option<SystemTime>, Error> {
        let mut soonest: Option<OffsetDateTime> = None;
        for issuer in self.with_lists() {
            if let Some(list) = self.records.list(issuer.serial)? {
                soonest = Some(soonest.map_or(list.next_update, |known| known.min(list.next_update)));
            }
        }
        Ok(soonest.map(SystemTime::from))
    }

    /// Signs a new list where the newest has less than half of its time left.
    pub(super) fn keep_list_fresh(&mut self, now: SystemTime) -> Result<(), Error> {
        self.keep_fresh(now, |_| true)
    }

    /// The same of the key that is open, so that no other is read, and no token asked, again and again.
    pub(super) fn keep_issuing_list_fresh(&mut self, now: SystemTime) -> Result<(), Error> {
        let key = self.key.public_key().clone();
        self.keep_fresh(now, |own| own.certificate.public_key() == &key)
    }

    fn keep_fresh(&mut self, now: SystemTime, of: impl Fn(&Entry) -> bool) -> Result<(), Error> {
        let limit = whole_seconds(now)? + time::Duration::days(i64::from(DAYS)) / 2;
        let mut signing = Vec::new();
        for own in self.own.iter().filter(|own| has_list(own) && of(&own.entry)) {
            // A list of the future is of a clock that was wrong: relying parties do not accept it
            // before its time.
            let has_begun = |der: &[u8]| RevocationList::from_der(der).is_ok_and(|list| list.this_update() <= now);
            let is_fresh = |list: records::StoredList| list.next_update > limit && has_begun(&list.der);
            if self.is_above_an_intermediate(&own.entry) || self.records.list(own.entry.serial)?.is_some_and(is_fresh) {
                continue;
            }
            match self.key_of(&own.entry) {
                Ok(key) => signing.push((own.entry.clone(), key)),
                // Of one that signs nothing else any more.
                Err(error) if own.phase == Phase::Previous && is_elsewhere(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if signing.is_empty() {
            return Ok(());
        }
        let transaction = self.records.begin()?;
        for (issuer, key) in &signing {
            sign_list(&transaction, issuer, key, DAYS, now)?;
        }
        transaction.commit()?;
        self.write_lists()
    }

    pub(super) fn revoke_entry(&mut self, mut entry: Entry, reason: Reason, now: SystemTime) -> Result<Revoked, Error> {
        if entry.revoked.is_some() {
            return Err(Error::AlreadyRevoked(entry.serial));
        }
        if entry.role == Role::Root {
            return Err(Error::Unsuitable {
                serial: entry.serial,
                reason: "a root is not revoked by itself; take it out of the relying parties' trust instead",
            });
        }
        let (issuer, key) = self.issuer_of(&entry)?;
        entry.state = State::Revoked;
        entry.revoked = Some(whole_seconds(now)?);
        entry.reason = Some(reason);
        entry.destination = None;

        // One transaction: a revocation without the list that tells of it cannot be.
        let days = match entry.role {
            Role::Intermediate => ROOT_DAYS,
            _ => DAYS,
        };
        let transaction = self.records.begin()?;
        records::update_state(&transaction, &entry)?;
        sign_list(&transaction, &issuer, &key, days, now)?;
        transaction.commit()?;
        self.write_lists()?;
        self.own = self.records.own()?;
        if self.intermediate.as_ref().is_some_and(|own| own.serial == entry.serial) {
            self.intermediate = Some(entry.clone());
        }
        let list_number = self.records.list(issuer.serial)?.map_or(0, |list| list.number);
        Ok(Revoked {
            serial: entry.serial,
            name: entry.name,
            list_number,
        })
    }

    /// The certificate with this serial number, or the only one with this name that is not revoked.
    pub(super) fn in_use(&self, serial_or_name: &str) -> Result<Entry, Error> {
        let mut named: Vec<Entry> = self.records.by_name(serial_or_name)?;
        if named.is_empty() {
            return records::find(&self.records, serial_or_name);
        }
        if named.iter().any(|entry| entry.revoked.is_none()) {
            named.retain(|entry| entry.revoked.is_none());
        } else {
            // All are revoked: the newest one's serial number makes the message.
            named.drain(..named.len() - 1);
        }
        if named.len() > 1 {
            return Err(Error::SeveralCertificates {
                name: serial_or_name.to_owned(),
                serials: named.iter().map(|entry| entry.serial).collect(),
            });
        }
        named
            .pop()
            .ok_or_else(|| Error::UnknownCertificate(serial_or_name.to_owned()))
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

/// Whether one of the authority's own certificates has a revocation list.
fn has_list(own: &Own) -> bool {
    matches!(own.phase, Phase::Current | Phase::Previous)
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
    let number = records::newest_list(transaction, issuer.serial)?.map_or(1, |newest| newest.number + 1);
    let revoked = records::revoked(transaction, issuer.serial, this_update - AFTER_END)?;
    let params = CertificateRevocationListParams {
        this_update,
        next_update,
        crl_number: SerialNumber::from(number),
        issuing_distribution_point: None,
        revoked_certs: revoked
            .iter()
            .filter_map(|entry| {
                Some(RevokedCertParams {
                    serial_number: entry.serial.for_rcgen(),
                    revocation_time: entry.revoked?,
                    reason_code: entry.reason.map(Reason::for_rcgen),
                    invalidity_date: None,
                })
            })
            .collect(),
        key_identifier_method: KeyIdMethod::PreSpecified(key.public_key().identifier()),
    };
    let list =
        key.signing(|key| params.signed_by(&Issuer::from_ca_cert_der(&issuer.certificate.der().into(), key)?))?;
    records::insert_list(transaction, issuer.serial, number, next_update, list.der())?;
    Ok(to_pem(LABEL, list.der()))
}
