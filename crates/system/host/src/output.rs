//! Output of a child: the last part is kept, the whole goes to a file if one is named.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Bytes of each stream that are kept by default.
pub(crate) const TAIL: usize = 256 * 1024;

/// Capacity of a pipe in bytes, unless a program has changed it.
const PIPE: usize = 64 * 1024;

/// Time that a caller waits for the reader to be given a processor.
const CATCH_UP: Duration = Duration::from_secs(5);

/// Lines of the tail that go into an error.
const LINES_IN_ERROR: usize = 12;

/// Standard output and standard error of a child, as far as read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    streams: Mutex<Streams>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct Streams {
    /// Bytes of standard output that are kept.
    kept: usize,
    standard: Tail,
    error: Tail,
    /// Readers that have not met the end yet.
    open: usize,
}

impl Streams {
    fn of(&self, stream: Stream) -> &Tail {
        match stream {
            Stream::Standard => &self.standard,
            Stream::Error => &self.error,
        }
    }

    fn of_mut(&mut self, stream: Stream) -> &mut Tail {
        match stream {
            Stream::Standard => &mut self.standard,
            Stream::Error => &mut self.error,
        }
    }
}

/// One of the two output streams.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    Standard,
    Error,
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    /// Bytes in all, kept or not.
    total: usize,
    /// The pipe, until its end is met.
    source: Option<OwnedFd>,
}

impl Tail {
    /// Returns true if something is in the pipe that was not read yet.
    fn is_behind(&self) -> bool {
        self.source.as_ref().is_some_and(|source| {
            let mut polled = [PollFd::new(source.as_fd(), PollFlags::POLLIN)];
            let answer = poll(&mut polled, PollTimeout::ZERO);
            answer.is_ok()
                && polled[0]
                    .revents()
                    .is_some_and(|flags| flags.contains(PollFlags::POLLIN))
        })
    }

    fn push(&mut self, bytes: &[u8], kept: usize) {
        self.bytes.extend(bytes);
        self.total += bytes.len();
        self.bytes.drain(..self.bytes.len().saturating_sub(kept));
    }

    /// Bytes written after the first `seen` ones, as far as they are kept.
    fn since(&self, seen: usize) -> Vec<u8> {
        let new = self.total.saturating_sub(seen).min(self.bytes.len());
        self.bytes.range(self.bytes.len() - new..).copied().collect()
    }
}

impl Output {
    /// Output of a child of whose standard output so many bytes are kept.
    pub(crate) fn keeping(kept: usize) -> Self {
        let output = Self::default();
        output.streams().kept = kept;
        output
    }

