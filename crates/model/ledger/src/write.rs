//! Writing, off the data path.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::file::{Appended, Bounds, Form, LedgerFile, Unwritten};
use crate::queue::{Handed, Queue, Taken};
use crate::record::{Event, Lost, Record};

/// Time that a record may wait for others to share its write.
const PATIENCE: Duration = Duration::from_millis(50);

/// Failure to open or write a ledger.
#[derive(Debug, thiserror::Error)]
#[error("ledger {}: {source}", path.display())]
pub struct Error {
    /// The ledger's file.
    pub path: PathBuf,
    /// Error of the system.
    #[source]
    pub source: io::Error,
}

bartizan_registry::made! {
    /// An open ledger. Dropping it writes what waits and syncs the file.
    #[derive(Debug)]
    pub struct Ledger,
    /// A ledger that keeps nothing, for a node whose file names none.
    #[must_use]
    pub none() {
        recorder: Option<Recorder> = None,
        writer: Option<JoinHandle<()>> = None,
    }
}

/// A handle that records; cheap to clone, never waits for the disk.
#[derive(Debug, Clone)]
pub struct Recorder {
    queue: Option<Arc<Queue>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Records lost since the last gap was written.
    pending: AtomicU64,
    /// Records lost ever.
    total: AtomicU64,
    /// The file is to be looked at: it may have been moved away.
    reopen: AtomicBool,
}

impl Ledger {
    /// Opens the file for appending, mode 0640 where it is new, and starts the thread that writes.
    ///
    /// A last line that a crash cut in half is removed before the next record, with a gap in its
    /// place. Several writers may have one file.
    ///
    /// # Errors
    /// The file cannot be opened, it is a symbolic link, a pipe or a device, or the thread cannot
    /// be started.
    pub fn open(path: &Path, node: &str) -> Result<Self, Error> {
        Self::open_within(path, node, Bounds::default())
    }

