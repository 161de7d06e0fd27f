//! Just enough of HTTP/1.1 (RFC 9112) for a service and its caller: messages with Content-Length.

use std::io::{self, Read, Write};

/// Bytes of a message's head, and of its body, that are read.
const LARGEST_HEAD: usize = 8 << 10;
const LARGEST_BODY: usize = 1 << 20;

/// A message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Its first line.
    pub(super) line: String,
    /// True if the sender closes the connection after it.
    pub(super) closes: bool,
    pub(super) body: Vec<u8>,
}

fn wrong(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

/// Reads one message; `None` where the connection ends before it. Nothing is kept beyond it: neither side sends ahead.
pub(super) fn read(mut stream: impl Read) -> io::Result<Option<Message>> {
    let mut bytes = Vec::with_capacity(16 << 10);
    let mut piece = [0; 16 << 10];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > LARGEST_HEAD {
            return Err(wrong("a head of more than 8 kB"));
        }
        match stream.read(&mut piece)? {
            0 if bytes.is_empty() => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => bytes.extend_from_slice(&piece[..read]),
        }
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| wrong("a head that is not text"))?;
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default().to_owned();
    let (mut length, mut closes) = (0, false);
    for field in lines {
        let (name, value) = field.split_once(':').ok_or_else(|| wrong("a field without a colon"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().map_err(|_| wrong("a Content-Length that is no number"))?;
        } else if name.eq_ignore_ascii_case("connection") {
            closes = value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(wrong("a body in chunks"));
        }
    }
    if length > LARGEST_BODY {
        return Err(wrong("a body of more than 1 MB"));
    }
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => body.extend_from_slice(&piece[..read]),
        }
    }
    body.truncate(length);
    Ok(Some(Message { line, closes, body }))
}

/// Writes one message by one system call, so that no part of it waits for an acknowledgement.
pub(super) fn write(mut stream: impl Write, line: &str, fields: &str, body: &[u8]) -> io::Result<()> {
    let mut bytes = format!(
        "{line}\r\n{fields}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    stream.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_that_is_written_is_read_again() {
        let mut bytes = Vec::new();
        write(&mut bytes, "POST /sign HTTP/1.1", "Connection: close\r\n", b"{}").unwrap();
        let read = read(&*bytes).unwrap().unwrap();
        assert_eq!(
            (&*read.line, read.closes, &*read.body),
            ("POST /sign HTTP/1.1", true, &b"{}"[..])
        );
    }

    #[test]
    fn what_is_cut_or_too_large_is_refused() {
        assert!(read(&b""[..]).unwrap().is_none());
        for bytes in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n1",
            b"GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert!(read(bytes).is_err());
        }
        assert!(read(&*vec![b'a'; 100_000]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let _ = read(&*bytes);
        }
    }
}
