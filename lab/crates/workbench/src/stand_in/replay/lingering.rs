//! A socket that stays open for a while after its connection is over, as Go's HTTP/2 server does after a GOAWAY.
//!
//! Closing at once while the peer still sends would make the kernel answer with RST, and the peer might never read
//! the GOAWAY.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// `goAwayTimeout` of Go's net/http.
const LINGER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Lingering {
    /// Taken when this is dropped.
    stream: Option<TcpStream>,
}

impl Lingering {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream: Some(stream) }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream
            .as_mut()
            .map(Pin::new)
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        // Without a runtime the responder itself is going: then the socket closes here.
        if let (Some(mut stream), Ok(runtime)) = (self.stream.take(), Handle::try_current()) {
            runtime.spawn(async move {
                let mut buffer = [0; 1024];
                // Until the peer closes, fails, or the time is over.
                let _ = timeout(LINGER, async {
                    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
                })
                .await;
            });
        }
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    /// No FIN yet: it comes when the lingering is over.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
