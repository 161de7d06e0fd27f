//! Nodes with many IKE_SAs: each datagram reaches its own, after any replacement by either end, and
//! a flood of first requests is held to a bound.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_ike::{Config, Endpoint, Ends, Event, Failure, HalfOpen, Pace, Port, Report, SaId};
use bartizan_wire::ike::{Body, ExchangeType, Header, Message, Payload, PayloadType};

use crate::link::{Algorithm, Authority, DELAY, HYBRID, config, random};

const RESPONDER: &str = "192.0.2.1:500";

/// Two nodes; the first has an address for each of its IKE_SAs.
struct Nodes {
    now: Instant,
    nodes: [Endpoint; 2],
    configs: [Arc<Config>; 2],
    under_way: Vec<(Instant, usize, Ends, Vec<u8>)>,
    reports: [Vec<Report>; 2],
    seed: u64,
}

fn initiator(number: u8) -> Ends {
    Ends {
        local: SocketAddr::from(([198, 51, 100, number], 500)),
        remote: RESPONDER.parse().expect("a socket"),
    }
}

/// The addresses of the responder and of an initiator.
fn between(number: u8) -> (IpAddr, IpAddr) {
    let ends = initiator(number);
    (ends.remote.ip(), ends.local.ip())
}

fn other_way(ends: Ends) -> Ends {
    Ends {
        local: ends.remote,
        remote: ends.local,
    }
}

impl Nodes {
    /// The second accepts so many addresses of the first.
    fn new(accepted: u8) -> Self {
        let half_open = HalfOpen {
            cookies_from: 8,
            most: 64,
            ..HalfOpen::default()
        };
        Self::with(accepted, half_open)
    }

    /// The same, with these bounds of half-open ones.
    fn with(accepted: u8, half_open: HalfOpen) -> Self {
        let authority = Authority::new(Algorithm::Ed25519);
        let configs = [0, 1].map(|who| Arc::new(config(who, &authority, &[HYBRID])));
        let mut nodes = [0, 1].map(|_| Endpoint::new(half_open));
        let mut seed = 50;
        for number in 0..accepted {
            let config = Arc::clone(&configs[1]);
            nodes[1].accept(between(number), config, &mut random(&mut seed));
        }
        Self {
            now: Instant::now(),
            nodes,
            configs,
            under_way: Vec::new(),
            reports: [Vec::new(), Vec::new()],
            seed,
        }
    }

    fn initiate(&mut self, number: u8) -> SaId {
        let config = Arc::clone(&self.configs[0]);
        let mut chance = random(&mut self.seed);
        let begun = self.nodes[0].initiate(config, initiator(number), &mut chance, self.now);
        begun.expect("it begins")
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            for from in 0..2 {
                while let Some((ends, transmit)) = self.nodes[from].poll_transmit() {
                    let arrival = (self.now + DELAY, 1 - from, other_way(ends), transmit.datagram);
                    self.under_way.push(arrival);
                }
                while let Some(report) = self.nodes[from].poll_report() {
                    self.reports[from].push(report);
                }
            }
            let arrival = self.under_way.iter().map(|(at, ..)| *at).min();
            let timeout = self.nodes.iter().filter_map(Endpoint::timeout).min();
            let Some(next) = arrival.into_iter().chain(timeout).min().filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            for node in &mut self.nodes {
                node.handle_timeout(self.now);
            }
            let due = |(at, ..): &mut (Instant, usize, Ends, Vec<u8>)| *at <= self.now;
            let arrived: Vec<_> = self.under_way.extract_if(.., due).collect();
            for (_, to, ends, datagram) in arrived {
                let mut chance = random(&mut self.seed);
                self.nodes[to].receive(self.now, ends, &datagram, &mut chance);
            }
        }
    }

    /// IKE_SAs of a node that are established and were not replaced.
    fn open(&self, node: usize) -> BTreeSet<SaId> {
        let mut open = BTreeSet::new();
        for report in &self.reports[node] {
            match report {
                Report::Event(id, Event::Established { .. }) => _ = open.insert(*id),
                Report::Event(id, Event::Closed(_)) => _ = open.remove(id),
                _ => {}
            }
        }
        open
    }

    fn spis(&self, node: usize) -> BTreeSet<(u64, u64)> {
        let open = self.open(node);
        let spis = open
            .iter()
            .map(|id| self.nodes[node].sa(*id).expect("it is open").spis());
        spis.collect()
    }
}

