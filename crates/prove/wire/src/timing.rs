//! Times, sizes and losses of TCP connections and of the TLS handshakes in them, from packets alone.
//!
//! A [`Timing`] takes the packets of a capture like an [`Observer`], which it asks what each
//! connection is, and gives each connection at its end together with what its packets took. Sizes
//! are those of frames on the wire, link header included (tshark: `frame.len`); times are those of
//! the capture.

mod handshake;
mod overview;
mod sequence;
mod trace;

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::ip::{self, Fragment};
use crate::link::{self, Network};
use crate::tcp::{self, Segment};
use crate::{Connection, Ending, Limits, Moment, Observer, Packet, Totals};

pub use self::handshake::{Frame, Handshake, Untimed};
pub use self::overview::Overview;
pub use self::sequence::Sent;
use self::trace::Trace;

/// Frames that all connections together keep until their handshakes can be determined: 16 bytes
/// each. Beyond it handshakes of new connections are [`Untimed::Overlong`].
const FRAMES: usize = 4 << 20;

/// A connection at its end, or at the capture's, and what its packets took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// The connection.
    pub connection: Connection,
    /// Packets of the client.
    pub from_client: Sent,
    /// Packets of the server.
    pub from_server: Sent,
    /// From the first SYN to the first packet of its sender behind the answer, in nanoseconds: the round trip of the
    /// network as far as it was captured.
    pub round_trip_ns: Option<u64>,
    /// The TLS handshake, or why it cannot be determined.
    pub handshake: Result<Handshake, Untimed>,
}

impl Timed {
    /// From the first packet of the connection to the last, in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        self.connection.last.time.since(self.connection.first.time)
    }
}

/// One TCP packet, as far as timing needs it.
#[derive(Debug, Clone, Copy)]
struct Seen<'a> {
    source: SocketAddr,
    destination: SocketAddr,
    segment: Segment<'a>,
    acknowledgement: u32,
    /// Bytes of the frame on the wire.
    length: u32,
    at: Moment,
}

bartizan_registry::made! {
    /// Takes packets and gives each connection with its times.
    pub struct Timing,
    /// One that has seen nothing.
    pub new(limits: Limits) {
        observer: Observer = Observer::new(limits),
        /// By the two ends, the lesser first.
        traces: HashMap<(SocketAddr, SocketAddr), Trace> = HashMap::new(),
        /// Frames that live traces keep.
        kept: usize = 0,
        /// All connections given so far, and all packets of those that live.
        pub overview: Overview = Overview::default(),
    }
}

impl Timing {
    /// Takes the next packet; gives the connection it ends.
    pub fn packet(&mut self, packet: &Packet<'_>, mut give: impl FnMut(Timed)) {
        let known = self.observer.totals().connections;
        let mut ended = Vec::new();
        self.observer.packet(packet, |connection| ended.push(connection));
        let begins = self.observer.totals().connections > known;
        // A replaced connection ended before this packet, a closed or reset one ends with it.
        let (replaced, ended): (Vec<_>, Vec<_>) = ended
            .into_iter()
            .partition(|connection| connection.ending == Ending::Replaced);
        for connection in replaced {
            give(self.timed(connection));
        }
        if let Some(seen) = seen(packet) {
            let ends = ends(seen.source, seen.destination);
            if begins {
                self.traces.insert(ends, Trace::new(seen.source));
            }
            if let Some(trace) = self.traces.get_mut(&ends) {
                self.overview.packet(seen.length, seen.at);
                self.kept += usize::from(trace.packet(&seen, self.kept < FRAMES));
            }
        }
        for connection in ended {
            give(self.timed(connection));
        }
    }

    /// Gives every connection that is still there, in the order of their first packets.
    pub fn finish(&mut self, mut give: impl FnMut(Timed)) {
        let mut ended = Vec::new();
        self.observer.finish(|connection| ended.push(connection));
        for connection in ended {
            give(self.timed(connection));
        }
        self.traces.clear();
        self.kept = 0;
    }

    /// Totals of the observer.
    pub fn totals(&self) -> &Totals {
        self.observer.totals()
    }

    fn timed(&mut self, connection: Connection) -> Timed {
        let ends = ends(connection.client, connection.server);
        // There is none where the packet that began the connection was put together from fragments.
        let trace = self
            .traces
            .remove(&ends)
            .unwrap_or_else(|| Trace::new(connection.client));
        self.kept = self.kept.saturating_sub(trace.kept());
        let timed = trace.timed(connection);
        self.overview.connection(&timed);
        timed
    }
}

fn ends(one: SocketAddr, other: SocketAddr) -> (SocketAddr, SocketAddr) {
    if one <= other { (one, other) } else { (other, one) }
}

fn seen<'a>(packet: &Packet<'a>) -> Option<Seen<'a>> {
    let Network::Ip(bytes) = link::network(packet.link, packet.data) else {
        return None;
    };
    let datagram = ip::datagram(bytes)?;
    if datagram.fragment != Fragment::Whole || datagram.protocol != ip::TCP {
        return None;
    }
    let segment = tcp::segment(datagram.payload, datagram.missing)?;
    Some(Seen {
        source: SocketAddr::new(datagram.source, segment.source_port),
        destination: SocketAddr::new(datagram.destination, segment.destination_port),
        segment,
        acknowledgement: segment.acknowledgement,
        length: packet.original_length,
        at: Moment {
            packet: packet.number,
            time: packet.time,
        },
    })
}

#[cfg(test)]
mod tests;
