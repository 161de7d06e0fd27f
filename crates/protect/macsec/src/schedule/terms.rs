//! Lifetime of a key, and time limits of a peer.

use std::time::Duration;

use bartizan_registry::MacsecSuite;

/// Packet number at which MKA distributes another key (IEEE 802.1X, clause 9.8,
/// PendingPNExhaustion): the rest lasts minutes at any rate there is.
const EXHAUSTION: u64 = 0xc000_0000;
/// The default with suites of 32 bits: half of the numbers.
const HALF: u64 = 1 << 31;

bartizan_registry::made! {
    /// Lifetime of a key, and time limits of a peer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Terms,
    /// A key that is replaced at this age, and every so many of them by another exchange.
    pub new(rekey: Duration, keys_per_exchange: u64) {
        /// Age at which a key is replaced.
        pub rekey: Duration,
        /// Frames after which it is.
        pub packets: u64 = HALF,
        /// Age at which a key that was not replaced is removed.
        pub lifetime: Duration = rekey * 2,
        /// Keys that an exchange gives to each direction, before there is another exchange.
        pub keys_per_exchange: u64 = keys_per_exchange.max(1),
        /// Time that frames may be on their way.
        pub grace: Duration = Duration::from_millis(200),
        /// Time limit of a peer's answer.
        pub patience: Duration = Duration::from_secs(10),
    }
}

impl Terms {
    /// Time from an exchange, in which the peer proves itself, to the removal of all keys that came
    /// from it: that of its last key.
    pub fn authentication(&self) -> Duration {
        let keys = u32::try_from(self.keys_per_exchange).unwrap_or(u32::MAX);
        let before_the_last = self.rekey.saturating_mul(keys.saturating_sub(1));
        before_the_last.saturating_add(self.lifetime)
    }

    /// Frames after which a key is nearly used up: the kernel stops sending when the numbers are.
    pub fn most_packets(&self, suite: &MacsecSuite) -> u64 {
        match suite.packet_number_bits {
            64 => u64::MAX / 2,
            _ => EXHAUSTION,
        }
    }
}
