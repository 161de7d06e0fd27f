use bartizan_deployment::{Limits, Path};

use super::*;
use crate::worker::listeners::of_peers;

const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

fn admission(connections: usize, pending: usize) -> Arc<Admission> {
    Admission::new(Bounds {
        connections,
        pending,
        of_one_address: usize::MAX,
        pending_of_one_address: usize::MAX,
    })
}

#[tokio::test]
async fn the_oldest_pending_connection_is_evicted_and_slots_are_given_back() {
    let admission = admission(2, 2);
    let (first, first_eviction, met) = admission.take(ONE).unwrap();
    assert_eq!(met, None);
    let (second, second_eviction, _) = admission.take(ONE).unwrap();
    let (third, _, met) = admission.take(ONE).unwrap();
    assert_eq!(met, Some(Bound::Connections));
    first_eviction.now().await;
    drop(first);
    second.establish();
    third.establish();
    let refused = admission.take(ONE).unwrap_err();
    assert_eq!(refused, Bound::Connections, "no established connection is closed");
    drop(second);
    let (fourth, ..) = admission.take(ONE).unwrap();
    assert_eq!(admission.lock().count, 2);
    drop((third, fourth));
    assert_eq!(admission.lock().count, 0);
    assert!(admission.lock().pending.is_empty());
    assert!(admission.lock().addresses.is_empty());
    drop(second_eviction);
}

#[test]
fn pending_connections_have_a_bound_of_their_own() {
    let admission = admission(3, 1);
    let (first, ..) = admission.take(ONE).unwrap();
    first.establish();
    let (_second, _, met) = admission.take(ONE).unwrap();
    assert_eq!(met, None);
    let (_third, _, met) = admission.take(ONE).unwrap();
    assert_eq!(met, Some(Bound::Pending));
    assert_eq!(admission.lock().count, 2);
}

#[test]
fn one_that_was_evicted_is_not_counted_twice_when_it_is_established_too_late() {
    let admission = admission(1, 1);
    let (first, ..) = admission.take(ONE).unwrap();
    let (_second, ..) = admission.take(ONE).unwrap();
    first.establish();
    drop(first);
    assert_eq!(admission.lock().count, 1);
}

#[tokio::test]
async fn connections_of_one_address_are_evicted_for_its_own_and_for_no_other_address() {
    let admission = Admission::new(Bounds {
        connections: 10,
        pending: 10,
        of_one_address: 3,
        pending_of_one_address: 2,
    });
    let (other, other_eviction, _) = admission.take(OTHER).unwrap();
    let (_first, first_eviction, _) = admission.take(ONE).unwrap();
    let (second, ..) = admission.take(ONE).unwrap();
    let (third, _, met) = admission.take(ONE).unwrap();
    assert_eq!(met, Some(Bound::PendingOfOneAddress));
    first_eviction.now().await;
    second.establish();
    third.establish();
    let (fourth, _, met) = admission.take(ONE).unwrap();
    assert_eq!(met, None);
    let (fifth, _, met) = admission.take(ONE).unwrap();
    assert_eq!(met, Some(Bound::ConnectionsOfOneAddress), "{fourth:?}");
    fifth.establish();
    assert_eq!(admission.take(ONE).unwrap_err(), Bound::ConnectionsOfOneAddress);
    assert!(admission.take(OTHER).is_ok());
    tokio::select! {
        biased;
        () = other_eviction.now() => panic!("it had to go for another address: {other:?}"),
        () = std::future::ready(()) => {}
    }
}

#[tokio::test]
async fn pending_connections_are_evicted_after_a_while_and_established_ones_stay() {
    let admission = admission(10, 10);
    let (first, first_eviction, _) = admission.take(ONE).unwrap();
    let (second, ..) = admission.take(ONE).unwrap();
    second.establish();
    assert_eq!(admission.expire(Duration::from_secs(3600)), 0);
    assert_eq!(admission.expire(Duration::ZERO), 1);
    first_eviction.now().await;
    drop(first);
    assert_eq!(admission.lock().count, 1);
}

/// A certificate that is used from two addresses.
#[test]
fn one_peer_has_no_more_from_many_addresses_than_from_one() {
    let admission = Admission::new(Bounds {
        connections: 4,
        pending: 4,
        of_one_address: 2,
        pending_of_one_address: 2,
    });
    let (first, ..) = admission.take(ONE).unwrap();
    let (second, ..) = admission.take(OTHER).unwrap();
    let (third, ..) = admission.take(OTHER).unwrap();
    assert_eq!(
        [first.establish_as("amf"), second.establish_as("amf")],
        [Ok(()), Ok(())]
    );
    assert_eq!(third.establish_as("amf"), Err(Some(Bound::ConnectionsOfOnePeer)));
    drop(third);
    let (other, ..) = admission.take(ONE).unwrap();
    assert_eq!(other.establish_as("smf"), Ok(()));
    drop(first);
    let (again, ..) = admission.take(ONE).unwrap();
    assert_eq!(again.establish_as("amf"), Ok(()));
    drop((second, other, again));
    assert!(admission.lock().peers.is_empty() && admission.lock().count == 0);
}

/// A peer at its bound could move none of its associations to another connection.
#[test]
fn every_association_of_a_peer_at_its_bound_may_have_one_more_connection() {
    let limits = Limits {
        connections: 2,
        connections_per_address: 2,
        ..Limits::default()
    };
    for (path, most) in [(Path::Sctp, 4), (Path::Splice, 2), (Path::Http2, 2)] {
        let admission = Admission::new(of_peers(&limits, path));
        let mut held = Vec::new();
        while let Ok((slot, ..)) = admission.take(ONE) {
            assert_eq!(slot.establish_as("gnb"), Ok(()));
            held.push(slot);
        }
        assert_eq!(held.len(), most, "{path:?}");
    }
}

#[test]
fn addresses_of_one_ipv6_network_count_together() {
    let parse = |text: &str| network(text.parse().unwrap());
    assert_eq!(parse("2001:db8::1"), parse("2001:db8::ffff:2"));
    assert_ne!(parse("2001:db8::1"), parse("2001:db8:0:1::1"));
    assert_eq!(parse("::ffff:192.0.2.1"), ONE);
}
