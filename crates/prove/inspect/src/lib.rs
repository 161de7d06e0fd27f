//! Captures and ledgers to what people and programs read of them: findings, tables, JSON, events, differences.
//!
//! `wire` turns packets into evidence and `posture` evidence into verdicts, objections and links.
//! Here they become a [`Report`]: a [`Judging`] takes what an observer gives, and the report is
//! written by [`text`] and [`json`], compared by [`diff`], and reported as it changes by
//! [`follow`]. The rules that decide a verdict or a finding stand in `posture`.
//!
//! The crate does no I/O and reads no clock.
#![forbid(unsafe_code)]

mod against;
mod answer;
mod conversation;
mod coverage;
pub mod coverage_csv;
pub mod diff;
pub mod evidence;
mod findings;
pub mod follow;
pub mod json;
mod judging;
pub mod reads;
mod remedy;
mod report;
mod shares;
pub mod text;

pub use against::Against;
pub use answer::{Answer, Step};
pub use conversation::Conversation;
pub use coverage::Coverage;
pub use findings::Finding;
pub use judging::{Judging, Recorder};
pub use remedy::{Change, Remedy, Severity, remedies};
pub use report::{ByLedgers, Report, Row, Summary, Tally};
pub use shares::{Detail, MEMORY, Shares};
