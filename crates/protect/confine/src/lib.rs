//! Privileges that a sidecar drops once its ports are open: it parses what unauthenticated clients send, and needs none of the rights it
//! started with.
//!
//! [`apply`] takes one step after the other and reports the outcome of each; a kernel that lacks something is reported, never
//! passed over. What is dropped cannot be regained: the process can only be restarted.
//!
//! Call it where the process has one thread, between opening the ports and opening the ledger (whose writer is a thread): the
//! change of user and seccomp reach every thread; capabilities of an unchanged user, and Landlock on kernels before its ABI 8,
//! reach the calling thread and those it starts later. The report counts the others.
#![forbid(unsafe_code)]

mod capabilities;
mod filesystem;
mod report;
mod system_calls;
mod user;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use bartizan_deployment::{Files, Sidecar};

pub use report::{Outcome, Report, Step};
pub use user::{UnknownUser, User};

/// Files that a name lookup reads.
const NAMES: [&str; 4] = [RESOLVERS, "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf"];
const RESOLVERS: &str = "/etc/resolv.conf";

/// Rights that a process keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Files and directories it may read. A file that is replaced by renaming is another file: name its directory.
    pub read: Vec<PathBuf>,
    /// Directories it may read and write in, and files it may write to.
    pub write: Vec<PathBuf>,
    /// The user it becomes, where it was started as root.
    pub user: Option<User>,
}

impl Confinement {
    /// Rights of a sidecar while it serves: to read its certificate, key, roots, revocation lists
    /// and deployment file again when they change, to append to its ledger, to remember the newest
    /// revocation lists, and to write those that it fetches.
    pub fn of_sidecar(deployment_file: &Path, files: &Files, sidecar: &Sidecar, user: Option<User>) -> Self {
        let files_read = files.watched().map(PathBuf::as_path);
        let mut read: Vec<_> = [deployment_file].into_iter().chain(files_read).map(directory).collect();
        read.sort();
        read.dedup();
        let fetched = files.crl.as_deref().filter(|_| files.crl_url.is_some());
        let written = files.known_lists.as_deref().into_iter().chain(fetched);
        let ledger = sidecar.ledger.iter().map(|ledger| ledger.file.as_path());
        let mut kept = Self {
            read,
            write: ledger.chain(written).map(directory).collect(),
            user,
        };
        if let Some(url) = &files.crl_url {
            kept.look_up(&url.host);
        }
        kept
    }

    /// Besides, the files by which the name of this host is looked up.
    pub fn look_up(&mut self, host: &str) {
        if host.parse::<IpAddr>().is_err() {
            let is_there = |path: &&Path| path.exists() || *path == Path::new(RESOLVERS);
            let names = NAMES.iter().map(Path::new).filter(is_there);
            self.read.extend(names.map(lasting));
        }
    }

    /// Besides, a file that is read again when it has been replaced by another of its name.
    pub fn read_again(&mut self, file: &Path) {
        self.read.push(directory(file));
    }
}

/// Turns core dumps, and tracing by processes of the same user, off: private keys come into memory
/// and their files can be opened through /proc.
///
/// # Errors
/// The kernel's error.
pub fn keep_memory_private() -> std::io::Result<()> {
    Ok(nix::sys::prctl::set_dumpable(false)?)
}

/// Drops everything but what `confinement` names.
///
/// The steps, in this order: supplementary groups, group and user; the bounding set and all capabilities; `no_new_privs`; core
/// dumps and tracing; Landlock; seccomp. A step that fails does not stop those after it. The caller must end the process where
/// [`Report::failed`] names one.
#[must_use = "a step that failed leaves the process with more than it should have"]
pub fn apply(confinement: &Confinement) -> Report {
    // Other threads are counted before the process is confined, while /proc is surely readable.
    let others = threads().saturating_sub(1);
    Report::new(vec![
        Step::new("bounding set", capabilities::empty_bounding_set()),
        Step::new("user", user::become_user(confinement.user.as_ref())),
        Step::new("capabilities", capabilities::drop_all(others)),
        Step::new("no new privileges", capabilities::no_new_privileges()),
        Step::new("memory", capabilities::no_dumps()),
        Step::new("landlock", filesystem::restrict(confinement, others)),
        Step::new("seccomp", system_calls::restrict()),
    ])
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

fn directory(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A path to read a file at, although it is replaced by renaming: of a link into another
/// folder, as those of systemd-resolved and NetworkManager, that folder; else the file as it is.
/// Not `/` or `/run`, which hold more than a resolver's files. One that is not there is given back:
/// the report names it.
fn lasting(path: &Path) -> PathBuf {
    let target = fs::canonicalize(path).ok();
    let folder = target.as_deref().and_then(Path::parent);
    folder
        .filter(|folder| Some(*folder) != path.parent() && folder.components().count() > 2)
        .map_or_else(|| path.to_owned(), Path::to_owned)
}

#[cfg(test)]
mod tests;
