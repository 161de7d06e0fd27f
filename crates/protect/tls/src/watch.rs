//! Observation of one handshake.

use std::io;
use std::sync::Arc;

use bartizan_deployment::{InterfaceKind, NodeName};
use bartizan_ledger as ledger;
use rustls::{ClientConnection, ServerConnection};

use crate::cause::Cause;
use crate::handshake::Handshake;
use crate::{Reason, Refused, SessionFacts};

/// Observer of one handshake. A clone watches the same handshake.
#[derive(Debug, Clone)]
pub struct Watch {
    pub(crate) handshake: Arc<Handshake>,
}

/// A handshake that ended well, with what it negotiated.
#[derive(Debug, Clone)]
pub struct Established {
    /// The node whose names the peer's certificate carries.
    pub peer: NodeName,
    /// The interface between the two.
    pub interface: InterfaceKind,
    /// The negotiated parameters.
    pub negotiated: ledger::Negotiated,
    /// The chain the peer sent, leaf first; on resumption the one of the first handshake.
    pub chain: Arc<[ledger::Certificate]>,
    /// The chain that this node sent, leaf first; empty on resumption.
    pub local_chain: Arc<[ledger::Certificate]>,
    /// Key that identifies this handshake in a capture.
    pub key: Option<ledger::Key>,
    /// Bytes of TLS records until it ended; in QUIC of the messages themselves.
    pub bytes: ledger::Bytes,
    /// By what the connection can be judged again.
    pub facts: SessionFacts,
    /// `Accepted` or `Excepted`.
    pub verdict: ledger::Verdict,
}

impl Watch {
    pub(crate) fn new(handshake: Arc<Handshake>) -> Self {
        Self { handshake }
    }

    /// Takes note of TLS bytes on their way to the socket. Costs an atomic load once the handshake has ended.
    pub fn sent(&self, bytes: &[u8]) {
        self.handshake.note_sent(bytes);
    }

    /// Takes note of TLS bytes from the socket. Costs an atomic load once the handshake has ended.
    pub fn received(&self, bytes: &[u8]) {
        self.handshake.note_received(bytes);
    }

    /// Judges a client's handshake that rustls has completed.
    ///
    /// A TLS 1.3 client ends before the server has judged it: that the server refuses shows in the first read, whose error
    /// [`Watch::failed`] explains.
    ///
    /// # Errors
    /// Fails if the policy refuses what was negotiated: no byte of the application may pass then.
    pub fn finish_client(&self, connection: &ClientConnection) -> Result<Established, Box<Refused>> {
        self.handshake.finish(connection)
    }

    /// Judges a server's handshake that rustls has completed.
    ///
    /// # Errors
    /// Fails if the policy of the peer refuses what was negotiated: no byte of the application may
    /// pass then.
    pub fn finish_server(&self, connection: &ServerConnection) -> Result<Established, Box<Refused>> {
        self.handshake.finish(connection)
    }

    /// Why a handshake failed, or a connection whose peer refused it after.
    ///
    /// `error` is the one of the socket or of tokio-rustls, with rustls' own inside. A reason that our own checks recorded
    /// comes first.
    #[must_use]
    pub fn failed(&self, error: &io::Error) -> Box<Refused> {
        self.handshake.fail(error)
    }

    /// The refusal of a handshake that took longer than it may.
    #[must_use]
    pub fn timed_out(&self) -> Box<Refused> {
        self.handshake.end(Cause::new(
            Reason::TimedOut,
            "the handshake did not end in time",
            "is the peer overloaded, or does something on the path drop large packets? ML-DSA chains are 10 to 20 kB",
        ))
    }
}
