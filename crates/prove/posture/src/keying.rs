//! Which IKE_SA keyed which ESP security association, and which IKE_SA came from which, as far as addresses, times and numbers
//! tell: nothing else of it is unencrypted.
//!
//! Each exchange that makes keys makes one security association: the last IKE_AUTH of an IKE_SA one CHILD_SA, a
//! CREATE_CHILD_SA one CHILD_SA or the IKE_SA that takes its own place. So of what appears between two hosts no more can be theirs
//! than there were such exchanges before it; and once as many have appeared, whatever comes later was made by later ones. Between
//! two such moments each exchange may have made each association, and the worst of them counts.

mod departed;

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use bartizan_wire::Moment;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{Exchange, ExchangeType, Half, IkeSa, Origin, Party};
use bartizan_wire::path::Path;

use self::departed::{Departures, Open};
use crate::Verdict;
use crate::key_exchange::Room;

/// Two hosts, the lesser first, and what their packets are carried in: networks may overlap.
pub(crate) type Hosts = (IpAddr, IpAddr, Path);

/// The hosts at both ends of something carried in this.
pub(crate) fn hosts(one: IpAddr, other: IpAddr, path: &Path) -> Hosts {
    (one.min(other), one.max(other), path.clone())
}

/// Addresses of initiator and responder of an IKE_SA: the first, then those it moved to.
pub(crate) fn ends(sa: &IkeSa) -> impl Iterator<Item = [IpAddr; 2]> {
    std::iter::once([sa.initiator.ip(), sa.responder.ip()]).chain(sa.moved.iter().copied())
}

/// The hosts of an IKE_SA, in each of what its messages are carried in: each way may have tags and labels of its own.
pub(crate) fn host_pairs(sa: &IkeSa) -> Vec<Hosts> {
    let paths: Vec<&Path> = sa.paths.iter().flatten().collect();
    let paths = if paths.is_empty() { vec![&Path::NONE] } else { paths };
    let mut host_pairs: Vec<Hosts> = Vec::new();
    for [one, other] in ends(sa) {
        for path in &paths {
            let pair = hosts(one, other, path);
            if !host_pairs.contains(&pair) {
                host_pairs.push(pair);
            }
        }
    }
    host_pairs
}

/// Fewest bytes that protection adds to encrypted payloads: an initialization vector, padding's length, a check.
const PROTECTION: u64 = 8 + 1 + 8;
/// SA with one proposal of a four-byte SPI and two transforms, one of them with a key length, and two traffic selectors of IPv4.
const CHILD: u64 = (4 + 8 + 4 + 12 + 8) + 2 * (8 + 16);
/// Fewest bytes of the response of an IKE_AUTH that makes a CHILD_SA, with AUTH of 16 bytes. A refusal has less, and so has an
/// IKE_SA without a CHILD_SA (RFC 6023) that is authenticated by a shared key.
const SMALLEST_AUTH: u64 = PROTECTION + (8 + 16) + CHILD;
/// The same where it is the only IKE_AUTH, and holds an identity.
const SMALLEST_ONLY_AUTH: u64 = SMALLEST_AUTH + (8 + 4);
/// The same of a CREATE_CHILD_SA, with a nonce of 16 bytes: that of an IKE_SA has more.
const SMALLEST_CREATE: u64 = PROTECTION + (4 + 16) + CHILD;
/// An association whose first packet in the capture has a number up to this may have begun in it.
const EARLY: u32 = 64;

/// An exchange that may have made one security association.
#[derive(Debug, Clone, Copy)]
struct Maker {
    /// From here on it may have made something.
    from: Moment,
    /// Its completion; none if its response was not seen whole.
    done: Option<Moment>,
    ike: usize,
    /// Hosts that may have asked, of a CREATE_CHILD_SA, the lesser first: it may make an IKE_SA.
    creates: [bool; 2],
    /// True if its product may have a post-quantum key exchange of its own.
    roomy: bool,
}

