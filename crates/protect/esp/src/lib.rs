//! ESP security associations (RFC 4303) without sockets: IP packets in, ESP packets out, and back.
//!
//! An [`Outbound`] SA numbers and seals what it is given, an [`Inbound`] SA opens what arrives and
//! refuses what it has seen; [`tunnel`] puts whole IP packets between two gateways into them. The
//! socket writes the headers in front of ESP. Everything happens in the caller's buffer: a packet is
//! read from a device to where its payload will stand, and nothing is copied or allocated on its way.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use bartizan_esp::{Inbound, Outbound, SequenceNumbers, Suite};
//! use bartizan_registry::{TransformKind, transform_named};
//!
//! let gcm = transform_named(TransformKind::Encryption, "ENCR_AES_GCM_16").unwrap();
//! let suite = Suite::of(gcm.id, Some(256), None)?;
//! let keys = [7; 36]; // from the key exchange, as many as `suite.key_material()`
//! let mut sender = Outbound::new(0x1000, suite, &keys, SequenceNumbers::Extended)?;
//! let mut receiver = Inbound::new(0x1000, suite, &keys, SequenceNumbers::Extended, 1024)?;
//!
//! let mut buffer = [0; 128];
//! buffer[sender.headroom()..][..5].copy_from_slice(b"hello");
//! let length = sender.seal(&mut buffer, 5, 17)?;
//! let opened = receiver.open(&mut buffer[..length])?;
//! assert_eq!((opened.next_header, &*opened.payload), (17, &b"hello"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! Tasks left to others: which SA a packet belongs to, whether an opened packet is one that the
//! SA's selectors allow (RFC 4301, section 5.2), fragments, and when an SA has protected enough to
//! be rekeyed.
#![forbid(unsafe_code)]

mod ccm;
mod cipher;
mod error;
mod inbound;
mod ip;
mod outbound;
mod replay;
mod suite;
pub mod tunnel;

pub use cipher::{Associated, Opening, Sealing};
pub use error::{OpenError, SealError, Unusable};
pub use inbound::{Inbound, Opened};
pub use outbound::Outbound;
pub use suite::{SequenceNumbers, Suite};

/// SPI and sequence number (RFC 4303, sections 2.1 and 2.2).
const HEADER: usize = bartizan_registry::Header::ESP.bytes as usize;
/// Pad length and next header (RFC 4303, sections 2.5 and 2.6).
const TRAILER: usize = bartizan_registry::Header::ESP_TRAILER.bytes as usize;

#[cfg(test)]
mod tests;
