//! A directory of the cache: built next to its place by one builder at a time, and moved there when it is whole.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use bartizan_host::Error;

use crate::Progress;

/// A place in the cache, and the place where its contents are built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Holds everything of the same kind.
    folder: PathBuf,
    /// The directory's name in it, with the version of our recipe.
    name: String,
}

impl Slot {
    /// The place of this directory.
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            folder: directory.parent().unwrap_or(directory).to_owned(),
            name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// Its directory once it is whole.
    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Everything of the same kind is in here.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Directory of the build.
    pub(crate) fn building(&self) -> PathBuf {
        self.sibling("building")
    }

    /// A path next to it that nothing else in the folder has.
    fn sibling(&self, kind: &str) -> PathBuf {
        self.folder.join(format!(".{}.{kind}", self.name))
    }

    /// Makes the folder and takes the right to build, which goes with the value and with the
    /// process that holds it; waits for another builder. Files that a killed build has left are
    /// removed.
    pub(crate) fn lock(&self, progress: &mut dyn FnMut(Progress)) -> Result<File, Error> {
        fs::create_dir_all(&self.folder).map_err(Error::io(format!("making {}", self.folder.display())))?;
        let path = self.sibling("lock");
        let action = format!("locking {}", path.display());
        let file = File::create(&path).map_err(Error::io(&action))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress(Progress::Waiting);
                file.lock().map_err(Error::io(&action))?;
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&action)(error)),
        }
        remove(&self.building())?;
        remove(&self.sibling("old"))?;
        Ok(file)
    }

    /// Moves what was built to its place, where something else may be.
    pub(crate) fn fill(&self) -> Result<PathBuf, Error> {
        let directory = self.directory();
        let moving = || Error::io(format!("moving what was built to {}", directory.display()));
        if directory.exists() {
            fs::rename(&directory, self.sibling("old")).map_err(moving())?;
        }
        fs::rename(self.building(), &directory).map_err(moving())?;
        remove(&self.sibling("old"))?;
        Ok(directory)
    }

    /// Refuses where fewer than this many bytes are free.
    pub(crate) fn check_space(&self, needed: u64) -> Result<(), Error> {
        let place = self.folder.display();
        let action = || format!("looking for space under {place}");
        let space = nix::sys::statvfs::statvfs(&self.folder).map_err(Error::errno(action()))?;
        let free = space.blocks_available().saturating_mul(space.fragment_size());
        if free < needed {
            return Err(Error::DiskFull {
                place: place.to_string(),
                reason: format!(
                    "{} MB are free, {} needs {} MB to build",
                    free >> 20,
                    self.name,
                    needed >> 20
                ),
            });
        }
        Ok(())
    }
}

/// Removes a directory with all that is in it; refuses while something is mounted there. No such directory is fine.
pub(crate) fn remove(directory: &Path) -> Result<(), Error> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(Error::io("reading the mounts"))?;
    if let Some(mount) = mount_under(&mounts, directory) {
        return Err(Error::LabRoot {
            place: directory.display().to_string(),
            reason: format!("it cannot be removed while something is mounted at {mount}"),
        });
    }
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("removing {}", directory.display()))(error))
        }
        _ => Ok(()),
    }
}

/// A mount point inside a directory (or at it), from the text of `/proc/self/mountinfo`.
fn mount_under<'a>(mounts: &'a str, directory: &Path) -> Option<&'a str> {
    mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        // The kernel writes spaces as \040; a cache path with a space still matches up to there.
        .find(|mount| Path::new(&mount.replace("\\040", " ")).starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOUNTS: &str = "22 1 0:20 / /proc rw - proc proc rw\n\
        30 1 0:30 / /cache/roots/.trixie-2.building/proc rw - proc proc rw\n";

    #[test]
    fn mounts_inside_a_directory_are_found() {
        let found = |directory: &str| mount_under(MOUNTS, Path::new(directory));
        assert_eq!(
            found("/cache/roots/.trixie-2.building"),
            Some("/cache/roots/.trixie-2.building/proc")
        );
        assert_eq!(found("/cache/roots/.trixie-1"), None);
    }

    #[test]
    fn what_a_killed_build_left_goes_and_what_is_whole_takes_the_place_of_the_old() {
        let cache = tempfile::tempdir().unwrap();
        let slot = Slot::at(&cache.path().join("kernels/one-1"));
        let whole = |text: &str| {
            fs::create_dir(slot.building()).unwrap();
            fs::write(slot.building().join("file"), text).unwrap();
        };
        let lock = slot.lock(&mut |_| {}).unwrap();
        whole("killed");
        drop(lock);
        let _lock = slot.lock(&mut |_| panic!("nobody builds")).unwrap();
        assert!(!slot.building().exists());
        for text in ["first", "second"] {
            whole(text);
            let place = slot.fill().unwrap();
            assert_eq!(fs::read_to_string(place.join("file")).unwrap(), text);
        }
        // The lock's file stays, and nothing else.
        assert_eq!(fs::read_dir(slot.folder()).unwrap().count(), 2);
        let error = slot.check_space(u64::MAX).unwrap_err();
        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text: String) {
            let _ = mount_under(&text, Path::new("/cache"));
        }
    }
}
