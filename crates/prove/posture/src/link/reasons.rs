//! Reasons, each kept once however many links give it.

use std::collections::HashSet;
use std::sync::Arc;

/// Cost of a reason besides its text: the counts of its `Arc`, its place in the table, an
/// allocator's overhead.
const EACH: usize = 64;
/// Number of reasons from which on unused ones are worth searching for.
const FEW: usize = 1024;

/// The reasons of all links. Some hold numbers of one connection, so there may be as many as links.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    known: HashSet<Arc<str>>,
    bytes: usize,
    /// Number of reasons after the last removal of unused ones.
    in_use: usize,
}

impl Reasons {
    /// The same text, as the one that is kept.
    pub(super) fn one(&mut self, because: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.known.get(because) {
            return Arc::clone(known);
        }
        if self.known.len() >= 2 * self.in_use.max(FEW) {
            self.forget();
        }
        self.bytes += because.len() + EACH;
        self.known.insert(Arc::clone(because));
        Arc::clone(because)
    }

    /// Bytes they hold.
    pub(super) fn held(&self) -> usize {
        self.bytes
    }

    /// Those that no link gives any more go.
    fn forget(&mut self) {
        self.known.retain(|because| Arc::strong_count(because) > 1);
        self.in_use = self.known.len();
        self.bytes = self.known.iter().map(|because| because.len() + EACH).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_given_twice_is_kept_once_and_goes_when_nobody_gives_it() {
        let mut reasons = Reasons::default();
        let first = reasons.one(&"sent unencrypted".into());
        let second = reasons.one(&"sent unencrypted".into());
        assert!(Arc::ptr_eq(&first, &second));
        let held = reasons.held();
        for number in 0..10 * FEW {
            reasons.one(&number.to_string().into());
        }
        assert!(reasons.known.len() <= 2 * FEW, "{}", reasons.known.len());
        assert!(Arc::ptr_eq(&first, &reasons.one(&"sent unencrypted".into())));
        drop((first, second));
        reasons.forget();
        assert!(reasons.held() < held);
    }
}
