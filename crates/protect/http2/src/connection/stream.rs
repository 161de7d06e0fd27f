//! Streams and their windows (RFC 9113, sections 5.1 and 5.2).

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::fields::Fields;
use crate::frame::Code;

/// Streams that are over and remembered, so that what comes too late is distinguished from what should never come.
const REMEMBERED: usize = 256;

bartizan_registry::made! {
    /// Bytes that the peer may send: a window, and the released part that may be announced again.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Window, pub(super) new(whole: u32) {
        whole: u32,
        left: i64 = i64::from(whole),
        released: u32 = 0,
    }
}

impl Window {
    /// Bytes arrived; `false` where they should not have.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.left -= bytes as i64;
        self.left >= 0
    }

    /// Bytes were used up. Gives what is to be announced, once that is half of the window.
    pub(super) fn release(&mut self, bytes: usize) -> Option<u32> {
        self.released = self.released.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        if self.released < self.whole / 2 || self.released == 0 {
            return None;
        }
        let more = std::mem::take(&mut self.released);
        self.left += i64::from(more);
        Some(more)
    }
}

/// Bytes and heads to be sent, and the action after them.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Heads, which come before the bytes.
    pub(super) heads: VecDeque<Fields>,
    pub(super) bytes: VecDeque<u8>,
    pub(super) after: After,
    /// Sweeps since it moved on.
    pub(super) still: u32,
    /// Bytes that moved since then.
    pub(super) moved: usize,
}

#[derive(Debug, Default)]
pub(super) enum After {
    #[default]
    More,
    End,
    Trailers(Fields),
}

impl Held {
    /// Bytes of all of it.
    pub(super) fn size(&self) -> usize {
        let trailers = match &self.after {
            After::Trailers(fields) => fields.size(),
            After::More | After::End => 0,
        };
        self.heads.iter().map(Fields::size).sum::<usize>() + self.bytes.len() + trailers
    }
}

/// The refused rest of a message: read, dropped, and reset with `code` where it does not end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal {
    pub(super) code: Code,
    /// Bytes of it that are still read.
    pub(super) left: usize,
    /// Sweeps since it began.
    pub(super) still: u32,
}

bartizan_registry::made! {
    #[derive(Debug)]
    pub(super) struct Stream<T>, pub(super) new(owner: u64, send_window: i64, receive_window: u32) {
        pub(super) kept: Option<T> = None,
        /// The owner for which it was opened: streams of one owner share what they may take of the
        /// connection's window.
        pub(super) owner: u64,
        pub(super) send_window: i64,
        pub(super) receive: Window = Window::new(receive_window),
        /// Received and not released.
        pub(super) unreleased: usize = 0,
        pub(super) held: Option<Box<Held>> = None,
        /// It is in the queue of those that wait for their turn.
        pub(super) queued: bool = false,
        pub(super) local_closed: bool = false,
        pub(super) remote_closed: bool = false,
        /// The final head of the response has come (client).
        pub(super) answered: bool = false,
        /// Bytes of interim responses before it.
        pub(super) interim: usize = 0,
        /// The response has no content, whatever its fields say.
        pub(super) bodiless: bool = false,
        /// Bytes still missing of the announced content.
        pub(super) missing: Option<u64> = None,
        /// Its end was received, and the caller has not seen it yet.
        pub(super) leaving: bool = false,
        /// The refusal of the rest of the peer's message.
        pub(super) refusal: Option<Refusal> = None,
    }
}

impl<T> Stream<T> {
    /// Our message has its end, sent or held.
    pub(super) fn has_our_end(&self) -> bool {
        self.local_closed
            || self
                .held
                .as_deref()
                .is_some_and(|held| !matches!(held.after, After::More))
    }

    /// Both messages are complete.
    pub(super) fn is_complete(&self) -> bool {
        self.local_closed && self.remote_closed
    }

    /// Complete, and its end was seen.
    pub(super) fn is_over(&self) -> bool {
        self.is_complete() && !self.leaving
    }

