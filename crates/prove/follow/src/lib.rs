//! Captures, ledgers and keys as they come: from files, pipes, interfaces and parts of other
//! workers. What is followed live, and its events on their way to standard output, a page, metrics
//! and a collector.
//!
//! `inspect` judges, without I/O; this crate reads and delivers. The binary has the options, the loop and the signals.
#![forbid(unsafe_code)]

pub mod damage;
pub mod delivery;
pub mod distinct;
pub mod event_writer;
pub mod folder;
mod input;
mod interface;
pub mod keys;
pub mod ledgers;
pub mod merge;
pub mod metrics;
pub mod packets;
pub mod page;
pub mod part;
pub mod read;
pub mod source;
pub mod stdout_writer;
pub mod stream;
mod tail;
mod unpack;
