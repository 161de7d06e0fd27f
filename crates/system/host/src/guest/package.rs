//! A guest's kernel from its package: fetched and unpacked once, under the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::slot::{Slot, remove};
use crate::{Error, LabRoot, Program, Progress, cache};

mod first_root;
mod image;
mod initramfs;

/// Fetches and unpacks; runs on this machine.
const BUILD: &str = include_str!("package/build.sh");
/// The release of Debian that has it.
const SUITE: &str = "trixie";
/// The package that depends on the newest kernel, and the shell it starts with.
const PACKAGES: [&str; 2] = ["linux-image-amd64", "busybox-static"];
/// Modules that are kept, by their paths under `kernel/`, as a regular expression: the network, its
/// ciphers, and what an emulated machine has; no other device.
const MODULES: &str = "arch|crypto|lib|net|security|fs/9p|fs/netfs|drivers/virtio|drivers/net/[^/]*[.]ko|\
                       drivers/net/(bonding|ipvlan|macvlan|netdevsim|vxlan|wireguard)";
/// Time limit of a build: it takes half a minute on a good line.
const BUILD_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Space at its height, in bytes: the package, all that is in it, and what is kept.
const SPACE: u64 = 1 << 30;
/// The file that says what is there; a directory without it is not finished.
const STAMP: &str = "bartizan-kernel.json";

/// A kernel that is to be fetched, and where it belongs.
#[derive(Debug, Clone)]
pub struct KernelBlueprint {
    slot: Slot,
}

/// A kernel that is there.
#[derive(Debug, Clone)]
pub struct KernelPackage {
    directory: PathBuf,
    stamp: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stamp {
    release: String,
    /// File names of the packages, which have their versions.
    packages: Vec<String>,
}

impl KernelBlueprint {
    /// The newest kernel of Debian 13, for x86-64.
    ///
    /// # Errors
    ///
    /// When neither `BARTIZAN_CACHE` nor `XDG_CACHE_HOME` nor `HOME` says where to keep it;
    /// [`Error::Unfit`] on other processors than x86-64.
    pub fn debian() -> Result<Self, Error> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Unfit {
                what: "the kernel of a guest".to_owned(),
                reason: format!("there is none for {}, only for x86_64", std::env::consts::ARCH),
            });
        }
        // The number is the version of our recipe.
        Ok(Self {
            slot: Slot::new(cache()?.join("kernels"), "debian-1".to_owned()),
        })
    }

    /// Directory of the kernel, fetched or not.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.slot.directory()
    }

    /// The kernel, when it is there.
    #[must_use]
    pub fn present(&self) -> Option<KernelPackage> {
        let directory = self.directory();
        let stamp = serde_json::from_slice(&fs::read(directory.join(STAMP)).ok()?).ok()?;
        Some(KernelPackage { directory, stamp })
    }

    /// The kernel, fetched first when it is not there: by apt of the lab root `root`, from its
    /// mirror, signatures checked, at most 120 MB.
    ///
    /// Needs root to be fetched; nothing when it is there.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`], [`Error::NoNetwork`], [`Error::DiskFull`]; [`Error::Failed`] with
    /// the last lines of what failed.
    pub fn ensure(&self, root: &LabRoot, progress: &mut dyn FnMut(Progress)) -> Result<KernelPackage, Error> {
        if let Some(kernel) = self.present() {
            return Ok(kernel);
        }
        if !nix::unistd::geteuid().is_root() {
            return Err(Error::NotPermitted {
                action: "fetching a kernel for guests".to_owned(),
            });
        }
        let _lock = self.slot.lock(progress)?;
        // The previous holder of the lock may have fetched it.
        if let Some(kernel) = self.present() {
            return Ok(kernel);
        }
        self.slot.check_space(SPACE)?;
        let place = self.slot.building();
        fs::create_dir(&place).map_err(Error::io(format!("making {}", place.display())))?;
        progress(Progress::Building {
            directory: self.directory(),
            mirror: None,
        });
        let built = Self::unpack(root, &place, progress).and_then(|()| Self::make_bootable(&place));
        let stamp = match built {
            Ok(stamp) => stamp,
            Err(error) => {
                // The cause is what the user must hear; the next build removes what this leaves.
                let _ = remove(&place);
                return Err(error);
            }
        };
        let directory = self.slot.fill()?;
        progress(Progress::Built);
        Ok(KernelPackage { directory, stamp })
    }

    fn unpack(root: &LabRoot, place: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        let wrapper = [
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--",
            "sh",
            "-c",
            BUILD,
            "build",
        ];
        let finished = Program::new("unshare")
            .package("util-linux")
            .arguments(wrapper)
            .argument(root.directory())
            .argument(place)
            .arguments([SUITE, MODULES])
            .arguments(PACKAGES)
            .environment("LC_ALL", "C")
            .environment("DEBIAN_FRONTEND", "noninteractive")
            .shown_as("fetching a kernel for guests")
            .hide_arguments(wrapper.len() + 4)
            .start()?
            .follow(BUILD_TIMEOUT, &mut |line| {
                if let Some(step) = line.strip_prefix("I: ") {
                    progress(Progress::Step(step.to_owned()));
                }
            })?;
        if finished.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&finished.stderr).into_owned();
        Err(diagnose(&said, place).unwrap_or_else(|| finished.into_error()))
    }

    /// Makes of what was unpacked what a guest boots, and says what it is.
    fn make_bootable(place: &Path) -> Result<Stamp, Error> {
        let read = |name: &str| {
            let path = place.join(name);
            fs::read_to_string(&path).map_err(Error::io(format!("reading {}", path.display())))
        };
        let stamp = Stamp {
            release: read("release")?.trim().to_owned(),
            packages: read("packages.list")?.lines().map(str::to_owned).collect(),
        };
        first_root::write(place, &stamp.release)?;
        image::decompress(place)?;
        let path = place.join(STAMP);
        let text = serde_json::to_vec_pretty(&stamp).map_err(|error| Error::LabRoot {
            place: path.display().to_string(),
            reason: error.to_string(),
        })?;
        fs::write(&path, text).map_err(Error::io(format!("writing {}", path.display())))?;
        Ok(stamp)
    }
}

