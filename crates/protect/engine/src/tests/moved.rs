//! A peer behind a translator that gives its packets another port.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use bartizan_ike::{Child, Event, HalfOpen, Port, Report};
use bartizan_ipsec::xfrm::{Direction, Error};
use bartizan_wire::ike::{ExchangeType, Header};

use super::*;
use crate::association::ChildSa;

/// Port that the translator makes of 500.
const OF_IKE: u16 = 40_000;

/// The daemon, the engine of a hidden peer, and what the translator makes of port 4500 now.
pub(super) struct Hidden {
    pub(super) daemon: Daemon,
    peer: Endpoint,
    port: u16,
    /// Rekeys that the daemon has asked for.
    pub(super) asked: usize,
    /// No SA is left in the kernel.
    pub(super) flushed: Rc<Cell<bool>>,
}

/// Takes every SA.
struct Kernel(Rc<Cell<bool>>);

impl Associations for Kernel {
    fn install(&self, _: &Child, _: Direction) -> Result<(), Error> {
        Ok(())
    }

    fn remove(&self, _: u32, _: Direction) -> Result<(), Error> {
        Ok(())
    }

    fn is_gone(&self, _: u32, _: Direction) -> bool {
        self.0.get()
    }
}

impl Hidden {
    /// Delivers until neither sends anything. CHILD_SAs are known to the daemon and to no real kernel.
    pub(super) fn talk(&mut self, now: Instant) {
        let own = self.daemon.connections[0].ends;
        let with = |mut ends: Ends, local, remote| {
            ends.local.set_port(local);
            ends.remote.set_port(remote);
            ends
        };
        for _ in 0..50 {
            while let Some((_, sent)) = self.peer.poll_transmit() {
                let at = match sent.port {
                    Port::Ike => with(own, 500, OF_IKE),
                    Port::Nat => with(own, 4500, self.port),
                };
                self.daemon.endpoint.receive(now, at, &sent.datagram, &mut random);
            }
            while let Some((ends, sent)) = self.daemon.endpoint.poll_transmit() {
                let header = Header::read(&sent.datagram).unwrap();
                let asks = header.exchange == ExchangeType::CREATE_CHILD_SA && !header.flags.is_response();
                self.asked += usize::from(asks);
                let (mapped, port) = match sent.port {
                    Port::Ike => (OF_IKE, 500),
                    Port::Nat => (self.port, 4500),
                };
                // A port that the translator has forgotten leads nowhere.
                if ends.to(sent.port).port() == mapped {
                    let local = SocketAddr::from((HIDDEN, port));
                    let remote = SocketAddr::new(own.local.ip(), port);
                    let at = Ends { local, remote };
                    self.peer.receive(now, at, &sent.datagram, &mut random);
                }
            }
            while let Some(report) = self.daemon.endpoint.poll_report() {
                let Report::Event(id, Event::Child(child)) = &report else {
                    self.daemon.report(now, report);
                    continue;
                };
                let of = Arc::clone(&self.daemon.connections[0].children[child.place]);
                let port = self.daemon.nat_port(*id).unwrap();
                let key = ("cu--ric".to_owned(), of.name.clone());
                let link = self.daemon.installed.entry(key);
                let kernel = || Installed::new(Box::new(Kernel(Rc::clone(&self.flushed))) as Box<dyn Associations>);
                link.or_insert_with(kernel).made(child).unwrap();
                let made = ChildSa::new(1, ("cu--ric", of), (child, port), now);
                self.daemon.add_child(made, child.replaces);
            }
        }
    }
}

const HIDDEN: [u8; 4] = [10, 9, 9, 9];

impl Hidden {
    /// A peer behind a translator, its IKE_SA, and the time at which that was set up.
    pub(super) fn established() -> (Self, SaId, Instant) {
        let rendered = rendered();
        let daemon = rendered.daemon();
        let (peer, now) = (rendered.peer(), clock::now());
        let ends = Ends {
            local: SocketAddr::from((HIDDEN, 500)),
            ..peer.ends
        };
        let mut engine = Endpoint::new(HalfOpen::default());
        let theirs = engine.initiate(peer.config, ends, &mut random, now).unwrap();
        let mut hidden = Hidden {
            daemon,
            peer: engine,
            port: 40_001,
            asked: 0,
            flushed: Rc::default(),
        };
        hidden.talk(now);
        (hidden, theirs, now)
    }
}

#[test]
fn a_peer_that_moves_has_its_child_sas_replaced_by_such_with_its_port() {
    let (mut hidden, theirs, now) = Hidden::established();
    let (id, sa) = hidden.daemon.sas.iter().next().expect("an IKE_SA");
    let (id, ends) = (*id, sa.ends);
    assert_eq!((ends.remote.port(), hidden.daemon.nat_port(id)), (40_001, Some(40_001)));
    assert_eq!(hidden.asked, 0);
    hidden.port = 40_002;
    hidden.daemon.follow_ports(now);
    // The peer asks whether this end lives.
    let later = now + Duration::from_secs(60);
    hidden.peer.handle_timeout(later);
    hidden.talk(later);
    let ends = hidden.daemon.sas[&id].ends;
    assert_eq!((ends.remote.port(), hidden.daemon.nat_port(id)), (40_002, Some(40_002)));
    for seconds in [0, 1, 9] {
        hidden.daemon.follow_ports(later + Duration::from_secs(seconds));
        hidden.talk(later);
        let ports: Vec<_> = hidden.daemon.children.iter().map(|child| child.remote_port).collect();
        assert_eq!((hidden.asked, ports), (1, vec![40_002]), "{seconds}");
    }
    assert!(hidden.peer.sa(theirs).is_some_and(IkeSa::is_established));
}

#[test]
fn one_packet_from_another_port_holds_nothing_up() {
    let (mut hidden, _, now) = Hidden::established();
    for (port, seconds) in [(40_009, 20), (40_001, 23)] {
        let at = now + Duration::from_secs(seconds);
        hidden.port = port;
        hidden.peer.handle_timeout(at);
        hidden.talk(at);
        hidden.daemon.follow_ports(at);
        hidden.talk(at);
    }
    // A message of the peer brings the port back, and the CHILD_SA with it.
    let at = now + Duration::from_secs(60);
    hidden.peer.handle_timeout(at);
    hidden.talk(at);
    hidden.daemon.follow_ports(at);
    hidden.talk(at);
    let ports: Vec<_> = hidden.daemon.children.iter().map(|child| child.remote_port).collect();
    assert_eq!(ports, [40_001], "{}", hidden.asked);
}

#[test]
fn ports_that_change_each_second_replace_a_child_sa_twice_a_minute() {
    let (mut hidden, _, now) = Hidden::established();
    for second in 0..600_u16 {
        let at = now + Duration::from_secs(second.into());
        hidden.port = 30_000 + second;
        hidden.peer.handle_timeout(at);
        hidden.talk(at);
        hidden.daemon.follow_ports(at);
        hidden.talk(at);
    }
    assert!((2..=22).contains(&hidden.asked), "{}", hidden.asked);
}
