//! What is received: frames, checked against what may come on this connection now (RFC 9113, sections 5.1 and 6).

use super::stream::{Past, Stream};
use super::{Connection, DRAINING, Event, Fault, Role};
use crate::PREFACE;
use crate::fields::{Fields, Indexing};
use crate::frame::{self, Code, Header};
use crate::hpack::Size;
use crate::message::{self, Kind};

/// What a header block may have beyond the longest list, for fields that Huffman's code makes longer and changes of the table.
const BLOCK_MARGIN: usize = 64 * 1024;
/// Frames of one header block. Their number says nothing that their bytes do not (CVE-2024-27316 and others).
const CONTINUATIONS_AT_MOST: u32 = 256;

/// A header block that has begun.
#[derive(Debug)]
pub(super) struct Block {
    stream: u32,
    flags: u8,
    depends_on_itself: bool,
    fragments: Vec<u8>,
    frames: u32,
}

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

    fn headers(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if header.stream == 0 {
            return Err(Fault::protocol("HEADERS on stream 0"));
        }
        let (_, mut fragment) = unpadded(header, payload)?;
        let mut depends_on_itself = false;
        if header.has(frame::WITH_PRIORITY) {
            let (priority, rest) = fragment
                .split_at_checked(5)
                .ok_or(Fault::size("HEADERS too short for its priority"))?;
            depends_on_itself = frame::number(priority) & frame::LARGEST == header.stream;
            fragment = rest;
        }
        if header.has(frame::END_HEADERS) {
            return self.block(header.stream, header.flags, depends_on_itself, fragment, events);
        }
        self.block = Some(Block {
            stream: header.stream,
            flags: header.flags,
            depends_on_itself,
            fragments: fragment.to_vec(),
            frames: 0,
        });
        Ok(())
    }

    fn continuation(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        let Some(mut block) = self.block.take() else {
            return Err(Fault::protocol("CONTINUATION without HEADERS"));
        };
        block.frames += 1;
        let bound = self.bounds.header_bytes as usize + BLOCK_MARGIN;
        if block.frames > CONTINUATIONS_AT_MOST || block.fragments.len() + payload.len() > bound {
            return Err(Fault::calm("a header block without end"));
        }
        block.fragments.extend_from_slice(payload);
        if header.has(frame::END_HEADERS) {
            return self.block(
                block.stream,
                block.flags,
                block.depends_on_itself,
                &block.fragments,
                events,
            );
        }
        self.block = Some(block);
        Ok(())
    }

    /// A header block is complete.
    fn block(
        &mut self,
        id: u32,
        flags: u8,
        depends_on_itself: bool,
        block: &[u8],
        events: &mut Vec<Event<T>>,
    ) -> Result<(), Fault> {
        let mut fields = Fields::new();
        let at_most = self.bounds.header_bytes as usize;
        // Also what nobody will look at: the tables of both ends must agree.
        let size = self.decoder.decode(block, at_most, &mut fields).map_err(|_| Fault {
            code: Code::COMPRESSION_ERROR,
            why: "a header block that cannot be read",
        })?;
        let end = flags & frame::END_STREAM != 0;
        let wrong = depends_on_itself || size == Size::Exceeds;
        if let Some(stream) = self.streams.find(id) {
            if stream.remote_closed {
                return self.stream_error(id, Code::STREAM_CLOSED, events);
            }
            if wrong {
                return self.stream_error(id, Code::PROTOCOL_ERROR, events);
            }
            if self.role == Role::Client && !stream.answered {
                return self.response(id, fields, end, events);
            }
            let complete = stream.missing.unwrap_or(0) == 0;
            if !end || !complete || message::check(Kind::Trailers, &fields).is_err() {
                return self.stream_error(id, Code::PROTOCOL_ERROR, events);
            }
            stream.remote_closed = true;
            if stream.local_closed {
                self.streams.leaves(id);
            }
            events.push(Event::Trailers { stream: id, fields });
            return Ok(());
        }
        match self.role {
            Role::Client if self.is_unopened(id) => Err(Fault::protocol("a response to no request")),
            // Of a stream we have reset.
            Role::Client => Ok(()),
            Role::Server if id.is_multiple_of(2) => Err(Fault::protocol("a request on an even stream")),
            Role::Server if id <= self.edge => match self.streams.past(id) {
                Past::Reset => Ok(()),
                Past::Ended => Err(Fault {
                    code: Code::STREAM_CLOSED,
                    why: "HEADERS on a closed stream",
                }),
                Past::Unknown => Err(Fault::protocol("stream identifiers go back")),
            },
            Role::Server => {
                self.edge = id;
                self.request(id, fields, end, size, depends_on_itself, events)
            }
        }
    }

    fn request(
        &mut self,
        id: u32,
        fields: Fields,
        end: bool,
        size: Size,
        depends_on_itself: bool,
        events: &mut Vec<Event<T>>,
    ) -> Result<(), Fault> {
        // What came after our goodbye was not processed, and may be sent elsewhere.
        if self.last.is_some_and(|last| id > last) || self.streams.open >= self.bounds.streams as usize {
            frame::put_number(&mut self.out, frame::RST_STREAM, id, Code::REFUSED_STREAM.0);
            self.streams.refused(id);
            return Ok(());
        }
        if depends_on_itself {
            return self.stream_error(id, Code::PROTOCOL_ERROR, events);
        }
        if size == Size::Exceeds {
            let mut answer = Fields::new();
            answer.push(b":status", b"431", Indexing::Plain);
            self.put_head(id, &answer, true);
            if !end {
                frame::put_number(&mut self.out, frame::RST_STREAM, id, Code::NO_ERROR.0);
            }
            self.streams.refused(id);
            return Ok(());
        }
        let said = match message::check(Kind::Request, &fields) {
            Ok(said) if !end || said.content_length.unwrap_or(0) == 0 => said,
            _ => return self.stream_error(id, Code::PROTOCOL_ERROR, events),
        };
        let mut stream = Stream::new(self.theirs.initial_window, self.bounds.stream_window);
        stream.missing = said.content_length;
        stream.remote_closed = end;
        self.streams.insert(id, stream);
        events.push(Event::Head {
            stream: id,
            fields,
            status: 0,
            end,
        });
        Ok(())
    }

    fn response(&mut self, id: u32, fields: Fields, end: bool, events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        let Some(stream) = self.streams.find(id) else {
            return Ok(());
        };
        let Ok(said) = message::check(Kind::Response, &fields) else {
            return self.stream_error(id, Code::PROTOCOL_ERROR, events);
        };
        let status = said.status;
        if status < 200 {
            // Section 8.1: an interim response ends no stream.
            if end {
                return self.stream_error(id, Code::PROTOCOL_ERROR, events);
            }
        } else {
            stream.answered = true;
            let bodiless = stream.bodiless || matches!(status, 204 | 304);
            stream.missing = if bodiless { None } else { said.content_length };
            if end {
                if stream.missing.unwrap_or(0) != 0 {
                    return self.stream_error(id, Code::PROTOCOL_ERROR, events);
                }
                stream.remote_closed = true;
                if stream.local_closed {
                    self.streams.leaves(id);
                }
            }
        }
        events.push(Event::Head {
            stream: id,
            fields,
            status,
            end,
        });
        Ok(())
    }

    fn priority(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if header.stream == 0 {
            return Err(Fault::protocol("PRIORITY on stream 0"));
        }
        if payload.len() != 5 {
            return self.stream_error(header.stream, Code::FRAME_SIZE_ERROR, events);
        }
        if frame::number(payload) & frame::LARGEST == header.stream {
            return self.stream_error(header.stream, Code::PROTOCOL_ERROR, events);
        }
        // Deprecated (section 5.3.2): read, and not acted on.
        Ok(())
    }

    fn rst_stream(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if payload.len() != 4 {
            return Err(Fault::size("RST_STREAM of another length than 4"));
        }
        if header.stream == 0 || self.is_unopened(header.stream) {
            return Err(Fault::protocol("RST_STREAM on a stream that is not open"));
        }
        let by = self.peer();
        if let Some(stream) = self.remove(header.stream, Past::Ended) {
            events.push(Event::Reset {
                code: Code(frame::number(payload)),
                by,
                kept: stream.kept,
            });
        }
        Ok(())
    }

    fn settings(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::protocol("SETTINGS on a stream"));
        }
        if header.has(frame::ACK) {
            if !payload.is_empty() {
                return Err(Fault::size("an acknowledgement of SETTINGS with content"));
            }
            return if self.settled {
                Ok(())
            } else {
                Err(Fault::protocol("the first frame is an acknowledgement"))
            };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Fault::size("SETTINGS of a length that is no multiple of 6"));
        }
        for parameter in payload.chunks_exact(6) {
            let [high, low, value @ ..] = parameter else { continue };
            self.setting(u16::from_be_bytes([*high, *low]), frame::number(value))?;
        }
        self.settled = true;
        frame::put_header(&mut self.out, 0, frame::SETTINGS, frame::ACK, 0);
        self.pump(events);
        Ok(())
    }

    fn setting(&mut self, parameter: u16, value: u32) -> Result<(), Fault> {
        let overflow = Fault {
            code: Code::FLOW_CONTROL_ERROR,
            why: "a window beyond 2^31-1",
        };
        match parameter {
            frame::HEADER_TABLE_SIZE => self.encoder.bound(value as usize),
            frame::ENABLE_PUSH if value > 1 => return Err(Fault::protocol("SETTINGS_ENABLE_PUSH beyond 1")),
            frame::MAX_CONCURRENT_STREAMS => self.theirs.streams = value.min(frame::LARGEST),
            frame::INITIAL_WINDOW_SIZE => {
                if value > frame::LARGEST {
                    return Err(overflow);
                }
                let more = i64::from(value) - self.theirs.initial_window;
                self.theirs.initial_window = i64::from(value);
                let mut ids = Vec::new();
                for (id, stream) in self.streams.all() {
                    stream.send_window += more;
                    if stream.send_window > i64::from(frame::LARGEST) {
                        return Err(overflow);
                    }
                    ids.push(id);
                }
                ids.into_iter().for_each(|id| self.requeue(id));
            }
            // Within its range it changes nothing: our frames are never longer than what everybody takes.
            frame::MAX_FRAME_SIZE if !(frame::LONGEST..1 << 24).contains(&(value as usize)) => {
                return Err(Fault::protocol("SETTINGS_MAX_FRAME_SIZE out of its range"));
            }
            _ => {}
        }
        Ok(())
    }

    fn ping(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::protocol("PING on a stream"));
        }
        if payload.len() != 8 {
            return Err(Fault::size("PING of another length than 8"));
        }
        if !header.has(frame::ACK) {
            frame::put_header(&mut self.out, 8, frame::PING, frame::ACK, 0);
            self.out.extend_from_slice(payload);
        } else if payload == DRAINING && self.last == Some(frame::LARGEST) {
            self.last = Some(self.edge);
            self.put_goaway(self.edge, Code::NO_ERROR);
        }
        Ok(())
    }

    fn goaway(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::protocol("GOAWAY on a stream"));
        }
        let Some((last, code)) = payload.split_at_checked(4).filter(|_| payload.len() >= 8) else {
            return Err(Fault::size("GOAWAY shorter than 8"));
        };
        self.away = Some(Code(frame::number(code)));
        if self.role == Role::Client {
            for id in self.streams.above(frame::number(last) & frame::LARGEST) {
                if let Some(stream) = self.remove(id, Past::Ended) {
                    events.push(Event::Unprocessed { kept: stream.kept });
                }
            }
        }
        Ok(())
    }

    fn window_update(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if payload.len() != 4 {
            return Err(Fault::size("WINDOW_UPDATE of another length than 4"));
        }
        let (id, more) = (header.stream, frame::number(payload) & frame::LARGEST);
        if id == 0 {
            if more == 0 {
                return Err(Fault::protocol("WINDOW_UPDATE of nothing"));
            }
            self.send_window += i64::from(more);
            if self.send_window > i64::from(frame::LARGEST) {
                return Err(Fault {
                    code: Code::FLOW_CONTROL_ERROR,
                    why: "a window beyond 2^31-1",
                });
            }
        } else {
            if self.is_unopened(id) {
                return Err(Fault::protocol("WINDOW_UPDATE on a stream that is not open"));
            }
            let Some(stream) = self.streams.find(id) else {
                return Ok(());
            };
            if more == 0 {
                return self.stream_error(id, Code::PROTOCOL_ERROR, events);
            }
            stream.send_window += i64::from(more);
            if stream.send_window > i64::from(frame::LARGEST) {
                return self.stream_error(id, Code::FLOW_CONTROL_ERROR, events);
            }
            self.requeue(id);
        }
        self.pump(events);
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
