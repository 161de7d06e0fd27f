//! From packets to connections.

mod application;
mod associations;
mod datagrams;
mod flow;
mod ipsec;
mod keyed;
mod live;
mod memory;
mod sink;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::datagrams::DatagramProtocol;
use crate::ip::{self, Datagram, Fragment, FragmentLimits, Fragments, Taken};
use crate::keys::Keys;
use crate::link::{self, Network};
use crate::tcp::{self, Budget, Segment};
use crate::{Connection, Ending, Moment, Packet};

use associations::Associations;
use datagrams::Datagrams;
use flow::Flow;
use ipsec::Ipsec;
use keyed::Table;
pub use live::Holding;
pub(crate) use memory::allocated;
use memory::{Bounds, Memory};
use sink::TcpAlone;
pub use sink::{Omitted, Sink};

/// Ended connections remembered, so that their last acknowledgements do not look like new ones.
const ENDED: usize = 1 << 16;

/// What an [`Observer`] may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes for everything that lives: connections, associations, IKE_SAs, ESP security associations, and what is held
    /// back for them. Where it is reached, packets of new ones are counted in [`Totals::untracked`] and not read.
    pub memory: usize,
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
    /// 2.5 GB, of which 256 MiB are for segments out of order; four million of each kind.
    fn default() -> Self {
        const EACH: usize = 4_000_000;
        Self {
            memory: 2_500_000_000,
            connections: EACH,
            held_bytes: 256 << 20,
            associations: EACH,
            ike_sas: EACH,
            esp_sas: EACH,
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

/// What an [`Observer`] follows, each bounded by the [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowKind {
    /// A TCP connection.
    Connection,
    /// An SCTP association.
    Association,
    /// An IKE_SA.
    IkeSa,
    /// An ESP security association.
    EspSa,
    /// A protocol over UDP between two ends.
    Datagrams(DatagramProtocol),
}

impl FlowKind {
    /// What several of them are called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection => "TCP connections",
            Self::Association => "SCTP associations",
            Self::IkeSa => "IKE_SAs",
            Self::EspSa => "ESP security associations",
            Self::Datagrams(protocol) => protocol.name(),
        }
    }
}

/// Packets of one kind of flow that were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omission {
    /// How many.
    pub packets: u64,
    /// The first of them.
    pub first: Moment,
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
    /// The same by what they belong to.
    pub omitted: BTreeMap<FlowKind, Omission>,
    /// Packets counted and not read, by what they carried.
    pub unread: BTreeMap<Unread, u64>,
    /// First packet.
    pub first: Option<Moment>,
    /// Last packet.
    pub last: Option<Moment>,
}

/// A connection's two ends, the lesser first, in as few bytes as a million of them should have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Ends {
    /// Two words each; of IPv4 the first holds all of it.
    addresses: [u64; 4],
    ports: [u16; 2],
    ipv6: bool,
}

impl Ends {
    fn between(source: SocketAddr, destination: SocketAddr) -> Self {
        let (one, other) = if source <= destination {
            (source, destination)
        } else {
            (destination, source)
        };
        let words = |address: IpAddr| match address {
            IpAddr::V4(address) => [u64::from(address.to_bits()), 0],
            IpAddr::V6(address) => [(address.to_bits() >> 64) as u64, address.to_bits() as u64],
        };
        let ([a, b], [c, d]) = (words(one.ip()), words(other.ip()));
        Self {
            addresses: [a, b, c, d],
            ports: [one.port(), other.port()],
            ipv6: one.is_ipv6(),
        }
    }
}

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
    memory: Memory,
    budget: Budget,
    fragments: Fragments,
    associations: Associations,
    ipsec: Ipsec,
    datagrams: Datagrams,
    /// Connections and associations of all kinds that have begun: each is numbered.
    begun: u64,
    slots: Table<Ends, Slot>,
    /// What the packet at hand would have been, had there been room.
    omitted: Option<Omitted>,
    /// Slots in state `Ended`, oldest first.
    ended: VecDeque<Ends>,
    live: usize,
    totals: Totals,
    keys: Option<Arc<dyn Keys>>,
}

