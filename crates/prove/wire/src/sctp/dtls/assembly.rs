//! User messages put together from the DATA chunks they came in.

use std::collections::BTreeMap;

use crate::Moment;
use crate::allocation::allocated;
use crate::sctp::Data;

/// Chunks that wait for others of their message. The longest record takes twelve over Ethernet.
const PARTS: usize = 64;
/// Bytes of these: four records of the longest kind.
const BYTES: usize = 64 << 10;

/// Parts of the messages of one direction, until all of one are there.
#[derive(Clone, Default)]
pub(super) struct Assembly {
    parts: BTreeMap<u32, Part>,
    bytes: usize,
}

#[derive(Clone)]
struct Part {
    stream: u16,
    begins: bool,
    ends: bool,
    bytes: Vec<u8>,
    at: Moment,
}

/// A whole message, with the first and the last of the packets that carried it.
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    pub(super) first: Moment,
    pub(super) last: Moment,
}

impl Assembly {
    /// Takes a part of a message; returns the message once it is complete. Without room for more,
    /// the waiting parts are dropped: their messages count as not seen.
    pub(super) fn push(&mut self, data: &Data<'_>, at: Moment) -> Option<Whole> {
        if data.missing > 0 {
            return None;
        }
        if self.parts.len() == PARTS || self.bytes + data.payload.len() > BYTES {
            *self = Self::default();
        }
        let part = Part {
            stream: data.stream,
            begins: data.begins,
            ends: data.ends,
            bytes: data.payload.to_vec(),
            at,
        };
        self.bytes += part.bytes.len();
        if let Some(before) = self.parts.insert(data.tsn, part) {
            self.bytes -= before.bytes.len();
        }
        let (start, end) = self.run(data.tsn, data.stream)?;
        let mut whole: Option<Whole> = None;
        let mut tsn = start;
        loop {
            let part = self.parts.remove(&tsn)?;
            self.bytes -= part.bytes.len();
            match &mut whole {
                None => {
                    whole = Some(Whole {
                        bytes: part.bytes,
                        first: part.at,
                        last: part.at,
                    });
                }
                Some(whole) => {
                    whole.bytes.extend(part.bytes);
                    // Parts may come in any order.
                    whole.first = sooner(whole.first, part.at);
                    whole.last = later(whole.last, part.at);
                }
            }
            if tsn == end {
                return whole;
            }
            tsn = tsn.wrapping_add(1);
        }
    }

    /// The first and the last TSN of the message that a part belongs to, if all between are there.
    fn run(&self, tsn: u32, stream: u16) -> Option<(u32, u32)> {
        let part = |tsn: &u32| self.parts.get(tsn).filter(|part| part.stream == stream);
        let (mut start, mut end) = (tsn, tsn);
        while !part(&start)?.begins {
            start = start.wrapping_sub(1);
            if part(&start)?.ends {
                return None;
            }
        }
        while !part(&end)?.ends {
            end = end.wrapping_add(1);
            if part(&end)?.begins {
                return None;
            }
        }
        Some((start, end))
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        let parts = self.parts.values().map(|part| allocated(part.bytes.capacity()));
        parts.sum::<usize>() + self.parts.len() * (size_of::<(u32, Part)>() + 8)
    }
}

fn sooner(one: Moment, other: Moment) -> Moment {
    if other.packet < one.packet { other } else { one }
}

fn later(one: Moment, other: Moment) -> Moment {
    if other.packet > one.packet { other } else { one }
}
