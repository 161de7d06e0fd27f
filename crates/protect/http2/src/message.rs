//! Checks of a header list: a request, a response or a trailer section (RFC 9113, section 8).

use crate::fields::{Fields, none_of};

/// The required kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The head of a request.
    Request,
    /// The head of a response, interim or final.
    Response,
    /// The trailer section after a body.
    Trailers,
}

/// A list that is malformed (section 8.1.1): an error of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedMessage;

/// The meaning of a list for the message around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// The length of its content, where it has one.
    pub content_length: Option<u64>,
    /// Status of a response.
    pub status: u16,
    /// A request whose response has no content whatever its length says.
    pub head: bool,
}

/// Pseudo-header fields by their bit.
const METHOD: u8 = 1;
const SCHEME: u8 = 2;
const AUTHORITY: u8 = 4;
const PATH: u8 = 8;
const STATUS: u8 = 16;
const PROTOCOL: u8 = 32;

/// Fields that have no place after a body: they frame or lead a message, or say who sends it (RFC 9110, section 6.5.1).
const NOT_IN_TRAILERS: [&[u8]; 11] = [
    b"content-length",
    b"host",
    b"te",
    b"trailer",
    b"expect",
    b"http2-settings",
    b"authorization",
    b"proxy-authorization",
    b"cookie",
    b"set-cookie",
    b"3gpp-sbi-target-apiroot",
];

/// Checks a list and reads what matters from it. A list that passes can be written as HTTP/1.1 and
/// be read there in one way only: heads of either version of HTTP are held to this.
///
/// # Errors
/// If it is no such list.
pub fn check(kind: Kind, fields: &Fields) -> Result<Summary, MalformedMessage> {
    let mut summary = Summary::default();
    let (mut seen, mut regular, mut connect) = (0_u8, false, false);
    let (mut authority, mut host): (Option<&[u8]>, Option<&[u8]>) = (None, None);
    let (mut is_options, mut path): (bool, Option<&[u8]>) = (false, None);
    let is_printed = fields.is_printed();
    for (name, value, _) in fields.iter() {
        if !is_printed && !none_of(value, |byte| byte < 0x20 && byte != b'\t' || byte == 0x7f) {
            return Err(MalformedMessage);
        }
        let Some(pseudo) = name.strip_prefix(b":") else {
            regular = true;
            field(name, value, kind, &mut summary)?;
            if name == b"host" && kind == Kind::Request && (host.replace(value).is_some() || !is_host(value)) {
                return Err(MalformedMessage);
            }
            continue;
        };
        let bit = match (kind, pseudo) {
            (Kind::Request, b"method") => {
                connect = value == b"CONNECT";
                summary.head = value == b"HEAD";
                is_options = value == b"OPTIONS";
                if !value.iter().all(|byte| TOKEN[usize::from(byte.to_ascii_lowercase())]) {
                    return Err(MalformedMessage);
                }
                METHOD
            }
            (Kind::Request, b"scheme") if is_scheme(value) => SCHEME,
            (Kind::Request, b"authority") => {
                authority = Some(value);
                AUTHORITY
            }
            (Kind::Request, b"path") => {
                path = Some(value);
                PATH
            }
            (Kind::Request, b"protocol") => PROTOCOL,
            (Kind::Response, b"status") => {
                summary.status = status(value)?;
                STATUS
            }
            _ => return Err(MalformedMessage),
        };
        // Once each, before all others, and not empty but for an authority.
        // A blank or a character that no URI has would make another request line of it.
        let is_word = none_of(value, |byte| !(0x21..0x7f).contains(&byte));
        if regular || seen & bit != 0 || (value.is_empty() && bit != AUTHORITY) || !is_word {
            return Err(MalformedMessage);
        }
        seen |= bit;
    }
    // Section 8.3.1: a path begins with a slash, and only OPTIONS may ask for all of a server; a
    // fragment is never sent.
    if path.is_some_and(|path| !(path.starts_with(b"/") || is_options && path == b"*") || path.contains(&b'#')) {
        return Err(MalformedMessage);
    }
    // Two hosts are one too many for those who read on.
    let authority = authority.filter(|authority| !authority.is_empty());
    if authority.is_some_and(|authority| !is_host(authority)) {
        return Err(MalformedMessage);
    }
    if let (Some(authority), Some(host)) = (authority, host)
        && !authority.eq_ignore_ascii_case(host)
    {
        return Err(MalformedMessage);
    }
    let complete = match kind {
        Kind::Request if connect && seen & PROTOCOL == 0 => seen == METHOD | AUTHORITY,
        // Extended CONNECT (RFC 8441) takes a setting that we do not send.
        Kind::Request => seen & !AUTHORITY == METHOD | SCHEME | PATH,
        Kind::Response => seen == STATUS,
        Kind::Trailers => true,
    };
    if complete { Ok(summary) } else { Err(MalformedMessage) }
}

