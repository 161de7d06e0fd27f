//! The newer format: blocks, in sections, with interfaces that each have a link type and a clock
//! (draft-ietf-opsawg-pcapng).

use std::collections::BTreeSet;
use std::ops::Range;

use super::{CaptureError, LARGEST_BLOCK, Order, Record, Step};
use crate::Timestamp;
use crate::link::LinkType;

/// Type of the block that begins a file and each section; a palindrome, so that it reads alike in both byte orders.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;

/// Secrets of a Decryption Secrets Block that are a TLS key log (`TLSK`).
const TLS_KEY_LOG: u32 = 0x544c_534b;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type, total length, and the total length again behind the body.
const FRAME: u32 = 12;
/// Most interfaces of a section: 32 MiB. `mergecap` gives each input interfaces of its own.
const INTERFACES: usize = 1 << 20;

const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
const OPTION_INTERFACE_DROPPED: u16 = 5;
/// Texts on the capturing host, of a section header, and on its interfaces: code and words.
const OF_SECTION: [(u16, &str); 3] = [(4, "captured by"), (3, "on"), (2, "hardware")];
const OF_INTERFACE: [(u16, &str); 4] = [
    (2, "captured at interface"),
    (3, "described as"),
    (11, "filter"),
    (12, "on"),
];
/// `if_tzone`: seconds east of UTC, which newer writers leave out.
const OPTION_TIME_ZONE: u16 = 10;
/// Lines that are kept of all sections, and characters of a text.
const LINES: usize = 64;
const LONGEST_TEXT: usize = 200;

/// A section's byte order and interfaces, as far as read.
#[derive(Default)]
pub(super) struct Section {
    order: Order,
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before: those of two sections are never known to be one.
    earlier: u32,
    dropped: u64,
    /// Time of the packet before, for packets without one of their own.
    before: Timestamp,
    about: BTreeSet<String>,
}

#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    snap_length: u32,
    /// `if_tsresol`: a negative power of ten, or of two where the highest bit is set.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset: i64,
    dropped: u64,
}

impl Interface {
    fn time(&self, ticks: u64) -> Timestamp {
        let ticks = u128::from(ticks);
        let exponent = u32::from(self.resolution & 0x7f);
        let nanoseconds = if self.resolution & 0x80 != 0 {
            (ticks * 1_000_000_000) >> exponent
        } else if exponent <= 9 {
            ticks * 10u128.pow(9 - exponent)
        } else {
            // 10^38 is the largest power of ten a u128 holds; any divisor beyond 2^64 gives zero.
            ticks / 10u128.checked_pow(exponent - 9).unwrap_or(u128::MAX)
        };
        let shifted = i128::try_from(nanoseconds).unwrap_or(i128::MAX) + i128::from(self.offset) * 1_000_000_000;
        Timestamp(u64::try_from(shifted.max(0)).unwrap_or(u64::MAX))
    }
}

/// Content of a block, and its place in the body.
enum Holds {
    Nothing,
    Packet(Record),
    KeyLog(Range<usize>),
}

impl Section {
    /// The host, interfaces, filters and time zones of the capture, as far as read.
    pub(super) fn about(&self) -> &BTreeSet<String> {
        &self.about
    }

    /// Keeps what the options of a block say of the capture's making.
    fn add_about(&mut self, option_bytes: &[u8], texts: &[(u16, &str)]) {
        let mut line = Vec::new();
        for (code, words) in texts {
            let mut found = options(self.order, option_bytes).filter(|(known, _)| known == code);
            let Some((_, value)) = found.next() else { continue };
            // The first octet of a filter says that it is text, as those of tcpdump are.
            let value = if *words == "filter" {
                value.strip_prefix(&[0]).unwrap_or_default()
            } else {
                value
            };
            let text = String::from_utf8_lossy(value);
            let text: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_TEXT).collect();
            if !text.is_empty() {
                line.push(format!("{words} {text}"));
            }
        }
        let zone = options(self.order, option_bytes).find(|(code, _)| *code == OPTION_TIME_ZONE);
        if let Some(seconds) = zone.and_then(|(_, value)| self.order.u32_at(value, 0)) {
            line.push(format!("time zone {:+} s from UTC", seconds.cast_signed()));
        }
        if !line.is_empty() && self.about.len() < LINES {
            self.about.insert(line.join(", "));
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.interfaces
            .iter()
            .fold(self.dropped, |sum, interface| sum.saturating_add(interface.dropped))
    }

