//! Connections of an HTTP endpoint that anybody may reach: bounded, and none of them keeps others away for long.
//!
//! A connection costs whoever opens it nothing, and probes of the kubelet wait for seconds only. So where no place is left, the connection
//! that has asked for nothing the longest gives its place to a new one; where all have asked, the oldest does.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep};

/// What has just connected is about to ask.
const ABOUT_TO_ASK: Duration = Duration::from_millis(100);
/// An answer has left by then, unless whoever asked does not read it.
const ANSWERED: Duration = Duration::from_secs(1);

/// The connections that are open.
#[derive(Debug)]
pub struct Connections {
    places: Arc<Semaphore>,
    /// The oldest first; some may have ended.
    open: VecDeque<One>,
    most: usize,
}

#[derive(Debug)]
struct One {
    since: Instant,
    asked: Arc<AtomicBool>,
    evict: oneshot::Sender<()>,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    _permit: Option<OwnedSemaphorePermit>,
    asked: Arc<AtomicBool>,
    evicted: oneshot::Receiver<()>,
}

impl Connections {
    /// At most so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most)),
            open: VecDeque::new(),
            most,
        }
    }

    /// A place for a connection that has come.
    pub async fn place(&mut self) -> Place {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                break Some(permit);
            }
            if self.evict().await {
                // Nobody closes it.
                break Arc::clone(&self.places).acquire_owned().await.ok();
            }
        };
        if self.open.len() >= 2 * self.most {
            self.open.retain(|one| !one.evict.is_closed());
        }
        let asked = Arc::new(AtomicBool::new(false));
        let (evict, evicted) = oneshot::channel();
        self.open.push_back(One {
            since: Instant::now(),
            asked: Arc::clone(&asked),
            evict,
        });
        Place {
            _permit: permit,
            asked,
            evicted,
        }
    }

    /// Ends one, and says so; or waits until one may be ended.
    async fn evict(&mut self) -> bool {
        self.open.retain(|one| !one.evict.is_closed());
        let silent = self.open.iter().position(|one| !one.asked.load(Ordering::Relaxed));
        let (place, patience) = match silent {
            Some(place) => (place, ABOUT_TO_ASK),
            None => (0, ANSWERED),
        };
        let left = self
            .open
            .get(place)
            .map(|one| patience.saturating_sub(one.since.elapsed()));
        match left {
            Some(left) if left.is_zero() => self.open.remove(place).is_some_and(|one| one.evict.send(()).is_ok()),
            left => {
                sleep(left.unwrap_or(ABOUT_TO_ASK)).await;
                false
            }
        }
    }
}

impl Place {
    /// To be raised when the connection has asked for something.
    #[must_use]
    pub fn asked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Until another connection has its place.
    pub async fn evicted(&mut self) {
        if (&mut self.evicted).await.is_err() {
            pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn what_has_not_asked_makes_room_first_and_then_the_oldest() {
        let mut connections = Connections::new(2);
        let [mut asked, mut silent] = [connections.place().await, connections.place().await];
        asked.asked().store(true, Ordering::Relaxed);
        let ends = tokio::spawn(async move { silent.evicted().await });
        let third = connections.place().await;
        assert!(ends.is_finished());
        third.asked().store(true, Ordering::Relaxed);
        let ends = tokio::spawn(async move { asked.evicted().await });
        let _fourth = connections.place().await;
        assert!(ends.is_finished());
        // What ends by itself leaves its place.
        drop(third);
        let _fifth = connections.place().await;
    }
}
