//! The queue on disk: segments of which the newest is written to, and a cursor.
//!
//! Records are written to a file before [`Disk::push`] returns: a process that is killed loses none. Room is made by removing the oldest segment;
//! that no cursor was written then shows afterwards as a gap before the oldest, and is counted.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_ledger::state::{self, Owner};

use super::cursor::Cursor;
use super::segment::{Segment, framed};
use super::{Batch, Books, LARGEST, Losses};
use bartizan_terminal::Failure;

/// So much of the limit is a segment, and so much goes when there is no room.
const SHARE: u64 = 16;
/// A segment has at most so many bytes, but for one record that is larger.
const LARGEST_SEGMENT: u64 = 4 << 20;

#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    /// Held until the queue is dropped.
    _lock: File,
    head: String,
    limit: u64,
    /// Oldest first.
    segments: VecDeque<Segment>,
    /// The newest segment, where this process writes to it.
    writing: Option<Arc<File>>,
    /// Number of the next record to be queued.
    end: u64,
    /// Offset in the oldest segment of the next record to be taken; `behind` is the offset behind
    /// the records in flight.
    offset: u64,
    behind: u64,
    unsynced: Vec<Arc<File>>,
    books: Books,
}

impl Disk {
    pub(super) fn open(folder: &Path, limit: u64, head: &str) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(format!("--queue {}: {error}", folder.display()));
        state::make_directory(folder, Owner::User).map_err(|error| match error.raw_os_error() {
            Some(_) => failed(error).hint("name a folder that this user may write to"),
            // Refused by the check.
            None => Failure::usage(&failed(error).message).hint(format!(
                "chmod 700 {}, or name a folder that is not there yet",
                folder.display()
            )),
        })?;
        let lock = lock(folder)?;
        let cursor = Cursor::read(folder).map_err(failed)?;
        let (mut segments, found) = segments(folder).map_err(failed)?;
        segments.sort_by_key(|segment| segment.first);
        // Without a cursor everything is sent once more.
        let first = segments.first().map_or(1, |segment| segment.first);
        let cursor = cursor.unwrap_or(Cursor {
            next: first,
            ..Cursor::default()
        });
        let end = segments.last().map_or(1, |segment| segment.end).max(cursor.next);
        let mut disk = Self {
            folder: folder.to_owned(),
            _lock: lock,
            head: head.to_owned(),
            limit,
            segments: segments.into(),
            writing: None,
            end,
            offset: 0,
            behind: 0,
            unsynced: Vec::new(),
            books: Books {
                cursor,
                ..Books::default()
            },
        };
        // Those that were cut off before another segment are the gap before that.
        disk.books.lose(found.saturating_sub(end), |losses| &mut losses.damaged);
        disk.find_front().map_err(failed)?;
        disk.cursor_is_writable().map_err(failed)?;
        disk.make_room(0);
        Ok(disk)
    }

    /// Finds the next record to be taken in what is there.
    fn find_front(&mut self) -> io::Result<()> {
        while let Some(front) = self.segments.front()
            && front.end <= self.books.cursor.next
        {
            front.remove()?;
            self.segments.pop_front();
        }
        self.settle(|losses| &mut losses.earlier);
        if let Some(front) = self.segments.front() {
            self.offset = front.offset(self.books.cursor.next)?;
        }
        Ok(())
    }

    fn cursor_is_writable(&self) -> io::Result<()> {
        self.books.cursor.write(&self.folder)
    }

    pub(super) fn push(&mut self, record: &str) -> io::Result<()> {
        let pushed = self.try_push(record);
        if pushed.is_err() {
            self.books.lose(1, |losses| &mut losses.unwritten);
        }
        pushed
    }

    pub(super) fn try_push(&mut self, record: &str) -> io::Result<()> {
        let pushed = self.append(record);
        if pushed.is_err() {
            // The next one begins a segment, whose name must be free.
            self.writing = None;
            if let Some(empty) = self.segments.pop_back_if(|segment| segment.first == segment.end) {
                let _ = empty.remove();
            }
        }
        pushed
    }

    fn append(&mut self, record: &str) -> io::Result<()> {
        let size = framed(record);
        if record.is_empty() || record.len() > LARGEST || size > self.limit / 2 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let has_room = |segment: &Segment| segment.end == segment.first || segment.length + size <= self.segment_size();
        let file = match (&self.writing, self.segments.back()) {
            (Some(file), Some(segment)) if has_room(segment) => Arc::clone(file),
            _ => {
                self.make_room(size + framed(&self.head));
                let (segment, file) = Segment::create(&self.folder, self.end, &self.head)?;
                self.segments.push_back(segment);
                if self.segments.len() == 1 {
                    self.settle(|losses| &mut losses.damaged);
                }
                self.writing.insert(file).clone()
            }
        };
        self.make_room(size);
        let Some(segment) = self.segments.back_mut() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        segment.append(&file, record)?;
        self.end = segment.end;
        if !self.unsynced.iter().any(|unsynced| Arc::ptr_eq(unsynced, &file)) {
            self.unsynced.push(file);
        }
        Ok(())
    }

    fn segment_size(&self) -> u64 {
        (self.limit / SHARE).min(LARGEST_SEGMENT)
    }

    /// Removes the oldest segments until so many bytes more have room; the one that is written to stays.
    fn make_room(&mut self, bytes: u64) {
        while self.on_disk() + bytes > self.limit && self.segments.len() > usize::from(self.writing.is_some()) {
            let Some(front) = self.segments.pop_front() else {
                return;
            };
            // One that cannot be removed is found again after a restart, and sent then.
            let _ = front.remove();
            self.books.evict(front.first.max(self.books.cursor.next)..front.end);
            self.settle(|losses| &mut losses.damaged);
        }
    }

    /// The front is a new segment: records that are missing before it are lost.
    fn settle(&mut self, reason: impl FnOnce(&mut Losses) -> &mut u64) {
        let Some(front) = self.segments.front() else {
            return;
        };
        let missing = front.first.saturating_sub(self.books.cursor.next);
        self.books.lose(missing, reason);
        self.books.cursor.next = self.books.cursor.next.max(front.first);
        self.offset = front.body;
    }

    pub(super) fn batch(&mut self, records: usize) -> Option<Batch> {
        loop {
            let front = self.segments.front()?;
            let next = self.books.cursor.next;
            if next < front.end
                && let Ok((records, behind)) = front.read(next, self.offset, records)
                && !records.is_empty()
            {
                let head = Arc::clone(&front.head);
                self.behind = behind;
                self.books.fly(records.len());
                return Some(Batch { head, records });
            }
            let unread = front.end.saturating_sub(next);
            if unread == 0 && self.segments.len() == usize::from(self.writing.is_some()) {
                return None;
            }
            // The segment was modified by another process, or it is read to its end.
            self.books.lose(unread, |losses| &mut losses.damaged);
            self.books.cursor.next = next + unread;
            self.remove_front();
        }
    }

    fn remove_front(&mut self) {
        let Some(front) = self.segments.pop_front() else {
            return;
        };
        if self.segments.is_empty() {
            self.writing = None;
        }
        self.settle(|losses| &mut losses.damaged);
        // In this order: a process that is killed between the two repeats nothing, and has no gap to count.
        self.write_cursor();
        let _ = front.remove();
    }

    pub(super) fn acknowledge(&mut self, refused: u64) {
        if self.books.landed(refused) > 0 {
            self.offset = self.behind;
        }
        self.write_cursor();
        // Taken records do not stay on the disk, even if none follow.
        while self
            .segments
            .front()
            .is_some_and(|front| front.end <= self.books.cursor.next)
        {
            self.remove_front();
        }
    }

    /// If that fails, records are repeated after a restart, and the next attempt may succeed.
    pub(super) fn write_cursor(&self) {
        let _ = self.books.cursor.write(&self.folder);
    }

    fn on_disk(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        let others: u64 = self
            .segments
            .iter()
            .skip(1)
            .map(|segment| segment.length - segment.body)
            .sum();
        let front = self
            .segments
            .front()
            .map_or(0, |front| front.length.saturating_sub(self.offset));
        front + others
    }

    pub(super) fn records(&self) -> u64 {
        let next = self.books.cursor.next;
        let waiting = self
            .segments
            .iter()
            .map(|segment| segment.end.saturating_sub(segment.first.max(next)));
        waiting.sum()
    }

    pub(super) fn unsynced(&mut self) -> Vec<Arc<File>> {
        std::mem::take(&mut self.unsynced)
    }

    pub(super) fn books(&self) -> &Books {
        &self.books
    }

    pub(super) fn books_mut(&mut self) -> &mut Books {
        &mut self.books
    }
}

/// Two processes that take from one queue would send everything twice.
fn lock(folder: &Path) -> Result<File, Failure> {
    let path = folder.join("lock");
    let failed = |error: io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let file = state::open(&path, &mut options).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::new(format!(
            "--queue {}: another process uses this queue",
            folder.display()
        ))
        .hint("give each process a folder of its own")),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// The segments of a folder, and the number behind the last record that was found. Those without a
/// whole beginning or without records are removed; files with other names do not belong to the
/// queue.
fn segments(folder: &Path) -> io::Result<(Vec<Segment>, u64)> {
    let (mut segments, mut found) = (Vec::new(), 0);
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(first) = Segment::number(&path) else {
            continue;
        };
        let segment = Segment::open(&path, first)?;
        found = found.max(segment.as_ref().map_or(0, |segment| segment.found));
        match segment.filter(|segment| segment.first < segment.end) {
            Some(segment) => segments.push(segment),
            None => fs::remove_file(&path)?,
        }
    }
    Ok((segments, found))
}
