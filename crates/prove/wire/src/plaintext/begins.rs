//! First bytes of plaintext protocols.

use super::Plaintext;
use crate::Side;
use crate::opening::{LONGEST, Protocol, Recognition};

/// Recognises a direction by its first bytes.
pub(crate) fn recognise(prefix: &[u8]) -> Recognition {
    for (protocol, begins) in READERS {
        if let Some(side) = begins(prefix) {
            return Recognition::Protocol(Protocol::Plaintext(*protocol), side);
        }
    }
    // Some are recognised by bytes further on.
    if prefix.len() < LONGEST && !prefix.is_empty() && may_become(prefix) {
        return Recognition::More;
    }
    Recognition::Unknown
}

/// Holds the first bytes of both ends against each other: a header that looks like one of the
/// protocol is of it only where the other end answers it, or goes on as the protocol does. Text
/// says enough of itself.
pub(super) fn answered(protocol: Plaintext, client: &[u8], server: &[u8]) -> bool {
    let begins = |side: Side, prefix: &[u8]| {
        let known = READERS.iter().find(|(known, _)| *known == protocol);
        let said = known.and_then(|(_, begins)| begins(prefix));
        said.is_some_and(|by| by.is_none_or(|by| by == side))
    };
    let both = begins(Side::Client, client) && begins(Side::Server, server);
    let same = |ours: std::ops::Range<usize>, theirs: std::ops::Range<usize>| {
        client
            .get(ours)
            .is_some_and(|number| server.get(theirs) == Some(number))
    };
    match protocol {
        Plaintext::Rdp => both && asks_for_rdp(client) && confirms_rdp(server),
        // The answer names the request, as does that of DNS.
        Plaintext::MongoDb => both && same(4..8, 8..12),
        Plaintext::Dns => both && same(2..4, 2..4),
        Plaintext::Ldap | Plaintext::Bgp | Plaintext::Diameter => both,
        // Its answer is the second packet.
        Plaintext::MySql => {
            let length = |a: u8, b: u8| u16::from_le_bytes([a, b]);
            begins(Side::Server, server) && matches!(client, &[a, b, 0, 1, ..] if (32..=4096).contains(&length(a, b)))
        }
        // One octet to a request for TLS or GSSAPI, and a message with its length to all others.
        Plaintext::PostgreSql => {
            let answers = matches!(
                server,
                [b'S' | b'N' | b'G']
                    | [b'S', 0x16, ..]
                    | [b'G', 0, ..]
                    | [b'N', b'S' | b'N' | b'G' | b'R' | b'E' | b'v', ..]
                    | [b'R' | b'E' | b'N' | b'v', 0, 0, ..]
            );
            begins(Side::Client, client) && answers
        }
        Plaintext::Redis => {
            begins(Side::Client, client) && matches!(server, [b'+' | b'-' | b':' | b'$' | b'*', ..]) && is_line(server)
        }
        Plaintext::Telnet => [client, server].iter().all(|said| {
            let text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
            matches!(said, [0xff, 0xfb..=0xfe, ..]) || !said.is_empty() && said.iter().all(text)
        }),
        Plaintext::Sip | Plaintext::Ftp | Plaintext::Smtp | Plaintext::Imap | Plaintext::Pop3 | Plaintext::Xmpp => {
            [client, server].iter().all(|said| is_line(said))
        }
    }
}

/// True where bytes begin with a line of text, or are the beginning of one.
fn is_line(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.iter()
        .all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// Recognises a connection request of X.224 as RDP's, by its cookie or what it negotiates, or else
/// by MCS behind it ([MS-RDPBCGR], sections 2.2.1.1 and 2.2.1.3). Others of X.224, such as those of
/// PLCs, name their selectors there.
fn asks_for_rdp(client: &[u8]) -> bool {
    /// Bytes of the request before what varies.
    const FIXED: usize = 11;
    let Some(length) = client
        .get(2..4)
        .map(|bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    else {
        return false;
    };
    match client.get(FIXED..length.min(client.len())) {
        // Connect-Initial in a data unit.
        Some([]) => client
            .get(length..)
            .is_some_and(|next| matches!(next, [3, 0, _, _, 2, 0xf0, 0x80, 0x7f, 0x65, ..])),
        Some([1, _, 8, 0, ..]) => true,
        Some(varying) => starts(varying, &[b"Cookie: ", b"tsv://"]),
        None => false,
    }
}

/// Recognises a connection confirm of X.224 as RDP's: nothing behind the header, or what was
/// negotiated ([MS-RDPBCGR], section 2.2.1.2).
fn confirms_rdp(server: &[u8]) -> bool {
    let length = server
        .get(2..4)
        .map_or(0, |bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])));
    let varying = server.get(11..length.min(server.len()));
    matches!(varying, Some([] | [2 | 3, _, 8, 0, ..]))
}

