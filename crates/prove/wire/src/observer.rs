//! From packets to connections.

mod associations;
mod connections;
mod counted;
mod datagrams;
mod demux;
mod flow;
mod halves;
mod interfaces;
mod ipsec;
mod keyed;
mod live;
mod memory;
mod paths;
mod quic;
mod quoted;
mod sink;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::connection::Captured;
use crate::datagrams::DatagramProtocol;
use crate::end::Address;
use crate::frames::FrameProtocol;
use crate::ip::{Datagram, FragmentLimits, Fragments};
use crate::keys::Keys;
use crate::link::LinkType;
use crate::path::Layer;
use crate::tcp::Budget;
use crate::{Connection, Ending, Moment, Packet};

use associations::Associations;
use connections::{Ends, Slot};
pub use counted::Before;
use datagrams::Datagrams;
use flow::Flow;
use halves::Halves;
use interfaces::Interfaces;
use ipsec::Ipsec;
use keyed::Table;
pub use live::Holding;
use memory::Memory;
use paths::{PathId, Paths};
use sink::TcpAlone;
pub use sink::{Omitted, Sink};

/// Limits of an [`Observer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes for everything that lives: connections, associations, IKE_SAs, ESP security
    /// associations, and what is held back for them. At the limit, packets of new ones are counted
    /// in [`Totals::untracked`] and not read.
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

/// Content of packets that belong to no conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unread {
    /// An IP protocol with which hosts maintain a network, by its number: ICMP, IGMP.
    Protocol(u8),
    /// Frames without IP, with which stations keep a network together; or of which no station is known.
    Frame(FrameProtocol),
    /// TCP segments without data that belong to no connection which is followed, or repeat what was
    /// read of one that has ended.
    TcpControl,
    /// SCTP packets without data that belong to no association: one that has ended, or one whose
    /// first chunk says nothing.
    SctpControl,
    /// Datagrams that keep an address translation alive (RFC 3948).
    KeepAlive,
    /// Frames of a link type that is not read.
    LinkType(u16),
    /// Frames shorter than their headers, or without an IP packet where one is announced.
    Malformed,
}

impl Unread {
    /// Returns true if it can carry no user data: it needs no judgement.
    #[must_use]
    pub fn is_housekeeping(self) -> bool {
        match self {
            Self::Protocol(_) | Self::TcpControl | Self::SctpControl | Self::KeepAlive => true,
            Self::Frame(protocol) => protocol.is_housekeeping(),
            Self::LinkType(_) | Self::Malformed => false,
        }
    }
}

/// Kind of a flow that an [`Observer`] follows, each bounded by the [`Limits`].
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
    /// A protocol without connections between two ends.
    Datagrams(DatagramProtocol),
}

impl FlowKind {
    /// Name, in the plural.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Connection => "TCP connections".into(),
            Self::Association => "SCTP associations".into(),
            Self::IkeSa => "IKE_SAs".into(),
            Self::EspSa => "ESP security associations".into(),
            Self::Datagrams(protocol) => protocol.name(),
        }
    }
}

/// Packets of one kind of flow that were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Omission {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// The first of them.
    pub first: Moment,
}

/// Counts of all packets that went through an [`Observer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets.
    pub packets: u64,
    /// Bytes of packets, as captured.
    pub bytes: u64,
    /// Packets of which a part only was captured.
    pub snapped: u64,
    /// Packets of LINUX_SLL2, whose outer VLAN tag was lost before they were written.
    pub untagged: u64,
    /// Packets between hosts that several interfaces of the capture saw: two networks with the same
    /// addresses look like one.
    pub merged: u64,
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
    /// Packets that belong to no conversation, by what they carried.
    pub unread: BTreeMap<Unread, Captured>,
    /// Earliest packet by its time: the clock of a capture can go back. None where no packet has a
    /// time.
    pub first: Option<Moment>,
    /// Latest packet by its time.
    pub last: Option<Moment>,
}

