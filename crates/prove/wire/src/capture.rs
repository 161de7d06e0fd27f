//! Capture files, pcap and pcapng: bytes in any pieces in, packets out.
//!
//! Formats: `draft-ietf-opsawg-pcap` and `draft-ietf-opsawg-pcapng`. Both byte orders, microsecond and nanosecond
//! (pcapng: any) resolution.

mod pcap;
mod pcapng;

use std::ops::Range;

use crate::Timestamp;
use crate::link::LinkType;

/// Largest pcap record and pcapng block that is read, in bytes. Wireshark stops at the same size for pcapng; no snap
/// length comes near it.
pub const LARGEST_BLOCK: u32 = 16 * 1024 * 1024;

/// One captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// Capture time. A pcapng Simple Packet Block has none: it is that of the packet before, or
    /// zero where no packet before has one.
    pub time: Timestamp,
    /// Link type, which names the header that the first byte begins.
    pub link: LinkType,
    /// The captured bytes: the whole frame, or as much of it as the snap length let through.
    pub data: &'a [u8],
    /// Bytes the frame had on the wire.
    pub original_length: u32,
    /// Number of the interface that saw it, from 1, where a capture describes several; else 0.
    pub interface: u32,
}

/// A malformed or truncated capture. Packets read before the error are good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// Nothing in it.
    #[error("the capture is empty")]
    Empty,
    /// The first bytes are those of no capture format.
    #[error("neither pcap nor pcapng: it begins with {}", Hex(*magic))]
    NotACapture {
        /// The first four bytes.
        magic: [u8; 4],
    },
    /// A capture, compressed.
    #[error("the capture is compressed with {with}")]
    Compressed {
        /// Name of the compressor.
        with: &'static str,
    },
    /// A capture format of old that is not read.
    #[error("this kind of pcap is not read: {what}")]
    Unsupported {
        /// The unsupported kind.
        what: &'static str,
    },
    /// A record or block that cannot be right; nothing after it can be found.
    #[error("damaged at byte {offset}: {what}")]
    Damaged {
        /// Bytes before it in the file.
        offset: u64,
        /// The malformed field or record.
        what: String,
    },
    /// The file ends inside a header, record or block.
    #[error("cut at byte {end}: what begins at byte {offset} is not complete")]
    Cut {
        /// Offset in the file at which the incomplete record or block begins.
        offset: u64,
        /// Bytes in the file.
        end: u64,
    },
}

struct Hex([u8; 4]);

impl std::fmt::Display for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a:02x} {b:02x} {c:02x} {d:02x}")
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// The 16-bit value at `at`; none beyond the end.
    fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        bytes.get(at..)?.first_chunk().map(|chunk| self.u16(*chunk))
    }

    /// The 32-bit value at `at`; none beyond the end.
    fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        bytes.get(at..)?.first_chunk().map(|chunk| self.u32(*chunk))
    }
}

#[derive(Default)]
enum Format {
    #[default]
    Unknown,
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

/// Place of a record's packet in the bytes it was read from.
struct Record {
    time: Timestamp,
    link: LinkType,
    data: Range<usize>,
    original_length: u32,
    interface: u32,
}

/// A record or block that was stepped over, and its place in the buffer.
enum Found {
    Packet { start: usize, record: Record },
    KeyLog { data: Range<usize> },
}

/// A part of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePart<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// A TLS key log (RFC 9850), from one of pcapng's Decryption Secrets Blocks.
    KeyLog(&'a [u8]),
}

/// The record or block at the front of the bytes at hand.
enum Step {
    /// Too few bytes to say.
    More,
    /// `length` bytes that hold no packet.
    Skip { length: usize },
    /// `length` bytes that hold one.
    Packet { length: usize, record: Record },
    /// `length` bytes that hold a key log.
    KeyLog { length: usize, data: Range<usize> },
}

/// Takes a capture piece by piece and gives its packets. Holds no more than one record and the piece pushed last.
#[derive(Default)]
pub struct CaptureReader {
    format: Format,
    /// Bytes of the file from `consumed` to `filled`; room behind them.
    buffer: Vec<u8>,
    consumed: usize,
    filled: usize,
    /// File offset of `buffer[consumed]`.
    offset: u64,
    packets: u64,
    error: Option<CaptureError>,
}

impl CaptureReader {
    /// A reader at the first byte of a file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the file's next bytes. Take all packets with [`next_packet`](Self::next_packet) before pushing more, or
    /// the buffer grows.
    pub fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.fill(bytes.len());
    }

