//! State of a page that shows all that is followed: bounded, and given as the changes since a
//! version.
//!
//! [`Live`] belongs to the loop that follows; each [`publish`](Live::publish) gives a [`Snapshot`],
//! which shares what has not changed with the one before. Readers of snapshots never hold up the
//! loop.

mod shown;
mod state;
mod table;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bartizan_posture::{Concern, Link, Listing};
use serde::Serialize;

use super::Event;
use super::handshakes::{Handshake, Handshakes};
use super::tracker::{Identity, Tracker, identity};
use super::view::View;
use crate::text::short;
use shown::{ShownEvent, ShownFinding, ShownLink, rank};
pub use state::{Known, SCHEMA, Snapshot};
use table::Table;

/// Links kept, of all sources: the worst. Beyond that only the number is kept.
pub const LINKS: usize = 1000;
/// Findings kept, the most severe.
pub const FINDINGS: usize = 1000;
/// Events and handshakes kept, the newest.
pub const NEWEST: usize = 200;

/// Facts about a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SourceFacts {
    /// Its name.
    pub name: String,
    /// Packets read.
    pub packets: u64,
    /// Packets lost at the capture.
    pub dropped: u64,
    /// Packets beyond what memory has room for.
    pub untracked: u64,
    /// Time of the newest packet, nanoseconds since 1970.
    pub newest_ns: Option<u64>,
}

/// Links that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The interface; `-` where nothing names it.
    pub interface: &'static str,
    /// Their safety from an attacker who records.
    pub confidentiality: &'static str,
    /// Their safety from an attacker who forges.
    pub authenticity: &'static str,
    /// Their number.
    pub links: u64,
}

/// Numbers of all that is followed, also of what is not kept here.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The sources, in the order in which they were given.
    pub sources: Vec<SourceFacts>,
    /// All links.
    pub counts: Vec<Count>,
    /// Findings that stand.
    pub findings: u64,
}

/// A link of one of the sources.
type Key = (usize, Identity);

/// Something with its number, and the version it came with.
type Numbered<T> = (u64, u64, Arc<T>);

bartizan_registry::made! {
    /// State that is shown, kept up to date.
    #[derive(Debug)]
    pub struct Live,
    /// Nothing yet. `run` distinguishes this process from one before it at the same address.
    pub new(run: u64) {
        run: u64 = run,
        /// The version that is published next.
        next: u64 = 1,
        links: Table<Key, ShownLink> = Table::new(),
        findings: Table<String, ShownFinding> = Table::new(),
        events: VecDeque<Numbered<ShownEvent>> = VecDeque::new(),
        events_total: u64 = 0,
        handshakes: VecDeque<Numbered<Handshake>> = VecDeque::new(),
        handshakes_total: u64 = 0,
    }
}

impl Live {
    /// Takes the links of a source as a view has them. `tracker` has compared that view already:
    /// what it has let go is gone.
    pub fn links(&mut self, source: usize, view: &View, tracker: &Tracker) {
        let version = self.next;
        let gone = self
            .links
            .keys()
            .filter(|(of, identity)| *of == source && !tracker.has(identity));
        for key in gone.cloned().collect::<Vec<_>>() {
            self.links.remove(&key, version);
        }
        let mut new: Vec<(Key, &Link)> = Vec::new();
        let seen = view.network().links.iter();
        let seen = seen.filter(|link| link.carried() && !matches!(link.listing, Listing::Within(_)));
        for link in seen {
            let key = (source, identity(link));
            if self.links.has(&key) {
                self.links.set(key, ShownLink::new(source, link), version);
            } else if tracker.has(&key.1) {
                new.push((key, link));
            }
        }
        new.sort_by_key(|(_, link)| rank(link));
        // The best of what is kept is evicted first.
        let mut kept: Option<Vec<(u8, Key)>> = None;
        for (key, link) in new {
            if self.links.len() >= LINKS {
                let kept = kept.get_or_insert_with(|| {
                    let ranks = self.links.rows().map(|(key, shown)| (shown.rank, key.clone()));
                    let mut ranks: Vec<(u8, Key)> = ranks.collect();
                    ranks.sort();
                    ranks
                });
                let Some((_, best)) = kept.pop_if(|(best, _)| *best > rank(link)) else {
                    // Nor is any of the others worse than what is kept.
                    break;
                };
                self.links.remove(&best, version);
            }
            self.links.set(key, ShownLink::new(source, link), version);
        }
    }

