//! Receiving: frames, checked against what may come on this connection now (RFC 9113, sections 5.1
//! and 6).

mod control;
mod head;

use super::stream::Past;
use super::{Connection, Event, Fault, Role};
use crate::PREFACE;
use crate::frame::{self, Code, Header};

pub(super) use head::Block;

/// Input that [`Connection::receive`] has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of it that were used.
    pub used: usize,
    /// Frames in these bytes.
    pub frames: usize,
    /// Whole frames may be left: it was enough for one turn.
    pub more: bool,
}

impl<T> Connection<T> {
    /// Takes at most so many whole frames from the front of `input`. Bodies are given as ranges of
    /// it. [`Connection::seen`] is to be called once the events were looked at.
    ///
    /// # Errors
    /// If the connection has to end.
    pub fn receive(&mut self, input: &[u8], frames: usize, events: &mut Vec<Event<T>>) -> Result<Received, Fault> {
        let mut at = 0;
        if !self.begun {
            if input.len() < PREFACE.len() {
                return Ok(Received {
                    used: 0,
                    frames: 0,
                    more: false,
                });
            }
            if !input.starts_with(PREFACE) {
                return Err(Fault::protocol("no preface"));
            }
            self.begun = true;
            at = PREFACE.len();
        }
        // The type of the first frame. Servers without HTTP/2 answer the preface in words, some
        // without a status line, and read no further: it is made for that (section 3.4).
        if self.role == Role::Client && !self.settled && input.get(3).is_some_and(|&kind| kind != frame::SETTINGS) {
            return Err(Fault {
                code: Code::HTTP_1_1_REQUIRED,
                why: "the server does not speak HTTP/2",
            });
        }
        let mut taken = 0;
        let (mut whole, mut unseen) = (true, false);
        while taken < frames && whole && !unseen {
            let Some(header) = input.get(at..).and_then(Header::read) else {
                break;
            };
            if header.length > frame::LONGEST {
                return Err(Fault::size("a frame longer than allowed"));
            }
            let from = at + frame::HEADER;
            match input.get(from..from + header.length) {
                Some(_) if taken > 0 && self.resets_unseen(header, events) => unseen = true,
                Some(payload) => {
                    self.frame(header, payload, from, events)?;
                    at = from + header.length;
                    taken += 1;
                }
                None => whole = false,
            }
        }
        Ok(Received {
            used: at,
            frames: taken,
            more: unseen || (taken == frames && at < input.len()),
        })
    }

    /// Returns true if a frame resets a stream of whose response the caller has events to look at.
    /// They come first: a response that is complete counts (RFC 9113, section 8.1). A request that
    /// is reset at once leads nowhere.
    fn resets_unseen(&mut self, header: Header, events: &[Event<T>]) -> bool {
        self.role == Role::Client
            && header.kind == frame::RST_STREAM
            && self.streams.find(header.stream).is_some()
            && events.iter().any(|event| event.message() == Some(header.stream))
    }

    /// The events of what was received were looked at.
    pub fn seen(&mut self) {
        self.streams.reap();
    }

    /// A frame carries nothing of a message.
    pub(super) fn idle_frame(&mut self) -> Result<(), Fault> {
        self.idle(1)
    }

    /// The same for what costs as much as so many such frames.
    pub(super) fn idle(&mut self, frames: usize) -> Result<(), Fault> {
        let left = u32::try_from(frames)
            .ok()
            .and_then(|frames| self.idle_frames.checked_sub(frames));
        self.idle_frames = left.ok_or(Fault::calm("frames that carry nothing"))?;
        Ok(())
    }

    /// Allows for so many more frames that carry nothing, after bytes were sent or received.
    pub(super) fn allow_idle_frames(&mut self, frames: usize) {
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        self.idle_frames = self.idle_frames.saturating_add(frames).min(super::IDLE_FRAMES_AT_MOST);
    }

    fn frame(&mut self, header: Header, payload: &[u8], from: usize, events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if let Some(block) = &self.block
            && (header.kind != frame::CONTINUATION || header.stream != block.stream)
        {
            return Err(Fault::protocol("a header block is interrupted"));
        }
        if !self.settled && header.kind != frame::SETTINGS {
            return Err(Fault::protocol("the first frame is not SETTINGS"));
        }
        match header.kind {
            frame::DATA => return self.data(header, payload, from, events),
            frame::HEADERS => return self.headers(header, payload, events),
            frame::CONTINUATION => return self.continuation(header, payload, events),
            frame::RST_STREAM => return self.rst_stream(header, payload, events),
            _ => {}
        }
        match header.kind {
            frame::PRIORITY => self.priority(header, payload, events)?,
            frame::SETTINGS => self.settings(header, payload, events)?,
            // We have switched it off, and a client must not send it.
            frame::PUSH_PROMISE => return Err(Fault::protocol("PUSH_PROMISE")),
            frame::PING => self.ping(header, payload)?,
            frame::GOAWAY => self.goaway(header, payload, events)?,
            frame::WINDOW_UPDATE => self.window_update(header, payload, events)?,
            // Extensions (section 5.5).
            _ => {}
        }
        self.idle_frame()
    }

