//! A path that loses, doubles, delays and reorders datagrams: both ends reach the same keys, or an error that each names.

use std::time::Duration;

use bartizan_ike::Failure;
use proptest::prelude::*;

use crate::link::{Algorithm, Authority, Fate, HYBRID, Link, config};

/// What happens to one datagram, of which lists are played again and again.
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
        // The path recovers: whoever is left learns what the other knows.
        link.run_well(Duration::from_secs(400));
        let responder = link.responder.as_ref();
        let established = (link.initiator.is_established(), responder.is_some_and(bartizan_ike::IkeSa::is_established));
        match established {
            (true, true) => link.assert_joined(),
            (false, false) => {
                prop_assert!(link.initiator.is_closed() && responder.is_none_or(bartizan_ike::IkeSa::is_closed));
                // What each says is what a path can do, and nothing of a peer.
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
