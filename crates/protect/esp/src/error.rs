//! Errors: keys that cannot be used, packets that cannot be sealed or opened.

/// An SA that cannot be made: of a proposal, or of keys, that this engine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unusable {
    /// The encryption transform is none that is implemented here.
    #[error("encryption transform {0} is not implemented in ESP here")]
    Encryption(u16),
    /// The cipher has no key of this length.
    #[error("the cipher has no key of {bits} bits")]
    KeyLength {
        /// The key length attribute; zero where there was none.
        bits: u16,
    },
    /// The integrity transform is none that is implemented here.
    #[error("integrity transform {0} is not implemented in ESP here")]
    Integrity(u16),
    /// An AEAD with an integrity transform, or another cipher without one.
    #[error("an AEAD has no integrity transform, every other cipher has one")]
    Combination,
    /// The keys are not as long as those of the suite.
    #[error("{given} bytes of keys for a suite that takes {needed}")]
    KeyMaterial {
        /// Bytes given.
        given: usize,
        /// Bytes of the suite.
        needed: usize,
    },
    /// SPIs below 256 are reserved (RFC 4303, section 2.1).
    #[error("SPI {0} is reserved: those of security associations begin at 256")]
    ReservedSpi(u32),
    /// Replay windows have 64 to 4096 packets.
    #[error("a replay window of {0} packets: 64 to 4096 are supported")]
    Window(u16),
    /// The cryptographic library refused the key.
    #[error("the cryptographic library refused the key")]
    Refused,
}

/// A packet that was not sealed. But for [`SealError::Exhausted`] the SA goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SealError {
    /// Every sequence number has been used: without a new SA nothing more is sent (RFC 4303, section 3.3.3).
    #[error("the sequence numbers of the SA are used up; it must be rekeyed")]
    Exhausted,
    /// The buffer cannot hold the sealed packet.
    #[error("a buffer of {given} bytes for a packet that takes {needed}")]
    Buffer {
        /// Bytes of the buffer.
        given: usize,
        /// Bytes of the packet.
        needed: usize,
    },
    /// An IP packet of more than 65535 bytes would result.
    #[error("the protected packet would be longer than an IP packet can be")]
    TooLong,
    /// The bytes to be protected are no IP packet of that length.
    #[error("not a whole IP packet")]
    NotIp,
    /// The cryptographic library failed.
    #[error("the cryptographic library failed")]
    Failed,
}

/// A packet that was refused, and is dropped. Each is an event of the audit log (RFC 4303, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum OpenError {
    /// Shorter than a packet of the suite, or not padded to its blocks.
    #[error("its length is none of the SA's cipher")]
    Length,
    /// It belongs to another SA.
    #[error("its SPI is that of another SA")]
    Spi,
    /// A packet with this number was opened before.
    #[error("sequence number {0} was received before")]
    Replayed(u64),
    /// Its number is behind the window, so it cannot be determined whether it was opened before.
    #[error("its sequence number is behind the replay window")]
    Late,
    /// The integrity check failed: forged, damaged, or sealed with other keys.
    #[error("its integrity check value is wrong")]
    Integrity,
    /// The padding is not 1, 2, 3, ... (RFC 4303, section 2.4): the sender's fault, as its integrity was proven.
    #[error("its padding is malformed")]
    Padding,
    /// Sent to hide traffic (next header 59): nothing is in it (RFC 4303, section 2.6).
    #[error("a dummy packet")]
    Dummy,
    /// In tunnel mode something that is no IP packet, or a part of one.
    #[error("what is in it is not a whole IP packet")]
    NotIp,
    /// Congestion was signalled to a packet whose ends cannot be determined (RFC 6040, section 4.2).
    #[error("congestion was signalled on the way, and the inner packet cannot carry that")]
    Congestion,
}