impl Observer {
    /// An observer that has seen nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            memory: Memory::new(limits.memory.saturating_sub(limits.held_bytes)),
            budget: Budget::new(limits.held_bytes),
            fragments: Fragments::new(limits.fragments),
            associations: Associations::default(),
            ipsec: Ipsec::default(),
            datagrams: Datagrams::default(),
            begun: 0,
            slots: Table::default(),
            omitted: None,
            ended: VecDeque::new(),
            live: 0,
            totals: Totals::default(),
            keys: None,
        }
    }

    /// The same, which reads what these keys open as well.
    #[must_use]
    pub fn with_keys(self, keys: Arc<dyn Keys>) -> Self {
        Self {
            keys: Some(keys),
            ..self
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
        if let Some(omitted) = self.omitted.take() {
            sink.omitted(omitted);
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
        self.ended = VecDeque::new();
        self.live = 0;
        self.memory = Memory::new(self.limits.memory.saturating_sub(self.limits.held_bytes));
        self.slots = Table::default();
        flows.sort_unstable_by_key(|flow| flow.number());
        for flow in flows {
            sink.connection(flow.end(Ending::Open, &mut self.budget, self.keys.as_deref()));
        }
        self.associations.finish(sink);
        self.ipsec.finish(sink);
        self.datagrams.finish(sink);
    }

    /// Bytes that what it follows holds, beside what it holds back of segments and fragments.
    #[must_use]
    pub fn held(&self) -> usize {
        self.memory.used()
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
        let mut bounds = Bounds {
            limits: &self.limits,
            memory: &mut self.memory,
            begun: &mut self.begun,
            totals: &mut self.totals,
            keys: self.keys.as_deref(),
            omitted: &mut self.omitted,
        };
        match datagram.protocol {
            ip::TCP => {
                let Some(segment) = tcp::segment(datagram.payload, datagram.missing) else {
                    return Some(Unread::Malformed);
                };
                self.segment(datagram, &segment, arrived.at, |connection| sink.connection(connection));
                None
            }
            ip::UDP => match self.ipsec.udp(arrived, &mut bounds) {
                Some(Unread::Udp) => self.datagrams.packet(arrived, &mut bounds),
                other => other,
            },
            ip::ESP => self.ipsec.esp(arrived, &mut bounds),
            ip::SCTP => self.associations.packet(arrived, &mut bounds, sink),
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
        let ends = Ends::between(source, destination);
        let ended = match self.slots.get_mut(&ends) {
            Some(Slot::Live(flow)) if !flow.is_replaced_by(source, segment) => {
                let before = flow.held();
                let ended = flow.segment(source, segment, at, &mut self.budget, self.keys.as_deref());
                let after = flow.held();
                self.memory.changed(before, after);
                if after > before && ended.is_none() && self.memory.is_exceeded() {
                    self.give_up(&ends, source, destination, at, &mut give);
                    return;
                }
                ended
            }
            Some(Slot::Ended) if !segment.flags.syn() => return,
            Some(_) => self.begin(ends, (source, destination), segment, at, &mut give),
            // A connection is worth remembering once it says something: an acknowledgement alone may belong to one that
            // has ended.
            None if !segment.flags.syn() && segment.payload.is_empty() && segment.missing == 0 => return,
            None => self.begin(ends, (source, destination), segment, at, &mut give),
        };
        if let Some(ending) = ended {
            self.close(ends, ending, &mut give);
        }
    }

    /// A connection whose first segment this is, in the place of one that had the same ends; says how it ended, if it did
    /// at once.
    fn begin(
        &mut self,
        ends: Ends,
        (source, destination): (SocketAddr, SocketAddr),
        segment: &Segment<'_>,
        at: Moment,
        give: &mut impl FnMut(Connection),
    ) -> Option<Ending> {
        if let Some(Slot::Live(old)) = self.slots.remove(&ends) {
            self.live -= 1;
            self.memory.gone(old.held());
            give(old.end(Ending::Replaced, &mut self.budget, self.keys.as_deref()));
        }
        let bytes = flow::PROMISED + self.slots.growth();
        if self.live >= self.limits.connections || !self.memory.has_room(bytes) {
            self.omit(source.ip(), destination.ip(), at);
            return None;
        }
        self.live += 1;
        self.totals.connections += 1;
        self.begun += 1;
        let mut flow = Box::new(Flow::new(self.begun, source, destination, segment, at));
        let ended = flow.segment(source, segment, at, &mut self.budget, self.keys.as_deref());
        self.memory.came(flow.held());
        self.slots.insert(ends, Slot::Live(flow));
        self.slots.grown(&mut self.memory);
        ended
    }

    /// The connection between these ends has grown beyond what there may be: it is given as far as it was read, and not
    /// followed any more.
    fn give_up(
        &mut self,
        ends: &Ends,
        source: SocketAddr,
        destination: SocketAddr,
        at: Moment,
        give: &mut impl FnMut(Connection),
    ) {
        if let Some(Slot::Live(flow)) = self.slots.remove(ends) {
            self.live -= 1;
            self.memory.gone(flow.held());
            give(flow.end(Ending::Open, &mut self.budget, self.keys.as_deref()));
        }
        self.omit(source.ip(), destination.ip(), at);
    }

    /// A segment of a connection that has no room.
    fn omit(&mut self, source: IpAddr, destination: IpAddr, at: Moment) {
        let omitted = Omitted {
            flow: FlowKind::Connection,
            source,
            destination,
            at,
        };
        self.totals.omit(&omitted, 1);
        self.omitted = Some(omitted);
    }

    /// The connection between these ends has ended.
    fn close(&mut self, ends: Ends, ending: Ending, give: &mut impl FnMut(Connection)) {
        if let Some(Slot::Live(flow)) = self.slots.insert(ends, Slot::Ended) {
            self.live -= 1;
            self.memory.gone(flow.held());
            give(flow.end(ending, &mut self.budget, self.keys.as_deref()));
        }
        let before = self.ended.capacity();
        self.ended.push_back(ends);
        let bytes = |capacity| capacity * size_of::<Ends>();
        self.memory.changed(bytes(before), bytes(self.ended.capacity()));
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
            && matches!(self.slots.get(&oldest), Some(Slot::Ended))
        {
            self.slots.remove(&oldest);
        }
    }
}
