//! Work that may be ended from elsewhere.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Wakes a task, and remembers that it did. One thread has all of it; `Wake` demands `Send` and `Sync` all the same, and so the lock and the
/// atomic, which are taken once for a connection's end.
#[derive(Debug)]
struct Bell {
    rung: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        task.wake();
    }
}

/// Does `work` unless `end` comes first, which gives `None`.
///
/// A connection is woken for each piece of data, and its end comes once: so `end` has a waker of its own, and is asked only
/// when that was used. `select!` would ask it every time.
pub(crate) async fn until<W: Future, E: Future>(work: W, end: E) -> Option<W::Output> {
    let (mut work, mut end) = (pin!(work), pin!(end));
    let mut listening: Option<(Arc<Bell>, Waker, Waker)> = None;
    poll_fn(|context| {
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        let (bell, own, known) = listening.get_or_insert_with(|| {
            let bell = Arc::new(Bell {
                rung: AtomicBool::new(true),
                task: Mutex::new(context.waker().clone()),
            });
            (Arc::clone(&bell), Waker::from(bell), context.waker().clone())
        });
        if !known.will_wake(context.waker()) {
            known.clone_from(context.waker());
            bell.task
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(context.waker());
            // Whoever rang in between rang for the task that was before.
        }
        if bell.rung.swap(false, Ordering::AcqRel) && end.as_mut().poll(&mut Context::from_waker(own)).is_ready() {
            return Poll::Ready(None);
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use tokio::sync::Notify;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn the_end_ends_the_work_and_is_not_asked_before_it_calls() {
        let (end, asked, turns) = (Arc::new(Notify::new()), AtomicU32::new(0), AtomicU32::new(0));
        let calling = Arc::clone(&end);
        let work = async {
            for turn in 0.. {
                turns.store(turn, Ordering::Relaxed);
                if turn == 100 {
                    calling.notify_one();
                }
                yield_now().await;
            }
        };
        let mut notified = pin!(end.notified());
        let ending = poll_fn(|context| {
            asked.fetch_add(1, Ordering::Relaxed);
            notified.as_mut().poll(context)
        });
        assert_eq!(until(work, ending).await, None);
        assert_eq!(asked.into_inner(), 2);
        assert_eq!(turns.into_inner(), 100);
    }

    #[tokio::test]
    async fn work_that_is_done_wins() {
        assert_eq!(until(async { 7 }, async {}).await, Some(7));
        assert_eq!(until(std::future::pending::<()>(), async {}).await, None);
    }

    #[tokio::test]
    async fn an_end_reaches_work_that_was_moved_to_another_task() {
        let end = Arc::new(Notify::new());
        let calling = Arc::clone(&end);
        let mut moved = Box::pin(async move { until(std::future::pending::<()>(), end.notified()).await });
        let first = poll_fn(|context| Poll::Ready(moved.as_mut().poll(context).is_pending())).await;
        assert!(first);
        let task = tokio::spawn(moved);
        yield_now().await;
        calling.notify_one();
        assert_eq!(task.await.unwrap(), None);
    }
}