    /// Reads the block at `offset` of the file, or reports that it is incomplete.
    pub(super) fn block(&mut self, bytes: &[u8], offset: u64) -> Result<Step, CaptureError> {
        let damaged = |what: String| CaptureError::Damaged { offset, what };
        let Some(head) = bytes.first_chunk::<12>() else {
            return Ok(Step::More);
        };
        let [kind, length, magic] = [0, 4, 8].map(|at| [head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if u32::from_be_bytes(kind) == SECTION_HEADER {
            self.order = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
                (BYTE_ORDER_MAGIC, _) => Order::Little,
                (_, BYTE_ORDER_MAGIC) => Order::Big,
                _ => return Err(damaged("a section header without its byte-order magic".into())),
            };
        }
        let order = self.order;
        let length = order.u32(length);
        if length < FRAME || !length.is_multiple_of(4) || length > LARGEST_BLOCK {
            return Err(damaged(format!("a block claims {length} bytes")));
        }
        let Some(block) = bytes.get(..length as usize) else {
            return Ok(Step::More);
        };
        let (block, trailer) = block.split_at(block.len() - 4);
        if order.u32_at(trailer, 0) != Some(length) {
            return Err(damaged(format!(
                "a block of {length} bytes whose second length is another"
            )));
        }
        let held = self
            .body(order.u32(kind), &block[8..])
            .map_err(|what| damaged(what.into()))?;
        let length = length as usize;
        // The body begins behind type and length.
        let within = |data: Range<usize>| data.start + 8..data.end + 8;
        Ok(match held {
            Holds::Nothing => Step::Skip { length },
            Holds::KeyLog(data) => Step::KeyLog {
                length,
                data: within(data),
            },
            Holds::Packet(mut record) => {
                record.data = within(record.data);
                self.before = record.time;
                Step::Packet { length, record }
            }
        })
    }

    /// Reads a block's body.
    fn body(&mut self, kind: u32, body: &[u8]) -> Result<Holds, &'static str> {
        let order = self.order;
        let word = |at: usize| order.u32_at(body, at).ok_or("a block shorter than its fields");
        match kind {
            SECTION_HEADER => {
                if order.u16_at(body, 4) != Some(1) {
                    return Err("a section of a major version other than 1");
                }
                self.dropped = self.dropped();
                self.earlier = self.earlier.saturating_add(self.interfaces.len() as u32);
                self.interfaces.clear();
                self.add_about(body.get(16..).unwrap_or_default(), &OF_SECTION);
                Ok(Holds::Nothing)
            }
            INTERFACE_DESCRIPTION => {
                if self.interfaces.len() == INTERFACES {
                    return Err("more than 1048576 interfaces in one section, the most that are read");
                }
                let snap_length = word(4)?;
                let link = LinkType(order.u16_at(body, 0).ok_or("a block shorter than its fields")?);
                self.interfaces.push(self.interface(link, snap_length, &body[8..]));
                self.add_about(&body[8..], &OF_INTERFACE);
                Ok(Holds::Nothing)
            }
            ENHANCED_PACKET => {
                let (interface, high, low, captured, original) = (word(0)?, word(4)?, word(8)?, word(12)?, word(16)?);
                let ticks = u64::from(high) << 32 | u64::from(low);
                self.packet(interface, Some(ticks), 20, captured, original, body)
                    .map(Holds::Packet)
            }
            PACKET => {
                let interface = u32::from(order.u16_at(body, 0).ok_or("a block shorter than its fields")?);
                let (high, low, captured, original) = (word(4)?, word(8)?, word(12)?, word(16)?);
                let ticks = u64::from(high) << 32 | u64::from(low);
                self.packet(interface, Some(ticks), 20, captured, original, body)
                    .map(Holds::Packet)
            }
            SIMPLE_PACKET => {
                let original = word(0)?;
                let snap_length = self.interfaces.first().map_or(0, |interface| interface.snap_length);
                let limit = if snap_length == 0 { u32::MAX } else { snap_length };
                self.packet(0, None, 4, original.min(limit), original, body)
                    .map(Holds::Packet)
            }
            INTERFACE_STATISTICS => {
                let interface = word(0)? as usize;
                let dropped = options(order, body.get(12..).unwrap_or_default())
                    .find(|(code, _)| *code == OPTION_INTERFACE_DROPPED)
                    .and_then(|(_, value)| self.u64(value));
                if let (Some(interface), Some(dropped)) = (self.interfaces.get_mut(interface), dropped) {
                    // Statistics are totals: the newest block holds them all.
                    interface.dropped = dropped;
                }
                Ok(Holds::Nothing)
            }
            DECRYPTION_SECRETS => {
                let (kind, length) = (word(0)?, word(4)? as usize);
                if body.len() < 8 + length {
                    return Err("secrets longer than their block");
                }
                Ok(if kind == TLS_KEY_LOG {
                    Holds::KeyLog(8..8 + length)
                } else {
                    Holds::Nothing
                })
            }
            _ => Ok(Holds::Nothing),
        }
    }

    fn packet(
        &self,
        interface: u32,
        ticks: Option<u64>,
        start: usize,
        captured: u32,
        original: u32,
        body: &[u8],
    ) -> Result<Record, &'static str> {
        let several = self.earlier > 0 || self.interfaces.len() > 1;
        let number = if several {
            self.earlier.saturating_add(interface).saturating_add(1)
        } else {
            0
        };
        let interface = self
            .interfaces
            .get(interface as usize)
            .ok_or("a packet of an interface that was not described")?;
        let data = start..start + captured as usize;
        if data.end > body.len() {
            return Err("a packet longer than its block");
        }
        Ok(Record {
            time: ticks.map_or(self.before, |ticks| interface.time(ticks)),
            link: interface.link,
            data,
            original_length: original.max(captured),
            interface: number,
        })
    }

    fn interface(&self, link: LinkType, snap_length: u32, option_bytes: &[u8]) -> Interface {
        let mut interface = Interface {
            link,
            snap_length,
            resolution: 6,
            offset: 0,
            dropped: 0,
        };
        for (code, value) in options(self.order, option_bytes) {
            match code {
                OPTION_TIME_RESOLUTION => interface.resolution = value.first().copied().unwrap_or(6),
                OPTION_TIME_OFFSET => interface.offset = self.u64(value).map_or(0, u64::cast_signed),
                _ => {}
            }
        }
        interface
    }

    fn u64(&self, value: &[u8]) -> Option<u64> {
        let bytes = *value.first_chunk::<8>()?;
        Some(match self.order {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        })
    }
}

/// A block's options, code and value, up to the first that is not complete.
fn options(order: Order, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let code = order.u16_at(bytes, 0)?;
        let length = usize::from(order.u16_at(bytes, 2)?);
        let value = bytes.get(4..4 + length)?;
        // Values are padded to four bytes; the last one's padding may be missing.
        bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        (code != 0).then_some((code, value))
    })
}
