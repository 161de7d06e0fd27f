//! Heads as they are written: made anew from the message, never copied.

use bartizan_http2::Fields;

/// Framing of a body that is written: the sign of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    None,
    /// So many bytes are still to be written.
    Length(u64),
    Chunked,
    /// By the end of the connection, for a client that knows nothing else.
    UntilClose,
}

/// A head that cannot be written as HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unwritable;

/// Writes the head of a request; `end` where it has no body.
pub(crate) fn request(fields: &Fields, end: bool, out: &mut Vec<u8>) -> Result<Framing, Unwritable> {
    let (method, path) = fields.value(b":method").zip(fields.value(b":path")).ok_or(Unwritable)?;
    let host = fields.value(b":authority").or_else(|| fields.value(b"host"));
    if !(is_word(method) && is_word(path)) || !(path.starts_with(b"/") || path == b"*") || method == b"CONNECT" {
        return Err(Unwritable);
    }
    let framing = framing(fields, end)?;
    put(out, &[method, b" ", path, b" HTTP/1.1\r\nhost: "]);
    put(out, &[host.filter(|host| is_word(host)).ok_or(Unwritable)?, b"\r\n"]);
    let (mut cookie, mut trailers) = (Vec::new(), false);
    for (name, value, _) in fields.iter() {
        match name {
            // Written once, from what they were read as.
            b"host" | b"content-length" => {}
            b"te" => trailers = true,
            // In HTTP/1.1 there is one field (RFC 9113, section 8.2.3).
            b"cookie" => {
                if !cookie.is_empty() {
                    cookie.extend_from_slice(b"; ");
                }
                cookie.extend_from_slice(value);
            }
            _ if name.starts_with(b":") => {}
            _ => field(out, name, value)?,
        }
    }
    if !cookie.is_empty() {
        field(out, b"cookie", &cookie)?;
    }
    if trailers {
        put(out, &[b"te: trailers\r\nconnection: te\r\n"]);
    }
    match (framing, length(fields)) {
        (Framing::Chunked, _) => put(out, &[b"transfer-encoding: chunked\r\n"]),
        (Framing::Length(length), _) => put_length(out, length),
        (_, Some(length)) => put_length(out, length.ok_or(Unwritable)?),
        // A method that has a body says that it is empty (RFC 9110, section 8.6).
        (_, None) if matches!(method, b"POST" | b"PUT" | b"PATCH") => put_length(out, 0),
        _ => {}
    }
    put(out, &[b"\r\n"]);
    Ok(framing)
}

/// The request whose response is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) is_head: bool,
    pub(crate) is_http10: bool,
    /// The connection ends with it.
    pub(crate) close: bool,
}

/// Writes the head of a response; `end` where it has no body.
pub(crate) fn response(fields: &Fields, end: bool, of: Answered, out: &mut Vec<u8>) -> Result<Framing, Unwritable> {
    let status = fields.value(b":status").ok_or(Unwritable)?;
    let number = std::str::from_utf8(status)
        .ok()
        .and_then(|text| text.parse::<u16>().ok());
    let number = number.filter(|number| (100..1000).contains(number)).ok_or(Unwritable)?;
    let has_body = number >= 200 && number != 204 && number != 304 && !of.is_head;
    let framing = match framing(fields, end)? {
        _ if !has_body => Framing::None,
        Framing::Chunked if of.is_http10 => Framing::UntilClose,
        framing => framing,
    };
    put_status(out, number);
    for (name, value, _) in fields.iter() {
        if !name.starts_with(b":") && name != b"content-length" {
            field(out, name, value)?;
        }
    }
    let says_length = number >= 200 && number != 204;
    match (framing, length(fields).filter(|_| says_length)) {
        (Framing::Chunked, _) => put(out, &[b"transfer-encoding: chunked\r\n"]),
        (Framing::Length(length), _) => put_length(out, length),
        (_, Some(length)) => put_length(out, length.ok_or(Unwritable)?),
        (Framing::None, None) if has_body => put_length(out, 0),
        _ => {}
    }
    if number >= 200 && (of.close || framing == Framing::UntilClose) {
        put(out, &[b"connection: close\r\n"]);
    }
    put(out, &[b"\r\n"]);
    Ok(framing)
}

/// Writes a whole response of ours after which the connection ends.
pub(crate) fn last_word(status: u16, why: &str, out: &mut Vec<u8>) {
    put_status(out, status);
    put_length(out, why.len() as u64);
    put(
        out,
        &[b"content-type: text/plain\r\nconnection: close\r\n\r\n", why.as_bytes()],
    );
}

/// Writes trailers and the end of a chunked body.
pub(crate) fn trailers(fields: &Fields, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    put(out, &[b"0\r\n"]);
    for (name, value, _) in fields.iter() {
        field(out, name, value)?;
    }
    put(out, &[b"\r\n"]);
    Ok(())
}

fn put_length(out: &mut Vec<u8>, length: u64) {
    put(out, &[b"content-length: ", length.to_string().as_bytes(), b"\r\n"]);
}

fn put_status(out: &mut Vec<u8>, status: u16) {
    let phrase = http::StatusCode::from_u16(status).ok();
    let phrase = phrase.and_then(|status| status.canonical_reason()).unwrap_or_default();
    put(
        out,
        &[
            b"HTTP/1.1 ",
            status.to_string().as_bytes(),
            b" ",
            phrase.as_bytes(),
            b"\r\n",
        ],
    );
}

/// Framing of a message with these fields. Trailers that are announced take chunks, whatever length
/// is known.
fn framing(fields: &Fields, end: bool) -> Result<Framing, Unwritable> {
    match (end, length(fields)) {
        (true, _) => Ok(Framing::None),
        (false, _) if fields.value(b"trailer").is_some() => Ok(Framing::Chunked),
        (false, Some(length)) => Ok(Framing::Length(length.ok_or(Unwritable)?)),
        (false, None) => Ok(Framing::Chunked),
    }
}

fn length(fields: &Fields) -> Option<Option<u64>> {
    let text = fields.value(b"content-length")?;
    Some(std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()))
}

fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) -> Result<(), Unwritable> {
    // The reader of either protocol has seen to it; what is written here is the last place where it can be wrong.
    let plain = |&byte: &u8| byte >= 0x20 && byte != 0x7f || byte == b'\t';
    if !is_word(name) || name.contains(&b':') || !value.iter().all(plain) {
        return Err(Unwritable);
    }
    put(out, &[name, b": ", value, b"\r\n"]);
    Ok(())
}

/// Printable, and nothing that would end it.
fn is_word(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| (0x21..0x7f).contains(&byte))
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}
