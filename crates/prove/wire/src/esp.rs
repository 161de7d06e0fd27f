//! ESP (RFC 4303): what a security association shows although its packets are encrypted.

mod clear;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::ops::Range;

use crate::blocks::Blocks;
use crate::nonce::{Nonces, Reuse, TAIL, beginning};
use crate::path::Path;
use crate::reduce::Hole;
use crate::spread::Spread;
use crate::{Captured, Moment};
use clear::Found;

/// Bytes of SPI and sequence number (RFC 4303, section 2).
const HEADER: usize = 8;
/// Packets of an association that are looked at one by one; behind them one of [`EACH`] is.
const FIRST: u64 = 64;
const EACH: u64 = 16;
/// Sequence numbers behind the highest that are still distinguished from repeated ones: the window
/// of RFC 4303, section 3.4.3.
const WINDOW: u32 = 64;

/// The clear part of an ESP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// SPI of the receiver's association. Values below 256 are reserved by the standard.
    pub spi: u32,
    /// Counts its packets; with extended sequence numbers the lower half only.
    pub sequence: u32,
}

impl Header {
    /// The header as it stands on the wire.
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&self.spi.to_be_bytes());
        bytes[4..].copy_from_slice(&self.sequence.to_be_bytes());
        bytes
    }
}

/// Reads an ESP packet; none where it is too short. An SPI below 256 is reserved (RFC 4303, section
/// 2.1), and an association that has one is an association.
#[must_use]
pub fn header(packet: &[u8]) -> Option<Header> {
    let bytes = packet.first_chunk::<HEADER>()?;
    Some(Header {
        spi: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        sequence: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    })
}

/// Bytes of a UDP payload that cross most links; more are several packets that a host sends at once
/// (UDP_SEGMENT), of one length each but the last.
const LARGEST: usize = 1500;

/// The packets in a payload, each of which goes on from the one before it at a fixed stride.
pub(crate) fn packets(payload: &[u8], missing: usize) -> impl Iterator<Item = (&[u8], usize)> {
    let stride = stride(payload, missing).unwrap_or(payload.len().max(1));
    let last = payload.len().saturating_sub(1) / stride;
    let packets = payload.chunks(stride).enumerate().map(move |(place, packet)| {
        let missing = if place == last { missing } else { 0 };
        (place, packet, missing)
    });
    // A capture may end within the header of the last.
    let readable = packets.filter(|(place, packet, _)| *place == 0 || packet.len() >= HEADER);
    readable.map(|(_, packet, missing)| (packet, missing))
}

/// The distance at which one association's packets follow each other, as far as they were captured.
fn stride(payload: &[u8], missing: usize) -> Option<usize> {
    let first = header(payload).filter(|_| payload.len() + missing > LARGEST)?;
    let at = |place: usize| payload.get(place..).and_then(header);
    let is = |place: usize, number: u32| {
        let next = Header {
            sequence: first.sequence.wrapping_add(number),
            ..first
        };
        at(place) == Some(next)
    };
    // Packets of ESP are whole words (RFC 4303, section 2.4).
    let stride = (2 * HEADER..payload.len()).step_by(4).find(|stride| is(*stride, 1))?;
    let places = (2..).map(|number: u32| (number as usize * stride, number));
    let mut places = places.take_while(|(place, _)| place + HEADER <= payload.len());
    let has_rest = (1..HEADER).contains(&(payload.len() % stride)) && missing == 0;
    (!has_rest && places.all(|(place, number)| is(place, number))).then_some(stride)
}

/// Carrier of an association's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// IP protocol 50.
    Ip,
    /// UDP, between these ports (RFC 3948).
    Udp {
        /// Sender's port.
        source: u16,
        /// Receiver's port.
        destination: u16,
    },
    /// TCP, between these ports (RFC 9329).
    Tcp {
        /// Sender's port.
        source: u16,
        /// Receiver's port.
        destination: u16,
    },
}

