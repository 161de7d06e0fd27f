//! The authority at work: it holds the issuing key and the lock of its directory, and writes records and files.

mod deliver;
mod enrol;
mod init;
mod issue;
mod issued;
mod key;
mod layout;
mod lists;
mod published;
mod renew;
mod revoke;
mod root_update;
mod sign;
mod succession;

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::profile::Issuance;
use crate::records::{self, Entry, Own, Records, Role};
use crate::{Algorithm, Certificate, Error, Pkcs11Uri, Secrets};
use bartizan_ledger::state::Owner;

pub(crate) use deliver::chain_pem;
pub use deliver::{Destination, Overwrite};
pub use enrol::{Invitation, InvitationState, Invite, Vendor};
pub use init::{InitOptions, Intermediate, KeySource};
pub use issue::Leaf;
pub use issued::Issued;
pub(crate) use issued::Trusted;
pub(crate) use layout::Layout;
pub use lists::{IssuedList, Unrenewed};
pub use published::Published;
pub use renew::Renewal;
pub use revoke::Revoked;
pub use root_update::RootUpdate;
pub use sign::Signing;
pub use succession::{Anyway, Successor};

use key::AuthorityKey;
pub(crate) use layout::Lock;

const HOUR: Duration = Duration::from_secs(3600);

/// The key of an authority that was opened, held by who opens it again and again: in memory, or by
/// the session of its token.
#[derive(Debug)]
pub struct OpenedKey(AuthorityKey);

/// A certificate authority opened for issuing; no other process can open it meanwhile.
#[derive(Debug)]
pub struct Authority {
    layout: Layout,
    records: Records,
    issuance: Issuance,
    /// All of its own certificates, oldest first.
    own: Vec<Own>,
    root: Entry,
    intermediate: Option<Entry>,
    key: AuthorityKey,
    secrets: Secrets,
    /// Given back last, when everything above is closed.
    _lock: Lock,
}

impl Authority {
    /// Opens the authority in `dir` and takes up what a crash may have left undone.
    ///
    /// The issuing key is the intermediate's where there is one: the root's need not be there then.
    /// Waits up to ten seconds for another process that holds the authority.
    pub fn open(dir: &Path, secrets: impl Into<Secrets>, now: SystemTime) -> Result<Self, Error> {
        Self::open_by(dir, secrets.into(), None, now)
    }

    /// Opens it once more by the key of an opening before, without asking the passphrase's hundred
    /// thousands of rounds again and without a login where the key is in a token. If the authority
    /// signs by another key since, it is read as [`Authority::open`] does.
    ///
    /// A server of an authority opens it so, and may issue nothing for weeks: the issuing key's
    /// revocation list is signed anew before it ends here too.
    pub fn open_again(
        dir: &Path,
        secrets: impl Into<Secrets>,
        key: &OpenedKey,
        now: SystemTime,
    ) -> Result<Self, Error> {
        let mut authority = Self::open_by(dir, secrets.into(), Some(key), now)?;
        // If that fails, the next issuance reports it; everything else goes on.
        let _ = authority.keep_issuing_list_fresh(now);
        Ok(authority)
    }

    /// The issuing key, for [`Authority::open_again`].
    pub fn opened_key(&self) -> OpenedKey {
        OpenedKey(self.key.clone())
    }

    fn open_by(dir: &Path, secrets: Secrets, known: Option<&OpenedKey>, now: SystemTime) -> Result<Self, Error> {
        let layout = Layout::new(dir);
        layout.require_whole()?;
        layout.require_safe(Owner::Group)?;
        let lock = layout.lock()?;
        let records = Records::open(&layout.records())?;
        let root = records.root()?;
        let intermediate = records.current(Role::Intermediate)?;
        let issuer = intermediate.as_ref().unwrap_or(&root);
        succession::finish(&layout, &records)?;
        let key = match known {
            Some(OpenedKey(key)) if key.public_key() == issuer.certificate.public_key() => key.clone(),
            _ => AuthorityKey::read(&layout, issuer, &secrets)?,
        };
        let mut authority = Self {
            issuance: records.issuance()?,
            own: records.own()?,
            layout,
            records,
            root,
            intermediate,
            key,
            secrets,
            _lock: lock,
        };
        authority.recover(now)?;
        Ok(authority)
    }

