//! Receiving: heads and bodies, one message at a time.

use bartizan_http2::{Code, Event, Fault, Received, Role};

use super::{Connection, Incoming, Outgoing, Stream};
use crate::body::{Body, Step};
use crate::head::{self, Wrong};

/// The outcome of looking at the input once.
enum Look {
    /// So many bytes were used.
    Used(usize),
    /// Nothing whole is there, or nothing may be taken now.
    Enough,
}

impl<T> Connection<T> {
    /// Takes what is whole from the front of `input`, in at most so many pieces. Bodies are given as ranges of it.
    /// [`Connection::seen`] is to be called once the events were looked at.
    ///
    /// # Errors
    /// If the connection has to end: [`Connection::fail`] answers the client. A server that speaks
    /// HTTP/2 is one of them, by HTTP_1_1_REQUIRED: it has processed nothing.
    pub fn receive(&mut self, input: &[u8], pieces: usize, events: &mut Vec<Event<T>>) -> Result<Received, Fault> {
        let (mut at, mut taken) = (0, 0);
        while taken < pieces {
            match self.look(&input[at..], at, events)? {
                Look::Used(bytes) => {
                    at += bytes;
                    taken += 1;
                }
                Look::Enough => break,
            }
        }
        // Bytes behind a response answer nothing, and would be taken for the answer to the next
        // request.
        let is_answered = self.stream.as_ref().is_some_and(Stream::is_received);
        self.closing |= self.role == Role::Client && is_answered && at < input.len();
        Ok(Received {
            used: at,
            frames: taken,
            more: taken == pieces && at < input.len(),
        })
    }

    /// The other side sends nothing more; `clean` where it announced that. A body without a length
    /// of its own ends by it, and a request that certainly was not answered and may be repeated is
    /// given back.
    pub fn finish(&mut self, clean: bool, events: &mut Vec<Event<T>>) {
        self.closing = true;
        if self.role != Role::Client {
            return;
        }
        let Some(stream) = &mut self.stream else { return };
        match stream.incoming {
            Incoming::Body(Body::UntilClose) if clean => {
                stream.incoming = Incoming::Done;
                events.push(Event::Data {
                    stream: stream.id,
                    from: 0,
                    to: 0,
                    end: true,
                });
            }
            Incoming::Head if stream.repeatable && stream.interim == 0 && self.begun == 0 => {
                let kept = stream.kept.take();
                self.stream = None;
                self.ended = true;
                events.push(Event::Unprocessed { kept });
            }
            _ => {}
        }
    }

    fn look(&mut self, input: &[u8], from: usize, events: &mut Vec<Event<T>>) -> Result<Look, Fault> {
        if self.ended {
            return Ok(match input.len() {
                0 => Look::Enough,
                all => Look::Used(all),
            });
        }
        match &self.stream {
            None if self.role == Role::Client && !input.is_empty() => Err(fault("bytes that answer no request")),
            None if self.role == Role::Server => self.request(input, events),
            None => Ok(Look::Enough),
            Some(stream) => match stream.incoming {
                Incoming::Head => self.response(input, events),
                Incoming::Body(_) => self.body(input, from, events),
                Incoming::Done => {
                    self.ahead = input.len();
                    Ok(Look::Enough)
                }
            },
        }
    }

    fn wrong(&mut self, wrong: Wrong) -> Fault {
        self.status = wrong.status;
        fault(wrong.why)
    }

    /// The whole head that the input begins with.
    fn head(&mut self, input: &[u8]) -> Result<Option<(usize, usize)>, Fault> {
        match self.scan.find(input, self.bounds.header_bytes as usize) {
            Ok(Some(length)) => {
                let lines = std::mem::take(&mut self.scan).lines;
                (self.begun, self.begun_still) = (0, 0);
                Ok(Some((length, lines)))
            }
            Ok(None) => {
                self.begun = input.len();
                Ok(None)
            }
            Err(wrong) => Err(self.wrong(wrong)),
        }
    }

    fn request(&mut self, input: &[u8], events: &mut Vec<Event<T>>) -> Result<Look, Fault> {
        if input.is_empty() {
            return Ok(Look::Enough);
        }
        let Some((length, lines)) = self.head(input)? else {
            return Ok(Look::Enough);
        };
        if lines == 0 {
            // One was sent after bodies by old clients.
            if std::mem::replace(&mut self.blank, true) {
                return Err(fault("empty lines in place of a request"));
            }
            return Ok(Look::Used(length));
        }
        let request = head::request(&input[..length], lines).map_err(|wrong| self.wrong(wrong))?;
        if request.fields.size() > self.bounds.header_bytes as usize {
            self.status = 431;
            return Err(fault("a head longer than allowed"));
        }
        self.blank = false;
        self.closing |= request.close;
        let id = self.next;
        self.next = self.next.wrapping_add(2);
        let end = request.body.is_none();
        self.stream = Some(Stream {
            id,
            kept: None,
            is_head: request.is_head,
            is_http10: request.is_http10,
            repeatable: false,
            incoming: request.body.map_or(Incoming::Done, Incoming::Body),
            outgoing: Outgoing::Head,
            unreleased: 0,
            held: None,
            interim: 0,
            refusal: None,
        });
        events.push(Event::Head {
            stream: id,
            fields: request.fields,
            status: 0,
            end,
        });
        Ok(Look::Used(length))
    }

