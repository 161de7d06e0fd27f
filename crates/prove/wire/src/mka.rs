//! MACsec Key Agreement (IEEE 802.1X-2020, clauses 9 and 11.11): the participants, the CAK name of
//! each, and the keys in use. Distributed keys are wrapped by keys derived from the CAK, and the
//! integrity check value (ICV) is made with another: neither is opened here.

use std::fmt;

use crate::Moment;
use crate::allocation::allocated;
use crate::macsec::Sci;

/// Names of CAKs and participants of one end that are distinguished.
const NAMES: usize = 8;
const KEYS: usize = 16;

/// Types of parameter sets (table 11-7); the first has none.
const SAK_USE: u8 = 3;
const DISTRIBUTED_SAK: u8 = 4;
const ICV_INDICATOR: u8 = 255;
/// Bytes of the check value (clause 9.4.1), where no indicator says another length.
const ICV: usize = 16;
/// Bytes of the basic parameter set before the CAK's name.
const BASIC: usize = 28;
/// Longest name of a CAK (clause 9.3.1).
const CKN: usize = 32;
/// The suite where a distributed SAK names none (clause 11.11, figure 11-12).
const DEFAULT_SUITE: u64 = 0x0080_c200_0100_0001;

/// The name of a CAK: up to 32 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ckn {
    octets: [u8; CKN],
    length: u8,
}

impl Ckn {
    fn new(name: &[u8]) -> Option<Self> {
        let mut octets = [0; CKN];
        octets.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self {
            octets,
            length: u8::try_from(name.len()).ok()?,
        })
    }

    /// Its octets.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

impl fmt::Display for Ckn {
    /// Hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.octets().iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// The name of a SAK: who made it, and the how manyth it is of that one (clause 9.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyIdentifier {
    /// The key server's member identifier.
    pub member: [u8; 12],
    /// Its number.
    pub number: u32,
}

impl fmt::Display for KeyIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.member.iter().try_for_each(|octet| write!(f, "{octet:02x}"))?;
        write!(f, "/{}", self.number)
    }
}

/// A key that an end uses, or says it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InUse {
    /// Key identifier.
    pub key: KeyIdentifier,
    /// Its association number.
    pub association: u8,
    /// It is used to send.
    pub sends: bool,
    /// It is used to receive.
    pub receives: bool,
    /// The first MKPDU that says so.
    pub first: Moment,
}

/// A key that a key server gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distributed {
    /// Key identifier.
    pub key: KeyIdentifier,
    /// Its association number.
    pub association: u8,
    /// The name of the CAK that wraps it.
    pub ckn: Ckn,
    /// The cipher suite.
    pub suite: u64,
    /// Offset of the first encrypted octet: 0, 30 or 50; none if frames are not encrypted (clause
    /// 11.11, table 11-6).
    pub confidentiality_offset: Option<u8>,
    /// The first MKPDU with it.
    pub first: Moment,
}

/// MKPDUs of one end of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Participant {
    /// Its secure channel.
    pub channel: Option<Sci>,
    /// MKPDUs.
    pub pdus: u64,
    /// The names of the CAKs it takes part under, with the first MKPDU of each; eight at most.
    pub names: Vec<(Ckn, Moment)>,
    /// It said that it is the key server.
    pub key_server: bool,
    /// Its priority as key server: the least wins.
    pub priority: u8,
    /// It wants frames protected by MACsec.
    pub desires: bool,
    /// MACsec capability (table 11-6): none, integrity, confidentiality from offset 0, from all
    /// offsets.
    pub capability: u8,
    /// Keys in use, in the order first said; sixteen at most.
    pub in_use: Vec<InUse>,
    /// Keys given out, in the order first seen; sixteen at most.
    pub distributed: Vec<Distributed>,
    /// It said that frames go without MACsec too (plain transmit or receive).
    pub plain: bool,
    /// The MKPDU from which on it wants no MACsec, after one in which it did.
    pub withdrew: Option<Moment>,
    /// Names or keys beyond those that are kept.
    pub more: bool,
}

/// MKA at a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mka {
    /// By its two ends.
    pub ends: [Participant; 2],
    named: Named,
}

/// The key that either end named last under each association number, and when.
pub(crate) type Named = [Option<(KeyIdentifier, Moment)>; 4];

/// The name of the CAK that an MKPDU is under: its sender's channel, and the name.
pub fn ckn(body: &[u8]) -> Option<(Sci, Ckn)> {
    let (basic, _) = parameters(body)?;
    Some((Sci(*basic.first_chunk()?), Ckn::new(basic.get(BASIC..)?)?))
}

impl Mka {
    /// The latest key that was given out.
    pub fn latest(&self) -> Option<&Distributed> {
        let given = self.ends.iter().flat_map(|end| &end.distributed);
        given.max_by_key(|given| given.first.packet)
    }

    /// The keys that were named last.
    pub(crate) fn named(&self) -> Named {
        self.named
    }

    /// Takes an MKPDU of an end; says whether it could be read.
    pub(crate) fn take(&mut self, from: usize, body: &[u8], at: Moment) -> bool {
        self.ends[from.min(1)].take(body, &mut self.named, at).is_some()
    }

