//! Workloads on E2: the recorded exchange at a scale, and what its protection costs, on a link between two namespaces.
//!
//! They need SCTP and ESP of the kernel that runs them, and root.

mod cipher;
mod echo;
mod exchange;
mod library;
pub(super) mod machine;
mod message;
mod pairs;
mod rekey;
mod start_up;
#[cfg(test)]
mod tests;
mod throughput;
mod under_load;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use bartizan_host::{Feature, LabRoot};
use bartizan_testing::{Capture, Captured, Direction};
use serde_json::Value;

use crate::stand_in::charons;
use crate::stand_in::e2::frames::{self, Frame, SCTP};
use crate::stand_in::e2::ike::AUTHENTICATION;
use crate::stand_in::e2::link::INTERFACE;
use crate::stand_in::e2::{Ike, Link, Protection, Selector, protection};
use crate::stand_in::proxies::Tools;
use crate::workload::{Error, FactorKind, Lack, Levels, Setting, lacks_feature, number};

pub(super) use self::cipher::KIND as CIPHER;
pub(super) use self::echo::KIND as ECHO;
pub(super) use self::exchange::KIND as EXCHANGE;
pub(super) use self::message::KIND as MESSAGE;
pub(super) use self::pairs::KIND as PAIRS;
pub(super) use self::rekey::KIND as REKEY;
pub(super) use self::start_up::KIND as START_UP;
pub(super) use self::throughput::KIND as THROUGHPUT;
pub(super) use self::under_load::{KIND as UNDER_LOAD, jitter};

/// Protection of the link: ESP in tunnel mode with random keys, or with keys from two charons.
pub(super) const PROTECTION: FactorKind = FactorKind {
    name: "protection",
    about: "ESP in tunnel mode between the two hosts: none; by static random keys (`ip xfrm`, no IKE) null (ESP that neither encrypts nor checks) or a cipher; `ike-` and a key exchange: AES-256-GCM keyed by two charons",
    levels: protection::NAMES,
};

/// First missing requirement of an SCTP link: SCTP and ESP of the kernel, lab roots for keys from
/// IKE.
fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    lacks_charons(levels, tools)
        .or_else(|| lacks_feature("SCTP", Feature::Sctp))
        .or_else(|| lacks_esp(levels, tools))
}

fn lacks_charons(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let ike = protection_of(levels).ok().and_then(Protection::key_exchange);
    ike.and_then(|_| charons::lack(tools))
}

/// First missing requirement of a link without SCTP.
pub(super) fn lacks_esp(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let esp = protection_of(levels).is_ok_and(Protection::is_esp);
    let of_kernel = || esp.then(|| lacks_feature("ESP", Feature::Esp)).flatten();
    lacks_charons(levels, tools).or_else(of_kernel)
}

pub(super) fn protection_of(levels: &Levels) -> Result<Protection, Error> {
    let name = levels.level(PROTECTION.name).unwrap_or("none");
    Protection::named(name).ok_or_else(|| Error::Configuration(format!("no protection {name}")))
}

/// A link whose protection is changed only where the next trial wants another.
pub(super) struct Protected {
    // Before the link.
    ike: Option<Ike>,
    pub(super) link: Link,
    now: Option<(Protection, Selector)>,
    folder: PathBuf,
    root: Option<LabRoot>,
}

impl Protected {
    pub(super) fn make(setting: &Setting<'_>) -> Result<Self, Error> {
        Self::over(Link::make()?, setting)
    }

    /// Over this link.
    pub(super) fn over(link: Link, setting: &Setting<'_>) -> Result<Self, Error> {
        Ok(Self {
            ike: None,
            link,
            now: None,
            folder: setting.folder.to_owned(),
            root: setting.tools.sid.clone(),
        })
    }

    /// Protected so; where IKE keys it, an SA stands.
    pub(super) fn with(&mut self, protection: Protection, selector: Selector) -> Result<(), Error> {
        if self.change(protection, selector)?
            && let Some(ike) = &self.ike
            && protection.key_exchange().is_some()
        {
            ike.set_up(charons::PATIENCE)?;
        }
        Ok(())
    }

    /// Protected so; where IKE keys it, no SA stands, and the first packet has one set up.
    fn trapped(&mut self, protection: Protection, selector: Selector) -> Result<(), Error> {
        if !self.change(protection, selector)?
            && let Some(ike) = &self.ike
        {
            ike.delete()?;
        }
        Ok(())
    }

