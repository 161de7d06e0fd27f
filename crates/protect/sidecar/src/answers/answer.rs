//! An answer in the place of a peer, in the protocol the local side speaks.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::answers::failure::Failure;
use crate::answers::problem::Problem;
use crate::metrics::Side;
use crate::paths::http2::{self, Version};
use crate::shared::Shared;

/// Longest time for a consumer to receive its answer and close.
const PATIENCE: Duration = Duration::from_secs(5);
/// The beginning of HTTP/2 (RFC 9113, section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Protocol of a connection, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Too little was read.
    Undecided,
    /// HTTP/2 with prior knowledge.
    Http2,
    /// An HTTP/1 request line.
    Http1,
    /// Neither.
    Other,
}

impl Protocol {
    /// The version of HTTP, where it is that.
    pub(crate) fn version(self) -> Option<Version> {
        match self {
            Self::Http1 => Some(Version::Http1),
            Self::Http2 => Some(Version::Http2),
            Self::Undecided | Self::Other => None,
        }
    }

    pub(crate) fn of(first: &[u8]) -> Self {
        let shared = first.len().min(PREFACE.len());
        if first[..shared] == PREFACE[..shared] {
            return if shared == PREFACE.len() {
                Self::Http2
            } else {
                Self::Undecided
            };
        }
        // One empty line before the request is passed over (RFC 9112, section 2.2).
        let first = match first {
            b"\r" => return Self::Undecided,
            [b'\r', b'\n', rest @ ..] => rest,
            _ => first,
        };
        // The longest method in use, PROPPATCH, has nine letters.
        let method = first.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        match first.get(method) {
            _ if method > 16 => Self::Other,
            Some(b' ') if method > 0 => Self::Http1,
            None => Self::Undecided,
            Some(_) => Self::Other,
        }
    }
}

/// Answers the local side of a connection, whose first bytes were `first`, with ProblemDetails where it speaks HTTP; closes it
/// where it does not.
pub(crate) async fn answer<IO>(shared: &Arc<Shared>, side: Side, stream: IO, first: Vec<u8>, failure: &Failure)
where
    IO: AsyncRead + AsyncWrite + Unpin + 'static,
{
    shared.failure_log.log("answered in place of the producer", failure);
    let node = shared.node.as_str();
    let answered = match Protocol::of(&first) {
        Protocol::Http2 => {
            let answering = http2::refuse(shared, side, stream, first, failure);
            let answered = timeout(PATIENCE, answering).await.map_err(io::Error::from);
            answered.map(|answered| answered.map_err(io::Error::other))
        }
        Protocol::Http1 => {
            shared.metrics.problem(side, &failure.peer, failure.why.as_str());
            let problem = Problem::of(failure).http1(node);
            timeout(PATIENCE, http1(stream, &problem))
                .await
                .map_err(io::Error::from)
        }
        Protocol::Undecided | Protocol::Other => Ok(Ok(())),
    };
    if let Ok(Err(error)) | Err(error) = answered {
        tracing::debug!(%error, "local side did not take its answer");
    }
}

async fn http1<IO: AsyncRead + AsyncWrite + Unpin>(mut stream: IO, answer: &[u8]) -> io::Result<()> {
    stream.write_all(answer).await?;
    stream.shutdown().await?;
    // Closing with bytes unread would reset the connection under the answer.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn protocols_are_distinguished_by_their_first_bytes() {
        assert_eq!(Protocol::of(b""), Protocol::Undecided);
        assert_eq!(Protocol::of(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r"), Protocol::Undecided);
        assert_eq!(Protocol::of(&[PREFACE, b"\0\0\0\x04"].concat()), Protocol::Http2);
        assert_eq!(Protocol::of(b"P"), Protocol::Undecided);
        assert_eq!(Protocol::of(b"POST /"), Protocol::Http1);
        assert_eq!(Protocol::of(b"PRI x"), Protocol::Http1);
        assert_eq!(Protocol::of(b"\x16\x03\x01"), Protocol::Other);
        assert_eq!(Protocol::of(b" GET"), Protocol::Other);
        assert_eq!(Protocol::of(b"\r"), Protocol::Undecided);
        assert_eq!(Protocol::of(b"\r\n"), Protocol::Undecided);
        assert_eq!(Protocol::of(b"\r\nGET /"), Protocol::Http1);
        assert_eq!(Protocol::of(b"\r\n\r\nGET /"), Protocol::Other);
        assert_eq!(Protocol::of(b"\nGET /"), Protocol::Other);
    }

    proptest! {
        #[test]
        fn more_bytes_never_change_a_decision(bytes in proptest::collection::vec(any::<u8>(), 0..40), cut in 0_usize..40) {
            let early = Protocol::of(&bytes[..cut.min(bytes.len())]);
            if early != Protocol::Undecided {
                prop_assert_eq!(Protocol::of(&bytes), early);
            }
        }
    }
}
