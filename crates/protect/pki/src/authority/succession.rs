//! The authority's own certificates take each other's place while what is below them is in use.
//!
//! An intermediate is known by the root above it: the next one signs at once, and the one of before
//! signs its revocation list for as long as certificates below it are valid. A root is known by
//! itself, so its place is taken in three steps: relying parties are given the next one
//! (*publish*), it signs (*activate*), they are not given the one of before any more (*retire*).
//! Between the first and the last step they are given both.
//!
//! Key and certificate are made in a directory of their own, then recorded, then moved. The next
//! opening of the authority after a crash moves recorded files, and clears away others, which no
//! relying party has ever seen.

use std::fs;
use std::time::SystemTime;

use time::OffsetDateTime;

use super::init::keys::{self, Prepared};
use super::init::{self, Made};
use super::{Authority, KeySource, Layout, key, lists};
use crate::files::{self, Readers};
use crate::lifetime::whole_seconds;
use crate::records::{self, Entry, Own, Phase, Records, Role, State};
use crate::{Algorithm, Certificate, Error, Lifetime, Profile};

/// Most octets of a certificate of one's own.
const LARGEST: u64 = 1 << 20;

/// Properties of a certificate's successor.
#[derive(Debug, Clone)]
pub struct Successor {
    /// Kind of its key; that of the one whose place it takes where none is given.
    pub algorithm: Option<Algorithm>,
    /// Source of its key.
    pub key: KeySource,
    /// True if its key may be in a file where the one of before is in a token: the operator might not
    /// notice.
    pub out_of_token: bool,
    /// Its validity.
    pub lifetime: Lifetime,
}

/// Permission of a step that leaves some relying parties behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anyway {
    /// It is refused; the error names them.
    #[default]
    No,
    /// It is taken.
    Yes,
}

impl Authority {
    /// Makes the next intermediate, which signs from now on. It takes the root's key.
    pub fn renew_intermediate(&mut self, next: Successor, now: SystemTime) -> Result<Certificate, Error> {
        let old = self.intermediate.clone().ok_or(Error::NoIntermediate)?;
        let root = Made {
            key: self.root_key()?,
            entry: self.root.clone(),
        };
        let stage = Layout::new(&self.layout.succession());
        let made = self.below(&stage, next, &root, &old, now)?;
        let created = whole_seconds(now)?;
        let transaction = self.records.begin()?;
        records::insert(&transaction, &made.entry)?;
        records::set_phase(&transaction, old.serial, Phase::Previous, created)?;
        records::set_phase(&transaction, made.entry.serial, Phase::Current, created)?;
        lists::sign_list(&transaction, &made.entry, &made.key, lists::DAYS, now)?;
        transaction.commit()?;
        self.succeeded()?;
        Ok(made.entry.certificate)
    }

    /// Makes the next root, which relying parties are given from now on and which signs nothing yet.
    pub fn publish_root(&mut self, next: Successor, now: SystemTime) -> Result<Certificate, Error> {
        if self.in_phase(Phase::Next).is_some() {
            return Err(Error::Succession("a next root is published already: activate it"));
        }
        self.check_key(&self.root, &next)?;
        if self.intermediate.is_some() {
            // Those who renew take no root that the one of before has not signed.
            self.root_key()?;
        }
        let algorithm = next.algorithm.unwrap_or(self.root.certificate.algorithm());
        let stage = Layout::new(&self.layout.succession());
        let earlier = keys::clear(&stage, &next.key, None)?;
        let prepared = Prepared::of(next.key, algorithm, &self.secrets, earlier.root)?;
        let key = prepared.key(&stage, Role::Root, &self.secrets)?;
        let created = whole_seconds(now)?;
        let with_intermediate = self.intermediate.is_some();
        let mut made = init::make_root(
            key,
            next.lifetime,
            with_intermediate,
            &self.issuance,
            None,
            created,
            now,
        )?;
        made.entry.replaces = Some(self.root.serial);
        let by_old = self.new_with_old(&made)?;
        init::write(&stage, &made, self.secrets.passphrase.as_ref())?;
        files::sync_directory(&stage.dir)?;
        let transaction = self.records.begin()?;
        records::insert(&transaction, &made.entry)?;
        records::set_phase(&transaction, made.entry.serial, Phase::Next, created)?;
        if let Some((serial, certificate)) = &by_old {
            records::insert_new_with_old(&transaction, made.entry.serial, *serial, certificate)?;
        }
        transaction.commit()?;
        self.succeeded()?;
        Ok(made.entry.certificate)
    }

