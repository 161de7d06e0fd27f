//! Sidecars' reports on their links: the state of one, and the condition `Protected` of a Network.

use serde::Deserialize;

use crate::condition::{Condition, State};
use crate::objects::Observed;
use crate::reading::Reading;

/// Sidecars that are named in a condition.
const NAMED: usize = 5;

/// The answer of a sidecar's admin port to `/state`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SidecarState {
    /// Links with open connections.
    #[serde(default)]
    links: Vec<Link>,
    /// Handshakes refused since it started.
    #[serde(default)]
    refused: Vec<Refusals>,
    /// Ledger records lost since it started.
    #[serde(default)]
    ledger_lost: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Link {
    peer: String,
    interface: String,
    #[serde(default)]
    excepted: u64,
    #[serde(default)]
    classical: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Refusals {
    peer: String,
    #[serde(default)]
    handshakes: u64,
    #[serde(default)]
    reason: String,
}

/// State of a sidecar that is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Protection {
    /// It was not asked yet.
    #[default]
    NotAsked,
    /// It did not answer, for this reason.
    Silent(Box<str>),
    /// Its open connections are as their policies ask, and its ledger is whole.
    Protected,
    /// They are not, or it is not.
    Found(Finding, Box<str>),
}

bartizan_registry::named! {
    /// Findings, worst first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Finding, word {
        /// Records of the ledger were lost.
        LedgerLost = "LedgerLost",
        /// A connection is classical.
        Classical = "Classical",
        /// A connection is open under an exception.
        Excepted = "Excepted",
        /// Handshakes were refused since it was asked before.
        HandshakesRefused = "HandshakesRefused",
    }
}

impl SidecarState {
    /// Reads an answer.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// Handshakes refused since it started.
    pub fn refused(&self) -> u64 {
        self.refused
            .iter()
            .fold(0, |sum, refusals| sum.saturating_add(refusals.handshakes))
    }

    /// Judges it, where so many handshakes had been refused when it was asked before.
    #[must_use]
    pub fn judge(&self, before: Option<u64>) -> Protection {
        let found = |finding, why: String| Protection::Found(finding, printable(&why).into());
        if self.ledger_lost > 0 {
            return found(
                Finding::LedgerLost,
                format!("{} ledger records were lost", self.ledger_lost),
            );
        }
        let with = |count: fn(&Link) -> u64| self.links.iter().find(|link| count(link) > 0);
        // Connections under an exception are classical too, and their reason is known.
        if let Some(link) = with(|link| link.classical.saturating_sub(link.excepted)) {
            let why = format!("{} to {}: its key exchange is classical", link.interface, link.peer);
            return found(Finding::Classical, why);
        }
        if let Some(link) = with(|link| link.excepted) {
            let why = format!("{} to {}: open under an exception", link.interface, link.peer);
            return found(Finding::Excepted, why);
        }
        // Fewer than before: the sidecar started anew and counts from 0.
        let now = self.refused();
        let more = before.is_some_and(|before| now > before || (now > 0 && now < before));
        if let Some(refusals) = self.refused.iter().max_by_key(|one| one.handshakes).filter(|_| more) {
            let why = format!(
                "handshakes were refused, with {} {} of them: {}",
                refusals.peer, refusals.handshakes, refusals.reason
            );
            return found(Finding::HandshakesRefused, why);
        }
        Protection::Protected
    }
}

/// In one line: others have written it.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(300)
        .collect()
}

/// The condition.
pub(crate) fn is_protected(reading: &Reading, observed: &Observed) -> Condition {
    let new = |state, reason, message: String| Condition::new("Protected", state, reason, message);
    let (mut ready, mut answered, mut silent) = (0, 0, None);
    let mut found: Vec<(Finding, String)> = Vec::new();
    for node in reading
        .deployment
        .iter()
        .flat_map(bartizan_deployment::Deployment::nodes)
    {
        let Some(pods) = observed.pods.get(node.name.as_str()) else {
            continue;
        };
        ready += pods.ready;
        answered += pods.answered;
        if let Some((finding, why)) = &pods.found {
            found.push((*finding, format!("nodes.{}: {why}", node.name)));
        }
        if silent.is_none() {
            silent = pods.silent.as_ref().map(|why| format!("nodes.{}: {why}", node.name));
        }
    }
    let counted = format!("{answered} of {ready} sidecars that are ready said what they carry");
    let silent = silent.map(|why| format!("\n{why}")).unwrap_or_default();
    if answered == 0 {
        return new(State::Unknown, "NotAsked", format!("{counted}{silent}"));
    }
    // No claim is made about sidecars that have not answered.
    if found.is_empty() && answered < ready {
        return new(State::Unknown, "NotAllAnswered", format!("{counted}{silent}"));
    }
    let Some(worst) = found.iter().map(|(finding, _)| *finding).min() else {
        return new(
            State::True,
            "AllProtected",
            format!("{counted}: open connections are as their policies ask, and ledgers are whole"),
        );
    };
    found.sort_by_key(|(finding, _)| *finding);
    let more = found.len().saturating_sub(NAMED);
    let mut lines: Vec<String> = found.into_iter().take(NAMED).map(|(_, why)| why).collect();
    if more > 0 {
        lines.push(format!("and {more} more nodes"));
    }
    new(State::False, worst.word(), format!("{counted}\n{}", lines.join("\n")))
}