    /// Takes handshakes that completed.
    pub fn handshakes(&mut self, handshakes: Handshakes) {
        let mut number = self.handshakes_total + handshakes.total();
        self.handshakes_total = number;
        let newest: Vec<Handshake> = handshakes.into_newest().collect();
        number -= newest.len() as u64;
        for handshake in newest {
            number += 1;
            push(&mut self.handshakes, (number, self.next, Arc::new(handshake)));
        }
    }

    /// Takes an event that was reported at this time since 1970: a finding stands from now on, or does not any more.
    pub fn event(&mut self, event: &Event, at: Duration) {
        let at_ns = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        self.events_total += 1;
        let shown = ShownEvent::new(event, at_ns);
        push(&mut self.events, (self.events_total, self.next, Arc::new(shown)));
        let field = |name: &str| event.fields.get(name).and_then(|value| value.as_str());
        let (Some(state), Some(concern)) = (field("state"), field("concern")) else {
            return;
        };
        let key = finding(event, concern, field("because").unwrap_or_default());
        if state != "new" {
            self.findings.remove(&key, self.next);
            return;
        }
        let shown = ShownFinding::new(event, at_ns);
        if self.findings.len() >= FINDINGS && !self.findings.has(&key) {
            let milder = self.findings.rows().find(|(_, kept)| kept.severity > shown.severity);
            let Some(milder) = milder.map(|(key, _)| key.clone()) else {
                return;
            };
            self.findings.remove(&milder, self.next);
        }
        self.findings.set(key, shown, self.next);
    }

    /// All of it, as it is now.
    pub fn publish(&mut self, mut facts: Facts) -> Snapshot {
        for source in &mut facts.sources {
            source.name = short(&source.name);
        }
        let version = self.next;
        self.next += 1;
        Snapshot {
            run: self.run,
            version,
            facts,
            links: self.links.rows_and_gone(),
            findings: self.findings.rows_and_gone(),
            events: self.events.iter().cloned().collect(),
            events_total: self.events_total,
            handshakes: self.handshakes.iter().cloned().collect(),
            handshakes_total: self.handshakes_total,
        }
    }
}

fn push<T>(newest: &mut VecDeque<T>, one: T) {
    if newest.len() == NEWEST {
        newest.pop_front();
    }
    newest.push_back(one);
}

/// Identity of a finding: two events with the same one speak of one finding. A link has one at a
/// time for a concern; for some concerns, and for a source as a whole, there is one for each
/// reason.
fn finding(event: &Event, concern: &str, because: &str) -> String {
    let by_reason = [Concern::Contradiction, Concern::AboveTransport].map(Concern::name);
    let because = match &event.link {
        Some(_) if !by_reason.contains(&concern) => "",
        _ => because,
    };
    let link = event.link.as_ref().map(|name| {
        let [one, other] = &name.ends;
        let (interface, path) = (name.named(), name.path.as_deref().unwrap_or_default());
        format!("{one}\0{other}\0{interface}\0{path}")
    });
    let source = event.source.as_deref().unwrap_or_default();
    format!("{source}\0{}\0{concern}\0{because}", link.unwrap_or_default())
}

/// Numbers of links by interface and verdicts, as a list.
pub fn counts(links: &BTreeMap<[&'static str; 3], u64>) -> Vec<Count> {
    let count = |(names, links): (&[&'static str; 3], &u64)| {
        let [interface, confidentiality, authenticity] = *names;
        Count {
            interface,
            confidentiality,
            authenticity,
            links: *links,
        }
    };
    links.iter().map(count).collect()
}

#[cfg(test)]
mod tests;
