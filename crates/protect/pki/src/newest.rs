//! The newest revocation lists that a relying party has seen: an older one would un-revoke what was
//! revoked since.

use std::fs;
use std::path::{Path, PathBuf};

use crate::certificate::to_pem;
use crate::revocation_list::{LABEL, newest};
use crate::trust::{ForeignCertificate, Signed};
use crate::{Error, RevocationList, files};

/// Octets of a file of revocation lists at most.
pub const LARGEST_LISTS: u64 = 16 << 20;
/// Octets of the file of remembered ones at most: besides those of a node's file it holds absent
/// ones and their issuers' certificates.
const LARGEST: u64 = 4 * LARGEST_LISTS;
pub(crate) const CERTIFICATE: &str = "CERTIFICATE";

/// The newest list of each issuer, its key and its part, and the issuers' certificates, by which
/// the next list is recognised.
///
/// A list is remembered once its signature verifies under a certificate that is trusted: a forged
/// one, with whatever number, is not.
#[derive(Debug, Clone, Default)]
pub struct NewestLists {
    file: Option<PathBuf>,
    lists: Vec<RevocationList>,
    /// DER.
    issuers: Vec<Vec<u8>>,
}

/// The lists that decide, and those of the node's file that do not.
#[derive(Debug, Clone, Default)]
pub struct InEffect {
    /// The newest known of each issuer, those signed last first.
    pub lists: Vec<RevocationList>,
    /// Those among `lists` that the node's file lacks.
    pub absent: Vec<RevocationList>,
    /// Lists of the node's file that are older than what is known.
    pub older: Vec<Older>,
    /// Lists of the node's file that are not remembered.
    pub unknown: Vec<Unknown>,
}

/// A list whose issuer's certificate is not at hand: it decides, and an older one would too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The distinguished name of its authority.
    pub issuer: String,
}

impl Unknown {
    /// Next step.
    pub const HINT: &str =
        "put the certificate of its issuer next to it, in the same file: `bartizan ca crl` writes both";
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "has a list of {}, whose certificate is not at hand: its number is not remembered, and an older list is accepted",
            self.issuer
        )
    }
}

/// A list that is older than the one that was seen before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Older {
    /// The distinguished name of its authority.
    pub issuer: String,
    /// The refused one, as [`RevocationList::named`] has it.
    pub given: String,
    /// The one that stays in effect.
    pub known: String,
}

impl std::fmt::Display for Older {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { issuer, given, known } = self;
        write!(
            f,
            "holds an older revocation list of {issuer} ({given}) than was seen before ({known}): it is refused, and the newer one stays \
             in effect"
        )
    }
}

impl NewestLists {
    /// Those seen `before` by this process and those that `file` holds; without a file they end
    /// with the process.
    ///
    /// # Errors
    /// If the file is there and cannot be read, or does not hold what was written to it.
    pub fn remembered_in(file: Option<&Path>, before: Option<&Self>) -> Result<Self, Error> {
        let mut remembered = before.cloned().unwrap_or_default();
        remembered.file = file.map(Path::to_owned);
        remembered.read()?;
        Ok(remembered)
    }

