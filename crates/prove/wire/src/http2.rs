//! HTTP/2 frames in plaintext (RFC 9113, section 4.1): walked and counted. Only the header blocks
//! of the first requests are stored, as they are on the wire: they show the purpose of a
//! connection.

mod blocks;

use crate::exposed::{Scanner, Sightings};
use crate::http1::Http1;
use crate::opening::HTTP2_PREFACE;
use crate::{Moment, Seen, Side};
use blocks::Blocks;

pub use blocks::HeaderBlock;

/// Frame types of RFC 9113, section 6.
pub const FRAME_TYPES: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const FRAME_HEADER: usize = 9;

/// Content of an HTTP/2 connection in plaintext.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Http2 {
    /// The packet with the last byte of the client's connection preface, where that was seen.
    pub preface: Option<Moment>,
    /// Requests: streams a client opened with HEADERS.
    pub streams: u64,
    /// Frames from the client.
    pub from_client: Frames,
    /// Frames from the server.
    pub from_server: Frames,
    /// Header blocks of its first requests, compressed (RFC 7541): at most eight, and a kilobyte of
    /// them together. There are none behind bytes that are missing.
    pub requests: Vec<HeaderBlock>,
    /// The head of the request of HTTP/1.1 that asked for it (RFC 7540, section 3.2), which stream
    /// 1 answers.
    pub upgrade: Option<Seen<Box<[u8]>>>,
    /// SUCIs and tokens in plaintext bodies, and in `upgrade`. Those in `requests` are not counted
    /// here.
    pub exposed: Option<Box<Sightings>>,
}

/// One direction's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frames {
    /// Number of frames by type, in the order of [`FRAME_TYPES`].
    pub by_type: [u64; FRAME_TYPES.len()],
    /// Frames of other types.
    pub other: u64,
    /// Bytes in DATA frames, padding included.
    pub data_bytes: u64,
    /// The point at which the walk ended early, because bytes are missing.
    pub lost: Option<Moment>,
}

impl Http2 {
    /// Confirms that it is HTTP/2: by its preface, or where a connection was picked up behind it by
    /// frames of known types alone, of both ends or three of one.
    pub(crate) fn is_borne_out(&self) -> bool {
        let [ours, theirs] = [&self.from_client, &self.from_server];
        let [sent, answered] = [ours.total(), theirs.total()];
        self.preface.is_some()
            || self.upgrade.is_some()
            || ours.other + theirs.other == 0 && (sent > 0 && answered > 0 || sent.max(answered) >= 3)
    }
}

impl Frames {
    /// Number of frames of all types.
    pub fn total(&self) -> u64 {
        self.by_type.iter().sum::<u64>() + self.other
    }
}

#[derive(Clone)]
enum State {
    Preface { matched: usize },
    Header { bytes: [u8; FRAME_HEADER], filled: usize },
    Payload { left: u64 },
    Lost,
}

bartizan_registry::made! {
    /// Walks both directions.
    #[derive(Clone)]
    pub(crate) struct Session, pub(crate) new() {
        states: [State; 2] = [State::Preface { matched: 0 }, State::header()],
        last_stream: u32 = 0,
        scanners: [Scanner; 2] = Default::default(),
        blocks: Blocks = Blocks::default(),
        http2: Http2 = Http2::default(),
    }
}

impl Session {
    /// HTTP/2 that a connection of HTTP/1.1 has changed to.
    pub(crate) fn behind(before: Http1) -> Self {
        let mut session = Self::new();
        session.last_stream = 1;
        session.http2.streams = 1;
        session.http2.upgrade = before.request;
        session.http2.exposed = before.exposed;
        session
    }

    pub(crate) fn outcome(mut self) -> Http2 {
        self.http2.requests = self.blocks.finish();
        self.http2
    }

    /// Bytes it holds on the heap, about.
    pub(crate) fn held(&self) -> usize {
        let exposed = self
            .http2
            .exposed
            .as_deref()
            .map_or(0, |seen| size_of_val(seen) + seen.held());
        let upgrade = self.http2.upgrade.as_ref().map_or(0, |head| head.value.len());
        self.scanners.iter().map(Scanner::held).sum::<usize>() + self.blocks.held() + exposed + upgrade
    }

    pub(crate) fn data(&mut self, side: Side, mut bytes: &[u8], at: Moment) {
        while !bytes.is_empty() {
            bytes = self.step(side, bytes, at);
        }
    }

    /// A gap inside a frame's payload changes nothing; elsewhere the next frame cannot be found.
    pub(crate) fn gap(&mut self, side: Side, missing: u64, at: Moment) {
        self.scanners[side.index()].gap();
        if side == Side::Client {
            self.blocks.gap();
        }
        let state = &mut self.states[side.index()];
        match state {
            State::Payload { left } if *left > missing => *left -= missing,
            State::Payload { left } if *left == missing => *state = State::header(),
            State::Lost => {}
            _ => {
                *state = State::Lost;
                if side == Side::Client {
                    self.blocks.give_up();
                }
                self.frames(side).lost.get_or_insert(at);
            }
        }
    }

