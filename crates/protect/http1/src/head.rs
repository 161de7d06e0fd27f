//! Heads of messages: found, read, and made into those of HTTP/2 (RFC 9112, sections 2 to 6; RFC 9113, section 8.2.2).

use bartizan_http2::{Fields, Indexing, Kind, check, is_host};

use crate::body::Body;

/// Fields of one head. Their bytes are bounded by what the connection accepts.
const FIELDS_AT_MOST: usize = 512;

/// Fields that are about one connection, not about the message (RFC 9110, section 7.6.1).
const OF_ONE_CONNECTION: [&[u8]; 8] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
    b"http2-settings",
    b"te",
    b"content-length",
];
/// Fields by which a message is read or led: to leave one out because `Connection` names it would
/// change what the message is.
const NOT_FOR_CONNECTION: [&[u8]; 3] = [b"host", b"content-length", b"transfer-encoding"];

/// Reason why a message is not accepted, and the answer to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) status: u16,
    pub(crate) why: &'static str,
}

impl Wrong {
    pub(crate) const fn bad(why: &'static str) -> Self {
        Self { status: 400, why }
    }

    const fn large(why: &'static str) -> Self {
        Self { status: 431, why }
    }
}

/// Looks for the end of a head: an empty line. Bytes that have been looked at are not looked at
/// again.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    at: usize,
    /// Beginning of the line that `at` is in.
    line: usize,
    /// The lines before the empty one.
    pub(crate) lines: usize,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) fields: Fields,
    pub(crate) body: Option<Body>,
    pub(crate) is_head: bool,
    /// The client knows neither chunks nor interim responses.
    pub(crate) is_http10: bool,
    /// The client wants no further request on this connection.
    pub(crate) close: bool,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    /// As its fields say; a response to HEAD has none.
    pub(crate) body: Option<Body>,
    pub(crate) close: bool,
}

const TOO_LONG: Wrong = Wrong::large("a head longer than allowed");

impl Scan {
    /// Length of the head that the input begins with, its empty line included.
    pub(crate) fn find(&mut self, input: &[u8], at_most: usize) -> Result<Option<usize>, Wrong> {
        let special = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
        while let Some(offset) = input[self.at..].iter().position(special) {
            let at = self.at + offset;
            match (input[at], input.get(at + 1)) {
                (b'\r', Some(b'\n')) if at == self.line => {
                    let length = at + 2;
                    return if length > at_most {
                        Err(TOO_LONG)
                    } else {
                        Ok(Some(length))
                    };
                }
                (b'\r', Some(b'\n')) => {
                    self.lines += 1;
                    self.line = at + 2;
                    self.at = at + 2;
                }
                (b'\r', None) => {
                    self.at = at;
                    break;
                }
                (b'\r', _) => return Err(Wrong::bad("a carriage return without a line feed")),
                (b'\n', _) => return Err(Wrong::bad("a line feed without a carriage return")),
                _ => return Err(Wrong::bad("a zero byte")),
            }
        }
        if !input[self.at..].starts_with(b"\r") {
            self.at = input.len();
        }
        if input.len() > at_most {
            return Err(TOO_LONG);
        }
        Ok(None)
    }
}

