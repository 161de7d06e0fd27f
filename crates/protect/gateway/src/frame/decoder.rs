//! Frames read from a byte stream, however it is cut.

use std::collections::BTreeSet;

use super::{
    Delivery, FRAGMENT, Fragment, Frame, HEADER, LAST, Lane, MOST_LANES, OF_LANE, Order, PPID, PathState,
    RECEIVED_HEAD, RECEIVED_LANE, RESUME_HEAD, Received, Resume, Streams, Token, UNORDERED, kind,
};
use crate::Cause;
use crate::cause::LONGEST_TEXT;

/// Errors of bytes that are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// No such type.
    #[error("frame of unknown type {0}")]
    Kind(u8),
    /// Flags that this type does not have.
    #[error("flags {flags:#04x} on a frame of type {kind}")]
    Flags {
        /// The type.
        kind: u8,
        /// The flags.
        flags: u8,
    },
    /// A length that this type cannot have.
    #[error("frame of type {kind} with {length} octets")]
    Length {
        /// The type.
        kind: u8,
        /// The length it names.
        length: u32,
    },
    /// A list of lanes with a lane twice, with flags that it does not have, or with octets behind
    /// it.
    #[error("positions that are no list")]
    Positions,
    /// A cause whose text is not UTF-8, or not one line of at most 256 octets.
    #[error("a cause that is no line of text")]
    Text,
}

/// Reads frames from a byte stream. It holds at most one frame that is not complete, next to what was pushed last.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Octets of `buffer` that are read.
    read: usize,
}

impl Decoder {
    /// Takes the next octets of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Octets of a frame that is not complete.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.read
    }

    /// Octets of a frame that is not complete.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.read..]
    }

    /// Takes out everything that was pushed and not read.
    pub(crate) fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buffer.split_off(self.read);
        *self = Self::default();
        rest
    }

    /// The next frame, or none until more is pushed.
    ///
    /// # Errors
    /// Bytes that are not a frame. Nothing of the stream can be read any more then.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Malformed> {
        let Some((&[kind, flags, stream_high, stream_low, a, b, c, d], rest)) =
            self.buffer[self.read..].split_first_chunk::<HEADER>()
        else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]);
        let wrong = Malformed::Length { kind, length };
        let (shortest, longest) = bounds(kind).ok_or(Malformed::Kind(kind))?;
        let octets = usize::try_from(length).map_err(|_| wrong)?;
        if octets < shortest || octets > longest {
            return Err(wrong);
        }
        let Some(body) = rest.get(..octets) else {
            return Ok(None);
        };
        let stream = u16::from_be_bytes([stream_high, stream_low]);
        let frame = decode(kind, flags, stream, body)?;
        self.read += HEADER + octets;
        if self.read == self.buffer.len() {
            self.read = 0;
            self.buffer.clear();
            // An idle association holds no buffer.
            if self.buffer.capacity() > 4 * 1024 {
                self.buffer = Vec::new();
            }
        }
        Ok(Some(frame))
    }
}

/// Least and largest number of octets after the header.
const fn bounds(kind: u8) -> Option<(usize, usize)> {
    Some(match kind {
        kind::OPEN => (6 + Token::LENGTH, 6 + Token::LENGTH),
        kind::RESTART | kind::CREDIT | kind::LANE => (4, 4),
        kind::MESSAGE => (PPID, PPID + FRAGMENT),
        kind::OPENED | kind::DELIVERED | kind::SHUTDOWN_AFTER | kind::RECEIVED => (8, 8),
        kind::ALIVE | kind::SHUTDOWN | kind::CLOSED | kind::PATH | kind::UNKNOWN | kind::MOVE => (0, 0),
        kind::RESUME => (
            RESUME_HEAD + RECEIVED_HEAD,
            RESUME_HEAD + RECEIVED_HEAD + MOST_LANES * RECEIVED_LANE,
        ),
        kind::RESUMED => (RECEIVED_HEAD, RECEIVED_HEAD + MOST_LANES * RECEIVED_LANE),
        kind::ABORT => (2, 2 + LONGEST_TEXT),
        kind::SEND_FAILED => (2, 2),
        _ => return None,
    })
}