/// Says whether these bytes are of the protocol, and who sends such.
type Begins = fn(&[u8]) -> Option<Option<Side>>;

static READERS: &[(Plaintext, Begins)] = &[
    (Plaintext::Sip, sip),
    (Plaintext::Smtp, smtp),
    (Plaintext::Imap, imap),
    (Plaintext::Pop3, pop3),
    (Plaintext::Ftp, ftp),
    (Plaintext::Xmpp, xmpp),
    (Plaintext::Redis, redis),
    (Plaintext::Telnet, telnet),
    (Plaintext::Diameter, diameter),
    (Plaintext::PostgreSql, postgresql),
    (Plaintext::MySql, mysql),
    (Plaintext::Rdp, rdp),
    (Plaintext::Ldap, ldap),
    (Plaintext::Bgp, bgp),
    (Plaintext::MongoDb, mongodb),
    (Plaintext::Dns, dns),
];

/// Bytes that the longest header takes: BGP's, with its type.
const HEADER: usize = 19;

/// Returns true if more bytes could decide: text that begins a line, or the beginning of a header.
fn may_become(prefix: &[u8]) -> bool {
    let text = prefix
        .iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let line = text && !prefix.contains(&b'\n');
    line || prefix.len() < HEADER
}

fn starts(prefix: &[u8], words: &[&[u8]]) -> bool {
    let alike = |word: &&[u8]| prefix.len() >= word.len() && prefix[..word.len()].eq_ignore_ascii_case(word);
    words.iter().any(alike)
}

fn contains(prefix: &[u8], word: &[u8]) -> bool {
    prefix
        .windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word))
}

fn sip(prefix: &[u8]) -> Option<Option<Side>> {
    if prefix.starts_with(b"SIP/2.0 ") {
        return Some(Some(Side::Server));
    }
    let space = prefix.iter().position(|byte| *byte == b' ')?;
    let (method, target) = (&prefix[..space], &prefix[space + 1..]);
    let named = !method.is_empty() && method.iter().all(u8::is_ascii_uppercase);
    (named && (target.starts_with(b"sip:") || target.starts_with(b"sips:"))).then_some(Some(Side::Client))
}

fn smtp(prefix: &[u8]) -> Option<Option<Side>> {
    if starts(prefix, &[b"EHLO ", b"HELO ", b"LHLO ", b"MAIL FROM:"]) {
        return Some(Some(Side::Client));
    }
    (starts(prefix, &[b"220 ", b"220-"]) && contains(prefix, b"SMTP")).then_some(Some(Side::Server))
}

fn ftp(prefix: &[u8]) -> Option<Option<Side>> {
    if starts(
        prefix,
        &[
            b"USER ",
            b"AUTH TLS",
            b"AUTH SSL",
            b"FEAT\r\n",
            b"SYST\r\n",
            b"OPTS UTF8",
        ],
    ) {
        return Some(Some(Side::Client));
    }
    (starts(prefix, &[b"220 ", b"220-"]) && contains(prefix, b"FTP")).then_some(Some(Side::Server))
}

fn imap(prefix: &[u8]) -> Option<Option<Side>> {
    starts(prefix, &[b"* OK", b"* PREAUTH", b"* BYE"]).then_some(Some(Side::Server))
}

fn pop3(prefix: &[u8]) -> Option<Option<Side>> {
    let greets = starts(prefix, &[b"+OK"]) && prefix.get(3).is_some_and(u8::is_ascii_whitespace);
    // A server that serves no client says so.
    (greets || starts(prefix, &[b"-ERR "])).then_some(Some(Side::Server))
}

fn xmpp(prefix: &[u8]) -> Option<Option<Side>> {
    let stream = starts(prefix, &[b"<stream:stream"]);
    (stream || starts(prefix, &[b"<?xml version="]) && contains(prefix, b"><st")).then_some(None)
}

fn redis(prefix: &[u8]) -> Option<Option<Side>> {
    let [b'*', rest @ ..] = prefix else { return None };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    ((1..=6).contains(&digits) && rest[digits..].starts_with(b"\r\n$")).then_some(Some(Side::Client))
}

/// IAC with WILL, WONT, DO or DONT, and another or text behind its option.
fn telnet(prefix: &[u8]) -> Option<Option<Side>> {
    let &[0xff, 0xfb..=0xfe, option, next, ..] = prefix else {
        return None;
    };
    (option < 64 && (next == 0xff || next.is_ascii())).then_some(None)
}

