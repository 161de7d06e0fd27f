//! Sending: heads, bodies within their windows, resets.

use super::share::Shares;
use super::stream::{After, Held, Past, Refusal, Stream};
use super::{Connection, Event, Role};
use crate::fields::Fields;
use crate::frame::{self, Code};

/// Reason why a part of a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsent {
    /// The stream is over.
    Over,
    /// As much waits for the stream's reader as may ([`super::Bounds::waiting`]).
    Full,
}

impl<T> Connection<T> {
    /// Sends a request on behalf of `owner`; the stream it is on. `None` where there is no room
    /// ([`Connection::has_room`]).
    ///
    /// If the connection's window is scarce, the share of one owner is bounded by what is left for
    /// others.
    pub fn open(&mut self, fields: &Fields, end: bool, owner: u64, kept: T) -> Option<u32> {
        if !self.has_room() {
            return None;
        }
        let id = self.edge;
        self.edge += 2;
        let mut stream = Stream::new(owner, self.theirs.initial_window, self.bounds.stream_window);
        stream.kept = Some(kept);
        stream.local_closed = end;
        stream.bodiless = fields.value(b":method") == Some(b"HEAD");
        self.streams.insert(id, stream);
        self.put_head(id, fields, end);
        Some(id)
    }

    /// Sends the head of a response, interim or final. The final one to HEAD ends it (RFC 9110,
    /// section 9.3.2).
    ///
    /// # Errors
    /// If the stream is over or full.
    pub fn send_head(&mut self, id: u32, fields: &Fields, end: bool) -> Result<(), Unsent> {
        let full = self.is_full();
        let stream = self.streams.find(id).ok_or(Unsent::Over)?;
        let begun = stream.held.as_deref().is_some_and(|held| !held.bytes.is_empty());
        if stream.has_our_end() || begun {
            return Err(Unsent::Over);
        }
        let is_final = fields.value(b":status").is_some_and(|status| !status.starts_with(b"1"));
        let end = end || (stream.bodiless && is_final);
        if full || stream.held.is_some() {
            return self.hold(id, fields.size(), |held| {
                held.heads.push_back(fields.clone());
                if end {
                    held.after = After::End;
                }
            });
        }
        self.put_head(id, fields, end);
        if end {
            self.close_local(id);
        }
        Ok(())
    }

    /// Sends a piece of a body. Gives how much is on its way: the rest waits for a window and is
    /// reported by [`Event::Moved`] later.
    ///
    /// # Errors
    /// If the stream is over or full.
    pub fn send_data(&mut self, id: u32, bytes: &[u8], end: bool) -> Result<usize, Unsent> {
        let full = self.is_full();
        let stream = self.streams.find(id).ok_or(Unsent::Over)?;
        if stream.has_our_end() {
            return Err(Unsent::Over);
        }
        let now = if stream.held.is_some() || full {
            0
        } else {
            self.may_send(id, bytes.len(), &mut Shares::default())
        };
        let rest = &bytes[now..];
        let stream = self.streams.find(id).ok_or(Unsent::Over)?;
        let ends_now = end && rest.is_empty() && stream.held.is_none();
        stream.send_window -= now as i64;
        self.send_window -= now as i64;
        self.put_data(id, &bytes[..now], ends_now);
        if ends_now {
            self.close_local(id);
        } else if end || !rest.is_empty() {
            self.hold(id, rest.len(), |held| {
                held.bytes.extend(rest);
                if end {
                    held.after = After::End;
                }
            })?;
        }
        Ok(now)
    }

    /// Sends trailers after what was sent of the body.
    ///
    /// # Errors
    /// If the stream is over or full.
    pub fn send_trailers(&mut self, id: u32, fields: Fields) -> Result<(), Unsent> {
        let full = self.is_full();
        let stream = self.streams.find(id).ok_or(Unsent::Over)?;
        if stream.has_our_end() {
            return Err(Unsent::Over);
        }
        if full || stream.held.is_some() {
            return self.hold(id, fields.size(), |held| held.after = After::Trailers(fields));
        }
        self.put_head(id, &fields, true);
        self.close_local(id);
        Ok(())
    }

    /// Ends a stream with a code; gives what was kept with it.
    pub fn reset(&mut self, id: u32, code: Code) -> Option<T> {
        let stream = self.streams.remove(id, Past::Reset)?;
        if !stream.is_complete() {
            frame::put_number(&mut self.out, frame::RST_STREAM, id, code.0);
        }
        stream.kept
    }

    /// Wants nothing more of the peer's message: up to `bytes` of what is still coming are read and
    /// dropped. If the message does not end in these, or they do not come ([`Connection::sweep`]),
    /// the stream is reset with `code` once our own message is complete.
    ///
    /// RFC 9113, section 8.1, lets a server reset at once after a complete response; clients are
    /// known that lose the response then.
    pub fn refuse_rest(&mut self, id: u32, code: Code, bytes: usize) {
        let Some(stream) = self.streams.find(id) else { return };
        if stream.remote_closed || stream.refusal.is_some() {
            return;
        }
        stream.refusal = Some(Refusal {
            code,
            left: bytes,
            still: 0,
        });
        // Bytes that were not handed on will not be.
        let held_back = stream.unreleased;
        self.release(id, held_back);
    }

