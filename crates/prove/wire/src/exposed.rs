//! Plaintext above the transport: SUCIs, and the algorithms that sign JSON web tokens. Counted by
//! scheme and algorithm; neither identifiers nor tokens are kept.

use crate::{Moment, work};

/// Kinds distinguished: an unauthenticated peer may write anything.
const KINDS: usize = 16;
/// Bytes of a token's header, and of a SUCI up to its scheme.
const LONGEST: usize = 256;

/// A protection scheme or a token algorithm seen in plaintext.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exposed {
    /// A SUCI with this protection scheme.
    Suci(u8),
    /// A JSON web token with this `alg`.
    Token(String),
}

/// One kind of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Scheme or algorithm.
    pub what: Exposed,
    /// Number of occurrences.
    pub count: u64,
    /// The packet with the first.
    pub first: Moment,
    /// The packet with the last.
    pub last: Moment,
}

/// Everything seen, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sightings(Vec<Sighting>);

impl Sightings {
    /// Takes a whole text that a packet completed.
    pub fn text(&mut self, text: &[u8], at: Moment) {
        let mut found = None;
        rest(text, at, &mut found);
        for sighting in found.map_or_else(Vec::new, |found| found.0) {
            self.take(sighting);
        }
    }

    /// Adds what others have seen.
    pub fn extend(&mut self, others: &Self) {
        for sighting in &others.0 {
            self.take(sighting.clone());
        }
    }

    /// Each kind, in the order of first sight.
    pub fn all(&self) -> &[Sighting] {
        &self.0
    }

    fn see(&mut self, what: Exposed, at: Moment) {
        self.take(Sighting {
            what,
            count: 1,
            first: at,
            last: at,
        });
    }

    fn take(&mut self, seen: Sighting) {
        if let Some(known) = self.0.iter_mut().find(|known| known.what == seen.what) {
            known.count += seen.count;
            if seen.first.packet < known.first.packet {
                known.first = seen.first;
            }
            if seen.last.packet > known.last.packet {
                known.last = seen.last;
            }
        } else if self.0.len() < KINDS {
            self.0.push(seen);
        }
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        self.0.capacity() * size_of::<Sighting>()
    }

    /// Takes a message of NGAP: the NAS message in it may carry a SUCI as mobile identity (TS
    /// 24.501, section 9.11.3.4).
    pub(crate) fn ngap(&mut self, message: &[u8], at: Moment) {
        // Extended protocol discriminator, no security header, message type.
        for (place, _) in message
            .windows(3)
            .enumerate()
            .filter(|(_, window)| window[..2] == [0x7e, 0])
        {
            let identity = match message[place + 2] {
                // Registration Request: its type and the key set identifier come first.
                0x41 => place + 4,
                // Identity Response.
                0x5c => place + 3,
                _ => continue,
            };
            let Some([high, low, kind, _, _, _, _, _, scheme]) = message.get(identity..).and_then(<[u8]>::first_chunk)
            else {
                continue;
            };
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            // SUCI with an IMSI in it, as long as it says.
            if kind & 0x77 == 0x01 && length >= 8 && message.len() >= identity + 2 + length {
                self.see(Exposed::Suci(scheme & 0x0f), at);
            }
        }
    }
}

/// Reads one direction of a text as it comes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scanner {
    /// The beginning of what may be something, at the end of what has come.
    carry: Vec<u8>,
}

const SUCI: &[u8] = b"suci-0-";
/// First bytes of every JSON web token: `{"` in base64url.
const TOKEN: &[u8] = b"eyJ";

impl Scanner {
    /// Takes the next bytes.
    pub(crate) fn text(&mut self, bytes: &[u8], at: Moment, sightings: &mut Option<Box<Sightings>>) {
        if self.carry.is_empty() {
            self.carry = rest(bytes, at, sightings).to_vec();
            return;
        }
        let mut joined = std::mem::take(&mut self.carry);
        joined.extend(bytes);
        self.carry = rest(&joined, at, sightings).to_vec();
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        self.carry.capacity()
    }

    /// Bytes are missing.
    pub(crate) fn gap(&mut self) {
        self.carry = Vec::new();
    }
}

/// Sees what is whole in `bytes`, and returns the end that may go on.
fn rest<'a>(bytes: &'a [u8], at: Moment, sightings: &mut Option<Box<Sightings>>) -> &'a [u8] {
    let mut place = 0;
    while let Some(ahead) = bytes[place..].iter().position(|byte| matches!(byte, b's' | b'e')) {
        place += ahead;
        let text = &bytes[place..];
        // A longer text is no token. The limit also keeps a sender that writes nothing but
        // beginnings from having each of them read to the end.
        let looked_at = &text[..text.len().min(LONGEST + 1)];
        work::steps(looked_at.len());
        let read = match text[0] {
            b's' => scheme(looked_at),
            _ => algorithm(looked_at),
        };
        match read {
            Read::Whole(what) => sightings.get_or_insert_default().see(what, at),
            Read::More if text.len() < LONGEST => return text,
            Read::More | Read::Nothing => {}
        }
        place += 1;
    }
    &[]
}

enum Read {
    Whole(Exposed),
    /// It may be, once more has come.
    More,
    Nothing,
}

/// `suci-0-MCC-MNC-ROUTING-SCHEME-...` (TS 29.571, section 5.3.2).
fn scheme(text: &[u8]) -> Read {
    if !text.starts_with(SUCI) {
        return if SUCI.starts_with(text) {
            Read::More
        } else {
            Read::Nothing
        };
    }
    let mut fields = text[SUCI.len()..].split(|byte| *byte == b'-');
    let mut last = fields.next();
    for _ in 0..3 {
        // A field that nothing follows may still grow.
        let Some(next) = fields.next() else {
            let digits = last.is_some_and(|field| field.iter().all(u8::is_ascii_digit));
            return if digits { Read::More } else { Read::Nothing };
        };
        if last.is_none_or(|field| field.is_empty() || !field.iter().all(u8::is_ascii_digit)) {
            return Read::Nothing;
        }
        last = Some(next);
    }
    match (last, fields.next()) {
        (Some([digit @ b'0'..=b'9']), Some(_)) => Read::Whole(Exposed::Suci(digit - b'0')),
        (Some([b'0'..=b'9'] | []), None) => Read::More,
        _ => Read::Nothing,
    }
}

/// The `alg` in a token's header (RFC 7515, section 4.1.1).
fn algorithm(text: &[u8]) -> Read {
    if !text.starts_with(TOKEN) {
        return if TOKEN.starts_with(text) {
            Read::More
        } else {
            Read::Nothing
        };
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let Some(end) = text.iter().position(|byte| !is_base64(byte)) else {
        return Read::More;
    };
    if text[end] != b'.' || end > LONGEST {
        return Read::Nothing;
    }
    let header = decoded(&text[..end]);
    let name = b"\"alg\":\"";
    let found = header.windows(name.len()).position(|window| window == name);
    let value = found.and_then(|at| header[at + name.len()..].split(|byte| *byte == b'"').next());
    match value.and_then(|value| std::str::from_utf8(value).ok()) {
        Some(value) if (1..=32).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Read::Whole(Exposed::Token(value.to_owned()))
        }
        _ => Read::Nothing,
    }
}

/// Base64url without padding (RFC 4648, section 5), as far as it is some.
fn decoded(text: &[u8]) -> Vec<u8> {
    let sextet = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.chunks(4) {
        let bits = group
            .iter()
            .fold(0u32, |bits, &byte| bits << 6 | u32::from(sextet(byte)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len().max(1)]);
    }
    bytes
}

#[cfg(test)]
mod tests;