bartizan_registry::made! {
    /// One ESP security association: one direction between two hosts.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct EspSa,
    /// An association whose first packet, not yet taken, has this header.
    pub new(
        number: u64,
        source: SocketAddr,
        destination: SocketAddr,
        carrier: Carrier,
        header: Header,
        at: Moment,
    ) {
        /// Its place in the order of first packets, from 1, among everything an observer gives.
        pub number: u64 = number,
        /// Sender.
        pub source: IpAddr = source.ip(),
        /// Receiver.
        pub destination: IpAddr = destination.ip(),
        /// SPI, chosen by the receiver.
        pub spi: u32 = header.spi,
        /// Carrier of its first packet.
        pub carrier: Carrier = carrier,
        /// The tags and tunnels around that.
        pub path: Path = Path::default(),
        /// Packets of the capture that belong to it.
        pub captured: Captured = Captured::default(),
        /// First packet.
        pub first: Moment = at,
        /// Last packet.
        pub last: Moment = at,
        /// Packets.
        pub packets: u64 = 0,
        /// Bytes of ESP: header, what is encrypted, padding and check.
        pub bytes: u64 = 0,
        /// Sequence number of the first packet; 1 where the association began in the capture.
        pub first_sequence: u32 = header.sequence,
        /// Highest sequence number; its lower half with extended sequence numbers.
        pub highest_sequence: u32 = header.sequence,
        /// Number of times the sequence number wrapped: only extended sequence numbers may.
        pub wrapped: u16 = 0,
        /// Sequence numbers that were never seen, as far as can be determined.
        pub missing: u64 = 0,
        /// Packets with a sequence number seen before, or too far behind to tell.
        pub repeated: u64 = 0,
        /// Packets that came behind a later one.
        pub late: u64 = 0,
        nonces: Nonces = Nonces::default(),
        /// Sequence numbers of one cycle: with an implicit vector (RFC 8750) they are the nonces.
        sequences: Option<Box<Nonces>> = None,
        /// The first packet with sequence number 1, and whether another one came.
        begun: Option<NonZeroU32> = None,
        again: bool = false,
        /// Lengths of its packets.
        pub blocks: Blocks = Blocks::default(),
        looked: Looked = Looked::default(),
        window: u64 = 0,
    }
}

/// Readable content found in packets over the life of an association, whose cipher never changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Looked {
    packets: u32,
    /// Packets with readable content.
    structured: u32,
    /// Packets with a possible TCP segment between the ports below.
    likely: u32,
    ports: u32,
    spread: Spread,
    /// The first that showed something.
    first: Option<Moment>,
}

impl EspSa {
    /// The first packet that shows NULL encryption, if enough of them do: their content is
    /// readable.
    pub fn in_plaintext(&self) -> Option<Moment> {
        let Looked {
            packets,
            structured,
            likely,
            first,
            ..
        } = self.looked;
        // One packet of random bytes in 2^27 looks structured: among few packets one is enough,
        // among many more are required.
        let by_structure = structured >= 1 + u32::from(packets > 4) + (packets >> 16);
        let by_ports = likely >= 3 && likely >= packets / 2;
        first.filter(|_| by_structure || by_ports)
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        let sequences = self.sequences.as_deref();
        self.nonces.held() + sequences.map_or(0, |table| size_of_val(table) + table.held())
    }

    /// Nonces that two packets have. Without encryption the bytes in their place are none.
    pub fn reuses_nonce(&self) -> Option<Reuse> {
        let encrypted = self.looked.first.is_none() && self.looks_encrypted() != Some(false);
        self.nonces.reuse().filter(|_| encrypted)
    }

    /// Returns true if a sequence number came again with other bytes: another association has its
    /// SPI, or one key has two senders.
    #[must_use]
    pub fn begins_again(&self) -> bool {
        self.again
    }

    /// Returns true if the bytes of its packets are distributed as encrypted ones are; none if
    /// there are too few.
    #[must_use]
    pub fn looks_encrypted(&self) -> Option<bool> {
        self.looked.spread.looks_encrypted()
    }

