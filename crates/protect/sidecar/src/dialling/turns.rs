//! Taking turns at the beginning of handshakes.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// Awaits a handshake whose hello has come, and begins only one in each round of the runtime.
///
/// The beginning, key exchange and signature, is the work that any unauthenticated client can make a server do. So connections that are
/// established get their turn after each, however many clients send one.
pub(crate) async fn in_turn<F: Future + Unpin>(mut handshake: F) -> F::Output {
    static TURN: Semaphore = Semaphore::const_new(1);
    // It is never closed.
    let turn = TURN.acquire().await;
    let begun = poll_fn(|context| Poll::Ready(Pin::new(&mut handshake).poll(context))).await;
    yield_now().await;
    drop(turn);
    match begun {
        Poll::Ready(output) => output,
        Poll::Pending => handshake.await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn an_established_connection_gets_a_turn_after_each_hello() {
        const CLIENTS: u32 = 50;
        let begun = Arc::new(AtomicU32::new(0));
        for _ in 0..CLIENTS {
            let begun = Arc::clone(&begun);
            tokio::spawn(in_turn(Box::pin(async move {
                begun.fetch_add(1, Ordering::Relaxed);
                std::future::pending::<()>().await;
            })));
        }
        let mut seen = 0;
        while seen < CLIENTS {
            yield_now().await;
            let now = begun.load(Ordering::Relaxed);
            assert!(now <= seen + 1, "{} began at once", now - seen);
            seen = now;
        }
    }
}