/// Reads the head of a request.
pub(crate) fn request(head: &[u8], lines: usize) -> Result<Request, Wrong> {
    let mut headers = room(lines)?;
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        Err(httparse::Error::Version) => {
            return Err(Wrong {
                status: 505,
                why: "a version other than HTTP/1.1",
            });
        }
        _ => return Err(Wrong::bad("the head is malformed")),
    }
    let method = parsed.method.unwrap_or_default().as_bytes();
    let is_http10 = parsed.version == Some(0);
    if method == b"CONNECT" {
        return Err(Wrong {
            status: 501,
            why: "CONNECT is not served",
        });
    }
    let framing = Framing::of(parsed.headers)?;
    let target = Target::of(method, parsed.path.unwrap_or_default())?;
    let authority = match (target.authority, framing.host) {
        // The two must not be different hosts for those who read on.
        (Some(authority), Some(host)) if !authority.eq_ignore_ascii_case(host) => {
            return Err(Wrong::bad("Host is not the host of the request's target"));
        }
        (Some(authority), _) => Some(authority),
        (None, Some(host)) => Some(host),
        (None, None) if is_http10 => None,
        (None, None) => return Err(Wrong::bad("a request without Host")),
    };
    if is_http10 && framing.chunked {
        return Err(Wrong::bad("Transfer-Encoding in HTTP/1.0"));
    }
    let mut fields = Fields::new();
    fields.push(b":method", method, Indexing::Kept);
    fields.push(b":scheme", target.scheme, Indexing::Kept);
    if let Some(authority) = authority {
        fields.push(b":authority", authority, Indexing::Kept);
    }
    fields.push(b":path", target.path, Indexing::Plain);
    if framing.trailers {
        fields.push(b"te", b"trailers", Indexing::Kept);
    }
    framing.push_rest(parsed.headers, &mut fields, |name| {
        name != b"host" && !(is_http10 && name == b"expect")
    });
    check(Kind::Request, &fields).map_err(|_| Wrong::bad("the head is malformed"))?;
    let body = match (framing.chunked, framing.length) {
        (true, _) => Some(Body::chunked()),
        (false, None | Some(0)) => None,
        (false, Some(length)) => Some(Body::Length(length)),
    };
    Ok(Request {
        fields,
        body,
        is_head: method == b"HEAD",
        is_http10,
        close: framing.close || is_http10,
    })
}

/// Reads the head of a response.
pub(crate) fn response(head: &[u8], lines: usize) -> Result<Response, Wrong> {
    let mut headers = room(lines)?;
    let mut parsed = httparse::Response::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        _ => return Err(Wrong::bad("the head of a response is malformed")),
    }
    let status = parsed.code.unwrap_or_default();
    let is_http10 = parsed.version == Some(0);
    if status == 101 {
        return Err(Wrong::bad("the protocol was changed unasked"));
    }
    let framing = Framing::of(parsed.headers)?;
    if is_http10 && framing.chunked {
        return Err(Wrong::bad("Transfer-Encoding in HTTP/1.0"));
    }
    let mut fields = Fields::new();
    fields.push(b":status", status.to_string().as_bytes(), Indexing::Kept);
    framing.push_rest(parsed.headers, &mut fields, |_| true);
    check(Kind::Response, &fields).map_err(|_| Wrong::bad("the head of a response is malformed"))?;
    let body = match (status, framing.chunked, framing.length) {
        (..=199 | 204 | 304, ..) => None,
        (_, true, _) => Some(Body::chunked()),
        (_, false, Some(0)) => None,
        (_, false, Some(length)) => Some(Body::Length(length)),
        (_, false, None) => Some(Body::UntilClose),
    };
    // One of HTTP/1.0 may say that its connection stays; that is older than the rules for it.
    let close = framing.close || is_http10 || matches!(body, Some(Body::UntilClose));
    Ok(Response {
        status,
        fields,
        body,
        close,
    })
}

/// Reads trailers, which `lines` lines and an empty one are.
pub(crate) fn trailers(section: &[u8], lines: usize) -> Result<Fields, Wrong> {
    let wrong = Wrong::bad("the trailers are malformed");
    let mut headers = room(lines + 1)?;
    let parsed = match httparse::parse_headers(section, &mut headers) {
        Ok(httparse::Status::Complete((length, parsed))) if length == section.len() => parsed,
        _ => return Err(wrong),
    };
    let mut fields = Fields::new();
    let mut name = Vec::new();
    for header in parsed {
        lower(header.name, &mut name);
        fields.push(&name, trimmed(header.value), Indexing::Plain);
    }
    check(Kind::Trailers, &fields).map_err(|_| Wrong::bad("a field that has no place in trailers"))?;
    Ok(fields)
}

/// Room for the fields of so many lines.
fn room<'a>(lines: usize) -> Result<Vec<httparse::Header<'a>>, Wrong> {
    if lines > FIELDS_AT_MOST {
        return Err(Wrong::large("more fields than allowed"));
    }
    Ok(vec![httparse::EMPTY_HEADER; lines])
}

/// Framing of a message, its host, and the fate of its connection, by its fields.
#[derive(Debug, Default)]
struct Framing<'a> {
    host: Option<&'a [u8]>,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    /// `TE: trailers`.
    trailers: bool,
    /// Options that `Connection` names, in lower case.
    options: Vec<Vec<u8>>,
}

