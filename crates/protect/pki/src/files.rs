//! Files that appear whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};

use bartizan_ledger::state;

use crate::{Error, Serial};

/// Mark of the hidden name of a file that is written at once.
pub(crate) const NEW: &str = "new";

/// Readers of a file that replaces none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner alone: mode 0600.
    Owner,
    /// Everybody: mode 0644.
    Everybody,
}

/// Owner and mode of the files of a certificate, where they do not follow the replaced files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// User and group of all of them, and of their directory where it is made for them.
    pub owner: Option<(u32, u32)>,
    /// Mode of the key.
    pub key_mode: Option<u32>,
}

impl Access {
    /// That of a file which is there.
    pub(crate) fn of(path: &Path) -> Self {
        fs::metadata(path).map_or_else(
            |_| Self::default(),
            |found| Self {
                owner: Some((found.uid(), found.gid())),
                key_mode: Some(found.mode() & NOT_EVERYBODY),
            },
        )
    }
}

/// Rights of a secret that may be given.
const NOT_EVERYBODY: u32 = 0o770;

/// Flaw of a private key's file whose mode gives rights to every user of the host; none otherwise.
///
/// The one rule for sidecars, IPsec and MACsec: owner and group may read a key, as services that
/// are not root need it.
#[must_use]
pub fn open_to_everyone(key: &fs::Metadata) -> Option<String> {
    let mode = key.mode() & 0o7777;
    let others = 0o777 & !NOT_EVERYBODY;
    (mode & others != 0).then(|| format!("has mode {mode:04o}: every user of this host can use the key"))
}

/// Folder of a private key and its flaw, where its mode lets every user of the host replace the
/// key; none otherwise. A sticky bit leaves each file to its owner.
#[must_use]
pub fn open_folder(key: &Path) -> Option<(PathBuf, String)> {
    let folder = parent(key);
    let mode = fs::metadata(folder).ok()?.mode() & 0o7777;
    let cause = format!("has mode {mode:04o}: every user of this host can replace the key in it");
    (mode & 0o1002 == 0o002).then(|| (folder.to_owned(), cause))
}

/// Remedy for [`open_folder`].
pub const CLOSE_FOLDER: &str = "chmod o-w takes that right away; replace the key if another user may have put it there";

/// Flaw of a private key's file that holds something else in PEM, such as the certificate; none
/// otherwise. It goes before [`open_to_everyone`]: `chmod` makes no key of it.
#[must_use]
pub fn no_key(text: &[u8]) -> Option<&'static str> {
    let holds = |block: &str| text.windows(block.len()).any(|found| found == block.as_bytes());
    if holds("PRIVATE KEY-----") {
        return None;
    }
    let others = [
        ("-----BEGIN CERTIFICATE-----", "holds a certificate and no private key"),
        (
            "-----BEGIN CERTIFICATE REQUEST-----",
            "holds a certificate signing request and no private key",
        ),
        ("-----BEGIN PUBLIC KEY-----", "holds a public key and no private key"),
        ("-----BEGIN X509 CRL-----", "holds a revocation list and no private key"),
    ];
    others.into_iter().find(|(block, _)| holds(block)).map(|(_, flaw)| flaw)
}

/// Remedy for [`no_key`].
pub const GIVE_KEY: &str = "name the key's file: `ca issue` writes it as NAME.key.pem next to NAME.crt.pem";

/// Remedy for [`open_to_everyone`].
pub const CLOSE_KEY: &str = "chmod 600 gives it to its owner alone, chmod 640 to a group as well; \
     replace the key if another user may have read it";

/// A file written and synced under a hidden name, waiting to take its own.
#[derive(Debug)]
pub(crate) struct Staged {
    temporary: PathBuf,
    path: PathBuf,
}

