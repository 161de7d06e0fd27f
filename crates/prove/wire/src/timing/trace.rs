//! The packets of one connection while it lives.

use std::net::SocketAddr;

use super::handshake::{self, Frame};
use super::sequence::{Sent, Sequence};
use super::{Seen, Timed};
use crate::{Connection, Side, Timestamp};

/// Frames kept of the beginning of a connection: the handshake with the longest signatures there
/// are (SLH-DSA, 50 kB each) and three certificates on each side, in segments of 1460 bytes and an
/// acknowledgement for each, is shorter.
const FRAMES: usize = 512;

bartizan_registry::made! {
    pub(super) struct Trace, pub(super) new(first: SocketAddr) {
        /// The sender of the first packet: direction 0.
        first: SocketAddr = first,
        directions: [Sequence; 2] = [Sequence::default(); 2],
        /// The first frames, with the direction of each.
        frames: Vec<(usize, Frame)> = Vec::new(),
        /// Frames came that were not kept.
        more: bool = false,
        /// Time of the first SYN, and of the acknowledgement of the other's SYN by its sender.
        syn: Option<Timestamp> = None,
        round_trip_ns: Option<u64> = None,
    }
}

impl Trace {
    /// Takes a packet; says whether it keeps the frame.
    pub(super) fn packet(&mut self, seen: &Seen<'_>, room: bool) -> bool {
        let direction = usize::from(seen.source != self.first);
        let flags = seen.segment.flags;
        match (self.syn, direction) {
            (None, 0) if flags.syn() && !flags.ack() => self.syn = Some(seen.at.time),
            (Some(syn), 0) if !flags.syn() && self.round_trip_ns.is_none() => {
                self.round_trip_ns = Some(seen.at.time.since(syn));
            }
            _ => {}
        }
        let [zero, one] = &mut self.directions;
        let (this, other) = if direction == 0 { (zero, &*one) } else { (one, &*zero) };
        this.packet(seen, other, self.round_trip_ns);
        let keeps = room && !self.more && self.frames.len() < FRAMES;
        if keeps {
            let frame = Frame {
                at: seen.at,
                // The side is set once it is known who the client is.
                from: Side::Client,
                bytes: seen.length,
                syn: flags.syn(),
            };
            self.frames.push((direction, frame));
        } else {
            self.more = true;
        }
        keeps
    }

    /// Number of frames kept.
    pub(super) fn kept(&self) -> usize {
        self.frames.len()
    }

    /// The timed connection, once the observer has decided its ends.
    pub(super) fn timed(self, connection: Connection) -> Timed {
        let client = usize::from(connection.client != self.first);
        let frames: Vec<_> = self
            .frames
            .into_iter()
            .map(|(direction, frame)| Frame {
                from: if direction == client {
                    Side::Client
                } else {
                    Side::Server
                },
                ..frame
            })
            .collect();
        let handshake = handshake::of(&connection, &frames, self.more);
        let sent = |direction: usize| -> Sent { self.directions[direction].sent };
        Timed {
            from_client: sent(client),
            from_server: sent(1 - client),
            round_trip_ns: self.round_trip_ns,
            handshake,
            connection,
        }
    }
}
