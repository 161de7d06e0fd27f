//! HTTP/2 connections without sockets (RFC 9113): bytes and commands in, events and bytes out.
//!
//! Made for a proxy: header lists stay lists of bytes, bodies are copied once from what was read to
//! what is written, and a stream of one connection is tied to that of another by whatever the
//! caller keeps with it. State that an unauthenticated peer can choose is bounded; a violation is
//! answered with the error code of the standard.
#![forbid(unsafe_code)]

mod connection;
mod fields;
mod frame;
mod hpack;
mod message;

pub use connection::{Bounds, Connection, Event, Fault, Received, Role, Sweeps, Unsent};
pub use fields::{Fields, Indexing};
pub use frame::Code;
pub use hpack::{Decoder, Encoder, Unread};
pub use message::{Kind, MalformedMessage, Summary, check, is_host};

/// The client's connection preface (section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
