//! What exists: TLS groups and signature schemes, IKEv2 transforms, MACsec cipher suites, with their
//! code points, sizes in bytes, NIST categories and the names that OpenSSL, rustls and strongSwan use.
//!
//! One table serves parsers, policy, planner and documents. The crate does no I/O.
#![forbid(unsafe_code)]

mod code;
mod group;
mod signature;
mod standing;

pub use code::{NamedGroup, SignatureScheme, is_grease};
pub use group::{GROUPS, Group, Kind, group, group_named};
pub use signature::{SIGNATURES, Signature, signature, signature_named};
pub use standing::{Category, Safety, Standing, State};
