//! From packets to connections.

mod application;
mod flow;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use crate::ip::{self, Datagram, Fragment};
use crate::link::{self, Network};
use crate::tcp::{self, Budget, Segment};
use crate::{Connection, Ending, Moment, Packet};

use flow::Flow;

/// Ports of IKEv2 (RFC 7296, section 2).
const IKE_PORTS: [u16; 2] = [500, 4500];
/// Ended connections remembered, so that their last acknowledgements do not look like new ones.
const ENDED: usize = 1 << 16;

/// What an [`Observer`] may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. Packets of more are counted in [`Totals::untracked`] and not read.
    pub connections: usize,
    /// Bytes that all connections together hold back for segments out of order.
    pub held_bytes: usize,
}

impl Default for Limits {
    /// A million connections, and 256 MiB for segments out of order.
    fn default() -> Self {
        Self {
            connections: 1_000_000,
            held_bytes: 256 << 20,
        }
    }
}

/// What packets carried that is counted and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unread {
    /// SCTP: N2, E2, F1-C, Xn, E1.
    Sctp,
    /// ESP.
    Esp,
    /// UDP on the ports of IKEv2, ESP in UDP included.
    Ike,
    /// Any other UDP.
    Udp,
    /// Another IP protocol.
    Protocol(u8),
    /// MACsec frames.
    MacSec,
    /// Frames that carry no IP, by EtherType.
    EtherType(u16),
    /// Parts of fragmented IP packets.
    Fragment,
    /// Frames of a link type that is not read.
    LinkType(u16),
    /// Packets shorter than their headers, or with headers that cannot be right.
    Malformed,
}

/// What went through an [`Observer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Packets.
    pub packets: u64,
    /// Bytes of packets, as captured.
    pub bytes: u64,
    /// Packets of which a part only was captured.
    pub snapped: u64,
    /// TCP segments.
    pub segments: u64,
    /// Connections begun.
    pub connections: u64,
    /// TCP packets of connections beyond [`Limits::connections`].
    pub untracked: u64,
    /// Packets counted and not read, by what they carried.
    pub unread: BTreeMap<Unread, u64>,
    /// First packet.
    pub first: Option<Moment>,
    /// Last packet.
    pub last: Option<Moment>,
}

/// A connection's two ends, the lesser first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Ends(SocketAddr, SocketAddr);

enum Slot {
    Live(Box<Flow>),
    Ended,
}

/// Takes packets and gives each connection when it ends.
pub struct Observer {
    limits: Limits,
    budget: Budget,
    slots: HashMap<Ends, Slot>,
    /// Slots in state `Ended`, oldest first.
    ended: VecDeque<Ends>,
    live: usize,
    totals: Totals,
}

