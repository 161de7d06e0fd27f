//! Protection of a fronthaul, by its name as a level of a factor.

use bartizan_budget::overhead::{Macsec, Sci};
use bartizan_budget::unit::Bytes;
use bartizan_macsec::kernel::Confidentiality;
use bartizan_registry::{MACSEC_SUITES, MacsecSuite};

/// MACsec of the kernel with keys from chance, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Its name.
    pub name: &'static str,
    /// The name of its cipher suite in IEEE 802.1AE.
    suite: Option<&'static str>,
    confidentiality: Confidentiality,
}

/// Names of all of them.
pub const NAMES: &[&str] = &[
    "none",
    "integrity-128",
    "integrity-256",
    "encrypted-128",
    "encrypted-256",
];

const fn macsec(name: &'static str, suite: &'static str, confidentiality: Confidentiality) -> Protection {
    Protection {
        name,
        suite: Some(suite),
        confidentiality,
    }
}

static PROTECTIONS: [Protection; 5] = [
    Protection::NONE,
    macsec("integrity-128", "GCM-AES-128", Confidentiality::IntegrityOnly),
    macsec("integrity-256", "GCM-AES-256", Confidentiality::IntegrityOnly),
    macsec("encrypted-128", "GCM-AES-128", Confidentiality::Encrypted),
    macsec("encrypted-256", "GCM-AES-256", Confidentiality::Encrypted),
];

impl Protection {
    /// No MACsec.
    pub const NONE: Self = Self {
        name: "none",
        suite: None,
        confidentiality: Confidentiality::Encrypted,
    };

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        PROTECTIONS.iter().copied().find(|known| known.name == name)
    }

    /// Its cipher suite; none where nothing is protected.
    #[must_use]
    pub fn suite(self) -> Option<&'static MacsecSuite> {
        MACSEC_SUITES.iter().find(|suite| Some(suite.name) == self.suite)
    }

    /// Encryption of the frames, if they are protected at all.
    #[must_use]
    pub fn confidentiality(self) -> Confidentiality {
        self.confidentiality
    }

    /// Bytes on the wire of a frame of so many, both without check sequence, by IEEE 802.1AE; none
    /// where it is no frame.
    #[must_use]
    pub fn on_the_wire(self, frame: usize) -> Option<usize> {
        let Some(suite) = self.suite() else {
            return Some(frame);
        };
        let macsec = Macsec { suite, sci: Sci::Sent };
        let layout = macsec.frame(Bytes::new(u64::try_from(frame).ok()?).ok()?).ok()?;
        usize::try_from(layout.total().value()).ok()
    }
}
