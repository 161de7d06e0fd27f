//! A process that clears up after a run that was killed.
//!
//! The kernel ends a run's processes with the run. It does not end their children, remove network
//! namespaces, or restore the scheduling precedence that the run has taken. The guard waits until
//! the run is gone, and does all three.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Message of a run that ends by itself.
const DONE: &[u8] = b"done\n";
/// Time for the kernel to end the processes of a killed run.
const GRACE: Duration = Duration::from_millis(500);

/// Held by a run; its end by itself ends the guard without more.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts one: `own guard`, for a run with this scratch folder.
    ///
    /// # Errors
    /// Fails if it cannot be started.
    pub fn start(own: &Path, scratch: &Path) -> io::Result<Self> {
        let mut command = Command::new(own);
        command.args(["guard", "--scratch"]).arg(scratch);
        // A group of its own: Ctrl-C goes to that of the run.
        command.process_group(0).current_dir("/");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().map(Self)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut way) = self.0.stdin.take() {
            let _ = way.write_all(DONE);
        }
        let _ = self.0.wait();
    }
}

/// Waits at standard input until the run is over; clears up when it did not say that it is.
pub fn watch(scratch: &Path) {
    let mut said = Vec::new();
    // It can only be longer if it is not a run that speaks.
    let _ = io::stdin().take(DONE.len() as u64 + 1).read_to_end(&mut said);
    if said == DONE {
        return;
    }
    thread::sleep(GRACE);
    let _ = bartizan_host::sweep();
    let _ = fs::remove_dir_all(scratch);
    // Dropping gives back what the killed run has taken: a precedence of -20 counts as left over.
    drop(bartizan_machine::Priority::highest());
}
