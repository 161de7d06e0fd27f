//! The end of a body (RFC 9112, sections 6 and 7).

use bartizan_http2::Fields;

use crate::head::{self, Scan, Wrong};

/// Bytes of a chunk's first line: sixteen digits and an extension that no peer needs.
const CHUNK_LINE_AT_MOST: usize = 256;
/// Bytes of extensions of all chunks of a body. They are dropped, and cost a sender one byte of content each otherwise.
const EXTENSIONS_AT_MOST: usize = 16 * 1024;

/// Framing of a body: the sign of its end.
#[derive(Debug)]
pub(crate) enum Body {
    /// So many bytes are still missing.
    Length(u64),
    Chunked(Chunked),
    /// With the connection.
    UntilClose,
}

#[derive(Debug)]
pub(crate) struct Chunked {
    part: Part,
    scan: Scan,
    extensions: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Size,
    Data(u64),
    /// The line end after a chunk's data.
    DataEnd,
    Trailers,
}

/// Result of one step at the beginning of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing whole.
    More,
    /// So many bytes that are no content.
    Skip(usize),
    /// So many bytes of content; whether they are the last.
    Content(usize, bool),
    /// The end, after so many bytes, with trailers where there are any.
    End(usize, Option<Fields>),
}

impl Body {
    pub(crate) fn chunked() -> Self {
        Self::Chunked(Chunked {
            part: Part::Size,
            scan: Scan::default(),
            extensions: 0,
        })
    }

    /// Looks at the input: at most `most` bytes of content, trailers of at most `header_bytes`.
    pub(crate) fn step(&mut self, input: &[u8], most: usize, header_bytes: usize) -> Result<Step, Wrong> {
        match self {
            Self::Length(missing) => {
                let now = within(*missing, input.len().min(most));
                *missing -= now as u64;
                Ok(match (now, *missing) {
                    (_, 0) => Step::Content(now, true),
                    (0, _) => Step::More,
                    _ => Step::Content(now, false),
                })
            }
            Self::UntilClose if input.is_empty() || most == 0 => Ok(Step::More),
            Self::UntilClose => Ok(Step::Content(input.len().min(most), false)),
            Self::Chunked(chunked) => chunked.step(input, most, header_bytes),
        }
    }
}

/// At most `most`, and no more than there are.
fn within(missing: u64, most: usize) -> usize {
    usize::try_from(missing).map_or(most, |missing| missing.min(most))
}

impl Chunked {
    fn step(&mut self, input: &[u8], most: usize, header_bytes: usize) -> Result<Step, Wrong> {
        match self.part {
            Part::Size => {
                let Some(line) = line(input)? else {
                    return Ok(Step::More);
                };
                let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                let size = hexadecimal(&line[..digits]).ok_or(Wrong::bad("the size of a chunk is no number"))?;
                let extension = &line[digits..];
                self.extensions += extension.len();
                // Blanks before the semicolon were allowed once, and are where implementations differ.
                if !extension.is_empty() && (extension[0] != b';' || !extension.iter().all(|&byte| printable(byte))) {
                    return Err(Wrong::bad("the size of a chunk is followed by what is no extension"));
                }
                if self.extensions > EXTENSIONS_AT_MOST {
                    return Err(Wrong::bad("extensions of chunks without end"));
                }
                self.part = if size == 0 { Part::Trailers } else { Part::Data(size) };
                Ok(Step::Skip(line.len() + 2))
            }
            Part::Data(missing) => {
                let now = within(missing, input.len().min(most));
                if now == 0 {
                    return Ok(Step::More);
                }
                let left = missing - now as u64;
                self.part = if left == 0 { Part::DataEnd } else { Part::Data(left) };
                Ok(Step::Content(now, false))
            }
            Part::DataEnd => match input {
                [b'\r', b'\n', ..] => {
                    self.part = Part::Size;
                    Ok(Step::Skip(2))
                }
                [] | [b'\r'] => Ok(Step::More),
                _ => Err(Wrong::bad("a chunk is longer than its size")),
            },
            Part::Trailers => {
                let Some(length) = self.scan.find(input, header_bytes)? else {
                    return Ok(Step::More);
                };
                let trailers = match length {
                    2 => None,
                    _ => Some(head::trailers(&input[..length], self.scan.lines)?),
                };
                Ok(Step::End(length, trailers))
            }
        }
    }
}

