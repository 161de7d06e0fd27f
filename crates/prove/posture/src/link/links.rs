//! Gathering parts into links.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bartizan_deployment::Deployment;
use bartizan_wire::datagrams::DatagramProtocol;
use bartizan_wire::path::Path;
use bartizan_wire::{FlowKind, Moment};

use super::bundle::Bundle;
use super::matching::{Match, Nodes};
use super::omitted::Omitted;
use super::part::{Carrier, Part, Socket};
use super::reasons::Reasons;
use super::roles::Roles;
use super::{Link, LinkEnd, Listing, objection};
use crate::{Hint, Interface, Source};

bartizan_registry::made! {
    /// Gathers parts.
    #[derive(Debug)]
    pub struct Links,
    /// Links that hold this many bytes at most.
    pub within(bytes: usize) {
        bundles: HashMap<Key, Gathered> = HashMap::new(),
        reasons: Reasons = Reasons::default(),
        /// Bytes that the bundles hold.
        held: usize = 0,
        /// Most bytes for all of it.
        limit: usize = bytes,
        omitted: Omitted = Omitted::default(),
        untracked: u64 = 0,
        untracked_from: Option<Moment> = None,
    }
}

impl Default for Links {
    /// A quarter of what `bartizan inspect` may use.
    fn default() -> Self {
        Self::within(625_000_000)
    }
}

/// Common properties of the parts that are folded together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    /// The lesser first. Ports stand there where a deployment file may need them, or both addresses are the same.
    pub(super) ends: [Socket; 2],
    pub(super) carrier: Carrier,
    pub(super) hint: Option<Interface>,
    /// Encapsulation of the parts: networks may overlap.
    pub(super) path: Path,
}

#[derive(Debug, Clone, Default)]
struct Gathered {
    carried: Option<Box<Bundle>>,
    /// Parts that were refused, or carried nothing.
    attempted: Option<Box<Bundle>>,
    /// The first packet that gives the hint.
    named_by: Option<Source>,
}

impl Gathered {
    fn held(&self) -> usize {
        let bundles = [&self.carried, &self.attempted];
        bundles.into_iter().flatten().map(|bundle| bundle.held()).sum()
    }
}

/// Ways of one link that are named.
const PATHS: usize = 16;
/// Bytes of a pair of ends that is new: its bundle, and the link it becomes.
const PAIR: usize = size_of::<Bundle>() + JUDGED;
/// Bytes that a link has beyond its bundle once it is judged: its ends, its objections.
const JUDGED: usize = 1408;

/// All links of a capture.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Network {
    /// The links, in the order of first packets.
    pub links: Vec<Link>,
    /// Places of the interfaces in the deployment file that carried nothing.
    pub unseen: Vec<usize>,
    /// Parts of no link, or of one that could not take them, because links hold as much as they may.
    pub untracked: u64,
    /// The first packet of these.
    pub untracked_from: Option<Moment>,
}

impl Links {
    /// Bytes that they hold, and that judging them will take.
    pub fn held(&self) -> usize {
        let table = table(self.bundles.capacity());
        table + self.held + self.reasons.held() + self.bundles.len() * JUDGED
    }

    /// A packet was not read, because memory was full: no link between its ends is called safe.
    pub fn omit(&mut self, omitted: &bartizan_wire::Omitted) {
        let carrier = match omitted.flow {
            FlowKind::Connection => Carrier::Tcp,
            FlowKind::Association => Carrier::Sctp,
            FlowKind::IkeSa | FlowKind::EspSa => Carrier::Ipsec,
            FlowKind::Datagrams(protocol) => Carrier::Udp(protocol),
        };
        self.omitted
            .add(carrier, omitted.source, omitted.destination, omitted.at, 1);
    }

    /// Returns true if a pair of ends may be added, or a known one grow. An eighth is reserved for
    /// known pairs.
    fn has_room(&self, known: bool) -> bool {
        let held = self.held();
        if known {
            return held < self.limit;
        }
        // A table that grows is there twice for a while.
        let full = self.bundles.len() == self.bundles.capacity();
        let growth = if full { table(2 * self.bundles.len().max(4)) } else { 0 };
        held + growth + PAIR <= self.limit - self.limit / 8
    }

