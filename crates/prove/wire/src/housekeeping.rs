//! Bounds of what keeps a network together and needs no judgement.
//!
//! A message of each kind has some octets of its own. What is behind these has to be filler, items
//! that the kind is made of, or the beginning of a packet that an error quotes. Anything else may
//! be data: tunnels are made of echoes.

use std::ops::RangeInclusive;

use crate::frames::FrameProtocol;
use crate::ip::{self, Datagram};
use crate::sctp::kind;

/// The longest pattern with which a program fills a message: that of Windows has 23 bytes.
const PATTERN: usize = 32;
/// Octets of an ICMP message before its data.
const HEADER: usize = 8;
/// Data of an echo in which programs put times, numbers and names of their own.
const FRONT: usize = 32;
/// Octets that the smallest Ethernet frame holds, and its check sequence: some senders fill it with
/// anything.
const SMALLEST: usize = 46 + 4;
/// Octets behind a packet in its frame: the smallest frame's without an IP header, or the times and
/// ports that taps add.
const TRAILER: usize = 32;
/// Octets of a quoted packet behind its IP header: eight of RFC 792, and a header of TCP or SCTP
/// with the beginning of a record.
const QUOTED: usize = 28;
/// Octets that may stand behind a quoted packet: labels and interfaces (RFC 4884).
const OBJECTS: usize = 128;

/// Content that may follow the octets that are a message's own.
#[derive(Clone, Copy)]
enum Rest {
    /// Bytes that count, or a short pattern repeated.
    Filler,
    /// Items: the reader gives the length of the first, and none for one that is unknown.
    Items(Item),
    /// The packet that an error is about.
    Quote,
}

/// Reads the length of the first of some items.
type Item = fn(&[u8]) -> Option<usize>;

/// Types of messages, the octets that are their own, and what may follow.
type Bounds<T> = &'static [(RangeInclusive<T>, usize, Rest)];

/// Types of ICMP that IANA has assigned to the maintenance of a network.
const ICMP: Bounds<u8> = &[
    (0..=0, HEADER + FRONT, Rest::Filler),
    (3..=5, HEADER, Rest::Quote),
    (6..=6, 8, Rest::Filler),
    (8..=8, HEADER + FRONT, Rest::Filler),
    // Routers, each with a preference.
    (9..=10, 8 + 8 * 8, Rest::Filler),
    (11..=12, HEADER, Rest::Quote),
    // Times, masks, and what came before them.
    (13..=18, 20, Rest::Filler),
    (30..=41, 36, Rest::Filler),
    // Extended echoes name an interface.
    (42..=43, 8 + 80, Rest::Filler),
];

/// The same of ICMPv6.
const ICMPV6: Bounds<u8> = &[
    (1..=4, HEADER, Rest::Quote),
    (128..=129, HEADER + FRONT, Rest::Filler),
    // A query of listeners with eight sources.
    (130..=130, 28 + 8 * 16, Rest::Filler),
    (131..=132, 24, Rest::Filler),
    (133..=133, 8, Rest::Items(neighbour_option)),
    (134..=134, 16, Rest::Items(neighbour_option)),
    (135..=136, 24, Rest::Items(neighbour_option)),
    (137..=137, 40, Rest::Items(neighbour_option)),
    (138..=140, 64, Rest::Filler),
    (141..=142, 8, Rest::Items(neighbour_option)),
    (143..=143, 8, Rest::Items(|record| group(record, 0xff..=0xff, 16))),
    (144..=147, 64, Rest::Filler),
    (148..=149, 8, Rest::Items(neighbour_option)),
    (150..=161, 128, Rest::Filler),
];

/// The same of IGMP: queries with sixteen sources, and reports.
const IGMP: Bounds<u8> = &[
    (0x11..=0x11, 12 + 16 * 4, Rest::Filler),
    (0x22..=0x22, 8, Rest::Items(|record| group(record, 0xe0..=0xef, 4))),
    (0..=u8::MAX, 64, Rest::Filler),
];

/// Chunks of SCTP without user data. Cookies are as long as the INITs in them; those that
/// acknowledge or skip chunks are numbers.
const CHUNKS: Bounds<u8> = &[
    (kind::INIT..=kind::INIT, 512, Rest::Filler),
    (kind::INIT_ACK..=kind::INIT_ACK, 1280, Rest::Filler),
    (kind::SACK..=kind::SACK, 1500, Rest::Filler),
    (kind::HEARTBEAT..=kind::HEARTBEAT_ACK, 128, Rest::Filler),
    (kind::COOKIE_ECHO..=kind::COOKIE_ECHO, 1280, Rest::Filler),
    (kind::PAD..=kind::PAD, 0, Rest::Filler),
    (0..=u8::MAX, 256, Rest::Filler),
];

