//! Queue of records for the writer thread.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::record::{Event, Record, VERSION};
use crate::refusals::{Counting, Noted};

/// Records that may wait for the disk; beyond it they are counted as lost rather than slowing a handshake.
const AT_MOST: usize = 8192;
/// Records written, and synced, at once.
const BATCH: usize = 256;

bartizan_registry::made! {
    /// Records on their way to the disk, in order.
    ///
    /// Waking a thread costs a system call, and on a busy processor the caller's time slice. So the
    /// writer is woken for the first record after a pause and for a full batch; records in between
    /// wait with the first, for as long as the writer's patience lasts.
    #[derive(Debug)]
    pub(crate) struct Queue,
    /// A queue for the ledger of `node`.
    pub(crate) new(node: Arc<str>) {
        node: Arc<str>,
        waiting: Mutex<Waiting> = Mutex::default(),
        worth_waking: Condvar = Condvar::new(),
    }
}

#[derive(Debug, Default)]
struct Waiting {
    records: VecDeque<Record>,
    refusals: Counting,
    /// The writer is to take what there is.
    woken: bool,
    closed: bool,
}

/// Result of handing a record over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    /// It waits, and the writer sleeps on.
    Over,
    /// It waits, and the writer was woken.
    WithAWake,
    /// There was no room, or the writer has ended.
    Lost,
}

/// Result of taking from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Records, perhaps none.
    Batch,
    /// It has ended, and nothing is left in it.
    Ended,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event with the time of now.
    pub(crate) fn record(&self, event: Event) -> Record {
        Record {
            v: VERSION,
            at_us: now_us(),
            node: self.node.to_string(),
            event,
        }
    }

    /// Hands an event over. The lock is held for moving records alone, never for writing them.
    pub(crate) fn put(&self, event: Event) -> Handed {
        let record = self.record(event);
        self.push(self.lock(), record)
    }

    /// Hands over the refusal of an unauthenticated peer. The first of its kind is recorded, the
    /// others are counted. These take at most half of the room for records. Beyond that they are
    /// counted, so that no number of them costs another record its place.
    pub(crate) fn refuse(&self, event: Event) -> Handed {
        let Some((kind, from)) = event.refusal() else {
            return self.put(event);
        };
        let record = self.record(event);
        let mut waiting = self.lock();
        if waiting.closed {
            return Handed::Lost;
        }
        let room = waiting.records.len() < AT_MOST / 2;
        let noted = waiting.refusals.note(kind, from, Instant::now(), record.at_us, room);
        match noted {
            Noted::Whole => self.push(waiting, record),
            Noted::Counted => Handed::Over,
            // The writer has to learn when this count is due.
            Noted::Begun => {
                drop(waiting);
                self.worth_waking.notify_one();
                Handed::WithAWake
            }
        }
    }

    fn push(&self, mut waiting: MutexGuard<'_, Waiting>, record: Record) -> Handed {
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

    /// Has the writer take what there is at once, perhaps nothing.
    pub(crate) fn wake(&self) {
        self.lock().woken = true;
        self.worth_waking.notify_one();
    }

    /// The next batch, into `batch`: waits for a first record without bound, then for others for as long as `patience`.
    pub(crate) fn take(&self, batch: &mut Vec<Record>, patience: Duration) -> Taken {
        let mut waiting = self.lock();
        while waiting.records.is_empty() {
            let now = Instant::now();
            let counts = if waiting.closed {
                waiting.refusals.take_all()
            } else {
                waiting.refusals.take_due(now)
            };
            if !counts.is_empty() || mem::take(&mut waiting.woken) {
                batch.extend(counts.into_iter().map(|event| self.record(event)));
                return Taken::Batch;
            }
            if waiting.closed {
                return Taken::Ended;
            }
            waiting = match waiting.refusals.due() {
                Some(due) => {
                    let (waiting, _) = self
                        .worth_waking
                        .wait_timeout(waiting, due.saturating_duration_since(now))
                        .unwrap_or_else(PoisonError::into_inner);
                    waiting
                }
                None => self.worth_waking.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
        // All records share the first one's patience: at a steady trickle each newcomer would
        // otherwise prolong it.
        let deadline = Instant::now() + patience;
        while waiting.records.len() < BATCH && !waiting.closed && !waiting.woken {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (waiting, _) = self
                .worth_waking
                .wait_timeout(waiting, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        waiting.woken = false;
        let taken = waiting.records.len().min(BATCH);
        batch.extend(waiting.records.drain(..taken));
        let counts = waiting.refusals.take_due(Instant::now());
        batch.extend(counts.into_iter().map(|event| self.record(event)));
        Taken::Batch
    }
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Lost;

    fn queue() -> Queue {
        Queue::new("nrf".into())
    }

    fn event(records: u64) -> Event {
        Event::Lost(Lost { records })
    }

    fn number(record: &Record) -> u64 {
        let Event::Lost(lost) = &record.event else {
            panic!("{record:?}")
        };
        lost.records
    }

    #[test]
    fn the_writer_is_woken_for_the_first_record_and_for_a_full_batch() {
        let queue = queue();
        for number in 1..=AT_MOST + 1 {
            let handed = queue.put(event(number as u64));
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
        let queue = queue();
        for number in 0..BATCH + 3 {
            queue.put(event(number as u64));
        }
        queue.close();
        assert_eq!(queue.put(event(0)), Handed::Lost);
        let (mut batch, mut sizes) = (Vec::new(), Vec::new());
        // An hour: were it waited for, the test would not end.
        while queue.take(&mut batch, Duration::from_secs(3600)) == Taken::Batch {
            sizes.push(batch.len());
        }
        assert_eq!(sizes, [BATCH, BATCH + 3]);
        assert!(batch.iter().map(number).eq(0..BATCH as u64 + 3));
    }

    #[test]
    fn a_single_record_is_taken_when_patience_is_at_its_end() {
        let queue = queue();
        queue.put(event(7));
        let mut batch = Vec::new();
        assert_eq!(queue.take(&mut batch, Duration::from_millis(1)), Taken::Batch);
        assert!(batch.iter().map(number).eq([7]));
    }
}