    /// Adds a part.
    pub fn add(&mut self, part: &Part<'_>) {
        let [asks, answers] = part.ends;
        let same_host = asks.address == answers.address;
        // The port of the end that answers is a listener's: the other's is chosen at random.
        let answers = Socket {
            port: answers.port.filter(|_| same_host || part.carrier == Carrier::Tcp),
            ..answers
        };
        let asks = Socket { port: None, ..asks };
        let turned = answers < asks;
        let key = Key {
            ends: if turned { [answers, asks] } else { [asks, answers] },
            carrier: part.carrier,
            hint: part.hint(),
            path: part.path.clone(),
        };
        if !self.has_room(self.bundles.contains_key(&key)) {
            self.untracked += 1;
            self.untracked_from = earliest(self.untracked_from, Some(part.first));
            let [ours, theirs] = part.packets;
            let [asks, answers] = part.ends.map(|end| end.address);
            self.omitted.add(part.carrier, asks, answers, part.first, ours);
            self.omitted.add(part.carrier, answers, asks, part.first, theirs);
            return;
        }
        let gathered = self.bundles.entry(key).or_default();
        self.held -= gathered.held();
        let bundle = if part.posture.kind.carries_data() {
            &mut gathered.carried
        } else {
            &mut gathered.attempted
        };
        bundle
            .get_or_insert_default()
            .add(part, usize::from(turned), &mut self.reasons);
        self.held += gathered.held();
        gathered.named_by = earlier(gathered.named_by.take(), part.posture.named_by.as_ref());
    }

    /// Adds all parts that another gathered, and what it knows to be missing. What finds no room is missing from then on.
    pub fn merge(&mut self, other: &Self) {
        self.untracked += other.untracked;
        self.untracked_from = earliest(self.untracked_from, other.untracked_from);
        self.omitted.merge(&other.omitted);
        for (key, gathered) in &other.bundles {
            if !self.has_room(self.bundles.contains_key(key)) {
                self.give_up(key, gathered);
                continue;
            }
            let known = self.bundles.entry(key.clone()).or_default();
            self.held -= known.held();
            for (ours, theirs) in [
                (&mut known.carried, &gathered.carried),
                (&mut known.attempted, &gathered.attempted),
            ] {
                let Some(mut theirs) = theirs.clone() else { continue };
                theirs.share(&mut self.reasons);
                match ours {
                    Some(ours) => ours.merge(*theirs, false),
                    None => *ours = Some(theirs),
                }
            }
            self.held += known.held();
            known.named_by = earlier(known.named_by.take(), gathered.named_by.as_ref());
        }
    }

    /// There is no room for these parts.
    fn give_up(&mut self, key: &Key, gathered: &Gathered) {
        let [one, other] = key.ends.map(|end| end.address);
        for bundle in [&gathered.carried, &gathered.attempted].into_iter().flatten() {
            self.untracked += bundle.parts;
            let Some((first, last, _)) = bundle.span() else {
                continue;
            };
            self.untracked_from = earliest(self.untracked_from, Some(first));
            let [ours, theirs] = bundle.packets();
            self.omitted.add(key.carrier, one, other, first, ours);
            self.omitted.add(key.carrier, other, one, last, theirs);
        }
    }