/// EtherTypes of what stations and bridges of one network keep it together with: addresses,
/// neighbours, trees, pauses.
const ETHERTYPES: Bounds<u16> = &[
    // ARP, RARP, MAC control.
    (0x0806..=0x0806, SMALLEST, Rest::Filler),
    (0x8035..=0x8035, SMALLEST, Rest::Filler),
    (0x8808..=0x8808, SMALLEST, Rest::Filler),
    // Slow protocols: those of link aggregation have 110.
    (0x8809..=0x8809, 128, Rest::Filler),
    // PPPoE discovery.
    (0x8863..=0x8863, 256, Rest::Filler),
    // LLDP.
    (0x88cc..=0x88cc, 0, Rest::Items(neighbour_value)),
    // MVRP, MMRP.
    (0x88f5..=0x88f6, 256, Rest::Filler),
    // CFM.
    (0x8902..=0x8902, 128, Rest::Filler),
    // Loopback tests.
    (0x9000..=0x9000, SMALLEST, Rest::Filler),
];

/// Content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// Its own.
    Own,
    /// A part of this packet.
    Quote(Datagram<'a>),
    /// Octets that nothing bounds.
    Anything,
}

/// Content of a packet of a protocol with which hosts maintain a network, as far as it was
/// captured; none for other protocols.
pub(crate) fn of<'a>(datagram: &Datagram<'a>) -> Option<Content<'a>> {
    let bounds = match datagram.protocol {
        ip::NO_NEXT_HEADER if datagram.payload.is_empty() && datagram.missing == 0 => return Some(Content::Own),
        ip::ICMP => ICMP,
        ip::IGMP => IGMP,
        ip::ICMPV6 => ICMPV6,
        _ => return None,
    };
    let Some(kind) = datagram.payload.first() else {
        return Some(Content::Own);
    };
    Some(content(bounds, *kind, datagram.payload))
}

/// Returns true if stations and bridges maintain the network with this protocol.
pub(crate) fn is_frame(protocol: FrameProtocol) -> bool {
    frame_bound(protocol).is_some()
}

/// Returns true if a frame of such a protocol has nothing but its own content.
pub(crate) fn is_within_frame(protocol: FrameProtocol, bytes: &[u8]) -> bool {
    frame_bound(protocol).is_some_and(|(own, rest)| bounded(own, rest, bytes) == Content::Own)
}

fn frame_bound(protocol: FrameProtocol) -> Option<(usize, Rest)> {
    match protocol {
        FrameProtocol::Type(kind) => bound(ETHERTYPES, kind),
        // Trees of bridges, with 25 instances; what Cisco's devices say of themselves.
        FrameProtocol::Llc(0x42) | FrameProtocol::Cisco(0x2000 | 0x2003 | 0x2004 | 0x0111 | 0x010b) => {
            Some((512, Rest::Filler))
        }
        // Link control, and the control protocols of what is carried.
        FrameProtocol::Ppp(0xc021 | 0x8000..=0x80ff) | FrameProtocol::AssociatedChannel => Some((128, Rest::Filler)),
        _ => None,
    }
}

/// Returns true if a chunk of SCTP without user data has nothing but its own content.
pub(crate) fn is_within_chunk(kind: u8, value: &[u8]) -> bool {
    content(CHUNKS, kind, value) == Content::Own
}

/// Returns true if octets that no length covers are what senders, receivers and taps add.
pub(crate) fn is_trailer(bytes: &[u8]) -> bool {
    bounded(TRAILER, Rest::Filler, bytes) == Content::Own
}

/// Returns true if bytes are items that are known; the last may not be captured whole.
pub(crate) fn are_items(mut bytes: &[u8], item: Item) -> bool {
    for _ in 0..ITEMS {
        if bytes.is_empty() {
            return true;
        }
        match item(bytes) {
            Some(length) if length > 0 => bytes = bytes.get(length..).unwrap_or_default(),
            _ => return false,
        }
    }
    bytes.is_empty()
}

