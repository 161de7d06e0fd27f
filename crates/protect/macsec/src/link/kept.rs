//! Record of the keys at a port that outlives the controller: the peer that shares them, and the
//! time at which they end. A successor keeps no key without one. Times count from the kernel's
//! start: nothing sets that clock, and keys do not outlive the kernel.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use bartizan_host::private_directory;
use bartizan_ledger::Negotiated;
use bartizan_tls::{Endpoint, Refusal};
use serde::{Deserialize, Serialize};

use super::Setting;
use super::proven::EVERY;
use super::record::began;
use crate::boot::Boot;
use crate::kernel::State;
use crate::{Error, KeyId};

/// Octets of a record: the chain of a TLS handshake (64 KiB at most), as JSON.
const LONGEST: u64 = 512 * 1024;
/// Seconds by which two readings of one time differ: fractions are cut.
const ROUNDING: u64 = 2;

/// Proof of a peer: its certificate chain in DER, and what the handshake negotiated. Empty where
/// this end has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Proof {
    pub(super) chain: Vec<Vec<u8>>,
    pub(super) negotiated: Option<Negotiated>,
}

/// One record. No key is in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    peer: String,
    interface: String,
    /// Names of the keys, or of the CAK above them; none where wpa_supplicant derives that.
    names: Vec<String>,
    /// Name of the kernel's start, from which seconds count here.
    boot: String,
    /// Last authentication of the peer.
    authenticated_s: Option<u64>,
    /// Deadline of the keys; none where they rest on no authentication.
    ends_s: Option<u64>,
    proof: Proof,
}

/// Authentication behind keys that a predecessor left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    names: Vec<String>,
    /// Its time.
    pub(super) authenticated: Option<Instant>,
    /// Deadline of the keys.
    pub(super) ends: Option<Instant>,
    pub(super) proof: Proof,
    judge_at: Instant,
}

/// Facts that a record is made of.
pub(super) struct Facts<'a> {
    /// Names of the keys, or of the CAK above them.
    pub(super) names: Vec<String>,
    pub(super) authenticated: Option<Instant>,
    pub(super) ends: Option<Instant>,
    /// End of the peer's certificate.
    pub(super) certificate_ends: Option<SystemTime>,
    pub(super) proof: &'a dyn Fn() -> Proof,
}

/// Writer of the record.
#[derive(Debug, Default)]
pub(super) struct Kept {
    written: Option<Written>,
    /// Keys that this end has installed and the kernel still has.
    pub(super) installed: Vec<KeyId>,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    names: u64,
    authenticated_s: Option<u64>,
    ends_s: Option<u64>,
}

impl Written {
    fn is(&self, other: &Self) -> bool {
        let same = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => one.abs_diff(other) <= ROUNDING,
            (one, other) => one == other,
        };
        self.names == other.names
            && same(self.authenticated_s, other.authenticated_s)
            && same(self.ends_s, other.ends_s)
    }
}

