//! Where records wait for the thread that writes them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::record::Record;

/// Records that may wait for the disk; beyond it they are counted as lost rather than slowing a handshake.
const AT_MOST: usize = 8192;
/// Records written, and synced, at once.
const BATCH: usize = 256;

/// Records on their way to the disk, in order.
///
/// Waking a thread costs a system call, and on a busy processor the turn of whoever called. So the writer is woken for the first
/// record after a pause and for a full batch; whatever comes in between waits with the first, for as long as the writer's
/// patience lasts.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    worth_waking: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    records: VecDeque<Record>,
    closed: bool,
}

/// What came of handing a record over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    /// It waits, and the writer sleeps on.
    Over,
    /// It waits, and the writer was woken.
    WithAWake,
    /// There was no room, or nobody writes any more.
    Lost,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a record over. The lock is held for moving records alone, never for writing them.
    pub(crate) fn put(&self, record: Record) -> Handed {
        let mut waiting = self.lock();
        if waiting.closed || waiting.records.len() >= AT_MOST {
            return Handed::Lost;
        }
        waiting.records.push_back(record);
        let count = waiting.records.len();
        drop(waiting);
        if count != 1 && count != BATCH {
            return Handed::Over;
        }
        self.worth_waking.notify_one();
        Handed::WithAWake
    }

    /// Ends the queue: what waits is still taken, nothing more comes in.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.worth_waking.notify_one();
    }

    /// The next batch, into `batch`: waits for a first record without bound, then for others for as long as `patience`. False once
    /// the queue has ended and nothing is left in it.
    pub(crate) fn take(&self, batch: &mut Vec<Record>, patience: Duration) -> bool {
        let mut waiting = self.lock();
        while waiting.records.is_empty() {
            if waiting.closed {
                return false;
            }
            waiting = self.worth_waking.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        // The first record's patience is everybody's: at a steady trickle each newcomer would otherwise prolong it.
        let deadline = Instant::now() + patience;
        while waiting.records.len() < BATCH && !waiting.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (waiting, _) = self
                .worth_waking
                .wait_timeout(waiting, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let taken = waiting.records.len().min(BATCH);
        batch.extend(waiting.records.drain(..taken));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Event, Lost, VERSION};

    fn record(number: u64) -> Record {
        Record {
            v: VERSION,
            at_us: number,
            node: String::new(),
            event: Event::Lost(Lost { records: 0 }),
        }
    }

    #[test]
    fn the_writer_is_woken_for_the_first_record_and_for_a_full_batch() {
        let queue = Queue::default();
        for number in 1..=AT_MOST + 1 {
            let handed = queue.put(record(number as u64));
            let expected = match number {
                1 | BATCH => Handed::WithAWake,
                _ if number > AT_MOST => Handed::Lost,
                _ => Handed::Over,
            };
            assert_eq!(handed, expected, "{number}");
        }
    }

    #[test]
    fn batches_come_in_order_and_what_waits_at_the_end_is_not_waited_for() {
        let queue = Queue::default();
        for number in 0..BATCH + 3 {
            queue.put(record(number as u64));
        }
        queue.close();
        assert_eq!(queue.put(record(0)), Handed::Lost);
        let (mut batch, mut sizes) = (Vec::new(), Vec::new());
        // An hour: were it waited for, the test would not end.
        while queue.take(&mut batch, Duration::from_secs(3600)) {
            sizes.push(batch.len());
        }
        assert_eq!(sizes, [BATCH, BATCH + 3]);
        assert!(batch.iter().map(|record| record.at_us).eq(0..BATCH as u64 + 3));
    }

    #[test]
    fn a_single_record_is_taken_when_patience_is_at_its_end() {
        let queue = Queue::default();
        queue.put(record(7));
        let mut batch = Vec::new();
        assert!(queue.take(&mut batch, Duration::from_millis(1)));
        assert_eq!(batch, [record(7)]);
    }
}
