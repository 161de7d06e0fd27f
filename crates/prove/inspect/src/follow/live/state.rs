//! The state as JSON, whole or as what has changed since a version: schema `bartizan-live/1`,
//! documented in docs/follow-page.md.

use std::collections::BTreeMap;

use bartizan_registry::{Subject, asked, object};
use serde::Serialize;

use super::shown::{ShownEvent, ShownFinding, ShownLink};
use super::table::Rows;
use super::{Facts, Numbered};
use crate::follow::Handshake;

/// Name and version of the schema.
pub const SCHEMA: &str = "bartizan-live/1";

/// All that is shown, at one time. Rows that have not changed are shared with the one before.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) run: u64,
    pub(super) version: u64,
    pub(super) facts: Facts,
    pub(super) links: Rows<ShownLink>,
    pub(super) findings: Rows<ShownFinding>,
    pub(super) events: Vec<Numbered<ShownEvent>>,
    pub(super) events_total: u64,
    pub(super) handshakes: Vec<Numbered<Handshake>>,
    pub(super) handshakes_total: u64,
}

/// State that a reader has: its run, and the newest version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The run.
    pub run: u64,
    /// The version.
    pub version: u64,
}

#[derive(Serialize)]
struct Identified<T> {
    id: u64,
    #[serde(flatten)]
    value: T,
}

impl Snapshot {
    /// Its run and version.
    pub fn known(&self) -> Known {
        let (run, version) = (self.run, self.version);
        Known { run, version }
    }

    /// The links: how good each is, from 0, the worst; its id; its ends.
    pub fn ends(&self) -> impl Iterator<Item = (u8, u64, &[String; 2])> {
        let links = self.links.rows.iter();
        links.map(|(id, _, link)| (link.rank, *id, link.brief.ends()))
    }

    /// Everything, or what has changed since what is known; of the link `looked_at` all that there is.
    pub fn state(&self, known: Option<Known>, looked_at: Option<u64>) -> impl Serialize + use<'_> {
        let since = known.filter(|known| {
            let oldest = self.links.forgotten.max(self.findings.forgotten);
            known.run == self.run && known.version <= self.version && known.version >= oldest
        });
        let whole = since.is_none();
        let since = since.map_or(0, |known| known.version);
        let links = self.links.rows.iter().filter(|(_, changed, _)| *changed > since);
        let findings = self.findings.rows.iter().filter(|(_, changed, _)| *changed > since);
        let gone = |gone: &[(u64, u64)]| {
            let gone = gone.iter().filter(|(version, _)| !whole && *version > since);
            gone.map(|(_, id)| *id).collect::<Vec<_>>()
        };
        let detail = looked_at.and_then(|wanted| self.links.rows.iter().find(|(id, ..)| *id == wanted));
        object!(State {
            schema: SCHEMA,
            // A string: it may be more than a double holds.
            run: self.run.to_string(),
            version: self.version,
            // True if this is everything: what was given before is to be forgotten.
            whole,
            sources: &self.facts.sources,
            counts: &self.facts.counts,
            findings_total: self.facts.findings,
            events_total: self.events_total,
            handshakes_total: self.handshakes_total,
            // Said once, where everything is.
            frameworks: whole.then(|| {
                BTreeMap::from([
                    ("key-exchange", asked(Subject::KeyExchange).collect::<Vec<_>>()),
                    ("signature", asked(Subject::Signature).collect()),
                ])
            }),
            links: links
                .map(|(id, _, link)| identified(*id, &link.brief))
                .collect::<Vec<_>>(),
            links_gone: gone(&self.links.gone),
            findings: findings
                .map(|(id, _, finding)| identified(*id, &**finding))
                .collect::<Vec<_>>(),
            findings_gone: gone(&self.findings.gone),
            events: newer(&self.events, since),
            handshakes: newer(&self.handshakes, since),
            detail: detail.map(|(id, _, link)| identified(*id, &link.detail)),
        })
    }
}

fn identified<T>(id: u64, value: T) -> Identified<T> {
    Identified { id, value }
}

fn newer<T>(numbered: &[Numbered<T>], since: u64) -> Vec<Identified<&T>> {
    let newer = numbered.iter().filter(|(_, version, _)| *version > since);
    newer.map(|(number, _, value)| identified(*number, &**value)).collect()
}