/// Something that an exchange made.
#[derive(Debug, Clone, Copy)]
enum Product {
    /// An ESP security association, by its direction; `fresh` from its first packet on.
    Esp { direction: usize, fresh: bool },
    /// An IKE_SA that a rekey made.
    Ike,
}

/// All between two hosts.
#[derive(Debug, Default)]
struct Pair {
    makers: Vec<Maker>,
    /// IKE_SAs that may have made any number, from a packet on.
    established: Vec<(u64, usize)>,
    products: Vec<(Moment, Product)>,
    /// Packets from which on what was made before is accounted for, by direction.
    resets: [Vec<u64>; 2],
    /// From this packet on more appeared than was made: nothing that appears can be determined any more.
    doubtful: Option<u64>,
    /// The order of packets is not that of their times: what came before what is not known.
    disordered: bool,
}

/// All of a capture.
#[derive(Debug, Default)]
pub(crate) struct Keying {
    pairs: HashMap<Hosts, Pair>,
    departures: Departures,
}

impl Keying {
    /// Pairs these, each in the order of first packets.
    pub(crate) fn new(ike: &[IkeSa], esp: &[Box<EspSa>]) -> Self {
        let mut pairs: HashMap<Hosts, Pair> = HashMap::new();
        for (index, sa) in ike.iter().enumerate() {
            for way in host_pairs(sa) {
                pairs.entry(way.clone()).or_default().add_ike(index, sa, &way);
            }
        }
        for sa in esp {
            if let Some(pair) = pairs.get_mut(&hosts(sa.source, sa.destination, &sa.path)) {
                let direction = usize::from(sa.source > sa.destination);
                let fresh = sa.first_sequence == 1;
                if fresh || sa.first_sequence <= EARLY {
                    pair.products.push((sa.first, Product::Esp { direction, fresh }));
                }
            }
        }
        for pair in pairs.values_mut() {
            pair.account();
        }
        Self {
            pairs,
            departures: Departures::new(ike),
        }
    }

    /// Notes an IKE_SA that a rekey made elsewhere: CHILD_SAs that it inherited may appear from its
    /// first packet on.
    pub(crate) fn arrived(&mut self, index: usize, sa: &IkeSa) {
        for way in host_pairs(sa) {
            if let Some(pair) = self.pairs.get_mut(&way) {
                pair.established.push((sa.first.packet, index));
                pair.established.sort_unstable();
            }
        }
    }

    /// Tells what may have keyed associations between all pairs of hosts, asked for in the order of first packets.
    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk {
            keying: self,
            pairs: HashMap::new(),
            open: Open::default(),
        }
    }
}