    /// The links; with a deployment file those it lists are named by it, and judged by their policies.
    #[must_use]
    pub fn finish(mut self, deployment: Option<&Deployment>) -> Network {
        let nodes = deployment.map(Nodes::new);
        let mut folded: BTreeMap<Place, Folded> = BTreeMap::new();
        self.mark_omitted();
        let mut bundles: Vec<(Key, Gathered)> = self.bundles.into_iter().collect();
        bundles.sort_by(|(one, _), (other, _)| one.cmp(other));
        let roles = roles(&bundles);
        let listeners = Listeners::new(&bundles);
        for (mut key, gathered) in bundles {
            key.hint = key.hint.or_else(|| listeners.interface(&key));
            if key.carrier == Carrier::Udp(DatagramProtocol::GtpU) {
                key.hint = roles.tunnels(key.ends.map(|end| end.address)).or(key.hint);
            }
            let ends = key.ends.map(|end| end.address);
            key.hint = key.hint.or_else(|| roles.fronthaul(key.carrier, ends));
            let matched = nodes.as_ref().map_or(Match::NoDeployment, |nodes| nodes.find(&key));
            let mut take = |gathered: Gathered, (place, ends, by_file): (Place, [LinkEnd; 2], Listing)| {
                let turned = ends[0].address != key.ends[0].address
                    || (ends[0].address == ends[1].address && ends[0].port != key.ends[0].port);
                let link = folded.entry(place).or_insert_with(|| Folded::new(ends));
                link.take(&key, gathered, turned, by_file);
            };
            // Nearly always there is one, and nothing is copied.
            let service = service(&key, &gathered);
            let mut places = places(&key, service, &matched, nodes.as_ref());
            let last = places.pop();
            for place in places {
                take(gathered.clone(), place);
            }
            if let Some(last) = last {
                take(gathered, last);
            }
        }
        let mut links: Vec<Link> = folded
            .into_iter()
            .filter_map(|(place, folded)| folded.finish(&place, deployment))
            .collect();
        links.sort_by_key(|link| link.first.packet);
        let seen: BTreeSet<usize> = links
            .iter()
            .filter(|link| link.carried())
            .filter_map(|link| match link.listing {
                Listing::Listed(place) => Some(place),
                _ => None,
            })
            .collect();
        let listed = deployment.map_or(0, |deployment| deployment.interfaces().len());
        Network {
            links,
            unseen: (0..listed).filter(|place| !seen.contains(place)).collect(),
            untracked: self.untracked,
            untracked_from: self.untracked_from,
        }
    }

    /// Marks every link that omitted packets may belong to. Hosts of which nothing was read get a
    /// link that says so.
    fn mark_omitted(&mut self) {
        if self.omitted.first().is_none() {
            return;
        }
        let mut known = BTreeSet::new();
        for (key, gathered) in &mut self.bundles {
            let [one, other] = key.ends.map(|end| end.address);
            let pair = (key.carrier, [one.min(other), one.max(other)]);
            if let (Some((judgement, first)), Some(bundle)) = (self.omitted.of(&pair), &mut gathered.carried) {
                bundle.not_read(&judgement, first.packet, &mut self.reasons);
                known.insert(pair);
            }
        }
        for (pair, missing) in self.omitted.named().filter(|(pair, _)| !known.contains(*pair)) {
            let Some((judgement, first)) = self.omitted.of(pair) else {
                continue;
            };
            let mut bundle = Bundle::default();
            bundle.nothing_read(missing);
            bundle.not_read(&judgement, first.packet, &mut self.reasons);
            let key = Key {
                ends: pair.1.map(|address| Socket { address, port: None }),
                carrier: pair.0,
                hint: None,
                path: Path::NONE,
            };
            self.bundles.entry(key).or_default().carried = Some(Box::new(bundle));
        }
    }
}

/// Bytes of a table with room for so many: one byte of control for each of its places, a power of two, an eighth of them empty.
fn table(capacity: usize) -> usize {
    match capacity {
        0 => 0,
        _ => (capacity + capacity / 7).next_power_of_two() * (size_of::<(Key, Gathered)>() + 1),
    }
}

/// The first of two packets, where there are any.
fn earliest(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    one.into_iter().chain(other).min_by_key(|at| at.packet)
}

/// The earlier of two packets.
fn earlier(known: Option<Source>, other: Option<&Source>) -> Option<Source> {
    let first = |source: &Source| match source {
        Source::Packets { first, .. } => *first,
        Source::Ledger { .. } => u64::MAX,
    };
    match (known, other) {
        (Some(known), Some(other)) if first(other) < first(&known) => Some(other.clone()),
        (None, other) => other.cloned(),
        (known, _) => known,
    }
}

