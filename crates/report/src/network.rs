//! A network as its packets show it, as one HTML file: the map, and the evidence behind every stroke of it.

mod layout;
mod map;
mod page;

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
    /// Why it could not be read to its end, if it could not.
    pub damage: Option<String>,
    /// Its links.
    pub network: &'a Network,
    /// What a deployment file lists and nobody saw.
    pub unseen: Vec<Unseen>,
    /// What its reader must look at.
    pub findings: Vec<Told>,
    /// What limits what can be said.
    pub notes: Vec<String>,
}

/// A finding in words.
#[derive(Debug)]
pub struct Told {
    /// What is at stake.
    pub concern: &'static str,
    /// The reason, and how often.
    pub words: String,
    /// The first place, where there is one.
    pub example: Option<String>,
}

/// The page of these captures. It needs nothing else: no script, no font, no picture from anywhere, no network.
#[must_use]
pub fn survey_html(surveys: &[Survey<'_>]) -> String {
    page::page(surveys)
}