impl Staged {
    /// Writes `contents` next to `path`, under the name [`staging_path`] gives for `mark`. If it
    /// will replace a file it has that file's owner, group and mode: a reader of the old one, say a
    /// service that is not root, reads the new one. `access` goes before that. A secret is kept
    /// from everybody all the same.
    pub(crate) fn write(
        path: &Path,
        mark: &str,
        contents: &[u8],
        readers: Readers,
        access: Access,
    ) -> Result<Self, Error> {
        let temporary = staging_path(path, mark);
        // One that cannot be removed is in the way of the new one, which then fails.
        let _ = remove(&temporary);
        let mode = match readers {
            Readers::Owner => 0o600,
            Readers::Everybody => 0o644,
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&temporary)
            .map_err(Error::file("create", &temporary))?;
        let replaced = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let owner = access
            .owner
            .or(replaced.as_ref().map(|replaced| (replaced.uid(), replaced.gid())));
        if let Some((user, group)) = owner {
            let own = file.metadata().map_err(Error::file("look at", &temporary))?;
            if (own.uid(), own.gid()) != (user, group) {
                let doing = match access.owner {
                    Some(_) => "give its owner and group to",
                    None => "keep owner and group of",
                };
                fchown(&file, Some(user), Some(group)).map_err(Error::file(doing, path))?;
            }
        }
        let mode = match readers {
            Readers::Owner => access.key_mode.or(replaced.map(|replaced| replaced.mode())),
            Readers::Everybody => replaced.map(|replaced| replaced.mode()),
        };
        if let Some(mode) = mode {
            let most = match readers {
                Readers::Owner => NOT_EVERYBODY,
                Readers::Everybody => 0o777,
            };
            file.set_permissions(fs::Permissions::from_mode(mode & most))
                .map_err(Error::file("set the mode of", path))?;
        }
        file.write_all(contents).map_err(Error::file("write", &temporary))?;
        file.sync_all().map_err(Error::file("sync", &temporary))?;
        Ok(Self {
            temporary,
            path: path.to_owned(),
        })
    }

    /// Gives the file its own name, replacing what had it.
    pub(crate) fn commit(self) -> Result<(), Error> {
        fs::rename(&self.temporary, &self.path).map_err(Error::file("rename a new file to", &self.path))
    }
}

/// The hidden name a file has while it is written.
pub(crate) fn staging_path(path: &Path, mark: &str) -> PathBuf {
    hidden_path(path, &format!("{mark}.partial"))
}

/// A hidden file next to this one: `.NAME.MARK`.
pub(crate) fn hidden_path(path: &Path, mark: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(mark);
    path.with_file_name(name)
}

/// Writes a file whole: temporary name, sync, rename, sync of the directory.
pub(crate) fn write(path: &Path, contents: &[u8], readers: Readers) -> Result<(), Error> {
    Staged::write(path, NEW, contents, readers, Access::default())?.commit()?;
    sync_directory(parent(path))
}

/// Writes a file as its own, without owner and mode of the one before it: a confined process may
/// change neither. Several services of a host may write the same file at once.
pub(crate) fn write_own(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let (mut file, staged) = new_next_to(path)?;
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    let written = written.map_err(Error::file("write", path));
    let temporary = staged.temporary.clone();
    if let Err(error) = written.and_then(|()| staged.commit()) {
        // The first error says more.
        let _ = remove(&temporary);
        return Err(error);
    }
    sync_directory(parent(path))
}

/// Makes and removes a file next to this one: fails where [`write_own`] would.
pub(crate) fn make_next_to(path: &Path) -> Result<(), Error> {
    remove(&new_next_to(path)?.1.temporary)
}

/// A new file under a name that no other process uses: those in containers may have one PID.
fn new_next_to(path: &Path) -> Result<(File, Staged), Error> {
    let temporary = staging_path(path, &format!("{}.{NEW}", Serial::random()?));
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&temporary)
        .map_err(Error::file("create a file next to", path))?;
    let path = path.to_owned();
    Ok((file, Staged { temporary, path }))
}

