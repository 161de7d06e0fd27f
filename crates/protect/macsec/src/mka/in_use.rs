//! The key that MKA has agreed on.

use super::Agreed;
use crate::schedule::{Cause, Notice, Order};

/// The key in use, where there is one.
#[derive(Debug, Default)]
pub(super) struct InUse(Option<Agreed>);

impl InUse {
    /// The key.
    pub(super) fn agreed(&self) -> Option<&Agreed> {
        self.0.as_ref()
    }

    /// It is no longer in use; whether there was one.
    pub(super) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// The kernel has it, which is noticed where it had another; `cause` says why.
    pub(super) fn seen(&mut self, agreed: Agreed, cause: Cause) -> Vec<Order> {
        let before = self.0.replace(agreed);
        if before.is_some_and(|before| before.key == agreed.key) {
            return Vec::new();
        }
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
}