    /// Has the next root sign: by an intermediate of its own, where the root of before has one.
    /// Refused while a certificate is in use that was written before the next root was published:
    /// its holder may not trust it.
    pub fn activate_root(
        &mut self,
        intermediate: Successor,
        anyway: Anyway,
        now: SystemTime,
    ) -> Result<Certificate, Error> {
        let next = self.in_phase(Phase::Next).cloned();
        let next = next.ok_or(Error::Succession("no next root is published"))?;
        if anyway == Anyway::No {
            let all = self.records.in_order()?;
            let published = all.iter().position(|entry| entry.serial == next.entry.serial);
            let unaware = in_use_at(&all, now, |at, _| published.is_none_or(|published| at < published));
            if !unaware.is_empty() {
                return Err(Error::NotAware(unaware));
            }
        }
        let root = Made {
            key: self.key_of(&next.entry)?,
            entry: next.entry.clone(),
        };
        let stage = Layout::new(&self.layout.succession());
        let below = match self.intermediate.clone() {
            None => None,
            Some(old) => Some((self.below(&stage, intermediate, &root, &old, now)?, old)),
        };
        let created = whole_seconds(now)?;
        let transaction = self.records.begin()?;
        records::set_phase(&transaction, self.root.serial, Phase::Previous, created)?;
        records::set_phase(&transaction, next.entry.serial, Phase::Current, created)?;
        let mut days = lists::DAYS;
        if let Some((made, old)) = &below {
            records::insert(&transaction, &made.entry)?;
            records::set_phase(&transaction, old.serial, Phase::Previous, created)?;
            records::set_phase(&transaction, made.entry.serial, Phase::Current, created)?;
            lists::sign_list(&transaction, &made.entry, &made.key, lists::DAYS, now)?;
            days = lists::ROOT_DAYS;
        }
        lists::sign_list(&transaction, &root.entry, &root.key, days, now)?;
        transaction.commit()?;
        self.succeeded()?;
        Ok(root.entry.certificate)
    }

    /// Has relying parties given the roots of before no more. Refused while certificates below
    /// these are in use. Gives those that were retired.
    pub fn retire_roots(&mut self, anyway: Anyway, now: SystemTime) -> Result<Vec<Certificate>, Error> {
        let of_before = |own: &&Own| own.phase == Phase::Previous && own.entry.role == Role::Root;
        let roots: Vec<Entry> = self.own.iter().filter(of_before).map(|own| own.entry.clone()).collect();
        if roots.is_empty() {
            return Err(Error::Succession("no root of before is given any more"));
        }
        let is_below = |serial| roots.iter().any(|root| root.serial == serial);
        let below = self.own.iter().map(|own| &own.entry);
        let retired: Vec<Entry> = below
            .filter(|own| is_below(own.serial) || (own.role == Role::Intermediate && is_below(own.issuer)))
            .cloned()
            .collect();
        if anyway == Anyway::No {
            let all = self.records.in_order()?;
            let used = in_use_at(&all, now, |_, entry| {
                retired.iter().any(|own| own.serial == entry.issuer)
            });
            if !used.is_empty() {
                return Err(Error::StillInUse(used));
            }
        }
        let at = whole_seconds(now)?;
        let transaction = self.records.begin()?;
        for own in &retired {
            records::set_phase(&transaction, own.serial, Phase::Retired, at)?;
        }
        transaction.commit()?;
        self.succeeded()?;
        Ok(roots.into_iter().map(|root| root.certificate).collect())
    }

    /// A key in a file is protected as the one was whose place it takes: by the passphrase of that,
    /// and a token's is not followed by one in a file unawares.
    fn check_key(&self, old: &Entry, next: &Successor) -> Result<(), Error> {
        let path = self.layout.key_of(old);
        if matches!(next.key, KeySource::Token(_)) {
            return Ok(());
        }
        match crate::key::read_file(&path)? {
            Some(text) if key::uri_in(&text).is_some() => match next.out_of_token {
                false => Err(Error::OutOfToken(path)),
                true => Ok(()),
            },
            // It asks for the passphrase, and whether that is the right one.
            Some(_) => self.key_of(old).map(drop),
            None => Ok(()),
        }
    }

    /// An intermediate below a root, in the directory where it is made.
    fn below(&self, stage: &Layout, next: Successor, root: &Made, old: &Entry, now: SystemTime) -> Result<Made, Error> {
        self.check_key(old, &next)?;
        let earlier = keys::clear(stage, &KeySource::Fresh, Some(&next.key))?;
        let algorithm = next.algorithm.unwrap_or(old.certificate.algorithm());
        let prepared = Prepared::of(next.key, algorithm, &self.secrets, earlier.intermediate)?;
        let key = prepared.key(stage, Role::Intermediate, &self.secrets)?;
        if key.public_key() == root.key.public_key() {
            return Err(Error::OneKey);
        }
        let created: OffsetDateTime = whole_seconds(now)?;
        let mut made = init::make_intermediate(key, next.lifetime, root, &self.issuance, created, now)?;
        made.entry.replaces = Some(old.serial);
        init::write(stage, &made, self.secrets.passphrase.as_ref())?;
        files::sync_directory(&stage.dir)?;
        Ok(made)
    }

