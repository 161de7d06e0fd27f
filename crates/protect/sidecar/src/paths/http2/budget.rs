//! Memory for data that waits for readers that do not read.

use std::cell::Cell;
use std::rc::Rc;

/// Bytes waiting for all readers together beyond which each reader is held to its share. SBI bodies
/// are some kilobytes; a large discovery has a megabyte.
const TOGETHER: usize = 64 * 1024 * 1024;

bartizan_registry::made! {
    /// Bytes that wait for the readers of one worker's connections.
    #[derive(Debug)]
    pub(crate) struct Budget,
    /// That of each of so many workers. Together they have what one would have: a count that all share would be written by all of them with
    /// each part of a body.
    pub(crate) shared_by(workers: usize) {
        /// Bytes waiting here beyond which each reader is held to its share: this worker's part of
        /// [`TOGETHER`].
        together: usize = TOGETHER.div_ceil(workers.max(1)),
        waiting: Cell<usize> = Cell::new(0),
        /// Number of readers for which data waits.
        readers: Cell<usize> = Cell::new(0),
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::shared_by(1)
    }
}

/// Location of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// Our own network function: if it does not read, that is all there is to know.
    Local,
    /// Behind a peer's sidecar, which knows better who does not read, and has to find it first.
    Remote,
}

/// A reader, whose program may stall: a peer with all its connections, or one connection of the
/// network function.
///
/// Waiting data is charged to the reader that does not take it, not to its sender. A request whose
/// response has not begun is charged to the reader of its response. Together readers
/// may leave [`TOGETHER`] waiting (with several workers, those of each its part of that). Once that
/// is reached each may have an equal share of it, and one that has more loses the streams that have
/// waited for longest. So one with many connections has no more than one with few, and all together
/// have at most twice the bound.
#[derive(Debug)]
pub(crate) struct Reader {
    budget: Rc<Budget>,
    pub(super) location: Location,
    pub(super) waiting: Cell<usize>,
    /// Its own requests that wait for a connection.
    requests: Cell<usize>,
}

/// A request that waits for a connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Place(Rc<Reader>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.requests.set(self.0.requests.get() - 1);
    }
}

/// The body of a request as far as it has come, kept until its response begins. It is charged, with
/// the head, to the reader of that response.
#[derive(Debug)]
pub(super) struct Kept {
    reader: Rc<Reader>,
    head: usize,
    pub(super) body: Vec<u8>,
}

impl Kept {
    /// Charge of a request with a head of so many bytes.
    pub(super) fn new(reader: &Rc<Reader>, head: usize) -> Self {
        reader.changed(0, head);
        Self {
            reader: Rc::clone(reader),
            head,
            body: Vec::new(),
        }
    }

    /// Bytes that are charged for it.
    pub(super) fn size(&self) -> usize {
        self.head + self.body.len()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
        self.reader.changed(0, bytes.len());
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.reader.changed(self.size(), 0);
    }
}

impl Reader {
    pub(crate) fn new(budget: &Rc<Budget>, location: Location) -> Rc<Self> {
        Rc::new(Self {
            location,
            budget: Rc::clone(budget),
            waiting: Cell::new(0),
            requests: Cell::new(0),
        })
    }

    /// A place among the requests of its own that wait for a connection; none where so many do.
    pub(super) fn place(self: &Rc<Self>, at_most: usize) -> Option<Place> {
        let requests = self.requests.get();
        (requests < at_most).then(|| {
            self.requests.set(requests + 1);
            Place(Rc::clone(self))
        })
    }

    /// Distinguishes it from others, for as long as it is there.
    pub(super) fn number(self: &Rc<Self>) -> u64 {
        Rc::as_ptr(self) as usize as u64
    }

    /// Records that `now` bytes wait on one of its connections, `before` until then.
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

    /// Returns true if it has more than its share.
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
