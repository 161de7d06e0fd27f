//! What one handshake shows.

use std::io;

use bartizan_deployment::{InterfaceKind, NodeName};
use bartizan_ledger as ledger;
use rustls::{ClientConnection, ServerConnection};

use crate::Refused;

/// What one handshake shows. A clone watches the same handshake.
#[derive(Debug, Clone)]
pub struct Watch {}

/// A handshake that ended well, with what it negotiated.
#[derive(Debug, Clone)]
pub struct Established {
    /// The node whose names the peer's certificate carries.
    pub peer: NodeName,
    /// The interface between the two.
    pub interface: InterfaceKind,
    /// What was negotiated.
    pub negotiated: ledger::Negotiated,
    /// The chain the peer sent, leaf first; on resumption the one of the first handshake.
    pub chain: Vec<ledger::Certificate>,
    /// How packets show this handshake.
    pub key: Option<ledger::Key>,
    /// Bytes of TLS records until it ended.
    pub bytes: ledger::Bytes,
    /// `Accepted` or `Excepted`.
    pub verdict: ledger::Verdict,
}

impl Watch {
    /// Takes note of TLS bytes on their way to the socket.
    pub fn sent(&self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// Takes note of TLS bytes from the socket.
    pub fn received(&self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// Judges a client's handshake that rustls has completed.
    ///
    /// # Errors
    /// Where the policy refuses what was negotiated.
    pub fn finish_client(&self, connection: &ClientConnection) -> Result<Established, Box<Refused>> {
        let _ = connection;
        unimplemented!()
    }

    /// Judges a server's handshake that rustls has completed.
    ///
    /// # Errors
    /// Where the policy of the peer refuses what was negotiated.
    pub fn finish_server(&self, connection: &ServerConnection) -> Result<Established, Box<Refused>> {
        let _ = connection;
        unimplemented!()
    }

    /// Why a handshake failed.
    #[must_use]
    pub fn failed(&self, error: &io::Error) -> Box<Refused> {
        let _ = error;
        unimplemented!()
    }

    /// The refusal of a handshake that took longer than it may.
    #[must_use]
    pub fn timed_out(&self) -> Box<Refused> {
        unimplemented!()
    }
}
