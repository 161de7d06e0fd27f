//! Building a lab root: in a directory next to its place, by one builder at a time, moved there when it is whole.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Blueprint, Error, LabRoot, Program};

use crate::RootPrograms as _;
use crate::slot::{Slot, remove};
use stamp::stamp;

mod stamp;

/// Time limit of debootstrap: it takes one minute on a good line.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Time limit of a question to apt.
const APT_TIMEOUT: Duration = Duration::from_secs(20);

/// Space that a build takes at its height, in bytes: 640 MB unpacked and packed, and some to spare.
const SPACE: u64 = 1 << 30;

/// Place in a root, while it is built, of the packages that are unpacked over it.
const BESIDES: &str = "var/cache/apt/besides";

/// Progress of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another process builds the same root; this one waits for it.
    Waiting,
    /// The build has begun.
    Building {
        /// Directory of the root once it is built.
        directory: PathBuf,
        /// Mirror of the packages; `None` is the default of debootstrap.
        mirror: Option<String>,
    },
    /// debootstrap says what it does, for example `Retrieving openssl 3.5.7-1`.
    Step(String),
    /// The root is whole and in its place.
    Built,
}

/// Building of a lab root.
pub trait Build {
    /// The root, built first when it is not there or is not what this blueprint says.
    ///
    /// Needs root and about a minute to build; nothing when it is there. A build that is killed leaves no process and
    /// no mount, only a directory that the next build removes.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`], [`Error::MissingProgram`] (debootstrap), [`Error::NoNetwork`], [`Error::DiskFull`];
    /// [`Error::Failed`] with the last lines of debootstrap.
    fn ensure(&self, progress: &mut dyn FnMut(Progress)) -> Result<LabRoot, Error>;
}

impl Build for Blueprint {
    fn ensure(&self, progress: &mut dyn FnMut(Progress)) -> Result<LabRoot, Error> {
        if let Some(root) = self.present() {
            return Ok(root);
        }
        if !nix::unistd::geteuid().is_root() {
            return Err(Error::NotPermitted(format!(
                "building a lab root of Debian {}",
                self.suite
            )));
        }
        let slot = Slot::at(&self.directory());
        let _lock = slot.lock(progress)?;
        // The previous holder of the lock may have built it.
        if let Some(root) = self.present() {
            return Ok(root);
        }
        let blueprint = self;
        let root = Building { blueprint, slot }.build(progress)?;
        progress(Progress::Built);
        Ok(root)
    }
}

/// A build of a root.
struct Building<'a> {
    blueprint: &'a Blueprint,
    slot: Slot,
}

impl Building<'_> {
    fn build(&self, progress: &mut dyn FnMut(Progress)) -> Result<LabRoot, Error> {
        let (blueprint, slot) = (self.blueprint, &self.slot);
        let place = slot.building();
        slot.check_space(SPACE)?;
        let packages = blueprint.cache.join("packages");
        fs::create_dir_all(&packages).map_err(Error::io(format!("making {}", packages.display())))?;
        let mirror = mirror();
        progress(Progress::Building {
            directory: slot.directory(),
            mirror: mirror.clone(),
        });
        let unpacked = self
            .debootstrap(&place, &packages, mirror.as_deref(), progress)
            .and_then(|()| self.unpack_besides(&place, progress));
        let besides = match unpacked {
            Ok(besides) => besides,
            Err(error) => {
                // The cause is what the user must hear; the next build removes what this leaves.
                let _ = remove(&place);
                return Err(error);
            }
        };
        // The packages are in the cache; a second copy in the root is of no use.
        empty(&place.join("var/cache/apt/archives"));
        stamp(&place, blueprint, besides, mirror)?;
        let unusable = |place: &Path| Error::LabRoot {
            place: place.display().to_string(),
            reason: "it is not what was asked for".to_owned(),
        };
        LabRoot::read(&place)
            .ok_or_else(|| unusable(&place))?
            .version("openssl")?;
        let directory = slot.fill()?;
        LabRoot::read(&directory).ok_or_else(|| unusable(&directory))
    }

    /// debootstrap mounts inside its target and starts many programs: in a mount and a process namespace of its own
    /// neither outlives it, and it does not outlive us.
    fn debootstrap(
        &self,
        place: &Path,
        packages: &Path,
        mirror: Option<&str>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        // Asked for by name first: inside `unshare` its absence would look like a failure.
        Program::new("debootstrap")
            .package("debootstrap")
            .argument("--version")
            .run(APT_TIMEOUT)?;
        let mut program = Program::new("unshare")
            .package("util-linux")
            .arguments(["--mount", "--pid", "--fork", "--kill-child", "--", "debootstrap"])
            // Without it debootstrap goes on unverified when it has no key.
            .arguments(["--force-check-gpg", "--variant=minbase"])
            .argument(format!("--cache-dir={}", packages.display()))
            .argument(format!("--include={}", self.blueprint.packages.join(",")))
            .argument(self.blueprint.suite)
            .argument(place)
            .shown_as("debootstrap")
            .hide_arguments(6)
            .environment("LC_ALL", "C");
        if let Some(mirror) = mirror {
            program = program.argument(mirror);
        }
        if let Some(proxy) = proxy() {
            program = program.environment("http_proxy", proxy);
        }
        let finished = program.start()?.follow(BUILD_TIMEOUT, &mut |line| {
            progress(Progress::Step(line.strip_prefix("I: ").unwrap_or(line).to_owned()));
        })?;
        if finished.status.success() {
            return Ok(());
        }
        let said = [&finished.stdout, &finished.stderr]
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .concat();
        let log = fs::read_to_string(place.join("debootstrap/debootstrap.log")).unwrap_or_default();
        Err(diagnose(&said, &log, mirror, self.slot.folder()).unwrap_or_else(|| finished.into_error()))
    }

    /// Fetches and unpacks what the root has besides; the names of these packages with their
    /// versions. The root's own apt, with the lists that debootstrap has left, says what they
    /// depend on; it would remove what they conflict with, so that it only fetches.
    fn unpack_besides(
        &self,
        place: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<BTreeMap<String, String>, Error> {
        if self.blueprint.besides.is_empty() {
            return Ok(BTreeMap::new());
        }
        let archives = place.join(BESIDES);
        let partial = archives.join("partial");
        fs::create_dir_all(&partial).map_err(Error::io(format!("making {}", partial.display())))?;
        let inside = |program: &str| {
            let chroot = Program::new("chroot").package("coreutils").argument(place);
            chroot.argument(program).shown_as(program).environment("LC_ALL", "C")
        };
        let mut program = inside("apt-get")
            .arguments(["install", "--yes", "--download-only", "--no-install-recommends"])
            .argument(format!("--option=Dir::Cache::archives=/{BESIDES}"))
            .arguments(self.blueprint.besides);
        if let Some(proxy) = proxy() {
            program = program.environment("http_proxy", proxy);
        }
        let fetched = program.start()?.follow(BUILD_TIMEOUT, &mut |line| {
            if line.starts_with("Get:") {
                progress(Progress::Step(line.to_owned()));
            }
        })?;
        if !fetched.status.success() {
            return Err(fetched.into_error());
        }
        let mut unpacked = BTreeMap::new();
        for file in packages_in(&archives)? {
            let file = Path::new("/").join(BESIDES).join(file);
            let shown = inside("dpkg-deb").argument("--show").argument(&file).run(APT_TIMEOUT)?;
            let extracted = inside("dpkg-deb")
                .arguments(["--extract".as_ref(), file.as_os_str(), "/".as_ref()])
                .run(BUILD_TIMEOUT)?;
            if !extracted.status.success() {
                return Err(extracted.into_error());
            }
            if let Some((name, version)) = shown.text().trim().split_once('\t') {
                unpacked.insert(name.to_owned(), version.to_owned());
            }
        }
        remove(&archives)?;
        Ok(unpacked)
    }
}

