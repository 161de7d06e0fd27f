//! Log records that wait until a collector has taken them, in order, within a bound: on disk, or in memory.
//!
//! Records are numbered, and leave the queue from its front: when the collector has taken them, or when there is no room for newer ones. What the
//! queue loses it counts. Of records that were on their way when their room was needed it is known only afterwards whether they are lost.

mod cursor;
mod disk;
mod memory;
mod segment;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bartizan_terminal::Failure;
use cursor::Cursor;
use disk::Disk;
use memory::Memory;

/// A record has at most so many bytes.
pub const LARGEST: usize = 1 << 20;
/// The records of a batch have at most so many bytes, or it is a single one. A collector that hands each request on as one message of Kafka refuses
/// it for good where it exceeds a megabyte.
const TOGETHER: usize = 768 << 10;

/// Records lost by this process, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    /// There was no room: the oldest went.
    pub full: u64,
    /// The collector refused them.
    pub refused: u64,
    /// They could not be written.
    pub unwritten: u64,
    /// They could be read no more, or their file is gone.
    pub damaged: u64,
    /// A process before this one lost them, and had no time to say so.
    pub earlier: u64,
}

/// Records from the front of the queue, which stay in it until they are acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Header of the process that queued them.
    pub head: Arc<str>,
    /// The records, in order.
    pub records: Vec<String>,
}

/// The queue.
#[derive(Debug)]
pub struct Queue(Kept);

#[derive(Debug)]
enum Kept {
    Memory(Memory),
    Disk(Disk),
}

/// The same of either queue.
macro_rules! each {
    ($kept:expr, $queue:ident => $done:expr) => {
        match $kept {
            Kept::Memory($queue) => $done,
            Kept::Disk($queue) => $done,
        }
    };
}

/// Numbers of records, what is on its way, and what was lost: the same wherever records are kept.
#[derive(Debug, Default)]
struct Books {
    cursor: Cursor,
    flying: Option<Range<u64>>,
    /// On their way when their room was needed.
    doubtful: u64,
    losses: Losses,
}

impl Queue {
    /// A queue in memory of at most `limit` bytes.
    pub fn memory(limit: u64, head: &str) -> Self {
        Self(Kept::Memory(Memory::new(limit, head)))
    }

    /// The queue of a folder, which it makes where there is none, with what an earlier process left there: files of at most `limit` bytes.
    pub fn open(folder: &Path, limit: u64, head: &str) -> Result<Self, Failure> {
        Ok(Self(Kept::Disk(Disk::open(folder, limit, head)?)))
    }

    /// Takes a record. An error says that it was lost, which is counted.
    pub fn push(&mut self, record: &str) -> io::Result<()> {
        match &mut self.0 {
            Kept::Memory(memory) => {
                memory.push(record);
                Ok(())
            }
            Kept::Disk(disk) => disk.push(record),
        }
    }

    /// The same, of a record that can be made again: where it cannot be taken now nothing is lost, and nothing counted.
    pub fn try_push(&mut self, record: &str) -> io::Result<()> {
        match &mut self.0 {
            Kept::Memory(_) => self.push(record),
            Kept::Disk(disk) => disk.try_push(record),
        }
    }

    /// At most so many records from the front, and 768 KiB; none where nothing waits. They are on
    /// their way until they are acknowledged or released.
    pub fn batch(&mut self, records: usize) -> Option<Batch> {
        each!(&mut self.0, queue => queue.batch(records))
    }

    /// Completes the records in flight: accepted, except for `refused` of them.
    pub fn acknowledge(&mut self, refused: u64) {
        each!(&mut self.0, queue => queue.acknowledge(refused));
    }

    /// Returns the records in flight to the front of the queue.
    pub fn release(&mut self) {
        self.books_mut().release();
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        each!(&self.0, queue => queue.bytes())
    }

    /// Records that wait.
    pub fn records(&self) -> u64 {
        each!(&self.0, queue => queue.records())
    }

    /// Records that were lost, also by earlier processes, and that no event has reported.
    pub fn unreported(&self) -> u64 {
        let cursor = &self.books().cursor;
        cursor.lost.saturating_sub(cursor.reported)
    }

    /// An event with so many of them was queued.
    pub fn reported(&mut self, records: u64) {
        self.books_mut().cursor.reported += records;
        if let Kept::Disk(disk) = &mut self.0 {
            disk.write_cursor();
        }
    }

    /// Counts a record that was never queued.
    pub fn count_unwritten(&mut self) {
        self.books_mut().lose(1, |losses| &mut losses.unwritten);
    }

    /// Records that this process has lost.
    pub fn losses(&self) -> Losses {
        self.books().losses
    }

    /// Returns true if waiting records survive a restart.
    pub fn is_durable(&self) -> bool {
        matches!(self.0, Kept::Disk(_))
    }

    /// Returns files with data that a loss of power would lose. Each is returned only once.
    pub fn unsynced(&mut self) -> Vec<Arc<File>> {
        match &mut self.0 {
            Kept::Memory(_) => Vec::new(),
            Kept::Disk(disk) => disk.unsynced(),
        }
    }

    fn books(&self) -> &Books {
        each!(&self.0, queue => queue.books())
    }

    fn books_mut(&mut self) -> &mut Books {
        each!(&mut self.0, queue => queue.books_mut())
    }
}

impl Books {
    fn lose(&mut self, records: u64, reason: impl FnOnce(&mut Losses) -> &mut u64) {
        self.cursor.lost += records;
        *reason(&mut self.losses) += records;
    }

    /// These had to go for want of room.
    fn evict(&mut self, records: Range<u64>) {
        let flying = self.flying.clone().unwrap_or_default();
        let both = records.start.max(flying.start)..records.end.min(flying.end);
        let doubtful = both.end.saturating_sub(both.start);
        self.doubtful += doubtful;
        let lost = records.end.saturating_sub(records.start) - doubtful;
        self.lose(lost, |losses| &mut losses.full);
        self.cursor.next = self.cursor.next.max(records.end);
    }

    /// So many records from the next one on are on their way.
    fn fly(&mut self, records: usize) {
        self.flying = Some(self.cursor.next..self.cursor.next + records as u64);
    }

    /// Number of completed records that are still at the front.
    fn landed(&mut self, refused: u64) -> u64 {
        let Some(flying) = self.flying.take() else {
            return 0;
        };
        self.doubtful = 0;
        self.lose(refused.min(flying.end - flying.start), |losses| &mut losses.refused);
        let landed = flying.end.saturating_sub(self.cursor.next);
        self.cursor.next = self.cursor.next.max(flying.end);
        landed
    }

    fn release(&mut self) {
        self.flying = None;
        let doubtful = std::mem::take(&mut self.doubtful);
        self.lose(doubtful, |losses| &mut losses.full);
    }
}