/// Version 1, a length in words, flags of which four are reserved, and a command of RFC 6733, its applications or 3GPP.
fn diameter(prefix: &[u8]) -> Option<Option<Side>> {
    let &[1, a, b, c, flags, d, e, f] = prefix.first_chunk()? else {
        return None;
    };
    let [length, command] = [[0, a, b, c], [0, d, e, f]].map(u32::from_be_bytes);
    let known = matches!(command, 257..=400 | 0x80_0000..=0x80_0200);
    let (request, error) = (flags & 0x80 != 0, flags & 0x20 != 0);
    let sound = length >= 20 && length.is_multiple_of(4) && length <= 1 << 20 && flags & 0x0f == 0;
    (known && sound && !(request && error)).then_some(match command {
        // The connecting end sends the first Capabilities-Exchange-Request; later either end asks.
        257 if request => Some(Side::Client),
        257 => Some(Side::Server),
        _ => None,
    })
}

fn postgresql(prefix: &[u8]) -> Option<Option<Side>> {
    let &[a, b, c, d, e, f, g, h] = prefix.first_chunk()?;
    let [length, code] = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
    let known = match code {
        // SSLRequest and GSSENCRequest.
        80_877_103 | 80_877_104 => length == 8,
        // CancelRequest.
        80_877_102 => length == 16,
        0x0003_0000..=0x0003_0002 => (9..=10_000).contains(&length),
        _ => false,
    };
    known.then_some(Some(Side::Client))
}

/// The server's greeting: protocol version 10, and its own in digits.
fn mysql(prefix: &[u8]) -> Option<Option<Side>> {
    let &[a, b, 0, 0, 10, digit] = prefix.first_chunk()? else {
        return None;
    };
    let length = u16::from_le_bytes([a, b]);
    ((20..=512).contains(&length) && digit.is_ascii_digit()).then_some(Some(Side::Server))
}

/// TPKT with a connection request or confirm of X.224.
fn rdp(prefix: &[u8]) -> Option<Option<Side>> {
    let &[3, 0, high, low, rest, code] = prefix.first_chunk()? else {
        return None;
    };
    if usize::from(u16::from_be_bytes([high, low])) != usize::from(rest) + 5 {
        return None;
    }
    match code {
        0xe0 => Some(Some(Side::Client)),
        0xd0 => Some(Some(Side::Server)),
        _ => None,
    }
}

/// A sequence of a number and an operation.
fn ldap(prefix: &[u8]) -> Option<Option<Side>> {
    let (tag, rest) = prefix.split_first()?;
    let (length, rest) = rest.split_first()?;
    let behind = match length {
        0x81..=0x84 => rest.get(usize::from(length & 0x0f)..)?,
        0x05..=0x7f => rest,
        _ => return None,
    };
    let &[2, digits @ 1..=4, ..] = behind else { return None };
    let operation = behind.get(2 + usize::from(digits))?;
    match (tag, operation) {
        (0x30, 0x60 | 0x42 | 0x63 | 0x66 | 0x68 | 0x4a | 0x6c | 0x6e | 0x50 | 0x77) => Some(Some(Side::Client)),
        (0x30, 0x61 | 0x64 | 0x65 | 0x73 | 0x67 | 0x69 | 0x6b | 0x6d | 0x6f | 0x78 | 0x79) => Some(Some(Side::Server)),
        _ => None,
    }
}

fn bgp(prefix: &[u8]) -> Option<Option<Side>> {
    let &[high, low, kind] = prefix.strip_prefix(&[0xff; 16])?.first_chunk()?;
    let length = u16::from_be_bytes([high, low]);
    ((19..=4096).contains(&length) && (1..=5).contains(&kind)).then_some(None)
}

fn mongodb(prefix: &[u8]) -> Option<Option<Side>> {
    let (words, _) = prefix.first_chunk::<16>()?.as_chunks::<4>();
    let [length, _, answers, operation] = [words[0], words[1], words[2], words[3]].map(u32::from_le_bytes);
    let known = matches!(operation, 1 | 2001..=2007 | 2010..=2013);
    (known && (16..=48_000_000).contains(&length)).then_some(Some(if answers == 0 {
        Side::Client
    } else {
        Side::Server
    }))
}

/// A length, and a header with one question and the beginning of a name.
fn dns(prefix: &[u8]) -> Option<Option<Side>> {
    let &[high, low, _, _, flags, more, 0, 1, a, b, c, d, 0, e, label, first] = prefix.first_chunk()? else {
        return None;
    };
    let length = u16::from_be_bytes([high, low]);
    let (opcode, reserved) = (flags >> 3 & 0x0f, more & 0x40);
    let query = flags & 0x80 == 0;
    let few = if query {
        [a, b, c, d] == [0; 4] && e <= 4
    } else {
        a == 0 && c == 0
    };
    let named = (1..=63).contains(&label) && (first.is_ascii_alphanumeric() || first == b'_' || first == b'-');
    let side = if query { Side::Client } else { Side::Server };
    (length >= 17 && opcode <= 5 && reserved == 0 && few && named).then_some(Some(side))
}
