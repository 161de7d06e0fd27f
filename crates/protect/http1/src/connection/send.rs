//! Sending: heads, bodies as the output takes them, resets.

use bartizan_http2::{Code, Event, Fields, Role, Unsent};

use super::{After, Connection, Incoming, Outgoing, Refusal, Stream};
use crate::write::{self, Answered, Framing};

/// Reason why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unopened {
    /// The connection takes none now ([`Connection::has_room`]).
    NoRoom,
    /// It cannot be written as HTTP/1.1.
    Unwritable,
}

impl<T> Connection<T> {
    /// Sends a request; gives the stream it is on.
    ///
    /// # Errors
    /// Nothing was sent then, and the connection is as before.
    pub fn open(&mut self, fields: &Fields, end: bool, kept: T) -> Result<u32, Unopened> {
        if !self.has_room() {
            return Err(Unopened::NoRoom);
        }
        let begin = self.out.len();
        let outgoing = match write::request(fields, end, &mut self.out) {
            Ok(_) if end => Outgoing::Done,
            Ok(framing) => Outgoing::Body(framing),
            Err(write::Unwritable) => {
                self.out.truncate(begin);
                return Err(Unopened::Unwritable);
            }
        };
        let id = self.next;
        self.next = self.next.wrapping_add(2);
        self.stream = Some(Stream {
            id,
            kept: Some(kept),
            is_head: fields.value(b":method") == Some(b"HEAD"),
            is_http10: false,
            repeatable: id > 1 && fields.value(b":method").is_some_and(is_repeatable),
            incoming: Incoming::Head,
            outgoing,
            unreleased: 0,
            held: None,
            interim: 0,
            refusal: None,
        });
        Ok(id)
    }

    /// Sends the head of a response, interim or final.
    ///
    /// # Errors
    /// If the stream is over.
    pub fn send_head(&mut self, id: u32, fields: &Fields, end: bool) -> Result<(), Unsent> {
        let closing = self.closing;
        let stream = self.stream.as_mut().filter(|stream| stream.id == id);
        let stream = stream.filter(|stream| stream.outgoing == Outgoing::Head);
        let stream = stream.ok_or(Unsent::Over)?;
        let is_interim = fields.value(b":status").is_some_and(|status| status.starts_with(b"1"));
        if is_interim && stream.is_http10 {
            return Ok(());
        }
        let close = closing || !stream.is_received();
        let answered = Answered {
            is_head: stream.is_head,
            is_http10: stream.is_http10,
            close,
        };
        let begin = self.out.len();
        let Ok(framing) = write::response(fields, end, answered, &mut self.out) else {
            self.out.truncate(begin);
            write::last_word(502, "the response cannot be written as HTTP/1.1", &mut self.out);
            self.ended = true;
            return Err(Unsent::Over);
        };
        if !is_interim {
            self.closing |= close || framing == Framing::UntilClose;
            stream.outgoing = Outgoing::Body(framing);
            if end {
                self.close_local();
            }
        }
        Ok(())
    }

    /// Sends a piece of a body. Gives how much is on its way: the rest waits and is reported by [`Event::Moved`] later.
    ///
    /// # Errors
    /// If the stream is over or full.
    pub fn send_data(&mut self, id: u32, bytes: &[u8], end: bool) -> Result<usize, Unsent> {
        let (full, at_most) = (self.is_full(), self.bounds.waiting);
        let stream = self.find(id).ok_or(Unsent::Over)?;
        if !matches!(stream.outgoing, Outgoing::Body(_)) {
            return Err(Unsent::Over);
        }
        if !full && stream.held.is_none() {
            self.put_data(bytes, end)?;
            return Ok(bytes.len());
        }
        let held = stream.held.get_or_insert_default();
        if held.size() + bytes.len() > at_most {
            return Err(Unsent::Full);
        }
        held.bytes.extend(bytes);
        if end {
            held.after = After::End;
        }
        Ok(0)
    }

    /// Sends trailers after what was sent of the body, or the end alone where its length was announced.
    ///
    /// # Errors
    /// If the stream is over or full.
    pub fn send_trailers(&mut self, id: u32, fields: Fields) -> Result<(), Unsent> {
        let at_most = self.bounds.waiting;
        let stream = self.find(id).ok_or(Unsent::Over)?;
        if !matches!(stream.outgoing, Outgoing::Body(_)) {
            return Err(Unsent::Over);
        }
        match &mut stream.held {
            Some(held) if held.size() + fields.size() > at_most => Err(Unsent::Full),
            Some(held) => {
                held.after = After::Trailers(fields);
                Ok(())
            }
            None => self.put_trailers(&fields),
        }
    }

