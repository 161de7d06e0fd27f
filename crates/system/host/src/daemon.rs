//! Daemons: processes that outlive the process that started them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::owner::Owner;
use crate::spawner::Belongs;
use crate::{Error, Program};

/// Interval at which a state without an event is polled.
const POLL: Duration = Duration::from_millis(5);

/// A daemon, by its id and the time that it started at: another process that has its id later is
/// not taken for it. It can be written down, for the process that looks after it next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon(Owner);

impl Daemon {
    /// The process id.
    pub const fn id(self) -> u32 {
        self.0.pid()
    }

    /// Returns true if it runs.
    #[must_use]
    pub fn is_alive(self) -> bool {
        self.0.alive()
    }

    /// Asks it to end (SIGTERM), and kills it (SIGKILL) when it does not within `grace`. One that has ended has ended.
    pub fn end(self, grace: Duration) {
        self.signal(Signal::SIGTERM);
        let deadline = Instant::now() + grace;
        while self.is_alive() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        self.signal(Signal::SIGKILL);
        // A killed process is gone when the kernel has taken it down.
        let deadline = Instant::now() + grace;
        while self.is_alive() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
    }

    fn signal(self, signal: Signal) {
        if self.is_alive() {
            // It can end in between, and then there is nothing to signal.
            let _ = kill(Pid::from_raw(self.id().cast_signed()), signal);
        }
    }
}

impl Program {
    /// Starts a program that goes into the background by itself and writes its process id to a
    /// file. It outlives this process; what it wrote before it went is in the error where it did
    /// not go.
    ///
    /// # Errors
    ///
    /// Those of [`Program::start`]; [`Error::Failed`] where it ends with another status than 0,
    /// [`Error::Late`] where it stays, or writes no such file.
    pub fn daemonize(self, pid_file: &Path, patience: Duration) -> Result<Daemon, Error> {
        let removing = || format!("removing {}", pid_file.display());
        match fs::remove_file(pid_file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io(removing())(error)),
            _ => {}
        }
        let deadline = Instant::now() + patience;
        let (mut child, program, output) = self.spawn(Belongs::ToNobody)?;
        let late = |what: &str, tail: String| Error::Late {
            program: program.clone(),
            what: what.to_owned(),
            within: patience,
            tail,
        };
        // Not as a [`crate::Process`], whose group is killed when it ends: the daemon leaves that group a moment later.
        let status: ExitStatus = loop {
            if let Some(status) = child
                .try_wait()
                .map_err(Error::io(format!("waiting for `{program}`")))?
            {
                break status;
            }
            if Instant::now() >= deadline {
                let _ = child.kill();
                let _ = child.wait();
                return Err(late("go into the background", output.last_lines()));
            }
            thread::sleep(POLL);
        };
        if !status.success() {
            output.wait_for_end(Instant::now() + Duration::from_secs(1));
            return Err(Error::Failed {
                program: program.clone(),
                status,
                tail: output.last_lines(),
            });
        }
        loop {
            let written = fs::read_to_string(pid_file)
                .ok()
                .and_then(|text| text.trim().parse().ok());
            if let Some(daemon) = written.and_then(Owner::running) {
                return Ok(Daemon(daemon));
            }
            if Instant::now() >= deadline {
                return Err(late(&format!("write {}", pid_file.display()), output.last_lines()));
            }
            thread::sleep(POLL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(120);

    fn shell(script: &str, file: &Path) -> Program {
        Program::new("sh").arguments(["-c", script, "sh"]).argument(file)
    }

    #[test]
    fn daemon_is_known_by_its_id_and_ends_when_it_is_asked_or_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        for script in [
            r#"setsid sh -c 'echo $$ > "$0"; exec sleep 1000' "$1" > /dev/null 2>&1 < /dev/null &"#,
            r#"setsid sh -c 'trap "" TERM; echo $$ > "$0"; while :; do sleep 1000; done' "$1" > /dev/null 2>&1 < /dev/null &"#,
        ] {
            let daemon = shell(script, &file).daemonize(&file, LONG).unwrap();
            assert!(daemon.is_alive());
            let environment = fs::read(format!("/proc/{}/environ", daemon.id())).unwrap();
            assert!(
                !environment.windows(14).any(|part| part == b"BARTIZAN_OWNER"),
                "a sweep would end it"
            );
            let written = serde_json::to_string(&daemon).unwrap();
            assert_eq!(serde_json::from_str::<Daemon>(&written).unwrap(), daemon);
            daemon.end(Duration::from_millis(300));
            assert!(!daemon.is_alive());
        }
    }

    #[test]
    fn program_that_fails_or_stays_is_no_daemon() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let failed = shell("echo no such interface; exit 3", &file)
            .daemonize(&file, LONG)
            .unwrap_err();
        assert!(failed.to_string().contains("no such interface"), "{failed}");
        let stays = shell("exec sleep 1000", &file)
            .daemonize(&file, Duration::from_millis(200))
            .unwrap_err();
        assert!(matches!(stays, Error::Late { .. }), "{stays}");
        // It has to end within that time.
        let silent = shell("exit 0", &file)
            .daemonize(&file, Duration::from_secs(3))
            .unwrap_err();
        assert!(silent.to_string().contains("write "), "{silent}");
    }
}
