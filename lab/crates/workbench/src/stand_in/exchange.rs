//! A recorded exchange between network functions: connections, requests, answers, and when each happened.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

pub mod file;

/// More than this many bytes are not read: the exchange of two registrations has a tenth of a megabyte.
const LARGEST_FILE: u64 = 256 << 20;

/// All requests and answers, by connection in the order of opening. Times count from the first
/// packet of the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    description: String,
    connections: Vec<Connection>,
}

/// One TCP connection and what was said on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// Time of the client's SYN.
    pub opened: Duration,
    /// The network function that was called, by its type as 3GPP abbreviates it (`NRF`).
    pub server: String,
    /// Time of the first FIN or RST; `None` if the recording ended before.
    pub closed: Option<Duration>,
    /// In the order in which they were sent.
    pub requests: Vec<Request>,
}

/// One request, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Time of its HEADERS frame.
    pub sent: Duration,
    /// Time of its last frame.
    pub complete: Duration,
    /// The type of the network function that asks, where the request itself names it.
    pub consumer: Option<String>,
    /// `:method`.
    pub method: Method,
    /// `:scheme`.
    pub scheme: Scheme,
    /// `:authority`.
    pub authority: Authority,
    /// `:path`.
    pub path: PathAndQuery,
    /// The other fields, in order.
    pub headers: HeaderMap,
    /// Empty when there was none.
    pub body: Bytes,
    /// The answer; `None` when the server refused the stream unprocessed, by a GOAWAY whose last stream is before it
    /// (RFC 9113 section 6.8). The client then asks again on another connection, which is another request here.
    pub answer: Option<Answer>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Time of its HEADERS frame.
    pub sent: Duration,
    /// Time of its last frame.
    pub complete: Duration,
    /// `:status`.
    pub status: StatusCode,
    /// The other fields, in order.
    pub headers: HeaderMap,
    /// Empty when there was none.
    pub body: Bytes,
}

impl Request {
    /// The server's processing time: from the end of the request to the begin of the answer.
    #[must_use]
    pub fn think(&self) -> Option<Duration> {
        // A server may answer before it has read everything.
        self.answer
            .as_ref()
            .map(|answer| answer.sent.saturating_sub(self.complete))
    }
}

/// Reason why a file is not an exchange.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is larger than any exchange.
    #[error("{path}: larger than {} MB", LARGEST_FILE >> 20)]
    TooLarge {
        /// The file.
        path: String,
    },
    /// The text is not JSON of this shape.
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    /// The shape is of a version we do not know.
    #[error("schema `{found}`, expected `{}`", file::SCHEMA)]
    Schema {
        /// Schema that the file declares.
        found: String,
    },
    /// A value cannot be.
    #[error("{place}: {reason}")]
    Value {
        /// Connection and request, counted from 0.
        place: String,
        /// Description of the fault.
        reason: String,
    },
}

impl Exchange {
    /// Reads an exchange from a file of the form that [`mod@file`] describes.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, or is not of that form.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let shown = || path.display().to_string();
        let unreadable = |source| Error::Unreadable { path: shown(), source };
        let mut text = String::new();
        let file = fs::File::open(path).map_err(unreadable)?;
        file.take(LARGEST_FILE + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if text.len() as u64 > LARGEST_FILE {
            return Err(Error::TooLarge { path: shown() });
        }
        Self::parse(&text)
    }

    /// The two registrations that Bartizan brings along:
    /// `lab/experiments/ue-registration/exchange.json`.
    #[must_use]
    pub fn two_registrations() -> Self {
        Self::parse(include_str!("../../../../experiments/ue-registration/exchange.json"))
            .expect("the file is part of the program and a test reads it")
    }

    /// Reads an exchange from text of the form that [`mod@file`] describes.
    ///
    /// # Errors
    ///
    /// Fails if it is not of that form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: file::File = serde_json::from_str(text)?;
        if file.schema != file::SCHEMA {
            return Err(Error::Schema { found: file.schema });
        }
        let mut connections = Vec::with_capacity(file.connections.len());
        for (number, connection) in file.connections.into_iter().enumerate() {
            let mut requests = Vec::with_capacity(connection.requests.len());
            for (index, request) in connection.requests.into_iter().enumerate() {
                let place = || format!("connection {number}, request {index}");
                requests.push(request_of(request).map_err(|reason| Error::Value { place: place(), reason })?);
            }
            connections.push(Connection {
                opened: Duration::from_micros(connection.opened_us),
                server: connection.server,
                closed: connection.closed.map(|closed| Duration::from_micros(closed.at_us)),
                requests,
            });
        }
        Ok(Self {
            description: file.source.description,
            connections,
        })
    }

    /// One-sentence description of the recording.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The connections, in the order in which they were opened.
    #[must_use]
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// The same without the connections that were opened later, to play only the beginning.
    #[must_use]
    pub fn opened_before(mut self, end: Duration) -> Self {
        self.connections.retain(|connection| connection.opened < end);
        self
    }

    /// The network functions that were called, each once, sorted.
    #[must_use]
    pub fn servers(&self) -> Vec<&str> {
        let mut servers: Vec<&str> = self
            .connections
            .iter()
            .map(|connection| connection.server.as_str())
            .collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// Every request with the network function it went to, by connection.
    pub fn requests(&self) -> impl Iterator<Item = (&str, &Request)> {
        self.connections.iter().flat_map(|connection| {
            connection
                .requests
                .iter()
                .map(|request| (connection.server.as_str(), request))
        })
    }
}

fn request_of(request: file::Request) -> Result<Request, String> {
    Ok(Request {
        sent: Duration::from_micros(request.sent_us),
        complete: Duration::from_micros(request.complete_us),
        consumer: request.consumer,
        method: parsed("method", &request.method)?,
        scheme: parsed("scheme", &request.scheme)?,
        authority: parsed("authority", &request.authority)?,
        path: parsed("path", &request.path)?,
        headers: headers_of(&request.headers)?,
        body: body_of(request.body)?,
        answer: request.answer.map(answer_of).transpose()?,
    })
}

fn answer_of(answer: file::Answer) -> Result<Answer, String> {
    Ok(Answer {
        sent: Duration::from_micros(answer.sent_us),
        complete: Duration::from_micros(answer.complete_us),
        status: StatusCode::from_u16(answer.status).map_err(|error| format!("status {}: {error}", answer.status))?,
        headers: headers_of(&answer.headers)?,
        body: body_of(answer.body)?,
    })
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(what: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error| format!("{what} `{}`: {error}", text.escape_debug()))
}

fn headers_of(fields: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(fields.len().min(1024));
    for (name, value) in fields {
        let name: HeaderName = parsed("header name", name)?;
        let value: HeaderValue = parsed("header value", value)?;
        // `try_append`: a map has room for 32768 fields only.
        headers.try_append(name, value).map_err(|error| error.to_string())?;
    }
    Ok(headers)
}

fn body_of(body: Option<file::Body>) -> Result<Bytes, String> {
    match body {
        None => Ok(Bytes::new()),
        Some(file::Body::Utf8(text)) => Ok(text.into()),
        Some(file::Body::Hexadecimal(text)) => file::bytes(&text)
            .map(Bytes::from)
            .ok_or_else(|| "body: not hexadecimal bytes".to_owned()),
    }
}

#[cfg(test)]
mod tests;
