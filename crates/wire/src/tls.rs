//! TLS 1.2 (RFC 5246) and TLS 1.3 (RFC 9846) as a bystander sees them.

mod handshake;
mod hello;
mod legacy;
mod record;
mod session;

pub use hello::{ClientHello, KeyShare, Malformed, ServerHello};
pub use legacy::{Certificates, ServerKeyExchange, is_null_cipher};
pub use session::{Alert, Fault, Flight, Protected, Tls, alert_name};

pub(crate) use session::Session;

/// A protocol version as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16);

impl Version {
    /// TLS 1.2.
    pub const TLS12: Self = Self(0x0303);
    /// TLS 1.3.
    pub const TLS13: Self = Self(0x0304);
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0x0300 => f.pad("SSL 3.0"),
            0x0301 => f.pad("TLS 1.0"),
            0x0302 => f.pad("TLS 1.1"),
            0x0303 => f.pad("TLS 1.2"),
            0x0304 => f.pad("TLS 1.3"),
            other => write!(f, "unknown(0x{other:04x})"),
        }
    }
}
