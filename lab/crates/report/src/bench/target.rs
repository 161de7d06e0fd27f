//! Targets of figures, and verdicts on them.

use bartizan_estimators::Interval;
use bartizan_workbench::stand_in::proxies::{Mode, Placement, Proxy};
use serde::Serialize;

use super::Name;

/// Target of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// The whole interval between these.
    Inside(f64, f64),
}

/// Verdict on a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing is asked of it.
    NoTarget,
    /// It does.
    Reached,
    /// It does not.
    NotReached,
    /// It cannot be said, and why.
    NotJudged(String),
}

impl Target {
    /// Targets of our own paths.
    pub(super) fn of(name: Name, placement: Placement, proxy: Option<Proxy>, mode: Option<Mode>) -> Option<Self> {
        // Handshakes in memory are of our own code whatever the path.
        let ours = proxy.is_none_or(Proxy::is_ours) && (proxy.is_some() || name == Name::HandshakesInMemory);
        if !ours {
            return None;
        }
        match name {
            Name::Ratio => return Some(Self::Inside(0.97, 1.03)),
            Name::OtherAdded => return Some(Self::AtMost(1.03)),
            _ => {}
        }
        mode.filter(|mode| *mode == Mode::PostQuantum)?;
        match (name, proxy, placement) {
            (Name::Added, Some(Proxy::Splice), Placement::OneCore) => Some(Self::AtMost(55.0)),
            (Name::Added, Some(Proxy::Http2), Placement::OneCore) => Some(Self::AtMost(130.0)),
            (Name::NewConnection, ..) => Some(Self::AtMost(1.2)),
            (Name::HandshakesInMemory, ..) => Some(Self::AtLeast(2700.0)),
            (Name::HandshakesOverTcp, ..) => Some(Self::AtLeast(2000.0)),
            (Name::Memory, Some(Proxy::Splice), _) => Some(Self::AtMost(11.0)),
            (Name::Memory, Some(Proxy::Http2), _) => Some(Self::AtMost(20.0)),
            _ => None,
        }
    }

    /// Verdict on a value with its interval.
    pub(super) fn verdict(self, value: f64, interval: Option<Interval>) -> Verdict {
        let reached = match (self, interval) {
            (Self::AtMost(bound), _) => value <= bound,
            (Self::AtLeast(bound), _) => value >= bound,
            (Self::Inside(low, high), Some(interval)) => low <= interval.low && interval.high <= high,
            (Self::Inside(..), None) => return Verdict::NotJudged("too few trials for an interval".to_owned()),
        };
        if reached { Verdict::Reached } else { Verdict::NotReached }
    }
}
