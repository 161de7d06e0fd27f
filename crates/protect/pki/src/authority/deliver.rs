//! Bringing a certificate and its key to where they are used, and taking that up again after a crash.
//!
//! The order of steps, any of which may be the last one done:
//!
//! 1. the record, state `pending`, with the certificate in it, is committed;
//! 2. roots, key and chain are written under hidden names in the destination and synced;
//! 3. roots, key and chain take their names;
//! 4. the record becomes `issued`.
//!
//! The next opening of the authority finds a pending record if the crash came after 1. If the key
//! is there, hidden or not, or its holder has it anyway, the remaining steps are done. If it is
//! not, it never left the dead process: the certificate is revoked, state `abandoned`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::issued::{Foreign, subjects};
use super::{Authority, Issued, lists};
use crate::files::{self, Access, Readers, Staged};
use crate::lifetime::whole_seconds;
use crate::records::{self, Entry, Reason, State};
use crate::{Certificate, Error, PrivateKey};

/// Most octets of a certificate file that is read back.
const LARGEST_CHAIN: u64 = 1024 * 1024;

bartizan_registry::made! {
    /// Destination of a certificate's files.
    #[derive(Debug, Clone)]
    pub struct Destination,
    /// A directory in which nothing is overwritten.
    pub new(dir: &Path) {
        /// Directory; made if it is not there.
        pub dir: PathBuf = dir.to_owned(),
        /// Action on files that are there already.
        pub overwrite: Overwrite = Overwrite::Refuse,
        /// Owner and mode of the files.
        pub access: Access = Access::default(),
    }
}

/// Action on files that are in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// Leave them and refuse.
    #[default]
    Refuse,
    /// Replace them.
    Replace,
}

impl Destination {
    /// The directory as the records keep it: absolute, so that recovery finds it from anywhere.
    pub(super) fn recorded(&self) -> Result<String, Error> {
        let absolute = std::path::absolute(&self.dir).map_err(Error::file("find", &self.dir))?;
        absolute
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| Error::Path(self.dir.clone()))
    }
}

impl Authority {
    /// Steps 1 to 4. If a file cannot be written, the files that are there decide, as they would
    /// after a crash.
    pub(super) fn record_and_deliver(
        &mut self,
        mut entry: Entry,
        issued: &Issued,
        destination: &Destination,
        now: SystemTime,
    ) -> Result<(), Error> {
        files::create_directory_for(&destination.dir, destination.access)?;
        self.record(&entry)?;
        if let Err(error) = write(&destination.dir, issued, destination.access) {
            self.recover(now)?;
            return Err(error);
        }
        self.settle(&mut entry)
    }

    /// Step 4.
    fn settle(&mut self, entry: &mut Entry) -> Result<(), Error> {
        entry.state = State::Issued;
        entry.destination = None;
        let transaction = self.records.begin()?;
        records::update_state(&transaction, entry)?;
        transaction.commit()?;
        Ok(())
    }

    /// Takes up what a crash left: pending certificates, and a revocation list that was recorded but not written out.
    pub(super) fn recover(&mut self, now: SystemTime) -> Result<(), Error> {
        self.write_own()?;
        for mut entry in self.records.pending()? {
            if !entry.carries_key {
                // Its holder has the key. Should the files not get there, they can be written from the records.
                if let Some(dir) = entry.destination.as_deref() {
                    let _ = write(Path::new(dir), &self.issued(&entry, None), Access::default());
                }
                self.settle(&mut entry)?;
                continue;
            }
            match found_key(&entry) {
                Found::Key(dir, key, access) => {
                    let issued = self.issued(&entry, Some(key));
                    // A destination that cannot be written to now must not stop the authority: it stays pending.
                    if write(&dir, &issued, access).is_ok() {
                        self.settle(&mut entry)?;
                    }
                }
                Found::Nothing => self.abandon(entry, now)?,
                Found::Unreadable => {}
            }
        }
        self.write_lists()
    }

    fn abandon(&mut self, mut entry: Entry, now: SystemTime) -> Result<(), Error> {
        entry.state = State::Abandoned;
        entry.revoked = Some(whole_seconds(now)?);
        entry.reason = Some(Reason::CessationOfOperation);
        entry.destination = None;
        let (issuer, key) = self.issuer_of(&entry)?;
        let transaction = self.records.begin()?;
        records::update_state(&transaction, &entry)?;
        lists::sign_list(&transaction, &issuer, &key, lists::DAYS, now)?;
        transaction.commit()?;
        Ok(())
    }
}

/// State of a pending certificate's key.
enum Found {
    /// The key, in this directory, and whose it is there.
    Key(PathBuf, PrivateKey, Access),
    /// No file holds it: it never left the process that died.
    Nothing,
    /// A file that may hold it cannot be read.
    Unreadable,
}

