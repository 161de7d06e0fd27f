//! Age of the authentication of both ends. No rekey renews it, and the IKE_SA ends with it
//! (RFC 4478).

use std::time::Duration;

use bartizan_ike::{Event, Failure, Lifetime};
use bartizan_wire::ike::{ExchangeType, Header};

use crate::link::{Algorithm, DELAY, Fate, HYBRID, Link};
use crate::{SOON, both};

const LIFETIME: Duration = Duration::from_secs(100);

/// A link whose ends in `limited` have a lifetime of authentication. The end `renews` replaces the
/// IKE_SA every 30 s.
fn joined(limited: &[usize], renews: usize, seed: u64) -> Link {
    let mut configs = both(Algorithm::Ed25519, &[HYBRID]);
    for end in limited {
        configs[*end].timing.authentication = Some(Lifetime::of(LIFETIME));
    }
    configs[renews].timing.ike = Some(Lifetime::of(Duration::from_secs(30)));
    let [one, other] = configs;
    let mut link = Link::new(one, other, seed);
    link.run_well(SOON);
    link.assert_settled();
    link
}

fn ends(link: &Link, end: usize) -> Vec<&Failure> {
    let mut ends = Vec::new();
    for event in &link.events[end] {
        match event {
            Event::Closed(failure) if *failure != Failure::Replaced => ends.push(failure),
            _ => {}
        }
    }
    ends
}

#[test]
fn rekeys_by_either_end_do_not_keep_an_ike_sa_beyond_its_authentication_whichever_end_began_it() {
    for limited in 0..2 {
        for renews in 0..2 {
            let mut link = joined(&[limited], renews, 300);
            let since = link.open(limited).authenticated().expect("it is established");
            link.run_well(LIFETIME);
            assert!(link.successors[limited].len() >= 3, "it was replaced meanwhile");
            link.assert_settled();
            assert_eq!(link.open(limited).authenticated(), Some(since));
            link.run_well(LIFETIME / 10 + SOON);
            assert_eq!(ends(&link, limited), [&Failure::Outdated]);
            assert_eq!(ends(&link, 1 - limited), [&Failure::Deleted]);
        }
    }
}

#[test]
fn the_initiator_is_to_be_done_before_either_end_deletes_the_ike_sa_and_the_responder_begins_later() {
    let due = |link: &Link, end: usize| {
        let sa = link.open(end);
        let since = sa.authenticated().expect("it is established");
        sa.authentication_due().map(|due| due - since)
    };
    // AUTH_LIFETIME informs the initiator.
    let link = joined(&[1], 0, 301);
    assert_eq!(due(&link, 0), Some(LIFETIME));
    assert_eq!(due(&link, 1), Some(Duration::from_secs(105)));
    // Its own limit is the earlier one, and rekeys by the other end change no role.
    let mut link = joined(&[0], 1, 302);
    link.run_well(LIFETIME / 2);
    assert!(!link.successors[0].is_empty());
    assert_eq!((due(&link, 0), due(&link, 1)), (Some(LIFETIME), None));
    let link = joined(&[], 0, 303);
    assert_eq!((due(&link, 0), due(&link, 1)), (None, None));
}

#[test]
fn a_peer_that_answers_no_deletion_and_completes_no_exchange_gains_no_more_than_its_retransmissions() {
    let mut link = joined(&[1], 1, 304);
    link.run_well(LIFETIME);
    let from_peer = |from: usize, datagram: &[u8]| -> Fate {
        let header = Header::read(datagram).expect("a header");
        let is_answer = header.flags.is_response() && header.exchange == ExchangeType::INFORMATIONAL;
        if from == 0 && is_answer {
            Vec::new()
        } else {
            vec![(DELAY, datagram.to_vec())]
        }
    };
    link.run(LIFETIME / 10 + Duration::from_secs(200), &mut { from_peer });
    assert_eq!(ends(&link, 1), [&Failure::Outdated]);
}
