//! First bytes of proxy protocols.

use super::ProxyProtocol;
use crate::Side;
use crate::opening::{Protocol, Recognition};

/// First bytes of PROXY protocol version 1.
pub(super) const LINE: &[u8] = b"PROXY ";
/// The families that such a line names.
const FAMILIES: [&[u8]; 3] = [b"TCP4 ", b"TCP6 ", b"UNKNOWN"];
/// First bytes of PROXY protocol version 2.
pub(super) const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// First bytes of an HTTP request for a tunnel.
pub(crate) const CONNECT: &[u8] = b"CONNECT ";
/// Most authentication methods that a client of SOCKS5 offers: there are ten.
const METHODS: u8 = 20;

/// Recognises what a client sends first.
pub(crate) fn recognise(prefix: &[u8]) -> Recognition {
    let found = |protocol| Recognition::Protocol(Protocol::Proxy(protocol), Some(Side::Client));
    let candidates = [
        (line(prefix), ProxyProtocol::ProxyV1),
        (begins(prefix, SIGNATURE), ProxyProtocol::ProxyV2),
        (begins(prefix, CONNECT), ProxyProtocol::HttpConnect),
        (socks_5(prefix), ProxyProtocol::Socks5),
        (socks_4(prefix), ProxyProtocol::Socks4),
    ];
    let is = |wanted: Fits| candidates.iter().find(|(fits, _)| *fits == wanted);
    match (is(Fits::Whole), is(Fits::SoFar)) {
        (Some((_, protocol)), _) => found(*protocol),
        (None, Some(_)) if !prefix.is_empty() => Recognition::More,
        _ => Recognition::Unknown,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fits {
    Whole,
    SoFar,
    Not,
}

fn begins(prefix: &[u8], wanted: &[u8]) -> Fits {
    if prefix.starts_with(wanted) {
        Fits::Whole
    } else if wanted.starts_with(prefix) {
        Fits::SoFar
    } else {
        Fits::Not
    }
}

fn line(prefix: &[u8]) -> Fits {
    let Some(family) = prefix.strip_prefix(LINE) else {
        return begins(prefix, LINE);
    };
    let fits = FAMILIES.map(|known| begins(family, known));
    [Fits::Whole, Fits::SoFar]
        .into_iter()
        .find(|wanted| fits.contains(wanted))
        .unwrap_or(Fits::Not)
}

/// Version, number of methods, methods; behind them only what a client sends next.
fn socks_5(prefix: &[u8]) -> Fits {
    match prefix {
        [5] => Fits::SoFar,
        [5, count @ 1..=METHODS, methods @ ..] => {
            let Some((methods, rest)) = methods.split_at_checked(usize::from(*count)) else {
                return Fits::SoFar;
            };
            // IANA has numbered methods up to 9; those from 0x80 on are private.
            let known = methods.iter().all(|method| matches!(method, 0..=9 | 0x80..=0xfe));
            // The request, or what an authentication method begins with.
            let follows = matches!(rest.first(), None | Some(5 | 1));
            if known && follows { Fits::Whole } else { Fits::Not }
        }
        _ => Fits::Not,
    }
}

/// Version, command, a port, an address, and a user's name that ends with zero.
fn socks_4(prefix: &[u8]) -> Fits {
    match prefix {
        [4] | [4, 1 | 2] | [4, 1 | 2, _] => Fits::SoFar,
        [4, 1 | 2, 0, 0, ..] => Fits::Not,
        [4, 1 | 2, _, _, rest @ ..] => match rest.get(4..) {
            None | Some([]) => Fits::SoFar,
            Some(user) => {
                let user = user.split(|byte| *byte == 0).next().unwrap_or_default();
                let printable = user.iter().all(u8::is_ascii_graphic);
                if printable { Fits::Whole } else { Fits::Not }
            }
        },
        _ => Fits::Not,
    }
}
