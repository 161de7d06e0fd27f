//! Directories that hold a program's state, and the files in them: one check of owner, mode and type.
//! Files that a program reads: one check of their type.
//!
//! A directory that another user owns or may write to lets that user replace keys, records and locks.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Owners of a directory that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The user of this process.
    User,
    /// The user of this process; any user where that is root, who maintains the state of services.
    UserOrMaintained,
    /// Any, and its group may write: volumes of Kubernetes belong to a group (`fsGroup`).
    Group,
}

/// Makes a directory (0700) and those above it where it is not there, and checks it.
pub fn make_directory(dir: &Path, owner: Owner) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    check_directory(dir, owner)
}

/// Refuses what is no directory, one of another user, and one that other users may write to.
pub fn check_directory(dir: &Path, owner: Owner) -> io::Result<()> {
    let found = fs::metadata(dir)?;
    if !found.is_dir() {
        return refuse("it is no directory");
    }
    if !is_ours(&found, owner)? {
        return refuse("it belongs to another user");
    }
    let others = match owner {
        Owner::Group => 0o002,
        _ => 0o022,
    };
    if found.mode() & others != 0 {
        return refuse("other users may write to it: chmod go-w takes that away");
    }
    Ok(())
}

const LINK: &str = "it is a symbolic link, which is not followed: give the path of the file itself";
const NO_FILE: &str = "it is no regular file: a pipe or a device keeps nothing, give the path of a file";

/// Opens a file of certificates, keys or lists, following symbolic links and without waiting on a
/// FIFO.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        let why = "not a file: it is a directory, a pipe or a device";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    Ok(file)
}

/// Opens a file of state, without following a symbolic link and without waiting on a FIFO.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open_with_mode(path, options, 0o600)
}

/// The same, with the mode of a new file.
pub(crate) fn open_with_mode(path: &Path, options: &mut OpenOptions, mode: u32) -> io::Result<File> {
    let file = options
        .mode(mode)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let file = match file {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return refuse(LINK),
        // A FIFO without a reader, opened for writing.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return refuse(NO_FILE),
        other => other?,
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return refuse(NO_FILE);
    }
    Ok(file)
}

fn is_ours(found: &fs::Metadata, owner: Owner) -> io::Result<bool> {
    // Owned by the effective user of this process.
    let user = fs::metadata("/proc/self")?.uid();
    Ok(match owner {
        Owner::User => found.uid() == user,
        Owner::UserOrMaintained => found.uid() == user || user == 0,
        Owner::Group => true,
    })
}

fn refuse<T>(reason: &str) -> io::Result<T> {
    Err(io::Error::new(ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_directory_of_others_is_no_place_for_state() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("a/b");
        make_directory(&dir, Owner::User).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
        for mode in [0o777, 0o770, 0o702] {
            fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
            let refused = make_directory(&dir, Owner::UserOrMaintained).unwrap_err();
            assert!(refused.to_string().contains("may write"), "{refused}");
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        make_directory(&dir, Owner::User).unwrap();
        // Only root may give a directory away.
        if chown(&dir, Some(10101), None).is_ok() {
            let refused = check_directory(&dir, Owner::User).unwrap_err();
            assert!(refused.to_string().contains("another user"), "{refused}");
            check_directory(&dir, Owner::UserOrMaintained).unwrap();
        }
    }

    #[test]
    fn a_link_is_not_followed_and_a_fifo_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("lock"));
        symlink(&target, &link).unwrap();
        let mut create = OpenOptions::new();
        create.write(true).create(true).truncate(false);
        assert!(open(&link, &mut create).unwrap_err().to_string().contains("symbolic"));
        assert!(!target.exists());
        let fifo = place.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        for options in [&mut create, OpenOptions::new().read(true)] {
            let refused = open(&fifo, options).unwrap_err();
            assert!(refused.to_string().contains("no regular file"), "{refused}");
        }
        for none in [fifo.as_path(), place.path()] {
            let refused = open_to_read(none).unwrap_err();
            assert!(refused.to_string().contains("not a file"), "{refused}");
        }
        open(&target, &mut create).unwrap();
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o600);
        // Volumes of Kubernetes are links.
        open_to_read(&link).unwrap();
    }
}
