//! Equivalent configurations of all proxies: one worker, TLS 1.3, AES-256-GCM, both ends
//! authenticated, no resumption.

mod bartizan;
mod envoy;
mod ghostunnel;
mod haproxy;
mod nghttpx;
mod nginx;
mod stunnel;
mod tools;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bartizan_host::{LabRoot, Program};

pub use self::tools::{Missing, Tools, product};
use crate::Error;
use crate::stand_in::proxies::papers::Papers;

/// The cipher suite of every link (RFC 9846, appendix B.4), by OpenSSL's name.
const CIPHER_SUITE: &str = "TLS_AES_256_GCM_SHA384";

/// Reuse of connections between the proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// As they are run in earnest.
    Kept,
    /// A new one, by a full handshake, for each of the client.
    Fresh,
}

/// Parameters of a pair of proxies.
#[derive(Debug)]
pub(super) struct Link<'a> {
    pub(super) papers: &'a Papers,
    pub(super) reuse: Reuse,
    /// Address to which the client connects.
    pub(super) entry: SocketAddr,
    /// TLS listening address of the producer's proxy.
    pub(super) middle: SocketAddr,
    pub(super) server: SocketAddr,
    /// A folder of its own.
    pub(super) folder: &'a Path,
}

impl Link<'_> {
    /// Writes a file of the pair.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(Error::file(&path))?;
        Ok(path)
    }
}

/// The programs of the two ends.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) consumer: Program,
    pub(super) producer: Program,
    /// Ledger of the producer's proxy, if it writes one.
    pub(super) ledger: Option<PathBuf>,
}

/// OpenSSL of the root with its default configuration: no proxy depends on what a machine has in /etc.
fn program(root: &LabRoot, name: &str) -> Result<Program, Error> {
    Ok(root.command(name)?)
}