    /// Adds what the file holds.
    fn read(&mut self) -> Result<(), Error> {
        let Some(path) = &self.file else { return Ok(()) };
        // A FIFO or a device of that name is not waited for.
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::file("read", path)(std::io::Error::other("not a file")));
        }
        let Some(text) = files::read(path, LARGEST)? else {
            return Ok(());
        };
        let spoilt = |why: String| Error::file("use", path)(std::io::Error::other(why));
        let mut lists = RevocationList::read(&text).map_err(spoilt)?;
        lists.append(&mut self.lists);
        self.lists = newest(lists);
        self.add_issuers(&text);
        Ok(())
    }

    /// The lists that decide where a node's file holds this text, and its roots and its own chain,
    /// DER, are these. Lists of issuers that none of the roots has certified are forgotten.
    ///
    /// No date decides what is remembered: a start before the clock is set would forget everything.
    ///
    /// # Errors
    /// As [`RevocationList::read`].
    pub fn in_effect(&mut self, text: &[u8], roots: &[&[u8]], own: &[&[u8]]) -> Result<InEffect, String> {
        let given = RevocationList::read(text)?;
        self.add_issuers(text);
        Ok(self.decide(given, roots, own))
    }

    /// Adds certificates that stand next to lists.
    fn add_issuers(&mut self, text: &[u8]) {
        let blocks = pem::parse_many(text).unwrap_or_default().into_iter();
        let issuers = blocks.filter(|block| block.tag() == CERTIFICATE);
        for issuer in issuers.map(pem::Pem::into_contents) {
            if !self.issuers.contains(&issuer) {
                self.issuers.push(issuer);
            }
        }
    }

    fn decide(&mut self, given: Vec<RevocationList>, roots: &[&[u8]], own: &[&[u8]]) -> InEffect {
        let read = |ders: &[&[u8]]| -> Vec<_> {
            ders.iter()
                .filter_map(|der| ForeignCertificate::from_der(der).ok())
                .collect()
        };
        let from_before: Vec<&[u8]> = self.issuers.iter().map(Vec::as_slice).collect();
        let (authorities, at_hand) = (read(roots), read(&[own, &from_before].concat()));
        let is_trusted = |der: &&[u8]| {
            let issuer = ForeignCertificate::from_der(der);
            let leads = |issuer: &ForeignCertificate| authorities.iter().any(|root| issuer.is_below(root, &at_hand));
            issuer.is_ok_and(|issuer| issuer.is_authority() && leads(&issuer))
        };
        let issuers: Vec<&[u8]> = [roots, own]
            .concat()
            .into_iter()
            .chain(from_before.iter().copied().filter(is_trusted))
            .collect();
        let issuer_of = |list: &RevocationList| {
            let mut issuers = issuers.iter();
            issuers.find(|issuer| list.signed_by(issuer) == Signed::Yes).copied()
        };
        let known = self.lists.iter();
        let mut known: Vec<_> = known
            .filter_map(|list| Some((list.clone(), issuer_of(list)?.to_vec())))
            .collect();
        let is_absent = |list: &&RevocationList| !given.iter().any(|given| given.replaces(list));
        let mut found = InEffect {
            absent: known.iter().map(|(list, _)| list).filter(is_absent).cloned().collect(),
            ..InEffect::default()
        };
        for list in given {
            let before = known.iter_mut().find(|(known, _)| known.replaces(&list));
            match before {
                Some((known, _)) if known.is_newer_than(&list) => {
                    found.older.push(Older {
                        issuer: list.issuer().to_owned(),
                        given: list.named(),
                        known: known.named(),
                    });
                    found.lists.push(known.clone());
                    continue;
                }
                Some((known, issuer)) if list.signed_by(issuer) == Signed::Yes => *known = list.clone(),
                Some(_) => {}
                None => match issuer_of(&list) {
                    Some(issuer) => known.push((list.clone(), issuer.to_vec())),
                    None => found.unknown.push(Unknown {
                        issuer: list.issuer().to_owned(),
                    }),
                },
            }
            found.lists.push(list);
        }
        found.lists.extend(found.absent.iter().cloned());
        found.lists = newest(found.lists);
        self.issuers = known.iter().map(|(_, issuer)| issuer.clone()).collect();
        self.issuers.sort();
        self.issuers.dedup();
        self.lists = newest(known.into_iter().map(|(list, _)| list).collect());
        found
    }

    /// Returns true if this very list is remembered.
    pub(crate) fn has(&self, list: &RevocationList) -> bool {
        self.lists.iter().any(|known| known.der() == list.der())
    }

    /// Adds the lists that these do not replace, and their certificates.
    pub(crate) fn in_place_of(&mut self, before: Self) {
        let known = std::mem::replace(&mut self.lists, before.lists);
        for list in known {
            match self.lists.iter_mut().find(|before| list.replaces(before)) {
                Some(before) => *before = list,
                None => self.lists.push(list),
            }
        }
        self.lists = newest(std::mem::take(&mut self.lists));
        self.issuers.extend(before.issuers);
        self.issuers.sort();
        self.issuers.dedup();
    }

    /// The file by which they outlive this process.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Writes them to the file, whole or not at all, where there is one and they have changed.
    ///
    /// # Errors
    /// When the file cannot be written, or would be larger than one that is read: what it holds
    /// stays.
    pub fn save(&self) -> Result<(), Error> {
        let Some(path) = self.file.as_deref().filter(|_| !self.lists.is_empty()) else {
            return Ok(());
        };
        let issuers = self.issuers.iter().map(|der| to_pem(CERTIFICATE, der));
        let lists = self.lists.iter().map(|list| to_pem(LABEL, list.der()));
        let text: String = issuers.chain(lists).collect();
        if text.len() as u64 > LARGEST {
            let why = format!(
                "the newest lists have {} octets, and {LARGEST} are remembered at most",
                text.len()
            );
            return Err(Error::file("write", path)(std::io::Error::other(why)));
        }
        if files::read(path, LARGEST)?.is_some_and(|present| present == text.as_bytes()) {
            return Ok(());
        }
        files::write_own(path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests;