#[test]
fn each_datagram_reaches_its_own_ike_sa_while_both_nodes_replace_all_of_them() {
    let mut nodes = Nodes::new(20);
    for number in 0..20 {
        nodes.initiate(number);
    }
    nodes.run(Duration::from_secs(30));
    for round in 0..3 {
        assert_eq!([0, 1].map(|node| nodes.nodes[node].count()), [(20, 0); 2]);
        let before = nodes.spis(0);
        assert_eq!(before, nodes.spis(1));
        for node in 0..2 {
            for id in nodes.open(node) {
                let now = nodes.now;
                nodes.nodes[node].with(id, |sa| match (round, sa.sending()) {
                    (1, Some(spi)) => sa.rekey_child(now, spi),
                    _ => sa.rekey(now),
                });
            }
        }
        nodes.run(Duration::from_secs(30));
        assert_eq!(nodes.spis(0).is_disjoint(&before), round != 1);
    }
    let replaced = nodes.reports[0]
        .iter()
        .filter(|report| matches!(report, Report::Rekeyed { .. }));
    assert!(replaced.count() >= 40);
    for id in nodes.open(0) {
        let now = nodes.now;
        nodes.nodes[0].with(id, |sa| sa.close(now));
    }
    nodes.run(Duration::from_secs(30));
    for node in &nodes.nodes {
        assert_eq!((node.count(), node.timeout()), ((0, 0), None));
    }
}

#[test]
fn a_flood_of_first_requests_is_held_to_a_bound_and_keeps_nobody_out() {
    let mut nodes = Nodes::new(2);
    nodes.initiate(0);
    let (ends, transmit) = nodes.nodes[0].poll_transmit().expect("the first request");
    // From ports of an address that is accepted, and under SPIs of their own: what is answered is never received.
    let mut answers = 0;
    for number in 0_u16..5000 {
        let mut datagram = transmit.datagram.clone();
        datagram[..8].copy_from_slice(&(u64::from(number) + 1).to_be_bytes());
        let mut from = other_way(ends);
        from.remote.set_port(10_000 + number);
        let mut chance = random(&mut nodes.seed);
        nodes.nodes[1].receive(nodes.now, from, &datagram, &mut chance);
        while nodes.nodes[1].poll_transmit().is_some() {
            answers += 1;
        }
        assert!(nodes.nodes[1].count().0 <= 8);
    }
    assert_eq!((answers, nodes.nodes[1].count()), (5000, (8, 8)));
    // One that receives the cookie comes through.
    nodes.initiate(1);
    nodes.run(Duration::from_secs(5));
    assert_eq!(nodes.nodes[1].count().1, 8);
    assert!(!nodes.open(1).is_empty());
    nodes.run(Duration::from_secs(60));
    assert_eq!(nodes.nodes[1].count().1, 0);
    let abandoned = |report: &&Report| matches!(report, Report::Event(_, Event::Closed(Failure::Abandoned)));
    assert_eq!(nodes.reports[1].iter().filter(abandoned).count(), 8);
}

#[test]
fn a_peer_is_admitted_at_its_pace_which_nobody_uses_up_who_does_not_receive_at_its_address() {
    let mut nodes = Nodes::with(
        2,
        HalfOpen {
            cookies_from: 1000,
            most: 1000,
            pace: Pace {
                at_once: 8,
                each: Duration::from_secs(100),
            },
        },
    );
    nodes.initiate(0);
    let (ends, transmit) = nodes.nodes[0].poll_transmit().expect("the first request");
    for number in 0_u64..500 {
        let mut datagram = transmit.datagram.clone();
        datagram[..8].copy_from_slice(&(number + 1).to_be_bytes());
        let mut chance = random(&mut nodes.seed);
        nodes.nodes[1].receive(nodes.now, other_way(ends), &datagram, &mut chance);
    }
    // Half of it, then cookies, which were not returned.
    assert_eq!(nodes.nodes[1].count(), (4, 4));
    while nodes.nodes[1].poll_transmit().is_some() {}
    let set_up = |nodes: &mut Nodes, number: u8| {
        let before = nodes.open(1).len();
        for _ in 0..20 {
            nodes.initiate(number);
        }
        nodes.run(Duration::from_secs(5));
        nodes.open(1).len() - before
    };
    // The peer itself returns them, and has what is left; another peer has its own.
    assert_eq!(set_up(&mut nodes, 0), 4);
    assert_eq!(set_up(&mut nodes, 1), 8);
    nodes.run(Duration::from_secs(400));
    assert!((1..=5).contains(&set_up(&mut nodes, 0)));
}

