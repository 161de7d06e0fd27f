//! Revocation of certificates.

use std::time::SystemTime;

use super::Authority;
use super::key::AuthorityKey;
use super::lists::{DAYS, is_recent, sign_list};
use crate::lifetime::whole_seconds;
use crate::records::{self, Entry, Reason, Role, State};
use crate::{Error, Serial};

/// Result of a revocation.
#[derive(Debug, Clone)]
pub struct Revoked {
    /// The certificate.
    pub serial: Serial,
    /// The name it was issued under.
    pub name: String,
    /// Number of the list that tells of it.
    pub list_number: u64,
}

/// Time of the list that has a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    Now,
    /// At once where the newest list is a minute old; else with the next renewal.
    WithinPause,
}

impl Authority {
    /// Revokes a certificate, by serial number or by the name of the only one in use, and signs a new list.
    pub fn revoke(&mut self, serial_or_name: &str, reason: Reason, now: SystemTime) -> Result<Revoked, Error> {
        let revoked = self.revoke_all(&[serial_or_name], reason, now)?.pop();
        revoked.ok_or_else(|| Error::UnknownCertificate(serial_or_name.to_owned()))
    }

    /// Revokes all of these or none, and signs one list of each issuer.
    pub fn revoke_all(&mut self, all: &[&str], reason: Reason, now: SystemTime) -> Result<Vec<Revoked>, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        for serial_or_name in all {
            let entry = self.in_use(serial_or_name)?;
            if entries.iter().all(|other| other.serial != entry.serial) {
                entries.push(entry);
            }
        }
        self.revoke_entries(entries, State::Revoked, reason, Listed::Now, now)
    }

    /// Revokes a certificate as its holder asked for. The list follows within a minute: a requester
    /// does not cause one list per request.
    pub fn revoke_on_request(&mut self, serial: Serial, reason: Reason, now: SystemTime) -> Result<(), Error> {
        self.end(serial, State::Revoked, reason, now)
    }

    /// Revokes a certificate that its receiver does not accept. Its key may be certified again.
    pub fn revoke_refused(&mut self, serial: Serial, now: SystemTime) -> Result<(), Error> {
        self.end(serial, State::Abandoned, Reason::CessationOfOperation, now)
    }

    fn end(&mut self, serial: Serial, state: State, reason: Reason, now: SystemTime) -> Result<(), Error> {
        let entry = self.records.by_serial(serial)?;
        let entry = entry.ok_or_else(|| Error::UnknownCertificate(serial.to_string()))?;
        self.revoke_entries(vec![entry], state, reason, Listed::WithinPause, now)?;
        Ok(())
    }

    /// Number of certificates that this one has issued, and that are valid but for it.
    pub fn valid_below(&self, issuer: Serial, now: SystemTime) -> Result<usize, Error> {
        if self.own.iter().all(|own| own.entry.serial != issuer) {
            return Ok(0);
        }
        let all = self.records.in_order()?;
        let below = all
            .iter()
            .filter(|entry| entry.issuer == issuer && entry.serial != issuer);
        Ok(below.filter(|entry| entry.is_valid_at(now)).count())
    }

    pub(super) fn revoke_entry(&mut self, entry: Entry, reason: Reason, now: SystemTime) -> Result<(), Error> {
        self.revoke_entries(vec![entry], State::Revoked, reason, Listed::Now, now)
            .map(drop)
    }

    fn revoke_entries(
        &mut self,
        mut entries: Vec<Entry>,
        state: State,
        reason: Reason,
        listed: Listed,
        now: SystemTime,
    ) -> Result<Vec<Revoked>, Error> {
        let at = whole_seconds(now)?;
        let (mut signing, mut deferred): (Vec<(Entry, AuthorityKey, u32)>, Vec<Serial>) = (Vec::new(), Vec::new());
        for entry in &mut entries {
            if entry.revoked.is_some() {
                return Err(Error::AlreadyRevoked(entry.serial));
            }
            if entry.role == Role::Root {
                return Err(Error::Unsuitable {
                    serial: entry.serial,
                    reason: "a root is not revoked by itself; take it out of the relying parties' trust instead",
                });
            }
            entry.state = state;
            entry.revoked = Some(at);
            entry.reason = Some(reason);
            entry.destination = None;
            let known = signing
                .iter()
                .map(|(issuer, ..)| issuer.serial)
                .chain(deferred.iter().copied());
            if known.into_iter().any(|known| known == entry.issuer) {
                continue;
            }
            let newest = self.records.list_times(entry.issuer)?;
            if listed == Listed::WithinPause && newest.is_some_and(|newest| is_recent(&newest, now)) {
                deferred.push(entry.issuer);
                continue;
            }
            let (issuer, key) = self.issuer_of(entry)?;
            let days = self.list_days(&issuer, DAYS);
            signing.push((issuer, key, days));
        }
        // One transaction: a revocation without the list that has it, or the note that one is due, cannot be.
        let transaction = self.records.begin()?;
        for entry in &entries {
            records::update_state(&transaction, entry)?;
        }
        for (issuer, key, days) in &signing {
            sign_list(&transaction, issuer, key, *days, now)?;
        }
        for issuer in deferred {
            records::set_list_due(&transaction, issuer, true)?;
        }
        transaction.commit()?;
        self.write_lists()?;
        self.own = self.records.own()?;
        self.intermediate = self.records.current(Role::Intermediate)?;
        let revoked = entries.into_iter().map(|entry| {
            let newest = self.records.list_times(entry.issuer)?;
            Ok(Revoked {
                serial: entry.serial,
                name: entry.name,
                list_number: newest.map_or(0, |newest| newest.number),
            })
        });
        revoked.collect()
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
}
