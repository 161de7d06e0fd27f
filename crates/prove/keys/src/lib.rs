//! Keys that were given, and the records and messages that they open.
//!
//! A [`Keyring`] takes key logs (RFC 9850, what `SSLKEYLOGFILE` makes programs write) and tables of
//! IKE keys (Wireshark's `ikev2_decryption_table`) and answers what `wire` asks of
//! [`Keys`](bartizan_wire::keys::Keys): which key protects these records, and what is in them.
//!
//! The keys of QUIC's Initial packets follow from what is unencrypted, and are computed here too.
//!
//! Secrets are wiped when they go, are in no error and have no `Debug`. The crate opens no file.
#![forbid(unsafe_code)]

mod ike;
mod ike_table;
mod key_log;
mod keyring;
mod quic;
mod record;
mod schedule;

pub use key_log::{Format, KeyLog, LineError};
pub use keyring::{Added, Keyring};