/// Neither its pace nor cookies held it: a key exchange for each datagram of a forged sender.
#[test]
fn a_first_request_that_is_refused_behind_a_key_exchange_uses_up_the_pace_of_its_address() {
    let mut nodes = Nodes::new(1);
    nodes.initiate(0);
    let (ends, transmit) = nodes.nodes[0].poll_transmit().expect("the first request");
    let header = Header::read(&transmit.datagram).expect("a header");
    let mut message = Message::read(header.next, &transmit.datagram[Header::LENGTH..]).expect("a message");
    for payload in &mut message.payloads {
        if let Body::KeyExchange { data, .. } = &mut payload.body {
            // A point of small order (RFC 8031, section 2.3).
            *data = &[0; 32];
        }
    }
    let (_, bytes) = message.encode().expect("encoded");
    let unusable = [&transmit.datagram[..Header::LENGTH], &bytes].concat();
    let mut refused = 0;
    for number in 0_u64..500 {
        let mut datagram = unusable.clone();
        datagram[..8].copy_from_slice(&(number + 1).to_be_bytes());
        let mut chance = random(&mut nodes.seed);
        nodes.nodes[1].receive(nodes.now, other_way(ends), &datagram, &mut chance);
        let (_, answer) = nodes.nodes[1].poll_transmit().expect("an answer");
        let answer = Message::read(PayloadType::NOTIFY, &answer.datagram[Header::LENGTH..]);
        let is_refusal = |payload: &Payload<'_>| matches!(payload.body, Body::Notify { kind, .. } if kind.is_error());
        refused += usize::from(answer.expect("a notification").payloads.iter().any(is_refusal));
    }
    // Half of the pace, then cookies, which were not returned.
    let pace = HalfOpen::default().pace.at_once as usize;
    assert_eq!((refused, nodes.nodes[1].count()), (pace / 2, (0, 0)));
}

#[test]
fn a_first_request_of_an_address_that_is_not_accepted_is_not_answered() {
    let mut nodes = Nodes::new(1);
    let id = nodes.initiate(1);
    nodes.run(Duration::from_secs(300));
    assert_eq!(nodes.nodes[1].count(), (0, 0));
    let ended = |report: &Report| matches!(report, Report::Event(of, Event::Closed(Failure::Unanswered)) if *of == id);
    assert!(nodes.reports[0].iter().any(ended));
    // One that is refused from now on keeps what it has.
    nodes.initiate(0);
    nodes.run(Duration::from_secs(5));
    nodes.nodes[1].refuse(between(0));
    nodes.run(Duration::from_secs(60));
    assert_eq!(nodes.nodes[1].count(), (1, 0));
    nodes.initiate(0);
    nodes.run(Duration::from_secs(5));
    assert_eq!(nodes.nodes[1].count(), (1, 0));
}

#[test]
fn a_first_request_that_comes_again_makes_no_second_ike_sa() {
    let mut nodes = Nodes::new(1);
    nodes.initiate(0);
    let (ends, transmit) = nodes.nodes[0].poll_transmit().expect("the first request");
    let header = Header::read(&transmit.datagram).expect("a header");
    assert_eq!(header.exchange, ExchangeType::IKE_SA_INIT);
    for _ in 0..3 {
        let mut chance = random(&mut nodes.seed);
        let from = other_way(ends);
        nodes.nodes[1].receive(nodes.now, from, &transmit.datagram, &mut chance);
    }
    assert_eq!(nodes.nodes[1].count(), (1, 1));
    nodes.run(Duration::from_secs(5));
    assert_eq!([0, 1].map(|node| nodes.nodes[node].count()), [(1, 0); 2]);
}

#[test]
fn a_peer_that_begins_at_port_4500_is_answered_from_there_whatever_the_answer_is() {
    let mut nodes = Nodes::new(1);
    nodes.initiate(0);
    let (ends, transmit) = nodes.nodes[0].poll_transmit().expect("the first request");
    let mut from = other_way(ends);
    from.local.set_port(4500);
    from.remote.set_port(40_001);
    // Admitted, then asked for a cookie.
    for number in 1_u64..=9 {
        let mut datagram = transmit.datagram.clone();
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        let mut chance = random(&mut nodes.seed);
        nodes.nodes[1].receive(nodes.now, from, &datagram, &mut chance);
        let (ends, answer) = nodes.nodes[1].poll_transmit().expect("an answer");
        assert_eq!((answer.port, ends.to(answer.port)), (Port::Nat, from.remote));
    }
    assert_eq!(nodes.nodes[1].count(), (8, 8));
}

