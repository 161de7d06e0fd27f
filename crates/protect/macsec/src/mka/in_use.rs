//! The key that MKA has agreed on, and for how long it is in use.

use std::time::{Duration, Instant};

use super::Agreed;
use crate::schedule::{Cause, Notice, Order, Terms};

/// The key in use, where there is one.
#[derive(Debug, Default)]
pub(super) struct InUse(Option<Current>);

#[derive(Debug)]
struct Current {
    agreed: Agreed,
    since: Instant,
    outlived: bool,
}

impl InUse {
    /// The key.
    pub(super) fn agreed(&self) -> Option<&Agreed> {
        self.0.as_ref().map(|current| &current.agreed)
    }

    /// It is no longer in use; whether there was one.
    pub(super) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// The kernel has it, which is noticed where it had another; `cause` says why, and since when it has it.
    pub(super) fn seen(&mut self, agreed: Agreed, cause: impl FnOnce() -> (Cause, Instant)) -> Vec<Order> {
        if let Some(current) = self.0.as_mut().filter(|current| current.agreed.key == agreed.key) {
            current.agreed = agreed;
            return Vec::new();
        }
        let (cause, since) = cause();
        self.0 = Some(Current {
            agreed,
            since,
            outlived: false,
        });
        let (generation, an, key) = (agreed.number(), agreed.an, agreed.key);
        let sends = Notice::Sends {
            generation,
            an,
            key,
            cause,
        };
        vec![
            Order::Notice(sends),
            Order::Notice(Notice::Receives { generation, an, key }),
        ]
    }

    /// How old it is.
    pub(super) fn age(&self, now: Instant) -> Option<Duration> {
        self.0
            .as_ref()
            .map(|current| now.saturating_duration_since(current.since))
    }

    /// That it outlives its policy, once.
    pub(super) fn outlived(&mut self, terms: &Terms, now: Instant) -> Option<Order> {
        let age = self.age(now).filter(|age| *age >= terms.lifetime)?;
        let current = self.0.as_mut().filter(|current| !current.outlived)?;
        current.outlived = true;
        Some(Order::Notice(Notice::Outlived {
            an: current.agreed.an,
            key: current.agreed.key,
            age,
            packets: current.agreed.packets,
        }))
    }
}
