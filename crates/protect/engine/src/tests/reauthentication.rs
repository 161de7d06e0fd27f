//! Re-authentication: begun by either end and repeated while unanswered. A refused or late one ends
//! the IKE_SA.

use std::sync::Arc;

use bartizan_ike::{Claim, Config, Event, HalfOpen, Report, Trust};
use bartizan_wire::ike::{ExchangeType, Header};

use super::*;

const DAY: Duration = Duration::from_hours(24);
const SECOND: Duration = Duration::from_secs(1);

/// The daemon of one node, and the engine of the other without a daemon.
struct Pair {
    daemon: Daemon,
    peer: Endpoint,
    now: Instant,
    /// Messages of this exchange are lost.
    loses: Option<ExchangeType>,
    rendered: Rendered,
}

fn other_way(ends: Ends) -> Ends {
    Ends {
        local: ends.remote,
        remote: ends.local,
    }
}

impl Pair {
    /// Both, with a `reauth` of this end in seconds; a day without.
    fn new(seconds: Option<&str>) -> Self {
        let rendered = rendered();
        let mut daemon = rendered.daemon();
        if let Some(seconds) = seconds {
            let section = changed(rendered.section(), "reauth_time", &text(seconds));
            daemon.connections[0] = rendered.connection_of(&section);
            let connection = &daemon.connections[0];
            let between = (connection.ends.local.ip(), connection.ends.remote.ip());
            daemon.endpoint.accept(between, connection.config.clone(), &mut random);
        }
        let mut pair = Self {
            daemon,
            peer: Endpoint::new(HalfOpen::default()),
            now: clock::now(),
            loses: None,
            rendered,
        };
        pair.accept(pair.rendered.peer().config);
        pair
    }

    /// The same with an IKE_SA that this end or the peer began.
    fn established(by_peer: bool, seconds: Option<&str>) -> Self {
        let mut pair = Self::new(seconds);
        pair.begin(by_peer);
        pair.current();
        pair
    }

    fn begin(&mut self, by_peer: bool) {
        if by_peer {
            let Connection { config, ends, .. } = self.rendered.peer();
            self.peer.initiate(config, ends, &mut random, self.now).unwrap();
        } else {
            self.daemon.begin("cu--ric", None, None).unwrap();
        }
        self.talk();
    }

    fn accept(&mut self, config: Arc<Config>) {
        let ends = self.daemon.connections[0].ends;
        let between = (ends.remote.ip(), ends.local.ip());
        self.peer.accept(between, config, &mut random);
    }

    fn passes(&self, datagram: &[u8]) -> bool {
        self.loses != Some(Header::read(datagram).unwrap().exchange)
    }

    /// Delivers until neither sends anything. CHILD_SAs are left out: no kernel has them here.
    fn talk(&mut self) {
        loop {
            let mut is_silent = true;
            while let Some((ends, sent)) = self.daemon.endpoint.poll_transmit() {
                is_silent = false;
                if self.passes(&sent.datagram) {
                    let ends = other_way(ends);
                    self.peer.receive(self.now, ends, &sent.datagram, &mut random);
                }
            }
            while let Some((ends, sent)) = self.peer.poll_transmit() {
                is_silent = false;
                if self.passes(&sent.datagram) {
                    let (daemon, ends) = (&mut self.daemon, other_way(ends));
                    daemon.endpoint.receive(self.now, ends, &sent.datagram, &mut random);
                }
            }
            while let Some(report) = self.daemon.endpoint.poll_report() {
                if !matches!(report, Report::Event(_, Event::Child(_))) {
                    self.daemon.report(self.now, report);
                }
            }
            while self.peer.poll_report().is_some() {}
            if is_silent {
                return;
            }
        }
    }

    /// Lets a second pass at both ends.
    fn second(&mut self) {
        self.now += SECOND;
        self.daemon.endpoint.handle_timeout(self.now);
        self.peer.handle_timeout(self.now);
        self.talk();
        self.daemon.authenticate_anew(self.now);
        self.talk();
    }

    /// The one IKE_SA that is open.
    fn current(&self) -> SaId {
        let open = self.daemon.sas.iter().filter(|(_, sa)| sa.is_open());
        let open: Vec<SaId> = open.map(|(id, _)| *id).collect();
        assert_eq!(open.len(), 1, "{:?}", self.daemon.sas);
        open[0]
    }

    /// Attempts to succeed an IKE_SA.
    fn attempts(&self, id: SaId) -> usize {
        let attempts = self.daemon.sas.values().filter(|sa| sa.succeeds == Some(id));
        attempts.count()
    }
}

/// The list of one end has the certificate of the other.
struct Revoked;

impl Trust for Revoked {
    fn authorities(&self) -> Vec<[u8; 20]> {
        Vec::new()
    }

    fn verify(&self, _: Claim<'_>) -> Result<(), &'static str> {
        Err("its certificate was revoked")
    }

    fn certify(&self, _: &bartizan_ike::Identity, _: &[Vec<u8>]) -> Result<(), &'static str> {
        Err("its certificate was revoked")
    }
}

