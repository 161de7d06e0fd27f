//! Workloads on E2: the recorded exchange at a scale, and what its protection costs, on a link between two namespaces.
//!
//! They need SCTP and ESP of the kernel that runs them, and root.

mod cipher;
mod echo;
mod exchange;
mod library;
mod machine;
mod pairs;
mod throughput;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bartizan_host::{Capture, Captured, Direction, Feature, Support};
use serde_json::Value;

use crate::bench::Tools;
use crate::e2::frames::{self, Frame, SCTP};
use crate::e2::link::INTERFACE;
use crate::e2::{Link, Protection, Selector, protection};
use crate::experiment::Levels;
use crate::workload::{Error, FactorKind, Lack, number};

pub(super) use self::cipher::KIND as CIPHER;
pub(super) use self::echo::KIND as ECHO;
pub(super) use self::exchange::KIND as EXCHANGE;
pub(super) use self::pairs::KIND as PAIRS;
pub(super) use self::throughput::KIND as THROUGHPUT;

/// How the link is protected: by ESP in tunnel mode with keys from chance, without IKE.
const PROTECTION: FactorKind = FactorKind {
    name: "protection",
    about: "ESP in tunnel mode between the two hosts, by static random keys (`ip xfrm`, no IKE): none, null (ESP that neither encrypts nor checks), or a cipher",
    levels: protection::NAMES,
};

/// What a kernel needs for a link with ESP, and where it says whether it has it.
fn lacks(levels: &Levels, _: &Tools) -> Option<Lack> {
    let esp = protection_of(levels).is_ok_and(Protection::is_esp);
    let needed = [("SCTP", Some(Feature::Sctp)), ("ESP", esp.then_some(Feature::Esp))];
    needed.into_iter().find_map(|(name, feature)| {
        let feature = feature?;
        let (Support::Absent(reason) | Support::Unknown(reason)) = feature.tried() else {
            return None;
        };
        Some(Lack {
            what: format!("{name} of the kernel"),
            reason,
            hint: "a guest's kernel has it: --kernel auto".to_owned(),
            feature: Some(feature),
        })
    })
}

fn protection_of(levels: &Levels) -> Result<Protection, Error> {
    let name = levels.level(PROTECTION.name).unwrap_or("none");
    Protection::named(name).ok_or_else(|| Error::Configuration(format!("no protection {name}")))
}

/// A link whose protection is changed only where the next trial wants another.
struct Protected {
    link: Link,
    now: Option<(Protection, Selector)>,
    folder: PathBuf,
}

impl Protected {
    fn make(folder: &Path) -> Result<Self, Error> {
        Ok(Self {
            link: Link::make()?,
            now: None,
            folder: folder.to_owned(),
        })
    }

    fn with(&mut self, protection: Protection, selector: Selector) -> Result<&Link, Error> {
        if self.now != Some((protection, selector)) {
            self.now = None;
            protection.set_up(&self.link, selector, &self.folder)?;
            self.now = Some((protection, selector));
        }
        Ok(&self.link)
    }
}

/// What leaves both hosts, captured where it leaves.
struct Egress {
    captures: [Capture; 2],
}

/// It, read.
struct Left {
    /// From the nodes' host and from the RIC's.
    node: Vec<Frame>,
    ric: Vec<Frame>,
}

impl Egress {
    fn start(link: &Link, folder: &Path) -> Result<Self, Error> {
        let start =
            |namespace, file: &str| Capture::start(Some(namespace), INTERFACE, folder.join(file), Direction::Outbound);
        Ok(Self {
            captures: [start(link.node(), "node.pcap")?, start(link.ric(), "ric.pcap")?],
        })
    }

    fn stop(self) -> Result<Left, Error> {
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
    /// SCTP that anybody can read.
    fn clear(&self) -> usize {
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

/// What every record says of how the link was protected.
fn facts(protection: Protection) -> BTreeMap<String, Value> {
    let keys = if protection.is_esp() {
        "static random keys by ip xfrm, no IKE"
    } else {
        "none"
    };
    BTreeMap::from([("keys".to_owned(), Value::from(keys))])
}

fn microseconds(duration: std::time::Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}
