//! Sources of randomness.

use std::time::Duration;

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

/// Unpredictable bytes: SPIs, nonces and the secret of cookies. Keys of key exchanges are drawn by
/// the cryptographic library.
pub trait Random {
    /// Fills all of these.
    fn fill(&mut self, bytes: &mut [u8]);
}

impl<F: FnMut(&mut [u8])> Random for F {
    fn fill(&mut self, bytes: &mut [u8]) {
        self(bytes);
    }
}

/// Source of an IKE_SA's SPIs, nonces and delays: HMAC-SHA-256 of a counter under a key that is
/// drawn when the SA begins. All its output is sent, or shows in the time of a message; keys are
/// never drawn from it.
pub(crate) struct Chance {
    /// Bytes, since what the library makes of them takes twenty times as much, and there is one for each IKE_SA.
    key: Zeroizing<[u8; Self::KEY]>,
    drawn: u64,
}

impl Chance {
    /// Bytes of its key: those of the hash.
    const KEY: usize = 32;

    pub(crate) fn new(random: &mut dyn Random) -> Self {
        let mut key = Zeroizing::new([0; Self::KEY]);
        random.fill(&mut key[..]);
        Self { key, drawn: 0 }
    }

    /// A time below this one.
    pub(crate) fn within(&mut self, most: Duration) -> Duration {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        most.mul_f64(f64::from(u32::from_be_bytes(bytes)) / (f64::from(u32::MAX) + 1.0))
    }
}

impl Random for Chance {
    fn fill(&mut self, bytes: &mut [u8]) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.key[..]);
        for piece in bytes.chunks_mut(Self::KEY) {
            self.drawn += 1;
            let drawn = hmac::sign(&key, &self.drawn.to_be_bytes());
            piece.copy_from_slice(&drawn.as_ref()[..piece.len()]);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_differs_each_time_and_follows_from_the_key_alone() {
        let seeded = |seed: u8| Chance::new(&mut move |bytes: &mut [u8]| bytes.fill(seed));
        let (mut one, mut same, mut other) = (seeded(1), seeded(1), seeded(2));
        let drawn = nonce(&mut one);
        assert_eq!(drawn, nonce(&mut same));
        assert_ne!(drawn, nonce(&mut one));
        assert_ne!(drawn, nonce(&mut other));
        let most = Duration::from_secs(10);
        let times: Vec<Duration> = (0..100).map(|_| one.within(most)).collect();
        assert!(times.iter().all(|time| *time < most));
        assert!(times.iter().any(|time| *time < most / 4) && times.iter().any(|time| *time > most * 3 / 4));
    }
}
