//! Links: everything between two hosts, or two nodes of a deployment file, that belongs to one interface.
//!
//! [`Links`] takes parts (connections, associations, IKE_SAs, ESP security associations) as they end and folds them, so
//! that a link takes the same room however many parts it has. [`Links::finish`] names each link and gives the
//! [`Network`]: per link and direction six questions with one of four answers, the worst over all parts; two verdicts
//! that are never merged; what it was first and what it became; and what there is to object to under its policy.

mod bundle;
mod history;
mod links;
mod matching;
mod objection;
mod omitted;
mod part;
mod reasons;
mod roles;
mod worst;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bartizan_deployment::NodeName;
use bartizan_registry::NamedGroup;
use bartizan_wire::ike::KeyExchangeMethod;
use bartizan_wire::path::Path;
use bartizan_wire::{Address, Moment};

use crate::{Interface, Judgement, Kind, Reply, Source};

pub use history::Phase;
pub use links::{Links, Network};
pub use objection::{Concern, Objection};
pub use part::{Carrier, Occasion, Part};

/// Bytes that an allocation for so many of that size takes, with what an allocator adds; none for nothing.
fn held(count: usize, size: usize) -> usize {
    match count * size {
        0 => 0,
        bytes => (bytes + 8).next_multiple_of(16).max(32),
    }
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LinkEnd {
    /// Its address.
    pub address: Address,
    /// Its port, where both ends have one address and only the port of the one that answers tells them apart.
    pub port: Option<u16>,
    /// The node of the deployment file it is.
    pub node: Option<NodeName>,
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.node, self.port) {
            (Some(node), _) => write!(f, "{node}"),
            (None, None) => write!(f, "{}", self.address),
            (None, Some(port)) => match self.address {
                Address::Ip(address) => write!(f, "{}", std::net::SocketAddr::new(address, port)),
                Address::Station(station) => write!(f, "{station}"),
            },
        }
    }
}

/// Relation of a link to the deployment file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Listing {
    /// There is no deployment file.
    NoDeployment,
    /// It is the interface at this place of the file.
    Listed(usize),
    /// It is not in the file.
    Unlisted,
    /// It stays within this node: between its network function and its sidecar.
    Within(NodeName),
}

/// Traffic from one end of a link to the other: for each question the worst answer of all parts
/// with packets from that end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Direction {
    /// Packets.
    pub packets: u64,
    /// Bytes: of streams and messages their payload, of IKE its IP packets, of ESP what IP carries.
    pub bytes: u64,
    /// Was a post-quantum key exchange offered?
    pub offered: Reply,
    /// Was it what the asking end wanted most?
    pub preferred: Reply,
    /// Was it negotiated?
    pub negotiated: Reply,
    /// Was the sender authenticated, and with what?
    pub authenticated: Reply,
    /// Did it stay so through rekey, resumption and re-authentication?
    pub stayed: Reply,
    /// Was anything sent unencrypted?
    pub clear: Reply,
}

impl Direction {
    /// The questions by name, in the order in which reports give them.
    pub fn questions(&self) -> [(&'static str, &Reply); 6] {
        [
            ("offered", &self.offered),
            ("preferred", &self.preferred),
            ("negotiated", &self.negotiated),
            ("authenticated", &self.authenticated),
            ("stayed", &self.stayed),
            ("clear", &self.clear),
        ]
    }
}

/// Everything between two ends that belongs to one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// Its ends: in the order of the deployment file, or else the one that asked first before the other.
    pub ends: [LinkEnd; 2],
    /// The port of its service over TCP, where nothing names the interface and the ends have two
    /// addresses.
    pub service: Option<u16>,
    /// The interface, with what tells so; none where nothing does.
    pub interface: Option<Interface>,
    /// The first packet that tells the interface; none where no single packet does.
    pub named_by: Option<Source>,
    /// Functions of the two ends by requests in plaintext, such as network functions.
    pub functions: [Vec<&'static str>; 2],
    /// Encapsulations of its packets, if any: tags and tunnels, outermost first; 16 at most.
    pub paths: BTreeSet<Path>,
    /// Carriers of its packets.
    pub carriers: BTreeSet<Carrier>,
    /// Relation to the deployment file.
    pub listing: Listing,
    /// From the first end to the second, and back.
    pub directions: [Direction; 2],
    /// Can an attacker who records it today read it with a quantum computer? The worst over its parts.
    pub confidentiality: Judgement,
    /// Can an attacker with a quantum computer pass for one of the ends? The worst over its parts.
    pub authenticity: Judgement,
    /// Its phases, in the order of first packets.
    pub phases: Vec<Phase>,
    /// Parts in none of these phases, because there were too many.
    pub beyond_phases: u64,
    /// Parts by what they are.
    pub by_kind: BTreeMap<Kind, u64>,
    /// Connections, associations and security associations it consists of.
    pub parts: u64,
    /// Further ones that were refused, or carried nothing: they say nothing of it.
    pub attempts: u64,
    /// Parts of which a ledger tells.
    pub in_ledger: u64,
    /// Groups of TLS, as far as negotiated in sight.
    pub groups: BTreeSet<NamedGroup>,
    /// Key exchange methods of IKEv2.
    pub methods: BTreeSet<KeyExchangeMethod>,
    /// The same as they were combined: the first of a set-up, then the additional ones.
    pub key_exchanges: BTreeSet<Vec<KeyExchangeMethod>>,
    /// Key exchange methods of SSH.
    pub ssh_methods: BTreeSet<String>,
    /// First packet.
    pub first: Moment,
    /// Last packet.
    pub last: Moment,
    /// Objections under the policy of the deployment file, or else the profile `hybrid`.
    pub objections: Vec<Objection>,
    /// Why something classical is let through that would otherwise be objected to, and until when.
    pub exception: Option<String>,
}

impl Link {
    /// The interface's name; `-` where nothing tells.
    pub fn name(&self) -> &'static str {
        self.interface.map_or("-", |interface| interface.name)
    }

    /// Returns true if it carried anything: refused or unanswered parts carry nothing.
    #[must_use]
    pub fn carried(&self) -> bool {
        self.parts > 0
    }
}
