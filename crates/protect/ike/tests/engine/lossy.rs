//! A path that loses, doubles, delays and reorders datagrams: both ends reach the same keys, or an
//! error that each names.

use std::time::Duration;

use bartizan_ike::{Event, Failure};
use proptest::prelude::*;

use crate::link::{Algorithm, Authority, Fate, HYBRID, Link, config, esp};

/// Fate of one datagram. Lists of these are repeated.
#[derive(Debug, Clone, Copy)]
enum Fortune {
    Lost,
    Arrives(u16),
    Twice(u16, u16),
}

fn fortune(loss: u32) -> impl Strategy<Value = Fortune> {
    prop_oneof![
        loss => Just(Fortune::Lost),
        6 => (1..2000_u16).prop_map(Fortune::Arrives),
        2 => (1..2000_u16, 1..5000_u16).prop_map(|(one, other)| Fortune::Twice(one, other)),
    ]
}

fn path(fortunes: Vec<Fortune>) -> impl FnMut(usize, &[u8]) -> Fate {
    let mut next = fortunes.into_iter().cycle();
    move |_, datagram| {
        let copy = |delay| (Duration::from_millis(u64::from(delay)), datagram.to_vec());
        match next.next() {
            None | Some(Fortune::Lost) => Vec::new(),
            Some(Fortune::Arrives(delay)) => vec![copy(delay)],
            Some(Fortune::Twice(one, other)) => vec![copy(one), copy(other)],
        }
    }
}

#[test]
fn a_cookie_that_comes_twice_is_no_refusal() {
    let authority = Authority::new(Algorithm::EcdsaP256);
    let [one, other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    let mut link = Link::new(one, other, 0);
    link.must_return = true;
    // Some of its requests arrive twice, and some of the answers, the cookie: nothing else does.
    let mut fortunes = vec![Fortune::Twice(490, 764), Fortune::Twice(1, 1)];
    fortunes.extend([Fortune::Lost; 11]);
    link.run(Duration::from_secs(400), &mut path(fortunes));
    assert!(matches!(link.closed(0), Some(Failure::Unanswered)), "{:?}", link.events);
}

/// A call of an end's owner.
#[derive(Debug, Clone, Copy)]
enum Wish {
    RekeyChild,
    Rekey,
    DeleteChild,
    MakeChild,
}

fn wishes() -> impl Strategy<Value = Vec<(u64, usize, Wish)>> {
    let wish = prop_oneof![
        4 => Just(Wish::RekeyChild),
        4 => Just(Wish::Rekey),
        1 => Just(Wish::DeleteChild),
        1 => Just(Wish::MakeChild),
    ];
    // Often at once.
    let after = prop_oneof![Just(0_u64), 1..3000_u64];
    prop::collection::vec((after, 0..2_usize, wish), 1..10)
}

fn wish(link: &mut Link, end: usize, wish: Wish) {
    let now = link.now;
    let Some(sa) = link.current(end) else { return };
    match (wish, sa.sending()) {
        (Wish::RekeyChild, Some(spi)) => sa.rekey_child(now, spi),
        (Wish::DeleteChild, Some(spi)) => sa.delete_child(now, spi),
        (Wish::Rekey, _) => sa.rekey(now),
        (Wish::MakeChild, _) => sa.make_child(now, 0),
        (Wish::RekeyChild | Wish::DeleteChild, None) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any replacements and deletions by both ends, at any time, over any path: in the end they
    /// have the same IKE_SA with the same CHILD_SAs, or none and an error that each names.
    #[test]
    fn both_ends_replace_and_delete_the_same(
        seed in any::<u64>(),
        fortunes in (0..8_u32).prop_flat_map(|loss| prop::collection::vec(fortune(loss), 1..40)),
        wishes in wishes(),
        hybrid in any::<bool>(),
    ) {
        let authority = Authority::new(Algorithm::Ed25519);
        let [one, other] = [0, 1].map(|who| {
            let mut config = config(who, &authority, &[HYBRID]);
            config.child.proposals = vec![esp(if hybrid { HYBRID } else { &[] })];
            config
        });
        let mut link = Link::new(one, other, seed);
        link.run_well(Duration::from_secs(1));
        link.assert_settled();
        let mut path = path(fortunes);
        for (after, end, what) in wishes {
            link.run(Duration::from_millis(after), &mut path);
            wish(&mut link, end, what);
        }
        link.run(Duration::from_secs(60), &mut path);
        // The path recovers.
        link.run_well(Duration::from_secs(600));
        let open = [0, 1].map(|end| link.sas(end).filter(|sa| !sa.is_closed()).count());
        if open == [0, 0] {
            for end in 0..2 {
                let failures = link.events[end].iter().filter_map(|event| match event {
                    Event::Closed(failure) => Some(failure),
                    _ => None,
                });
                let failures: Vec<&Failure> = failures.collect();
                prop_assert!(failures.iter().all(|failure| matches!(failure, Failure::Unanswered | Failure::Replaced)), "{failures:?}");
                prop_assert!(failures.contains(&&Failure::Unanswered));
            }
            return Ok(());
        }
        prop_assert_eq!(open, [1, 1], "{:?}", link.events);
        match [0, 1].map(|end| link.installed(end).len()) {
            // It was deleted, and neither end has requested another since.
            [0, 0] => prop_assert_eq!(link.open(0).spis(), link.open(1).spis()),
            _ => link.assert_settled(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn both_ends_reach_the_same_keys_or_an_error_that_each_names(
        seed in any::<u64>(),
        fortunes in (0..12_u32).prop_flat_map(|loss| prop::collection::vec(fortune(loss), 1..40)),
        longest in prop_oneof![Just(400_usize), Just(1232)],
        must_return in any::<bool>(),
    ) {
        let authority = Authority::new(Algorithm::EcdsaP256);
        let [one, other] = [0, 1].map(|who| {
            let mut config = config(who, &authority, &[HYBRID]);
            config.longest = longest;
            config
        });
        let mut link = Link::new(one, other, seed);
        link.must_return = must_return;
        link.run(Duration::from_secs(400), &mut path(fortunes));
        // The path recovers: a remaining end learns the state of the other.
        link.run_well(Duration::from_secs(400));
        let responder = link.responder.as_ref();
        let established = (link.initiator.is_established(), responder.is_some_and(bartizan_ike::IkeSa::is_established));
        match established {
            (true, true) => link.assert_joined(),
            (false, false) => {
                prop_assert!(link.initiator.is_closed() && responder.is_none_or(bartizan_ike::IkeSa::is_closed));
                // Each failure has its cause in the path, not in the peer.
                for failure in [link.closed(0), link.closed(1)].into_iter().flatten() {
                    prop_assert!(
                        matches!(failure, Failure::Unanswered | Failure::Abandoned),
                        "{:?}", link.events
                    );
                }
                prop_assert!(link.closed(0).is_some());
                prop_assert_eq!(link.closed(1).is_some(), link.responder.is_some());
            }
            _ => prop_assert!(false, "one end alone is established: {:?}", link.events),
        }
    }
}
