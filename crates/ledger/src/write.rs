//! Writing, off the data path.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::queue::{Handed, Queue};
use crate::record::{Event, Lost, Record, VERSION};

/// How long a record may wait for others to share its write.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes handed to the system at once.
const CHUNK: usize = 64 * 1024;

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

/// A handle that records; cheap to clone, never waits for the disk.
#[derive(Debug, Clone)]
pub struct Recorder {
    node: Arc<str>,
    queue: Option<Arc<Queue>>,
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
        let queue = Arc::<Queue>::default();
        let lost = Arc::new(Counters::default());
        let recorder = Recorder {
            node: node.into(),
            queue: Some(Arc::clone(&queue)),
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
            .spawn(move || writer.run(&queue))
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
    /// Records an event with the time of now. Never waits for the disk: where the disk does not keep up, a gap is recorded instead.
    pub fn record(&self, event: Event) {
        let Some(queue) = &self.queue else { return };
        let record = Record {
            v: event.version(),
            at_us: now_us(),
            node: self.node.to_string(),
            event,
        };
        if queue.put(record) == Handed::Lost {
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
    fn run(mut self, queue: &Queue) {
        let mut batch = Vec::new();
        while queue.take(&mut batch, PATIENCE) {
            self.write(&batch);
            batch.clear();
        }
    }

    fn write(&mut self, batch: &[Record]) {
        let missing = self.lost.pending.swap(0, Ordering::Relaxed);
        let gap = (missing > 0).then(|| Record {
            v: VERSION,
            at_us: now_us(),
            node: self.node.clone(),
            event: Event::Lost(Lost { records: missing }),
        });
        match self.append(batch.iter().chain(&gap)) {
            Ok(()) => self.failing = false,
            Err(error) => {
                let records = batch.len() as u64;
                // The gap that was to be told is still untold.
                self.lost.pending.fetch_add(records + missing, Ordering::Relaxed);
                self.lost.total.fetch_add(records, Ordering::Relaxed);
                // A part of the batch may stand in the file; the next write must not continue its last line. Records of that part
                // count as lost too: they were not synced.
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

    /// Writes whole lines, then syncs.
    fn append<'a>(&mut self, records: impl Iterator<Item = &'a Record>) -> io::Result<()> {
        let mut text = Vec::new();
        for record in records {
            let begun = text.len();
            // Serialising these types cannot fail: no map with keys that are not text, no fallible serialiser.
            if serde_json::to_writer(&mut text, record).is_err() {
                text.truncate(begun);
                continue;
            }
            text.push(b'\n');
            if text.len() >= CHUNK {
                self.file.write_all(&text)?;
                text.clear();
            }
        }
        self.file.write_all(&text)?;
        sync(&self.file)
    }
}
