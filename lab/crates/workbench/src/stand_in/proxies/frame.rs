//! Just enough of HTTP/2 (RFC 9113) for a load client and a server that answers everything alike:
//! frames are cut from and put into byte buffers, headers are never decoded beyond the status. What
//! it leaves out costs the measured path nothing.

use std::io::{self, Read};
use std::net::TcpStream;

use crate::Error;

/// The client's connection preface (section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0x00;
pub(super) const HEADERS: u8 = 0x01;
pub(super) const RST_STREAM: u8 = 0x03;
pub(super) const SETTINGS: u8 = 0x04;
pub(super) const PING: u8 = 0x06;
pub(super) const GOAWAY: u8 = 0x07;
pub(super) const WINDOW_UPDATE: u8 = 0x08;

pub(super) const ACK: u8 = 0x01;
pub(super) const END_STREAM: u8 = 0x01;
pub(super) const END_HEADERS: u8 = 0x04;
pub(super) const PADDED: u8 = 0x08;
pub(super) const PRIORITY: u8 = 0x20;

pub(super) const SETTINGS_HEADER_TABLE_SIZE: u16 = 0x01;
pub(super) const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 0x04;

/// Receive windows of a stream and of the connection. This traffic never exhausts them.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;

/// Section 4.1.
const HEADER_LENGTH: usize = 9;
/// The default of SETTINGS_MAX_FRAME_SIZE, which neither side here raises.
const LONGEST_PAYLOAD: usize = 16_384;

/// One frame in a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The first frame of a buffer and its length; `None` while it is not whole.
    pub(super) fn cut(buffer: &'a [u8]) -> Result<Option<(Self, usize)>, Error> {
        let Some((header, rest)) = buffer.split_at_checked(HEADER_LENGTH) else {
            return Ok(None);
        };
        let length = usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        if length > LONGEST_PAYLOAD {
            return Err(Error::Protocol(format!("a frame of {length} bytes")));
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = Self {
            kind: header[3],
            flags: header[4],
            stream: u32::from_be_bytes([header[5] & 0x7f, header[6], header[7], header[8]]),
            payload,
        };
        Ok(Some((frame, HEADER_LENGTH + length)))
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload of DATA or HEADERS without padding and priority.
    pub(super) fn content(&self) -> Result<&'a [u8], Error> {
        let wrong = || Error::Protocol("padding longer than its frame".to_owned());
        let mut content = self.payload;
        if self.has(PADDED) {
            let (&length, rest) = content.split_first().ok_or_else(wrong)?;
            content = rest
                .len()
                .checked_sub(usize::from(length))
                .map(|end| &rest[..end])
                .ok_or_else(wrong)?;
        }
        if self.kind == HEADERS && self.has(PRIORITY) {
            content = content.get(5..).ok_or_else(wrong)?;
        }
        Ok(content)
    }

    /// The parameters of a SETTINGS frame.
    pub(super) fn settings(&self) -> impl Iterator<Item = (u16, u32)> + 'a {
        self.payload.chunks_exact(6).map(|parameter| {
            (
                u16::from_be_bytes([parameter[0], parameter[1]]),
                u32::from_be_bytes([parameter[2], parameter[3], parameter[4], parameter[5]]),
            )
        })
    }

    /// The number that a payload begins with: an increment, an error code.
    pub(super) fn number(&self) -> u32 {
        let bytes = self.payload.first_chunk().copied().unwrap_or_default();
        u32::from_be_bytes(bytes)
    }
}

/// Adds a frame.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    // Payloads here are at most 1 KiB.
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    out.extend_from_slice(&length[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// First frames of either side; a client's follow its preface.
pub(super) fn put_opening(out: &mut Vec<u8>) {
    let mut settings = SETTINGS_INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    settings.extend_from_slice(&STREAM_WINDOW.to_be_bytes());
    put(out, SETTINGS, 0, 0, &settings);
    put(out, WINDOW_UPDATE, 0, 0, &CONNECTION_WINDOW.to_be_bytes());
}

/// A header field without indexing (RFC 7541, section 6.2.2) whose name is in the static table.
pub(super) fn put_literal(block: &mut Vec<u8>, first: u8, prefix: u8, name: u8, value: &str) {
    let full = (1 << prefix) - 1;
    if name < full {
        block.push(first | name);
    } else {
        block.extend_from_slice(&[first | full, name - full]);
    }
    // Values here are shorter than 127 bytes: one byte of length, no Huffman code.
    block.push(u8::try_from(value.len()).unwrap_or(0));
    block.extend_from_slice(value.as_bytes());
}

/// The same with a name of its own.
pub(super) fn put_named(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        block.push(u8::try_from(text.len()).unwrap_or(0));
        block.extend_from_slice(text.as_bytes());
    }
}

/// Bytes that the other side has sent since it last got a window update.
#[derive(Debug, Default)]
pub(super) struct Received(u32);

impl Received {
    /// Counts the payload of a DATA frame, and gives the window back in good time.
    pub(super) fn count(&mut self, length: usize, out: &mut Vec<u8>) {
        self.0 += u32::try_from(length).unwrap_or(u32::MAX);
        if self.0 >= CONNECTION_WINDOW / 2 {
            put(out, WINDOW_UPDATE, 0, 0, &self.0.to_be_bytes());
            self.0 = 0;
        }
    }
}

/// Bytes read from a socket and not yet used.
#[derive(Debug)]
pub(super) struct Inbox {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            // Holds several of the longest frames.
            buffer: vec![0; 4 * LONGEST_PAYLOAD].into(),
            start: 0,
            end: 0,
        }
    }

    /// Waits for more bytes; `false` at the end of the stream.
    pub(super) fn read(&mut self, mut socket: &TcpStream) -> io::Result<bool> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        loop {
            match socket.read(&mut self.buffer[self.end..]) {
                // A signal, which another thread acts on.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padding_and_priority_are_taken_off() {
        let mut bytes = Vec::new();
        put(
            &mut bytes,
            HEADERS,
            PADDED | PRIORITY,
            1,
            &[2, 0, 0, 0, 0, 16, 0x88, 0, 0],
        );
        let (frame, length) = Frame::cut(&bytes).unwrap().unwrap();
        assert_eq!((frame.content().unwrap(), length), (&[0x88][..], 18));
        let lying = Frame {
            payload: &[9, 1],
            ..frame
        };
        assert!(lying.content().is_err());
    }

    proptest! {
        #[test]
        fn a_frame_that_is_put_is_cut_again(kind: u8, flags: u8, stream in 0_u32..1 << 31, payload in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mut bytes = Vec::new();
            put(&mut bytes, kind, flags, stream, &payload);
            let whole = bytes.len();
            bytes.push(0);
            for end in 0..whole {
                prop_assert!(Frame::cut(&bytes[..end]).unwrap().is_none());
            }
            let (frame, length) = Frame::cut(&bytes).unwrap().unwrap();
            prop_assert_eq!((frame.kind, frame.flags, frame.stream, frame.payload, length), (kind, flags, stream, &payload[..], whole));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            if let Ok(Some((frame, _))) = Frame::cut(&bytes) {
                let _ = (frame.content(), frame.number(), frame.settings().count());
            }
        }
    }
}