    /// Changes the protection; true if it was another one before.
    fn change(&mut self, protection: Protection, selector: Selector) -> Result<bool, Error> {
        if self.now == Some((protection, selector)) {
            return Ok(false);
        }
        self.now = None;
        if let Some(ike) = &mut self.ike {
            ike.clear()?;
        }
        protection.set_up(&self.link, selector, &self.folder)?;
        if let Some(key_exchange) = protection.key_exchange() {
            let ike = match &mut self.ike {
                Some(ike) => ike,
                none => {
                    let root = self.root.as_ref();
                    let root = root.ok_or_else(|| Error::Configuration("no lab root sid".to_owned()))?;
                    none.insert(Ike::start(&self.link, root, &self.folder)?)
                }
            };
            ike.trap(key_exchange, selector)?;
        }
        self.now = Some((protection, selector));
        Ok(true)
    }

    /// The charons, where they key the link now.
    fn ike(&self) -> Option<&Ike> {
        let (protection, _) = self.now?;
        self.ike.as_ref().filter(|_| protection.key_exchange().is_some())
    }

    /// Facts of every record about the link's protection.
    pub(super) fn facts(&self) -> Result<BTreeMap<String, Value>, Error> {
        let mut facts = BTreeMap::new();
        let mut fact = |name: &str, value: String| facts.insert(name.to_owned(), Value::from(value));
        let protection = self.now.map(|(protection, _)| protection);
        let key_exchange = protection.and_then(Protection::key_exchange);
        match (self.ike(), key_exchange) {
            (Some(ike), Some(key_exchange)) => {
                fact(
                    "keys",
                    format!("IKEv2 by two charons, {key_exchange}, {AUTHENTICATION}"),
                );
                fact("charon", ike.version()?);
                fact("esp", ike.esp().to_owned());
                fact("charons on processors", format!("{:?}", ike.processors()));
            }
            _ if protection.is_some_and(Protection::is_esp) => {
                fact("keys", "static random keys by ip xfrm, no IKE".to_owned());
            }
            _ => {
                fact("keys", "none".to_owned());
            }
        }
        Ok(facts)
    }

    /// Names and versions of what it has started.
    pub(super) fn programs(&self) -> Vec<String> {
        let version = self.ike.as_ref().and_then(|ike| ike.version().ok());
        version.into_iter().collect()
    }
}

/// Captures of outgoing packets at both hosts.
pub(super) struct Egress {
    captures: [Capture; 2],
}

/// It, read.
pub(super) struct Left {
    /// From the nodes' host and from the RIC's.
    pub(super) node: Vec<Frame>,
    pub(super) ric: Vec<Frame>,
}

impl Egress {
    pub(super) fn start(link: &Link, folder: &Path) -> Result<Self, Error> {
        let start =
            |namespace, file: &str| Capture::start(Some(namespace), INTERFACE, folder.join(file), Direction::Outbound);
        Ok(Self {
            captures: [start(link.node(), "node.pcap")?, start(link.ric(), "ric.pcap")?],
        })
    }

    pub(super) fn stop(self) -> Result<Left, Error> {
        let [node, ric] = self.captures.map(|capture| {
            let path = capture.path().to_owned();
            complete(capture.stop()?)?;
            let frames = frames::read(&path)?;
            std::fs::remove_file(&path).map_err(Error::file(&path))?;
            Ok::<_, Error>(frames)
        });
        Ok(Left { node: node?, ric: ric? })
    }
}

impl Left {
    /// Number of unencrypted SCTP packets.
    pub(super) fn clear(&self) -> usize {
        let clear = |frames: &[Frame]| frames.iter().filter(|frame| frame.protocol == SCTP).count();
        clear(&self.node) + clear(&self.ric)
    }
}

fn complete(captured: Captured) -> Result<(), Error> {
    if captured.complete() {
        return Ok(());
    }
    let dropped = captured.dropped;
    Err(Error::Configuration(format!(
        "{dropped} packets were lost by the capture: what is missing cannot be judged"
    )))
}

/// A moment by both clocks: that of this program, and the kernel's, by which captures are.
#[derive(Clone, Copy)]
struct Anchor {
    ours: Instant,
    /// Nanoseconds since 1970.
    captured: u64,
}

impl Anchor {
    fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            ours: Instant::now(),
            captured: since.map_or(0, nanoseconds),
        }
    }

    /// A later moment by the kernel's clock.
    fn captured(self, later: Instant) -> u64 {
        self.captured + nanoseconds(later.saturating_duration_since(self.ours))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Between two moments by the kernel's clock, in milliseconds; negative where the second was first.
fn milliseconds_between(first: u64, second: u64) -> f64 {
    (second as f64 - first as f64) / 1e6
}

pub(super) fn microseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}
