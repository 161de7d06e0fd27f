//! Times at which a loop wakes tasks.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{Reactor, lock, now};

/// Wakes a task at a time, which is moved later only when it is due: of the times that an association sets, few are reached.
#[derive(Debug)]
pub(crate) struct Alarm {
    reactor: Reactor,
    number: u64,
    armed: Option<Instant>,
}

impl Alarm {
    pub(crate) fn of(reactor: &Reactor) -> Self {
        Self {
            reactor: reactor.clone(),
            number: reactor.number(),
            armed: None,
        }
    }

    /// Whether it is this time. Where it is not, the task is woken then or before.
    pub(crate) fn poll(&mut self, due: Instant, context: &Context<'_>) -> Poll<()> {
        let now = now();
        if due <= now {
            return Poll::Ready(());
        }
        if self.armed.is_none_or(|armed| armed > due || armed <= now) {
            self.disarm();
            let waker = context.waker().clone();
            lock(&self.reactor.0.alarms).insert((due, self.number), waker);
            self.armed = Some(due);
            self.reactor.ring();
        }
        Poll::Pending
    }

    fn disarm(&mut self) {
        if let Some(armed) = self.armed.take() {
            lock(&self.reactor.0.alarms).remove(&(armed, self.number));
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.disarm();
    }
}

/// Does this, for no longer than so long: then none.
pub(crate) async fn within<W: Future>(reactor: &Reactor, time: Duration, work: W) -> Option<W::Output> {
    let (mut alarm, due) = (Alarm::of(reactor), now() + time);
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => alarm.poll(due, context).map(|()| None),
    })
    .await
}
