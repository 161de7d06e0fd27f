//! Writing, off the data path.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::record::{Event, Lost, Record, VERSION};

/// Records that may wait for the disk; beyond it they are counted as lost rather than slowing a handshake.
const QUEUE: usize = 8192;
/// Records written, and synced, at once.
const BATCH: usize = 256;
/// How long a record may wait for others to share its write.
const PATIENCE: Duration = Duration::from_millis(50);

/// Why a ledger could not be opened or written.
#[derive(Debug, thiserror::Error)]
#[error("ledger {}: {source}", path.display())]
pub struct Error {
    /// The ledger's file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// An open ledger. Dropping it writes what waits and syncs the file.
#[derive(Debug)]
pub struct Ledger {
    recorder: Option<Recorder>,
    writer: Option<JoinHandle<()>>,
}

/// A handle that records; cheap to clone, never blocks.
#[derive(Debug, Clone)]
pub struct Recorder {
    node: Arc<str>,
    queue: Option<SyncSender<Record>>,
    lost: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    /// Lost since the last gap was written.
    pending: AtomicU64,
    /// Lost ever.
    total: AtomicU64,
}

impl Ledger {
    /// Opens the file for appending, mode 0640 where it is new, and starts the thread that writes.
    ///
    /// A last line that a crash cut in half is closed, so that what follows stays readable. A pipe or a terminal is written to
    /// as it is.
    ///
    /// # Errors
    /// Where the file cannot be opened or the thread cannot be started.
    pub fn open(path: &Path, node: &str) -> Result<Self, Error> {
        let failed = |source| Error {
            path: path.to_owned(),
            source,
        };
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o640)
            .open(path)
            .map_err(failed)?;
        close_cut_line(&mut file).map_err(failed)?;
        let (queue, records) = sync_channel(QUEUE);
        let lost = Arc::new(Counters::default());
        let recorder = Recorder {
            node: node.into(),
            queue: Some(queue),
            lost: Arc::clone(&lost),
        };
        let writer = Writer {
            file,
            path: path.to_owned(),
            node: node.to_owned(),
            lost,
            failing: false,
        };
        let thread = std::thread::Builder::new()
            .name("ledger".into())
            .spawn(move || writer.run(&records))
            .map_err(failed)?;
        Ok(Self {
            recorder: Some(recorder),
            writer: Some(thread),
        })
    }

    /// A ledger that keeps nothing, for a node whose file names none.
    #[must_use]
    pub fn none(node: &str) -> Self {
        Self {
            recorder: Some(Recorder {
                node: node.into(),
                queue: None,
                lost: Arc::default(),
            }),
            writer: None,
        }
    }

    /// A handle to record with. Records of handles that outlive the ledger are dropped with it.
    #[must_use]
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone().unwrap_or_else(|| Recorder {
            node: "".into(),
            queue: None,
            lost: Arc::default(),
        })
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // A stop mark ends the writer even while handles live on in tasks that were not joined.
        if let Some(Recorder {
            queue: Some(queue),
            node,
            ..
        }) = self.recorder.take()
        {
            let _ = queue.send(Record {
                v: 0,
                at_us: 0,
                node: node.to_string(),
                event: Event::Lost(Lost { records: 0 }),
            });
        }
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Recorder {
    /// Records an event with the time of now. Never blocks: where the disk does not keep up, a gap is recorded instead.
    pub fn record(&self, event: Event) {
        let Some(queue) = &self.queue else { return };
        let record = Record {
            v: VERSION,
            at_us: now_us(),
            node: self.node.to_string(),
            event,
        };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.try_send(record) {
            self.lost.pending.fetch_add(1, Ordering::Relaxed);
            self.lost.total.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many records were lost since the ledger was opened.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.total.load(Ordering::Relaxed)
    }
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Pipes and terminals hold nothing that could be synced.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

fn close_cut_line(file: &mut File) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(())
}

struct Writer {
    file: File,
    path: PathBuf,
    node: String,
    lost: Arc<Counters>,
    failing: bool,
}

impl Writer {
    fn run(mut self, records: &Receiver<Record>) {
        let mut batch = Vec::with_capacity(BATCH);
        while let Ok(first) = records.recv() {
            batch.push(first);
            let mut open = true;
            // The first record's patience is everybody's: at a steady trickle each newcomer would otherwise prolong it.
            let deadline = Instant::now() + PATIENCE;
            while batch.len() < BATCH {
                match records.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(record) => batch.push(record),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        open = false;
                        break;
                    }
                }
            }
            if let Some(stop) = batch.iter().position(|record| record.v == 0) {
                batch.truncate(stop);
                open = false;
            }
            self.write(&batch);
            batch.clear();
            if !open {
                return;
            }
        }
    }

    fn write(&mut self, batch: &[Record]) {
        let mut text = Vec::with_capacity(batch.len() * 1024);
        let missing = self.lost.pending.swap(0, Ordering::Relaxed);
        let gap = (missing > 0).then(|| Record {
            v: VERSION,
            at_us: now_us(),
            node: self.node.clone(),
            event: Event::Lost(Lost { records: missing }),
        });
        for record in batch.iter().chain(&gap) {
            // Serialising these types cannot fail: no map with keys that are not text, no fallible serialiser.
            if serde_json::to_writer(&mut text, record).is_ok() {
                text.push(b'\n');
            }
        }
        if text.is_empty() {
            return;
        }
        match self.file.write_all(&text).and_then(|()| sync(&self.file)) {
            Ok(()) => self.failing = false,
            Err(error) => {
                let records = batch.len() as u64;
                // The gap that was to be told is still untold.
                self.lost.pending.fetch_add(records + missing, Ordering::Relaxed);
                self.lost.total.fetch_add(records, Ordering::Relaxed);
                // A part of the batch may stand in the file; the next write must not continue its last line.
                let _ = close_cut_line(&mut self.file);
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
