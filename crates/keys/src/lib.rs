//! Keys that somebody gave, and what they open.
//!
//! A [`Keyring`] takes key logs (RFC 9850, what `SSLKEYLOGFILE` makes programs write) and answers what `wire` asks of
//! [`Keys`](bartizan_wire::keys::Keys): which key protects these records, and what is in them.
//!
//! Secrets are wiped when they go, are in no error and have no `Debug`. The crate opens no file.
#![forbid(unsafe_code)]

mod key_log;
mod keyring;
mod record;
mod schedule;

pub use key_log::{KeyLog, LineError};
pub use keyring::{Added, Keyring};
