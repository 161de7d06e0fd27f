//! Negotiated algorithms as seen in effect: append-only, versioned records, one JSON object per
//! line.
//!
//! Each record carries the key that packets show ([`Key`]), so that a capture and a ledger can be
//! joined. No secret is ever in one: no session key, no private key, no payload.
//!
//! [`LedgerFile`] writes every append-only file, and [`state`] checks the directories of a program.
#![forbid(unsafe_code)]

mod association;
mod file;
mod ipsec;
mod macsec;
mod prefix;
mod queue;
mod read;
mod record;
mod refusals;
mod row;
pub mod state;
mod totals;
mod write;

pub use association::{Association, StreamCounts};
pub use file::{Appended, Bounds, Form, LedgerFile, Unwritten, files, missing, rotation};
pub use ipsec::{
    Algorithm, Asked, Authentication, Cause, ChildSa, EspSpi, Forgery, IkeSa, IkeSpi, Messages, Refuser, SaClosed,
    SaRefused, Why,
};
pub use macsec::{
    MacsecCak, MacsecCause, MacsecEnd, MacsecKey, MacsecLink, MacsecNotRekeyed, MacsecOrigin, MacsecOutlived,
    MacsecRefused,
};
pub use prefix::Prefix;
pub use read::{Damaged, Reader};
pub use record::{
    Bytes, Certificate, Closed, Code, Direction, Event, Handshake, Key, Lost, Negotiated, Protocol, Random, Record,
    Refusal, Refusals, Times, VERSION, Verdict,
};
pub use row::{Outcome, Row};
pub use totals::Totals;
pub use write::{Error, Ledger, Recorder};
