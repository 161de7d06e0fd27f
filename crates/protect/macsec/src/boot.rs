//! The kernel's own clock.

use nix::time::{ClockId, clock_gettime};

bartizan_registry::made! {
    /// Time since the kernel started, with the name of that start. It counts while the machine
    /// sleeps, and setting the date does not change it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Boot, pub(crate) now() {
        let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let since = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |time| time.tv_sec());
        /// Random name; empty where `/proc` has none.
        pub(crate) name: String = name.trim().to_owned(),
        /// Seconds.
        pub(crate) since_s: u64 = u64::try_from(since).unwrap_or_default(),
    }
}