    fn response(&mut self, input: &[u8], events: &mut Vec<Event<T>>) -> Result<Look, Fault> {
        let Some(stream) = &self.stream else {
            return Ok(Look::Enough);
        };
        let known = input.len().min(b"HTTP/1.".len());
        if input[..known] != b"HTTP/1."[..known] {
            return Err(match stream.id == 1 && is_settings(input) {
                true => Fault {
                    code: Code::HTTP_1_1_REQUIRED,
                    why: "the server speaks HTTP/2",
                },
                false => fault("the server speaks something other than HTTP"),
            });
        }
        if input.is_empty() {
            return Ok(Look::Enough);
        }
        let Some((length, lines)) = self.head(input)? else {
            return Ok(Look::Enough);
        };
        let response = head::response(&input[..length], lines).map_err(|wrong| self.wrong(wrong))?;
        let at_most = self.bounds.header_bytes as usize;
        let Some(stream) = &mut self.stream else {
            return Ok(Look::Enough);
        };
        let size = response.fields.size();
        if response.status < 200 {
            stream.interim += size;
        }
        if size > at_most || stream.interim > at_most {
            return Err(Fault {
                code: Code::ENHANCE_YOUR_CALM,
                why: "heads of responses without end",
            });
        }
        let mut end = false;
        if response.status >= 200 {
            self.closing |= response.close;
            let body = response.body.filter(|_| !stream.is_head);
            end = body.is_none();
            stream.incoming = body.map_or(Incoming::Done, Incoming::Body);
            if end && stream.outgoing != Outgoing::Done {
                self.closing = true;
            }
        }
        events.push(Event::Head {
            stream: stream.id,
            fields: response.fields,
            status: response.status,
            end,
        });
        Ok(Look::Used(length))
    }

    fn body(&mut self, input: &[u8], from: usize, events: &mut Vec<Event<T>>) -> Result<Look, Fault> {
        let (window, header_bytes) = (self.bounds.stream_window as usize, self.bounds.header_bytes as usize);
        let Some(stream) = &mut self.stream else {
            return Ok(Look::Enough);
        };
        let Incoming::Body(body) = &mut stream.incoming else {
            return Ok(Look::Enough);
        };
        let most = match &stream.refusal {
            Some(refusal) => refusal.left,
            None => window.saturating_sub(stream.unreleased),
        };
        let step = match body.step(input, most, header_bytes) {
            Ok(step) => step,
            Err(wrong) => return Err(self.wrong(wrong)),
        };
        let id = stream.id;
        let (used, content, end, trailers) = match step {
            Step::More => return Ok(Look::Enough),
            Step::Skip(bytes) => (bytes, 0, false, None),
            Step::Content(bytes, end) => (bytes, bytes, end, None),
            Step::End(bytes, trailers) => (bytes, 0, true, trailers),
        };
        if end {
            stream.incoming = Incoming::Done;
            if self.role == Role::Client && stream.outgoing != Outgoing::Done {
                self.closing = true;
            }
        }
        if let Some(refusal) = &mut stream.refusal {
            refusal.left -= content;
            // Framing costs as much to read.
            refusal.left = refusal.left.saturating_sub(used - content);
            if refusal.left == 0 && !end && stream.outgoing == Outgoing::Done {
                self.ended = true;
            }
            return Ok(Look::Used(used));
        }
        stream.unreleased += content;
        match trailers {
            Some(fields) => events.push(Event::Trailers { stream: id, fields }),
            None if content > 0 || end => events.push(Event::Data {
                stream: id,
                from,
                to: from + content,
                end,
            }),
            None => {}
        }
        Ok(Look::Used(used))
    }
}

/// Returns true if these are the first bytes of an HTTP/2 server: a SETTINGS frame (RFC 9113,
/// section 3.4).
fn is_settings(input: &[u8]) -> bool {
    matches!(input, [0, _, _, 4, 0, 0, 0, 0, 0, ..])
}

const fn fault(why: &'static str) -> Fault {
    Fault {
        code: Code::PROTOCOL_ERROR,
        why,
    }
}
