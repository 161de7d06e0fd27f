//! Changes of each link between two dates.

mod compare;
mod record;
mod text;

use serde::Serialize;

pub use compare::{Change, Comparison, Limit, Step, Verdict, compare};
pub use record::{Error, Key, LinkRecord, Links, Statement, of_report, parse};
pub use text::render;

/// Changes as `bartizan-inspect-diff/1` writes them.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    before: &'a str,
    after: &'a str,
    limits: &'a [Limit],
    changes: &'a [Change],
    worse: usize,
}

impl<'a> Document<'a> {
    /// Document of a comparison between the captures or reports with these names.
    pub fn new(before: &'a str, after: &'a str, compared: &'a Comparison) -> Self {
        Self {
            schema: "bartizan-inspect-diff/1",
            before,
            after,
            limits: &compared.limits,
            changes: &compared.changes,
            worse: compared.worse(),
        }
    }
}
