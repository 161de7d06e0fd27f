//! Recognition of a direction's protocol by its first bytes.

use crate::plaintext::{self, Plaintext};
use crate::proxy::{self, ProxyProtocol};
use crate::{Side, Start, ike};

/// Bytes that decide: the length of HTTP/2's connection preface.
pub const LONGEST: usize = 24;

/// Client connection preface of HTTP/2 (RFC 9113, section 3.4).
pub const HTTP2_PREFACE: &[u8; LONGEST] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Methods of RFC 9110 (section 9.3) and PATCH (RFC 5789), as they begin an HTTP/1 request.
const HTTP1_METHODS: [&[u8]; 9] = [
    b"GET ",
    b"POST ",
    b"PUT ",
    b"DELETE ",
    b"HEAD ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
];
const HTTP1_STATUS: &[u8] = b"HTTP/1.";

/// Longest TLS record body: 2^14 bytes of content, and what protection may add (RFC 5246, section 6.2.3).
pub(crate) const LONGEST_RECORD: u16 = (1 << 14) + 2048;

/// A protocol recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TLS records.
    Tls,
    /// HTTP/2 in plaintext.
    Http2,
    /// HTTP/1 in plaintext.
    Http1,
    /// SSH.
    Ssh,
    /// IKE and ESP in TCP (RFC 9329).
    IkeInTcp,
    /// One that is named, and followed to where it goes over to TLS.
    Plaintext(Plaintext),
    /// A proxy negotiation that precedes another protocol.
    Proxy(ProxyProtocol),
}

/// The first bytes of both directions where no protocol was recognised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Opening {
    /// From the client.
    pub client: Prefix,
    /// From the server.
    pub server: Prefix,
}

/// The first bytes of one direction, up to [`LONGEST`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prefix {
    bytes: [u8; LONGEST],
    length: u8,
}

/// Kind of bytes in a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// None.
    Silent,
    /// Printable ASCII and white space only.
    Text,
    /// Anything else.
    Binary,
}

impl Prefix {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Kind of its bytes.
    pub fn class(&self) -> Class {
        match self.bytes() {
            [] => Class::Silent,
            bytes
                if bytes
                    .iter()
                    .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) =>
            {
                Class::Text
            }
            _ => Class::Binary,
        }
    }

    /// Takes what it has room for and returns the rest.
    pub(crate) fn fill<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let start = usize::from(self.length);
        let taken = bytes.len().min(LONGEST - start);
        self.bytes[start..start + taken].copy_from_slice(&bytes[..taken]);
        self.length += taken as u8;
        &bytes[taken..]
    }
}

/// Protocol recognised in a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognition {
    /// Too short to say.
    More,
    /// A protocol, and who would send this, if only one side would.
    Protocol(Protocol, Option<Side>),
    /// None that is read here.
    Unknown,
}

/// Recognises a direction by its first bytes. HTTP/2 without its preface is recognised only where the connection was
/// picked up in mid-stream.
pub fn recognise(prefix: &[u8], start: Start) -> Recognition {
    match proxy::recognise(prefix) {
        Recognition::Unknown => recognise_direct(prefix, start),
        found @ Recognition::Protocol(..) => found,
        Recognition::More => match recognise_direct(prefix, start) {
            found @ Recognition::Protocol(..) => found,
            _ if prefix.len() < LONGEST => Recognition::More,
            other => other,
        },
    }
}

/// The same of what no proxy is asked with: a request of CONNECT is one of HTTP.
pub(crate) fn recognise_direct(prefix: &[u8], start: Start) -> Recognition {
    let candidates = [
        tls(prefix),
        http2(prefix, start),
        http1(prefix),
        ssh(prefix),
        ike_in_tcp(prefix),
        plaintext::recognise(prefix),
    ];
    if let Some(found) = candidates
        .iter()
        .find(|candidate| matches!(candidate, Recognition::Protocol(..)))
    {
        return *found;
    }
    if prefix.len() < LONGEST && candidates.contains(&Recognition::More) {
        return Recognition::More;
    }
    Recognition::Unknown
}

fn tls(prefix: &[u8]) -> Recognition {
    /// Content types change_cipher_spec, alert, handshake, application_data.
    const HANDSHAKE: u8 = 22;
    let [kind, major, minor, length @ ..] = prefix else {
        return more_if(
            prefix
                .iter()
                .zip([20..=23, 3..=3])
                .all(|(byte, range)| range.contains(byte)),
        );
    };
    if !(20..=23).contains(kind) || *major != 3 || *minor > 4 {
        return Recognition::Unknown;
    }
    let [high, low, rest @ ..] = length else {
        return Recognition::More;
    };
    let length = u16::from_be_bytes([*high, *low]);
    if length == 0 || length > LONGEST_RECORD {
        return Recognition::Unknown;
    }
    let side = match (*kind, rest.first()) {
        (HANDSHAKE, None) => return Recognition::More,
        (HANDSHAKE, Some(1)) => Some(Side::Client),
        (HANDSHAKE, Some(2)) => Some(Side::Server),
        _ => None,
    };
    Recognition::Protocol(Protocol::Tls, side)
}

