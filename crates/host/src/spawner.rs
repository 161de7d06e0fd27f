//! Starting children so that they die with us.
//!
//! `PR_SET_PDEATHSIG` fires when the *thread* that spawned the child ends (prctl(2)), so all children are spawned by
//! one thread that lives as long as the process.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use crate::owner::Owner;

/// The environment variable that names the owner of a child, inherited by what the child starts.
pub(crate) const MARKER: &str = "BARTIZAN_OWNER";

type Order = (Command, mpsc::SyncSender<io::Result<Child>>);

/// Starts `command` as the leader of a process group of its own, inside `namespace` if one is given; it is killed
/// when this process ends, however it ends.
pub(crate) fn spawn(mut command: Command, namespace: Option<File>) -> io::Result<Child> {
    command.env(MARKER, Owner::current().to_string());
    command.process_group(0);
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
    spawner()?.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

/// Starts the spawning thread, unless it runs: it takes the processors of the thread that has it started.
pub(crate) fn ready() -> io::Result<()> {
    spawner().map(drop)
}

/// The way to the spawning thread, which is started by the first caller.
fn spawner() -> io::Result<mpsc::Sender<Order>> {
    static SPAWNER: Mutex<Option<mpsc::Sender<Order>>> = Mutex::new(None);
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*spawner {
        return Ok(sender.clone());
    }
    let (sender, orders) = mpsc::channel::<Order>();
    thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        for (mut command, answer) in orders {
            // The one who asked waits for the answer; if it is gone the child is killed with us.
            let _ = answer.send(command.spawn());
        }
    })?;
    *spawner = Some(sender.clone());
    Ok(sender)
}
