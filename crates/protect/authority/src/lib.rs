//! Enrolment at an authority over HTTP: messages of CMP, EST over TLS, roots and revocation lists.
//!
//! [`Service`] answers requests and writes the audit log, [`serve`] has the connections around it.
#![forbid(unsafe_code)]

mod audit;
mod est;
mod http;
mod published;
mod rate;
mod service;

use std::time::SystemTime;

pub use audit::Audit;
pub use http::{Limits, Protocol, serve};
pub use service::{Error, Service};

/// A time in the form of RFC 3339, UTC: `2027-02-19T08:00:00Z`; empty where that has no such form.
pub fn moment(time: SystemTime) -> String {
    time::OffsetDateTime::from(time)
        .format(&time::format_description::well_known::Rfc3339)
        .unwrap_or_default()
}
