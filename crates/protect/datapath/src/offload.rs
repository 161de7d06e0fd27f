//! Description of a packet that a device has left unfinished, or is given so: `virtio_net_hdr`
//! (linux/virtio_net.h).

use crate::headers::{CHECKSUM, UDP_CHECKSUM, UDP_HEADER};

/// A checksum is to be computed, or was not and need not be.
const NEEDS_CHECKSUM: u8 = 1;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// Congestion was signalled: a flag next to the kind.
const CONGESTION: u8 = 0x80;

bartizan_registry::made! {
    /// Before a packet: which checksum is missing, and how it is to be cut.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Offload,
    /// Reads it; none where it asks for what was not agreed on.
    #[must_use]
    pub read(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let segment = match bytes[1] & !CONGESTION {
            NONE => None,
            TCP_V4 | TCP_V6 | UDP => Some(word(4)).filter(|size| *size > 0),
            _ => return None,
        };
        /// Beginning of the bytes that the checksum is over, and its place in them; its field holds
        /// the sum over the pseudo-header.
        pub checksum: Option<(u16, u16)> = (bytes[0] & NEEDS_CHECKSUM != 0).then(|| (word(6), word(8))),
        /// Bytes of payload of each segment of TCP, or of each datagram of UDP; none where the
        /// packet is whole.
        pub segment: Option<u16>,
        kind: u8 = bytes[1] & !CONGESTION,
        /// Bytes of headers, a hint.
        headers: u16 = word(2),
    }
}

impl Offload {
    /// Bytes of it before a packet.
    pub const LENGTH: usize = 10;

    /// Describes several segments of TCP in one packet, which has these bytes of headers before
    /// their payload.
    pub fn of_segments(is_v6: bool, [ip, tcp]: [usize; 2], segment: u16) -> Self {
        Self {
            checksum: Some((ip as u16, CHECKSUM.start as u16)),
            segment: Some(segment),
            kind: if is_v6 { TCP_V6 } else { TCP_V4 },
            headers: (ip + tcp) as u16,
        }
    }

    /// Describes several datagrams of UDP in one packet, behind so many bytes of IP.
    pub fn of_datagrams(ip: usize, datagram: u16) -> Self {
        Self {
            checksum: Some((ip as u16, UDP_CHECKSUM.start as u16)),
            segment: Some(datagram),
            kind: UDP,
            headers: (ip + UDP_HEADER) as u16,
        }
    }

    /// As it stands before a packet.
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        if self.segment.is_some() {
            bytes[1] = self.kind;
            bytes[2..4].copy_from_slice(&self.headers.to_ne_bytes());
            bytes[4..6].copy_from_slice(&self.segment.unwrap_or(0).to_ne_bytes());
        }
        if let Some((begin, at)) = self.checksum {
            bytes[0] = NEEDS_CHECKSUM;
            bytes[6..8].copy_from_slice(&begin.to_ne_bytes());
            bytes[8..10].copy_from_slice(&at.to_ne_bytes());
        }
        bytes
    }
}
