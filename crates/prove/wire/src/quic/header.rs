//! Headers of packets (RFC 8999; RFC 9000, section 17).

use bartizan_registry::{QuicVersion, quic_version};

use crate::cursor::Cursor;

/// Longest connection identifier of the versions that are known.
const LONGEST: usize = 20;

/// A connection identifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Cid {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Cid {
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let mut cid = Self {
            bytes: [0; LONGEST],
            length: bytes.len() as u8,
        };
        cid.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(cid)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Type of a packet with a long header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With the place of its packet number.
    Initial {
        number: usize,
    },
    EarlyData,
    /// The same.
    Handshake {
        number: usize,
    },
    Retry,
    VersionNegotiation,
    /// Version is not known.
    Unknown,
}

/// A packet with a long header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Long<'a> {
    pub(crate) version: u32,
    pub(crate) known: Option<&'static QuicVersion>,
    pub(crate) kind: Kind,
    pub(crate) destination: Cid,
    pub(crate) source: Cid,
    /// From its first byte to its end; none where a part of it is missing.
    pub(crate) whole: Option<&'a [u8]>,
    /// Rest of the datagram.
    pub(crate) behind: &'a [u8],
}

/// Reads a packet with a long header at the beginning of these bytes; none where they are none.
pub(crate) fn long(bytes: &[u8]) -> Option<Long<'_>> {
    let mut cursor = Cursor::new(bytes);
    let first = cursor.u8()?;
    let version = u32::from_be_bytes([cursor.u8()?, cursor.u8()?, cursor.u8()?, cursor.u8()?]);
    if first & 0x80 == 0 {
        return None;
    }
    let destination = Cid::new(cursor.vector8()?.rest())?;
    let source = Cid::new(cursor.vector8()?.rest())?;
    let known = quic_version(version);
    let mut long = Long {
        version,
        known,
        kind: Kind::Unknown,
        destination,
        source,
        whole: Some(bytes),
        behind: &[],
    };
    let Some(known) = known else {
        if version == 0 {
            long.kind = Kind::VersionNegotiation;
        }
        return Some(long);
    };
    // Initial, 0-RTT, Handshake, Retry, in the order of version 1.
    let kind = ((first >> 4 & 0x03) + 4 - known.initial) % 4;
    if kind == 3 {
        long.kind = Kind::Retry;
        return Some(long);
    }
    if kind == 0 {
        let token = usize::try_from(varint(&mut cursor)?).ok()?;
        cursor.take(token)?;
    }
    let length = usize::try_from(varint(&mut cursor)?).ok()?;
    let number = bytes.len() - cursor.rest().len();
    long.kind = match kind {
        0 => Kind::Initial { number },
        1 => Kind::EarlyData,
        _ => Kind::Handshake { number },
    };
    match bytes.split_at_checked(number.checked_add(length)?) {
        Some((whole, behind)) => {
            long.whole = Some(whole);
            long.behind = behind;
        }
        None => long.whole = None,
    }
    Some(long)
}

/// A variable-length integer (RFC 9000, section 16).
pub(super) fn varint(cursor: &mut Cursor<'_>) -> Option<u64> {
    let first = cursor.u8()?;
    let mut value = u64::from(first & 0x3f);
    for _ in 1..1usize << (first >> 6) {
        value = value << 8 | u64::from(cursor.u8()?);
    }
    Some(value)
}

/// Returns true if a number can be a version of QUIC: one that is known, another draft, one of
/// Google's, of Meta's, or one that is reserved to keep servers from forgetting to negotiate.
fn is_version(version: u32) -> bool {
    let google = matches!(version >> 24, 0x51 | 0x54) && version.to_be_bytes()[1..].iter().all(u8::is_ascii_digit);
    quic_version(version).is_some()
        || version >> 8 == 0x00ff_0000
        || google
        || version >> 4 == 0x0fac_eb00
        || version & 0x0f0f_0f0f == 0x0a0a_0a0a
}

/// The versions that a datagram with a long header names: its own, or those of a Version Negotiation packet. Empty where they cannot
/// be versions of QUIC.
pub(crate) fn versions(bytes: &[u8]) -> Vec<u32> {
    let Some(long) = long(bytes) else { return Vec::new() };
    if long.kind != Kind::VersionNegotiation {
        // The fixed bit, which may be greased later on, but not before both ends agreed to it (RFC 9287).
        let plausible = bytes[0] & 0x40 != 0 && is_version(long.version);
        return if plausible { vec![long.version] } else { Vec::new() };
    }
    // Behind the first byte, the version and both identifiers with their lengths.
    let start = 1 + 4 + 1 + long.destination.bytes().len() + 1 + long.source.bytes().len();
    let list = bytes.get(start..).unwrap_or_default();
    let (four, rest) = list.as_chunks::<4>();
    if !rest.is_empty() || four.is_empty() || four.len() > 64 {
        return Vec::new();
    }
    let versions: Vec<u32> = four.iter().map(|version| u32::from_be_bytes(*version)).collect();
    // One of those a server knows must be known here too, or anything could be such a packet.
    match versions.iter().any(|version| is_version(*version)) {
        true => versions,
        false => Vec::new(),
    }
}

/// Returns true if bytes are readable text. Encrypted bytes are not.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    /// Length at which one in 10^9 random strings is all text.
    const ENOUGH: usize = 21;
    bytes.len() >= ENOUGH
        && bytes
            .iter()
            .take(64)
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}