    /// Returns true if something is held that could go on once the output is written.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.streams.queue.is_empty()
    }

    /// Sends what had to wait, as far as windows and output allow.
    pub fn pump(&mut self, events: &mut Vec<Event<T>>) {
        let mut shares = Shares::default();
        while !self.is_full() {
            let Some(id) = self.streams.queue.pop_front() else {
                return;
            };
            let Some(stream) = self.streams.find(id) else { continue };
            stream.queued = false;
            let Some(held) = &mut stream.held else { continue };
            if let Some(head) = held.heads.pop_front() {
                held.moved += head.size();
                let end = held.heads.is_empty() && held.bytes.is_empty() && matches!(held.after, After::End);
                self.streams.waiting -= head.size();
                self.put_head(id, &head, end);
                if end {
                    self.streams.find(id).map(|stream| stream.held.take());
                    self.close_local(id);
                } else {
                    self.after_a_piece(id);
                }
                continue;
            }
            // One frame at a time, so that streams take turns.
            let wanted = held.bytes.len().min(self.theirs.frame);
            let now = self.may_send(id, wanted, &mut shares);
            let Some(stream) = self.streams.find(id) else { continue };
            shares.took(stream.owner, now);
            let Some(held) = &mut stream.held else { continue };
            if now == 0 && wanted > 0 {
                if stream.send_window > 0 {
                    // It is the connection's window that is closed, or as much of it as its owner may have.
                    stream.queued = true;
                    self.streams.parked.push_back(id);
                }
                continue;
            }
            let piece: Vec<u8> = held.bytes.drain(..now).collect();
            held.moved += now;
            let ends = held.bytes.is_empty() && matches!(held.after, After::End);
            stream.send_window -= now as i64;
            self.send_window -= now as i64;
            self.streams.waiting -= now;
            if now > 0 {
                note_moved(events, id, now);
            }
            self.put_data(id, &piece, ends);
            if ends {
                self.streams.find(id).map(|stream| stream.held.take());
                self.close_local(id);
            } else {
                self.after_a_piece(id);
            }
        }
    }

    /// Updates the pending state of a stream after a partial write.
    fn after_a_piece(&mut self, id: u32) {
        let Some(stream) = self.streams.find(id) else { return };
        let Some(held) = &mut stream.held else { return };
        if !held.heads.is_empty() || !held.bytes.is_empty() {
            return self.requeue(id);
        }
        let after = std::mem::take(&mut held.after);
        stream.held = None;
        if let After::Trailers(fields) = after {
            self.streams.waiting -= fields.size();
            self.put_head(id, &fields, true);
            self.close_local(id);
        }
    }

    /// A part of a message waits.
    fn hold(&mut self, id: u32, size: usize, add: impl FnOnce(&mut Held)) -> Result<(), Unsent> {
        let at_most = self.bounds.waiting;
        let stream = self.streams.find(id).ok_or(Unsent::Over)?;
        if stream.held.as_deref().map_or(0, Held::size) + size > at_most {
            return Err(Unsent::Full);
        }
        add(stream.held.get_or_insert_default());
        self.streams.waiting += size;
        self.requeue(id);
        Ok(())
    }

    /// Number of these bytes that a stream may send now: within its window, the connection's, and
    /// its owner's share of that.
    fn may_send(&mut self, id: u32, wanted: usize, shares: &mut Shares) -> usize {
        let left = self.send_window;
        let Some(stream) = self.streams.find(id) else { return 0 };
        let may = stream.send_window.min(left).min(wanted as i64);
        // With a third of the window left no owner has more than two thirds.
        if may <= 0 || left - may >= self.send_whole / 3 {
            return may.max(0) as usize;
        }
        let owner = stream.owner;
        let initial = self.theirs.initial_window;
        let share = shares.of(owner, left, || {
            self.streams
                .iter()
                .map(|stream| (stream.owner, stream.outstanding(initial)))
        });
        may.min(share).max(0) as usize
    }

    /// A stream may send more than before, or for the first time after its window was closed.
    pub(super) fn requeue(&mut self, id: u32) {
        if let Some(stream) = self.streams.find(id)
            && let Some(held) = &stream.held
            && !stream.queued
            && (stream.send_window > 0 || !held.heads.is_empty() || held.bytes.is_empty())
        {
            stream.queued = true;
            self.streams.queue.push_back(id);
        }
    }

    /// Our message on a stream is complete.
    fn close_local(&mut self, id: u32) {
        let Some(stream) = self.streams.find(id) else { return };
        if stream.local_closed {
            return;
        }
        stream.local_closed = true;
        if !stream.remote_closed {
            if let Some(refusal) = stream.refusal
                && refusal.left == 0
            {
                self.reset(id, refusal.code);
            }
            return;
        }
        let over = stream.is_over();
        self.streams.open -= 1;
        if over {
            self.streams.remove_over(id);
        }
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
        // The peer answers bytes that it reads with windows.
        self.allow_idle_frames(bytes.len() / 1024);
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
        match self.streams.remove(id, Past::Reset) {
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

/// Reports the bytes of a stream that went on their way, once for all its pieces.
fn note_moved<T>(events: &mut Vec<Event<T>>, id: u32, now: usize) {
    for event in events.iter_mut() {
        if let Event::Moved { stream, bytes } = event
            && *stream == id
        {
            *bytes += now;
            return;
        }
    }
    events.push(Event::Moved { stream: id, bytes: now });
}