    /// Sent and not given back by a window of its own, where windows begin with `initial`.
    pub(super) fn outstanding(&self, initial: i64) -> i64 {
        (initial - self.send_window).max(0)
    }
}

/// The way in which a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Past {
    /// By its messages, or by the peer: nothing may follow.
    Ended,
    /// By us: what was under way may still come.
    Reset,
    /// Too long ago, or never opened.
    Unknown,
}

/// Mixes stream identifiers, which are odd numbers in a row.
#[derive(Debug, Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}

bartizan_registry::made! {
    /// All streams of a connection.
    #[derive(Debug)]
    pub(super) struct Streams<T>, pub(super) new() {
        map: HashMap<u32, Stream<T>, BuildHasherDefault<Mix>> = HashMap::default(),
        /// Those not complete.
        pub(super) open: usize = 0,
        /// Those with something that may be sent when it is their turn.
        pub(super) queue: VecDeque<u32> = VecDeque::new(),
        /// Those that wait for more of the connection's window.
        pub(super) parked: VecDeque<u32> = VecDeque::new(),
        /// Bytes of heads and bodies that wait, of all together.
        pub(super) waiting: usize = 0,
        /// Those completed by what was received last: gone once the caller has seen it.
        leaving: Vec<u32> = Vec::new(),
        past: VecDeque<(u32, Past)> = VecDeque::new(),
    }
}

impl<T> Streams<T> {
    pub(super) fn insert(&mut self, id: u32, stream: Stream<T>) {
        self.map.insert(id, stream);
        self.open += 1;
    }

    pub(super) fn find(&mut self, id: u32) -> Option<&mut Stream<T>> {
        self.map.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream<T>> {
        self.map.values()
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = (u32, &mut Stream<T>)> {
        self.map.iter_mut().map(|(id, stream)| (*id, stream))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(super) fn clear(&mut self) -> Vec<T> {
        self.open = 0;
        self.queue.clear();
        self.parked.clear();
        self.waiting = 0;
        self.leaving.clear();
        self.map.drain().filter_map(|(_, stream)| stream.kept).collect()
    }

    /// Takes a stream out.
    pub(super) fn remove(&mut self, id: u32, how: Past) -> Option<Stream<T>> {
        let stream = self.map.remove(&id)?;
        if !stream.is_complete() {
            self.open -= 1;
        }
        self.waiting -= stream.held.as_deref().map_or(0, Held::size);
        // Its share of the connection's window can now be granted to other streams, and there may
        // be fewer of those.
        self.unpark();
        if self.past.len() >= REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back((id, how));
        Some(stream)
    }

    /// Remembers one that was never opened.
    pub(super) fn refused(&mut self, id: u32) {
        if self.past.len() >= REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back((id, Past::Reset));
    }

    /// Takes a stream out whose end has come.
    pub(super) fn remove_over(&mut self, id: u32) -> Option<T> {
        self.remove(id, Past::Ended)?.kept
    }

    /// Those that wait for more of the connection's window may try again.
    pub(super) fn unpark(&mut self) {
        if !self.parked.is_empty() {
            self.queue.append(&mut self.parked);
        }
    }

    /// A stream has become complete by what was received: the caller has to see that before it is gone.
    pub(super) fn leaves(&mut self, id: u32) {
        self.open -= 1;
        if let Some(stream) = self.map.get_mut(&id) {
            stream.leaving = true;
        }
        self.leaving.push(id);
    }

    /// Removes streams whose end the caller has seen.
    pub(super) fn reap(&mut self) {
        while let Some(id) = self.leaving.pop() {
            let Some(stream) = self.map.get_mut(&id) else { continue };
            stream.leaving = false;
            if stream.is_over() {
                self.remove_over(id);
            }
        }
    }

    pub(super) fn past(&self, id: u32) -> Past {
        let found = self.past.iter().rev().find(|(known, _)| *known == id);
        found.map_or(Past::Unknown, |(_, how)| *how)
    }

    /// The ids above `last`.
    pub(super) fn above(&self, last: u32) -> Vec<u32> {
        self.map.keys().copied().filter(|id| *id > last).collect()
    }
}
