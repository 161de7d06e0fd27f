//! What a node proves itself with, and whom it trusts.

use std::time::SystemTime;

use bartizan_deployment::{Files, Identity};
use bartizan_ledger as ledger;

use crate::Error;

/// A node's chain, key, trusted roots and revocation lists as loaded; the key's bytes are zeroized once parsed.
#[derive(Debug)]
pub struct Credentials {
    chain: Vec<ledger::Certificate>,
}

impl Credentials {
    /// Reads a node's files.
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what to do.
    pub fn load(files: &Files) -> Result<Self, Error> {
        let _ = files;
        unimplemented!()
    }

    /// The same from PEM text already in memory.
    ///
    /// # Errors
    /// Names `certificate`, `key`, `roots` or `crl`, what is wrong with it and what to do.
    pub fn from_pem(certificate: &[u8], key: &[u8], roots: &[u8], crl: Option<&[u8]>) -> Result<Self, Error> {
        let _ = (certificate, key, roots, crl);
        unimplemented!()
    }

    /// Whether the leaf carries the names this node must be recognised by: every peer would refuse it otherwise.
    ///
    /// # Errors
    /// Names the names that are missing, with the command that issues a certificate that has them.
    pub fn check_identity(&self, identity: &Identity) -> Result<(), Error> {
        let _ = identity;
        unimplemented!()
    }

    /// The chain sent to peers, leaf first.
    #[must_use]
    pub fn chain(&self) -> &[ledger::Certificate] {
        &self.chain
    }

    /// When the first certificate of the chain ends.
    #[must_use]
    pub fn not_after(&self) -> SystemTime {
        unimplemented!()
    }
}
