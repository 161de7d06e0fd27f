//! Links as `bartizan-inspect/1` writes them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufReader, Read};
use std::mem::size_of;
use std::sync::Arc;

use bartizan_posture::Concern;
use serde::Deserialize;

use crate::findings::{Finding, IN_LINKS, NOTHING_SEEN};
use crate::json::{SCHEMA, link_facts};
use crate::report::Report;

/// Identity of a link on two dates: the interface's name and both ends, the lesser first.
pub type Key = (String, [String; 2]);

/// The name of a link that nothing names.
pub(super) const UNNAMED: &str = "-";

/// Questions that a report answers for each direction of a link.
pub(super) const QUESTIONS: [&str; 6] = ["offered", "preferred", "negotiated", "authenticated", "stayed", CLEAR];
/// The question whose good answer is no.
pub(super) const CLEAR: &str = "clear";

/// All links of a date, within a bound of bytes.
#[derive(Debug, Clone, Default)]
pub struct Links {
    pub(super) all: BTreeMap<Key, LinkRecord>,
    /// Limits of the evidence, in words.
    pub(super) limits: BTreeSet<String>,
    /// Reasons, which most links share.
    pub(super) texts: HashSet<Arc<str>>,
    pub(super) held: usize,
}

/// A link as the comparison needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRecord {
    pub(super) confidentiality: Statement,
    pub(super) authenticity: Statement,
    pub(super) key_exchanges: Vec<Arc<str>>,
    /// Something of it is not read: others' packets may be in there.
    pub(super) unread: bool,
    /// Answers to [`QUESTIONS`], from the lesser end and from the other.
    pub(super) answers: [[Statement; 6]; 2],
}

/// A verdict or an answer, with its reason and places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub(super) says: Arc<str>,
    pub(super) because: Arc<str>,
    /// Places, separated by `; `.
    pub(super) sources: Box<str>,
    /// True if a classical key exchange or signature is all that is wrong with a vulnerable link;
    /// none for an answer, and for a report that does not say.
    pub(super) classical_alone: Option<bool>,
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    files: Vec<OneFile>,
}

#[derive(Deserialize)]
struct OneFile {
    complete: bool,
    untracked: u64,
    omitted: Vec<Omitted>,
    findings: Vec<Found>,
    links: Vec<OneLink>,
}

#[derive(Deserialize)]
struct Found {
    concern: String,
    because: String,
    example: Option<String>,
}

#[derive(Deserialize)]
struct Omitted {
    what: String,
}

#[derive(Deserialize)]
struct OneLink {
    ends: [End; 2],
    interface: Option<Named>,
    key_exchanges: Vec<String>,
    #[serde(default)]
    by_kind: BTreeMap<String, u64>,
    directions: [Direction; 2],
    confidentiality: Judged,
    authenticity: Judged,
}

#[derive(Deserialize)]
struct End {
    address: String,
    port: Option<u16>,
    node: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Direction {
    offered: Answered,
    preferred: Answered,
    negotiated: Answered,
    authenticated: Answered,
    stayed: Answered,
    clear: Answered,
}

#[derive(Deserialize)]
struct Judged {
    verdict: String,
    classical_alone: Option<bool>,
    because: String,
    sources: Vec<String>,
}

#[derive(Deserialize)]
struct Answered {
    answer: String,
    because: String,
    sources: Vec<String>,
}

/// Reason why links cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file is no report, or of another version.
    #[error("{0}")]
    Unreadable(String),
    /// The capture was not read to its end: links of the rest would seem to have vanished.
    #[error("it reports a capture that was not read to its end")]
    Incomplete,
    /// Memory had no room for some packets or links: they would seem to have vanished.
    #[error("its links are more than memory has room for")]
    Beyond,
}

/// The links of one report, held in at most so many bytes.
///
/// # Errors
/// If memory had no room for all of them.
pub fn of_report(report: &Report, memory: usize) -> Result<Links, Error> {
    let mut links = Links::default();
    if report.network().untracked > 0 || report.totals().untracked > 0 {
        return Err(Error::Beyond);
    }
    let limits = report.findings().into_iter().filter(Finding::leaves_out);
    links.limits.extend(limits.map(|finding| finding.because));
    for link in &report.network().links {
        let failed = |error: serde_json::Error| Error::Unreadable(error.to_string());
        let text = serde_json::to_string(&link_facts(link)).map_err(failed)?;
        links.add(serde_json::from_str(&text).map_err(failed)?, memory)?;
    }
    Ok(links)
}

