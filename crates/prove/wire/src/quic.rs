//! QUIC (RFC 9000, RFC 9369): its Initial packets, whose keys are public, and the TLS handshake in
//! them.
//!
//! The keys of Initial packets follow from a connection identifier that is unencrypted (RFC 9001, section 5.2); computing them takes
//! cryptography, which [`Keys::quic`](crate::keys::Keys::quic) gives. What follows the Initial packets is counted.

mod crypto;
mod header;
mod protected;
mod segments;
mod session;

use crate::tls::Tls;
use crate::{Moment, Seen, Side};

pub(crate) use header::{Cid, is_text, long, versions};
pub(crate) use session::{Session, Taken};

/// Observations of a QUIC connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quic {
    /// The version of the latest packet with a long header.
    pub version: Option<u32>,
    /// TLS in the Initial packets: hellos and faults.
    pub tls: Tls,
    /// Initial packets that were opened.
    pub opened: u64,
    /// Initial packets that were not: damaged, cut, of a version that is not known, or of a connection whose first is missing.
    pub unopened: u64,
    /// Encrypted packets of the client and of the server: Handshake, 0-RTT, and those with a short header.
    pub protected: [u64; 2],
    /// Handshake packets among these that the given keys open, of the client and of the server.
    pub opened_handshake: [u64; 2],
    /// The same of packets with a short header.
    pub opened_short: [u64; 2],
    /// Protected packets with a short header: their sender has finished the handshake.
    pub short: [u64; 2],
    /// Behind the client's first packet with a short header, the server sent a long one, or both ends sent such packets in turn
    /// twice, the server's of two lengths. A server that refuses the client's certificate sends a
    /// CONNECTION_CLOSE, which has a short header too, and sends it again for packets that arrive
    /// later (RFC 9000, section 10.2.1).
    pub answered: bool,
    /// The first 0-RTT packet: early data.
    pub early_data: Option<Moment>,
    /// A Retry packet.
    pub retry: Option<Moment>,
    /// A Version Negotiation packet.
    pub version_negotiation: Option<Moment>,
    /// An end closed the connection in an Initial packet.
    pub closed: Option<Seen<Close>>,
    /// CRYPTO frames that contradict earlier ones.
    pub contradicted: Option<Moment>,
    /// Bytes of CRYPTO frames that there was no room for.
    pub omitted: u64,
}

/// A CONNECTION_CLOSE in an Initial packet (RFC 9000, section 19.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close {
    /// Sender.
    pub from: Side,
    /// Its error code; 0x100 to 0x1ff carry a TLS alert (RFC 9001, section 4.8).
    pub code: u64,
}

impl std::fmt::Display for Close {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            0x100..=0x1ff => {
                let alert = (self.code & 0xff) as u8;
                match crate::tls::alert_name(alert) {
                    Some(name) => write!(f, "{name} from the {}", self.from),
                    None => write!(f, "alert {alert} from the {}", self.from),
                }
            }
            code => write!(f, "error 0x{code:x} from the {}", self.from),
        }
    }
}

impl Quic {
    /// Bytes it holds on the heap, about.
    pub fn held(&self) -> usize {
        let tls = &self.tls;
        let hellos = [&tls.client_hello, &tls.second_client_hello];
        hellos.into_iter().flatten().map(|hello| hello.value.held()).sum()
    }
}

#[cfg(test)]
mod tests;
