//! Waiting for a moment more exactly than the runtime does.
//!
//! The timer of tokio counts in milliseconds and rounds up; what is measured here are tens of microseconds. A thread
//! of its own waits on a futex instead, which the kernel wakes within its timer slack (50 microseconds by default).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use tokio::sync::oneshot;

/// A way to the thread that waits; it ends with the last clone.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    orders: mpsc::Sender<Order>,
}

#[derive(Debug)]
struct Order {
    moment: Instant,
    /// Orders for one moment are served in the order in which they came.
    number: u64,
    wake: oneshot::Sender<()>,
}

impl Clock {
    pub(super) fn start() -> io::Result<Self> {
        let (orders, incoming) = mpsc::channel();
        thread::Builder::new()
            .name("clock".to_owned())
            .spawn(move || serve(&incoming))?;
        Ok(Self { orders })
    }

    /// Returns at `moment`, or at once when it is over.
    pub(super) async fn until(&self, moment: Instant) {
        if moment <= Instant::now() {
            return;
        }
        let (wake, woken) = oneshot::channel();
        if self
            .orders
            .send(Order {
                moment,
                number: 0,
                wake,
            })
            .is_ok()
        {
            // The thread ends only when no clock is left. Then nothing waits for it.
            let _ = woken.await;
        }
    }
}

fn serve(incoming: &mpsc::Receiver<Order>) {
    let mut waiting: BinaryHeap<Reverse<Order>> = BinaryHeap::new();
    let mut number = 0;
    loop {
        // Orders that came while this thread was not scheduled are served in the order of their
        // times too.
        while let Ok(order) = incoming.try_recv() {
            number += 1;
            waiting.push(Reverse(Order { number, ..order }));
        }
        let now = Instant::now();
        while waiting.peek().is_some_and(|Reverse(order)| order.moment <= now) {
            if let Some(Reverse(order)) = waiting.pop() {
                // A waiter that has given up need not be notified.
                let _ = order.wake.send(());
            }
        }
        let order = match waiting.peek() {
            Some(Reverse(next)) => incoming.recv_timeout(next.moment.saturating_duration_since(Instant::now())),
            None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(order) => {
                number += 1;
                waiting.push(Reverse(Order { number, ..order }));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        (self.moment, self.number) == (other.moment, other.number)
    }
}

impl Eq for Order {}

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Order {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.moment, self.number).cmp(&(other.moment, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn moments_come_in_order_and_never_early() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let clock = Clock::start().unwrap();
            // A wait for a time in the past returns at once. A machine that was busy until then
            // proves nothing.
            for tried in 1.. {
                let first = Instant::now() + Duration::from_millis(100 * tried);
                let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
                let mut asking = Vec::new();
                for milliseconds in [6, 2, 4, 0] {
                    let (clock, sender) = (clock.clone(), sender.clone());
                    asking.push(tokio::spawn(async move {
                        let moment = first + Duration::from_millis(milliseconds);
                        clock.until(moment).await;
                        assert!(Instant::now() >= moment);
                        sender.send(milliseconds).unwrap();
                    }));
                }
                drop(sender);
                // Tasks are begun in the order in which they were spawned: by now all have asked.
                let all_asked = tokio::spawn(async { Instant::now() }).await.unwrap();
                let mut arrived = Vec::new();
                while let Some(milliseconds) = order.recv().await {
                    arrived.push(milliseconds);
                }
                for one in asking {
                    one.await.unwrap();
                }
                if all_asked < first {
                    assert_eq!(arrived, [0, 2, 4, 6]);
                    return;
                }
                assert_eq!(arrived.len(), 4);
                assert!(tried < 50, "a machine on which nothing comes in time");
            }
        });
    }
}