/// strongSwan moves after IKE_SA_INIT, also where no address is translated. It was answered from
/// port 500, where it no longer listens for this IKE_SA.
#[test]
fn a_peer_that_moves_to_port_4500_without_translation_is_answered_there() {
    let mut nodes = Nodes::new(1);
    nodes.initiate(0);
    let moved = |mut ends: Ends, has_moved: bool| {
        if has_moved {
            ends.local.set_port(4500);
            ends.remote.set_port(4500);
        }
        ends
    };
    for turn in 0..20 {
        while let Some((ends, transmit)) = nodes.nodes[0].poll_transmit() {
            assert_eq!(transmit.port, Port::Ike);
            let (now, mut chance) = (nodes.now, random(&mut nodes.seed));
            let at = moved(other_way(ends), turn > 0);
            // A sender that proves nothing: the IKE_SA does not follow it.
            let mut forged = transmit.datagram.clone();
            *forged.last_mut().expect("a checksum") ^= 1;
            let elsewhere = SocketAddr::from((at.remote.ip(), 40_001));
            if turn > 0 {
                nodes.nodes[1].receive(
                    now,
                    Ends {
                        remote: elsewhere,
                        ..at
                    },
                    &forged,
                    &mut chance,
                );
            }
            nodes.nodes[1].receive(now, at, &transmit.datagram, &mut chance);
        }
        while let Some((ends, transmit)) = nodes.nodes[1].poll_transmit() {
            let port = if turn > 0 { Port::Nat } else { Port::Ike };
            let to = moved(initiator(0), turn > 0).local;
            assert_eq!((transmit.port, ends.to(transmit.port)), (port, to), "turn {turn}");
            let (now, mut chance) = (nodes.now, random(&mut nodes.seed));
            nodes.nodes[0].receive(now, initiator(0), &transmit.datagram, &mut chance);
        }
    }
    assert!(
        nodes
            .nodes
            .iter()
            .all(|node| node.sas().all(|(_, sa)| sa.is_established()))
    );
    assert_eq!([0, 1].map(|node| nodes.nodes[node].count()), [(1, 0); 2]);
}

/// A translator before the initiator, and another before the responder where that is hidden.
struct Translators {
    nodes: Nodes,
    /// Port that the first makes of 4500 now.
    port: u16,
    hidden: bool,
}

impl Translators {
    const HIDDEN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 5));

    fn new(hidden: bool) -> (Self, SaId) {
        let mut nodes = Nodes::new(1);
        let (mut seed, outside) = (nodes.seed, initiator(0));
        let mut chance = random(&mut seed);
        let config = Arc::clone(&nodes.configs[1]);
        nodes.nodes[1].accept((Self::HIDDEN, outside.local.ip()), config, &mut chance);
        let inside = Ends {
            local: SocketAddr::new(Self::HIDDEN, 500),
            ..outside
        };
        let begun = nodes.nodes[0].initiate(Arc::clone(&nodes.configs[0]), inside, &mut chance, nodes.now);
        let id = begun.expect("it begins");
        let port = 40_001;
        (Self { nodes, port, hidden }, id)
    }

    /// Sockets of a datagram as the responder sees them.
    fn at(&self, port: Port, mapped: u16) -> Ends {
        let mut ends = other_way(initiator(0));
        if self.hidden {
            ends.local.set_ip(Self::HIDDEN);
        }
        let own = if port == Port::Nat { 4500 } else { 500 };
        ends.local.set_port(own);
        ends.remote.set_port(mapped);
        ends
    }

    fn reach_responder(&mut self, at: Ends, datagram: &[u8]) {
        let mut chance = random(&mut self.nodes.seed);
        self.nodes.nodes[1].receive(self.nodes.now, at, datagram, &mut chance);
    }

    fn reach_initiator(&mut self, port: Port, datagram: &[u8]) {
        let own = if port == Port::Nat { 4500 } else { 500 };
        let ends = Ends {
            local: SocketAddr::new(Self::HIDDEN, own),
            remote: SocketAddr::new(initiator(0).remote.ip(), own),
        };
        let mut chance = random(&mut self.nodes.seed);
        self.nodes.nodes[0].receive(self.nodes.now, ends, datagram, &mut chance);
    }

    /// Lets both talk until neither has more to say.
    fn talk(&mut self) {
        for _ in 0..20 {
            while let Some((_, transmit)) = self.nodes.nodes[0].poll_transmit() {
                let mapped = if transmit.port == Port::Nat { self.port } else { 40_000 };
                self.reach_responder(self.at(transmit.port, mapped), &transmit.datagram);
            }
            while let Some((ends, transmit)) = self.nodes.nodes[1].poll_transmit() {
                let mapped = if transmit.port == Port::Nat { self.port } else { 40_000 };
                // To a mapping that is forgotten.
                if ends.to(transmit.port).port() == mapped {
                    self.reach_initiator(transmit.port, &transmit.datagram);
                }
            }
        }
    }

    /// Has the initiator replace its CHILD_SA: a fresh request.
    fn rekey(&mut self, id: SaId) {
        let now = self.nodes.now;
        let rekey = |sa: &mut bartizan_ike::IkeSa| {
            let inbound = sa.children().next().expect("a CHILD_SA");
            sa.rekey_child(now, inbound);
        };
        self.nodes.nodes[0].with(id, rekey).expect("it is open");
    }

    /// The peer's port as the responder has it, and the moves that it has reported since.
    fn moved(&mut self) -> (u16, Vec<Ends>) {
        let (_, sa) = self.nodes.nodes[1].sas().next().expect("an IKE_SA");
        assert!(sa.is_established());
        let port = sa.ends().to(Port::Nat).port();
        let mut moves = Vec::new();
        while let Some(report) = self.nodes.nodes[1].poll_report() {
            if let Report::Event(_, Event::Moved(ends)) = report {
                moves.push(ends);
            }
        }
        (port, moves)
    }
}

