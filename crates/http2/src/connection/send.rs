//! What is sent: heads, bodies within their windows, resets.

use super::stream::{After, Past, Stream};
use super::{Connection, Event, OUT_MARK, Role};
use crate::fields::Fields;
use crate::frame::{self, Code};

impl<T> Connection<T> {
    /// Sends a request; the stream it is on. `None` where there is no room ([`Connection::has_room`]).
    pub fn open(&mut self, fields: &Fields, end: bool, kept: T) -> Option<u32> {
        if !self.has_room() {
            return None;
        }
        let id = self.edge;
        self.edge += 2;
        let mut stream = Stream::new(self.theirs.initial_window, self.bounds.stream_window);
        stream.kept = Some(kept);
        stream.local_closed = end;
        stream.bodiless = fields.value(b":method") == Some(b"HEAD");
        self.streams.insert(id, stream);
        self.put_head(id, fields, end);
        Some(id)
    }

    /// Sends the head of a response, interim or final. `false` where the stream is over.
    pub fn send_head(&mut self, id: u32, fields: &Fields, end: bool) -> bool {
        match self.streams.find(id) {
            Some(stream) if !stream.local_closed && stream.held.is_none() => {}
            _ => return false,
        }
        self.put_head(id, fields, end);
        if end {
            self.close_local(id);
        }
        true
    }

    /// Sends a piece of a body. Gives how much is on its way: the rest waits for a window and is told by [`Event::Moved`] later.
    /// `None` where the stream is over.
    pub fn send_data(&mut self, id: u32, bytes: &[u8], end: bool) -> Option<usize> {
        let waits = self.output().len() >= OUT_MARK;
        let stream = self.streams.find(id)?;
        if stream.local_closed {
            return None;
        }
        let may = stream.send_window.min(self.send_window).max(0) as usize;
        let now = if stream.held.is_some() || waits {
            0
        } else {
            bytes.len().min(may)
        };
        let rest = &bytes[now..];
        let ends_now = end && rest.is_empty() && stream.held.is_none();
        stream.send_window -= now as i64;
        self.send_window -= now as i64;
        if !rest.is_empty() || (end && !ends_now) {
            let held = stream.held.get_or_insert_default();
            held.bytes.extend(rest);
            if end {
                held.after = After::End;
            }
            if !stream.queued && stream.send_window > 0 {
                stream.queued = true;
                self.streams.queue.push_back(id);
            }
        }
        self.put_data(id, &bytes[..now], ends_now);
        if ends_now {
            self.close_local(id);
        }
        Some(now)
    }

    /// Sends trailers after what was sent of the body.
    pub fn send_trailers(&mut self, id: u32, fields: Fields) {
        let Some(stream) = self.streams.find(id) else { return };
        if stream.local_closed {
            return;
        }
        match &mut stream.held {
            Some(held) => held.after = After::Trailers(fields),
            None => {
                self.put_head(id, &fields, true);
                self.close_local(id);
            }
        }
    }

    /// Ends a stream with a code; gives what was kept with it.
    pub fn reset(&mut self, id: u32, code: Code) -> Option<T> {
        let stream = self.remove(id, Past::Reset)?;
        if !stream.is_complete() {
            frame::put_number(&mut self.out, frame::RST_STREAM, id, code.0);
        }
        stream.kept
    }

    /// Wants nothing more of the peer's message: once ours is complete, the stream ends with this code.
    pub fn abandon(&mut self, id: u32, code: Code) {
        let Some(stream) = self.streams.find(id) else { return };
        if stream.remote_closed {
            return;
        }
        if stream.local_closed {
            self.reset(id, code);
        } else {
            stream.abandon = Some(code);
        }
    }

