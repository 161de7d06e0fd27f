//! A watch's memory, which `status` reads: the last refusal of each link, the last end, and since
//! when there is no answer.
//!
//! charon itself keeps none of it. The file is next to the locks, in a directory of root's, and is
//! of use only as long as its writer holds the lock next to it: without a running watch, nothing is
//! reported from memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_host::FileLock;
use bartizan_ledger::{Authentication, SaRefused, Why};
use serde::{Deserialize, Serialize};

use crate::drive;

/// Interval between checks that another watch of the same charon has ended.
const AGAIN: Duration = Duration::from_secs(1);

/// Memory of a node's links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// By connection.
    pub links: BTreeMap<String, OfLink>,
    /// The last refusal of a peer that is of none of them.
    pub unknown: Option<Refused>,
}

/// Memory of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfLink {
    /// Since when the peer gives no answer, in microseconds since 1970.
    pub no_answer_since_us: Option<u64>,
    /// The last refusal.
    pub last_refusal: Option<Refused>,
    /// The last end of one of its SAs, except by a rekey.
    pub last_end: Option<Ended>,
    /// Authentication of its newest IKE_SA, as the engine's log reports it.
    pub authentication: Option<Authentication>,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// Which, as in the ledger.
    #[serde(flatten)]
    pub what: SaRefused,
}

/// The end of an SA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// Why.
    pub why: Why,
    /// charon's own line, where there is one.
    pub detail: Option<String>,
}

/// The memory, and its place.
#[derive(Debug, Default)]
pub(super) struct Memory {
    kept: Remembered,
    file: Option<PathBuf>,
    lock: Option<FileLock>,
    tried: Option<SystemTime>,
    written: bool,
}

impl Memory {
    /// Kept in this file from now on.
    pub(super) fn in_file(file: PathBuf) -> Self {
        let mut memory = Self::default();
        memory.file = Some(file);
        memory
    }

    pub(super) fn refused(&mut self, what: &SaRefused) {
        let refused = Refused {
            at_us: micros(SystemTime::now()),
            what: what.clone(),
        };
        match &what.connection {
            Some(connection) => self.link(connection).last_refusal = Some(refused),
            None => self.kept.unknown = Some(refused),
        }
        self.written = false;
    }

    pub(super) fn ended(&mut self, connection: &str, why: Why, detail: Option<String>) {
        self.link(connection).last_end = Some(Ended {
            at_us: micros(SystemTime::now()),
            why,
            detail,
        });
        self.written = false;
    }

    pub(super) fn authenticated(&mut self, connection: &str, by: &Authentication) {
        self.link(connection).authentication = Some(by.clone());
        self.written = false;
    }

    pub(super) fn silent(&mut self, connection: &str, since: Option<SystemTime>) {
        let since = since.map(micros);
        let link = self.link(connection);
        if link.no_answer_since_us != since {
            link.no_answer_since_us = since;
            self.written = false;
        }
    }

    fn link(&mut self, connection: &str) -> &mut OfLink {
        self.kept.links.entry(connection.to_owned()).or_default()
    }

    /// Writes what is new. Another watch of the same charon that began before writes in its place; where it cannot be written, `status` says
    /// that nothing is known.
    pub(super) fn write(&mut self) {
        let Some(file) = &self.file else { return };
        if self.lock.is_none() {
            let now = SystemTime::now();
            let soon = |tried: SystemTime| now.duration_since(tried).is_ok_and(|since| since < AGAIN);
            if self.tried.is_some_and(soon) {
                return;
            }
            self.tried = Some(now);
            self.lock = FileLock::take(&lock_path(file), Duration::ZERO, || ()).ok().flatten();
            self.written = false;
        }
        if self.lock.is_some() && !self.written {
            self.written = put(file, &self.kept).is_some();
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let (Some(file), Some(_)) = (&self.file, &self.lock) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Memory of the watch over the charon behind `socket`. None if no watch runs.
pub fn remembered(socket: &Path) -> Option<Remembered> {
    let file = file_of(socket)?;
    // A successful lock means that no watch runs. A moment's hold keeps no watch out: it tries
    // again.
    let text = fs::read(&file).ok()?;
    match FileLock::take(&lock_path(&file), Duration::ZERO, || ()) {
        Ok(None) => serde_json::from_slice(&text).ok(),
        _ => None,
    }
}

/// Path of the memory's file.
pub(super) fn file_of(socket: &Path) -> Option<PathBuf> {
    let lock = drive::Lock::place(socket).ok()?;
    Some(with(&lock, ".watch.json"))
}

fn lock_path(file: &Path) -> PathBuf {
    with(file, ".lock")
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut longer = path.as_os_str().to_owned();
    longer.push(end);
    longer.into()
}

/// In one step, so that no reader sees half of it.
fn put(file: &Path, kept: &Remembered) -> Option<()> {
    // The directory is root's alone.
    let new = with(file, ".new");
    fs::write(&new, serde_json::to_vec(kept).ok()?).ok()?;
    fs::rename(&new, file).ok()
}

/// Microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_read_back_for_as_long_as_its_watch_runs() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("of ours/one.watch.json");
        let mut memory = Memory::in_file(file.clone());
        memory.ended("cu--ric", Why::PeerLost, Some("giving up after 6 retransmits".into()));
        memory.silent("cu--ric", Some(UNIX_EPOCH + Duration::from_secs(1)));
        memory.write();
        let mut other = Memory::in_file(file.clone());
        other.ended("cu--ric", Why::Expired, None);
        other.write();
        let read: Remembered = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(read, memory.kept);
        assert_eq!(read.links["cu--ric"].no_answer_since_us, Some(1_000_000));
        drop(memory);
        assert!(!file.exists());
    }
}
