//! Enrolment by EST ([`est`]) and by the Certificate Management Protocol (CMP, RFC 9810, in the
//! manner of its lightweight profile, RFC 9483): how a network function or a base station gets its
//! first certificate by a secret that was agreed on, and each further one by the certificate it
//! has.
//!
//! Messages go in and out as DER; sockets, files and the clock are the caller's. [`Responder`] is
//! the authority's end, and writes its records through `bartizan-pki`; [`Requester`] is the other
//! end. Messages are protected by a password-based MAC (RFC 9810, section 5.1.3.1) or by a
//! signature, ML-DSA included; what carries them, HTTP, need not be.
#![forbid(unsafe_code)]

mod body;
mod encoding;
mod error;
pub mod est;
mod header;
mod inquiry;
mod message;
mod oid;
mod protection;
mod request;
mod requester;
mod responder;
mod status;

pub use error::Error;
pub use inquiry::Inquiry;
pub use message::LARGEST;
pub use protection::{Identity, Trust};
pub use requester::{Credential, Enrolled, Next, Requester};
pub use responder::{Answer, Event, Received, Responder};
pub use status::Failure;
