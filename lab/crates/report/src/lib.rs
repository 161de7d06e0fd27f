//! From the records of an experiment to a report of it.
//!
//! [`Report::of`] is pure: experiment, published values and records in, a value out that holds
//! everything a reader is shown. Renderers only arrange it: one HTML file that needs nothing else,
//! Markdown, CSV and JSON. A record is read as `lab` wrote it.
#![forbid(unsafe_code)]

pub mod bench;
mod compare;
mod count;
mod csv;
mod html;
mod json;
mod markdown;
mod model;
mod plot;
pub mod quantity;
pub mod storm;

pub use compare::{Change, Changed, compare};
pub use count::{Count, CountedValue, Tally};
pub use csv::{samples_csv, summary_csv};
pub use html::html;
pub use json::{REPORT_SCHEMA, json};
pub use markdown::markdown;
pub use model::{
    AnswerPiece, AtSpeed, Cell, Comparison, ComparisonResult, Condition, Control, Direction, Effect, Figure, File,
    Heading, Measured, Mode, Noise, Pace, Part, PublishedRow, PublishedValues, Quickness, Report, Samples, Speed,
    Statistics, Table, Verdict, Warning, controls,
};
pub use plot::standalone;
