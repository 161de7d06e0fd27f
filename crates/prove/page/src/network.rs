//! A network as its packets show it, as one HTML file: the map, and the evidence behind every stroke of it.

mod layout;
pub mod live;
mod map;
mod page;
mod taken;

use bartizan_inspect::Remedy;
use bartizan_posture::Network;

pub use map::Unseen;

/// One capture, judged.
#[derive(Debug)]
pub struct Survey<'a> {
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes as they lie on disk, in hexadecimal; none where it was not read to its end.
    pub sha256: Option<String>,
    /// Packets in it.
    pub packets: u64,
    /// Time of the first packet, nanoseconds since 1970.
    pub first_ns: Option<u64>,
    /// Time of the last.
    pub last_ns: Option<u64>,
    /// The reason why it could not be read to its end, if it could not.
    pub damage: Option<String>,
    /// Its links.
    pub network: &'a Network,
    /// Links that a deployment file lists and that were not seen.
    pub unseen: Vec<Unseen>,
    /// The answer, which its reader must know before anything else.
    pub answer: Answer,
    /// Findings that its reader must look at.
    pub findings: Vec<Reported>,
    /// Limits of the evidence.
    pub notes: Vec<String>,
}

/// The answer to what was asked of a capture.
#[derive(Debug, Default)]
pub struct Answer {
    /// Links, also those that carried nothing.
    pub links: u64,
    /// Those that carried nothing.
    pub without_data: u64,
    /// Share of the bytes that could carry something that was judged: `98.2 %`.
    pub judged: String,
    /// Those bytes, those of them that are unproven, and those that were not read.
    pub bytes: [u64; 3],
    /// Findings by severity, the worst first.
    pub severities: Vec<(&'static str, u64)>,
    /// First steps, each with what it mends.
    pub steps: Vec<(&'static str, String)>,
}

/// A finding in words.
#[derive(Debug)]
pub struct Reported {
    /// Its severity.
    pub severity: &'static str,
    /// Its remedy: the setting and its file, the command, and the framework that asks for it.
    pub remedy: Remedy,
    /// The concern at stake.
    pub concern: &'static str,
    /// The reason, and how often.
    pub words: String,
    /// The first place, where there is one.
    pub example: Option<String>,
    /// Its acceptance by the operator: until when, and why.
    pub accepted: Option<String>,
}

/// The page of these captures. It needs nothing else: no script, no font, no picture from anywhere, no network.
#[must_use]
pub fn survey_html(surveys: &[Survey<'_>]) -> String {
    page::page(surveys)
}