fn bound<T: PartialOrd>(bounds: Bounds<T>, kind: T) -> Option<(usize, Rest)> {
    let found = bounds.iter().find(|(kinds, ..)| kinds.contains(&kind));
    found.map(|(_, own, rest)| (*own, *rest))
}

fn content<T: PartialOrd>(bounds: Bounds<T>, kind: T, message: &[u8]) -> Content<'_> {
    bound(bounds, kind).map_or(Content::Anything, |(own, rest)| bounded(own, rest, message))
}

fn bounded(own: usize, then: Rest, message: &[u8]) -> Content<'_> {
    let Some(rest) = message.get(own..) else {
        return Content::Own;
    };
    let is_known = match then {
        Rest::Filler => is_filler(rest),
        Rest::Items(item) => are_items(rest, item),
        Rest::Quote => return quoted(rest),
    };
    if is_known { Content::Own } else { Content::Anything }
}

/// Content of an error: a packet, or too little of one to show what it carried.
fn quoted(quote: &[u8]) -> Content<'_> {
    let Some(datagram) = ip::datagram(quote) else {
        let header = 40;
        return if quote.len() <= header + QUOTED {
            Content::Own
        } else {
            Content::Anything
        };
    };
    // Zeros up to 128 octets stand between a short packet and the objects (RFC 4884, section 5.1).
    let behind = quote.get(datagram.length..).unwrap_or_default();
    let objects = behind
        .iter()
        .position(|byte| *byte != 0)
        .map_or(0, |zeros| behind.len() - zeros);
    // Options make a header of TCP longer.
    let header = match datagram.payload.get(12) {
        Some(offset) if datagram.protocol == ip::TCP => usize::from(offset >> 4) * 4,
        _ => 0,
    };
    match datagram.payload.len() <= QUOTED.max(header) {
        _ if objects > OBJECTS => Content::Anything,
        true => Content::Own,
        false => Content::Quote(datagram),
    }
}

/// Returns true if bytes are the filler of known programs: they count, or are a short pattern
/// repeated.
pub(crate) fn is_filler(bytes: &[u8]) -> bool {
    let counts = || bytes.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
    let repeats = |length: usize| bytes.iter().zip(&bytes[length..]).all(|(one, other)| one == other);
    bytes.len() < 2 || counts() || (1..=PATTERN.min(bytes.len() / 2)).any(repeats)
}

/// An option of neighbour discovery (RFC 4861, section 4.6): a type, and a length in units of eight
/// octets. The signature of a neighbour has 280, a packet that was redirected should have no more
/// than an error quotes.
fn neighbour_option(option: &[u8]) -> Option<usize> {
    let (&kind, &units) = (option.first()?, option.get(1)?);
    let most = match kind {
        4 => (8 + 40 + QUOTED) / 8,
        // Addresses and signatures that are proven, servers of names, domains.
        11 | 12 => 40,
        25 | 31 => 17,
        1..=42 | 138 | 139 => 4,
        _ => return None,
    };
    (usize::from(units) <= most).then_some(usize::from(units) * 8)
}

/// A value of LLDP (IEEE 802.1AB, clause 8.4): seven bits of type and nine of length; behind the
/// end the frame is filled.
fn neighbour_value(value: &[u8]) -> Option<usize> {
    let [high, low] = *value.first_chunk::<2>()?;
    match high >> 1 {
        0 => (value.len() <= SMALLEST || is_filler(value)).then_some(value.len()),
        1..=8 | 127 => Some(2 + (usize::from(high & 1) << 8 | usize::from(low))),
        _ => None,
    }
}

/// Sources of a group in a record.
const SOURCES: usize = 16;
/// Items of one message.
const ITEMS: usize = 64;

/// A record of a listener's report (RFC 3376, section 4.2; RFC 3810, section 5.2): a type, no
/// auxiliary data, sources, and a group whose address begins in this range.
fn group(record: &[u8], first: RangeInclusive<u8>, address: usize) -> Option<usize> {
    let &[kind, auxiliary, high, low] = record.first_chunk::<4>()?;
    let is_group = record.get(4).is_none_or(|begin| first.contains(begin));
    let sources = usize::from(u16::from_be_bytes([high, low]));
    let is_short = auxiliary == 0 && sources <= SOURCES;
    (matches!(kind, 1..=6) && is_short && is_group).then_some(4 + (1 + sources) * address)
}

#[cfg(test)]
mod tests;