    /// Returns true if a stream has never been used.
    fn is_unopened(&self, id: u32) -> bool {
        match self.role {
            Role::Client => id.is_multiple_of(2) || id >= self.edge,
            Role::Server => id.is_multiple_of(2) || id > self.edge,
        }
    }

    fn data(&mut self, header: Header, payload: &[u8], from: usize, events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        let id = header.stream;
        if id == 0 || self.is_unopened(id) {
            return Err(Fault::protocol("DATA on a stream that is not open"));
        }
        let (skipped, content) = unpadded(header, payload)?;
        if !self.receive.take(payload.len()) {
            return Err(Fault {
                code: Code::FLOW_CONTROL_ERROR,
                why: "more than the connection's window",
            });
        }
        if let Some(more) = self.receive.release(payload.len()) {
            frame::put_number(&mut self.out, frame::WINDOW_UPDATE, 0, more);
        }
        let end = header.has(frame::END_STREAM);
        if content.is_empty() && !end {
            self.idle_frame()?;
        }
        let Some(stream) = self.streams.find(id) else {
            return match self.streams.past(id) {
                // It was on its way, and is bounded by what it carries.
                Past::Reset => Ok(()),
                // So may this have been: more streams have ended since than are remembered.
                Past::Unknown => self.idle_frame(),
                Past::Ended => self.stream_error(id, Code::STREAM_CLOSED, events),
            };
        };
        let client = self.role == Role::Client;
        if stream.remote_closed {
            return self.stream_error(id, Code::STREAM_CLOSED, events);
        }
        if client && !stream.answered {
            return self.stream_error(id, Code::PROTOCOL_ERROR, events);
        }
        if !stream.receive.take(payload.len()) {
            return self.stream_error(id, Code::FLOW_CONTROL_ERROR, events);
        }
        if let Some(missing) = &mut stream.missing {
            match missing.checked_sub(content.len() as u64) {
                Some(left) if !end || left == 0 => *missing = left,
                _ => return self.stream_error(id, Code::PROTOCOL_ERROR, events),
            }
        }
        if stream.refusal.is_some() {
            return self.unwanted(id, payload.len(), end);
        }
        // Padding is used up at once.
        let padding = payload.len() - content.len();
        stream.unreleased += content.len();
        let more = stream.receive.release(padding).filter(|_| !end);
        if end {
            stream.remote_closed = true;
            if stream.local_closed {
                self.streams.leaves(id);
            }
        }
        if let Some(more) = more {
            frame::put_number(&mut self.out, frame::WINDOW_UPDATE, id, more);
        }
        if end || !content.is_empty() {
            let from = from + skipped;
            events.push(Event::Data {
                stream: id,
                from,
                to: from + content.len(),
                end,
            });
        }
        Ok(())
    }

    /// Takes a refused part of a message ([`Connection::refuse_rest`]).
    fn unwanted(&mut self, id: u32, bytes: usize, end: bool) -> Result<(), Fault> {
        let Some(stream) = self.streams.find(id) else {
            return Ok(());
        };
        if end {
            stream.remote_closed = true;
            if stream.local_closed {
                self.streams.leaves(id);
            }
            return Ok(());
        }
        let Some(refusal) = &mut stream.refusal else {
            return Ok(());
        };
        refusal.left = refusal.left.saturating_sub(bytes);
        if refusal.left > 0 {
            if let Some(more) = stream.receive.release(bytes) {
                frame::put_number(&mut self.out, frame::WINDOW_UPDATE, id, more);
            }
        } else if stream.local_closed {
            let code = refusal.code;
            self.reset(id, code);
        }
        Ok(())
    }
}

/// Payload of DATA or HEADERS without its padding, and how many bytes are before it.
fn unpadded(header: Header, payload: &[u8]) -> Result<(usize, &[u8]), Fault> {
    if !header.has(frame::PADDED) {
        return Ok((0, payload));
    }
    let (&padding, rest) = payload
        .split_first()
        .ok_or(Fault::size("a padded frame without the length of its padding"))?;
    let end = rest
        .len()
        .checked_sub(usize::from(padding))
        .ok_or(Fault::protocol("padding longer than its frame"))?;
    Ok((1, &rest[..end]))
}