    /// Bytes it holds on the heap, about.
    pub(crate) fn held(&self) -> usize {
        let end = |end: &Participant| {
            allocated(end.names.capacity() * size_of::<(Ckn, Moment)>())
                + allocated(end.in_use.capacity() * size_of::<InUse>())
                + allocated(end.distributed.capacity() * size_of::<Distributed>())
        };
        self.ends.iter().map(end).sum()
    }
}

impl Participant {
    fn take(&mut self, body: &[u8], named: &mut Named, at: Moment) -> Option<()> {
        let (basic, mut rest) = parameters(body)?;
        let flags = body[2];
        let member: [u8; 12] = *basic.get(8..)?.first_chunk()?;
        let (channel, ckn) = ckn(body)?;
        // The check value stands behind all sets.
        rest = rest.get(..rest.len().saturating_sub(ICV)).unwrap_or(&[]);
        self.pdus += 1;
        self.priority = body[1];
        self.key_server |= flags & 0x80 != 0;
        match (self.desires, flags & 0x40 != 0) {
            (true, false) => self.withdrew = self.withdrew.or(Some(at)),
            (_, true) => self.withdrew = None,
            (false, false) => {}
        }
        self.desires |= flags & 0x40 != 0;
        self.capability = (flags >> 4) & 0x03;
        self.channel = Some(channel);
        if !self.names.iter().any(|(known, _)| *known == ckn) {
            self.more |= !keep(&mut self.names, (ckn, at), NAMES);
        }
        while let Some((set, behind)) = parameters(rest) {
            let [kind, second, third, _] = *rest.first_chunk()?;
            match kind {
                SAK_USE => self.sak_use((second, third), set, named, at),
                DISTRIBUTED_SAK => self.sak((second, set), (member, ckn), named, at),
                ICV_INDICATOR => break,
                _ => {}
            }
            rest = behind;
        }
        Some(())
    }

    /// Figure 11-10: the latest key and the one before it.
    fn sak_use(&mut self, (numbers, flags): (u8, u8), set: &[u8], named: &mut Named, at: Moment) {
        self.plain |= flags & 0xc0 != 0 && !set.is_empty();
        for (part, bits) in [(0, numbers >> 4), (20, numbers & 0x0f)] {
            let Some(fields) = set.get(part..).and_then(|set| set.first_chunk::<20>()) else {
                continue;
            };
            let [member @ .., a, b, c, d, _, _, _, _] = *fields;
            let key = KeyIdentifier {
                member,
                number: u32::from_be_bytes([a, b, c, d]),
            };
            let (sends, receives) = (bits & 0x02 != 0, bits & 0x01 != 0);
            if key.member == [0; 12] || !(sends || receives) {
                continue;
            }
            let association = bits >> 2;
            named[usize::from(association)] = Some((key, at));
            match self.in_use.iter_mut().find(|known| known.key == key) {
                Some(known) => {
                    known.sends |= sends;
                    known.receives |= receives;
                }
                None => {
                    let used = InUse {
                        key,
                        association,
                        sends,
                        receives,
                        first: at,
                    };
                    self.more |= !keep(&mut self.in_use, used, KEYS);
                }
            }
        }
    }

    /// Figures 11-11 and 11-12: a number, a suite where it is not the default, and the wrapped key.
    fn sak(&mut self, (flags, set): (u8, &[u8]), (member, ckn): ([u8; 12], Ckn), named: &mut Named, at: Moment) {
        /// A number, and a key of 128 bits as RFC 3394 wraps it.
        const OF_DEFAULT: usize = 28;
        let Some((number, behind)) = set.split_first_chunk::<4>() else {
            // A key server that wants no MACsec gives an empty one.
            self.plain = true;
            if !self.distributed.is_empty() {
                self.withdrew = self.withdrew.or(Some(at));
            }
            return;
        };
        let suite = match (set.len(), behind.first_chunk::<8>()) {
            (OF_DEFAULT, _) | (_, None) => DEFAULT_SUITE,
            (_, Some(suite)) => u64::from_be_bytes(*suite),
        };
        let key = KeyIdentifier {
            member,
            number: u32::from_be_bytes(*number),
        };
        named[usize::from(flags >> 6)] = Some((key, at));
        if self
            .distributed
            .iter()
            .any(|known| (known.key, known.ckn) == (key, ckn))
        {
            return;
        }
        let given = Distributed {
            key,
            association: flags >> 6,
            ckn,
            suite,
            confidentiality_offset: match (flags >> 4) & 0x03 {
                0 => None,
                1 => Some(0),
                2 => Some(30),
                _ => Some(50),
            },
            first: at,
        };
        self.more |= !keep(&mut self.distributed, given, KEYS);
    }
}

/// A parameter set's body, which is as long as the last twelve bits of its header say, and what is behind its padding.
fn parameters(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (header, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::from(u16::from_be_bytes([header[2] & 0x0f, header[3]]));
    let body = rest.get(..length)?;
    Some((body, rest.get(length.next_multiple_of(4)..).unwrap_or(&[])))
}

fn keep<T>(kept: &mut Vec<T>, one: T, most: usize) -> bool {
    let room = kept.len() < most;
    if room {
        kept.push(one);
    }
    room
}

#[cfg(test)]
mod tests;
