//! The file of an exchange: JSON, every time in microseconds since the first packet of the capture.
//!
//! A writer of such a file fills [`File`] and serializes it; [`super::Exchange::parse`] reads it.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};

/// Name and version of this shape; a change that an older reader would misread gets a new number.
pub const SCHEMA: &str = "bartizan-exchange/1";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// [`SCHEMA`].
    pub schema: String,
    /// Origin of the recording.
    pub source: Source,
    /// Listening addresses of the network functions.
    pub servers: Vec<Server>,
    /// Every TCP connection of the capture, in the order of opening.
    pub connections: Vec<Connection>,
}

/// Origin of an exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// One-sentence description of the recording.
    pub description: String,
    /// Name of the capture file.
    pub capture: String,
    /// Name and version of the dissector.
    pub dissector: String,
}

/// A network function and its address in the recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Type of the network function as 3GPP abbreviates it.
    pub function: String,
    /// Address and port.
    pub address: String,
}

/// One TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// The client's SYN.
    pub opened_us: u64,
    /// Type of the network function that was called.
    pub server: String,
    /// By stream, in the order of their HEADERS.
    pub requests: Vec<Request>,
    /// The server's first GOAWAY, when it sent one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goaway: Option<Goaway>,
    /// The first FIN or RST; absent when the capture ended first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
}

/// A GOAWAY frame of the server (RFC 9113 section 6.8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goaway {
    /// Time in microseconds.
    pub at_us: u64,
    /// Last stream that was or might be processed.
    pub last_stream: u32,
    /// Error code; 0 is NO_ERROR.
    pub error: u32,
}

/// The end of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Time of the first FIN or RST, in microseconds.
    pub at_us: u64,
    /// The sender of that segment.
    pub by: End,
    /// FIN or RST.
    pub with: Flag,
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// It opened the connection.
    Client,
    /// It was called.
    Server,
}

/// The TCP flag that ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Flag {
    /// The sender has nothing more to say.
    Fin,
    /// The sender has dropped the connection.
    Rst,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its stream identifier.
    pub stream: u32,
    /// Its HEADERS frame.
    pub sent_us: u64,
    /// Its last frame (END_STREAM).
    pub complete_us: u64,
    /// Type of the network function that asks, where the request names it (`requester-nf-type` of a discovery,
    /// TS 29.510 clause 6.2.3.2.3.1); never guessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// `:method`.
    pub method: String,
    /// `:scheme`.
    pub scheme: String,
    /// `:authority`.
    pub authority: String,
    /// `:path`.
    pub path: String,
    /// The other fields, name and value, in order.
    pub headers: Vec<(String, String)>,
    /// Absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Absent when the server refused the stream unprocessed: a GOAWAY with a smaller last stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Its HEADERS frame.
    pub sent_us: u64,
    /// Its last frame (END_STREAM).
    pub complete_us: u64,
    /// `:status`.
    pub status: u16,
    /// The other fields, name and value, in order.
    pub headers: Vec<(String, String)>,
    /// Absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
}

/// A body, readable where it can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// Text.
    Utf8(String),
    /// Any bytes, two lower-case digits each.
    Hexadecimal(String),
}

impl Body {
    /// `None` for no bytes.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        Some(match String::from_utf8(bytes) {
            Ok(text) => Self::Utf8(text),
            Err(error) => Self::Hexadecimal(HEXLOWER.encode(error.as_bytes())),
        })
    }
}

/// The bytes that hexadecimal digits stand for; `None` when they do not come in pairs or are no digits.
#[must_use]
pub fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    HEXLOWER_PERMISSIVE.decode(hexadecimal.as_bytes()).ok()
}