/// Looks for the key of a pending certificate in its destination, whether it had taken its name or not.
fn found_key(entry: &Entry) -> Found {
    let Some(dir) = entry.destination.as_deref().map(PathBuf::from) else {
        return Found::Nothing;
    };
    let paths = Paths::new(&dir, &entry.name);
    let mark = entry.serial.to_string();
    let hidden = files::staging_path(&paths.key, &mark);
    for path in [&paths.key, &hidden] {
        let access = Access::of(path);
        let text = match crate::key::read_file(path) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(_) => return Found::Unreadable,
        };
        // Half a key, or the key of an older certificate, is not the one looked for.
        if let Ok(key) = PrivateKey::from_pem(&text, None)
            && key.public_key() == entry.certificate.public_key()
        {
            return Found::Key(dir, key, access);
        }
    }
    for partial in [hidden, files::staging_path(&paths.chain, &mark)] {
        // A file that cannot be removed is half a file under a hidden name: no program takes it for
        // a key.
        let _ = files::remove(&partial);
    }
    Found::Nothing
}

bartizan_registry::made! {
    /// The three files of a certificate.
    struct Paths, new(dir: &Path, name: &str) {
        key: PathBuf = dir.join(format!("{name}.key.pem")),
        chain: PathBuf = dir.join(format!("{name}.crt.pem")),
        root: PathBuf = dir.join("ca.crt.pem"),
    }
}

/// The file of roots in a directory.
pub(super) fn roots_in(dir: &Path) -> Result<Option<Vec<u8>>, Error> {
    files::read(&Paths::new(dir, "").root, LARGEST_CHAIN)
}

/// Leaf first, then those above it: the order of TLS (RFC 9846, section 4.4.2).
pub(crate) fn chain_pem(certificate: &Certificate, between: &[Certificate]) -> String {
    let mut pem = certificate.to_pem();
    for above in between {
        pem.push_str(&above.to_pem());
    }
    pem
}

/// Refuses a destination where a file is in the way. The files of `previous`, which `issued` takes
/// the place of, are not.
pub(super) fn check(destination: &Destination, issued: &Issued, previous: Option<&Certificate>) -> Result<(), Error> {
    let paths = Paths::new(&destination.dir, &issued.name);
    let present = files::read(&paths.chain, LARGEST_CHAIN)?;
    if destination.overwrite == Overwrite::Refuse {
        let own = |text: &[u8]| {
            let read = Certificate::from_pem(text, "");
            read.is_ok_and(|found| previous.is_some_and(|previous| found.der() == previous.der()))
        };
        let replaceable = present.as_deref().is_some_and(own);
        if present.is_some() && !replaceable {
            return Err(Error::FileExists(paths.chain));
        }
        if issued.key.is_some() && paths.key.exists() && !replaceable {
            return Err(Error::FileExists(paths.key));
        }
        if let Some(text) = files::read(&paths.root, LARGEST_CHAIN)? {
            let foreign = issued.trusted.foreign(&text);
            if !foreign.is_empty() && issued.foreign == Foreign::InTheWay {
                return Err(Error::ForeignRoots {
                    path: paths.root,
                    roots: subjects(&foreign),
                });
            }
            // Something else than roots.
            if pem::parse_many(&text).map_or(true, |found| found.is_empty()) {
                return Err(Error::FileExists(paths.root));
            }
        }
    }
    // A certificate for a key that stays where it is must not be put next to another key.
    if issued.key.is_none()
        && let Some(text) = crate::key::read_file(&paths.key)?
        && let Ok(key) = PrivateKey::from_pem(&text, None)
        && key.public_key() != issued.certificate.public_key()
    {
        return Err(Error::KeyMismatch {
            key: paths.key,
            certificate: paths.chain,
        });
    }
    Ok(())
}

/// Steps 2 and 3.
pub(super) fn write(dir: &Path, issued: &Issued, access: Access) -> Result<(), Error> {
    files::create_directory_for(dir, access)?;
    let paths = Paths::new(dir, &issued.name);
    let mark = issued.serial.to_string();
    let key = issued
        .key_pem()
        .map(|pem| Staged::write(&paths.key, &mark, pem.as_bytes(), Readers::Owner, access))
        .transpose()?;
    let chain = Staged::write(
        &paths.chain,
        &mark,
        issued.chain_pem().as_bytes(),
        Readers::Everybody,
        access,
    )?;
    let present = roots_in(dir)?;
    let roots = issued.roots_next_to(present.as_deref().unwrap_or_default());
    let roots = (present.as_deref() != Some(roots.as_bytes()))
        .then(|| Staged::write(&paths.root, &mark, roots.as_bytes(), Readers::Everybody, access))
        .transpose()?;
    // The hidden names must be durable before the first of them is given up.
    files::sync_directory(dir)?;
    // Roots first: a certificate that is renewed is not renewed again for their sake.
    for staged in roots.into_iter().chain(key).chain([chain]) {
        staged.commit()?;
    }
    files::sync_directory(dir)
}
