//! What may wait in memory for readers that do not read.

use std::cell::Cell;
use std::rc::Rc;

/// What waits for all readers together beyond which nobody may have more than his share. SBI bodies are some kilobytes; a large
/// discovery has a megabyte.
const TOGETHER: usize = 64 * 1024 * 1024;

/// What waits for the readers of one worker's connections.
#[derive(Debug)]
pub(crate) struct Budget {
    /// What may wait here before nobody may have more than his share: this worker's part of [`TOGETHER`].
    together: usize,
    waiting: Cell<usize>,
    /// Those for whom something waits.
    readers: Cell<usize>,
}

impl Budget {
    /// That of each of so many workers. Together they have what one would have: a count that all share would be written by all of them with
    /// each part of a body.
    pub(crate) fn shared_by(workers: usize) -> Self {
        Self {
            together: TOGETHER.div_ceil(workers.max(1)),
            waiting: Cell::new(0),
            readers: Cell::new(0),
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::shared_by(1)
    }
}

/// Where a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// Our own network function: if it does not read, that is all there is to know.
    Local,
    /// Behind a peer's sidecar, which knows better who does not read, and has to find it first.
    Remote,
}

/// One whose program reads, or does not: a peer with all its connections, or one connection of the network function.
///
/// What waits is charged to the one who does not take it, whoever sent it. Together readers may leave [`TOGETHER`] waiting (where there are several workers, those of each its part of that); once that is
/// reached each may have an equal share of it, and one that has more loses the streams that have waited for longest. So one with many
/// connections has no more than one with few, and what all have is at most twice the bound.
#[derive(Debug)]
pub(crate) struct Reader {
    budget: Rc<Budget>,
    pub(super) location: Location,
    waiting: Cell<usize>,
}

impl Reader {
    pub(crate) fn new(budget: &Rc<Budget>, location: Location) -> Rc<Self> {
        Rc::new(Self {
            location,
            budget: Rc::clone(budget),
            waiting: Cell::new(0),
        })
    }

    /// What waits on one of its connections was `before` and is `now`, in bytes.
    pub(super) fn changed(&self, before: usize, now: usize) {
        if before == now {
            return;
        }
        let shift = |waiting: usize| (waiting + now).saturating_sub(before);
        let (own, budget) = (self.waiting.get(), &self.budget);
        self.waiting.set(shift(own));
        budget.waiting.set(shift(budget.waiting.get()));
        match (own, self.waiting.get()) {
            (0, 1..) => budget.readers.set(budget.readers.get() + 1),
            (1.., 0) => budget.readers.set(budget.readers.get() - 1),
            _ => {}
        }
    }

    /// Whether it has more than it may.
    pub(super) fn is_over(&self) -> bool {
        let budget = &self.budget;
        budget.waiting.get() > budget.together && self.waiting.get() > budget.together / (budget.readers.get() + 1)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.changed(self.waiting.get(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_leaves_much_waiting_is_over_its_share_and_one_that_leaves_little_is_not() {
        let budget = Rc::default();
        let [much, little] = [(); 2].map(|()| Reader::new(&budget, Location::Local));
        much.changed(0, TOGETHER);
        assert!(!much.is_over());
        little.changed(0, 1000);
        assert!(much.is_over() && !little.is_over());
        much.changed(TOGETHER, TOGETHER / 4);
        assert!(!much.is_over());
        drop((much, little));
        assert_eq!((budget.waiting.get(), budget.readers.get()), (0, 0));
    }

    #[test]
    fn two_workers_may_have_no_more_together_than_one() {
        let budgets = [(); 2].map(|()| Rc::new(Budget::shared_by(2)));
        let readers = budgets.each_ref().map(|budget| Reader::new(budget, Location::Local));
        for reader in &readers {
            reader.changed(0, TOGETHER / 2);
            assert!(!reader.is_over());
            reader.changed(TOGETHER / 2, TOGETHER / 2 + 1);
            assert!(reader.is_over());
        }
    }

    #[test]
    fn however_many_readers_there_are_they_have_at_most_twice_the_bound() {
        for readers in [1, 2, 7, 100, 1000] {
            let budget = Rc::<Budget>::default();
            let all: Vec<_> = (0..readers).map(|_| Reader::new(&budget, Location::Local)).collect();
            for step in 0..20 * readers {
                let reader = &all[step % readers];
                let now = reader.waiting.get();
                if !reader.is_over() {
                    reader.changed(now, now + TOGETHER / 8);
                }
                while reader.is_over() {
                    let now = reader.waiting.get();
                    reader.changed(now, now.saturating_sub(TOGETHER / 64));
                }
            }
            assert!(budget.waiting.get() <= 2 * TOGETHER + TOGETHER / 8, "{readers}");
        }
    }
}
