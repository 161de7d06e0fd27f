//! The authority at work: it holds the issuing key and the lock of its directory, and writes records and files.

mod deliver;
mod enrol;
mod init;
mod issue;
mod layout;
mod renew;
mod revoke;
mod sign;

use std::path::Path;
use std::time::SystemTime;

use crate::profile::Issuance;
use crate::records::{self, Entry, Records, Role};
use crate::{Algorithm, Certificate, Error, Passphrase, PrivateKey};

pub(crate) use deliver::chain_pem;
pub use deliver::{Destination, Overwrite};
pub use enrol::{Invitation, InvitationState, Invite, Vendor};
pub use init::{InitOptions, Intermediate};
pub use issue::{Issued, Leaf};
pub(crate) use layout::Layout;
pub use renew::{Previous, Renewal, RenewalKey};
pub use revoke::Revoked;
pub use sign::{RequestedNames, Signing};

use layout::Lock;

/// The key of an authority that was opened, held in memory by who opens it again and again.
#[derive(Debug)]
pub struct OpenedKey(PrivateKey);

/// A certificate authority opened for issuing; no other process can open it meanwhile.
#[derive(Debug)]
pub struct Authority {
    layout: Layout,
    records: Records,
    issuance: Issuance,
    root: Entry,
    intermediate: Option<Entry>,
    key: PrivateKey,
    passphrase: Option<Passphrase>,
    /// Given back last, when everything above is closed.
    _lock: Lock,
}

impl Authority {
    /// Opens the authority in `dir` and takes up what a crash may have left undone.
    ///
    /// The issuing key is the intermediate's where there is one: the root's need not be there then.
    /// Waits up to ten seconds for another process that holds the authority.
    pub fn open(dir: &Path, passphrase: Option<&Passphrase>, now: SystemTime) -> Result<Self, Error> {
        Self::open_by(dir, passphrase, None, now)
    }

    /// Opens it once more by the key of an opening before, without asking the passphrase's hundred thousands of rounds again. Where the
    /// authority signs by another key since, it is read as [`Authority::open`] does.
    pub fn open_again(
        dir: &Path,
        passphrase: Option<&Passphrase>,
        key: &OpenedKey,
        now: SystemTime,
    ) -> Result<Self, Error> {
        Self::open_by(dir, passphrase, Some(key), now)
    }

    /// The issuing key, for [`Authority::open_again`].
    pub fn opened_key(&self) -> Result<OpenedKey, Error> {
        Ok(OpenedKey(PrivateKey::from_pkcs8(self.key.to_pkcs8())?))
    }

    fn open_by(
        dir: &Path,
        passphrase: Option<&Passphrase>,
        known: Option<&OpenedKey>,
        now: SystemTime,
    ) -> Result<Self, Error> {
        let layout = Layout::new(dir);
        layout.require_whole()?;
        let lock = layout.lock()?;
        let records = Records::open(&layout.records())?;
        let root = records::root(&records)?;
        let intermediate = records.by_role(Role::Intermediate)?;
        let issuer = intermediate.as_ref().unwrap_or(&root);
        let key = match known {
            Some(OpenedKey(key)) if key.public_key() == issuer.certificate.public_key() => {
                PrivateKey::from_pkcs8(key.to_pkcs8())?
            }
            _ => read_key(&layout, issuer, passphrase)?,
        };
        let mut authority = Self {
            issuance: records.issuance()?,
            layout,
            records,
            root,
            intermediate,
            key,
            passphrase: passphrase.cloned(),
            _lock: lock,
        };
        authority.recover(now)?;
        Ok(authority)
    }

    /// The trust anchor.
    #[must_use]
    pub fn root(&self) -> &Certificate {
        &self.root.certificate
    }

    /// The intermediate's certificate, where there is one.
    #[must_use]
    pub fn intermediate(&self) -> Option<&Certificate> {
        self.intermediate.as_ref().map(|entry| &entry.certificate)
    }

    /// Kind of the key that signs network functions' certificates.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.key.algorithm()
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

    /// The certificates between a network function's and the root.
    fn between(&self) -> Vec<Certificate> {
        self.intermediate
            .iter()
            .map(|entry| entry.certificate.clone())
            .collect()
    }

    /// The root's key, which may be kept elsewhere when there is an intermediate.
    fn root_key(&self) -> Result<PrivateKey, Error> {
        read_key(&self.layout, &self.root, self.passphrase.as_ref())
    }
}

fn read_key(layout: &Layout, owner: &Entry, passphrase: Option<&Passphrase>) -> Result<PrivateKey, Error> {
    let path = layout.key(owner.role);
    let text = crate::key::read_file(&path)?.ok_or_else(|| Error::KeyOffline(path.clone()))?;
    let key = PrivateKey::from_pem(&text, passphrase).map_err(|error| match error {
        Error::Key(reason) => Error::KeyFile {
            path: path.clone(),
            reason,
        },
        Error::PassphraseNeeded(_) => Error::PassphraseNeeded(path.clone()),
        Error::WrongPassphrase(_) => Error::WrongPassphrase(path.clone()),
        other => other,
    })?;
    if key.public_key() != owner.certificate.public_key() {
        return Err(Error::KeyMismatch {
            key: path,
            certificate: layout.certificate(owner.role),
        });
    }
    Ok(key)
}

#[cfg(test)]
mod tests;
