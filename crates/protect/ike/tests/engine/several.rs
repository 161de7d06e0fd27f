//! Several CHILD_SAs in one IKE_SA, each for traffic of its own (RFC 7296, section 1.3.1).

use std::time::Duration;

use bartizan_ike::{Child, ChildConfig, Config, Event, Mode, Selector};
use bartizan_wire::ike::{ExchangeType, NotifyType};

use crate::link::{Algorithm, HYBRID, Link, esp};
use crate::{SOON, both};

const SCTP: u8 = 132;

/// SCTP to or from this port between the addresses of both ends; that port is at the second one.
fn of_port(who: usize, port: u16) -> ChildConfig {
    let at = |end: usize| Selector {
        protocol: SCTP,
        ports: if end == 1 { (port, port) } else { (0, u16::MAX) },
        addresses: {
            let address = [192, 0, 2, end as u8 + 1].into();
            (address, address)
        },
    };
    ChildConfig {
        proposals: vec![esp(HYBRID)],
        mode: Mode::Transport,
        local: vec![at(who)],
        remote: vec![at(1 - who)],
    }
}

/// Both ends with the tunnel of every test and a CHILD_SA for each of two ports, in the other order at the second one.
fn configs() -> [Config; 2] {
    let [mut one, mut other] = both(Algorithm::Ed25519, &[HYBRID]);
    one.more = vec![of_port(0, 36_421), of_port(0, 38_412)];
    other.more = vec![of_port(1, 38_412), of_port(1, 36_421)];
    [one, other]
}

/// Both ends have these, each the other's: what one sends by, the other receives by, for the same traffic.
fn assert_same(link: &Link, count: usize) {
    let [ours, theirs] = [0, 1].map(|end| link.installed(end));
    assert_eq!([ours.len(), theirs.len()], [count; 2], "{ours:?} {theirs:?}");
    for child in &ours {
        let is_it = |other: &&&Child| other.inbound == child.outbound && other.outbound == child.inbound;
        let other = theirs.iter().find(is_it).expect("the other end has it");
        assert_eq!(
            (&child.local, &child.remote, child.mode),
            (&other.remote, &other.local, other.mode)
        );
        // The places are those of each end's own configuration.
        let places = [0, 2, 1];
        assert_eq!(other.place, places[child.place]);
    }
}

fn of_place(link: &Link, end: usize, place: usize) -> u32 {
    let installed = link.installed(end);
    let child = installed
        .iter()
        .find(|child| child.place == place)
        .expect("it is there");
    child.inbound.0
}

/// Both ends with all three.
fn joined(seed: u64, first: usize) -> Link {
    let [one, other] = configs();
    let mut link = Link::new(one, other, seed);
    link.initiator.begin_with(first);
    link.run_well(SOON);
    assert_same(&link, 1);
    assert_eq!(link.installed(0)[0].place, first);
    for place in 0..3 {
        let now = link.now;
        // The one that is there is not made again.
        link.current(0).expect("an IKE_SA").make_child(now, place);
    }
    link.run_well(SOON);
    assert_same(&link, 3);
    assert_eq!(link.requests(0, ExchangeType::CREATE_CHILD_SA), 2);
    link
}

#[test]
fn each_traffic_has_a_child_sa_of_its_own_whichever_comes_first_and_each_is_replaced_by_itself() {
    for first in 0..3 {
        let mut link = joined(70 + first as u64, first);
        for place in 0..3 {
            for end in 0..2 {
                let before = [0, 1, 2].map(|place| of_place(&link, end, place));
                let now = link.now;
                link.current(end).expect("an IKE_SA").rekey_child(now, before[place]);
                link.run_well(SOON);
                assert_same(&link, 3);
                for (other, spi) in before.into_iter().enumerate() {
                    assert_eq!(of_place(&link, end, other) == spi, other != place);
                    assert_eq!(link.open(end).sending_of(other), Some(of_place(&link, end, other)));
                }
            }
        }
    }
}

#[test]
fn an_ike_sa_that_takes_the_place_of_another_has_all_of_its_child_sas() {
    let mut link = joined(73, 0);
    for end in [0, 1] {
        let now = link.now;
        link.current(end).expect("an IKE_SA").rekey(now);
        link.run_well(SOON);
        assert_same(&link, 3);
        assert_eq!(link.open(end).children().count(), 3);
    }
    // One end deletes one of three: two stay, and the other end makes it again.
    let (now, gone) = (link.now, of_place(&link, 0, 1));
    link.current(0).expect("an IKE_SA").delete_child(now, gone);
    link.run_well(SOON);
    assert_same(&link, 2);
    let now = link.now;
    link.current(1).expect("an IKE_SA").make_child(now, 2);
    link.run_well(SOON);
    assert_same(&link, 3);
}

#[test]
fn one_that_the_peer_does_not_have_is_refused_and_the_others_stay() {
    let [one, mut other] = configs();
    other.more.clear();
    let mut link = Link::new(one, other, 74);
    link.run_well(SOON);
    let now = link.now;
    link.current(0).expect("an IKE_SA").make_child(now, 2);
    link.run_well(Duration::from_secs(5));
    assert_same(&link, 1);
    let refused = link.events[0].iter().find_map(|event| match event {
        Event::ChildRefused { place, kind, .. } => Some((*place, *kind)),
        _ => None,
    });
    assert_eq!(refused, Some((2, NotifyType::TS_UNACCEPTABLE)));
}
