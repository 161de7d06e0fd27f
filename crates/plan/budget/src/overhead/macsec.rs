//! MACsec (IEEE 802.1AE).

use bartizan_registry::{Header, MacsecSuite};
use serde::{Serialize, Serializer};

use super::{Layout, OverheadError, Part, least, most};
use crate::unit::Bytes;

/// Presence of the secure channel identifier in the SecTAG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sci {
    /// Eight bytes more: what Linux and most others send by default, and what more than two stations need.
    Sent,
    /// Between two stations only.
    Omitted,
}

/// MACsec protection of a link. Encryption may be off: a frame has the same size (the default
/// suites encrypt in counter mode and pad nothing).
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Macsec {
    /// The cipher suite. Extended packet numbers add nothing: the upper 32 bits are not sent (IEEE 802.1AEbw, clause 10.6).
    #[serde(serialize_with = "by_name")]
    pub suite: &'static MacsecSuite,
    /// Presence of the secure channel identifier.
    pub sci: Sci,
}

fn by_name<S: Serializer>(suite: &&MacsecSuite, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(suite.name)
}

/// A jumbo frame's payload and more: what no port of a fronthaul sends.
const FRAME_MOST: u64 = 65_535;

impl Macsec {
    /// The Ethernet frame that is sent for a frame of `frame` bytes, without check sequence. Addresses stay in front, the frame's EtherType is behind the SecTAG.
    pub fn frame(&self, frame: Bytes) -> Result<Layout, OverheadError> {
        most(frame, FRAME_MOST, "an Ethernet frame")?;
        let carried = least(frame, Header::ETHERNET, "Ethernet")?;
        let mut parts = vec![Part::kept(Header::ETHERNET), Part::header(Header::SECTAG)];
        if self.sci == Sci::Sent {
            parts.push(Part::header(Header::SECTAG_SCI));
        }
        parts.extend([
            Part::payload("payload of Ethernet", carried),
            Part::header(Header::MACSEC_ICV),
        ]);
        Ok(Layout::of(parts))
    }
}