fn field(name: &[u8], value: &[u8], kind: Kind, summary: &mut Summary) -> Result<(), MalformedMessage> {
    // Section 8.2.1: tokens in lower case, values without a blank at either end.
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if name.is_empty() || !none_of(name, |byte| !TOKEN[usize::from(byte)]) {
        return Err(MalformedMessage);
    }
    if is_blank(value.first()) || is_blank(value.last()) {
        return Err(MalformedMessage);
    }
    match name {
        _ if kind == Kind::Trailers && NOT_IN_TRAILERS.contains(&name) => Err(MalformedMessage),
        // Section 8.2.2.
        b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade" => {
            Err(MalformedMessage)
        }
        b"te" if value != b"trailers" => Err(MalformedMessage),
        // One of them: others than us take the second, or neither.
        b"content-length" => {
            let length = decimal(value).ok_or(MalformedMessage)?;
            match summary.content_length.replace(length) {
                None => Ok(()),
                Some(_) => Err(MalformedMessage),
            }
        }
        _ => Ok(()),
    }
}

/// Returns true if this is a scheme (RFC 3986, section 3.1): a server that puts scheme, authority and
/// path together would read another host in a scheme that has one in it.
fn is_scheme(text: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    text.first().is_some_and(u8::is_ascii_alphabetic) && text.iter().all(plain)
}

/// Returns true if this is host and port as far as their characters show (RFC 3986, section 3.2,
/// without user information).
#[must_use]
pub fn is_host(text: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%:[]".contains(byte);
    !text.is_empty() && text.iter().all(plain)
}

