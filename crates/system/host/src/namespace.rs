//! Network namespaces.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};

use crate::owner::Owner;
use crate::sweep;
use crate::{Error, Program};

/// Every namespace of ours begins with this; the owner and the label follow.
pub(crate) const PREFIX: &str = "btz-";

/// Time limit of an `ip` command: they take milliseconds; a machine out of memory takes longer.
const IP_TIMEOUT: Duration = Duration::from_secs(20);

/// A network namespace of our own, visible to `ip netns`, with its loopback up.
///
/// Dropping it kills every process left inside and removes it, and with it its end of every veth pair.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    handle: File,
}

impl Namespace {
    /// Makes one, named `btz-<pid>-<start>-<number>-<label>`. The first call of a process also sweeps what killed
    /// runs have left behind.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`] without root, [`Error::MissingProgram`] without iproute2.
    pub fn create(label: &str) -> Result<Self, Error> {
        static SWEEP: Once = Once::new();
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if label.is_empty()
            || label.len() > 64
            || !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err(Error::Unfit {
                what: format!("label `{label}` of a namespace"),
                reason: "only letters, digits and `-`, at most 64".to_owned(),
            });
        }
        if !nix::unistd::geteuid().is_root() {
            return Err(Error::NotPermitted("making a network namespace".to_owned()));
        }
        SWEEP.call_once(|| {
            // Leftovers of others do not stop this run: the names cannot collide. [`sweep::sweep`] reports them.
            let _ = sweep::sweep();
        });
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}-{label}", Owner::current());
        ip(["netns", "add", &name])?;
        let handle = File::open(path(&name)).map_err(|source| {
            // The namespace exists and nothing owns it yet.
            sweep::remove_namespace(&name);
            Error::io(format!("opening the network namespace {name}"))(source)
        })?;
        let namespace = Self { name, handle };
        ip(["-n", &namespace.name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// The name that `ip netns` shows.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` on a thread of its own inside the namespace and returns what it returned. Sockets opened there
    /// belong to the namespace for their whole life, wherever they are used.
    ///
    /// # Errors
    ///
    /// When the kernel does not let the thread enter.
    ///
    /// # Panics
    ///
    /// When `work` panics.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter_this_thread()?;
                Ok(work())
            });
            match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Moves the calling thread into the namespace for the rest of its life (for a thread that runs a runtime
    /// there); other threads stay where they are.
    ///
    /// # Errors
    ///
    /// When the kernel does not let the thread enter.
    pub fn enter_this_thread(&self) -> Result<(), Error> {
        setns(self.handle.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(Error::errno(format!("entering the network namespace {}", self.name)))
    }

    /// Another handle to the same namespace, for a child that is to run inside.
    pub(crate) fn handle(&self) -> Result<File, Error> {
        self.handle
            .try_clone()
            .map_err(Error::io(format!("opening the network namespace {}", self.name)))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        sweep::remove_namespace(&self.name);
    }
}

/// The file in which `ip netns` keeps the handle of a namespace.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from("/run/netns").join(name)
}

/// Runs `ip` with these arguments.
pub(crate) fn ip<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    Program::new("ip")
        .package("iproute2")
        .arguments(arguments)
        .run(IP_TIMEOUT)
        .map(drop)
}
