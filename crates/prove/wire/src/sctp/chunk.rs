//! Packets, and the chunks in them (RFC 9260, section 3).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::housekeeping::is_within_chunk;

/// Chunks of one packet that are read: the smallest has four bytes, and no sender bundles hundreds.
const CHUNKS: usize = 128;
/// Addresses of one INIT that are read.
const ADDRESSES: usize = 8;
/// Parameters of one INIT that are looked at.
const PARAMETERS: usize = 64;
/// Gap blocks of one SACK that are read.
const GAPS: usize = 256;

/// Chunk types.
pub mod kind {
    /// Types of chunks without user data (IANA).
    const CONTROL: &[u8] = &[
        INIT,
        INIT_ACK,
        SACK,
        HEARTBEAT,
        HEARTBEAT_ACK,
        ABORT,
        SHUTDOWN,
        SHUTDOWN_ACK,
        // ERROR.
        9,
        COOKIE_ECHO,
        COOKIE_ACK,
        // ECNE, CWR.
        12,
        13,
        SHUTDOWN_COMPLETE,
        // AUTH (RFC 4895), ASCONF-ACK (RFC 5061), RE-CONFIG (RFC 6525).
        15,
        128,
        130,
        PAD,
        FORWARD_TSN,
        // ASCONF.
        193,
        I_FORWARD_TSN,
    ];

    /// Returns true if a chunk of this type carries no user data.
    #[must_use]
    pub fn is_control(kind: u8) -> bool {
        CONTROL.contains(&kind)
    }

    /// DATA.
    pub const DATA: u8 = 0;
    /// INIT.
    pub const INIT: u8 = 1;
    /// INIT ACK.
    pub const INIT_ACK: u8 = 2;
    /// SACK.
    pub const SACK: u8 = 3;
    /// HEARTBEAT.
    pub const HEARTBEAT: u8 = 4;
    /// HEARTBEAT ACK.
    pub const HEARTBEAT_ACK: u8 = 5;
    /// ABORT.
    pub const ABORT: u8 = 6;
    /// SHUTDOWN.
    pub const SHUTDOWN: u8 = 7;
    /// SHUTDOWN ACK.
    pub const SHUTDOWN_ACK: u8 = 8;
    /// COOKIE ECHO.
    pub const COOKIE_ECHO: u8 = 10;
    /// COOKIE ACK.
    pub const COOKIE_ACK: u8 = 11;
    /// SHUTDOWN COMPLETE.
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    /// I-DATA (RFC 8260).
    pub const I_DATA: u8 = 64;
    /// DTLS (draft-ietf-tsvwg-sctp-dtls-chunk): the whole packet's other chunks are encrypted in it.
    pub const DTLS: u8 = 65;
    /// PAD (RFC 4820).
    pub const PAD: u8 = 132;
    /// FORWARD TSN (RFC 3758).
    pub const FORWARD_TSN: u8 = 192;
    /// I-FORWARD-TSN (RFC 8260).
    pub const I_FORWARD_TSN: u8 = 194;
}

/// One SCTP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Verification tag, chosen by the receiver; zero with INIT.
    pub tag: u32,
    chunks: &'a [u8],
    missing: usize,
}

/// Reads the packet an IP packet carries, of which `missing` bytes were not captured; none where it is shorter than
/// its header, or a port is zero.
pub fn packet(bytes: &[u8], missing: usize) -> Option<Packet<'_>> {
    let (header, chunks) = bytes.split_first_chunk::<12>()?;
    let packet = Packet {
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port: u16::from_be_bytes([header[2], header[3]]),
        tag: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        chunks,
        missing,
    };
    (packet.source_port != 0 && packet.destination_port != 0).then_some(packet)
}

/// One chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Its type, one of [`kind`].
    pub kind: u8,
    /// Meaning depends on the type.
    pub flags: u8,
    /// The captured bytes behind its header, without padding.
    pub value: &'a [u8],
    /// Bytes of it that were sent and not captured.
    pub missing: usize,
}

impl Chunk<'_> {
    /// Returns true if it carries no user data: by its type, and within the bounds of that.
    #[must_use]
    pub fn is_control(&self) -> bool {
        kind::is_control(self.kind) && is_within_chunk(self.kind, self.value)
    }
}

impl<'a> Packet<'a> {
    /// Returns true if bytes follow the chunks that are read: an invalid length, more chunks than
    /// any sender bundles, or bytes that were not captured.
    #[must_use]
    pub fn has_more(&self) -> bool {
        const HEADER: usize = 4;
        let (mut sent, mut missing) = (0, 0);
        for chunk in self.chunks() {
            sent += (HEADER + chunk.value.len() + chunk.missing).next_multiple_of(4);
            missing += chunk.missing;
        }
        let padding = 3;
        self.chunks
            .get(sent..)
            .is_some_and(|rest| rest.iter().any(|byte| *byte != 0))
            || self.missing > missing + padding
    }

    /// Its chunks, up to the first whose length cannot be right.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'a>> + use<'a> {
        let (mut rest, missing) = (self.chunks, self.missing);
        std::iter::from_fn(move || {
            let (header, behind) = rest.split_first_chunk::<4>()?;
            let length = usize::from(u16::from_be_bytes([header[2], header[3]])).checked_sub(4)?;
            if length > behind.len() + missing {
                return None;
            }
            let value = &behind[..length.min(behind.len())];
            rest = behind.get(length.next_multiple_of(4)..).unwrap_or_default();
            Some(Chunk {
                kind: header[0],
                flags: header[1],
                value,
                missing: length - value.len(),
            })
        })
        .take(CHUNKS)
    }
}