/// Characters of a field name in lower case (RFC 9110, section 5.6.2).
static TOKEN: [bool; 256] = {
    let mut token = [false; 256];
    let allowed = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    let mut index = 0;
    while index < allowed.len() {
        token[allowed[index] as usize] = true;
        index += 1;
    }
    token
};

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Three digits (RFC 9110, section 15); 101 has no place in HTTP/2 (RFC 9113, section 8.6).
fn status(text: &[u8]) -> Result<u16, MalformedMessage> {
    match text {
        [first @ b'1'..=b'9', second, third] if second.is_ascii_digit() && third.is_ascii_digit() => {
            let digit = |byte: &u8| u16::from(byte - b'0');
            let status = digit(first) * 100 + digit(second) * 10 + digit(third);
            if status == 101 {
                Err(MalformedMessage)
            } else {
                Ok(status)
            }
        }
        _ => Err(MalformedMessage),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fields::Indexing;

    fn list(fields: &[(&str, &str)]) -> Fields {
        let mut list = Fields::new();
        for (name, value) in fields {
            list.push(name.as_bytes(), value.as_bytes(), Indexing::Plain);
        }
        list
    }

    const REQUEST: [(&str, &str); 4] = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/x"),
        (":authority", "nrf"),
    ];

    #[test]
    fn a_request_says_how_long_its_content_is() {
        let summary = check(
            Kind::Request,
            &list(&[&REQUEST[..], &[("content-length", "12"), ("te", "trailers")]].concat()),
        );
        assert_eq!(summary.unwrap().content_length, Some(12));
    }

    #[test]
    fn malformed_requests_are_distinguished() {
        for more in [
            (":method", "GET"),
            (":status", "200"),
            (":unknown", "x"),
            ("Upper", "x"),
            ("", "x"),
            ("with space", "x"),
            ("connection", "close"),
            ("te", "gzip"),
            ("content-length", "1x"),
            ("content-length", ""),
            ("x", "a\nb"),
            ("host", "smf"),
            ("x", " a"),
            ("x", "a\t"),
        ] {
            let fields = list(&[&REQUEST[..], &[more]].concat());
            assert_eq!(check(Kind::Request, &fields), Err(MalformedMessage), "{more:?}");
        }
        assert!(check(Kind::Request, &list(&REQUEST[1..])).is_err());
        assert!(check(Kind::Request, &list(&[("x", "y"), REQUEST[0], REQUEST[1], REQUEST[2]])).is_err());
        assert!(check(Kind::Trailers, &list(&[REQUEST[0]])).is_err());
    }

    #[test]
    fn a_request_that_would_be_another_one_as_http1_is_malformed() {
        for (place, wrong) in [
            (0, "GET /admin HTTP/1.1"),
            (0, "G(T"),
            (1, "http://evil/?"),
            (1, "http:"),
            (1, "1http"),
            (2, "/x HTTP/1.1"),
            (2, "/\u{e4}"),
            (3, "nrf smf"),
            (2, "/x#y"),
            (2, "*"),
            (2, "x"),
            (2, "http://evil/x"),
            (3, "a@nrf"),
            (3, "nrf/evil"),
        ] {
            let mut request = REQUEST;
            request[place].1 = wrong;
            assert_eq!(check(Kind::Request, &list(&request)), Err(MalformedMessage), "{wrong}");
        }
        let mut options = REQUEST;
        (options[0].1, options[2].1) = ("OPTIONS", "*");
        assert!(check(Kind::Request, &list(&options)).is_ok());
        for lengths in [["2", "2"], ["2", "02"], ["2", "3"]] {
            let lengths = lengths.map(|length| ("content-length", length));
            assert!(check(Kind::Request, &list(&[&REQUEST[..], &lengths].concat())).is_err());
            assert!(check(Kind::Response, &list(&[&[(":status", "200")], &lengths[..]].concat())).is_err());
        }
        for name in NOT_IN_TRAILERS {
            let name = std::str::from_utf8(name).unwrap();
            assert!(check(Kind::Trailers, &list(&[(name, "1")])).is_err(), "{name}");
        }
        assert!(check(Kind::Trailers, &list(&[("grpc-status", "0")])).is_ok());
        let hosts =
            |hosts: &[(&'static str, &'static str)]| check(Kind::Request, &list(&[&REQUEST[..3], hosts].concat()));
        assert!(hosts(&[(":authority", "nrf"), ("host", "NRF")]).is_ok());
        assert!(hosts(&[("host", "nrf")]).is_ok());
        assert!(hosts(&[("host", "nrf"), ("host", "nrf")]).is_err());
    }

    #[test]
    fn a_response_has_a_status_of_three_digits() {
        let status = |text| check(Kind::Response, &list(&[(":status", text)])).map(|summary| summary.status);
        assert_eq!(status("204"), Ok(204));
        for text in ["", "20", "2000", "2x0", "099", "101"] {
            assert_eq!(status(text), Err(MalformedMessage), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_list_panics(fields in proptest::collection::vec((".{0,10}", ".{0,10}"), 0..6)) {
            let mut fields_list = Fields::new();
            for (name, value) in &fields {
                fields_list.push(name.as_bytes(), value.as_bytes(), Indexing::Plain);
            }
            for kind in [Kind::Request, Kind::Response, Kind::Trailers] {
                let _ = check(kind, &fields_list);
            }
        }
    }
}
