//! Starting children so that they die with us.
//!
//! `PR_SET_PDEATHSIG` fires when the *thread* that spawned the child ends (prctl(2)), so all children are spawned by
//! one thread that lives as long as the process. A child still runs where the thread is that asks for it: in the network
//! namespace that this thread has entered, not in the spawning thread's.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use crate::owner::Owner;

/// The environment variable that names the owner of a child, inherited by what the child starts.
pub(crate) const MARKER: &str = "BARTIZAN_OWNER";

type Order = (Command, mpsc::SyncSender<io::Result<Child>>);

/// The network namespace of the thread that opens it.
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// The spawning thread.
#[derive(Clone)]
struct Spawner {
    orders: mpsc::Sender<Order>,
    /// The kernel's name of its network namespace, `net:[4026531840]`; none where /proc is not there.
    namespace: Option<PathBuf>,
}

/// Whose a child, and what it starts, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// This process's: [`crate::sweep`] ends what is left of it.
    ToUs,
    /// Nobody's: what it starts is meant to outlive this process.
    ToNobody,
}

/// Starts `command` as the leader of a process group of its own, inside `namespace` if one is given and otherwise inside that of the
/// calling thread; it is killed when this process ends, however it ends.
pub(crate) fn spawn(mut command: Command, namespace: Option<File>, belongs: Belongs) -> io::Result<Child> {
    match belongs {
        Belongs::ToUs => command.env(MARKER, Owner::current().to_string()),
        Belongs::ToNobody => command.env_remove(MARKER),
    };
    command.process_group(0);
    let spawner = spawner()?;
    let namespace = match namespace {
        None if fs::read_link(OWN_NAMESPACE).ok() != spawner.namespace => Some(File::open(OWN_NAMESPACE)?),
        given => given,
    };
    let namespace = namespace.map(OwnedFd::from);
    let parent = nix::unistd::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes system calls on
    // values it owns (setns, prctl, getppid) and allocates nothing: the errors are made from raw numbers.
    unsafe {
        command.pre_exec(move || {
            if let Some(namespace) = &namespace
                && libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) != 0
            {
                return Err(io::Error::last_os_error());
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before the line above took effect.
            if libc::getppid() != parent.as_raw() {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
    let (answer, child) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that spawns children has ended");
    spawner.orders.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

/// Starts the spawning thread, unless it runs: it takes the processors of the thread that has it started.
pub(crate) fn ready() -> io::Result<()> {
    spawner().map(drop)
}

/// The spawning thread, which the first caller starts.
fn spawner() -> io::Result<Spawner> {
    static SPAWNER: Mutex<Option<Spawner>> = Mutex::new(None);
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(spawner) = &*spawner {
        return Ok(spawner.clone());
    }
    // A thread begins in the namespace of the one that starts it, and this one stays there.
    let namespace = fs::read_link(OWN_NAMESPACE).ok();
    let (sender, orders) = mpsc::channel::<Order>();
    thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        for (mut command, answer) in orders {
            // The one who asked waits for the answer; if it is gone the child is killed with us.
            let _ = answer.send(command.spawn());
        }
    })?;
    let started = Spawner {
        orders: sender,
        namespace,
    };
    *spawner = Some(started.clone());
    Ok(started)
}
