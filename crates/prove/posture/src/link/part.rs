//! One connection, association or security association, as a link takes it in.

use std::net::{IpAddr, SocketAddr};

use bartizan_wire::datagrams::{DatagramProtocol, Datagrams};
use bartizan_wire::ike::Origin;
use bartizan_wire::path::Path;
use bartizan_wire::sctp::{Association, Begun};
use bartizan_wire::{Address, Connection, End, Moment, Side, Start};

use crate::{Interface, JudgedEspSa, JudgedIkeSa, Posture};

/// Carrier of a part of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// TCP, whatever is in it.
    Tcp,
    /// SCTP, whatever is in it.
    Sctp,
    /// IKE and the ESP it keys.
    Ipsec,
    /// A protocol without connections: over UDP mostly.
    Udp(DatagramProtocol),
}

/// Path of an IKE_SA without packets.
static NO_PATH: Path = Path::NONE;

bartizan_registry::named! {
    /// Beginning of a part, as far as its own packets show.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Occasion, name {
        /// Set up in full: each end proved itself, if the protocol has proofs at all.
        SetUp = "set up",
        /// Set up with a pre-shared key of an earlier handshake.
        Resumed = "resumed",
        /// Made by the rekey of an earlier one.
        Rekeyed = "rekeyed",
        /// It was there before the capture.
        Before = "there before the capture",
    }
}

/// One end of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Socket {
    pub(super) address: Address,
    pub(super) port: Option<u16>,
}

impl From<SocketAddr> for Socket {
    fn from(socket: SocketAddr) -> Self {
        Self {
            address: socket.ip().into(),
            port: Some(socket.port()),
        }
    }
}

impl From<IpAddr> for Socket {
    fn from(address: IpAddr) -> Self {
        Self {
            address: address.into(),
            port: None,
        }
    }
}

impl From<End> for Socket {
    fn from(end: End) -> Self {
        Self {
            address: end.address(),
            port: end.port(),
        }
    }
}

bartizan_registry::made! {
    /// A connection, an association, an IKE_SA or an ESP security association with what follows
    /// from it.
    #[derive(Debug, Clone, Copy)]
    pub struct Part<'a>,
    /// A TCP connection with the posture made from it.
    pub connection(connection: &'a Connection, posture: &'a Posture) {
        let occasion = match connection.start {
            Start::Midstream => Occasion::Before,
            Start::Syn if posture.resumed => Occasion::Resumed,
            Start::Syn => Occasion::SetUp,
        };
        let [ours, theirs] = [&connection.from_client, &connection.from_server];
        pub(super) carrier: Carrier = Carrier::Tcp,
        /// The end that asks, then the one that answers; for ESP the sender, then the receiver.
        pub(super) ends: [Socket; 2] = [connection.client.into(), connection.server.into()],
        pub(super) first: Moment = connection.first,
        pub(super) last: Moment = connection.last,
        /// Sent by the end that asks, and by the one that answers.
        pub(super) packets: [u64; 2] = [ours.packets, theirs.packets],
        pub(super) bytes: [u64; 2] = [ours.stream.bytes, theirs.stream.bytes],
        pub(super) occasion: Occasion,
        /// Rekeys inside it.
        pub(super) rekeys: u64 = 0,
        /// Encapsulation of its packets.
        pub(super) path: &'a Path = &connection.path,
        pub(super) posture: &'a Posture,
    }
}

impl<'a> Part<'a> {
    /// An SCTP association with the posture made from it.
    pub fn association(association: &'a Association, posture: &'a Posture) -> Self {
        let [ours, theirs] = [&association.from_initiator, &association.from_responder];
        Self {
            carrier: Carrier::Sctp,
            ends: [association.initiator.into(), association.responder.into()],
            first: association.first,
            last: association.last,
            packets: [ours.packets, theirs.packets],
            bytes: [ours.bytes, theirs.bytes],
            occasion: match association.begun {
                Begun::Init => Occasion::SetUp,
                Begun::Midstream => Occasion::Before,
            },
            rekeys: 0,
            path: &association.path,
            posture,
        }
    }

    /// An IKE_SA.
    pub fn ike(judged: &'a JudgedIkeSa) -> Self {
        let sa = &judged.sa;
        let [ours, theirs] = [&sa.from_initiator, &sa.from_responder];
        Self {
            carrier: Carrier::Ipsec,
            // Its ports say nothing of a link: ESP has none.
            ends: [sa.initiator.ip().into(), sa.responder.ip().into()],
            first: sa.first,
            last: sa.last,
            packets: [ours.packets, theirs.packets],
            bytes: [ours.ip_bytes, theirs.ip_bytes],
            occasion: match sa.origin {
                Origin::Init => Occasion::SetUp,
                Origin::Rekey => Occasion::Rekeyed,
                Origin::Resumed => Occasion::Resumed,
                Origin::Midstream => Occasion::Before,
            },
            rekeys: sa.rekeys,
            path: sa.paths.iter().flatten().next().unwrap_or(&NO_PATH),
            posture: &judged.posture,
        }
    }

    /// An ESP security association: one direction.
    pub fn esp(judged: &'a JudgedEspSa) -> Self {
        let sa = &judged.sa;
        Self {
            carrier: Carrier::Ipsec,
            ends: [sa.source.into(), sa.destination.into()],
            first: sa.first,
            last: sa.last,
            packets: [sa.packets, 0],
            bytes: [sa.bytes, 0],
            occasion: if sa.first_sequence == 1 {
                Occasion::SetUp
            } else {
                Occasion::Before
            },
            rekeys: 0,
            path: &sa.path,
            posture: &judged.posture,
        }
    }

    /// A protocol without connections with the posture made from it. Of PFCP the end in control counts as the one that asks.
    pub fn datagrams(datagrams: &'a Datagrams, posture: &'a Posture) -> Self {
        let [client, server] = [datagrams.client, datagrams.server].map(Socket::from);
        let (ours, theirs) = (datagrams.from_client, datagrams.from_server);
        let turned = datagrams.controlled_by == Some(Side::Server);
        let order = |[one, other]: [u64; 2]| if turned { [other, one] } else { [one, other] };
        Self {
            carrier: Carrier::Udp(datagrams.protocol),
            ends: if turned { [server, client] } else { [client, server] },
            first: datagrams.first,
            last: datagrams.last,
            packets: order([ours.packets, theirs.packets]),
            bytes: order([ours.bytes, theirs.bytes]),
            // Nothing is set up that could be missed.
            occasion: Occasion::SetUp,
            rekeys: 0,
            path: &datagrams.path,
            posture,
        }
    }

    /// The hosts at its ends, the one that asks first.
    pub fn hosts(&self) -> [Address; 2] {
        self.ends.map(|end| end.address)
    }

    /// The address of each end, with its port where it has one; the one that asks first.
    pub fn endpoints(&self) -> [(Address, Option<u16>); 2] {
        self.ends.map(|end| (end.address, end.port))
    }

    /// Returns its beginning.
    pub fn occasion(&self) -> Occasion {
        self.occasion
    }

    /// Returns the encapsulation of its packets.
    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// Its first packet and its last.
    pub fn span(&self) -> [Moment; 2] {
        [self.first, self.last]
    }

    /// Interface, as packets show it.
    pub(super) fn hint(&self) -> Option<Interface> {
        self.posture.interface
    }
}
