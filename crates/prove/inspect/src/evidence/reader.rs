//! Evidence as it is read.

use std::io::{self, Read};
use std::ops::Range;

use bartizan_wire::capture::LARGEST_BLOCK;
use bartizan_wire::link::LinkType;
use bartizan_wire::reduce::{self, SUM};
use bartizan_wire::{Packet, Timestamp};
use serde::de::DeserializeOwned;

use super::{Begin, End, Manifest, tag};

/// Longest manifest that is read: names of a hundred thousand captures.
const LONGEST: u64 = 64 << 20;

/// One item of evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<'a> {
    /// A slice of a capture begins.
    Begin(Begin),
    /// Its next packet, with holes at these places.
    Packet(Packet<'a>, &'a [Range<usize>]),
    /// It ends.
    End(End),
}

/// Bytes that are no evidence.
#[derive(Debug)]
pub enum Damaged {
    /// They cannot be read.
    Read(io::Error),
    /// They say what no writer of evidence does.
    Wrong(&'static str),
}

impl From<io::Error> for Damaged {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Reads evidence; holds one packet at a time.
pub struct Reader<R> {
    input: R,
    time: u64,
    packets: u64,
    data: Vec<u8>,
    holes: Vec<Range<usize>>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads what it is of.
    ///
    /// # Errors
    /// [`Damaged`], here and below.
    pub fn new(input: R) -> Result<(Self, Manifest), Damaged> {
        let mut reader = Self {
            input,
            time: 0,
            packets: 0,
            data: Vec::new(),
            holes: Vec::new(),
            ended: false,
        };
        let manifest = reader.document()?;
        Ok((reader, manifest))
    }

    /// The next item; none at the end.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, Damaged> {
        if self.ended {
            return Ok(None);
        }
        match self.byte()? {
            tag::END => {
                self.ended = true;
                Ok(None)
            }
            tag::BEGIN_SECTION => {
                let begin: Begin = self.document()?;
                self.time = 0;
                self.packets = begin.packets;
                Ok(Some(Item::Begin(begin)))
            }
            tag::PACKET => self.packet().map(Some),
            tag::END_SECTION => Ok(Some(Item::End(self.document()?))),
            _ => Err(Damaged::Wrong("what follows is nothing that evidence has")),
        }
    }

    fn packet(&mut self) -> Result<Item<'_>, Damaged> {
        let ahead = self.number()?;
        let ahead = (ahead >> 1) ^ (ahead & 1).wrapping_neg();
        self.time = self.time.wrapping_add(ahead);
        let seen = self.number()?;
        let interface = (seen >> 16).try_into().map_err(|_| Damaged::Wrong("an interface"))?;
        let original_length = self.number()?.try_into().map_err(|_| Damaged::Wrong("a length"))?;
        let length = self.number()?;
        if length > u64::from(LARGEST_BLOCK) {
            return Err(Damaged::Wrong("a packet longer than any"));
        }
        // Within 16 MiB.
        let length = length as usize;
        self.data.clear();
        self.data.resize(length, 0);
        self.holes.clear();
        let mut end = 0_usize;
        for _ in 0..self.number()? {
            let [before, bytes] = [self.number()?, self.number()?];
            let place = |from: usize, bytes: u64| usize::try_from(bytes).ok().and_then(|bytes| from.checked_add(bytes));
            let start = place(end, before);
            let hole = start.and_then(|start| Some(start..place(start, bytes)?));
            match hole {
                Some(hole) if hole.len() >= SUM && hole.end <= length => {
                    end = hole.end;
                    self.holes.push(hole);
                }
                _ => return Err(Damaged::Wrong("a hole that is not in its packet")),
            }
        }
        let mut end = 0;
        for hole in &self.holes {
            reduce::fill(&mut self.data[hole.clone()]);
            self.input.read_exact(&mut self.data[end..hole.start + SUM])?;
            end = hole.end;
        }
        self.input.read_exact(&mut self.data[end..])?;
        self.packets += 1;
        let packet = Packet {
            number: self.packets,
            time: Timestamp(self.time),
            link: LinkType(seen as u16),
            data: &self.data,
            original_length,
            interface,
        };
        Ok(Item::Packet(packet, &self.holes))
    }

    fn document<T: DeserializeOwned>(&mut self) -> Result<T, Damaged> {
        let length = self.number()?;
        if length > LONGEST {
            return Err(Damaged::Wrong("a description longer than any"));
        }
        let mut text = Vec::new();
        (&mut self.input).take(length).read_to_end(&mut text)?;
        serde_json::from_slice(&text).map_err(|_| Damaged::Wrong("a description that cannot be read"))
    }

    fn number(&mut self) -> Result<u64, Damaged> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Damaged::Wrong("a number of more than 64 bits"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        Ok(byte[0])
    }
}