/// A DATA or I-DATA chunk: a user message or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream.
    pub stream: u16,
    /// Payload protocol identifier, set by the sender; none in a part of I-DATA behind the first.
    /// In the byte order of RFC 9260.
    pub payload_protocol: Option<u32>,
    /// True if a message begins with it.
    pub begins: bool,
    /// True if a message ends with it.
    pub ends: bool,
    /// The captured payload.
    pub payload: &'a [u8],
    /// Bytes of payload that were sent and not captured.
    pub missing: usize,
}

impl<'a> Data<'a> {
    const END: u8 = 1;
    const BEGINNING: u8 = 2;

    /// Reads a DATA or I-DATA chunk; none where it is another or shorter than its fields.
    pub fn read(chunk: &Chunk<'a>) -> Option<Self> {
        let fields = match chunk.kind {
            kind::DATA => 12,
            kind::I_DATA => 16,
            _ => return None,
        };
        let (header, payload) = chunk.value.split_at_checked(fields)?;
        let begins = chunk.flags & Self::BEGINNING != 0;
        let last = header.last_chunk::<4>()?;
        let tsn = u32::from_be_bytes(*header.first_chunk()?);
        Some(Self {
            tsn,
            stream: u16::from_be_bytes([header[4], header[5]]),
            // I-DATA numbers the parts behind the first in the same place (RFC 8260, section 2.1).
            payload_protocol: (chunk.kind == kind::DATA || begins).then(|| u32::from_be_bytes(*last)),
            begins,
            ends: chunk.flags & Self::END != 0,
            payload,
            missing: chunk.missing,
        })
    }

    /// Bytes of payload as sent.
    pub fn length(&self) -> usize {
        self.payload.len() + self.missing
    }
}

/// Content of INIT and INIT ACK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Init {
    /// The tag that the sender's packets are to carry.
    pub tag: u32,
    /// Streams the sender wants to send on, and can receive on.
    pub streams: (u16, u16),
    /// The TSN of the sender's first DATA chunk.
    pub tsn: u32,
    /// Further addresses of the sender.
    pub addresses: Vec<IpAddr>,
}

impl Init {
    /// Reads an INIT or INIT ACK chunk; none where it is another or shorter than its fields, or its tag is zero.
    pub fn read(chunk: &Chunk<'_>) -> Option<Self> {
        const IPV4: u16 = 5;
        const IPV6: u16 = 6;
        if !matches!(chunk.kind, kind::INIT | kind::INIT_ACK) {
            return None;
        }
        let (header, mut rest) = chunk.value.split_first_chunk::<16>()?;
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let mut addresses = Vec::new();
        for _ in 0..PARAMETERS {
            let Some((parameter, behind)) = rest.split_first_chunk::<4>() else {
                break;
            };
            let length = usize::from(u16::from_be_bytes([parameter[2], parameter[3]]));
            let Some(value) = length.checked_sub(4).and_then(|length| behind.get(..length)) else {
                break;
            };
            let address: Option<IpAddr> = match u16::from_be_bytes([parameter[0], parameter[1]]) {
                IPV4 => value.first_chunk::<4>().map(|bytes| Ipv4Addr::from(*bytes).into()),
                IPV6 => value.first_chunk::<16>().map(|bytes| Ipv6Addr::from(*bytes).into()),
                _ => None,
            };
            if addresses.len() < ADDRESSES {
                addresses.extend(address);
            }
            rest = behind.get(value.len().next_multiple_of(4)..).unwrap_or_default();
        }
        let tag = word(0);
        (tag != 0).then(|| Self {
            tag,
            streams: (
                u16::from_be_bytes([header[8], header[9]]),
                u16::from_be_bytes([header[10], header[11]]),
            ),
            tsn: word(12),
            addresses,
        })
    }
}

/// Content of a SACK chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack<'a> {
    /// All up to this TSN.
    pub cumulative: u32,
    /// Bytes of window.
    pub window: u32,
    gaps: &'a [u8],
}

impl<'a> Sack<'a> {
    /// Reads a SACK chunk; none where it is another or shorter than its fields.
    pub fn read(chunk: &Chunk<'a>) -> Option<Self> {
        if chunk.kind != kind::SACK {
            return None;
        }
        let (header, rest) = chunk.value.split_first_chunk::<12>()?;
        let gaps = usize::from(u16::from_be_bytes([header[8], header[9]])).min(GAPS);
        Some(Self {
            cumulative: u32::from_be_bytes([header[0], header[1], header[2], header[3]]),
            window: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            gaps: rest.get(..gaps * 4).unwrap_or(rest),
        })
    }

    /// Returns true if it acknowledges the chunk with this TSN.
    #[must_use]
    pub fn acknowledges(&self, tsn: u32) -> bool {
        let ahead = tsn.wrapping_sub(self.cumulative);
        // Serial number arithmetic: the upper half is behind.
        ahead == 0
            || ahead > 1 << 31
            || self.gaps.chunks_exact(4).any(|block| {
                let (start, end) = (
                    u16::from_be_bytes([block[0], block[1]]),
                    u16::from_be_bytes([block[2], block[3]]),
                );
                (u32::from(start)..=u32::from(end)).contains(&ahead)
            })
    }

    /// Returns true if it acknowledges anything behind the cumulative TSN.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }
}
