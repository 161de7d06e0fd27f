//! The PROXY protocol, versions 1 and 2 (HAProxy's proxy-protocol.txt): a header in front of all
//! that a proxy sends, with the source that it speaks for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::begins::{LINE, SIGNATURE};
use super::session::{Progress, View};
use super::{Command, Hop, Place, Stage, printable};
use crate::checksum;
use crate::cursor::Cursor;

/// The longest line of version 1, with what ends it.
const LONGEST_LINE: usize = 107;
/// Bytes of version 2 in front of the addresses: signature, version and command, family, length.
const FIXED: usize = 16;
/// Bytes of a text that are kept.
const TEXT: usize = 64;

/// Reads a line of version 1.
pub(super) fn line(view: &View<'_>, hop: &mut Hop) -> Progress {
    let bytes = &view.client[..view.client.len().min(LONGEST_LINE)];
    let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") else {
        return if bytes.len() == LONGEST_LINE {
            Progress::Not
        } else {
            Progress::More
        };
    };
    let Ok(text) = std::str::from_utf8(&bytes[LINE.len().min(end)..end]) else {
        return Progress::Not;
    };
    let mut words = text.split(' ');
    let family = words.next();
    if family != Some("UNKNOWN") {
        let ips: Vec<IpAddr> = words.by_ref().take(2).filter_map(|word| word.parse().ok()).collect();
        let ports: Vec<u16> = words.by_ref().take(2).filter_map(|word| word.parse().ok()).collect();
        let (&[from, to], &[source, destination]) = (&ips[..], &ports[..]) else {
            return Progress::Not;
        };
        let same = match family {
            Some("TCP4") => from.is_ipv4() && to.is_ipv4(),
            Some("TCP6") => from.is_ipv6() && to.is_ipv6(),
            _ => false,
        };
        if !same || words.next().is_some() {
            return Progress::Not;
        }
        hop.source = Some(Place::Socket(SocketAddr::new(from, source)));
        hop.destination = Some(Place::Socket(SocketAddr::new(to, destination)));
    }
    Progress::Open([end + 2, 0])
}

/// Reads a header of version 2.
pub(super) fn binary(view: &View<'_>, hop: &mut Hop) -> Progress {
    let bytes = view.client;
    let Some(fixed) = bytes.first_chunk::<FIXED>() else {
        return Progress::More;
    };
    let [command, family, high, low] = [fixed[12], fixed[13], fixed[14], fixed[15]];
    let length = FIXED + usize::from(u16::from_be_bytes([high, low]));
    if !fixed.starts_with(SIGNATURE) {
        return Progress::Not;
    }
    hop.command = match command {
        0x20 => Command::Local,
        0x21 => Command::Connect,
        // A receiver drops the connection.
        _ => return Progress::Stop(Stage::Malformed),
    };
    let Some(header) = bytes.get(..length) else {
        return Progress::More;
    };
    let mut rest = Cursor::new(&header[FIXED..]);
    let addresses = match family >> 4 {
        1 => rest.take(12).map(four),
        2 => rest.take(36).map(six),
        3 => rest.take(216).map(unix),
        // The addresses of an unknown family are skipped.
        _ => Some(None),
    };
    let Some(addresses) = addresses else {
        return Progress::Stop(Stage::Malformed);
    };
    if let (Command::Connect, Some([source, destination])) = (hop.command, addresses) {
        (hop.source, hop.destination) = (Some(source), Some(destination));
    }
    if matches!(family >> 4, 1..=3) && !fields(rest, header, hop) {
        return Progress::Stop(Stage::Malformed);
    }
    Progress::Open([length, 0])
}

fn four(bytes: &[u8]) -> Option<[Place; 2]> {
    let &[a, b, c, d, e, f, g, h, ref ports @ ..] = bytes.first_chunk::<12>()?;
    sockets(
        [Ipv4Addr::new(a, b, c, d).into(), Ipv4Addr::new(e, f, g, h).into()],
        ports,
    )
}

fn six(bytes: &[u8]) -> Option<[Place; 2]> {
    let (addresses, ports) = bytes.split_at_checked(32)?;
    let (one, other) = addresses.split_at_checked(16)?;
    let address = |bytes: &[u8]| Some(IpAddr::from(Ipv6Addr::from(*bytes.first_chunk::<16>()?)));
    sockets([address(one)?, address(other)?], ports.first_chunk()?)
}

fn sockets([from, to]: [IpAddr; 2], &[a, b, c, d]: &[u8; 4]) -> Option<[Place; 2]> {
    let socket = |address, port| Place::Socket(SocketAddr::new(address, u16::from_be_bytes(port)));
    Some([socket(from, [a, b]), socket(to, [c, d])])
}

fn unix(bytes: &[u8]) -> Option<[Place; 2]> {
    let (one, other) = bytes.split_at_checked(108)?;
    let path = |bytes: &[u8]| {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Place::Unix(printable(text))
    };
    Some([path(one), path(other)])
}

/// Reads the fields behind the addresses; whether they can be right, with a checksum that is, where there is one.
fn fields(mut rest: Cursor<'_>, header: &[u8], hop: &mut Hop) -> bool {
    let (mut tls, mut names) = (None, Vec::new());
    while !rest.is_empty() {
        let Some((kind, value)) = rest.u8().and_then(|kind| Some((kind, rest.vector16()?.rest()))) else {
            return false;
        };
        let name = match kind {
            0x01 => "ALPN",
            0x02 => "AUTHORITY",
            0x03 => {
                // Computed with zeros in its own place.
                let place = header.len() - rest.rest().len() - value.len();
                let Some(sum) = value.first_chunk().filter(|_| value.len() == 4) else {
                    return false;
                };
                if checksum::crc32c(&[&header[..place], &[0; 4], &header[place + 4..]]) != u32::from_be_bytes(*sum) {
                    return false;
                }
                "CRC32C"
            }
            0x04 => continue,
            0x05 => "UNIQUE_ID",
            0x20 => {
                let Some(said) = ended_tls(value) else { return false };
                tls = Some(said);
                "SSL"
            }
            0x30 => "NETNS",
            _ => "others",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (hop.tls, hop.fields) = (tls, names);
    true
}

/// The TLS session between client and proxy, as the proxy claims it.
fn ended_tls(value: &[u8]) -> Option<Box<str>> {
    /// The client connected by TLS.
    const SSL: u8 = 0x01;
    let mut rest = Cursor::new(value);
    let flags = rest.u8()?;
    rest.take(4)?;
    let mut words: Vec<Box<str>> = Vec::new();
    while !rest.is_empty() {
        let kind = rest.u8()?;
        let text = rest.vector16()?.rest();
        // Version, cipher, signature, key, group and signature scheme: no names of clients.
        if matches!(kind, 0x21 | 0x23..=0x27) && !text.is_empty() {
            words.push(printable(&text[..text.len().min(TEXT)]));
        }
    }
    words.truncate(8);
    let said = if flags & SSL == 0 {
        "none".into()
    } else {
        words.join(", ").into_boxed_str()
    };
    Some(said)
}
