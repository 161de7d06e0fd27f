//! A kernel of our own for what this machine's lacks: User-Mode Linux, a Linux kernel that runs as an ordinary process.
//!
//! ```no_run
//! # use bartizan_host::{Guest, LabRoot, Error};
//! # use std::time::Duration;
//! # fn main() -> Result<(), Error> {
//! let root = LabRoot::sid()?.ensure(&mut |_| {})?;
//! let finished = Guest::of(&root)?
//!     .program("sh")
//!     .arguments(["-c", "uname -r; ip xfrm state"])
//!     .run(Duration::from_secs(60))?;
//! println!("{}", finished.text());
//! # Ok(())
//! # }
//! ```
//!
//! The guest sees this machine's files under the same paths, so every program, lab root and folder is where it was; what is written
//! is there when it has ended. It has network, processes, `/dev`, `/proc`, `/sys` and `/run` of its own, SCTP, ESP, MACsec,
//! netem and kTLS, one processor, and ciphers in plain C: what it does is real, how fast it does it says nothing about this machine.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::{Error, LabRoot, Program};

mod line;

/// Runs on this machine.
const BOOT: &str = include_str!("guest/boot.sh");
/// Runs in the guest.
const MAIN: &str = include_str!("guest/main.bash");
/// Runs in the guest beside a program that has a line.
const RELAY: &str = include_str!("guest/relay.pl");
/// What a guest gets unless it is told, in bytes; only what is used is taken.
const MEMORY: u64 = 1 << 30;

/// A kernel that can be booted, as often and as many at once as wanted; each run is a guest of its own.
#[derive(Debug, Clone)]
pub struct Guest {
    root: LabRoot,
    release: String,
    loader: PathBuf,
    libraries: PathBuf,
    memory: u64,
    without: Vec<&'static str>,
}

impl Guest {
    /// The kernel in a lab root, [`LabRoot::sid`].
    ///
    /// # Errors
    ///
    /// [`Error::LabRoot`] when the root has no kernel, [`Error::Unfit`] when its path cannot be given to one.
    pub fn of(root: &LabRoot) -> Result<Self, Error> {
        let place = root.directory().display().to_string();
        if place.contains(|letter: char| letter.is_whitespace() || "'\"\\,".contains(letter)) {
            return Err(Error::Unfit {
                what: format!("the lab root {place} of a guest"),
                reason:
                    "its path has a space, a comma, a quote or a backslash, which a kernel's command line cannot carry"
                        .to_owned(),
            });
        }
        let modules = root.directory().join("usr/lib/uml/modules");
        let release = fs::read_dir(&modules).ok().and_then(|mut entries| entries.next()?.ok());
        let release = release.and_then(|entry| entry.file_name().into_string().ok());
        let release = release.filter(|_| root.directory().join("usr/bin/linux.uml").is_file());
        let (loader, libraries) = root.loader()?;
        Ok(Self {
            release: release.ok_or_else(|| Error::LabRoot {
                place,
                reason: "it has no kernel for a guest (user-mode-linux)".to_owned(),
            })?,
            root: root.clone(),
            loader,
            libraries,
            memory: MEMORY,
            without: Vec::new(),
        })
    }

    /// The release of the kernel, as `uname -r` prints it in the guest.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// How many bytes of memory the guest may use, at least 128 MiB; a gibibyte unless this is said.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes.max(128 << 20);
        self
    }

    /// The same kernel as if it lacked a module, `nf_tables` for example: it is not found when it is asked for.
    #[must_use]
    pub fn without(mut self, module: &'static str) -> Self {
        self.without.push(module);
        self
    }

    /// A program that runs in a guest booted for it, by its name in `PATH` or by its path, with arguments, environment and
    /// directory as anywhere else. Its output and status are its own; standard error also has what the kernel had to say.
    /// When it ends the guest is turned off, and when it is killed, or the process that started it, nothing of the guest is left.
    ///
    /// Works as root, and without where users may make user namespaces. Status 125 says that the
    /// guest ended before the program did: [`crate::Error::Failed`] has the last lines of its console.
    #[must_use]
    pub fn program(&self, name: impl AsRef<OsStr>) -> Program {
        self.boot("no", name.as_ref())
    }

    /// The same with standard input and standard output of the program at the other end of the stream, byte by byte and at any
    /// length; what is written before the guest has booted waits. Closing the stream closes both for the program.
    ///
    /// # Errors
    ///
    /// When the kernel gives no sockets or threads.
    pub fn program_with_line(&self, name: impl AsRef<OsStr>) -> Result<(Program, UnixStream), Error> {
        let (ours, theirs) = line::make()?;
        Ok((self.boot("yes", name.as_ref()).input(OwnedFd::from(theirs)), ours))
    }

    fn boot(&self, line: &str, name: &OsStr) -> Program {
        let root = self.root.directory();
        let user: &[&str] = if nix::unistd::geteuid().is_root() {
            &[]
        } else {
            &["--user", "--map-root-user"]
        };
        let own = [
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--",
            "sh",
            "-c",
            BOOT,
            "guest",
        ];
        Program::new("unshare")
            .package("util-linux")
            .arguments(user)
            .arguments(own)
            .argument(root)
            .argument(&self.release)
            .argument(&self.libraries)
            .argument(&self.loader)
            .argument((self.memory >> 20).to_string())
            .argument(line)
            .argument(self.without.join(" "))
            .argument(MAIN)
            .argument(RELAY)
            .argument(name)
            .shown_as(&name.to_string_lossy())
            .hide_arguments(user.len() + own.len() + 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_without_a_kernel_and_a_path_that_a_command_line_cannot_carry_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let error = Guest::of(&LabRoot::made_up(directory.path())).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("it has no kernel for a guest (user-mode-linux)"),
            "{error}"
        );
        let error = Guest::of(&LabRoot::made_up(&directory.path().join("a b"))).unwrap_err();
        assert!(matches!(error, Error::Unfit { .. }), "{error:?}");
    }

    mod as_root {
        use super::super::*;
        use std::time::Duration;

        #[test]
        fn guest_that_cannot_be_made_ready_says_why_by_its_console() {
            assert!(
                nix::unistd::geteuid().is_root(),
                "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
            );
            let root = LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
            let mut guest = Guest::of(&root).unwrap();
            // There are no modules of this release.
            guest.release = "0.0".to_owned();
            let error = guest.program("true").run(Duration::from_secs(240)).unwrap_err();
            let said = error.to_string();
            assert!(said.starts_with("`true` ended with exit status: 125"), "{said}");
            assert!(said.contains("the guest cannot be made ready: tool modprobe"), "{said}");
        }
    }
}