/// Interfaces of TCP listeners, by those of their connections that show it: the others belong to
/// the same interface.
struct Listeners(HashMap<Socket, Option<&'static str>>);

impl Listeners {
    fn new(bundles: &[(Key, Gathered)]) -> Self {
        let mut listeners: HashMap<Socket, Option<&'static str>> = HashMap::new();
        for (key, _) in bundles {
            if let (Some(hint), Some(listener)) = (key.hint.filter(|hint| hint.by.is_strong()), listener(key)) {
                let known = listeners.entry(listener).or_insert(Some(hint.name));
                // One that serves several tells nothing.
                *known = known.filter(|known| *known == hint.name);
            }
        }
        Self(listeners)
    }

    fn interface(&self, key: &Key) -> Option<Interface> {
        let name = (*self.0.get(&listener(key)?)?)?;
        Some(Interface {
            name,
            by: Hint::PeerRole,
        })
    }
}

/// The end that a TCP connection was made to.
fn listener(key: &Key) -> Option<Socket> {
    let listens = key.ends.into_iter().find(|end| end.port.is_some());
    listens.filter(|_| key.carrier == Carrier::Tcp)
}

/// Roles of hosts, by links that carried something.
fn roles(bundles: &[(Key, Gathered)]) -> Roles {
    let mut roles = Roles::default();
    for (key, gathered) in bundles {
        let span = gathered.carried.as_ref().and_then(|carried| carried.span());
        if let (Some(hint), Some((_, _, asks))) = (key.hint, span) {
            roles.learn(hint, key.ends[asks].address, key.ends[1 - asks].address);
        }
    }
    roles
}

/// Identity of a link: bundles with the same place are one link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Listed(usize),
    /// By the file's nodes or not, between these ends, of the interface with this name.
    Other {
        ends: [Socket; 2],
        name: Option<&'static str>,
        /// Carrier and service, which distinguish what is not named.
        carrier: Option<Carrier>,
        service: Option<u16>,
        path: Path,
        within: Option<String>,
    },
}

bartizan_registry::made! {
    /// A link while its bundles are put together.
    struct Folded, new(ends: [LinkEnd; 2]) {
        ends: [LinkEnd; 2],
        gathered: Gathered = Gathered::default(),
        carriers: BTreeSet<Carrier> = BTreeSet::new(),
        paths: BTreeSet<Path> = BTreeSet::new(),
        hint: Option<Interface> = None,
        named_by: Option<Source> = None,
        listing: Listing = Listing::NoDeployment,
    }
}

/// The port of an unnamed service over TCP that carried something. Ports from the ephemeral ones on
/// are chosen at random.
fn service(key: &Key, gathered: &Gathered) -> Option<u16> {
    /// Linux chooses from here on.
    const EPHEMERAL: u16 = 32_768;
    let unnamed = key.hint.is_none() && gathered.carried.is_some();
    let port = listener(key).filter(|_| unnamed)?.port;
    port.filter(|port| *port < EPHEMERAL)
}

/// Places of a bundle. Protection of several interfaces of a pair of nodes, which does not show the
/// interface, belongs to each of them.
fn places(
    key: &Key,
    service: Option<u16>,
    matched: &Match,
    nodes: Option<&Nodes<'_>>,
) -> Vec<(Place, [LinkEnd; 2], Listing)> {
    let end = |socket: Socket, port: Option<u16>| LinkEnd {
        address: socket.address,
        port,
        node: nodes.and_then(|nodes| nodes.node(socket)).map(|node| node.name.clone()),
    };
    if let (Match::Listed(listed), Some(nodes)) = (matched, nodes) {
        return listed
            .iter()
            .map(|&place| {
                let ends = nodes.ends(place, key);
                (Place::Listed(place), ends, Listing::Listed(place))
            })
            .collect();
    }
    let same_host = key.ends[0].address == key.ends[1].address;
    let port = |socket: Socket| socket.port.filter(|_| same_host);
    let ends = key.ends.map(|socket| end(socket, port(socket)));
    let (listing, within) = match matched {
        Match::Within(name) => (Listing::Within(name.clone()), Some(name.to_string())),
        Match::NoDeployment => (Listing::NoDeployment, None),
        Match::Listed(_) | Match::Unlisted => (Listing::Unlisted, None),
    };
    let name = key.hint.map(|hint| hint.name);
    let place = Place::Other {
        ends: key.ends.map(|socket| Socket {
            port: port(socket),
            ..socket
        }),
        name,
        carrier: name.is_none().then_some(key.carrier),
        service: service.filter(|_| !same_host),
        path: key.path.clone(),
        within,
    };
    vec![(place, ends, listing)]
}

