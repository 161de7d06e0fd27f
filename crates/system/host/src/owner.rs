//! The process that owns a namespace or a child, written so that a later run can find out whether
//! it still runs.

use std::fmt;
use std::fs;
use std::process;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A process, named so that a reused process id is not mistaken for it: the id and the start time in clock ticks
/// since boot (field 22 of `/proc/<pid>/stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Owner {
    pid: u32,
    started: u64,
}

impl Owner {
    /// This process.
    pub(crate) fn current() -> Self {
        static CURRENT: OnceLock<Owner> = OnceLock::new();
        *CURRENT.get_or_init(|| {
            let pid = process::id();
            // Without a readable /proc nothing here works; 0 then only means that a later run sweeps by the id alone.
            let started = started(pid).unwrap_or(0);
            Self { pid, started }
        })
    }

    /// The process of this id, where it runs.
    pub(crate) fn running(pid: u32) -> Option<Self> {
        let started = started(pid)?;
        Some(Self { pid, started })
    }

    /// The process id.
    pub(crate) const fn pid(self) -> u32 {
        self.pid
    }

    /// Reads what `Display` wrote; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (pid, started) = text.split_once('-')?;
        // `parse` would take a sign.
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(pid) || !digits(started) {
            return None;
        }
        Some(Self {
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
        })
    }

    /// Returns true if that process still runs (a zombie does not).
    pub(crate) fn alive(self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.pid, self.started)
    }
}

/// Start time of a process that runs, in clock ticks since boot.
fn started(pid: u32) -> Option<u64> {
    started_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The same, read from the text of `/proc/<pid>/stat`; the command in parentheses may hold spaces and parentheses.
fn started_in(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // State is field 3, start time field 22 (proc_pid_stat(5)).
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_process_is_alive_and_one_that_started_earlier_under_its_id_is_not() {
        let owner = Owner::current();
        assert!(owner.alive());
        assert!(
            !Owner {
                started: owner.started - 1,
                ..owner
            }
            .alive()
        );
    }

    #[test]
    fn a_zombie_is_dead() {
        let mut child = process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        while !stat().contains(") Z ") {
            std::thread::yield_now();
        }
        assert_eq!(started(pid), None);
        child.wait().unwrap();
    }

    #[test]
    fn start_time_is_found_behind_a_command_with_parentheses() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 7777 0 0";
        assert_eq!(started_in(stat), Some(7777));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(pid: u32, started: u64) {
            let owner = Owner { pid, started };
            prop_assert_eq!(Owner::parse(&owner.to_string()), Some(owner));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text: String) {
            let _ = Owner::parse(&text);
            let _ = started_in(&text);
        }
    }
}
