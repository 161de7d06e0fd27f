//! Changes of each link between two dates.

mod compare;
mod record;
mod text;

use serde::Serialize;

pub use compare::{Change, Step, Verdict, compare};
pub use record::{Error, Key, LinkRecord, Links, Statement, of_report, parse};
pub use text::render;

/// Changes as `bartizan-inspect-diff/1` writes them.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    before: &'a str,
    after: &'a str,
    changes: &'a [Change],
    worse: usize,
}

impl<'a> Document<'a> {
    /// Document of the changes that `compare` gave, between the captures or reports with these
    /// names.
    #[must_use]
    pub fn new(before: &'a str, after: &'a str, changes: &'a [Change]) -> Self {
        Self {
            schema: "bartizan-inspect-diff/1",
            before,
            after,
            changes,
            worse: worse(changes),
        }
    }
}

/// Number of the changes that are for the worse.
#[must_use]
pub fn worse(changes: &[Change]) -> usize {
    changes.iter().filter(|change| change.is_for_the_worse()).count()
}
