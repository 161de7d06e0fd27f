//! Changes of each link between two dates.

mod compare;
mod record;
mod text;

use serde::Serialize;

pub use compare::{Change, Comparison, Limit, Step, Verdict, compare};
pub use record::{Error, Key, LinkRecord, Links, Statement, of_report, parse};
pub use text::render;

bartizan_registry::made! {
    /// Changes as `bartizan-inspect-diff/1` writes them.
    #[derive(Debug, Serialize)]
    pub struct Document<'a>,
    /// Document of a comparison between the captures or reports with these names.
    pub new(before: &'a str, after: &'a str, compared: &'a Comparison) {
        schema: &'static str = "bartizan-inspect-diff/1",
        before: &'a str,
        after: &'a str,
        limits: &'a [Limit] = &compared.limits,
        changes: &'a [Change] = &compared.changes,
        worse: usize = compared.worse(),
    }
}
