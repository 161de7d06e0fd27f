//! A time at which a task is woken.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

/// A timer that is set often and reached rarely: it is moved later only once it has fired, so that
/// no message pays for it.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready once `due` has passed; wakes the task then, or before.
    pub(crate) fn poll(&mut self, due: Instant, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(due.into())));
            if sleep.deadline().into_std() > due {
                sleep.as_mut().reset(due.into());
            }
            ready!(sleep.as_mut().poll(context));
            self.0 = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_alarm_that_is_moved_rings_at_the_last_time() {
        // Milliseconds, later than any machine rings.
        const LATE: u64 = 300_000;
        for moves in [vec![], vec![LATE], vec![5], vec![5, LATE]] {
            let began = Instant::now();
            let after = |milliseconds| began + Duration::from_millis(milliseconds);
            let mut alarm = Alarm::default();
            for milliseconds in moves {
                let _ = poll_fn(|context| Poll::Ready(alarm.poll(after(milliseconds), context))).await;
            }
            poll_fn(|context| alarm.poll(after(20), context)).await;
            let waited = began.elapsed().as_millis();
            assert!((20..u128::from(LATE)).contains(&waited), "{waited}");
        }
    }
}
