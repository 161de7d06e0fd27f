//! Where chance comes from.

/// Bytes that nobody can predict: SPIs, nonces and the secret of cookies. Keys of key exchanges are drawn by the cryptographic library.
pub trait Random {
    /// Fills all of these.
    fn fill(&mut self, bytes: &mut [u8]);
}

impl<F: FnMut(&mut [u8])> Random for F {
    fn fill(&mut self, bytes: &mut [u8]) {
        self(bytes);
    }
}

/// A number that is not zero, and not among those that are reserved.
pub(crate) fn spi(random: &mut dyn Random) -> u64 {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    u64::from_be_bytes(bytes).max(1)
}

/// An SPI of ESP; those below 256 are reserved (RFC 4303, section 2.1).
pub(crate) fn esp_spi(random: &mut dyn Random) -> u32 {
    let mut bytes = [0; 4];
    random.fill(&mut bytes);
    u32::from_be_bytes(bytes).max(256)
}

/// A nonce (RFC 7296, section 2.10: at least half as long as the key of the prf, of which SHA-512 has the longest: 64).
pub(crate) fn nonce(random: &mut dyn Random) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    random.fill(&mut bytes);
    bytes
}
