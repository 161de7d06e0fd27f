//! Header blocks, and what they begin and end: requests, responses, trailers (RFC 9113, sections 6.2, 6.10 and 8.1).

use super::unpadded;
use crate::connection::stream::{Past, Stream};
use crate::connection::{Connection, Event, Fault, Role};
use crate::fields::{Fields, Indexing};
use crate::frame::{self, Code, Header};
use crate::hpack::Unread;
use crate::message::{self, Kind};

/// Bytes of a header block beyond the longest list, for fields that Huffman's code makes longer and
/// changes of the table.
const BLOCK_MARGIN: usize = 64 * 1024;
/// Frames of one header block. Their number says nothing that their bytes do not (CVE-2024-27316 and others).
const CONTINUATIONS_AT_MOST: u32 = 256;
/// Frames that carry nothing which a request or a response allows for: windows of its body, pings on the way.
const IDLE_FRAMES_PER_HEAD: usize = 4;
/// Octets of a list that leads to nothing which count as an idle frame: a block costs what it
/// expands to, not what was sent. An unused allowance covers fewer than sixteen lists that are
/// longer than the default of 64 kB allows.
const OCTETS_PER_IDLE_FRAME: usize = 256;

/// A header block that has begun.
#[derive(Debug)]
pub(in crate::connection) struct Block {
    pub(super) stream: u32,
    flags: u8,
    depends_on_itself: bool,
    fragments: Vec<u8>,
    frames: u32,
}

impl<T> Connection<T> {
    pub(super) fn headers(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
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

    pub(super) fn continuation(
        &mut self,
        header: Header,
        payload: &[u8],
        events: &mut Vec<Event<T>>,
    ) -> Result<(), Fault> {
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
        let mut fields = Fields::roomy();
        let at_most = self.bounds.header_bytes as usize;
        // Also a block that is not looked at: the tables of both ends must agree.
        let size = self
            .decoder
            .decode(block, at_most, &mut fields)
            .map_err(|unread| match unread {
                Unread::Malformed => Fault {
                    code: Code::COMPRESSION_ERROR,
                    why: "a header block that cannot be read",
                },
                Unread::TooLong => Fault::calm("a header block that expands to several times what is allowed"),
            })?;
        let end = flags & frame::END_STREAM != 0;
        let wrong = depends_on_itself || size > at_most;
        if let Some(stream) = self.streams.find(id) {
            if stream.remote_closed {
                return self.wrong_head(id, Code::STREAM_CLOSED, size, events);
            }
            if wrong {
                return self.wrong_head(id, Code::PROTOCOL_ERROR, size, events);
            }
            if self.role == Role::Client && !stream.answered {
                return self.response(id, fields, end, events);
            }
            let complete = stream.missing.unwrap_or(0) == 0;
            let unwanted = stream.refusal.is_some();
            if !end || !complete || message::check(Kind::Trailers, &fields).is_err() {
                return self.wrong_head(id, Code::PROTOCOL_ERROR, size, events);
            }
            stream.remote_closed = true;
            if stream.local_closed {
                self.streams.leaves(id);
            }
            if !unwanted {
                events.push(Event::Trailers { stream: id, fields });
            }
            return Ok(());
        }
        match self.role {
            Role::Client if self.is_unopened(id) => Err(Fault::protocol("a response to no request")),
            // A response on a stream that we have reset.
            Role::Client => self.dropped(size),
            Role::Server if id.is_multiple_of(2) => Err(Fault::protocol("a request on an even stream")),
            Role::Server if id <= self.edge => match self.streams.past(id) {
                Past::Reset => self.dropped(size),
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

    /// A header list of this size leads to nothing.
    fn dropped(&mut self, size: usize) -> Result<(), Fault> {
        self.idle(1 + size / OCTETS_PER_IDLE_FRAME)
    }

    /// A header list is an error of its stream.
    fn wrong_head(&mut self, id: u32, code: Code, size: usize, events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        self.dropped(size)?;
        self.stream_error(id, code, events)
    }

    fn request(
        &mut self,
        id: u32,
        fields: Fields,
        end: bool,
        size: usize,
        depends_on_itself: bool,
        events: &mut Vec<Event<T>>,
    ) -> Result<(), Fault> {
        // A request that arrived after our GOAWAY was not processed, and may be sent elsewhere.
        if self.last.is_some_and(|last| id > last) || self.streams.open >= self.bounds.streams as usize {
            frame::put_number(&mut self.out, frame::RST_STREAM, id, Code::REFUSED_STREAM.0);
            self.streams.refused(id);
            return self.dropped(size);
        }
        if depends_on_itself {
            return self.wrong_head(id, Code::PROTOCOL_ERROR, size, events);
        }
        if size > self.bounds.header_bytes as usize {
            let mut answer = Fields::new();
            answer.push(b":status", b"431", Indexing::Plain);
            self.put_head(id, &answer, true);
            if !end {
                frame::put_number(&mut self.out, frame::RST_STREAM, id, Code::NO_ERROR.0);
            }
            self.streams.refused(id);
            return self.dropped(size);
        }
        let summary = match message::check(Kind::Request, &fields) {
            Ok(summary) if !end || summary.content_length.unwrap_or(0) == 0 => summary,
            _ => return self.wrong_head(id, Code::PROTOCOL_ERROR, size, events),
        };
        self.allow_idle_frames(IDLE_FRAMES_PER_HEAD);
        let mut stream = Stream::new(u64::from(id), self.theirs.initial_window, self.bounds.stream_window);
        stream.missing = summary.content_length;
        stream.remote_closed = end;
        stream.bodiless = summary.head;
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
        let Ok(summary) = message::check(Kind::Response, &fields) else {
            return self.wrong_head(id, Code::PROTOCOL_ERROR, fields.size(), events);
        };
        let status = summary.status;
        if status < 200 {
            // Section 8.1: an interim response ends no stream.
            if end {
                return self.stream_error(id, Code::PROTOCOL_ERROR, events);
            }
            // No window bounds them.
            stream.interim += fields.size();
            if stream.interim > self.bounds.header_bytes as usize {
                return self.stream_error(id, Code::ENHANCE_YOUR_CALM, events);
            }
        } else {
            stream.answered = true;
            let bodiless = stream.bodiless || matches!(status, 204 | 304);
            stream.missing = if bodiless { None } else { summary.content_length };
            if end {
                if stream.missing.unwrap_or(0) != 0 {
                    return self.stream_error(id, Code::PROTOCOL_ERROR, events);
                }
                stream.remote_closed = true;
                if stream.local_closed {
                    self.streams.leaves(id);
                }
            }
            self.allow_idle_frames(IDLE_FRAMES_PER_HEAD);
        }
        events.push(Event::Head {
            stream: id,
            fields,
            status,
            end,
        });
        Ok(())
    }
}