/// The first line of the input without its end, once that is there.
fn line(input: &[u8]) -> Result<Option<&[u8]>, Wrong> {
    let Some(at) = input.iter().position(|&byte| byte == b'\r' || byte == b'\n') else {
        return match input.len() > CHUNK_LINE_AT_MOST {
            true => Err(Wrong::bad("the size of a chunk has no end")),
            false => Ok(None),
        };
    };
    match (input[at], input.get(at + 1)) {
        (b'\r', Some(b'\n')) if at <= CHUNK_LINE_AT_MOST => Ok(Some(&input[..at])),
        (b'\r', None) => Ok(None),
        _ => Err(Wrong::bad("the size of a chunk does not end with CRLF")),
    }
}

fn printable(byte: u8) -> bool {
    byte == b'\t' || (0x20..0x7f).contains(&byte)
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Content, trailers and length of a whole chunked body.
    type Whole = (Vec<u8>, Option<Fields>, usize);

    /// `None` where more is needed.
    fn read(input: &[u8]) -> Result<Option<Whole>, Wrong> {
        let (mut body, mut at, mut content) = (Body::chunked(), 0, Vec::new());
        loop {
            match body.step(&input[at..], 7, 1000)? {
                Step::More => return Ok(None),
                Step::Skip(bytes) => at += bytes,
                Step::Content(bytes, _) => {
                    content.extend_from_slice(&input[at..at + bytes]);
                    at += bytes;
                }
                Step::End(bytes, trailers) => return Ok(Some((content, trailers, at + bytes))),
            }
        }
    }

    #[test]
    fn chunks_are_put_together_and_their_trailers_read() {
        let (content, trailers, used) = read(b"5;a=\"b\"\r\nhello\r\n00A\r\n, chunked!\r\n0\r\nCheck: 42\r\n\r\nNEXT")
            .unwrap()
            .unwrap();
        assert_eq!(content, b"hello, chunked!");
        assert_eq!(trailers.unwrap().value(b"check"), Some(&b"42"[..]));
        assert_eq!(used, 49);
        assert_eq!(read(b"0\r\n\r\n").unwrap().unwrap().1, None);
        assert_eq!(read(b"5\r\nhel").unwrap(), None);
    }

    #[test]
    fn chunks_that_can_be_read_in_two_ways_are_refused() {
        for wrong in [
            &b"5\nhello\r\n0\r\n\r\n"[..],
            b"5\rhello\r\n0\r\n\r\n",
            b"5 \r\nhello\r\n0\r\n\r\n",
            b" 5\r\nhello\r\n0\r\n\r\n",
            b"+5\r\nhello\r\n0\r\n\r\n",
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b"5_\r\nhello\r\n0\r\n\r\n",
            b"\r\nhello\r\n0\r\n\r\n",
            b"-1\r\nhello\r\n0\r\n\r\n",
            b"11111111111111111\r\nhello\r\n",
            b"5;x\ny\r\nhello\r\n0\r\n\r\n",
            b"5;\0\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhelloX\r\n0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"0\r\nx: y\n\r\n",
            b"0\r\n x: y\r\n\r\n",
            b"0\r\nx : y\r\n\r\n",
            b"0\r\nContent-Length: 5\r\n\r\n",
            b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"0\r\nHost: x\r\n\r\n",
        ] {
            assert!(read(wrong).is_err(), "{:?}", String::from_utf8_lossy(wrong));
        }
        let endless = [b"5;", "x".repeat(300).as_bytes()].concat();
        assert!(read(&endless).is_err());
        let extended = [b"1;", "x".repeat(200).as_bytes(), b"\r\na\r\n"].concat().repeat(200);
        assert!(read(&extended).is_err());
    }
}