impl KernelPackage {
    /// The release, as `uname -r` prints it.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.stamp.release
    }

    /// File names of the packages that were fetched; they have their versions.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.stamp.packages.iter().map(String::as_str)
    }

    /// Its directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file that QEMU loads.
    pub(super) fn image(&self) -> PathBuf {
        image::in_directory(&self.directory)
    }

    /// One that is not there, for tests.
    #[cfg(test)]
    pub(super) fn made_up(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            stamp: Stamp {
                release: "0.0".to_owned(),
                packages: Vec::new(),
            },
        }
    }
}

/// The error behind a failure, by the words of apt and tar.
fn diagnose(said: &str, place: &Path) -> Option<Error> {
    let line_with = |words: &[&str]| {
        let mut lines = said.lines();
        let line = lines.find(|line| words.iter().any(|word| line.contains(word)))?;
        Some(line.strip_prefix("E: ").unwrap_or(line).to_owned())
    };
    if let Some(reason) = line_with(&["No space left on device", "Disk quota exceeded"]) {
        return Some(Error::DiskFull {
            place: place.display().to_string(),
            reason,
        });
    }
    let reason = line_with(&[
        "Failed to fetch",
        "Could not resolve",
        "Temporary failure resolving",
        "Unable to fetch",
    ])?;
    Some(Error::NoNetwork {
        mirror: "the mirror of the lab root".to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_apt_become_causes() {
        let place = Path::new("/cache");
        let network = diagnose("E: Failed to fetch http://mirror.example/x.deb  404  Not Found", place).unwrap();
        assert!(matches!(network, Error::NoNetwork { .. }), "{network:?}");
        let full = diagnose("dpkg-deb: error: tar: No space left on device", place).unwrap();
        assert!(matches!(full, Error::DiskFull { .. }), "{full:?}");
        assert!(diagnose("E: something else", place).is_none());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text: String) {
            let _ = diagnose(&text, Path::new("/cache"));
        }
    }
}
