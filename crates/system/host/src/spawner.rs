//! Starting children so that they die with us.
//!
//! `PR_SET_PDEATHSIG` fires when the *thread* that spawned the child ends (prctl(2)), so all
//! children are spawned by one thread that lives as long as the process. A child still runs where
//! the thread is that asks for it: in the network namespace that this thread has entered, not in
//! the spawning thread's.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crate::owner::Owner;

/// The environment variable that names the owner of a child, inherited by what the child starts.
pub(crate) const MARKER: &str = "BARTIZAN_OWNER";

type Order = (Command, mpsc::SyncSender<io::Result<Child>>);

/// The network namespace of the thread that opens it.
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// Tries of a program that is busy, and the interval between them.
const BUSY_TRIES: usize = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// The spawning thread.
#[derive(Clone)]
struct Spawner {
    orders: mpsc::Sender<Order>,
    /// The kernel's name of its network namespace, `net:[4026531840]`; none where /proc is not there.
    namespace: Option<PathBuf>,
}

/// The owner of a child and of what it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// This process's: [`crate::sweep`] ends what is left of it.
    ToUs,
    /// No owner: what it starts is meant to outlive this process.
    ToNobody,
}

/// Starts `command` as the leader of a process group of its own, inside `namespace` if one is given
/// and otherwise inside that of the calling thread; it is killed when this process ends, however it
/// ends.
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

/// A program that was written a moment ago can be busy (ETXTBSY): a child that another thread has
/// forked and that runs no program yet has it open for writing too.
fn begin(command: &mut Command) -> io::Result<Child> {
    for _ in 1..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(BUSY_PAUSE),
            known => return known,
        }
    }
    command.spawn()
}

/// Starts the spawning thread, unless it runs: it takes the processors of the thread that has it started.
///
/// # Errors
///
/// When the kernel gives no thread.
pub fn ready() -> io::Result<()> {
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
            let _ = answer.send(begin(&mut command));
        }
    })?;
    let started = Spawner {
        orders: sender,
        namespace,
    };
    *spawner = Some(started.clone());
    Ok(started)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use super::*;

    #[test]
    fn program_that_is_open_for_writing_for_a_moment_is_started_then() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        fs::write(&path, "#!/bin/sh\nexit 7\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let busy = File::options().append(true).open(&path).unwrap();
        let start = || spawn(Command::new(&path), None, Belongs::ToUs);
        let begun = Instant::now();
        assert_eq!(start().unwrap_err().kind(), io::ErrorKind::ExecutableFileBusy);
        let tried = BUSY_PAUSE * u32::try_from(BUSY_TRIES - 1).unwrap();
        assert!(begun.elapsed() >= tried, "it is not tried again");
        let writer = thread::spawn(move || {
            thread::sleep(BUSY_PAUSE * 3);
            drop(busy);
        });
        // The writer may not run for as long as it is tried.
        let mut child = loop {
            match start() {
                Ok(child) => break child,
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
            }
        };
        assert_eq!(child.wait().unwrap().code(), Some(7));
        writer.join().unwrap();
    }
}
