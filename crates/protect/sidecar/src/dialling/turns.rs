//! Taking turns at the beginning of handshakes.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::sleep;

/// Awaits a handshake whose hello has come, and begins only one in each round of the runtime.
///
/// The beginning, key exchange and signature, is the work that any unauthenticated client can make a server do. So connections that are
/// established get their turn after each, however many clients send one. Each thread has turns of its
/// own: one of low priority holds up no other.
pub(crate) async fn in_turn<F: Future + Unpin>(mut handshake: F) -> F::Output {
    thread_local! {
        static TURN: Arc<Semaphore> = Arc::new(Semaphore::new(1));
    }
    // It is never closed.
    let turn = TURN.with(Arc::clone).acquire_owned().await;
    let begun = poll_fn(|context| Poll::Ready(Pin::new(&mut handshake).poll(context))).await;
    yield_now().await;
    drop(turn);
    match begun {
        Poll::Ready(output) => output,
        Poll::Pending => handshake.await,
    }
}

/// Interval between beginnings of handshakes that can wait: less than a tenth of a processor.
const PACE: Duration = Duration::from_millis(5);

/// Turns of handshakes that can wait, because many fail: one begins in each interval, however long
/// the others take.
#[derive(Debug)]
pub(crate) struct Late(Semaphore);

impl Default for Late {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

impl Late {
    /// Awaits a handshake, which begins in its turn.
    pub(crate) async fn in_turn<F: Future>(&self, handshake: F) -> F::Output {
        // It is never closed.
        let turn = self.0.acquire().await;
        let pace = async {
            sleep(PACE).await;
            drop(turn);
        };
        tokio::join!(handshake, pace).0
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_thread_that_gets_no_processor_holds_up_no_other() {
        let (begun, seen) = std::sync::mpsc::channel();
        let (go_on, waits) = std::sync::mpsc::channel::<()>();
        let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
        let slow = std::thread::spawn(move || {
            let handshake = Box::pin(async move {
                begun.send(()).unwrap();
                waits.recv().unwrap();
            });
            runtime().block_on(in_turn(handshake));
        });
        seen.recv().unwrap();
        runtime().block_on(in_turn(Box::pin(async {})));
        go_on.send(()).unwrap();
        slow.join().unwrap();
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_late_handshake_that_says_nothing_holds_up_no_other() {
        let late = Arc::new(Late::default());
        for _ in 0..10 {
            let late = Arc::clone(&late);
            tokio::spawn(async move { late.in_turn(std::future::pending::<()>()).await });
        }
        yield_now().await;
        let began = tokio::time::Instant::now();
        late.in_turn(async {}).await;
        assert!(began.elapsed() <= 12 * PACE);
    }
}
