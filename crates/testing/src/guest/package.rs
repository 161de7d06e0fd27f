//! A guest's kernel from its package: fetched and unpacked once, under the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Error, KernelBlueprint, KernelPackage, KernelStamp, LabRoot, Program};

use crate::Progress;
use crate::slot::{Slot, remove};

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
/// The kernel, fetched first when it is not there: by apt of the lab root `root`, from its
/// mirror, signatures checked, at most 120 MB.
///
/// Needs root to be fetched; nothing when it is there.
///
/// # Errors
///
/// [`Error::NotPermitted`], [`Error::NoNetwork`], [`Error::DiskFull`]; [`Error::Failed`] with
/// the last lines of what failed.
pub(super) fn ensure(
    blueprint: &KernelBlueprint,
    root: &LabRoot,
    progress: &mut dyn FnMut(Progress),
) -> Result<KernelPackage, Error> {
    if let Some(kernel) = blueprint.present() {
        return Ok(kernel);
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::NotPermitted("fetching a kernel for guests".to_owned()));
    }
    let slot = Slot::at(blueprint.directory());
    let _lock = slot.lock(progress)?;
    // The previous holder of the lock may have fetched it.
    if let Some(kernel) = blueprint.present() {
        return Ok(kernel);
    }
    slot.check_space(SPACE)?;
    let place = slot.building();
    fs::create_dir(&place).map_err(Error::io(format!("making {}", place.display())))?;
    progress(Progress::Building {
        directory: slot.directory(),
        mirror: None,
    });
    let built = unpack(root, &place, progress).and_then(|()| make_bootable(&place));
    if let Err(error) = built {
        // The cause is what the user must hear; the next build removes what this leaves.
        let _ = remove(&place);
        return Err(error);
    }
    let directory = slot.fill()?;
    progress(Progress::Built);
    KernelPackage::read(&directory).ok_or_else(|| Error::LabRoot {
        place: directory.display().to_string(),
        reason: "its stamp cannot be read".to_owned(),
    })
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
fn make_bootable(place: &Path) -> Result<(), Error> {
    let read = |name: &str| {
        let path = place.join(name);
        fs::read_to_string(&path).map_err(Error::io(format!("reading {}", path.display())))
    };
    let stamp = KernelStamp {
        release: read("release")?.trim().to_owned(),
        packages: read("packages.list")?.lines().map(str::to_owned).collect(),
    };
    first_root::write(place, &stamp.release)?;
    image::decompress(place)?;
    let path = place.join(KernelStamp::FILE);
    let text = serde_json::to_vec_pretty(&stamp).map_err(|error| Error::LabRoot {
        place: path.display().to_string(),
        reason: error.to_string(),
    })?;
    fs::write(&path, text).map_err(Error::io(format!("writing {}", path.display())))
}

/// The file that QEMU loads.
pub(super) fn image(kernel: &KernelPackage) -> PathBuf {
    image::in_directory(kernel.directory())
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