/// Makes a directory for its owner alone (0700), and those above it, durably; one that exists is left as it is.
pub(crate) fn create_directory(dir: &Path) -> Result<(), Error> {
    create_directory_for(dir, Access::default())
}

/// The same; the directory itself gets its owner where it is made.
pub(crate) fn create_directory_for(dir: &Path, access: Access) -> Result<(), Error> {
    let missing: Vec<&Path> = dir
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.is_dir())
        .collect();
    for path in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(path) {
            // Another process was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
            other => other.map_err(Error::file("create directory", path))?,
        }
        if let Some((user, group)) = access.owner
            && path == dir
        {
            chown(path, Some(user), Some(group)).map_err(Error::file("give its owner and group to", path))?;
        }
        sync_directory(parent(path))?;
    }
    Ok(())
}

/// Takes a file from everybody but its owner.
pub(crate) fn for_owner_alone(path: &Path) -> Result<(), Error> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(Error::file("set the mode of", path))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(dir: &Path) -> Result<(), Error> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(Error::file("sync directory", dir))
}

/// Removes a file if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Reads a file of at most `most` octets; none where it is not there.
pub(crate) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    use std::io::Read;

    let file = match state::open_to_read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(Error::file("read", path))?,
    };
    let mut contents = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut contents)
        .map_err(Error::file("read", path))?;
    if contents.len() as u64 > most {
        return Err(Error::KeyFile {
            path: path.to_owned(),
            reason: format!("more than {most} octets"),
        });
    }
    Ok(Some(contents))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_secret_file_is_its_owners_from_its_first_moment() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nrf.key.pem");
        let staged = Staged::write(&path, "1", b"secret", Readers::Owner, Access::default()).unwrap();
        assert_eq!(mode(&staging_path(&path, "1")), 0o600);
        assert!(!path.exists());
        staged.commit().unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    /// The key of a service came back from a renewal as root's alone, and its reload was refused.
    #[test]
    fn a_file_that_replaces_another_has_its_owner_and_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nrf.key.pem");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, b"new", Readers::Owner).unwrap();
        assert_eq!(mode(&path), 0o640, "the group's right is kept, and everybody's is not");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        // Only root may give files away.
        let given = std::os::unix::fs::chown(&path, Some(10101), Some(10101)).is_ok();
        write(&path, b"newer", Readers::Owner).unwrap();
        let replaced = fs::metadata(&path).unwrap();
        assert_eq!(
            (mode(&path), fs::read(&path).unwrap().as_slice()),
            (0o400, &b"newer"[..])
        );
        if given {
            assert_eq!((replaced.uid(), replaced.gid()), (10101, 10101));
        }
    }

    #[test]
    fn a_folder_in_which_every_user_can_replace_a_key_is_a_flaw_and_a_group_or_a_sticky_bit_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("nrf.key.pem");
        for (mode, flawed) in [
            (0o700, false),
            (0o770, false),
            (0o1777, false),
            (0o777, true),
            (0o702, true),
        ] {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            let found = open_folder(&key);
            assert_eq!(found.is_some(), flawed, "{mode:o}");
            let named =
                found.is_none_or(|(folder, cause)| folder == dir.path() && cause.contains(&format!("{mode:04o}")));
            assert!(named, "{mode:o}");
        }
    }

    #[test]
    fn a_file_left_by_a_crash_is_not_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.crt.pem");
        fs::write(staging_path(&path, NEW), "half").unwrap();
        write(&path, b"whole", Readers::Everybody).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let made = dir.path().join("a/b");
        create_directory(&made).unwrap();
        assert_eq!(mode(&made), 0o700);
        create_directory(&made).unwrap();
    }

    #[test]
    fn a_file_too_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        fs::write(&path, [0; 100]).unwrap();
        assert!(read(&path, 99).is_err());
        assert_eq!(read(&path, 100).unwrap().unwrap().len(), 100);
        assert!(read(&dir.path().join("none"), 1).unwrap().is_none());
    }
}
