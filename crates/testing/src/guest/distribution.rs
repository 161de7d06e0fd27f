//! A distribution's own kernel, unmodified, under QEMU's emulation (TCG): every module of it, two processors, no KVM.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use bartizan_host::{Error, KernelPackage, LabRoot, Program};

use super::{GuestKernel, Terms, package, wrapped};

/// Runs on this machine.
const BOOT: &str = include_str!("distribution/boot.sh");
/// Runs in the guest.
const MAIN: &str = include_str!("distribution/main.bash");

/// A kernel from its package, and a lab root for the programs that make the guest ready.
#[derive(Debug, Clone)]
pub(super) struct Distribution {
    root: LabRoot,
    kernel: KernelPackage,
    loader: PathBuf,
    libraries: PathBuf,
}

impl Distribution {
    pub(super) fn of(root: &LabRoot, kernel: &KernelPackage) -> Result<Self, Error> {
        let (loader, libraries) = root.loader()?;
        Ok(Self {
            root: root.clone(),
            kernel: kernel.clone(),
            loader,
            libraries,
        })
    }

    pub(super) fn release(&self) -> &str {
        self.kernel.release()
    }

    pub(super) fn program(&self, terms: &Terms, name: &OsStr) -> Program {
        self.boot(terms, "no", name)
    }

    pub(super) fn program_with_line(&self, terms: &Terms, name: &OsStr) -> Result<(Program, UnixStream), Error> {
        let (ours, theirs) = UnixStream::pair().map_err(Error::io("making the line of a guest"))?;
        Ok((self.boot(terms, "yes", name).input(OwnedFd::from(theirs)), ours))
    }

    fn boot(&self, terms: &Terms, line: &str, name: &OsStr) -> Program {
        let (memory, image) = (terms.mebibytes(), package::image(&self.kernel));
        let processors = OsString::from(GuestKernel::Debian.processors().to_string());
        let without = OsString::from(terms.without.join(" "));
        let own: [&OsStr; 11] = [
            self.root.directory().as_os_str(),
            self.libraries.as_os_str(),
            self.loader.as_os_str(),
            self.kernel.directory().as_os_str(),
            self.kernel.release().as_ref(),
            image.as_os_str(),
            &memory,
            &processors,
            line.as_ref(),
            &without,
            MAIN.as_ref(),
        ];
        wrapped(BOOT, &own, name)
    }
}