/// The links of a document that `bartizan inspect --json` wrote, which is at most so many bytes long.
///
/// # Errors
/// If it is no such document, or none that can be compared.
pub fn parse(document: impl Read, memory: usize) -> Result<Links, Error> {
    let mut document = document.take(memory as u64);
    let read = serde_json::from_reader(BufReader::new(&mut document));
    if document.limit() == 0 {
        return Err(Error::Beyond);
    }
    let read: Document = read.map_err(|error| Error::Unreadable(format!("not a report of inspect: {error}")))?;
    if read.schema != SCHEMA {
        let other = format!("its schema is {:?}, not {SCHEMA:?}", read.schema);
        return Err(Error::Unreadable(other));
    }
    let mut links = Links::default();
    // One capture that shows nothing, among several, is none of a date that shows nothing.
    let mut shown = false;
    for file in read.files {
        if !file.complete {
            return Err(Error::Incomplete);
        }
        if file.untracked > 0 || file.omitted.iter().any(|omission| omission.what == IN_LINKS) {
            return Err(Error::Beyond);
        }
        let unproven = Concern::Unproven.name();
        let limits = file.findings.into_iter();
        let limits = limits.filter(|found| found.concern == unproven && found.example.is_none());
        let limits: Vec<Found> = limits.collect();
        shown |= limits.iter().all(|limit| limit.because != NOTHING_SEEN);
        for limit in limits {
            links.held += limit.because.len();
            links.limits.insert(limit.because);
        }
        for link in file.links {
            links.add(link, memory)?;
        }
    }
    if shown {
        links.limits.remove(NOTHING_SEEN);
    } else {
        links.limits.insert(NOTHING_SEEN.to_owned());
    }
    Ok(links)
}

impl Links {
    /// Adds a link; of one that several captures show, or several carriers, the worst counts.
    fn add(&mut self, link: OneLink, memory: usize) -> Result<(), Error> {
        let (key, record) = self.record(link);
        self.held += record.held();
        match self.all.get_mut(&key) {
            Some(known) => known.worst_of(record),
            None => {
                self.held +=
                    size_of::<(Key, LinkRecord)>() + key.0.len() + key.1.iter().map(String::len).sum::<usize>();
                self.all.insert(key, record);
            }
        }
        if self.held > memory { Err(Error::Beyond) } else { Ok(()) }
    }

    fn record(&mut self, link: OneLink) -> (Key, LinkRecord) {
        let mut ends = link.ends.map(End::name);
        let mut answers = link.directions.map(|direction| {
            direction
                .questions()
                .map(|answer| self.statement(&answer.answer, &answer.because, &answer.sources))
        });
        if ends[0] > ends[1] {
            ends.reverse();
            answers.reverse();
        }
        let interface = link
            .interface
            .map_or_else(|| UNNAMED.to_owned(), |interface| interface.name);
        // A link that is shown to be safe need not be looked into.
        let safe = link.confidentiality.verdict == "quantum-safe";
        let mut judged = |judged: &Judged| Statement {
            classical_alone: judged.classical_alone,
            ..self.statement(&judged.verdict, &judged.because, &judged.sources)
        };
        let record = LinkRecord {
            confidentiality: judged(&link.confidentiality),
            authenticity: judged(&link.authenticity),
            key_exchanges: link.key_exchanges.iter().map(|name| self.text(name)).collect(),
            unread: !safe && link.by_kind.keys().any(|kind| is_unread(kind)),
            answers,
        };
        ((interface, ends), record)
    }

    fn statement(&mut self, says: &str, because: &str, sources: &[String]) -> Statement {
        Statement {
            says: self.text(says),
            because: self.text(because),
            sources: sources.join("; ").into(),
            classical_alone: None,
        }
    }

    /// A text that is kept once.
    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.held += text.len() + 2 * size_of::<Arc<str>>();
        self.texts.insert(Arc::clone(&text));
        text
    }
}

impl LinkRecord {
    pub(super) fn statements(&self) -> impl Iterator<Item = &Statement> {
        let verdicts = [&self.confidentiality, &self.authenticity];
        verdicts.into_iter().chain(self.answers.iter().flatten())
    }

    /// Bytes of its own outside its fields.
    fn held(&self) -> usize {
        let sources = self.statements().map(|statement| statement.sources.len());
        sources.sum::<usize>() + self.key_exchanges.len() * size_of::<Arc<str>>()
    }
}

/// Returns true if a reader could not look inside, by the kind's name in a report: tunnels,
/// encrypted or not, and kinds that are not recognised.
fn is_unread(kind: &str) -> bool {
    kind.ends_with(", not read") || kind.ends_with(", not recognised") || matches!(kind, "ESP" | "unknown protocol")
}

impl End {
    fn name(self) -> String {
        match (self.node, self.port) {
            (Some(node), _) => node,
            (None, None) => self.address,
            (None, Some(port)) if self.address.contains(':') => format!("[{}]:{port}", self.address),
            (None, Some(port)) => format!("{}:{port}", self.address),
        }
    }
}

impl Direction {
    /// In the order of [`QUESTIONS`].
    fn questions(self) -> [Answered; 6] {
        [
            self.offered,
            self.preferred,
            self.negotiated,
            self.authenticated,
            self.stayed,
            self.clear,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_longer_than_memory_is_not_compared() {
        let document = crate::json::render(&[]).unwrap();
        let bytes = document.as_bytes();
        assert_eq!(parse(bytes, bytes.len()).unwrap_err(), Error::Beyond);
        let empty = parse(bytes, bytes.len() + 1).unwrap();
        assert!(empty.all.is_empty() && empty.limits.contains(NOTHING_SEEN));
    }
}