impl Folded {
    fn take(&mut self, key: &Key, gathered: Gathered, turned: bool, listing: Listing) {
        for (ours, theirs) in [
            (&mut self.gathered.carried, gathered.carried),
            (&mut self.gathered.attempted, gathered.attempted),
        ] {
            match (ours, theirs) {
                (ours @ None, Some(theirs)) if !turned => *ours = Some(theirs),
                (ours, Some(theirs)) => ours.get_or_insert_default().merge(*theirs, turned),
                (_, None) => {}
            }
        }
        self.carriers.insert(key.carrier);
        if !key.path.is_empty() && self.paths.len() < PATHS {
            self.paths.insert(key.path.clone());
        }
        self.listing = listing;
        // The strongest hint of all bundles, and the first packet that gives it.
        let strength = |hint: Option<Interface>| hint.map(|hint| hint.by);
        let of_key = gathered
            .named_by
            .as_ref()
            .filter(|_| strength(key.hint) != Some(Hint::PeerRole));
        match (strength(self.hint), strength(key.hint)) {
            (_, None) => {}
            (Some(ours), Some(theirs)) if ours < theirs => {}
            (Some(ours), Some(theirs)) if ours == theirs => self.named_by = earlier(self.named_by.take(), of_key),
            _ => {
                self.hint = key.hint;
                self.named_by = of_key.cloned();
            }
        }
    }

    fn finish(mut self, place: &Place, deployment: Option<&Deployment>) -> Option<Link> {
        let of = |bundle: &Option<Box<Bundle>>| bundle.as_ref().map_or(0, |bundle| bundle.parts);
        let Gathered { carried, attempted, .. } = self.gathered;
        let (parts, attempts) = (of(&carried), of(&attempted));
        let mut bundle = carried.or(attempted)?;
        let (first, last, asked_first) = bundle.span()?;
        let listed = match place {
            Place::Listed(place) => deployment.and_then(|deployment| deployment.interfaces().get(*place)),
            Place::Other { .. } => None,
        };
        let interface = match listed {
            Some(listed) => Some(Interface {
                name: listed.kind.name(),
                by: Hint::Deployment,
            }),
            None => self.hint,
        };
        let by_kind = std::mem::take(&mut bundle.by_kind).into_iter().collect();
        let groups = std::mem::take(&mut bundle.groups);
        let (key_exchanges, methods) = bundle.key_exchanges();
        let ssh_methods = std::mem::take(&mut bundle.ssh_methods);
        let in_ledger = bundle.in_ledger;
        let mut functions = bundle.functions();
        let (phases, beyond_phases) = std::mem::take(&mut bundle.history).finish();
        let (mut directions, confidentiality, authenticity) = bundle.finish(&[Source::between(first, last)]);
        if listed.is_none() && asked_first == 1 {
            self.ends.swap(0, 1);
            directions.swap(0, 1);
            functions.swap(0, 1);
        }
        let service = match place {
            Place::Other { service, .. } => *service,
            Place::Listed(_) => None,
        };
        let mut link = Link {
            ends: self.ends,
            service,
            named_by: self.named_by.filter(|_| listed.is_none()),
            interface,
            functions,
            carriers: self.carriers,
            paths: self.paths,
            listing: self.listing,
            directions,
            confidentiality,
            authenticity,
            phases,
            beyond_phases,
            by_kind,
            parts,
            attempts,
            in_ledger,
            groups,
            methods,
            key_exchanges,
            ssh_methods,
            first,
            last,
            objections: Vec::new(),
            exception: None,
        };
        objection::object(&mut link, listed);
        Some(link)
    }
}