    /// The same with bounds of the caller's.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn open_within(path: &Path, node: &str, bounds: Bounds) -> Result<Self, Error> {
        let failed = |source| Error {
            path: path.to_owned(),
            source,
        };
        let file = LedgerFile::open(path, bounds, Form::default()).map_err(failed)?;
        Self::start(file, path, node).map_err(failed)
    }

    fn start(file: impl Lines + 'static, path: &Path, node: &str) -> io::Result<Self> {
        let queue = Arc::new(Queue::new(node.into()));
        let shared = Arc::<Shared>::default();
        let recorder = Recorder {
            queue: Some(Arc::clone(&queue)),
            shared: Arc::clone(&shared),
        };
        let writer = Writer {
            file,
            path: path.to_owned(),
            queue,
            shared,
            failing: false,
        };
        let thread = std::thread::Builder::new()
            .name("ledger".into())
            .spawn(move || writer.run())?;
        Ok(Self {
            recorder: Some(recorder),
            writer: Some(thread),
        })
    }

    /// Looks at once whether its file was moved away, and begins a new one where it was. Every
    /// write looks too; this is for who moves files and waits for their writers to let go, as
    /// logrotate does.
    pub fn reopen(&self) {
        let Some(recorder) = &self.recorder else { return };
        recorder.shared.reopen.store(true, Ordering::Release);
        if let Some(queue) = &recorder.queue {
            queue.wake();
        }
    }

    /// A handle to record with. Records of handles that outlive the ledger are dropped with it.
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone().unwrap_or_else(|| Recorder {
            queue: None,
            shared: Arc::default(),
        })
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // The end of the queue ends the writer even while handles live on in tasks that were not joined.
        if let Some(queue) = self.recorder.take().and_then(|recorder| recorder.queue) {
            queue.close();
        }
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Recorder {
    /// Records an event with the time of now. Never waits for the disk: where the disk does not
    /// keep up, a gap is recorded instead.
    pub fn record(&self, event: Event) {
        if let Some(queue) = &self.queue {
            self.note(queue.put(event));
        }
    }

    /// Records the refusal of an unauthenticated peer. Any client can cause these in any number:
    /// the first of a kind (protocol, direction, interface, peer, reason, address) is recorded as
    /// it is, those that follow are counted, and their number is recorded as [`Event::Refusals`]
    /// after 10 s, then ever more seldom. An event that is no refusal is recorded.
    pub fn refuse(&self, event: Event) {
        if let Some(queue) = &self.queue {
            self.note(queue.refuse(event));
        }
    }

    fn note(&self, handed: Handed) {
        if handed == Handed::Lost {
            self.shared.pending.fetch_add(1, Ordering::Relaxed);
            self.shared.total.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of records lost since the ledger was opened.
    pub fn lost(&self) -> u64 {
        self.shared.total.load(Ordering::Relaxed)
    }
}

/// A file of lines, or a stand-in for one on a disk that is full or stalled.
trait Lines: Send {
    fn append(&mut self, lines: &[u8]) -> Result<Appended, Unwritten>;
    fn reopen(&mut self);
}

impl Lines for LedgerFile {
    fn append(&mut self, lines: &[u8]) -> Result<Appended, Unwritten> {
        LedgerFile::append(self, lines)
    }

    fn reopen(&mut self) {
        LedgerFile::reopen(self);
    }
}

struct Writer<F> {
    file: F,
    path: PathBuf,
    queue: Arc<Queue>,
    shared: Arc<Shared>,
    failing: bool,
}

impl<F: Lines> Writer<F> {
    fn run(mut self) {
        let mut batch = Vec::new();
        loop {
            let taken = self.queue.take(&mut batch, PATIENCE);
            if self.shared.reopen.swap(false, Ordering::Acquire) {
                self.file.reopen();
            }
            self.write(&batch);
            batch.clear();
            if taken == Taken::Ended {
                break;
            }
        }
    }

    fn write(&mut self, batch: &[Record]) {
        let missing = self.shared.pending.swap(0, Ordering::Relaxed);
        if batch.is_empty() && missing == 0 {
            return;
        }
        let gap = (missing > 0).then(|| self.queue.record(Event::Lost(Lost { records: missing })));
        match self.file.append(&lines(batch.iter().chain(&gap))) {
            Ok(appended) => {
                self.failing = false;
                // The truncated line was written before this ledger was opened, or could not be
                // removed when its write failed.
                self.shared.pending.fetch_add(appended.cut, Ordering::Relaxed);
            }
            Err(Unwritten { error, kept }) => {
                let records = (batch.len() as u64).saturating_sub(kept);
                // The gap is the last line: what it was to report is still unreported.
                let unreported = if kept > batch.len() as u64 { 0 } else { missing };
                self.shared.pending.fetch_add(records + unreported, Ordering::Relaxed);
                self.shared.total.fetch_add(records, Ordering::Relaxed);
                if !self.failing {
                    tracing::error!(
                        ledger = %self.path.display(), %error, hint = "free disk space or fix permissions; records are counted as lost until then",
                        "ledger not written"
                    );
                }
                self.failing = true;
            }
        }
    }
}

/// One line for each record.
fn lines<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<u8> {
    let mut text = Vec::new();
    for record in records {
        let begun = text.len();
        // Serialising these types cannot fail: no map with keys that are not text, no fallible serialiser.
        if serde_json::to_writer(&mut text, record).is_err() {
            text.truncate(begun);
            continue;
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;
    use crate::record::Closed;
    use crate::{Bytes, Reader};

    fn closed(sent: u64) -> Event {
        Event::Closed(Closed {
            key: None,
            bytes: Bytes { sent, received: 0 },
            lasted_us: 1,
            refused: None,
        })
    }

    /// A disk without any room.
    struct Full;

    impl Lines for Full {
        fn append(&mut self, _: &[u8]) -> Result<Appended, Unwritten> {
            Err(io::Error::from(io::ErrorKind::StorageFull).into())
        }

        fn reopen(&mut self) {}
    }

    /// A disk that stalls until the other end of `goes_on` is dropped.
    struct Stalled {
        goes_on: Receiver<()>,
        written: Sender<Vec<u8>>,
    }

    impl Lines for Stalled {
        fn append(&mut self, lines: &[u8]) -> Result<Appended, Unwritten> {
            let _ = self.goes_on.recv();
            let _ = self.written.send(lines.to_vec());
            Ok(Appended::default())
        }

        fn reopen(&mut self) {}
    }

    #[test]
    fn a_full_disk_costs_records_and_says_how_many() {
        let ledger = Ledger::start(Full, Path::new("ledger"), "nrf").unwrap();
        let recorder = ledger.recorder();
        (0..10).for_each(|number| recorder.record(closed(number)));
        drop(ledger);
        assert_eq!(recorder.lost(), 10);
    }

    /// Were one of these records to wait for the disk, it would wait for ever.
    #[test]
    fn what_a_stalled_disk_leaves_no_room_for_is_counted_and_written_as_a_gap() {
        const RECORDS: u64 = 20_000;
        let (stalls, goes_on) = mpsc::channel();
        let (written, lines) = mpsc::channel();
        let ledger = Ledger::start(Stalled { goes_on, written }, Path::new("ledger"), "nrf").unwrap();
        let recorder = ledger.recorder();
        (0..RECORDS).for_each(|number| recorder.record(closed(number)));
        let lost = recorder.lost();
        assert!(lost > 0, "a queue of 8192 holds {RECORDS} records");
        drop(stalls);
        drop(ledger);
        let text: Vec<u8> = lines.iter().flatten().collect();
        let (mut written, mut gaps) = (0, 0);
        for record in Reader::new(&text[..]) {
            match record.unwrap().event {
                Event::Lost(lost) => gaps += lost.records,
                Event::Closed(_) => written += 1,
                _ => panic!("none was recorded"),
            }
        }
        assert_eq!((written + lost, gaps), (RECORDS, lost));
    }
}