/// The connection from now on, at the end that does not believe the other any more.
fn revoking(connection: Connection) -> Arc<Config> {
    let mut config = Arc::into_inner(connection.config).expect("it is held here alone");
    config.trust = Arc::new(Revoked);
    Arc::new(config)
}

#[test]
fn the_end_that_began_authenticates_anew_first_and_the_other_where_it_does_not() {
    for (by_peer, due) in [(false, DAY), (true, DAY + DAY / 20)] {
        let mut pair = Pair::established(by_peer, None);
        let (id, begun) = (pair.current(), pair.now);
        pair.daemon.authenticate_anew(begun + due - SECOND);
        assert_eq!(pair.attempts(id), 0);
        for _ in 0..3 {
            pair.daemon.authenticate_anew(begun + due);
        }
        assert_eq!(pair.attempts(id), 1);
    }
}

#[test]
fn an_authentication_anew_of_a_peer_that_is_not_accepted_any_more_deletes_the_ike_sa_at_once() {
    let mut pair = Pair::established(false, None);
    let id = pair.current();
    let config = revoking(pair.rendered.connection_of(pair.rendered.section()));
    pair.daemon.connections[0].config = config;
    pair.now += DAY;
    pair.daemon.authenticate_anew(pair.now);
    assert_eq!(pair.attempts(id), 1);
    pair.talk();
    assert!(pair.daemon.sas.is_empty(), "{:?}", pair.daemon.sas);
    let log = std::fs::read_to_string(pair.rendered.directory.path().join("charon.log")).unwrap();
    assert!(log.contains("the peer was not authenticated anew: "), "{log}");
}

/// It was verified by the list of its begin, and stood until the next load.
#[test]
fn an_ike_sa_that_is_half_open_when_a_list_is_loaded_is_judged_by_that_list() {
    for by_peer in [false, true] {
        let mut pair = Pair::new(None);
        pair.loses = Some(ExchangeType::IKE_AUTH);
        pair.begin(by_peer);
        assert_eq!(pair.daemon.sas.len(), 1);
        let mut read = pair.rendered.connection_of(pair.rendered.section());
        read.config = revoking(pair.rendered.connection_of(pair.rendered.section()));
        pair.daemon.connections = vec![read];
        pair.daemon.judge_again("cu--ric");
        assert_eq!(pair.daemon.sas.len(), 1, "its peer has proven nothing yet");
        pair.loses = None;
        for _ in 0..3 {
            pair.second();
        }
        assert!(pair.daemon.sas.is_empty(), "{by_peer}: {:?}", pair.daemon.sas);
        let log = std::fs::read_to_string(pair.rendered.directory.path().join("charon.log")).unwrap();
        let said = |line: &str| log.contains(line);
        assert!(said("certificate was revoked") && !said("established between"), "{log}");
    }
}

/// A sender that sees the first request can refuse in the peer's place.
#[test]
fn an_authentication_anew_that_the_peer_refuses_is_attempted_again_until_the_ike_sa_is_deleted() {
    let mut pair = Pair::established(false, Some("600"));
    let (id, begun) = (pair.current(), pair.now);
    let config = revoking(pair.rendered.peer());
    pair.accept(config);
    pair.now += Duration::from_secs(600);
    let before = pair.daemon.numbers.0;
    while pair.now < begun + Duration::from_secs(659) {
        pair.second();
        assert!(pair.daemon.sas.contains_key(&id));
    }
    assert!(pair.daemon.numbers.0 > before + 1, "it was attempted again");
    for _ in 0..2 {
        pair.second();
    }
    assert!(!pair.daemon.sas.contains_key(&id));
}

#[test]
fn one_that_is_not_answered_is_begun_again_until_the_ike_sa_is_deleted_whatever_is_rekeyed_meanwhile() {
    for by_peer in [false, true] {
        let mut pair = Pair::established(by_peer, Some("600"));
        let begun = pair.now;
        pair.loses = Some(ExchangeType::IKE_SA_INIT);
        pair.now += Duration::from_secs(if by_peer { 630 } else { 600 });
        let first = pair.current();
        pair.second();
        assert_eq!(pair.attempts(first), 1);
        let now = pair.now;
        pair.daemon.endpoint.with(first, |sa| sa.rekey(now));
        pair.talk();
        let current = pair.current();
        assert_ne!(current, first);
        let before = pair.daemon.numbers.0;
        while pair.now < begun + Duration::from_secs(659) {
            pair.second();
            assert_eq!(pair.current(), current);
            assert!(pair.attempts(current) <= 1);
        }
        assert!(pair.daemon.numbers.0 > before, "it was begun again");
        for _ in 0..2 {
            pair.second();
        }
        assert!(!pair.daemon.sas.contains_key(&current));
        assert_eq!(pair.peer.count().0, 0);
        // The link is set up by the attempt that is under way, once first requests arrive.
        pair.loses = None;
        for _ in 0..60 {
            pair.second();
        }
        pair.current();
    }
}
