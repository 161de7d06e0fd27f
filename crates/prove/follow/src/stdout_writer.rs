//! Standard output that can be abandoned when the reader stalls without closing it.
//!
//! A full pipe blocks the write, and signals only raise a flag. So a thread writes, and its caller
//! stops waiting some time after the end was asked for.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Interval of checks for the end.
const LOOKING: Duration = Duration::from_millis(50);
/// Time for a reader after the end was requested, the same as for a collector.
const FAREWELL: Duration = Duration::from_secs(5);

/// Predicate: true once the end was requested.
type Ending = Box<dyn Fn() -> bool>;

/// Standard output, or what stands in for it. What is written has left the process when [`Write::write`] returns.
pub struct StdoutWriter {
    /// None once it was given up.
    to: Option<Sender<Vec<u8>>>,
    written: Receiver<io::Result<()>>,
    ending: Ending,
    farewell: Duration,
}

impl StdoutWriter {
    /// Standard output: of this process nothing else writes there meanwhile.
    pub fn stdout(ending: Ending) -> io::Result<Self> {
        let mut out = io::stdout().lock();
        out.flush()?;
        // A separate file handle: a lock that a blocked thread holds would block the end of the
        // process.
        let file = File::from(out.as_fd().try_clone_to_owned()?);
        Self::new(file, ending, FAREWELL)
    }

    pub(super) fn new(mut file: File, ending: Ending, farewell: Duration) -> io::Result<Self> {
        let (to, waiting) = channel::<Vec<u8>>();
        let (done, written) = channel();
        thread::Builder::new().name("stdout".to_owned()).spawn(move || {
            for bytes in waiting {
                // The waiting caller may be gone.
                if done.send(file.write_all(&bytes)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            to: Some(to),
            written,
            ending,
            farewell,
        })
    }

    fn wait(&self) -> io::Result<()> {
        let mut since = None;
        loop {
            match self.written.recv_timeout(LOOKING) {
                Ok(written) => return written,
                Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(RecvTimeoutError::Timeout) if (self.ending)() => {
                    if since.get_or_insert_with(Instant::now).elapsed() >= self.farewell {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Write for StdoutWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let given = self.to.as_ref().map(|to| to.send(bytes.to_vec()));
        if !matches!(given, Some(Ok(()))) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = self.wait();
        if written.is_err() {
            self.to = None;
        }
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// More than any pipe holds.
    const MUCH: usize = 8 << 20;

    #[test]
    fn a_reader_that_is_slow_gets_all_and_one_that_stopped_is_given_up_once_the_end_was_asked_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        let asked = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&asked);
        let ending = Box::new(move || ending.load(Ordering::SeqCst));
        let file = File::from(OwnedFd::from(writer));
        let mut out = StdoutWriter::new(file, ending, Duration::from_millis(1)).unwrap();
        let reading = thread::spawn(move || {
            thread::sleep(LOOKING * 4);
            let mut all = vec![0; MUCH];
            reader.read_exact(&mut all).unwrap();
            reader
        });
        out.write_all(&vec![1; MUCH]).unwrap();
        let _stopped = reading.join().unwrap();
        asked.store(true, Ordering::SeqCst);
        out.write_all(b"it has room").unwrap();
        let given_up = out.write_all(&vec![1; MUCH]).unwrap_err();
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
        // No later call waits.
        let gone = out.write_all(b"more").unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_reader_that_closed_the_pipe_is_gone() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let file = File::from(OwnedFd::from(writer));
        let mut out = StdoutWriter::new(file, Box::new(|| false), FAREWELL).unwrap();
        assert_eq!(out.write_all(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