/// The mapping of a translator was followed before both ends were authenticated, and not after.
#[test]
fn a_peer_whose_translator_has_another_mapping_is_followed_unless_this_end_is_behind_one_too() {
    for hidden in [false, true] {
        let (mut path, id) = Translators::new(hidden);
        path.talk();
        assert_eq!(path.moved(), (40_001, vec![]));
        path.port = 40_002;
        path.rekey(id);
        path.talk();
        let now = path.at(Port::Nat, 40_002);
        let expected = if hidden { (40_001, vec![]) } else { (40_002, vec![now]) };
        assert_eq!(path.moved(), expected, "{hidden}");
    }
}

#[test]
fn a_peer_is_moved_by_nothing_that_is_forged_repeated_or_from_another_address() {
    let (mut path, id) = Translators::new(false);
    path.talk();
    path.rekey(id);
    let (_, request) = path.nodes.nodes[0].poll_transmit().expect("a request");
    let mut forged = request.datagram.clone();
    *forged.last_mut().expect("a checksum") ^= 1;
    path.reach_responder(path.at(Port::Nat, 40_003), &forged);
    assert!(path.nodes.nodes[1].poll_transmit().is_none());
    let mut elsewhere = path.at(Port::Nat, 40_002);
    elsewhere.remote.set_ip([203, 0, 113, 9].into());
    // Addresses are those of the configuration, and so is the answer's.
    path.reach_responder(elsewhere, &request.datagram);
    let (ends, answer) = path.nodes.nodes[1].poll_transmit().expect("an answer");
    assert_eq!(ends.to(answer.port), path.at(Port::Nat, 40_001).remote);
    // Any sender can repeat the request: it is answered where it comes from, and proves nothing.
    path.reach_responder(path.at(Port::Nat, 40_002), &request.datagram);
    let (ends, again) = path.nodes.nodes[1].poll_transmit().expect("the answer again");
    assert_eq!(ends.to(again.port), path.at(Port::Nat, 40_002).remote);
    assert_eq!(again.datagram, answer.datagram);
    assert_eq!(path.moved(), (40_001, vec![]));
    // With that answer the initiator goes on.
    path.port = 40_002;
    path.reach_initiator(Port::Nat, &again.datagram);
    path.talk();
    assert_eq!(path.moved(), (40_002, vec![path.at(Port::Nat, 40_002)]));
}

#[test]
fn a_cookie_is_taken_in_its_period_and_the_next_and_not_later() {
    for (age, is_taken) in [(1, true), (61, true), (121, false), (100_000, false)] {
        let mut nodes = Nodes::with(
            1,
            HalfOpen {
                cookies_from: 0,
                ..HalfOpen::default()
            },
        );
        nodes.initiate(0);
        let (ends, first) = nodes.nodes[0].poll_transmit().expect("the first request");
        let at_responder = |nodes: &mut Nodes, datagram: &[u8]| {
            let mut chance = random(&mut nodes.seed);
            nodes.nodes[1].receive(nodes.now, other_way(ends), datagram, &mut chance);
            nodes.nodes[1].poll_transmit().expect("an answer").1.datagram
        };
        let cookie = at_responder(&mut nodes, &first.datagram);
        nodes.nodes[0].receive(nodes.now, ends, &cookie, &mut random(&mut nodes.seed));
        let (_, again) = nodes.nodes[0].poll_transmit().expect("the request with the cookie");
        nodes.now += Duration::from_secs(age);
        at_responder(&mut nodes, &again.datagram);
        assert_eq!(nodes.nodes[1].count().0, usize::from(is_taken), "after {age} s");
    }
}