    /// The root that signs.
    pub fn root(&self) -> &Certificate {
        &self.root.certificate
    }

    /// The roots that relying parties are given, PEM: the one that signs, then the next one and
    /// those of before whose certificates are in use.
    pub fn roots_pem(&self) -> String {
        self.trusted().pem()
    }

    /// The same.
    pub fn roots(&self) -> Vec<Certificate> {
        self.trusted().roots.to_vec()
    }

    /// Returns true if a root takes another's place, or has.
    #[must_use]
    pub fn has_succession(&self) -> bool {
        self.own.iter().filter(|own| own.entry.role == Role::Root).count() > 1
    }

    fn trusted(&self) -> Trusted {
        Trusted::of(&self.own)
    }

    /// The intermediate's certificate, where there is one.
    pub fn intermediate(&self) -> Option<&Certificate> {
        self.intermediate.as_ref().map(|entry| &entry.certificate)
    }

    /// Kind of the key that signs network functions' certificates.
    pub fn algorithm(&self) -> Algorithm {
        self.key.algorithm()
    }

    /// URI of the key of the root or of the intermediate, if it is in a token.
    pub fn token_of(&self, role: Role) -> Result<Option<Pkcs11Uri>, Error> {
        let own = match role {
            Role::Root => Some(&self.root),
            _ => self.intermediate.as_ref(),
        };
        let text = own
            .map(|own| crate::key::read_file(&self.layout.key_of(own)))
            .transpose()?;
        match text.flatten() {
            Some(text) => key::uri_in(&text).transpose(),
            None => Ok(None),
        }
    }

    /// A lifetime, or the time until the issuing certificate ends where that is less: nothing is
    /// certified beyond it. In its last hour that is refused, since it would be renewed at once.
    pub fn at_most(&self, lifetime: Duration, now: SystemTime) -> Duration {
        let left = self.issuing().certificate.not_after().duration_since(now);
        left.map_or(lifetime, |left| if left < HOUR { lifetime } else { lifetime.min(left) })
    }

    /// Every certificate ever made, oldest first.
    pub fn list(&self) -> Result<Vec<Entry>, Error> {
        self.records.all()
    }

    /// The certificate with this serial number, or the newest with this name.
    pub fn show(&self, serial_or_name: &str) -> Result<Entry, Error> {
        records::find(&self.records, serial_or_name)
    }

    /// The record of the certificate that signs network functions' certificates.
    fn issuing(&self) -> &Entry {
        self.intermediate.as_ref().unwrap_or(&self.root)
    }

    /// The certificates between one and the root.
    fn between(&self, entry: &Entry) -> Vec<Certificate> {
        let issuer = self.own.iter().map(|own| &own.entry);
        let issuer = issuer.filter(|own| own.serial == entry.issuer && own.role == Role::Intermediate);
        issuer.map(|own| own.certificate.clone()).collect()
    }

    /// The root's key, which may be kept elsewhere when there is an intermediate.
    fn root_key(&self) -> Result<AuthorityKey, Error> {
        self.key_of(&self.root)
    }

    /// The key of one of its own certificates.
    fn key_of(&self, own: &Entry) -> Result<AuthorityKey, Error> {
        if own.certificate.public_key() == self.key.public_key() {
            return Ok(self.key.clone());
        }
        AuthorityKey::read(&self.layout, own, &self.secrets)
    }

    /// The issuer of a certificate, and the key by which it signs.
    fn issuer_of(&self, entry: &Entry) -> Result<(Entry, AuthorityKey), Error> {
        let issuer = self.own.iter().find(|own| own.entry.serial == entry.issuer);
        let issuer = issuer.ok_or_else(|| Error::RecordsDamaged(format!("{} has no issuer", entry.serial)))?;
        Ok((issuer.entry.clone(), self.key_of(&issuer.entry)?))
    }
}

#[cfg(test)]
mod tests;