impl Kept {
    /// Writes the record where it differs from the last one.
    pub(super) fn save(&mut self, setting: &Setting, facts: Facts<'_>, now: Instant, boot: &Boot) -> Result<(), Error> {
        let left = facts.ends.map(|at| at.saturating_duration_since(now));
        let of_certificate = facts.certificate_ends;
        let of_certificate = of_certificate.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
        let ends = left.into_iter().chain(of_certificate).min();
        let since = |at: Instant| boot.since_s.saturating_sub(now.saturating_duration_since(at).as_secs());
        let mut hasher = DefaultHasher::new();
        facts.names.hash(&mut hasher);
        let written = Written {
            names: hasher.finish(),
            authenticated_s: facts.authenticated.map(since),
            ends_s: ends.map(|left| boot.since_s + left.as_secs()),
        };
        if self.written.as_ref().is_some_and(|before| before.is(&written)) {
            return Ok(());
        }
        let record = Record {
            peer: setting.peer.clone(),
            interface: setting.interface.name().to_owned(),
            names: facts.names,
            boot: boot.name.clone(),
            authenticated_s: written.authenticated_s,
            ends_s: written.ends_s,
            proof: (facts.proof)(),
        };
        private_directory(&setting.directory)?;
        let (next, place) = (place(setting, "next"), place(setting, "json"));
        let io = |source| bartizan_host::Error::Io {
            action: format!("writing {}", place.display()),
            source,
        };
        let made = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&next);
        let text = serde_json::to_vec(&record).map_err(|error| io(error.into()))?;
        made.and_then(|mut file| file.write_all(&text))
            .and_then(|()| fs::rename(&next, &place))
            .map_err(io)?;
        self.written = Some(written);
        Ok(())
    }

    /// Has the next record written whatever was written before: the peer has proven itself anew.
    pub(super) fn proven(&mut self) {
        self.written = None;
    }

    /// Removes the record: a successor removes what keys it finds.
    pub(super) fn forget(&mut self, setting: &Setting) {
        (self.written, self.installed) = (None, Vec::new());
        // Without a file there is nothing to forget; one that stays has its deadline.
        let _ = fs::remove_file(place(setting, "json"));
    }

    /// Keeps the names of those that the kernel still has.
    pub(super) fn retain(&mut self, state: &State) {
        self.installed
            .retain(|installed| state.keys().any(|key| key == *installed));
    }
}

impl Left {
    /// Record of a predecessor, or why its keys have to go.
    pub(super) fn read(setting: &Setting, now: Instant, boot: &Boot) -> Result<Self, String> {
        let read = || {
            let file = File::open(place(setting, "json")).ok()?;
            serde_json::from_reader::<_, Record>(file.take(LONGEST)).ok()
        };
        let record = read().ok_or("no record names their peer")?;
        if (record.peer.as_str(), record.interface.as_str()) != (setting.peer.as_str(), setting.interface.name()) {
            return Err(format!(
                "they are shared with {} for {}, and the link is {}",
                record.peer, record.interface, setting.name
            ));
        }
        if record.boot != boot.name {
            return Err("their record was written before the kernel started".to_owned());
        }
        if record.authenticated_s.is_some_and(|at| at > boot.since_s + ROUNDING) {
            return Err("their peer proved itself at a time that is not yet".to_owned());
        }
        let left_s = match record.ends_s.map(|ends| ends.checked_sub(boot.since_s)) {
            None if setting.is_authenticated() => return Err("their record has no deadline".to_owned()),
            Some(None | Some(0)) => return Err(super::UNPROVEN.to_owned()),
            left => left.flatten(),
        };
        let age = |at: u64| Duration::from_secs(boot.since_s.saturating_sub(at));
        Ok(Self {
            names: record.names,
            authenticated: record.authenticated_s.and_then(|at| now.checked_sub(age(at))),
            ends: left_s.and_then(|left| now.checked_add(Duration::from_secs(left))),
            proof: record.proof,
            judge_at: now,
        })
    }

    /// Has its peer judged at the next look.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.judge_at = now;
    }

    /// Judges its peer where that is due, by the roots, lists, policy and date of now.
    pub(super) fn judge(&mut self, setting: &Setting, endpoint: &Endpoint, now: Instant) -> Result<(), Refusal> {
        if now < self.judge_at {
            return Ok(());
        }
        self.judge_at = now + EVERY;
        let Proof { chain, negotiated } = &self.proof;
        endpoint.judge_recorded(
            (&setting.peer, setting.interface),
            began(setting),
            chain,
            negotiated.as_ref(),
        )
    }

    /// Holds where every one of these names is in the record.
    pub(super) fn names(self, mut names: impl Iterator<Item = String>) -> Result<Self, String> {
        match names.find(|name| !self.names.contains(name)) {
            None => Ok(self),
            Some(name) => Err(format!("{name} is not in their record")),
        }
    }
}

/// File of a port, next to the controller's socket.
fn place(setting: &Setting, ending: &str) -> PathBuf {
    setting.directory.join(format!("{}.keys.{ending}", setting.port))
}
