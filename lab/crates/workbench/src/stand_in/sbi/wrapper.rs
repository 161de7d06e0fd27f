//! Key encapsulation and signatures as calls of an HTTP service: what a proxy pays that has each
//! operation of a handshake done by a wrapper behind a REST interface instead of a library of its
//! own.
//!
//! HTTP/1.1 with JSON, byte strings in hexadecimal; ML-KEM-768 and ML-DSA-65 by AWS-LC.

mod client;
mod http;
mod operation;
mod server;

pub use client::{Called, Caller};
pub use operation::{Keys, Operation};
pub use server::serve;
