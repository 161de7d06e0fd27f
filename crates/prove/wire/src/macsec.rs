//! MACsec (IEEE 802.1AE, clause 9): what a frame's SecTAG shows although the frame is encrypted.

use std::fmt;

use crate::Moment;
use crate::allocation::allocated;
use crate::eap::Agreed;
use crate::frames::Station;
use crate::mka::{KeyIdentifier, Named};
use crate::nonce::{Nonces, Reuse};

/// Secure associations that are distinguished between two stations: four of each channel.
const ASSOCIATIONS: usize = 16;
/// Keys of an association whose packet numbers are compared; beyond, the one least recently used
/// goes.
const KEYS: usize = 8;
/// Age of a name at which it says nothing any more, in nanoseconds: MKPDUs come every two seconds
/// (IEEE 802.1X, table 9-3), and one that was injected is not repeated.
const NAMED: u64 = 10_000_000_000;
/// Frames that are looked at one by one; behind them one of [`EACH`] is.
const FIRST: u64 = 64;
const EACH: u64 = 16;

/// Flags of the TCI (clause 9.5): version, end station, an SCI is there, single copy broadcast, encrypted, changed.
const VERSION: u8 = 0x80;
const END_STATION: u8 = 0x40;
const EXPLICIT: u8 = 0x20;
const ENCRYPTED: u8 = 0x08;
const CHANGED: u8 = 0x04;
const ASSOCIATION: u8 = 0x03;

/// The name of a secure channel: its station's address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sci(pub [u8; 8]);

impl Sci {
    /// That of an end station which sends none (clause 9.9).
    pub fn of(station: Station) -> Self {
        let [a, b, c, d, e, f] = station.0;
        Self([a, b, c, d, e, f, 0, 1])
    }

    /// Its station.
    pub fn station(self) -> Station {
        let [station @ .., _, _] = self.0;
        Station(station)
    }
}

impl fmt::Display for Sci {
    /// `02:00:5e:10:00:01/1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [.., high, low] = self.0;
        write!(f, "{}/{}", self.station(), u16::from_be_bytes([high, low]))
    }
}

/// A SecTAG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecTag {
    /// The E bit: what follows is encrypted.
    pub encrypted: bool,
    /// The C bit: what follows is not the user's data as it was.
    pub changed: bool,
    /// Association number.
    pub association: u8,
    /// Packet number; with extended packet numbering (XPN) the lower half.
    pub packet_number: u32,
    /// The channel, where the tag names it.
    pub channel: Option<Sci>,
}

/// Reads the SecTAG behind the EtherType; gives it with what is behind it.
pub fn tag(payload: &[u8]) -> Option<(SecTag, &[u8])> {
    let (&[control, _, a, b, c, d], rest) = payload.split_first_chunk::<6>()?;
    if control & VERSION != 0 {
        return None;
    }
    let (channel, rest) = match control & EXPLICIT {
        0 => (None, rest),
        _ => {
            let (channel, rest) = rest.split_first_chunk::<8>()?;
            (Some(Sci(*channel)), rest)
        }
    };
    let tag = SecTag {
        encrypted: control & ENCRYPTED != 0,
        changed: control & CHANGED != 0,
        association: control & ASSOCIATION,
        packet_number: u32::from_be_bytes([a, b, c, d]),
        channel,
    };
    // The SCI of an end station is implied; a tag that names it as well violates clause 9.5.
    (control & END_STATION == 0 || channel.is_none()).then_some((tag, rest))
}

/// One secure association: what a station sends under one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Association {
    /// Its channel, or the sender where the tag names none.
    pub channel: Sci,
    /// Its number.
    pub number: u8,
    /// Frames.
    pub frames: u64,
    /// Packet number of the first frame.
    pub first_number: u32,
    /// The highest packet number; its lower half with XPN.
    pub highest_number: u32,
    /// Times that the packet number began again: another key under the same number, XPN, or one key
    /// whose numbers are used twice.
    pub restarted: u32,
    /// Frames with a number that is not above the highest.
    pub late: u64,
    /// Packet numbers by key, the one used last at the end.
    nonces: Vec<(Option<KeyIdentifier>, Nonces)>,
    /// Numbers used twice under a key that is not kept any more.
    reuse: Option<Reuse>,
    /// Its newest frame.
    last: u64,
}

/// Key agreement at a port, seen before its MACsec frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keying {
    /// MKA was seen of a station that sends.
    pub agreed: Option<Moment>,
    /// The cipher suite that a key server gave out last.
    pub suite: Option<u64>,
    /// TLS version and group that EAP agreed on at that port.
    pub eap: Option<Agreed>,
    /// Offset of the first encrypted octet.
    pub confidentiality_offset: Option<u8>,
    /// The keys that MKA named last, by association number. An MKPDU proves nothing without its
    /// CAK: one that names another key is no reason to forget the packet numbers of the keys
    /// before.
    pub(crate) named: Named,
}

/// MACsec between two stations. Frames that are authenticated only are read on, and not counted
/// here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MacSec {
    /// Frames that say they are encrypted.
    pub encrypted: u64,
    /// Frames that are changed and not encrypted, or the other way round, which no suite of the standard makes.
    pub irregular: u64,
    /// Associations, in the order first seen; sixteen at most.
    pub associations: Vec<Association>,
    /// Frames of further ones.
    pub others: u64,
    /// Encrypted frames that were searched for readable headers.
    pub looked: u64,
    /// Encrypted frames in whose ciphertext a header of another protocol can be read.
    pub readable: u64,
    /// The first of these.
    pub first_readable: Option<Moment>,
    /// Key agreement, as far as it was seen.
    pub keying: Keying,
}

