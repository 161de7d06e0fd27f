//! Results of a replay: raw records, and differences from the recording.

use std::fmt;
use std::time::Duration;

use bartizan_estimators::Summary;
use serde::Serialize;

/// Result of a replay.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outcome {
    /// Every request that was answered as recorded, by connection.
    pub requests: Vec<RequestRecord>,
    /// Every connection that was opened, those for second attempts included.
    pub connections: Vec<ConnectionRecord>,
    /// Every request or connection that was not as recorded.
    pub faults: Vec<Fault>,
    /// From the first connection to the end of the last, in microseconds.
    pub duration_us: f64,
}

/// A request that was answered as recorded. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestRecord {
    /// Number of its connection in the exchange.
    pub connection: usize,
    /// Its number on that connection.
    pub request: usize,
    /// The network function that was called.
    pub server: String,
    /// The network function that called, where the request names it.
    pub consumer: Option<String>,
    /// `:method`.
    pub method: String,
    /// `:path`, with its query.
    pub path: String,
    /// `:status` of the answer.
    pub status: u16,
    /// Time of the last attempt, since the begin.
    pub sent_us: f64,
    /// From handing it over until the last byte of its answer, at its last attempt.
    pub latency_us: f64,
    /// Processing time of the recorded network function. Part of the latency if the responder waits
    /// for it too.
    pub think_us: f64,
    /// Attempts that the server refused unprocessed.
    pub refused: u32,
}

/// A connection that was opened. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionRecord {
    /// Its number in the exchange.
    pub connection: usize,
    /// The network function that was called.
    pub server: String,
    /// True if it was opened only because a request on another connection was refused.
    pub again: bool,
    /// Time at which its opening began, since the begin.
    pub opened_us: f64,
    /// From the begin of the TCP handshake until a request could be sent.
    pub setup_us: f64,
}

/// A difference from the recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Number of the connection in the exchange.
    pub connection: usize,
    /// The network function that was called.
    pub server: String,
    /// The request as method and path; `None` for the connection itself.
    pub request: Option<String>,
    /// Description of the fault.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            connection,
            server,
            request,
            what,
        } = self;
        match request {
            Some(request) => write!(f, "{server}, connection {connection}, {request}: {what}"),
            None => write!(f, "{server}, connection {connection}: {what}"),
        }
    }
}

impl Outcome {
    /// True if everything was as recorded.
    #[must_use]
    pub fn clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Latencies in microseconds; `None` when nothing was answered.
    #[must_use]
    pub fn latency(&self) -> Option<Summary> {
        Summary::of(self.requests.iter().map(|request| request.latency_us))
    }

    /// Latencies without the time that the recorded network functions thought, in microseconds: what a responder that
    /// thinks as recorded leaves to the way between, and its own work.
    #[must_use]
    pub fn latency_without_think(&self) -> Option<Summary> {
        Summary::of(
            self.requests
                .iter()
                .map(|request| request.latency_us - request.think_us),
        )
    }

    /// Times to open a connection in microseconds; `None` when none was opened.
    #[must_use]
    pub fn setup(&self) -> Option<Summary> {
        Summary::of(self.connections.iter().map(|connection| connection.setup_us))
    }
}

/// The unit of every record.
pub(super) fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
