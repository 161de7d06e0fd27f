//! The records for reading: no key, no passphrase, no lock.

use std::path::Path;
use std::time::SystemTime;

use super::{Entry, FILE, Phase, Records, Role};
use crate::authority::{Layout, Trusted, chain_pem};
use crate::{Certificate, Destination, Error, Invitation, Issued, Published, Serial};

/// The record of an authority's past actions.
#[derive(Debug)]
pub struct Register {
    records: Records,
}

impl Register {
    /// Opens the records of the authority in `dir`.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Layout::new(dir).require_whole()?;
        // Read-write, because SQLite rolls a half-written transaction of a killed writer back on opening.
        let records = Records::open(&dir.join(FILE))?;
        Ok(Self { records })
    }

    /// Every certificate, oldest first.
    pub fn entries(&self) -> Result<Vec<Entry>, Error> {
        self.records.all()
    }

    /// The certificate with this serial number, or the newest with this name.
    pub fn find(&self, serial_or_name: &str) -> Result<Entry, Error> {
        find(&self.records, serial_or_name)
    }

    /// Hands out every certificate, oldest first, without holding them all.
    pub fn each_entry<E: From<Error>>(&self, each: impl FnMut(Entry) -> Result<(), E>) -> Result<(), E> {
        self.records.each(each)
    }

    /// Roots, own certificates and newest lists as they are published.
    pub fn published(&self) -> Result<Published, Error> {
        Published::of(&self.records, &self.records.own()?)
    }

    /// A number that changes with each change by another process or connection.
    pub fn version(&self) -> Result<i64, Error> {
        self.records.data_version()
    }

    /// Every invitation, oldest first.
    pub fn invitations(&self) -> Result<Vec<Invitation>, Error> {
        let stored = self.records.invitations()?;
        Ok(stored.into_iter().map(Invitation::from_stored).collect())
    }

    /// The open invitation with this reference.
    pub fn invitation(&self, reference: &str, now: SystemTime) -> Result<Option<Invitation>, Error> {
        Invitation::open(&self.records, reference, now)
    }

    /// A certificate and those above it up to, but without, the root; PEM.
    pub fn chain_pem(&self, entry: &Entry) -> Result<String, Error> {
        Ok(chain_pem(&entry.certificate, &self.between(entry)?))
    }

    /// Writes `NAME.crt.pem` and `ca.crt.pem` again, from the records; the key is not in them.
    pub fn export(&self, entry: &Entry, destination: &Destination) -> Result<(), Error> {
        let trusted = Trusted::of(&self.records.own()?);
        Issued::without_key(entry, self.between(entry)?, trusted).write_to(&destination.dir, destination.overwrite)
    }

    /// When the first of the newest revocation lists ends; none where no issuer has one.
    pub fn lists_end(&self) -> Result<Option<SystemTime>, Error> {
        let mut ends = Vec::new();
        for own in self
            .records
            .own()?
            .into_iter()
            .filter(|own| own.phase != Phase::Retired)
        {
            ends.extend(self.records.list_times(own.entry.serial)?.map(|list| list.next_update));
        }
        Ok(ends.into_iter().min().map(SystemTime::from))
    }

    fn between(&self, entry: &Entry) -> Result<Vec<Certificate>, Error> {
        let mut between = Vec::new();
        if entry.role == Role::NetworkFunction
            && let Some(issuer) = self.records.by_serial(entry.issuer)?
            && issuer.role == Role::Intermediate
        {
            between.push(issuer.certificate);
        }
        Ok(between)
    }

    /// The root that signs.
    pub fn root(&self) -> Result<Certificate, Error> {
        self.records.root().map(|entry| entry.certificate)
    }

    /// The authority's own certificates, each with where it is in the succession and since when; oldest first.
    pub fn succession(&self) -> Result<Vec<(Entry, Phase, SystemTime)>, Error> {
        let own = self.records.own()?.into_iter();
        Ok(own.map(|own| (own.entry, own.phase, own.since.into())).collect())
    }
}

pub(crate) fn find(records: &Records, serial_or_name: &str) -> Result<Entry, Error> {
    if let Ok(serial) = serial_or_name.parse::<Serial>()
        && let Some(entry) = records.by_serial(serial)?
    {
        return Ok(entry);
    }
    records
        .by_name(serial_or_name)?
        .pop()
        .ok_or_else(|| Error::UnknownCertificate(serial_or_name.to_owned()))
}