    /// Breaks off a stream; gives what was kept with it. The connection ends with it, unless both
    /// messages were complete: HTTP/1.1 has no other way to say so. A client that has had nothing
    /// of a response is answered that none comes.
    pub fn reset(&mut self, id: u32, _: Code) -> Option<T> {
        let stream = self.stream.take_if(|stream| stream.id == id)?;
        if !stream.is_complete() {
            if self.role == Role::Server && stream.outgoing == Outgoing::Head && !self.ended {
                write::last_word(502, "the producer broke the request off", &mut self.out);
            }
            self.ended = true;
        }
        stream.kept
    }

    /// Wants nothing more of the peer's message: up to `bytes` of what is still coming are read and
    /// dropped. If the message does not end in these, or they do not come ([`Connection::sweep`]),
    /// the connection ends once our own message is complete.
    pub fn refuse_rest(&mut self, id: u32, _: Code, bytes: usize) {
        let Some(stream) = self.find(id) else { return };
        if !stream.is_received() && stream.refusal.is_none() {
            stream.refusal = Some(Refusal { left: bytes, still: 0 });
            if std::mem::take(&mut stream.unreleased) > 0 {
                self.resumed = true;
            }
        }
    }

    /// Returns true if something waits that could go on once the output is written.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.held.is_some())
    }

    /// Sends what had to wait, as far as the output allows.
    pub fn pump(&mut self, events: &mut Vec<Event<T>>) {
        while !self.is_full() && !self.ended {
            let Some(stream) = &mut self.stream else { return };
            let Some(held) = &mut stream.held else { return };
            let id = stream.id;
            let now = held.bytes.len().min(super::OUT_MARK / 4);
            let piece: Vec<u8> = held.bytes.drain(..now).collect();
            held.moved += now;
            let after = match held.bytes.is_empty() {
                true => stream.held.take().map(|held| held.after),
                false => None,
            };
            if now > 0 {
                note_moved(events, id, now);
            }
            let put = match after {
                None | Some(After::More) => self.put_data(&piece, false),
                Some(After::End) => self.put_data(&piece, true),
                Some(After::Trailers(fields)) => self.put_data(&piece, false).and_then(|()| self.put_trailers(&fields)),
            };
            if put.is_err() {
                return;
            }
        }
    }

    /// Writes a piece of the body under way.
    fn put_data(&mut self, bytes: &[u8], end: bool) -> Result<(), Unsent> {
        let Some(stream) = &mut self.stream else {
            return Err(Unsent::Over);
        };
        let Outgoing::Body(framing) = &mut stream.outgoing else {
            return Err(Unsent::Over);
        };
        match framing {
            // Responses to HEAD, and those with status 204 and 304, take no body whatever is sent.
            Framing::None => {}
            Framing::Length(missing) => {
                let left = missing.checked_sub(bytes.len() as u64);
                match left {
                    Some(left) if !end || left == 0 => *missing = left,
                    // More or less than was announced: the reader must not take what follows for another message.
                    _ => {
                        self.ended = true;
                        return Err(Unsent::Over);
                    }
                }
                self.out.extend_from_slice(bytes);
            }
            Framing::Chunked => {
                if !bytes.is_empty() {
                    self.out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
                    self.out.extend_from_slice(bytes);
                    self.out.extend_from_slice(b"\r\n");
                }
                if end {
                    self.out.extend_from_slice(b"0\r\n\r\n");
                }
            }
            Framing::UntilClose => self.out.extend_from_slice(bytes),
        }
        if end {
            self.close_local();
        }
        Ok(())
    }

    fn put_trailers(&mut self, fields: &Fields) -> Result<(), Unsent> {
        let framing = self.stream.as_ref().map(|stream| stream.outgoing);
        if framing != Some(Outgoing::Body(Framing::Chunked)) {
            return self.put_data(&[], true);
        }
        if write::trailers(fields, &mut self.out).is_err() {
            self.ended = true;
            return Err(Unsent::Over);
        }
        self.close_local();
        Ok(())
    }

    /// Our message is complete.
    fn close_local(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        stream.outgoing = Outgoing::Done;
        let spent = stream.refusal.as_ref().is_some_and(|refusal| refusal.left == 0);
        if stream.is_complete() {
            self.over();
        } else if spent {
            self.ended = true;
        }
    }
}

/// Returns true if a request of this method does the same when it is done twice (RFC 9110, section
/// 9.2.2).
#[must_use]
pub fn is_repeatable(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE")
}

/// Reports the bytes of a body that went on their way, once for all its pieces.
fn note_moved<T>(events: &mut Vec<Event<T>>, id: u32, now: usize) {
    for event in events.iter_mut() {
        if let Event::Moved { bytes, .. } = event {
            *bytes += now;
            return;
        }
    }
    events.push(Event::Moved { stream: id, bytes: now });
}
