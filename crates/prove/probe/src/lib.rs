//! Asks one server what it would negotiate, by connections that ordinary clients make.
//!
//! Key exchange groups and cipher suites are asked for by elimination: each hello offers what the
//! server has not chosen yet, until it refuses. Whole handshakes are recorded as packets on a
//! [`Tape`], which the inspector judges as any capture.
//!
//! Each probe is bounded in connections, in bytes and in time. Secrets of its own connections stay
//! in memory.
#![forbid(unsafe_code)]

mod answer;
mod handshake;
mod hello;
mod ike;
mod quic;
mod session;
mod ssh;
mod tape;
mod tls;

pub use answer::Answer;
pub use session::Session;
pub use tape::Tape;

/// A protocol that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TLS over TCP.
    Tls,
    /// QUIC.
    Quic,
    /// SSH.
    Ssh,
    /// IKEv2.
    Ike,
}

impl Protocol {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls => "TLS",
            Self::Quic => "QUIC",
            Self::Ssh => "SSH",
            Self::Ike => "IKEv2",
        }
    }
}

/// Reason for which a server could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment's: no route, a port that refuses.
    #[error("cannot be reached: {0}")]
    Unreachable(std::io::Error),
    /// The server does not answer.
    #[error("does not answer in time")]
    Silent,
    /// The server ends the connection without an answer.
    #[error("closes the connection without an answer")]
    Closed,
    /// The server speaks something else, or refuses all that was offered.
    #[error("{0}")]
    Foreign(String),
    /// The server sends without end.
    #[error("sent more than {} bytes without an answer", session::BYTES)]
    Endless,
    /// The bounds of a probe are reached.
    #[error(
        "the probe reached its bounds: {} connections, or twenty timeouts",
        session::CONNECTIONS
    )]
    Bound,
    /// Ours.
    #[error("our own fault: {0}")]
    Ours(String),
}

impl Session<'_> {
    /// Asks the server.
    ///
    /// # Errors
    /// The reason for which it gave no answer.
    pub fn ask(&mut self, protocol: Protocol) -> Result<Vec<Answer>, Error> {
        match protocol {
            Protocol::Tls => tls::ask(self),
            Protocol::Quic => quic::ask(self),
            Protocol::Ssh => ssh::ask(self),
            Protocol::Ike => ike::ask(self),
        }
    }
}
