//! A kernel of our own for what this machine's lacks, booted for one program and turned off after it.
//!
//! ```no_run
//! # use bartizan_host::Error;
//! # use bartizan_testing::{Guest, GuestKernel};
//! # use std::time::Duration;
//! # fn main() -> Result<(), Error> {
//! let finished = Guest::ensure(GuestKernel::UserMode, &mut |_| {})?
//!     .program("sh")
//!     .arguments(["-c", "uname -r; ip xfrm state"])
//!     .run(Duration::from_secs(60))?;
//! println!("{}", finished.text());
//! # Ok(())
//! # }
//! ```
//!
//! Two kernels: User-Mode Linux and an unmodified Debian kernel under QEMU ([`GuestKernel`] says
//! what each has). In both the guest sees this machine's files under the same paths, so every
//! program, lab root and folder is where it was; what is written is there when it has ended. It has
//! network, processes, `/dev`, `/proc`, `/sys` and `/run` of its own: what it does is real, how
//! fast it does it says nothing about this machine.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;

use bartizan_host::{Error, KernelBlueprint, KernelPackage, LabRoot, Program};

use crate::{Build as _, Progress};

mod distribution;
mod kernel;
mod package;
mod user_mode;

use distribution::Distribution;
pub use kernel::GuestKernel;
use user_mode::UserMode;

/// Memory of a guest unless another bound is given, in bytes; only what is used is taken. A guest
/// under QEMU keeps its temporary files in it.
const MEMORY: u64 = 1 << 30;
const MEMORY_OF_A_MACHINE: u64 = 2 << 30;
/// The least that either kernel boots in.
const LEAST: u64 = 128 << 20;
/// On the command line of a guest's kernel, which programs in it can read.
const MARK: &str = "bartizan.guest";

/// A kernel that can be booted, as often and as many at once as wanted; each run is a guest of its own.
#[derive(Debug, Clone)]
pub struct Guest {
    booted: Booted,
    terms: Terms,
}

#[derive(Debug, Clone)]
enum Booted {
    UserMode(UserMode),
    Distribution(Distribution),
}

/// Settings of a boot.
#[derive(Debug, Clone)]
struct Terms {
    /// Bytes.
    memory: u64,
    /// Modules that are not found.
    without: Vec<&'static str>,
}

impl Terms {
    /// Its memory in whole MiB in decimal, as kernels and QEMU take them.
    fn mebibytes(&self) -> OsString {
        (self.memory >> 20).to_string().into()
    }
}

impl Guest {
    /// User-Mode Linux from a lab root, [`LabRoot::sid`].
    ///
    /// # Errors
    ///
    /// [`Error::LabRoot`] when the root has no kernel, [`Error::Unfit`] when its path cannot be given to one.
    pub fn of(root: &LabRoot) -> Result<Self, Error> {
        check_path(root.directory())?;
        Ok(Self::new(Booted::UserMode(UserMode::of(root)?), MEMORY))
    }

    /// Debian's kernel from its package, with the programs of a lab root, [`LabRoot::sid`], to make the guest ready.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] when a path cannot be given to a kernel.
    pub fn debian(root: &LabRoot, kernel: &KernelPackage) -> Result<Self, Error> {
        check_path(root.directory())?;
        check_path(kernel.directory())?;
        let booted = Booted::Distribution(Distribution::of(root, kernel)?);
        Ok(Self::new(booted, MEMORY_OF_A_MACHINE))
    }

    /// A guest of this kind; lab root and kernel are fetched first where they are not there.
    ///
    /// # Errors
    ///
    /// Those of [`Build::ensure`](crate::Build::ensure), and of a kernel that is fetched.
    pub fn ensure(kernel: GuestKernel, progress: &mut dyn FnMut(Progress)) -> Result<Self, Error> {
        let root = LabRoot::sid()?.ensure(progress)?;
        match kernel {
            GuestKernel::UserMode => Self::of(&root),
            GuestKernel::Debian => Self::debian(&root, &package::ensure(&KernelBlueprint::debian()?, &root, progress)?),
        }
    }

    fn new(booted: Booted, memory: u64) -> Self {
        let terms = Terms {
            memory,
            without: Vec::new(),
        };
        Self { booted, terms }
    }

    /// Returns true if this process runs in a guest.
    #[must_use]
    pub fn is_here() -> bool {
        fs::read_to_string("/proc/cmdline").is_ok_and(|line| line.split_ascii_whitespace().any(|word| word == MARK))
    }

    /// The release of the kernel, as `uname -r` prints it in the guest.
    #[must_use]
    pub fn release(&self) -> &str {
        match &self.booted {
            Booted::UserMode(kernel) => &kernel.release,
            Booted::Distribution(kernel) => kernel.release(),
        }
    }