    /// Reads `source` to its end on a thread of its own; a copy goes to `file`.
    pub(crate) fn follow(&self, stream: Stream, mut source: impl Read + AsFd + Send + 'static, mut file: Option<File>) {
        // If the process has no descriptor left, no caller waits until the reader has caught up.
        let known = source.as_fd().try_clone_to_owned().ok();
        let output = self.clone();
        let mut streams = output.streams();
        streams.of_mut(stream).source = known;
        streams.open += 1;
        drop(streams);
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            while readable(&source) {
                // No other thread reads, so this does not wait. The holder of the lock knows that
                // bytes which are not in the pipe are in the tail.
                let mut streams = output.streams();
                let read = match source.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let bytes = &buffer[..read];
                // The child must not stall because our disk is full; the tail is still kept.
                if file.as_mut().is_some_and(|file| file.write_all(bytes).is_err()) {
                    file = None;
                }
                let kept = match stream {
                    Stream::Standard => streams.kept.max(TAIL),
                    Stream::Error => TAIL,
                };
                streams.of_mut(stream).push(bytes, kept);
                drop(streams);
                output.shared.grown.notify_all();
            }
            let mut streams = output.streams();
            streams.of_mut(stream).source = None;
            streams.open -= 1;
            drop(streams);
            output.shared.grown.notify_all();
        });
    }

    /// Waits until `wanted` is in either stream; false when the time is over or both streams ended without it.
    pub(crate) fn wait_for(&self, wanted: &str, deadline: Instant) -> bool {
        let found = |streams: &Streams| {
            [&streams.standard, &streams.error]
                .into_iter()
                .any(|tail| contains(&tail.bytes, wanted.as_bytes()))
        };
        self.wait(deadline, |streams| found(streams) || streams.open == 0, found)
    }

    /// Waits until both streams have met their end, at most until `deadline` (a grandchild may hold them open).
    pub(crate) fn wait_for_end(&self, deadline: Instant) -> bool {
        let ended = |streams: &Streams| streams.open == 0;
        self.wait(deadline, ended, ended)
    }

    fn wait(&self, deadline: Instant, enough: impl Fn(&Streams) -> bool, answer: impl Fn(&Streams) -> bool) -> bool {
        let mut streams = self.streams();
        while !enough(&streams) {
            let Some(left) = deadline
                .checked_duration_since(Instant::now())
                .filter(|left| *left > Duration::ZERO)
            else {
                break;
            };
            streams = self
                .shared
                .grown
                .wait_timeout(streams, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        answer(&streams)
    }

    /// The kept part of one stream, with all that was written before this was called.
    pub(crate) fn bytes(&self, stream: Stream) -> Vec<u8> {
        let total = self.streams().of(stream).total;
        let caught_up = |streams: &Streams| {
            let tail = streams.of(stream);
            tail.total - total >= PIPE || !tail.is_behind()
        };
        self.wait(Instant::now() + CATCH_UP, caught_up, |_| true);
        self.since(stream, 0).0
    }

    /// Bytes of one stream after its first `seen` ones, and the number of bytes until now.
    pub(crate) fn since(&self, stream: Stream, seen: usize) -> (Vec<u8>, usize) {
        let streams = self.streams();
        let tail = streams.of(stream);
        (tail.since(seen), tail.total)
    }

    /// The last lines for an error: of standard error, or of standard output when that is empty.
    pub(crate) fn last_lines(&self) -> String {
        [Stream::Error, Stream::Standard]
            .into_iter()
            .map(|stream| last_lines(&String::from_utf8_lossy(&self.bytes(stream))))
            .find(|lines| !lines.is_empty())
            .unwrap_or_default()
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        // A reader thread cannot leave the bytes in a state that matters.
        self.shared.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until there is something to read, or the end.
fn readable(source: &impl AsFd) -> bool {
    loop {
        let mut polled = [PollFd::new(source.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            answer => return answer.is_ok(),
        }
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_IN_ERROR)..].join("\n")
}

fn contains(bytes: &VecDeque<u8>, wanted: &[u8]) -> bool {
    let (front, back) = bytes.as_slices();
    // Most tails are one slice; a wrapped one is joined so that a match over the seam is found.
    let joined;
    let whole = if back.is_empty() {
        front
    } else {
        joined = [front, back].concat();
        &joined
    };
    wanted.is_empty() || whole.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe into which a thread writes this text.
    fn pipe(text: Vec<u8>) -> io::PipeReader {
        let (reader, mut writer) = io::pipe().unwrap();
        thread::spawn(move || writer.write_all(&text).unwrap());
        reader
    }

    #[test]
    fn what_was_written_before_it_is_asked_for_is_there() {
        let (reader, mut writer) = io::pipe().unwrap();
        let output = Output::default();
        output.follow(Stream::Error, reader, None);
        for number in 0..5000_usize {
            writer.write_all(b"x").unwrap();
            assert_eq!(output.bytes(Stream::Error).len(), number + 1);
        }
    }

    #[test]
    fn only_the_end_of_a_long_stream_is_kept() {
        let output = Output::default();
        let mut text = vec![b'a'; TAIL];
        text.extend_from_slice(b"the end");
        output.follow(Stream::Standard, pipe(text), None);
        assert!(output.wait_for_end(Instant::now() + Duration::from_secs(60)));
        let bytes = output.bytes(Stream::Standard);
        assert_eq!(bytes.len(), TAIL);
        assert!(bytes.ends_with(b"the end"));
        let (new, total) = output.since(Stream::Standard, TAIL + 4);
        assert_eq!((new.as_slice(), total), (&b"end"[..], TAIL + 7));
    }

    #[test]
    fn a_listing_is_kept_as_far_as_it_was_asked_for() {
        let output = Output::keeping(2 * TAIL);
        let text = vec![b'a'; TAIL + 7];
        output.follow(Stream::Standard, pipe(text), None);
        assert!(output.wait_for_end(Instant::now() + Duration::from_secs(60)));
        assert_eq!(output.bytes(Stream::Standard).len(), TAIL + 7);
    }

    #[test]
    fn waiting_ends_when_the_streams_end_without_the_line() {
        let output = Output::default();
        output.follow(Stream::Error, pipe(b"something else\n".to_vec()), None);
        assert!(!output.wait_for("listening", Instant::now() + Duration::from_secs(60)));
        assert!(output.wait_for("else", Instant::now() + Duration::from_secs(60)));
    }

    #[test]
    fn last_lines_are_the_last_without_blank_ones() {
        let text: String = (0..20).map(|number| format!("line {number}\n\n")).collect();
        let lines = last_lines(&text);
        assert_eq!(lines.lines().count(), LINES_IN_ERROR);
        assert!(lines.starts_with("line 8\n") && lines.ends_with("line 19"));
        assert_eq!(last_lines(""), "");
    }
}
