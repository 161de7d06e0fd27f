//! Links as `bartizan-inspect/1` writes them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::json::SCHEMA;
use crate::report::Report;

/// What makes two links of two dates the same: the interface's name and both ends, the lesser first.
pub type Key = (String, [String; 2]);

/// The name of a link that nothing names.
pub(super) const UNNAMED: &str = "-";

/// All links of a date.
pub type Links = BTreeMap<Key, LinkRecord>;

/// What is compared of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRecord {
    pub(super) confidentiality: Statement,
    pub(super) authenticity: Statement,
    pub(super) key_exchanges: Vec<String>,
    /// Something of it is not read: others' packets may be in there.
    pub(super) unread: bool,
    /// Answers by direction (`amf -> nrf`) and question.
    pub(super) answers: BTreeMap<(String, &'static str), Statement>,
}

/// A verdict or an answer, with its reason and places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub(super) says: String,
    pub(super) because: String,
    pub(super) sources: Vec<String>,
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    files: Vec<OneFile>,
}

#[derive(Deserialize)]
struct OneFile {
    complete: bool,
    /// Absent in what versions before links wrote.
    links: Option<Vec<OneLink>>,
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
    because: String,
    sources: Vec<String>,
}

#[derive(Deserialize)]
struct Answered {
    answer: String,
    because: String,
    sources: Vec<String>,
}

/// The links of one report, as a document of it has them.
///
/// # Errors
/// Where the capture was not read to its end: half of it would show links as vanished that the other half has.
pub fn of_report(report: Report) -> Result<Links, String> {
    let document = crate::json::render(&[report]).map_err(|error| error.to_string())?;
    parse(&document)
}

/// The links of a document that `bartizan inspect --json` wrote.
///
/// # Errors
/// Why it is no such document, or none that can be compared.
pub fn parse(text: &str) -> Result<Links, String> {
    let document: Document = serde_json::from_str(text).map_err(|error| format!("not a report of inspect: {error}"))?;
    if document.schema != SCHEMA {
        return Err(format!("its schema is {:?}, not {SCHEMA:?}", document.schema));
    }
    let mut all = Links::new();
    for file in document.files {
        if !file.complete {
            return Err("it tells of a capture that was not read to its end".into());
        }
        let links = file.links.ok_or("it was made before inspect knew links")?;
        for link in links {
            let (key, record) = link.record();
            match all.get_mut(&key) {
                // Of a link that several captures show, or several carriers, the worst counts.
                Some(known) => known.worst_of(record),
                None => drop(all.insert(key, record)),
            }
        }
    }
    Ok(all)
}

impl OneLink {
    fn record(self) -> (Key, LinkRecord) {
        let names = self.ends.map(End::name);
        let [one, other] = &names;
        let mut answers = BTreeMap::new();
        let ends = [format!("{one} -> {other}"), format!("{other} -> {one}")];
        for (ends, direction) in ends.into_iter().zip(self.directions) {
            for (question, answer) in direction.questions() {
                answers.insert((ends.clone(), question), answer);
            }
        }
        let interface = self
            .interface
            .map_or_else(|| UNNAMED.to_owned(), |interface| interface.name);
        let mut sorted = names.clone();
        sorted.sort();
        // What is shown to be safe need not be looked into.
        let safe = self.confidentiality.verdict == "quantum-safe";
        let record = LinkRecord {
            confidentiality: self.confidentiality.into(),
            authenticity: self.authenticity.into(),
            key_exchanges: self.key_exchanges,
            unread: !safe && self.by_kind.keys().any(|kind| is_unread(kind)),
            answers,
        };
        ((interface, sorted), record)
    }
}

/// Whether a reader could not look inside, by what a report calls it: tunnels, encrypted or not, and what nobody recognises.
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
    fn questions(self) -> [(&'static str, Statement); 6] {
        [
            ("offered", self.offered.into()),
            ("preferred", self.preferred.into()),
            ("negotiated", self.negotiated.into()),
            ("authenticated", self.authenticated.into()),
            ("stayed", self.stayed.into()),
            ("clear", self.clear.into()),
        ]
    }
}

impl From<Judged> for Statement {
    fn from(judged: Judged) -> Self {
        Self {
            says: judged.verdict,
            because: judged.because,
            sources: judged.sources,
        }
    }
}

impl From<Answered> for Statement {
    fn from(answered: Answered) -> Self {
        Self {
            says: answered.answer,
            because: answered.because,
            sources: answered.sources,
        }
    }
}
