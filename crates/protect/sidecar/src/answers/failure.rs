//! Why a request or a connection could not be served.

use std::io;

use bartizan_tls::{Reason, Refused};

bartizan_registry::made! {
    /// Why a request or a connection could not be served: for the network function, the log and the metrics alike.
    #[derive(Debug, Clone, thiserror::Error)]
    #[error("{peer}: {why}: {detail}", why = why.as_str())]
    pub(crate) struct Failure,
    pub(crate) new(peer: impl Into<String>, why: Why, detail: impl Into<String>, hint: impl Into<String>) {
        /// The node at the other end, or what was asked for where no node was found.
        pub(crate) peer: String = peer.into(),
        pub(crate) why: Why,
        /// A sentence with names and values.
        pub(crate) detail: String = detail.into(),
        /// Advice for the operator.
        pub(crate) hint: String = hint.into(),
    }
}

/// Kinds of [`Failure`], by whose fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Why {
    /// No protected connection to the peer's sidecar.
    Peer(Reason),
    /// The request names no node this one may talk to.
    NoRoute,
    /// The network function behind the inbound listener does not answer.
    FunctionUnreachable,
    /// The head of the response did not arrive in time.
    RequestTimedOut,
    /// The connection broke while a response was awaited.
    Broken,
    /// The client does not speak HTTP.
    NotHttp,
    /// The request is for a tunnel.
    Connect,
    /// The request cannot be written in the version of HTTP that its producer speaks.
    Unwritable,
    /// A peer, or the process, has as many connections as it may.
    TooMany(&'static str),
    /// An SCTP association ended before its functions ended it.
    Association(&'static str),
}

impl Why {
    /// A word for metrics, logs and ProblemDetails. It never changes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Peer(reason) => reason.as_str(),
            Self::NoRoute => "no-route",
            Self::FunctionUnreachable => "function-unreachable",
            Self::RequestTimedOut => "request-timed-out",
            Self::Broken => "broken",
            Self::NotHttp => "not-http",
            Self::Connect => "connect-method",
            Self::Unwritable => "malformed-request",
            Self::TooMany(word) | Self::Association(word) => word,
        }
    }

    /// Status code and application error of TS 29.500, table 5.2.7.2-1.
    pub(crate) const fn problem(self) -> (u16, &'static str) {
        match self {
            Self::Peer(_) | Self::FunctionUnreachable | Self::Broken => (504, "TARGET_NF_NOT_REACHABLE"),
            Self::NoRoute => (400, "NF_DISCOVERY_FAILURE"),
            Self::RequestTimedOut => (504, "TIMED_OUT_REQUEST"),
            Self::NotHttp | Self::Unwritable => (400, "INVALID_MSG_FORMAT"),
            Self::Connect => (501, "INVALID_MSG_FORMAT"),
            // No request is answered with it.
            Self::TooMany(_) | Self::Association(_) => (504, "TARGET_NF_NOT_REACHABLE"),
        }
    }
}

impl Failure {
    /// A request for a tunnel to `peer`: what would pass it are no requests.
    pub(crate) fn connect(peer: &str) -> Self {
        let hint = "a listener with `path: splice` carries what is not requests";
        Self::new(peer, Why::Connect, "CONNECT is not served", hint)
    }

    /// A request to `peer` that HTTP/1.1 has no words for.
    pub(crate) fn unwritable(peer: &str) -> Self {
        let detail = "the head of the request cannot be written as HTTP/1.1, which the producer speaks";
        let hint = "method, path or host of the request are malformed: see the log of the consumer";
        Self::new(peer, Why::Unwritable, detail, hint)
    }

    /// A connection that `node` cannot take, mostly for want of file descriptors.
    pub(crate) fn untaken(node: &str, what: &str, error: &io::Error) -> Self {
        let hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)";
        Self::new(node, Why::TooMany("accept"), format!("{what}: {error}"), hint)
    }

    /// A handshake with `peer` that was refused.
    pub(crate) fn refused(peer: &str, refused: &Refused) -> Self {
        Self::new(peer, Why::Peer(refused.reason), &refused.detail, &refused.hint)
    }
}