    /// Whether bodies are held that could go on once the output is written.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.streams.queue.is_empty() && self.send_window > 0
    }

    /// Sends what had to wait, as far as windows and output allow.
    pub fn pump(&mut self, events: &mut Vec<Event<T>>) {
        while self.output().len() < OUT_MARK {
            let Some(id) = self.streams.queue.pop_front() else {
                return;
            };
            let Some(stream) = self.streams.find(id) else { continue };
            stream.queued = false;
            let Some(held) = &mut stream.held else { continue };
            let may = stream.send_window.min(self.send_window).max(0) as usize;
            // One frame at a time, so that streams take turns.
            let now = held.bytes.len().min(may).min(self.theirs.frame);
            if now == 0 && !held.bytes.is_empty() {
                if stream.send_window > 0 {
                    // It is the connection's window that is closed: for all of them.
                    stream.queued = true;
                    self.streams.queue.push_front(id);
                    return;
                }
                continue;
            }
            let piece: Vec<u8> = held.bytes.drain(..now).collect();
            stream.send_window -= now as i64;
            self.send_window -= now as i64;
            let after = if held.bytes.is_empty() {
                let after = std::mem::take(&mut held.after);
                stream.held = None;
                after
            } else {
                if stream.send_window > 0 {
                    stream.queued = true;
                    self.streams.queue.push_back(id);
                }
                After::More
            };
            self.put_data(id, &piece, matches!(after, After::End));
            let over = match after {
                After::More => None,
                After::End => self.close_local(id),
                After::Trailers(fields) => {
                    self.put_head(id, &fields, true);
                    self.close_local(id)
                }
            };
            if now > 0 {
                note_moved(events, id, now, over);
            }
        }
    }

    /// A stream may send more than before, or for the first time after its window was closed.
    pub(super) fn requeue(&mut self, id: u32) {
        if let Some(stream) = self.streams.find(id)
            && stream.held.is_some()
            && !stream.queued
            && stream.send_window > 0
        {
            stream.queued = true;
            self.streams.queue.push_back(id);
        }
    }

    /// Our message on a stream is complete. Gives what was kept with it where that is its end.
    fn close_local(&mut self, id: u32) -> Option<T> {
        let stream = self.streams.find(id)?;
        if stream.local_closed {
            return None;
        }
        if let Some(code) = stream.abandon
            && !stream.remote_closed
        {
            return self.reset(id, code);
        }
        stream.local_closed = true;
        if !stream.remote_closed {
            return None;
        }
        let over = stream.is_over();
        self.streams.open -= 1;
        if over { self.streams.remove_over(id) } else { None }
    }

    /// Takes a stream out, and gives back what it held of the connection's window.
    pub(super) fn remove(&mut self, id: u32, how: Past) -> Option<Stream<T>> {
        let stream = self.streams.remove(id, how)?;
        self.release_connection(stream.unreleased);
        Some(stream)
    }

    fn put_data(&mut self, id: u32, bytes: &[u8], end: bool) {
        let mut rest = bytes;
        while rest.len() > self.theirs.frame {
            let (piece, more) = rest.split_at(self.theirs.frame);
            frame::put_header(&mut self.out, piece.len(), frame::DATA, 0, id);
            self.out.extend_from_slice(piece);
            rest = more;
        }
        if !rest.is_empty() || end {
            let flags = if end { frame::END_STREAM } else { 0 };
            frame::put_header(&mut self.out, rest.len(), frame::DATA, flags, id);
            self.out.extend_from_slice(rest);
        }
    }

    pub(super) fn put_head(&mut self, id: u32, fields: &Fields, end: bool) {
        let flags = if end { frame::END_STREAM } else { 0 };
        let begin = self.out.len();
        frame::put_header(&mut self.out, 0, frame::HEADERS, flags | frame::END_HEADERS, id);
        self.encoder.encode(fields, &mut self.out);
        let length = self.out.len() - begin - frame::HEADER;
        if length <= self.theirs.frame {
            // 24 bits hold it.
            let [_, high, middle, low] = (length as u32).to_be_bytes();
            self.out[begin..begin + 3].copy_from_slice(&[high, middle, low]);
            return;
        }
        let block = self.out.split_off(begin + frame::HEADER);
        self.out.truncate(begin);
        let mut pieces = block.chunks(self.theirs.frame).peekable();
        let (mut kind, mut flags) = (frame::HEADERS, flags);
        while let Some(piece) = pieces.next() {
            if pieces.peek().is_none() {
                flags |= frame::END_HEADERS;
            }
            frame::put_header(&mut self.out, piece.len(), kind, flags, id);
            self.out.extend_from_slice(piece);
            (kind, flags) = (frame::CONTINUATION, 0);
        }
    }

    /// Resets a stream for what the peer did on it.
    pub(super) fn stream_error(&mut self, id: u32, code: Code, events: &mut Vec<Event<T>>) -> Result<(), super::Fault> {
        self.faults += 1;
        if self.faults > super::FAULTS_AT_MOST {
            return Err(super::Fault::calm("too many errors of streams"));
        }
        frame::put_number(&mut self.out, frame::RST_STREAM, id, code.0);
        match self.remove(id, Past::Reset) {
            Some(stream) => events.push(Event::Reset {
                code,
                by: self.role,
                kept: stream.kept,
            }),
            None => self.streams.refused(id),
        }
        Ok(())
    }

    /// The other role.
    pub(super) fn peer(&self) -> Role {
        match self.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        }
    }
}

/// Tells how much of a stream went on its way, once for all its pieces: when they are looked at, its end may have taken the stream
/// away, and with it what tells whose window the earlier ones belong to.
fn note_moved<T>(events: &mut Vec<Event<T>>, id: u32, now: usize, end: Option<T>) {
    for event in events.iter_mut() {
        if let Event::Moved { stream, bytes, over } = event
            && *stream == id
        {
            *bytes += now;
            *over = end;
            return;
        }
    }
    events.push(Event::Moved {
        stream: id,
        bytes: now,
        over: end,
    });
}