/// A datagram, with the packets that brought it.
struct Arrived<'a> {
    datagram: Datagram<'a>,
    /// The packet that completed it.
    at: Moment,
    /// The first packet with a part of it.
    first: Moment,
    /// Packets of the capture that brought it.
    captured: Captured,
    path: PathId,
}

bartizan_registry::made! {
    /// Takes packets and gives each connection when it ends.
    pub struct Observer,
    /// An observer that has seen nothing.
    pub new(limits: Limits) {
        limits: Limits = limits,
        memory: Memory = Memory::new(limits.memory.saturating_sub(limits.held_bytes)),
        budget: Budget = Budget::new(limits.held_bytes),
        fragments: Fragments = Fragments::new(limits.fragments),
        paths: Paths = Paths::default(),
        interfaces: Interfaces = Interfaces::default(),
        /// The tags and tunnels of the packet at hand.
        layers: Vec<Layer> = Vec::new(),
        associations: Associations = Associations::default(),
        ipsec: Ipsec = Ipsec::default(),
        datagrams: Datagrams = Datagrams::default(),
        /// Connections and associations of all kinds that have begun: each is numbered.
        begun: u64 = 0,
        slots: Table<Ends, Slot> = Table::default(),
        halves: Halves = Halves::default(),
        /// The flow that the packet at hand would have begun, had there been room.
        omitted: Vec<Omitted> = Vec::new(),
        /// Slots in state `Ended`, oldest first.
        ended: VecDeque<Ends> = VecDeque::new(),
        live: usize = 0,
        totals: Totals = Totals::default(),
        keys: Option<Arc<dyn Keys>> = None,
    }
}

impl Observer {
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
        totals.untagged += u64::from(packet.link == LinkType::LINUX_SLL2);
        at.widen(&mut totals.first, &mut totals.last);
        self.follow(packet, at, sink);
        self.omitted.drain(..).for_each(|omitted| sink.omitted(omitted));
    }

    /// Gives every TCP connection that is still there, in the order of their first packets.
    pub fn finish(&mut self, ended: impl FnMut(Connection)) {
        self.finish_into(&mut TcpAlone(ended));
    }

    /// Gives all that is still there: connections, associations, IKE_SAs, ESP security
    /// associations, protocols over UDP, each kind in the order of first packets.
    pub fn finish_into(&mut self, sink: &mut impl Sink) {
        self.give_up_fragments(None);
        self.omitted.drain(..).for_each(|omitted| sink.omitted(omitted));
        let mut flows: Vec<_> = self
            .slots
            .drain()
            .filter_map(|(_, slot)| match slot {
                Slot::Live(flow) => Some(flow),
                Slot::Other(_) | Slot::Ended(_) => None,
            })
            .collect();
        self.halves = Halves::default();
        self.ended = VecDeque::new();
        self.live = 0;
        self.memory = Memory::new(self.limits.memory.saturating_sub(self.limits.held_bytes));
        self.slots = Table::default();
        flows.sort_unstable_by_key(|flow| flow.number);
        for flow in flows {
            sink.connection(self.ended(*flow, Ending::Open));
        }
        self.associations.finish(sink);
        self.ipsec.finish(sink);
        self.datagrams.finish(sink);
        self.paths = Paths::default();
    }

    /// Bytes that what it follows holds, besides what it holds back of segments and fragments.
    pub fn held(&self) -> usize {
        self.memory.used
    }

    /// Counts so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    fn unread(&mut self, unread: Unread, captured: Captured) {
        self.totals.unread.entry(unread).or_default().add(captured);
    }

    fn ended(&mut self, flow: Flow, ending: Ending) -> Connection {
        let paths = flow.paths.map(|path| self.paths.path(path));
        flow.end(ending, paths, &mut self.budget, self.keys.as_deref())
    }

    /// Packets of what has no room.
    fn omit(&mut self, flow: FlowKind, [source, destination]: [Address; 2], at: Moment, captured: Captured) {
        let omitted = Omitted {
            flow,
            source,
            destination,
            at,
        };
        self.totals.omit(&omitted, captured);
        self.omitted.push(omitted);
    }
}
