//! Streams to a network function, by the reader whose requests are on them: its consumers have nothing to do with each other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The streams that readers have.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares(Rc<RefCell<HashMap<u64, usize>>>);

/// A stream of one reader, given back when dropped.
#[derive(Debug)]
pub(super) struct Share {
    shares: Shares,
    owner: u64,
}

impl Shares {
    /// Counts a stream.
    pub(super) fn take(&self, owner: u64) -> Share {
        *self.0.borrow_mut().entry(owner).or_insert(0) += 1;
        Share {
            shares: self.clone(),
            owner,
        }
    }

    /// Tells whether a reader may have one more of `all` streams, of which so many are taken. It may have twice as many as are left: two
    /// thirds where it is alone, so that another finds some however many of its requests wait, and for how long.
    pub(super) fn allow(&self, owner: u64, taken: usize, all: usize) -> bool {
        let own = self.0.borrow().get(&owner).copied().unwrap_or(0);
        own < 2 * all.saturating_sub(taken)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut shares = self.shares.0.borrow_mut();
        if let Some(own) = shares.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                shares.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_readers_before_it_hold_the_next_finds_a_stream() {
        for all in 3..300 {
            let (shares, mut taken) = (Shares::default(), Vec::new());
            for reader in 0..2 {
                let before = taken.len();
                while shares.allow(reader, taken.len(), all) {
                    taken.push(shares.take(reader));
                }
                let own = taken.len() - before;
                assert!(own > 0, "reader {reader} of {all}");
                assert!(reader > 0 || own == (2 * all).div_ceil(3), "{own} of {all}");
            }
            taken.clear();
            assert!(shares.0.borrow().is_empty());
        }
        let shares = Shares::default();
        assert!(shares.allow(0, 0, 1) && !shares.allow(0, 1, 1));
    }
}
