//! A network as its packets show it, as one HTML file: the map, and the evidence behind every stroke of it.

mod layout;
pub mod live;
mod map;
mod page;
mod taken;

use bartizan_inspect::{Finding, Report};

pub use map::Unseen;

/// One capture, judged.
#[derive(Debug)]
pub struct Survey<'a> {
    /// Its report.
    pub report: &'a Report,
    /// Links that a deployment file lists and that were not seen.
    pub unseen: Vec<Unseen>,
    /// Findings that its reader must look at, each with its acceptance by the operator, if there is
    /// one: until when, and why.
    pub findings: Vec<(Finding, Option<String>)>,
    /// Limits of the evidence.
    pub notes: Vec<String>,
}

/// The page of these captures. It needs nothing else: no script, no font, no picture from anywhere, no network.
pub fn survey_html(surveys: &[Survey<'_>]) -> String {
    page::page(surveys)
}