impl<'a> Framing<'a> {
    fn of(headers: &[httparse::Header<'a>]) -> Result<Self, Wrong> {
        let mut framing = Self::default();
        for header in headers {
            let value = trimmed(header.value);
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                if framing.length.is_some() {
                    return Err(Wrong::bad("more than one Content-Length"));
                }
                framing.length = Some(decimal(value).ok_or(Wrong::bad("Content-Length is no number"))?);
            } else if is("transfer-encoding") {
                if framing.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Wrong {
                        status: 501,
                        why: "a transfer coding other than chunked, once",
                    });
                }
                framing.chunked = true;
            } else if is("host") {
                if framing.host.is_some() || !is_host(value) {
                    return Err(Wrong::bad("more than one Host, or one that names none"));
                }
                framing.host = Some(value);
            } else if is("connection") {
                framing.options.extend(list(value).map(<[u8]>::to_ascii_lowercase));
            } else if is("te") {
                framing.trailers |= list(value).any(|coding| coding.eq_ignore_ascii_case(b"trailers"));
            }
        }
        if framing.length.is_some() && framing.chunked {
            return Err(Wrong::bad("Content-Length together with Transfer-Encoding"));
        }
        if framing
            .options
            .iter()
            .any(|name| NOT_FOR_CONNECTION.contains(&&name[..]))
        {
            return Err(Wrong::bad("Connection names a field that is not of the connection"));
        }
        framing.close = framing.options.iter().any(|option| option == b"close");
        Ok(framing)
    }

    /// The fields that are about the message, and its length.
    fn push_rest(&self, headers: &[httparse::Header<'_>], fields: &mut Fields, wanted: impl Fn(&[u8]) -> bool) {
        let mut name = Vec::new();
        for header in headers {
            lower(header.name, &mut name);
            let of_connection = OF_ONE_CONNECTION.contains(&&name[..]) || self.options.contains(&name);
            if !of_connection && wanted(&name) {
                fields.push(&name, trimmed(header.value), indexing(&name));
            }
        }
        if let Some(length) = self.length {
            fields.push(b"content-length", length.to_string().as_bytes(), Indexing::Plain);
        }
    }
}

/// The target of a request (RFC 9112, section 3.2).
struct Target<'a> {
    scheme: &'a [u8],
    authority: Option<&'a [u8]>,
    path: &'a [u8],
}

impl<'a> Target<'a> {
    fn of(method: &[u8], target: &'a str) -> Result<Self, Wrong> {
        let wrong = Wrong::bad("the request's target is malformed");
        let text = target.as_bytes();
        if !text.iter().all(|&byte| (0x21..0x7f).contains(&byte) && byte != b'#') {
            return Err(wrong);
        }
        if text.starts_with(b"/") || (text == b"*" && method == b"OPTIONS") {
            return Ok(Self {
                scheme: b"http",
                authority: None,
                path: text,
            });
        }
        let (scheme, rest) = target.split_once("://").ok_or(wrong)?;
        let scheme: &[u8] = match scheme.to_ascii_lowercase().as_str() {
            "http" => b"http",
            "https" => b"https",
            _ => return Err(wrong),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if !is_host(authority.as_bytes()) {
            return Err(wrong);
        }
        let path = match path.as_bytes() {
            [] if method == b"OPTIONS" => b"*",
            [] => b"/",
            path if path.starts_with(b"/") => path,
            // A query without a path would have to be changed.
            _ => return Err(wrong),
        };
        Ok(Self {
            scheme,
            authority: Some(authority.as_bytes()),
            path,
        })
    }
}

/// The members of a list (RFC 9110, section 5.6.1).
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(trimmed)
        .filter(|member| !member.is_empty())
}

fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

fn lower(name: &str, into: &mut Vec<u8>) {
    into.clear();
    into.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Secrets stay out of compression tables (RFC 7541, section 7.1.3), and so does what is never the same.
fn indexing(name: &[u8]) -> Indexing {
    match name {
        b"authorization" | b"proxy-authorization" | b"cookie" | b"set-cookie" => Indexing::Never,
        b"date" | b"etag" | b"location" | b"last-modified" | b"3gpp-sbi-sender-timestamp" => Indexing::Plain,
        _ => Indexing::Kept,
    }
}

#[cfg(test)]
mod tests;
