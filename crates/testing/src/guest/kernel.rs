//! Kernels of a guest, and the one that a run needs.

use std::fmt;

use bartizan_host::Feature;

/// The kernels that a guest can boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuestKernel {
    /// User-Mode Linux: one processor, no nftables, booted in two or three seconds.
    UserMode,
    /// An unmodified Debian kernel under QEMU's emulation: all of its modules of the network,
    /// nftables together with ESP, two processors; booted in about ten seconds, and ten to thirty
    /// times slower than this machine.
    Debian,
}

impl GuestKernel {
    /// Both, the faster first.
    pub const ALL: [Self; 2] = [Self::UserMode, Self::Debian];

    /// The fastest one that has these features and this many processors; none where neither has.
    #[must_use]
    pub fn with(features: &[Feature], processors: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| {
            kernel.processors() >= processors && features.iter().all(|feature| !kernel.lacks().contains(feature))
        })
    }

    /// Features that it was built without.
    #[must_use]
    pub const fn lacks(self) -> &'static [Feature] {
        match self {
            Self::UserMode => &[Feature::Nftables, Feature::AfXdp],
            Self::Debian => &[],
        }
    }

    /// Number of processors of a guest.
    #[must_use]
    pub const fn processors(self) -> usize {
        match self {
            Self::UserMode => 1,
            Self::Debian => 2,
        }
    }

    /// In messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserMode => "User-Mode Linux",
            Self::Debian => "Debian's kernel under QEMU",
        }
    }
}

impl fmt::Display for GuestKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_the_fastest_kernel_that_has_what_it_needs() {
        for (features, processors, kernel) in [
            (&[][..], 1, Some(GuestKernel::UserMode)),
            (&[Feature::Sctp, Feature::Esp], 1, Some(GuestKernel::UserMode)),
            (&[Feature::Esp, Feature::Nftables], 1, Some(GuestKernel::Debian)),
            (&[], 2, Some(GuestKernel::Debian)),
            (&[], 3, None),
        ] {
            assert_eq!(
                GuestKernel::with(features, processors),
                kernel,
                "{features:?} {processors}"
            );
        }
    }
}