impl MacSec {
    /// Returns true if enough frames hold readable headers: of random octets one in sixteen million
    /// does.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.readable > 1 + (self.looked >> 16)
    }

    /// Packet numbers that two frames have, and no packet shows another key between them.
    pub fn reuses_nonce(&self) -> Option<Reuse> {
        let of_keys = |known: &'_ Association| {
            let kept = known.nonces.iter().filter_map(|(_, nonces)| nonces.reuse());
            kept.chain(known.reuse).collect::<Vec<_>>()
        };
        let reused = self.associations.iter().flat_map(of_keys);
        reused.min_by_key(|reuse| (!reuse.several, reuse.first.packet))
    }

    /// Takes what is known of the keys now.
    pub(crate) fn keyed(&mut self, keying: Keying) {
        self.keying = keying;
    }

    /// Takes a frame of a station, of which `missing` bytes were not captured.
    pub(crate) fn take(&mut self, sender: Station, tag: &SecTag, (body, missing): (&[u8], usize), at: Moment) {
        let frames = self.encrypted + self.irregular;
        match tag.encrypted && tag.changed {
            true => self.encrypted += 1,
            false => self.irregular += 1,
        }
        if frames < FIRST || frames.is_multiple_of(EACH) {
            self.looked += 1;
            if begins_with_header(body) {
                self.readable += 1;
                self.first_readable.get_or_insert(at);
            }
        }
        let channel = tag.channel.unwrap_or(Sci::of(sender));
        let mut others = self.associations.iter();
        let newest = others.by_ref().filter(|known| known.channel == channel);
        let newest = newest.max_by_key(|known| known.last).map(|known| known.number);
        let named = self.keying.named[usize::from(tag.association)];
        let key = named.filter(|(_, named)| at.time.since(named.time) < NAMED);
        let key = key.map(|(key, _)| key);
        let is_this = |known: &&mut Association| (known.channel, known.number) == (channel, tag.association);
        if let Some(known) = self.associations.iter_mut().find(is_this) {
            // Keys take turns by their association numbers (IEEE 802.1X, clause 9.8): where none is
            // named, one that comes again is another.
            let turned = newest != Some(tag.association) && tag.packet_number <= known.highest_number;
            let nonces = known.under(key, turned);
            if key.is_none() && turned {
                nonces.forget();
            }
            known.take(tag.packet_number, body, missing, at);
        } else if self.associations.len() < ASSOCIATIONS {
            let mut association = Association {
                channel,
                number: tag.association,
                frames: 0,
                first_number: tag.packet_number,
                highest_number: 0,
                restarted: 0,
                late: 0,
                nonces: Vec::new(),
                reuse: None,
                last: 0,
            };
            association.under(key, false);
            association.take(tag.packet_number, body, missing, at);
            self.associations.push(association);
        } else {
            self.others += 1;
        }
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        let nonces = self.associations.iter().map(|known| {
            let kept = known.nonces.iter().map(|(_, nonces)| nonces.held());
            allocated(known.nonces.capacity() * size_of::<(Option<KeyIdentifier>, Nonces)>()) + kept.sum::<usize>()
        });
        allocated(self.associations.capacity() * size_of::<Association>()) + nonces.sum::<usize>()
    }
}

impl Association {
    /// Packet numbers under this key, which becomes the last one. Where the association's `turn` has
    /// come again, frames without a named key were of another.
    fn under(&mut self, key: Option<KeyIdentifier>, turn: bool) -> &mut Nonces {
        let of = |wanted: Option<KeyIdentifier>| self.nonces.iter().position(|(known, _)| *known == wanted);
        // A key that is named later is that of the frames before.
        let nonces = match of(key).or_else(|| of(None).filter(|_| !turn)) {
            Some(place) => self.nonces.remove(place).1,
            None => Nonces::default(),
        };
        if self.nonces.len() >= KEYS {
            let (_, oldest) = self.nonces.remove(0);
            let both = self.reuse.into_iter().chain(oldest.reuse());
            self.reuse = both.min_by_key(|reuse| (!reuse.several, reuse.first.packet));
        }
        self.nonces.push((key, nonces));
        let last = self.nonces.len() - 1;
        &mut self.nonces[last].1
    }

    fn take(&mut self, number: u32, body: &[u8], missing: usize, at: Moment) {
        /// Numbers so far behind the highest are of another key, or of the next cycle of XPN.
        const BEHIND: u32 = 1 << 30;
        self.frames += 1;
        self.last = at.packet;
        let behind = self.highest_number.saturating_sub(number);
        let reused = self.nonces.last_mut().is_some_and(|(_, nonces)| {
            if behind >= BEHIND {
                nonces.forget();
            }
            nonces.take(number.into(), body, missing, at)
        });
        if number > self.highest_number || self.frames == 1 {
            self.highest_number = number;
        } else if behind > 0 && (reused || behind >= BEHIND || (number < 64 && self.highest_number > 4096)) {
            self.restarted += 1;
            self.highest_number = number;
        } else {
            self.late += 1;
        }
    }
}

/// Returns true if bytes begin like the part of a frame behind its addresses: the EtherType of IP
/// or eCPRI, and the header's first octet.
fn begins_with_header(body: &[u8]) -> bool {
    matches!(
        body,
        [0x08, 0x00, 0x45, ..] | [0x86, 0xdd, 0x60, ..] | [0xae, 0xfe, 0x10, ..]
    )
}

#[cfg(test)]
mod tests;