    /// The root that is given next to the one that signs, and signs nothing yet.
    pub fn next_root(&self) -> Option<&Certificate> {
        self.in_phase(Phase::Next).map(|next| &next.entry.certificate)
    }

    fn in_phase(&self, phase: Phase) -> Option<&Own> {
        self.own.iter().find(|own| own.phase == phase)
    }

    /// After the records: files take their place, and what is held of the authority's own certificates is read again.
    fn succeeded(&mut self) -> Result<(), Error> {
        finish(&self.layout, &self.records)?;
        self.own = self.records.own()?;
        self.root = self.records.root()?;
        self.intermediate = self.records.current(Role::Intermediate)?;
        let issuing = self.issuing().clone();
        self.key = self.key_of(&issuing)?;
        self.write_own()?;
        self.write_lists()
    }

    /// Writes the certificates that relying parties look for in the directory, where others are there.
    pub(super) fn write_own(&self) -> Result<(), Error> {
        let roots = (Role::Root, self.roots_pem());
        let intermediate = self.intermediate.iter();
        let intermediate = intermediate.map(|own| (Role::Intermediate, own.certificate.to_pem()));
        for (role, pem) in std::iter::once(roots).chain(intermediate) {
            let path = self.layout.certificate(role);
            if files::read(&path, LARGEST).ok().flatten().as_deref() != Some(pem.as_bytes()) {
                files::write(&path, pem.as_bytes(), Readers::Everybody)?;
            }
        }
        Ok(())
    }
}

/// Names of functions of whose certificates one is valid, has no successor and is like this. A
/// successor took its place, or was issued later by the same names. All are in the order in which
/// they were recorded.
fn in_use_at(all: &[Entry], now: SystemTime, like: impl Fn(usize, &Entry) -> bool) -> Vec<String> {
    let replaced = |at: usize, entry: &Entry| {
        let same = |other: &Entry| other.name == entry.name && other.certificate.names() == entry.certificate.names();
        let by = |other: &Entry| other.state == State::Issued && (other.replaces == Some(entry.serial) || same(other));
        all[at + 1..].iter().any(by)
    };
    // Relying parties judge the whole chain.
    let own = all.iter().filter(|entry| entry.role != Role::NetworkFunction);
    let revoked: Vec<_> = own.filter(|own| own.revoked.is_some()).map(|own| own.serial).collect();
    let in_use = all.iter().enumerate().filter(|(at, entry)| {
        let is_function = entry.role == Role::NetworkFunction && entry.certificate.profile() != Profile::Responder;
        is_function
            && !revoked.contains(&entry.issuer)
            && entry.is_valid_at(now)
            && like(*at, entry)
            && !replaced(*at, entry)
    });
    let mut names: Vec<String> = in_use.map(|(_, entry)| entry.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Moves what was made and recorded to its place, after a crash too, and clears the rest away: but
/// for the URI of a key that a token may have made, which the next attempt looks for.
pub(super) fn finish(layout: &Layout, records: &Records) -> Result<(), Error> {
    let stage = Layout::new(&layout.succession());
    if !stage.dir.exists() {
        return Ok(());
    }
    for role in [Role::Root, Role::Intermediate] {
        let Some(text) = files::read(&stage.certificate(role), LARGEST)? else {
            continue;
        };
        let Ok(certificate) = Certificate::from_pem(&text, role.name()) else {
            continue;
        };
        let recorded = certificate.serial().map(|serial| records.by_serial(serial));
        let Some(entry) = recorded.transpose()?.flatten() else {
            continue;
        };
        let (from, to) = (stage.key(role), layout.key_of(&entry));
        if from.exists() {
            fs::rename(&from, &to).map_err(Error::file("rename a new key to", &to))?;
        }
        files::sync_directory(&layout.dir)?;
        files::remove(&stage.certificate(role))?;
    }
    let mut is_empty = true;
    for entry in fs::read_dir(&stage.dir).map_err(Error::file("look into", &stage.dir))? {
        let path = entry.map_err(Error::file("look into", &stage.dir))?.path();
        let is_key = [Role::Root, Role::Intermediate]
            .map(|role| stage.key(role))
            .contains(&path);
        if is_key && crate::key::read_file(&path)?.is_some_and(|text| key::uri_in(&text).is_some()) {
            is_empty = false;
        } else {
            files::remove(&path)?;
        }
    }
    if is_empty {
        fs::remove_dir(&stage.dir).map_err(Error::file("remove directory", &stage.dir))?;
    }
    Ok(())
}
