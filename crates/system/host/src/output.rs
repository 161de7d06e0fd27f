//! What a child writes: the last part is kept, the whole goes to a file if one is named.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of each stream that are kept where nobody asks for more.
pub(crate) const TAIL: usize = 256 * 1024;

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

/// Which of the two.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    Standard,
    Error,
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    /// How many bytes there were in all.
    total: usize,
}

impl Tail {
    fn push(&mut self, bytes: &[u8], kept: usize) {
        self.bytes.extend(bytes);
        self.total += bytes.len();
        self.bytes.drain(..self.bytes.len().saturating_sub(kept));
    }

    /// What was written after the first `seen` bytes, as far as it is kept.
    fn since(&self, seen: usize) -> Vec<u8> {
        let new = self.total.saturating_sub(seen).min(self.bytes.len());
        self.bytes.range(self.bytes.len() - new..).copied().collect()
    }
}

impl Output {
    /// Of a child of whose standard output so many bytes are kept.
    pub(crate) fn keeping(kept: usize) -> Self {
        let output = Self::default();
        output.streams().kept = kept;
        output
    }

    /// Reads `source` to its end on a thread of its own; a copy goes to `file`.
    pub(crate) fn follow(&self, stream: Stream, mut source: impl Read + Send + 'static, mut file: Option<File>) {
        let output = self.clone();
        output.streams().open += 1;
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let read = match source.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let bytes = &buffer[..read];
                // The child must not stall because our disk is full; the tail is still kept.
                if file.as_mut().is_some_and(|file| file.write_all(bytes).is_err()) {
                    file = None;
                }
                let mut streams = output.streams();
                let kept = streams.kept;
                match stream {
                    Stream::Standard => streams.standard.push(bytes, kept.max(TAIL)),
                    Stream::Error => streams.error.push(bytes, TAIL),
                }
                drop(streams);
                output.shared.grown.notify_all();
            }
            output.streams().open -= 1;
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

    /// The kept part of one stream.
    pub(crate) fn bytes(&self, stream: Stream) -> Vec<u8> {
        self.since(stream, 0).0
    }

    /// What one stream has had after its first `seen` bytes, and how many bytes there were until now.
    pub(crate) fn since(&self, stream: Stream, seen: usize) -> (Vec<u8>, usize) {
        let streams = self.streams();
        let tail = match stream {
            Stream::Standard => &streams.standard,
            Stream::Error => &streams.error,
        };
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

    #[test]
    fn only_the_end_of_a_long_stream_is_kept() {
        let output = Output::default();
        let mut text = vec![b'a'; TAIL];
        text.extend_from_slice(b"the end");
        output.follow(Stream::Standard, std::io::Cursor::new(text), None);
        assert!(output.wait_for_end(Instant::now() + Duration::from_secs(10)));
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
        output.follow(Stream::Standard, std::io::Cursor::new(text), None);
        assert!(output.wait_for_end(Instant::now() + Duration::from_secs(10)));
        assert_eq!(output.bytes(Stream::Standard).len(), TAIL + 7);
    }

    #[test]
    fn waiting_ends_when_the_streams_end_without_the_line() {
        let output = Output::default();
        output.follow(Stream::Error, std::io::Cursor::new("something else\n"), None);
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