fn http2(prefix: &[u8], start: Start) -> Recognition {
    if prefix == HTTP2_PREFACE {
        return Recognition::Protocol(Protocol::Http2, Some(Side::Client));
    }
    if HTTP2_PREFACE.starts_with(prefix) {
        return Recognition::More;
    }
    let Some([a, b, c, kind, flags, stream @ ..]) = prefix.first_chunk::<9>() else {
        return Recognition::More;
    };
    let length = u32::from_be_bytes([0, *a, *b, *c]);
    let stream = u32::from_be_bytes(*stream);
    // A server begins with its SETTINGS, on stream 0, not as an acknowledgement (RFC 9113, section 3.4).
    if *kind == 4 && *flags == 0 && stream == 0 && length.is_multiple_of(6) && length <= 6 * 64 {
        return Recognition::Protocol(Protocol::Http2, Some(Side::Server));
    }
    let plausible = match *kind {
        // On a client's stream below 2^24: Modbus has a length there.
        0 => stream & 1 == 1 && stream < 1 << 24 && flags & !0x09 == 0 && length <= 1 << 14,
        1 => stream & 1 == 1 && flags & !0x2d == 0 && length <= 1 << 14 && length > 0,
        3 => stream != 0 && *flags == 0 && length == 4,
        4 => stream == 0 && *flags == 1 && length == 0,
        6 => stream == 0 && *flags <= 1 && length == 8,
        7 => stream == 0 && *flags == 0 && (8..=1 << 14).contains(&length),
        8 => *flags == 0 && length == 4,
        _ => false,
    };
    if start == Start::Midstream && plausible && stream >> 31 == 0 {
        return Recognition::Protocol(Protocol::Http2, None);
    }
    Recognition::Unknown
}

fn http1(prefix: &[u8]) -> Recognition {
    if prefix.starts_with(HTTP1_STATUS) {
        return Recognition::Protocol(Protocol::Http1, Some(Side::Server));
    }
    if let Some(target) = prefix.strip_prefix(b"OPTIONS ")
        && (b"sip:".starts_with(target) || target.starts_with(b"sip"))
    {
        // SIP has that method too.
        return more_if(target.len() < 4);
    }
    if HTTP1_METHODS.iter().any(|method| prefix.starts_with(method)) {
        return Recognition::Protocol(Protocol::Http1, Some(Side::Client));
    }
    more_if(HTTP1_STATUS.starts_with(prefix) || HTTP1_METHODS.iter().any(|method| method.starts_with(prefix)))
}

/// Both ends begin so (RFC 4253, section 4.2).
fn ssh(prefix: &[u8]) -> Recognition {
    const IDENTIFICATION: &[u8] = b"SSH-";
    if prefix.starts_with(IDENTIFICATION) {
        return Recognition::Protocol(Protocol::Ssh, None);
    }
    more_if(IDENTIFICATION.starts_with(prefix))
}

/// The end that connects begins so (RFC 9329, section 4).
fn ike_in_tcp(prefix: &[u8]) -> Recognition {
    if prefix.starts_with(ike::STREAM_PREFIX) {
        return Recognition::Protocol(Protocol::IkeInTcp, Some(Side::Client));
    }
    more_if(ike::STREAM_PREFIX.starts_with(prefix))
}

fn more_if(possible: bool) -> Recognition {
    if possible {
        Recognition::More
    } else {
        Recognition::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_is_recognised_at_the_byte_that_decides_and_not_before() {
        let cases: [(&[u8], Protocol, Option<Side>); 8] = [
            (b"SSH-", Protocol::Ssh, None),
            (b"\x16\x03\x01\x06\x00\x01", Protocol::Tls, Some(Side::Client)),
            (b"\x16\x03\x03\x00\x7a\x02", Protocol::Tls, Some(Side::Server)),
            (b"\x17\x03\x03\x40\x11", Protocol::Tls, None),
            (HTTP2_PREFACE, Protocol::Http2, Some(Side::Client)),
            (b"\0\0\x12\x04\0\0\0\0\0", Protocol::Http2, Some(Side::Server)),
            (b"OPTIONS /", Protocol::Http1, Some(Side::Client)),
            (b"HTTP/1.", Protocol::Http1, Some(Side::Server)),
        ];
        for (bytes, protocol, side) in cases {
            for cut in 0..bytes.len() {
                assert_eq!(
                    recognise(&bytes[..cut], Start::Syn),
                    Recognition::More,
                    "{bytes:02x?} cut at {cut}"
                );
            }
            assert_eq!(recognise(bytes, Start::Syn), Recognition::Protocol(protocol, side));
        }
    }

    #[test]
    fn http2_without_a_preface_is_recognised_only_in_mid_stream() {
        let headers = b"\0\0\x20\x01\x04\0\0\0\x05\x82\x86\x84\x41\x8a\x0b\xe2\x5c\x2e\x3c\xb8";
        assert_eq!(
            recognise(headers, Start::Midstream),
            Recognition::Protocol(Protocol::Http2, None)
        );
        assert_eq!(recognise(headers, Start::Syn), Recognition::Unknown);
    }

    #[test]
    fn modbus_in_mid_stream_is_no_data_of_http2() {
        for function in [3, 4] {
            let request = [0, 0x11, 0, 0, 0, 6, 0xff, function, 2, 0x58, 0, 0x64];
            assert!(!matches!(
                recognise(&request, Start::Midstream),
                Recognition::Protocol(..)
            ));
        }
        let data = b"\0\x10\0\0\x01\0\0\x07\x03{\"nfInstances\":";
        assert_eq!(
            recognise(data, Start::Midstream),
            Recognition::Protocol(Protocol::Http2, None)
        );
    }

    #[test]
    fn other_protocols_are_unknown() {
        for bytes in [
            &b"some text of nobody's own"[..24],
            b"\xf0\x0c\x02\x01\x01\x60\x07\x02\x01\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10\x00\x00\x05\0\0\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(recognise(bytes, Start::Syn), Recognition::Unknown);
        }
    }
}
