//! Removing what runs that were killed have left behind.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Error;
use crate::namespace::{self, PREFIX};
use crate::owner::Owner;
use crate::spawner::MARKER;

/// Time that killed processes may take to disappear before their namespace is removed over their
/// heads.
const GRACE: Duration = Duration::from_secs(5);

/// Things that [`sweep`] removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Names of the network namespaces.
    pub namespaces: Vec<String>,
    /// Ids of the processes: those inside the namespaces and those started by a dead run.
    pub processes: Vec<u32>,
}

/// Removes the namespaces of runs whose process no longer lives, with the processes in them, and
/// every other process that such a run has started. Namespaces and processes of a living run are
/// not touched.
///
/// # Errors
///
/// When a namespace of a dead run is there and cannot be removed ([`Error::NotPermitted`] without root).
pub fn sweep() -> Result<Swept, Error> {
    let mut swept = Swept::default();
    let mut processes = BTreeSet::new();
    let mut dead = Vec::new();
    for name in namespaces()? {
        if owner_of(&name).is_some_and(|owner| !owner.alive()) {
            processes.extend(processes_in(&name));
            dead.push(name);
        }
    }
    processes.extend(orphans());
    swept.processes.extend(end(&processes));
    for name in dead {
        namespace::ip(["netns", "delete", &name])?;
        swept.namespaces.push(name);
    }
    Ok(swept)
}

/// Kills what is in the namespace and removes it. Used where nothing can be reported, by `Drop`; what fails here is
/// found by the next [`sweep`].
pub(crate) fn remove_namespace(name: &str) {
    end(&processes_in(name));
    let _ = namespace::ip(["netns", "delete", name]);
}

/// The owner in the name of a namespace.
fn owner_of(name: &str) -> Option<Owner> {
    // btz-<pid>-<start>-<number>-<label>
    let rest = name.strip_prefix(PREFIX)?;
    let end = rest.match_indices('-').nth(1)?.0;
    Owner::parse(rest.get(..end)?)
}

/// Names of all network namespaces that `ip netns` knows.
fn namespaces() -> Result<Vec<String>, Error> {
    let directory = Path::new("/run/netns");
    let entries = match fs::read_dir(directory) {
        // No namespace has been made since boot.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io("listing the network namespaces"))?,
    };
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect())
}

/// Processes whose main thread is in the namespace, this one excepted.
fn processes_in(name: &str) -> BTreeSet<u32> {
    // `st_dev` and `st_ino` of the two handles are equal exactly when the namespaces are (namespaces(7)).
    let identity = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let Some(wanted) = identity(&namespace::path(name)) else {
        return BTreeSet::new();
    };
    // A handle whose mount is gone is a plain file and equals nothing in /proc.
    all_processes()
        .filter(|pid| identity(Path::new(&format!("/proc/{pid}/ns/net"))) == Some(wanted))
        .collect()
}

/// Processes that carry the mark of a run that is dead.
fn orphans() -> BTreeSet<u32> {
    all_processes()
        .filter(|pid| {
            let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
                return false;
            };
            marked_owner(&environment).is_some_and(|owner| !owner.alive())
        })
        .collect()
}

/// The owner named in the environment of a process (zero-terminated `NAME=value`).
fn marked_owner(environment: &[u8]) -> Option<Owner> {
    environment.split(|&byte| byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"=")?;
        Owner::parse(str::from_utf8(value).ok()?)
    })
}

fn all_processes() -> impl Iterator<Item = u32> {
    let this = std::process::id();
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(move |&pid| pid != this)
}

/// Kills these processes and waits until they are gone or the grace is over; returns those that were killed.
fn end(processes: &BTreeSet<u32>) -> Vec<u32> {
    let killed: Vec<u32> = processes
        .iter()
        .copied()
        .filter(|&pid| {
            let Ok(pid) = i32::try_from(pid) else { return false };
            kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok()
        })
        .collect();
    let begun = Instant::now();
    while killed.iter().any(|&pid| runs(pid)) && begun.elapsed() < GRACE {
        thread::sleep(Duration::from_millis(2));
    }
    killed
}

/// Returns true if the process exists and is not a zombie (which holds no namespace, file or
/// memory).
fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(')')
            .is_some_and(|(_, fields)| !fields.trim_start().starts_with(['Z', 'X']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn owner_is_read_from_the_name_of_a_namespace() {
        let owner = Owner::current();
        assert_eq!(owner_of(&format!("btz-{owner}-0-nrf-left")), Some(owner));
        for foreign in [
            "btz-",
            "btz-1",
            "btz-1-2",
            "blue",
            "btz-a-b-0-c",
            "xbtz-1-2-0-a",
            "btz--1-2-3-a",
        ] {
            assert_eq!(owner_of(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn owner_is_read_from_an_environment() {
        let owner = Owner::current();
        let environment = format!("PATH=/bin\0{MARKER}={owner}\0HOME=/\0");
        assert_eq!(marked_owner(environment.as_bytes()), Some(owner));
        assert_eq!(marked_owner(b"PATH=/bin\0"), None);
        assert_eq!(marked_owner(b""), None);
    }

    proptest! {
        #[test]
        fn no_name_and_no_environment_makes_the_readers_panic(name: String, environment: Vec<u8>) {
            let _ = owner_of(&name);
            let _ = marked_owner(&environment);
        }
    }
}
