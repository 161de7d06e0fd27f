//! The record layer (RFC 9846, section 5.1): where records begin and end. Bodies pass through without a copy.

use crate::Moment;
use crate::opening::LONGEST_RECORD;

/// Bytes of a record header.
pub(super) const HEADER: usize = 5;

/// Content types.
pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// A record's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u8,
    pub(super) length: u16,
}

/// The next bytes of a direction.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A header is complete.
    Begin(Header),
    /// Bytes of the body of the record that began last.
    Body(Header, &'a [u8]),
    /// No record: nothing more can be read.
    Broken,
}

/// Place of missing bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Inside the body of a record of this content type, which costs nothing but the bytes.
    Inside(u8),
    /// At a header, or in more than one record.
    Between,
    /// Behind what is no record: nothing is read there.
    Behind,
}

#[derive(Clone)]
enum State {
    Header {
        bytes: [u8; HEADER],
        filled: usize,
    },
    Body {
        header: Header,
        left: usize,
    },
    /// Bytes are missing: a segment that begins with a header may find the way back.
    Astray,
    Broken,
}

/// Finds the records of one direction.
#[derive(Clone)]
pub(super) struct Records {
    state: State,
}

impl Records {
    pub(super) fn new() -> Self {
        Self { state: State::header() }
    }

    /// Bytes are missing here.
    pub(super) fn gap(&mut self, missing: u64) -> Gap {
        match &mut self.state {
            State::Body { header, left } if *left as u64 > missing => {
                *left -= missing as usize;
                Gap::Inside(header.kind)
            }
            State::Body { header, left } if *left as u64 == missing => {
                let kind = header.kind;
                self.state = State::header();
                Gap::Inside(kind)
            }
            State::Broken => Gap::Behind,
            _ => {
                self.state = State::Astray;
                Gap::Between
            }
        }
    }

    /// Returns true if the next byte begins a record.
    pub(super) fn is_between(&self) -> bool {
        matches!(self.state, State::Header { filled: 0, .. })
    }

    /// Call at the start of each segment's bytes: after a gap, reading goes on where a segment begins with a record.
    pub(super) fn segment(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Astray)
            && let Some(header) = bytes.first_chunk()
            && read(*header).is_some()
        {
            self.state = State::header();
        }
    }

    /// Returns true if nothing is read but the beginnings of segments.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.state, State::Astray | State::Broken)
    }

    /// Takes what comes next from `bytes` and leaves the rest; none where that needs more bytes.
    pub(super) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        if bytes.is_empty() {
            return None;
        }
        match &mut self.state {
            State::Astray | State::Broken => {
                *bytes = &[];
                None
            }
            State::Header { bytes: header, filled } => {
                let taken = (HEADER - *filled).min(bytes.len());
                header[*filled..*filled + taken].copy_from_slice(&bytes[..taken]);
                *filled += taken;
                *bytes = &bytes[taken..];
                if *filled < HEADER {
                    return None;
                }
                let Some(header) = read(*header) else {
                    self.state = State::Broken;
                    return Some(Piece::Broken);
                };
                self.state = match usize::from(header.length) {
                    0 => State::header(),
                    left => State::Body { header, left },
                };
                Some(Piece::Begin(header))
            }
            State::Body { header, left } => {
                let header = *header;
                let (body, rest) = bytes.split_at((*left).min(bytes.len()));
                *bytes = rest;
                *left -= body.len();
                if *left == 0 {
                    self.state = State::header();
                }
                Some(Piece::Body(header, body))
            }
        }
    }
}

impl State {
    fn header() -> Self {
        Self::Header {
            bytes: [0; HEADER],
            filled: 0,
        }
    }
}

fn read([kind, major, minor, high, low]: [u8; HEADER]) -> Option<Header> {
    let length = u16::from_be_bytes([high, low]);
    // 24 is heartbeat (RFC 6520). The version field has stayed at 3.1 or 3.3 since TLS 1.3; a bystander accepts all
    // that ever were.
    let valid = (20..=24).contains(&kind) && major == 3 && minor <= 4 && length <= LONGEST_RECORD;
    valid.then_some(Header { kind, length })
}

/// First and last moment of a record header and body, kept next to the messages they carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) first: Moment,
    pub(super) last: Moment,
}
