//! What is received: frames, checked against what may come on this connection now (RFC 9113, sections 5.1 and 6).

mod control;
mod head;

use super::stream::Past;
use super::{Connection, Event, Fault, Role};
use crate::PREFACE;
use crate::frame::{self, Code, Header};

pub(super) use head::Block;

impl<T> Connection<T> {
    /// Takes whole frames from the front of `input`; gives how many bytes of it were used. What of it are bodies is told by
    /// ranges. [`Connection::seen`] is to be called once the events were looked at.
    ///
    /// # Errors
    /// Where the connection has to end.
    pub fn receive(&mut self, input: &[u8], events: &mut Vec<Event<T>>) -> Result<usize, Fault> {
        let mut at = 0;
        if !self.begun {
            if input.len() < PREFACE.len() {
                return Ok(0);
            }
            if !input.starts_with(PREFACE) {
                return Err(Fault::protocol("no preface"));
            }
            self.begun = true;
            at = PREFACE.len();
        }
        while let Some(header) = input.get(at..).and_then(Header::read) {
            if header.length > frame::LONGEST {
                return Err(Fault::size("a frame longer than allowed"));
            }
            let from = at + frame::HEADER;
            let Some(payload) = input.get(from..from + header.length) else {
                break;
            };
            self.frame(header, payload, from, events)?;
            at = from + header.length;
        }
        Ok(at)
    }

    /// The events of what was received were looked at.
    pub fn seen(&mut self) {
        self.streams.reap();
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
            frame::DATA => self.data(header, payload, from, events),
            frame::HEADERS => self.headers(header, payload, events),
            frame::CONTINUATION => self.continuation(header, payload, events),
            frame::PRIORITY => self.priority(header, payload, events),
            frame::RST_STREAM => self.rst_stream(header, payload, events),
            frame::SETTINGS => self.settings(header, payload, events),
            // We have switched it off, and a client must not send it.
            frame::PUSH_PROMISE => Err(Fault::protocol("PUSH_PROMISE")),
            frame::PING => self.ping(header, payload),
            frame::GOAWAY => self.goaway(header, payload, events),
            frame::WINDOW_UPDATE => self.window_update(header, payload, events),
            // Extensions (section 5.5).
            _ => Ok(()),
        }
    }

    /// Whether a stream has never been used.
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
        let Some(stream) = self.streams.find(id) else {
            self.release_connection(payload.len());
            return match self.streams.past(id) {
                Past::Reset => Ok(()),
                Past::Ended | Past::Unknown => self.stream_error(id, Code::STREAM_CLOSED, events),
            };
        };
        stream.unreleased += payload.len();
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
        let end = header.has(frame::END_STREAM);
        if let Some(missing) = &mut stream.missing {
            match missing.checked_sub(content.len() as u64) {
                Some(left) if !end || left == 0 => *missing = left,
                _ => return self.stream_error(id, Code::PROTOCOL_ERROR, events),
            }
        }
        // Padding is used up at once.
        let padding = payload.len() - content.len();
        stream.unreleased -= padding;
        let more = stream.receive.release(padding).filter(|_| !end);
        if end {
            stream.remote_closed = true;
            if stream.local_closed {
                self.streams.leaves(id);
            }
        }
        self.release_connection(padding);
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
}

/// Payload of DATA or HEADERS without its padding, and how many bytes stand before it.
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