impl Pair {
    /// Adds an IKE_SA that exchanged messages between these hosts, perhaps after it moved to them.
    fn add_ike(&mut self, index: usize, sa: &IkeSa, between: &Hosts) {
        let is_here = |[one, other]: &[IpAddr; 2]| (*one.min(other), *one.max(other)) == (between.0, between.1);
        let asked_by = |end: usize| {
            let askers = ends(sa).filter(is_here).map(|ends| ends[end] != between.0);
            askers.fold([false; 2], |mut asked, greater| {
                asked[usize::from(greater)] = true;
                asked
            })
        };
        if sa.version.0 == 1 {
            // Its exchanges are not distinguished.
            self.established.push((sa.first.packet, index));
            return;
        }
        if sa.origin == Origin::Midstream {
            // CHILD_SAs made before the capture may not have been used yet.
            self.established.push((0, index));
        }
        // A rekey made it where it was first seen, and not where it moved to later.
        if sa.origin == Origin::Rekey && ends(sa).take(1).any(|ends| is_here(&ends)) {
            self.products.push((sa.first, Product::Ike));
        }
        let (mut auth, mut create): (Option<Maker>, [Option<Maker>; 2]) = (None, [None; 2]);
        let mut smallest = SMALLEST_ONLY_AUTH;
        for exchange in sa.exchanges.iter() {
            // Before the response no end has its keys.
            let Some(began) = exchange.response.or(exchange.request).map(|half| half.first) else {
                continue;
            };
            match exchange.kind {
                // With EAP there are several, and the last makes the CHILD_SA (RFC 7296, section 2.16).
                ExchangeType::IKE_AUTH => {
                    auth = may_make(&exchange, smallest).then_some(Maker {
                        from: began,
                        done: done(&exchange),
                        ike: index,
                        creates: [false; 2],
                        roomy: false,
                    });
                    smallest = SMALLEST_AUTH;
                }
                ExchangeType::CREATE_CHILD_SA => {
                    let end = usize::from(exchange.requester == Party::Responder);
                    let before = std::mem::replace(
                        &mut create[end],
                        may_make(&exchange, SMALLEST_CREATE).then_some(Maker {
                            from: began,
                            done: done(&exchange),
                            ike: index,
                            creates: asked_by(end),
                            roomy: is_roomy(&exchange),
                        }),
                    );
                    self.makers.extend(before);
                }
                ExchangeType::IKE_FOLLOWUP_KE => {
                    let end = usize::from(exchange.requester == Party::Responder);
                    if let Some(maker) = &mut create[end] {
                        maker.roomy |= is_roomy(&exchange);
                    }
                }
                _ => {}
            }
        }
        self.makers.extend(auth.into_iter().chain(create.into_iter().flatten()));
        let last_listed = sa.exchanges.iter().last().and_then(|exchange| exchange.last());
        if sa.exchanges.omitted > 0 {
            // Those that were one too many to be kept.
            self.established
                .push((last_listed.map_or(0, |last| last.packet), index));
        } else if let Some(chosen) = &sa.chosen
            && !sa
                .exchanges
                .iter()
                .any(|exchange| exchange.kind == ExchangeType::IKE_AUTH)
        {
            // Its IKE_AUTH may be missing from the capture.
            self.makers.push(Maker {
                from: chosen.last,
                done: None,
                ike: index,
                creates: [false; 2],
                roomy: false,
            });
        }
    }

    /// Maker of a product that appeared at a packet, if it can be determined at all.
    fn doubted(&self, packet: u64, made: Made) -> Made {
        match self.doubtful {
            Some(from) if packet >= from && made != Made::Nothing => Made::Doubtful,
            _ => made,
        }
    }

    /// Follows what was made and what appeared in the order of packets.
    fn account(&mut self) {
        self.makers.sort_unstable_by_key(|maker| maker.from.packet);
        self.products.sort_unstable_by_key(|(at, _)| at.packet);
        self.established.sort_unstable();
        let mut done: Vec<Moment> = self.makers.iter().filter_map(|maker| maker.done).collect();
        let begun = self.makers.iter().map(|maker| maker.from);
        let appeared = self.products.iter().map(|(at, _)| *at);
        let mut moments: Vec<Moment> = begun.chain(appeared).chain(done.iter().copied()).collect();
        moments.sort_unstable_by_key(|at| at.packet);
        self.disordered = !moments.is_sorted_by_key(|at| at.time);
        if self.disordered {
            self.account_in_any_order(done.len() as u64);
            return;
        }
        done.sort_unstable_by_key(|at| at.packet);
        let (mut makers, mut done) = (self.makers.iter().peekable(), done.into_iter().peekable());
        // By direction: exchanges, those of them seen whole, and products, since the last reset.
        let (mut possible, mut likely, mut used, mut since) = ([0u64; 2], [0u64; 2], [0u64; 2], [0u64; 2]);
        for &(at, product) in &self.products {
            let at = at.packet;
            while makers.next_if(|maker| maker.from.packet < at).is_some() {
                possible.iter_mut().for_each(|possible| *possible += 1);
            }
            while done.next_if(|done| done.packet < at).is_some() {
                likely.iter_mut().for_each(|likely| *likely += 1);
            }
            let established = self.established.first().is_some_and(|(from, _)| *from < at);
            let (directions, fresh) = match product {
                Product::Esp { direction, fresh } => (direction..direction + 1, fresh),
                Product::Ike => (0..2, true),
            };
            for direction in directions {
                used[direction] += 1;
                if used[direction] > likely[direction] && !established {
                    if fresh {
                        let from = since[direction];
                        self.doubtful = Some(self.doubtful.map_or(from, |doubtful| doubtful.min(from)));
                    } else {
                        // It was there before all of them.
                        used[direction] -= 1;
                    }
                }
                if used[direction] == possible[direction] && fresh && !established {
                    (possible[direction], likely[direction], used[direction]) = (0, 0, 0);
                    since[direction] = at;
                    self.resets[direction].push(at);
                }
            }
        }
    }
}

