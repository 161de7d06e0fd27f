//! From packets to connections.

mod application;
mod associations;
mod datagrams;
mod flow;
mod ipsec;
mod sink;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use crate::ip::{self, Datagram, Fragment, FragmentLimits, Fragments, Taken};
use crate::link::{self, Network};
use crate::tcp::{self, Budget, Segment};
use crate::{Connection, Ending, Moment, Packet};

use associations::Associations;
use datagrams::Datagrams;
use flow::Flow;
use ipsec::Ipsec;
pub use sink::Sink;
use sink::TcpAlone;

/// Ended connections remembered, so that their last acknowledgements do not look like new ones.
const ENDED: usize = 1 << 16;

/// What an [`Observer`] may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. Packets of more are counted in [`Totals::untracked`] and not read.
    pub connections: usize,
    /// Bytes that all connections together hold back for segments out of order.
    pub held_bytes: usize,
    /// SCTP associations at a time.
    pub associations: usize,
    /// IKE_SAs; they never end, as their deletion is encrypted.
    pub ike_sas: usize,
    /// ESP security associations; they never end either.
    pub esp_sas: usize,
    /// Fragments of IP packets.
    pub fragments: FragmentLimits,
}

impl Default for Limits {
    /// A million connections and as many ESP security associations, 256 MiB for segments out of order, 100 000
    /// associations and IKE_SAs.
    fn default() -> Self {
        Self {
            connections: 1_000_000,
            held_bytes: 256 << 20,
            associations: 100_000,
            ike_sas: 100_000,
            esp_sas: 1_000_000,
            fragments: FragmentLimits::default(),
        }
    }
}

/// What packets carried that is counted and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unread {
    /// SCTP packets that belong to no association: one that has ended, or one whose first chunk says nothing.
    Sctp,
    /// Packets on the ports of IKE that are neither IKE nor ESP.
    Ike,
    /// Any other UDP.
    Udp,
    /// Another IP protocol.
    Protocol(u8),
    /// MACsec frames.
    MacSec,
    /// Frames that carry no IP, by EtherType.
    EtherType(u16),
    /// Parts of fragmented IP packets that were not put together: the rest did not come, or overlapped.
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
    /// SCTP associations begun.
    pub associations: u64,
    /// IKE_SAs begun.
    pub ike_sas: u64,
    /// ESP security associations begun.
    pub esp_sas: u64,
    /// Datagrams that keep an address translation alive (RFC 3948).
    pub keep_alives: u64,
    /// IP packets put together from fragments.
    pub reassembled: u64,
    /// Packets of connections and associations beyond the [`Limits`].
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

/// A datagram, with the packets that brought it.
struct Arrived<'a> {
    datagram: Datagram<'a>,
    /// The packet that completed it.
    at: Moment,
    /// The first packet with a part of it.
    first: Moment,
    packets: u32,
}

/// Takes packets and gives each connection when it ends.
pub struct Observer {
    limits: Limits,
    budget: Budget,
    fragments: Fragments,
    associations: Associations,
    ipsec: Ipsec,
    datagrams: Datagrams,
    /// Connections and associations of all kinds that have begun: each is numbered.
    begun: u64,
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
            fragments: Fragments::new(limits.fragments),
            associations: Associations::default(),
            ipsec: Ipsec::default(),
            datagrams: Datagrams::default(),
            begun: 0,
            slots: HashMap::new(),
            ended: VecDeque::new(),
            live: 0,
            totals: Totals::default(),
        }
    }

    /// Takes the next packet; gives the TCP connection it ends to `ended`.
    pub fn packet(&mut self, packet: &Packet<'_>, ended: impl FnMut(Connection)) {
        self.observe(packet, &mut TcpAlone(ended));
    }

    /// Takes the next packet; gives what it ends to `sink`.
    pub fn observe(&mut self, packet: &Packet<'_>, sink: &mut impl Sink) {
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
                Some(datagram) => self.datagram(datagram, at, sink),
                None => Some(Unread::Malformed),
            },
            Network::Other(link::ETHERTYPE_MACSEC) => Some(Unread::MacSec),
            Network::Other(ethertype) => Some(Unread::EtherType(ethertype)),
            Network::UnknownLink => Some(Unread::LinkType(packet.link.0)),
            Network::Short => Some(Unread::Malformed),
        };
        if let Some(unread) = unread {
            self.unread(unread, 1);
        }
    }

    /// Gives every TCP connection that is still there, in the order of their first packets.
    pub fn finish(&mut self, ended: impl FnMut(Connection)) {
        self.finish_into(&mut TcpAlone(ended));
    }

    /// Gives all that is still there: connections, associations, IKE_SAs, ESP security associations, protocols over UDP,
    /// each kind in the order of first packets.
    pub fn finish_into(&mut self, sink: &mut impl Sink) {
        self.fragments.finish();
        let abandoned = self.fragments.take_abandoned();
        self.unread(Unread::Fragment, abandoned);
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
            sink.connection(flow.end(Ending::Open, &mut self.budget));
        }
        self.associations.finish(sink);
        self.ipsec.finish(sink);
        self.datagrams.finish(sink);
    }

    /// What went through so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    fn unread(&mut self, unread: Unread, packets: u64) {
        if packets > 0 {
            *self.totals.unread.entry(unread).or_default() += packets;
        }
    }

    fn datagram(&mut self, datagram: Datagram<'_>, at: Moment, sink: &mut impl Sink) -> Option<Unread> {
        if datagram.fragment == Fragment::Whole {
            let arrived = Arrived {
                datagram,
                at,
                first: at,
                packets: 1,
            };
            return self.transport(&arrived, sink);
        }
        let taken = self.fragments.take(&datagram, at);
        let abandoned = self.fragments.take_abandoned();
        self.unread(Unread::Fragment, abandoned);
        let Taken::Whole {
            payload,
            parts,
            length,
            first,
        } = taken
        else {
            return None;
        };
        self.totals.reassembled += 1;
        let arrived = Arrived {
            datagram: Datagram {
                payload: &payload,
                length,
                fragment: Fragment::Whole,
                ..datagram
            },
            at,
            first,
            packets: parts,
        };
        self.transport(&arrived, sink)
    }

    fn transport(&mut self, arrived: &Arrived<'_>, sink: &mut impl Sink) -> Option<Unread> {
        let datagram = &arrived.datagram;
        match datagram.protocol {
            ip::TCP => {
                let Some(segment) = tcp::segment(datagram.payload, datagram.missing) else {
                    return Some(Unread::Malformed);
                };
                self.segment(datagram, &segment, arrived.at, |connection| sink.connection(connection));
                None
            }
            ip::UDP => match self.ipsec.udp(arrived, &self.limits, &mut self.begun, &mut self.totals) {
                Some(Unread::Udp) => self.datagrams.packet(arrived, &mut self.begun, &mut self.totals),
                other => other,
            },
            ip::ESP => self.ipsec.esp(arrived, &self.limits, &mut self.begun, &mut self.totals),
            ip::SCTP => self
                .associations
                .packet(arrived, &self.limits, &mut self.begun, &mut self.totals, sink),
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
                self.begun += 1;
                let flow = Box::new(Flow::new(self.begun, source, destination, segment, at));
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
