//! User-Mode Linux: a kernel that runs as an ordinary process, from a lab root.
//!
//! SCTP, ESP, MACsec, netem and kTLS, one processor, ciphers in plain C, nftables for bridges
//! alone; booted in two or three seconds.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::{Terms, wrapped};
use bartizan_host::{Error, LabRoot, Program};

mod line;

/// Runs on this machine.
const BOOT: &str = include_str!("user_mode/boot.sh");
/// Runs in the guest.
const MAIN: &str = include_str!("user_mode/main.bash");
/// Runs in the guest next to a program that has a line.
const RELAY: &str = include_str!("user_mode/relay.pl");

/// The kernel in a lab root.
#[derive(Debug, Clone)]
pub(super) struct UserMode {
    root: LabRoot,
    pub(super) release: String,
    loader: PathBuf,
    libraries: PathBuf,
}

impl UserMode {
    pub(super) fn of(root: &LabRoot) -> Result<Self, Error> {
        let modules = root.directory().join("usr/lib/uml/modules");
        let release = fs::read_dir(&modules).ok().and_then(|mut entries| entries.next()?.ok());
        let release = release.and_then(|entry| entry.file_name().into_string().ok());
        let release = release.filter(|_| root.directory().join("usr/bin/linux.uml").is_file());
        let (loader, libraries) = root.loader()?;
        Ok(Self {
            release: release.ok_or_else(|| Error::LabRoot {
                place: root.directory().display().to_string(),
                reason: "it has no kernel for a guest (user-mode-linux)".to_owned(),
            })?,
            root: root.clone(),
            loader,
            libraries,
        })
    }

    pub(super) fn program(&self, terms: &Terms, name: &OsStr) -> Program {
        self.boot(terms, "no", name)
    }

    pub(super) fn program_with_line(&self, terms: &Terms, name: &OsStr) -> Result<(Program, UnixStream), Error> {
        let (ours, theirs) = line::make()?;
        Ok((self.boot(terms, "yes", name).input(OwnedFd::from(theirs)), ours))
    }

    fn boot(&self, terms: &Terms, line: &str, name: &OsStr) -> Program {
        let (memory, without) = (terms.mebibytes(), OsString::from(terms.without.join(" ")));
        let own: [&OsStr; 9] = [
            self.root.directory().as_os_str(),
            self.release.as_ref(),
            self.libraries.as_os_str(),
            self.loader.as_os_str(),
            &memory,
            line.as_ref(),
            &without,
            MAIN.as_ref(),
            RELAY.as_ref(),
        ];
        wrapped(BOOT, &own, name)
    }
}
