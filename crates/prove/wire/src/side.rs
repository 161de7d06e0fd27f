//! Facts that readers know of their connection: the end that sent the bytes, and whether its
//! beginning was seen.

/// One of a connection's two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The end that asks.
    Client,
    /// The end that answers.
    Server,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

impl Side {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }
}

/// Start of a connection: seen from its first packet, or in midstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// Its SYN is in the capture.
    Syn,
    /// It was already there: what it began with is not known.
    Midstream,
}
