//! A cryptographic bill of materials (CycloneDX 1.7) of what was observed.
//!
//! [`Inventory`] takes connections, associations and security associations as they end and folds
//! them into assets, so that it takes the same room however many there are. Nothing in it comes
//! from a configuration: an asset stands in the document because packets, or a ledger that tells of
//! the same handshake, show it in use, and each names where.

mod algorithm;
mod certificate;
mod evidence;
mod inventory;
mod protocol;
mod service;
mod version;

pub use inventory::Inventory;
pub use version::Version;