impl Pair {
    /// The same with an unknown order of events: any maker may have made any product.
    fn account_in_any_order(&mut self, likely: u64) {
        let mut used = [0u64; 2];
        for (_, product) in &self.products {
            match product {
                Product::Esp { direction, .. } => used[*direction] += 1,
                Product::Ike => used.iter_mut().for_each(|used| *used += 1),
            }
        }
        let too_many = self.established.is_empty() && used.iter().any(|used| *used > likely);
        self.doubtful = too_many.then_some(0);
    }
}

/// Returns true if an exchange may have made something: its response, if it was seen, is no
/// refusal.
fn may_make(exchange: &Exchange, smallest: u64) -> bool {
    let response = exchange.response.filter(Half::is_complete);
    response.is_none_or(|response| response.capacity() >= smallest)
}

/// The end of its response, if all of that was seen.
fn done(exchange: &Exchange) -> Option<Moment> {
    let response = exchange.response.filter(Half::is_complete)?;
    Some(response.last)
}

/// Returns true if a post-quantum key exchange has room in it, or may have.
fn is_roomy(exchange: &Exchange) -> bool {
    exchange
        .capacity()
        .is_none_or(|capacity| Room::of(capacity) != Room::NoPostQuantum)
}

/// IKE_SAs that may have made something, by what they are worth.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    /// By verdict, the latest of those IKE_SAs.
    by_verdict: BTreeMap<u8, (Verdict, usize)>,
    /// One of them is vulnerable and may have made it with a post-quantum key exchange of its own.
    roomy: Option<usize>,
}

/// Knowledge of a product's maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// This IKE_SA, or others that are worth the same.
    By(usize),
    /// The first of these, which can be harvested now and decrypted later, or the second, of which that is not shown.
    ByEither(usize, usize),
    /// This IKE_SA, which can be harvested now and decrypted later, and whether with a post-quantum key exchange of its own is not shown.
    PerhapsAnew(usize),
    /// More appeared than the IKE seen can have made.
    Doubtful,
    /// It was there before its first packet in the capture.
    Before,
    /// No exchange that could have made it was seen.
    Nothing,
}