    fn frames(&mut self, side: Side) -> &mut Frames {
        match side {
            Side::Client => &mut self.http2.from_client,
            Side::Server => &mut self.http2.from_server,
        }
    }

    /// Consumes at least one byte; returns the rest.
    fn step<'a>(&mut self, side: Side, bytes: &'a [u8], at: Moment) -> &'a [u8] {
        let state = &mut self.states[side.index()];
        match state {
            State::Lost => &[],
            State::Preface { matched } => {
                let wanted = &HTTP2_PREFACE[*matched..];
                let taken = wanted.len().min(bytes.len());
                if bytes[..taken] != wanted[..taken] {
                    // Picked up in mid-stream: frames at once. The recogniser has let nothing else through.
                    *state = State::header();
                    return bytes;
                }
                *matched += taken;
                if *matched == HTTP2_PREFACE.len() {
                    *state = State::header();
                    self.http2.preface = Some(at);
                }
                &bytes[taken..]
            }
            State::Header { bytes: header, filled } => {
                let taken = (FRAME_HEADER - *filled).min(bytes.len());
                header[*filled..*filled + taken].copy_from_slice(&bytes[..taken]);
                *filled += taken;
                if *filled == FRAME_HEADER {
                    let header = *header;
                    self.frame(side, header, at);
                }
                &bytes[taken..]
            }
            State::Payload { left } => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= taken as u64;
                let ends = *left == 0;
                if ends {
                    *state = State::header();
                }
                if side == Side::Server || !self.blocks.payload(&bytes[..taken], ends, at) {
                    self.scanners[side.index()].text(&bytes[..taken], at, &mut self.http2.exposed);
                }
                &bytes[taken..]
            }
        }
    }

    fn frame(&mut self, side: Side, [a, b, c, kind, flags, stream @ ..]: [u8; FRAME_HEADER], at: Moment) {
        let length = u64::from(u32::from_be_bytes([0, a, b, c]));
        let stream = u32::from_be_bytes(stream) & 0x7fff_ffff;
        let frames = self.frames(side);
        match frames.by_type.get_mut(usize::from(kind)) {
            Some(count) => *count += 1,
            None => frames.other += 1,
        }
        if kind == DATA {
            frames.data_bytes += length;
        }
        // Stream identifiers only rise (RFC 9113, section 5.1.1); a HEADERS frame on an old one carries trailers.
        if kind == HEADERS && side == Side::Client && stream > self.last_stream {
            self.last_stream = stream;
            self.http2.streams += 1;
        }
        if side == Side::Client {
            self.blocks.frame(kind, flags, length, at);
        }
        self.states[side.index()] = if length == 0 {
            State::header()
        } else {
            State::Payload { left: length }
        };
    }
}

impl State {
    fn header() -> Self {
        Self::Header {
            bytes: [0; FRAME_HEADER],
            filled: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn moment(packet: u64) -> Moment {
        Moment {
            packet,
            time: Timestamp(packet),
        }
    }

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, 0]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    }

    fn two_requests() -> Vec<u8> {
        [
            HTTP2_PREFACE.to_vec(),
            frame(4, 0, &[0; 12]),
            frame(1, 1, b"headers"),
            frame(0, 1, &[7; 300]),
            frame(1, 1, b"trailers"),
            frame(1, 3, b"headers"),
            frame(0xbe, 0, b"unknown"),
        ]
        .concat()
    }

    #[test]
    fn requests_frames_and_data_are_counted_however_the_bytes_arrive() {
        for size in [1, 2, 8, 9, 10, 1000] {
            let mut session = Session::new();
            for (index, piece) in two_requests().chunks(size).enumerate() {
                session.data(Side::Client, piece, moment(index as u64));
            }
            let http2 = session.outcome();
            assert_eq!(http2.streams, 2, "trailers are no request");
            assert_eq!(http2.from_client.by_type[..5], [1, 3, 0, 0, 1]);
            assert_eq!(http2.from_client.other, 1);
            assert_eq!(http2.from_client.data_bytes, 300);
            assert_eq!(http2.preface, Some(moment((23 / size) as u64)));
        }
    }

    #[test]
    fn a_gap_inside_a_payload_is_survived_and_one_beyond_it_is_said() {
        let mut session = Session::new();
        let bytes = two_requests();
        let data = 24 + 21 + 16;
        session.data(Side::Client, &bytes[..data + 9 + 100], moment(1));
        session.gap(Side::Client, 150, moment(2));
        session.data(Side::Client, &bytes[data + 9 + 250..], moment(3));
        assert_eq!(session.http2.streams, 2);
        assert_eq!(session.http2.from_client.lost, None);
        session.gap(Side::Client, 1, moment(4));
        assert_eq!(session.outcome().from_client.lost, Some(moment(4)));
    }
}
