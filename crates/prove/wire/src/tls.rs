//! TLS 1.2 (RFC 5246) and TLS 1.3 (RFC 9846) as a bystander sees them.

mod handshake;
mod hello;
mod legacy;
mod opened;
mod record;
mod session;

pub use hello::{ClientHello, KeyShare, Malformed, ServerHello, SessionId};
pub use legacy::{Certificates, ServerKeyExchange, is_null_cipher, older_cipher};
pub use opened::{Opened, Tunnel, Unopened};
pub use session::{Alert, Fault, Flight, Protected, Protection, Tls, alert_name};

pub(crate) use handshake::{
    CERTIFICATE, CERTIFICATE_VERIFY, CLIENT_HELLO, IN_PLAINTEXT, LONGEST_MESSAGE, SERVER_HELLO, SERVER_KEY_EXCHANGE,
};
pub(crate) use session::Session;

use crate::cursor::Cursor;
use crate::keys::Keys;

/// Certificates read of one chain: as many as a ledger keeps.
const LONGEST_CHAIN: usize = 10;

/// A protocol version as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16);

impl Version {
    /// TLS 1.1.
    pub const TLS11: Self = Self(0x0302);
    /// TLS 1.2.
    pub const TLS12: Self = Self(0x0303);
    /// TLS 1.3.
    pub const TLS13: Self = Self(0x0304);
    /// DTLS 1.0.
    pub const DTLS10: Self = Self(0xfeff);
    /// DTLS 1.2.
    pub const DTLS12: Self = Self(0xfefd);
    /// DTLS 1.3.
    pub const DTLS13: Self = Self(0xfefc);

    fn is_dtls(self) -> bool {
        self.0 >> 8 == 0xfe
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0x0300 => f.pad("SSL 3.0"),
            0x0301 => f.pad("TLS 1.0"),
            0x0302 => f.pad("TLS 1.1"),
            0x0303 => f.pad("TLS 1.2"),
            0x0304 => f.pad("TLS 1.3"),
            0xfeff => f.pad("DTLS 1.0"),
            0xfefd => f.pad("DTLS 1.2"),
            0xfefc => f.pad("DTLS 1.3"),
            other => write!(f, "unknown(0x{other:04x})"),
        }
    }
}

/// The body of a Certificate message that was sent compressed (RFC 8879, section 4).
fn unpacked(body: &[u8], keys: &dyn Keys) -> Option<Vec<u8>> {
    let mut cursor = Cursor::new(body);
    let algorithm = cursor.u16()?;
    let length = usize::try_from(cursor.u24()?).ok()?;
    let packed = cursor.vector24()?.rest();
    if length > handshake::LONGEST_MESSAGE {
        return None;
    }
    keys.unpack(algorithm, packed, length)
}

/// The certificates in the body of a Certificate message of TLS 1.3, in DER (RFC 9846, section 4.4.2).
fn certificates(body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut cursor = Cursor::new(body);
    cursor.vector8()?;
    let mut list = cursor.vector24()?;
    let mut chain = Vec::new();
    while !list.is_empty() && chain.len() < LONGEST_CHAIN {
        chain.push(list.vector24()?.rest());
        list.vector16()?;
    }
    Some(chain)
}
