//! Why a request or a connection could not be served.

use std::io;
use std::net::SocketAddr;

use bartizan_tls::{Reason, Refused};
use nix::errno::Errno;

const OPEN_FILES: &str = "raise the limit of open files (ulimit -n, LimitNOFILE=)";

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
        Self::new(node, Why::TooMany("accept"), format!("{what}: {error}"), OPEN_FILES)
    }

    /// A dial of `peer` that has failed: by a fault of this host, or for this reason with this hint.
    pub(crate) fn undialled(
        peer: &str,
        (address, error): (SocketAddr, &io::Error),
        why: Why,
        hint: impl Into<String>,
    ) -> Self {
        let detail = format!("{address}: {error}");
        match lack(error) {
            Some(lack) => Self::new(peer, Why::Peer(Reason::Ours), detail, lack),
            None => Self::new(peer, why, detail, hint),
        }
    }

    /// A handshake with `peer` that was refused.
    pub(crate) fn refused(peer: &str, refused: &Refused) -> Self {
        Self::new(peer, Why::Peer(refused.reason), &refused.detail, &refused.hint)
    }
}

/// Hint where this host lacks something for one more socket.
fn lack(error: &io::Error) -> Option<&'static str> {
    match Errno::from_raw(error.raw_os_error()?) {
        Errno::EMFILE => Some(OPEN_FILES),
        Errno::ENFILE => Some("raise the limit of open files of this host (sysctl fs.file-max)"),
        Errno::ENOBUFS | Errno::ENOMEM => Some("give this host, or the sidecar's control group, more memory"),
        Errno::EADDRNOTAVAIL => Some("give this host more local ports (sysctl net.ipv4.ip_local_port_range)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peer was said to be unreachable.
    #[test]
    fn what_this_host_lacks_for_a_dial_is_no_fault_of_the_peer() {
        let address = SocketAddr::from(([192, 0, 2, 1], 443));
        for (error, is_ours) in [
            (Errno::EMFILE, true),
            (Errno::ENFILE, true),
            (Errno::ENOBUFS, true),
            (Errno::ENOMEM, true),
            (Errno::EADDRNOTAVAIL, true),
            (Errno::ECONNREFUSED, false),
            (Errno::EHOSTUNREACH, false),
        ] {
            for why in [Why::Peer(Reason::Unreachable), Why::FunctionUnreachable] {
                let failure = Failure::undialled("nrf", (address, &error.into()), why, "is it running?");
                let expected = if is_ours { Why::Peer(Reason::Ours) } else { why };
                assert_eq!(
                    (failure.why, failure.hint == "is it running?"),
                    (expected, !is_ours),
                    "{error}"
                );
                assert!(failure.detail.starts_with("192.0.2.1:443: "), "{}", failure.detail);
            }
        }
    }
}