    /// Room for the file's next bytes, at least so many: what is read from a file need not be copied once more.
    /// [`fill`](Self::fill) says how many came. Take all packets before, as with [`push`](Self::push).
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        // The rest is the beginning of one record.
        self.buffer.copy_within(self.consumed..self.filled, 0);
        self.filled -= self.consumed;
        self.consumed = 0;
        if self.buffer.len() < self.filled + length {
            self.buffer.resize(self.filled + length, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// So many bytes were written into [`room`](Self::room); more than it has are as many as it has.
    pub fn fill(&mut self, length: usize) {
        self.filled = (self.filled + length).min(self.buffer.len());
    }

    /// The next packet; none until more bytes are pushed.
    ///
    /// # Errors
    /// The file is malformed or truncated. The reader stays at that place: the same error is given
    /// again.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        loop {
            match self.step_to_part()? {
                None => return Ok(None),
                Some(Found::Packet { start, record }) => return Ok(Some(self.packet(start, &record))),
                Some(Found::KeyLog { .. }) => {}
            }
        }
    }

    /// The next packet or key log; none until more bytes are pushed. A key log stands before the packets it is for.
    ///
    /// # Errors
    /// As [`next_packet`](Self::next_packet).
    pub fn next_part(&mut self) -> Result<Option<CapturePart<'_>>, CaptureError> {
        Ok(self.step_to_part()?.map(|found| match found {
            Found::Packet { start, record } => CapturePart::Packet(self.packet(start, &record)),
            Found::KeyLog { data } => CapturePart::KeyLog(&self.buffer[data]),
        }))
    }

    fn packet(&self, start: usize, record: &Record) -> Packet<'_> {
        Packet {
            number: self.packets,
            time: record.time,
            link: record.link,
            data: &self.buffer[start + record.data.start..start + record.data.end],
            original_length: record.original_length,
            interface: record.interface,
        }
    }

    fn step_to_part(&mut self) -> Result<Option<Found>, CaptureError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        loop {
            let step = self.step().inspect_err(|error| self.error = Some(error.clone()))?;
            match step {
                Step::More => return Ok(None),
                Step::Skip { length } => self.advance(length),
                Step::Packet { length, record } => {
                    let start = self.consumed;
                    self.advance(length);
                    self.packets += 1;
                    return Ok(Some(Found::Packet { start, record }));
                }
                Step::KeyLog { length, data } => {
                    let start = self.consumed;
                    self.advance(length);
                    return Ok(Some(Found::KeyLog {
                        data: start + data.start..start + data.end,
                    }));
                }
            }
        }
    }

    /// Call when the file has no more bytes.
    ///
    /// # Errors
    /// [`CaptureError::Empty`] or [`CaptureError::Cut`]; an error that stopped the reader before is given again.
    pub fn finish(&self) -> Result<(), CaptureError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let left = self.filled - self.consumed;
        if self.offset == 0 && left == 0 {
            return Err(CaptureError::Empty);
        }
        if left > 0 {
            return Err(CaptureError::Cut {
                offset: self.offset,
                end: self.offset + left as u64,
            });
        }
        Ok(())
    }

    /// The host, interfaces, filters and time zones of the capture, as far as it says (pcapng) and was
    /// read.
    pub fn about(&self) -> impl Iterator<Item = &str> {
        let section = match &self.format {
            Format::Pcapng(section) => Some(section),
            Format::Unknown | Format::Pcap(_) => None,
        };
        section.into_iter().flat_map(pcapng::Section::about).map(String::as_str)
    }

    /// Packets that the capturing host says it could not keep up with (pcapng interface statistics), as far as read.
    pub fn dropped_at_capture(&self) -> u64 {
        match &self.format {
            Format::Pcapng(section) => section.dropped(),
            Format::Unknown | Format::Pcap(_) => 0,
        }
    }

    fn advance(&mut self, length: usize) {
        self.consumed += length;
        self.offset += length as u64;
    }

    fn step(&mut self) -> Result<Step, CaptureError> {
        let bytes = &self.buffer[self.consumed..self.filled];
        match &mut self.format {
            Format::Pcap(header) => header.record(bytes, self.offset),
            Format::Pcapng(section) => section.block(bytes, self.offset),
            Format::Unknown => {
                let Some(magic) = bytes.first_chunk::<4>() else {
                    return Ok(Step::More);
                };
                if u32::from_be_bytes(*magic) == pcapng::SECTION_HEADER {
                    self.format = Format::Pcapng(pcapng::Section::default());
                    return Ok(Step::Skip { length: 0 });
                }
                let Some(header) = pcap::Header::read(bytes)? else {
                    return Ok(Step::More);
                };
                self.format = Format::Pcap(header);
                Ok(Step::Skip { length: pcap::HEADER })
            }
        }
    }
}

#[cfg(test)]
mod tests;
