//! Frames of the open fronthaul, byte for byte: eCPRI over Ethernet with the headers of O-RAN
//! (O-RAN.WG4.CUS), and PTP (IEEE 1588).
//!
//! Each carries a number, by which the sink knows which one it is: in the samples of the U-plane,
//! in the padding of the C-plane, as the sequence number of PTP.

use bartizan_registry::Header;
use bartizan_registry::ethertype::{ECPRI, PTP};

/// The O-DU's and the O-RU's addresses: locally administered.
pub const ADDRESSES: [[u8; 6]; 2] = [[2, 0, 0, 0, 0xd0, 1], [2, 0, 0, 0, 0x50, 1]];
/// Destination address of PTP messages that no bridge forwards (IEEE 1588, annex E; G.8275.1).
const PTP_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
/// The VLAN of C- and U-plane, with the highest priority for them that O-RAN.WG4.CUS recommends (7).
pub(super) const TAG: [u8; 4] = [0x81, 0, 0xe0, 2];
/// Physical resource blocks of 100 MHz at 30 kHz (3GPP TS 38.101-1, table 5.3.2-1).
pub const PRBS: usize = 273;
/// Those of an SSB's or a narrow allocation's frame: 0 to 11.
pub const NARROW_PRBS: usize = 12;
/// Bytes of a block: its exponent, and 12 subcarriers of two samples of 9 bits (block floating
/// point, O-RAN.WG4.CUS annex A.1).
const BLOCK: usize = 1 + 12 * 2 * 9 / 8;
/// Bytes of eCPRI from its header on: header, eAxC identifier and sequence number, in front of what the O-RAN adds.
const ECPRI_HEADERS: usize = Header::ECPRI.bytes as usize + 4;
/// Bytes of the application header and of the section's header of the U-plane.
const USER_HEADERS: usize = 4 + 4;
/// Bytes of the application header and of one section of type 1.
const CONTROL_HEADERS: usize = 8 + 8;
/// Bytes of a Sync message (IEEE 1588, clauses 13.3 and 13.6).
const SYNC: usize = 44;
/// eCPRI revision 1, no concatenation.
const REVISION: u8 = 0x10;
/// Downlink, payload version 1, no filter.
const DOWNLINK: u8 = 0x90;
/// Slots of a subframe at 30 kHz, and subframes of a frame.
const SLOTS: u64 = 2;
const SUBFRAMES: u64 = 10;

/// A plane of the fronthaul; the M-plane is IP and not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plane {
    /// Control: what the samples that follow are.
    Control,
    /// User: samples.
    User,
    /// Synchronisation.
    Synchronisation,
}

/// Type of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// C-plane: a section of type 1 for a slot.
    Control,
    /// U-plane of a symbol with PRB 0 to 11.
    Narrow,
    /// U-plane of a symbol with all PRBs.
    Full,
    /// PTP Sync.
    Sync,
}

/// A frame that is to be sent, or one that has arrived, as what it claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Type of the frame.
    pub kind: Kind,
    /// Its number among those of its kind, from 0.
    pub number: u64,
    /// The slot since the beginning, by which frame, subframe and slot are counted.
    pub slot: u64,
    /// The symbol within the slot.
    pub symbol: u8,
    /// The antenna (eAxC identifier).
    pub antenna: u16,
}

/// Presence of a VLAN tag in C- and U-plane frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tagging {
    /// They have, as O-RAN.WG4.CUS has it.
    Tagged,
    /// They have not; also as the kernel hands them over, which takes a tag off.
    Untagged,
}

impl Kind {
    /// Every one, in the order of their sizes.
    pub const ALL: [Self; 4] = [Self::Control, Self::Sync, Self::Narrow, Self::Full];

    /// The plane it belongs to.
    #[must_use]
    pub const fn plane(self) -> Plane {
        match self {
            Self::Control => Plane::Control,
            Self::Narrow | Self::Full => Plane::User,
            Self::Sync => Plane::Synchronisation,
        }
    }

    const fn prbs(self) -> usize {
        match self {
            Self::Full => PRBS,
            Self::Narrow => NARROW_PRBS,
            Self::Control | Self::Sync => 0,
        }
    }

    /// Bytes of the frame on a wire without MACsec, its check sequence not counted.
    #[must_use]
    pub fn length(self, tagging: Tagging) -> usize {
        let tag = match (self, tagging) {
            (Self::Sync, _) | (_, Tagging::Untagged) => 0,
            (_, Tagging::Tagged) => TAG.len(),
        };
        let ethernet = usize::from(Header::ETHERNET.bytes) + tag;
        let carried = match self {
            Self::Control => ECPRI_HEADERS + CONTROL_HEADERS,
            Self::Sync => SYNC,
            Self::Narrow | Self::Full => ECPRI_HEADERS + USER_HEADERS + BLOCK * self.prbs(),
        };
        // The port's padding. A MACsec device protects it, so it has to be there before.
        let least = usize::from(Header::ETHERNET_LEAST.bytes) - usize::from(Header::ETHERNET.bytes);
        ethernet + carried.max(least)
    }
}

impl Frame {
    /// Writes it, from the destination address on, in place of what `buffer` has.
    pub fn write(&self, tagging: Tagging, buffer: &mut Vec<u8>) {
        let length = self.kind.length(tagging);
        buffer.clear();
        buffer.reserve(length);
        buffer.extend(match self.kind {
            Kind::Sync => PTP_ADDRESS,
            _ => ADDRESSES[1],
        });
        buffer.extend(ADDRESSES[0]);
        if self.kind == Kind::Sync {
            self.write_sync(buffer);
        } else {
            if tagging == Tagging::Tagged {
                buffer.extend(TAG);
            }
            self.write_ecpri(buffer);
        }
        // The C-plane's number is the end of its padding.
        buffer.resize(length, 0);
        if self.kind == Kind::Control {
            buffer[length - 8..].copy_from_slice(&self.number.to_be_bytes());
        }
    }

