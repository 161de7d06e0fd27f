//! The header every IKE message begins with (RFC 7296, section 3.1).

use super::{ExchangeType, Malformed, PayloadType};

/// Flags of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Sent by the end that began the IKE_SA.
    pub const INITIATOR: u8 = 0x08;
    /// The sender could speak a higher version.
    pub const VERSION: u8 = 0x10;
    /// Answers the request with the same message identifier.
    pub const RESPONSE: u8 = 0x20;

    /// Returns true if the sender initiated the IKE_SA.
    #[must_use]
    pub fn is_from_initiator(self) -> bool {
        self.0 & Self::INITIATOR != 0
    }

    /// Returns true if the message is a response.
    #[must_use]
    pub fn is_response(self) -> bool {
        self.0 & Self::RESPONSE != 0
    }
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Chosen by the end that began the IKE_SA; never zero.
    pub initiator_spi: u64,
    /// Chosen by the other; zero in the first request.
    pub responder_spi: u64,
    /// Type of the first payload.
    pub next: PayloadType,
    /// Major version: 2. A message of version 1 has the same header and other payloads.
    pub major: u8,
    /// Minor version.
    pub minor: u8,
    /// Exchange type.
    pub exchange: ExchangeType,
    /// Direction and kind.
    pub flags: Flags,
    /// Counts the requests of each end, from zero.
    pub message_id: u32,
    /// Bytes of the message, this header included.
    pub length: u32,
}

impl Header {
    /// Bytes of a header.
    pub const LENGTH: usize = 28;

    /// Reads the header of a message.
    ///
    /// # Errors
    /// [`Malformed`] where there are too few bytes, or the header contradicts itself.
    pub fn read(message: &[u8]) -> Result<Self, Malformed> {
        let Some((header, _)) = message.split_first_chunk::<{ Self::LENGTH }>() else {
            return Err(Malformed("shorter than an IKE header"));
        };
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        let read = Self {
            initiator_spi: long(0),
            responder_spi: long(8),
            next: PayloadType(header[16]),
            major: header[17] >> 4,
            minor: header[17] & 0x0f,
            exchange: ExchangeType(header[18]),
            flags: Flags(header[19]),
            message_id: word(20),
            length: word(24),
        };
        if read.initiator_spi == 0 {
            return Err(Malformed("an initiator SPI of zero"));
        }
        if (read.length as usize) < Self::LENGTH {
            return Err(Malformed("a length below that of the header"));
        }
        Ok(read)
    }

    /// The header as it stands on the wire.
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.initiator_spi.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.responder_spi.to_be_bytes());
        bytes[16] = self.next.0;
        bytes[17] = self.major << 4 | self.minor & 0x0f;
        bytes[18] = self.exchange.0;
        bytes[19] = self.flags.0;
        bytes[20..24].copy_from_slice(&self.message_id.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }
}