/// Names of the packages in a directory, sorted.
fn packages_in(directory: &Path) -> Result<Vec<OsString>, Error> {
    let reading = || format!("reading {}", directory.display());
    let entries = fs::read_dir(directory).map_err(Error::io(reading()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(Error::io(reading()))?.file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "deb") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The error behind a failure of debootstrap, by its words and its log.
fn diagnose(said: &str, log: &str, mirror: Option<&str>, roots: &Path) -> Option<Error> {
    let line_with = |words: &[&str]| {
        let mut lines = said.lines().chain(log.lines());
        lines
            .find(|line| words.iter().any(|word| line.contains(word)))
            .map(|line| line.strip_prefix("E: ").unwrap_or(line).to_owned())
    };
    if let Some(reason) = line_with(&["No space left on device", "Disk quota exceeded"]) {
        return Some(Error::DiskFull {
            place: roots.display().to_string(),
            reason,
        });
    }
    if let Some(reason) = line_with(&["eyring file not available", "unknown key", "nvalid Release signature"]) {
        return Some(Error::LabRoot {
            place: roots.display().to_string(),
            reason: format!(
                "the release is not signed by a key this machine has (package debian-archive-keyring): {reason}"
            ),
        });
    }
    let reason = line_with(&[
        "Failed getting release file",
        "Couldn't download",
        "Couldn't retrieve",
        "unable to resolve",
    ])?;
    Some(Error::NoNetwork {
        mirror: mirror.unwrap_or("the default mirror of debootstrap").to_owned(),
        reason,
    })
}

/// This machine's mirror of Debian: `BARTIZAN_DEBIAN_MIRROR`, else what apt is configured with;
/// `None` when apt knows no Debian (debootstrap has a default).
fn mirror() -> Option<String> {
    if let Some(mirror) = std::env::var("BARTIZAN_DEBIAN_MIRROR")
        .ok()
        .filter(|mirror| !mirror.is_empty())
    {
        return Some(mirror);
    }
    let finished = Program::new("apt-get")
        .arguments([
            "indextargets",
            "--format",
            "$(ORIGIN)|$(LABEL)|$(SITE)",
            "Created-By: Packages",
        ])
        .run(APT_TIMEOUT)
        .ok()?;
    debian_site(&finished.text())
}

/// The first site in lines of `origin|label|site` that is Debian itself, not its security archive.
fn debian_site(targets: &str) -> Option<String> {
    targets
        .lines()
        .find_map(|line| line.strip_prefix("Debian|Debian|"))
        .map(|site| site.trim().to_owned())
}

/// The proxy apt is configured with, which debootstrap would not know.
fn proxy() -> Option<String> {
    let finished = Program::new("apt-config")
        .arguments(["dump", "--format", "%v%n", "Acquire::http::Proxy"])
        .run(APT_TIMEOUT)
        .ok()?;
    finished
        .text()
        .lines()
        .next()
        .map(str::to_owned)
        .filter(|proxy| !proxy.is_empty() && proxy != "DIRECT")
}

fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // Packed packages that stay cost space and nothing else.
        if entry.path().extension().is_some_and(|extension| extension == "deb") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
