//! HTTP/2 by hand, for ends that do what no program would: frames as they are on the wire (RFC 9113, sections 4 and 6).

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::stage::PATIENCE;

pub(crate) const DATA: u8 = 0x00;
pub(crate) const HEADERS: u8 = 0x01;
pub(crate) const RST_STREAM: u8 = 0x03;
pub(crate) const SETTINGS: u8 = 0x04;
pub(crate) const END_STREAM: u8 = 0x01;
pub(crate) const END_HEADERS: u8 = 0x04;
pub(crate) const ACK: u8 = 0x01;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 0x04;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// A connection that sends the bytes it is given.
pub(crate) struct Raw(pub(crate) TcpStream);

/// A frame as it is on the wire.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (setting, value) in list {
        payload.extend(setting.to_be_bytes());
        payload.extend(value.to_be_bytes());
    }
    frame(SETTINGS, 0, 0, &payload)
}

/// A field without indexing or Huffman's code, its name from the static table (RFC 7541, section 6.2.2).
fn literal(index: u8, value: &str) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("a short value");
    [&[index, length], value.as_bytes()].concat()
}

impl Raw {
    /// A client with these settings.
    pub(crate) fn client(address: SocketAddr, list: &[(u16, u32)]) -> Self {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
            .write_all(&[PREFACE, &settings(list)].concat())
            .expect("the preface");
        Self(stream)
    }

    /// The server's end of an accepted connection, with these settings; its preface has been read.
    pub(crate) fn server(mut stream: TcpStream, list: &[(u16, u32)]) -> io::Result<Self> {
        stream.read_exact(&mut [0; PREFACE.len()])?;
        stream.write_all(&settings(list))?;
        stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?;
        Ok(Self(stream))
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        self.0.write_all(frame).expect("it reads");
    }

    /// A request for this path of `nrf`: GET, or POST whose body is to follow.
    pub(crate) fn ask(&mut self, stream: u32, method: &str, path: &str) {
        let (method, flags) = match method {
            "GET" => (b"\x82", END_STREAM | END_HEADERS),
            _ => (b"\x83", END_HEADERS),
        };
        let block = [&method[..], b"\x86", &literal(4, path), &literal(1, "nrf")].concat();
        self.send(&frame(HEADERS, flags, stream, &block));
    }

    /// The next frame.
    pub(crate) fn read(&mut self) -> io::Result<Frame> {
        let mut header = [0; 9];
        self.0.read_exact(&mut header)?;
        let [a, b, c, kind, flags, stream @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload)?;
        Ok(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes(stream),
            payload,
        })
    }

    /// Reads until such a frame comes.
    pub(crate) fn until(&mut self, mut is: impl FnMut(&Frame) -> bool) -> Frame {
        loop {
            let frame = self.read().expect("a frame");
            if is(&frame) {
                return frame;
            }
        }
    }
}
