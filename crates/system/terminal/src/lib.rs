//! The conventions of the command lines: outcomes and exit codes, printing, tables, interrupts,
//! sizes, sheets, manual pages.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "sheet")]
pub mod answer;
pub mod help;
pub mod interrupt;
#[cfg(feature = "sheet")]
pub mod man;
pub mod outcome;
pub mod output;
pub mod size;
pub mod table;

pub use outcome::{Failure, Outcome};