    /// Takes a packet: its captured bytes, of which `missing` more were sent.
    pub fn packet(&mut self, header: Header, packet: &[u8], missing: usize, at: Moment) {
        self.last = at;
        if self.packets < FIRST || self.packets.is_multiple_of(EACH) {
            let found = clear::look(packet, missing, self.source, self.destination);
            self.looked.add(found, clear::is_skewed(packet), at);
        }
        // The vectors of AEADs and of counter mode have eight bytes; of longer ones these are random.
        if let Some(vector) = packet.get(HEADER..).and_then(|body| body.first_chunk()) {
            self.nonces.take(u64::from_be_bytes(*vector), packet, missing, at);
        }
        let ahead = header.sequence.wrapping_sub(self.highest_sequence);
        // Ahead of the highest, extended sequence numbers go on.
        if header.sequence == 1 && self.wrapped == 0 && (self.packets == 0 || ahead == 0 || ahead >= 1 << 31) {
            self.begins(packet, missing);
        }
        // In a new cycle of extended sequence numbers each comes again.
        if ahead < 1 << 31 && header.sequence < self.highest_sequence {
            self.sequences = None;
        }
        // One of the cycle before may come late, and number 1 has been compared above.
        let is_late = ahead >= 1 << 31 && header.sequence > self.highest_sequence;
        if !is_late && (header.sequence > 1 || self.wrapped > 0) {
            let sequences = self.sequences.get_or_insert_default();
            self.again |= sequences.take(header.sequence.into(), packet, missing, at);
        }
        self.packets += 1;
        self.bytes += (packet.len() + missing) as u64;
        self.blocks.take((packet.len() + missing) as u64);
        if self.packets == 1 {
            self.window = 1;
            return;
        }
        if ahead == 0 {
            self.repeated += 1;
        } else if ahead < 1 << 31 {
            self.wrapped = self
                .wrapped
                .saturating_add((header.sequence < self.highest_sequence).into());
            self.highest_sequence = header.sequence;
            self.missing += u64::from(ahead - 1);
            self.window = self.window.checked_shl(ahead).unwrap_or(0) | 1;
        } else {
            let behind = self.highest_sequence.wrapping_sub(header.sequence);
            let bit = if behind < WINDOW { 1u64 << behind } else { 0 };
            if bit == 0 || self.window & bit != 0 {
                self.repeated += 1;
            } else {
                self.window |= bit;
                self.late += 1;
                self.missing = self.missing.saturating_sub(1);
            }
        }
    }

    /// Takes a packet with sequence number 1.
    fn begins(&mut self, packet: &[u8], missing: usize) {
        let Some(content) = beginning(packet, missing) else {
            return;
        };
        let late = self.highest_sequence <= WINDOW;
        match self.begun {
            Some(known) => self.again |= known != content,
            None if late => self.begun = Some(content),
            None => self.again = true,
        }
    }
}

/// The middle of a packet, if with a [`Hole`] there it shows what it shows: nothing else is read of
/// what is behind the header.
pub(crate) fn counted(packet: &[u8], missing: usize, source: IpAddr, destination: IpAddr) -> Option<Range<usize>> {
    /// Bytes at both ends that stay: headers of what is not encrypted, padding, checks, and what
    /// shows a nonce that is used twice.
    const ENDS: usize = TAIL;
    let end = packet
        .len()
        .checked_sub(ENDS)
        .filter(|end| *end > ENDS && packet.len() + missing <= LARGEST)?;
    let hole = Hole::of(packet, ENDS..end)?;
    let mut other = packet.to_vec();
    hole.write(&mut other);
    let shows = |packet: &[u8]| {
        (
            clear::look(packet, missing, source, destination),
            clear::is_skewed(packet),
        )
    };
    (header(packet).is_some() && shows(packet) == shows(&other)).then_some(hole.place)
}

impl Looked {
    fn add(&mut self, found: Found, skewed: Option<bool>, at: Moment) {
        self.packets += 1;
        self.spread.add(skewed);
        match found {
            Found::Structure => self.structured += 1,
            Found::Likely(ports) if self.likely == 0 || ports == self.ports => {
                self.ports = ports;
                self.likely += 1;
            }
            Found::Likely(_) | Found::Nothing => return,
        }
        self.first.get_or_insert(at);
    }
}

#[cfg(test)]
mod tests;