fn decode(kind: u8, flags: u8, stream: u16, body: &[u8]) -> Result<Frame, Malformed> {
    let short = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let streams = |at: usize| Streams {
        outbound: short(at),
        inbound: short(at + 2),
    };
    let known = match kind {
        kind::MESSAGE => flags & !(UNORDERED | LAST) == 0,
        kind::LANE => flags & !UNORDERED == 0,
        kind::RECEIVED => matches!(flags, 0 | OF_LANE) || flags == OF_LANE | UNORDERED,
        kind::PATH => usize::from(flags) < PathState::ALL.len(),
        _ => flags == 0,
    };
    let has_stream =
        matches!(kind, kind::MESSAGE | kind::SEND_FAILED | kind::LANE) || (kind == kind::RECEIVED && flags != 0);
    if !known || (stream != 0 && !has_stream) {
        return Err(Malformed::Flags { kind, flags });
    }
    let word = || u32::from_be_bytes([body[0], body[1], body[2], body[3]]);
    let long = || number(body);
    let order = if flags & UNORDERED == 0 {
        Order::Ordered
    } else {
        Order::Unordered
    };
    Ok(match kind {
        kind::OPEN => Frame::Open {
            version: short(0),
            token: token(&body[2..]),
            streams: streams(2 + Token::LENGTH),
        },
        kind::RESUME => Frame::Resume {
            version: short(0),
            resume: Resume {
                token: token(&body[2..]),
                attempt: number(&body[2 + Token::LENGTH..RESUME_HEAD]) as u32,
                received: received(&body[RESUME_HEAD..])?,
            },
        },
        kind::RESUMED => Frame::Resumed(received(body)?),
        kind::UNKNOWN => Frame::Unknown,
        kind::MOVE => Frame::Move,
        kind::RECEIVED => Frame::Received {
            lane: (flags != 0).then_some(Lane { stream, order }),
            octets: long(),
        },
        kind::OPENED => Frame::Opened {
            restarts: word(),
            streams: streams(4),
        },
        kind::MESSAGE => Frame::Message(Fragment {
            delivery: Delivery {
                stream,
                payload_protocol: word(),
                order,
            },
            bytes: body[PPID..].to_vec(),
            last: flags & LAST != 0,
        }),
        kind::CREDIT => Frame::Credit(word()),
        kind::DELIVERED => Frame::Delivered(long()),
        kind::LANE => Frame::Lane {
            lane: Lane { stream, order },
            restarts: word(),
        },
        kind::SHUTDOWN_AFTER => Frame::ShutdownAfter(long()),
        kind::ALIVE => Frame::Alive,
        kind::SHUTDOWN => Frame::Shutdown,
        kind::CLOSED => Frame::Closed,
        kind::ABORT => {
            let text = std::str::from_utf8(&body[2..]).map_err(|_| Malformed::Text)?;
            let cause = Cause::new(short(0), text);
            if cause.text != *text {
                return Err(Malformed::Text);
            }
            Frame::Abort(cause)
        }
        kind::RESTART => Frame::Restart(streams(0)),
        kind::PATH => Frame::Path(PathState::ALL[usize::from(flags)]),
        // The bounds of all types were looked up before.
        _ => Frame::SendFailed { stream, code: short(0) },
    })
}

/// A number of at most eight octets.
fn number(octets: &[u8]) -> u64 {
    octets
        .iter()
        .take(8)
        .fold(0, |number, octet| (number << 8) | u64::from(*octet))
}

fn token(octets: &[u8]) -> Token {
    let mut token = Token([0; Token::LENGTH]);
    token.0.copy_from_slice(&octets[..Token::LENGTH]);
    token
}

fn received(octets: &[u8]) -> Result<Received, Malformed> {
    let (head, lanes) = octets.split_at(RECEIVED_HEAD);
    let mut received = Received {
        restarts: number(&head[..4]) as u32,
        life: number(&head[4..]),
        lanes: Vec::new(),
    };
    let mut known = BTreeSet::new();
    for entry in lanes.chunks(RECEIVED_LANE) {
        let &[high, low, flags, ref position @ ..] = entry else {
            return Err(Malformed::Positions);
        };
        let lane = Lane {
            stream: u16::from_be_bytes([high, low]),
            order: if flags == 0 { Order::Ordered } else { Order::Unordered },
        };
        if position.len() != 8 || flags & !UNORDERED != 0 || !known.insert(lane) {
            return Err(Malformed::Positions);
        }
        received.lanes.push((lane, number(position)));
    }
    Ok(received)
}