impl Candidates {
    fn add(&mut self, verdict: Verdict, ike: usize, roomy: bool) {
        let verdict = verdict.of_keys();
        if roomy && verdict == Verdict::Vulnerable {
            self.roomy = Some(ike);
        } else {
            self.by_verdict.insert(verdict.rank(), (verdict, ike));
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn made(&self) -> Made {
        let worst = self.by_verdict.values().next().copied();
        let others = self.by_verdict.values().nth(1).copied();
        match (worst, others, self.roomy) {
            (None, _, None) => Made::Nothing,
            (None, _, Some(ike)) => Made::PerhapsAnew(ike),
            (Some((Verdict::Vulnerable, one)), Some((_, other)), _) => Made::ByEither(one, other),
            (Some((Verdict::Vulnerable, one)), None, Some(_)) => Made::PerhapsAnew(one),
            (Some((_, other)), _, Some(one)) => Made::ByEither(one, other),
            (Some((_, one)), _, None) => Made::By(one),
        }
    }
}

/// Position among the makers between two hosts.
#[derive(Debug, Default)]
struct At {
    maker: usize,
    established: usize,
    /// By direction.
    resets: [usize; 2],
    candidates: [Candidates; 2],
    /// By the host that asked, lesser first: what may have made an IKE_SA.
    creates: [Candidates; 2],
}

/// Goes through a capture in the order of packets.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    keying: &'a Keying,
    pairs: HashMap<Hosts, At>,
    open: Open,
}

impl Walk<'_> {
    /// Maker that keyed an ESP security association; `verdict` is that of each IKE_SA before it.
    pub(crate) fn esp(&mut self, sa: &EspSa, verdict: impl Fn(usize) -> Verdict) -> Made {
        let hosts = hosts(sa.source, sa.destination, &sa.path);
        let Some(pair) = self.keying.pairs.get(&hosts) else {
            return Made::Nothing;
        };
        let at = self.pairs.entry(hosts).or_default();
        at.follow(pair, sa.first.packet, verdict);
        let made = at.candidates[usize::from(sa.source > sa.destination)].made();
        pair.doubted(sa.first.packet, made)
    }

    /// Maker of an IKE_SA by a rekey.
    pub(crate) fn ike(&mut self, sa: &IkeSa, verdict: impl Fn(usize) -> Verdict) -> Made {
        let Some(hosts) = host_pairs(sa).into_iter().next() else {
            return Made::Nothing;
        };
        let Some(pair) = self.keying.pairs.get(&hosts) else {
            return Made::Nothing;
        };
        let lesser = hosts.0;
        let at = self.pairs.entry(hosts).or_default();
        at.follow(pair, sa.first.packet, &verdict);
        let made = at.creates[usize::from(sa.initiator.ip() != lesser)].made();
        let made = pair.doubted(sa.first.packet, made);
        let safe = matches!(made, Made::By(index) if verdict(index) == Verdict::QuantumSafe);
        let is_worse = |index| verdict(index) != Verdict::QuantumSafe;
        if safe && self.open.may_have_become(&self.keying.departures, sa, is_worse) {
            return Made::Doubtful;
        }
        made
    }
}

impl At {
    /// Takes what was made before a packet.
    fn follow(&mut self, pair: &Pair, packet: u64, verdict: impl Fn(usize) -> Verdict) {
        loop {
            let before = |at: u64| at < packet || pair.disordered;
            let maker = pair.makers.get(self.maker).filter(|maker| before(maker.from.packet));
            let resets = [0, 1].map(|direction| pair.resets[direction].get(self.resets[direction]).copied());
            let reset = (0..2)
                .filter_map(|direction| Some((resets[direction]?, direction)))
                .filter(|(at, _)| *at < packet)
                .min();
            match (maker, reset) {
                (Some(maker), reset) if reset.is_none_or(|(at, _)| maker.from.packet < at) => {
                    let worth = verdict(maker.ike);
                    for candidates in &mut self.candidates {
                        candidates.add(worth, maker.ike, maker.roomy);
                    }
                    for (asked, candidates) in maker.creates.into_iter().zip(&mut self.creates) {
                        if asked {
                            candidates.add(worth, maker.ike, false);
                        }
                    }
                    self.maker += 1;
                }
                (_, Some((_, direction))) => {
                    self.candidates[direction].clear();
                    self.creates.iter_mut().for_each(Candidates::clear);
                    self.resets[direction] += 1;
                    // A maker of any number of products is never used up.
                    self.established = 0;
                }
                (_, None) => break,
            }
        }
        while let Some((_, ike)) = pair
            .established
            .get(self.established)
            .filter(|(from, _)| *from < packet || pair.disordered)
        {
            let worth = verdict(*ike);
            for candidates in self.candidates.iter_mut().chain(&mut self.creates) {
                candidates.add(worth, *ike, false);
            }
            self.established += 1;
        }
    }
}