    /// Sets the memory of the guest in bytes, at least 128 MiB; one gibibyte for User-Mode Linux
    /// and two for Debian's kernel by default.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.terms.memory = bytes.max(LEAST);
        self
    }

    /// The same kernel as if it lacked a module, `nf_tables` for example: it is not found when it is asked for.
    #[must_use]
    pub fn without(mut self, module: &'static str) -> Self {
        self.terms.without.push(module);
        self
    }

    /// A program that runs in a guest booted for it, by its name in `PATH` or by its path, with
    /// arguments, environment and directory as anywhere else. Its output and status are its own;
    /// standard error also has what the kernel wrote. When it ends the guest is turned off, and
    /// when it is killed, or the process that started it, nothing of the guest is left.
    ///
    /// Works as root, and without where users may make user namespaces. Status 125 says that the
    /// guest ended before the program did: [`Error::Failed`] has the last lines of its console.
    pub fn program(&self, name: impl AsRef<OsStr>) -> Program {
        match &self.booted {
            Booted::UserMode(kernel) => kernel.program(&self.terms, name.as_ref()),
            Booted::Distribution(kernel) => kernel.program(&self.terms, name.as_ref()),
        }
    }

    /// The same with standard input and standard output of the program at the other end of the
    /// stream, byte by byte and at any length; what is written before the guest has booted waits.
    /// Closing the stream closes both for the program.
    ///
    /// # Errors
    ///
    /// When the kernel gives no sockets or threads.
    pub fn program_with_line(&self, name: impl AsRef<OsStr>) -> Result<(Program, UnixStream), Error> {
        match &self.booted {
            Booted::UserMode(kernel) => kernel.program_with_line(&self.terms, name.as_ref()),
            Booted::Distribution(kernel) => kernel.program_with_line(&self.terms, name.as_ref()),
        }
    }
}

/// A kernel's command line carries the paths of root and kernel.
fn check_path(directory: &Path) -> Result<(), Error> {
    let place = directory.display().to_string();
    if !place.contains(|letter: char| letter.is_whitespace() || "'\"\\,".contains(letter)) {
        return Ok(());
    }
    Err(Error::Unfit {
        what: format!("the directory {place} of a guest"),
        reason: "its path has a space, a comma, a quote or a backslash, which a kernel's command line cannot carry"
            .to_owned(),
    })
}

/// A shell script that boots a guest in mount and process namespaces of its own, with its arguments
/// and those of the program in the guest.
fn wrapped(script: &str, own: &[&OsStr], name: &OsStr) -> Program {
    let user: &[&str] = if nix::unistd::geteuid().is_root() {
        &[]
    } else {
        &["--user", "--map-root-user"]
    };
    let namespaces = [
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--",
        "sh",
        "-c",
        script,
        "guest",
    ];
    Program::new("unshare")
        .package("util-linux")
        .arguments(user)
        .arguments(namespaces)
        .arguments(own)
        .argument(name)
        .shown_as(&name.to_string_lossy())
        .hide_arguments(user.len() + namespaces.len() + own.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bartizan_host::{KernelStamp, RootStamp};

    /// A kernel that is not there.
    fn kernel_in(directory: &Path) -> KernelPackage {
        let stamp = KernelStamp {
            release: "0".to_owned(),
            packages: Vec::new(),
        };
        fs::write(directory.join(KernelStamp::FILE), serde_json::to_vec(&stamp).unwrap()).unwrap();
        KernelPackage::read(directory).unwrap()
    }

    #[test]
    fn root_without_a_kernel_and_a_path_that_a_command_line_cannot_carry_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let made_up = |name: &str| {
            let place = directory.path().join(name);
            fs::create_dir(&place).unwrap();
            let stamp = serde_json::to_vec(&RootStamp::default()).unwrap();
            fs::write(place.join(RootStamp::FILE), stamp).unwrap();
            LabRoot::read(&place).unwrap()
        };
        let error = Guest::of(&made_up("ab")).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("it has no kernel for a guest (user-mode-linux)"),
            "{error}"
        );
        let root = made_up("a b");
        let error = Guest::of(&root).unwrap_err();
        assert!(matches!(error, Error::Unfit { .. }), "{error:?}");
        let error = Guest::debian(&root, &kernel_in(directory.path())).unwrap_err();
        assert!(matches!(error, Error::Unfit { .. }), "{error:?}");
    }

    #[test]
    fn this_machine_is_no_guest() {
        assert!(!Guest::is_here());
    }

    mod as_root {
        use super::*;
        use std::time::Duration;

        const LONG: Duration = Duration::from_secs(240);

        fn root() -> LabRoot {
            crate::needs_root();
            LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap()
        }

        #[test]
        fn guest_that_cannot_be_made_ready_says_why_by_its_console() {
            let mut guest = Guest::of(&root()).unwrap();
            // There are no modules of this release.
            if let Booted::UserMode(kernel) = &mut guest.booted {
                kernel.release = "0.0".to_owned();
            }
            let said = guest.program("true").run(LONG).unwrap_err().to_string();
            assert!(said.starts_with("`true` ended with exit status: 125"), "{said}");
            assert!(said.contains("the guest cannot be made ready: tool modprobe"), "{said}");
        }

        #[test]
        fn emulated_machine_whose_kernel_ends_says_why_by_its_console() {
            let root = root();
            let kernel = package::ensure(&KernelBlueprint::debian().unwrap(), &root, &mut |_| {}).unwrap();
            // Without the modules that reach this machine's files.
            let other = tempfile::tempdir().unwrap();
            fs::copy(package::image(&kernel), other.path().join("vmlinux")).unwrap();
            fs::write(other.path().join("initramfs"), "").unwrap();
            let guest = Guest::debian(&root, &kernel_in(other.path())).unwrap();
            let said = guest.program("true").run(LONG).unwrap_err().to_string();
            assert!(said.starts_with("`true` ended with exit status: 125"), "{said}");
            assert!(said.contains("before the program in it: "), "{said}");
            assert!(said.contains("Kernel panic - not syncing: VFS"), "{said}");
        }
    }
}
