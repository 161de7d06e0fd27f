//! Several futures in one task that wake each other without a trip through the scheduler.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Rounds within one turn. A future that wakes itself in each, as tokio's do when their budget is used up, must not keep the
/// thread from everybody else.
const ROUNDS: u32 = 8;

/// A task whose parts wake each other while it runs. Such a wake means another round in the same turn; one from outside wakes
/// the task.
///
/// In `h2` a response handed to a stream wakes the connection, and a stream that ends wakes it again: with one task per
/// connection that made four turns of each request, where two are enough (counted at breakpoints over 1000 requests).
#[derive(Debug, Default)]
struct Turn {
    running: AtomicBool,
    again: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.running.load(Ordering::SeqCst) {
            self.again.store(true, Ordering::SeqCst);
        } else {
            self.task.wake();
        }
    }
}

/// Polls `round` until it is ready, again at once as long as it wakes itself.
pub(super) async fn in_turns<T>(mut round: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let turn = Arc::new(Turn::default());
    let waker = Waker::from(Arc::clone(&turn));
    poll_fn(|outer| {
        let mut inner = Context::from_waker(&waker);
        turn.task.register(outer.waker());
        turn.running.store(true, Ordering::SeqCst);
        let mut polled = Poll::Pending;
        for _ in 0..ROUNDS {
            turn.again.store(false, Ordering::SeqCst);
            polled = round(&mut inner);
            if polled.is_ready() || !turn.again.load(Ordering::SeqCst) {
                break;
            }
        }
        turn.running.store(false, Ordering::SeqCst);
        // Woken in the last round, or by another thread after it was looked at.
        if turn.again.swap(false, Ordering::SeqCst) {
            outer.waker().wake_by_ref();
        }
        polled
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[tokio::test]
    async fn a_wake_from_within_is_another_round_and_not_another_turn() {
        let mut rounds = 0;
        let turns = AtomicU32::new(0);
        let mut inside = Box::pin(in_turns(|context| {
            rounds += 1;
            if rounds == 4 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        poll_fn(|context| {
            turns.fetch_add(1, Ordering::Relaxed);
            inside.as_mut().poll(context)
        })
        .await;
        drop(inside);
        assert_eq!((rounds, turns.into_inner()), (4, 1));
    }

    #[tokio::test]
    async fn a_future_that_always_wakes_itself_lets_others_run() {
        let other = tokio::spawn(async {});
        let mut rounds = 0;
        in_turns(|context| {
            rounds += 1;
            if other.is_finished() {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        assert!(rounds <= 2 * ROUNDS);
    }

    #[tokio::test]
    async fn a_wake_from_outside_is_not_lost() {
        let (send, mut receive) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            send.send(7).unwrap();
        });
        let got = in_turns(|context| std::pin::Pin::new(&mut receive).poll(context)).await;
        assert_eq!(got, Ok(7));
    }
}