    fn write_ecpri(&self, buffer: &mut Vec<u8>) {
        let (message, behind) = match self.kind {
            // Real-time control data and IQ data (eCPRI 2.0, table 4).
            Kind::Control => (2, CONTROL_HEADERS),
            _ => (0, USER_HEADERS + BLOCK * self.kind.prbs()),
        };
        buffer.extend(ECPRI.to_be_bytes());
        buffer.extend([REVISION, message]);
        // The size is of what follows the header; the largest is 273 blocks, 7656 bytes.
        buffer.extend(((4 + behind) as u16).to_be_bytes());
        buffer.extend(self.antenna.to_be_bytes());
        // The last and only fragment of its message.
        buffer.extend([self.number as u8, 0x80]);
        let (subframe, slot) = (self.slot / SLOTS % SUBFRAMES, self.slot % SLOTS);
        let time = subframe << 12 | slot << 6 | u64::from(self.symbol);
        buffer.extend([DOWNLINK, (self.slot / SLOTS / SUBFRAMES) as u8]);
        buffer.extend((time as u16).to_be_bytes());
        // In eight bits: 0 stands for all of them.
        let blocks = (self.kind.prbs() % PRBS) as u8;
        match self.kind {
            Kind::Control => {
                // One section of type 1 without a header of compression of its own, for 14 symbols,
                // all PRBs and resource elements, no beam.
                buffer.extend([1, 1, 0, 0]);
                buffer.extend([0, 0, 0, 0, 0xff, 0xfe, 0, 0]);
            }
            _ => {
                buffer.extend([0, 0, 0, blocks]);
                self.write_samples(buffer);
            }
        }
    }

    /// Blocks of samples that say nothing but the frame's number, the first eight of them.
    fn write_samples(&self, buffer: &mut Vec<u8>) {
        let first = buffer.len();
        for block in 0..self.kind.prbs() {
            // The exponent has four bits.
            buffer.push((block % 16) as u8);
            buffer.resize(buffer.len() + BLOCK - 1, 0x5a ^ block as u8);
        }
        buffer[first + 1..first + 9].copy_from_slice(&self.number.to_be_bytes());
    }

    /// A one-step Sync of domain 24 (G.8275.1), 16 in a second, whose time is that of its slot.
    fn write_sync(&self, buffer: &mut Vec<u8>) {
        buffer.extend(PTP.to_be_bytes());
        buffer.extend([0, 2]);
        buffer.extend((SYNC as u16).to_be_bytes());
        buffer.extend([24, 0, 0, 0]);
        // Correction, type-specific, identity of the clock and of its port.
        buffer.extend([0; 8 + 4]);
        buffer.extend([2, 0, 0, 0xff, 0xfe, 0, 0xd0, 1, 0, 1]);
        buffer.extend((self.number as u16).to_be_bytes());
        // Control of Sync, and the interval: 2 to the -4 seconds.
        buffer.extend([0, 0xfc]);
        let (seconds, nanoseconds) = (self.slot / 2000, self.slot % 2000 * 500_000);
        buffer.extend(&seconds.to_be_bytes()[2..]);
        buffer.extend((nanoseconds as u32).to_be_bytes());
    }

    /// Kind and number that a frame claims, with or without a VLAN tag; none for a foreign frame.
    #[must_use]
    pub fn claim(bytes: &[u8]) -> Option<(Kind, u64)> {
        let (behind, tagging) = match bytes.get(12..)? {
            [0x81, 0, _, _, behind @ ..] => (behind, Tagging::Tagged),
            behind => (behind, Tagging::Untagged),
        };
        let (ethertype, carried) = behind.split_first_chunk()?;
        let kind = match u16::from_be_bytes(*ethertype) {
            PTP => Kind::Sync,
            ECPRI if carried.get(1) == Some(&2) => Kind::Control,
            ECPRI => Kind::ALL
                .into_iter()
                .find(|kind| kind.plane() == Plane::User && kind.length(tagging) == bytes.len())?,
            _ => return None,
        };
        if bytes.len() != kind.length(tagging) {
            return None;
        }
        let number = match kind {
            Kind::Sync => u64::from(u16::from_be_bytes(*carried.get(30..)?.first_chunk()?)),
            Kind::Control => u64::from_be_bytes(*bytes.last_chunk()?),
            Kind::Narrow | Kind::Full => {
                let samples = carried.get(ECPRI_HEADERS + USER_HEADERS + 1..)?;
                u64::from_be_bytes(*samples.first_chunk()?)
            }
        };
        Some((kind, number))
    }
}

/// The plane of any frame, by its EtherType and eCPRI's message type; none if it is no frame of a
/// fronthaul.
#[must_use]
pub fn plane(bytes: &[u8]) -> Option<Plane> {
    let behind = match bytes.get(12..)? {
        [0x81, 0, _, _, behind @ ..] => behind,
        behind => behind,
    };
    let (ethertype, carried) = behind.split_first_chunk()?;
    match (u16::from_be_bytes(*ethertype), carried.get(1)?) {
        (PTP, _) => Some(Plane::Synchronisation),
        (ECPRI, 2) => Some(Plane::Control),
        (ECPRI, 0) => Some(Plane::User),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