impl Observer {
    /// An observer that has seen nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            budget: Budget::new(limits.held_bytes),
            slots: HashMap::new(),
            ended: VecDeque::new(),
            live: 0,
            totals: Totals::default(),
        }
    }

    /// Takes the next packet; gives the connection it ends to `ended`.
    pub fn packet(&mut self, packet: &Packet<'_>, ended: impl FnMut(Connection)) {
        let at = Moment {
            packet: packet.number,
            time: packet.time,
        };
        let totals = &mut self.totals;
        totals.packets += 1;
        totals.bytes += packet.data.len() as u64;
        totals.snapped += u64::from(packet.original_length as usize > packet.data.len());
        totals.first.get_or_insert(at);
        totals.last = Some(at);
        let unread = match link::network(packet.link, packet.data) {
            Network::Ip(bytes) => match ip::datagram(bytes) {
                Some(datagram) => self.datagram(&datagram, at, ended),
                None => Some(Unread::Malformed),
            },
            Network::Other(link::ETHERTYPE_MACSEC) => Some(Unread::MacSec),
            Network::Other(ethertype) => Some(Unread::EtherType(ethertype)),
            Network::UnknownLink => Some(Unread::LinkType(packet.link.0)),
            Network::Short => Some(Unread::Malformed),
        };
        if let Some(unread) = unread {
            *self.totals.unread.entry(unread).or_default() += 1;
        }
    }

    /// Gives every connection that is still there, in the order of their first packets.
    pub fn finish(&mut self, mut ended: impl FnMut(Connection)) {
        let mut flows: Vec<_> = self
            .slots
            .drain()
            .filter_map(|(_, slot)| match slot {
                Slot::Live(flow) => Some(flow),
                Slot::Ended => None,
            })
            .collect();
        self.ended.clear();
        self.live = 0;
        flows.sort_unstable_by_key(|flow| flow.number());
        for flow in flows {
            ended(flow.end(Ending::Open, &mut self.budget));
        }
    }

    /// What went through so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    fn datagram(&mut self, datagram: &Datagram<'_>, at: Moment, ended: impl FnMut(Connection)) -> Option<Unread> {
        if datagram.fragment == Fragment::Part {
            return Some(Unread::Fragment);
        }
        match datagram.protocol {
            ip::TCP => {
                let Some(segment) = tcp::segment(datagram.payload, datagram.missing) else {
                    return Some(Unread::Malformed);
                };
                self.segment(datagram, &segment, at, ended);
                None
            }
            ip::UDP => Some(match datagram.payload.first_chunk::<4>() {
                None => Unread::Malformed,
                Some([a, b, c, d]) => {
                    let ports = [u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])];
                    if ports.iter().any(|port| IKE_PORTS.contains(port)) {
                        Unread::Ike
                    } else {
                        Unread::Udp
                    }
                }
            }),
            ip::SCTP => Some(Unread::Sctp),
            ip::ESP => Some(Unread::Esp),
            other => Some(Unread::Protocol(other)),
        }
    }

    fn segment(
        &mut self,
        datagram: &Datagram<'_>,
        segment: &Segment<'_>,
        at: Moment,
        mut give: impl FnMut(Connection),
    ) {
        self.totals.segments += 1;
        let source = SocketAddr::new(datagram.source, segment.source_port);
        let destination = SocketAddr::new(datagram.destination, segment.destination_port);
        let ends = if source <= destination {
            Ends(source, destination)
        } else {
            Ends(destination, source)
        };
        // A connection is worth remembering once it says something: an acknowledgement alone may belong to one that has
        // ended.
        let begins = segment.flags.syn() || !segment.payload.is_empty() || segment.missing > 0;
        match self.slots.get_mut(&ends) {
            Some(Slot::Live(flow)) if flow.is_replaced_by(source, segment) => {
                if let Some(Slot::Live(old)) = self.slots.remove(&ends) {
                    self.live -= 1;
                    give(old.end(Ending::Replaced, &mut self.budget));
                }
            }
            Some(Slot::Live(_)) => {}
            Some(Slot::Ended) if !segment.flags.syn() => return,
            Some(Slot::Ended) => {}
            None if !begins => return,
            None => {}
        }
        let flow = match self.slots.get_mut(&ends) {
            Some(Slot::Live(flow)) => flow,
            _ => {
                if self.live >= self.limits.connections {
                    self.totals.untracked += 1;
                    return;
                }
                self.live += 1;
                self.totals.connections += 1;
                let flow = Box::new(Flow::new(self.totals.connections, source, destination, segment, at));
                let slot = self.slots.entry(ends).insert_entry(Slot::Live(flow)).into_mut();
                let Slot::Live(flow) = slot else { return };
                flow
            }
        };
        let Some(ending) = flow.segment(source, segment, at, &mut self.budget) else {
            return;
        };
        if let Some(Slot::Live(flow)) = self.slots.insert(ends, Slot::Ended) {
            self.live -= 1;
            give(flow.end(ending, &mut self.budget));
        }
        self.ended.push_back(ends);
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
            && matches!(self.slots.get(&oldest), Some(Slot::Ended))
        {
            self.slots.remove(&oldest);
        }
    }
}
