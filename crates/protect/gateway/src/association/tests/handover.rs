//! Associations that continue in another process.

use proptest::collection::vec;
use proptest::prelude::*;

use super::properties::delivery;
use super::*;

impl Pair {
    /// Another process continues the association of this node; false where it cannot. The carrier
    /// of the one before takes what that has left, and the peer reads so many octets of it.
    fn hand_over(&mut self, end: usize, octets: usize) -> bool {
        let Some(state) = self.nodes[end].hand_over() else {
            return false;
        };
        self.nodes[end].handed_over();
        self.carry(end, octets);
        self.nodes[end] = Association::taken_over(&state, PATIENCE, self.now).unwrap();
        true
    }
}

#[test]
fn another_process_continues_an_association_of_either_role_and_no_function_sees_it() {
    for (carriage, end) in [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(kind, end)| (BOTH[kind], end)) {
        let mut pair = Pair::open(carriage);
        let long = vec![7; LARGEST_MESSAGE];
        let messages: Vec<_> = (0..6)
            .map(|number| message(number % 3, 60, &long[..usize::from(number) * 9000]))
            .collect();
        for message in &messages {
            assert!(pair.send(0, message) && pair.send(1, message));
            pair.carry(0, 7000);
            pair.carry(1, 7000);
        }
        assert!(pair.hand_over(end, 3000));
        assert_eq!(pair.nodes[0].wants_carrier(), end == 0 || carriage == Carriage::Streams);
        // The initiator learns it, and no carrier has ended for it.
        pair.carry(1, 10_000_000);
        pair.reconnect();
        pair.run();
        for (function, node) in pair.functions.iter().zip(&pair.nodes) {
            assert_eq!(by_lane(&function.messages), by_lane(&messages), "{carriage:?}, {end}");
            assert_eq!((node.end(), node.totals().received), (None, 6));
        }
        // The end is that of an association that was never handed over.
        pair.nodes
            .iter_mut()
            .for_each(|node| node.function_acknowledged(pair.now));
        pair.run();
        pair.nodes[0].function_shut_down(pair.now);
        pair.run();
        assert_eq!([pair.ending(0), pair.ending(1)], [Ending::ShutDown, Ending::ShutDown]);
        assert_eq!(pair.nodes[end].totals().unacknowledged, 0);
    }
}

#[test]
fn the_initiator_dials_for_its_new_process_and_when_a_new_responder_asks_for_it() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        assert!(pair.hand_over(0, 0) && pair.nodes[0].wants_carrier());
        pair.reconnect();
        pair.run();
        assert!(!pair.nodes[0].wants_carrier());
        assert!(pair.hand_over(1, usize::MAX));
        assert!(pair.nodes[0].wants_carrier() && pair.nodes[0].has_carrier());
        // Nor does the end of the carrier hurry it.
        pair.nodes[0].carrier_ended(Loss::Closed, "closed by the peer", pair.now);
        pair.after(2 * PATIENCE.closed);
        assert_eq!(pair.nodes[0].end(), None);
        // A peer that does not come back ends it as it ends any other.
        pair.after(PATIENCE.resume);
        assert_eq!(pair.ending(1).as_str(), "carrier-lost");
    }
}

#[test]
fn what_is_opened_restarted_or_ended_is_not_handed_over() {
    for carriage in BOTH {
        let mut pair = Pair::new(carriage);
        assert!(pair.nodes.iter().all(|node| node.hand_over().is_none()));
        pair.run();
        assert!(pair.nodes.iter().all(|node| node.hand_over().is_some()));
        pair.nodes[0].function_restarted(STREAMS, pair.now);
        assert!(pair.nodes[0].hand_over().is_none());
        pair.run();
        pair.nodes[0].function_shut_down(pair.now);
        assert!(pair.nodes[0].hand_over().is_none());
        pair.run();
        assert!(pair.nodes.iter().all(|node| node.hand_over().is_none()));
    }
}

proptest! {
    #[test]
    fn every_message_arrives_once_in_order_however_often_processes_are_replaced(
        streams: bool,
        steps in vec((0..2_usize, delivery(), 0..70_000_usize, 1..90_000_usize, 0..9_u8), 1..60),
    ) {
        let mut pair = Pair::open(BOTH[usize::from(streams)]);
        let mut sent = [Vec::new(), Vec::new()];
        for (end, delivery, length, octets, what) in steps {
            match what {
                0 => {
                    prop_assert!(pair.hand_over(end, octets));
                    pair.reconnect();
                }
                1..=3 => {
                    let message = Message { delivery, bytes: vec![delivery.stream as u8; length] };
                    if pair.send(end, &message) {
                        sent[end].push(message);
                    }
                }
                4 | 5 => { pair.command(end); }
                6 => pair.nodes[end].function_acknowledged(pair.now),
                _ => pair.carry_one(end, octets, length),
            }
        }
        pair.run();
        for (end, sent) in sent.iter().enumerate() {
            prop_assert_eq!(pair.nodes[end].end(), None);
            prop_assert_eq!(by_lane(&pair.functions[1 - end].messages), by_lane(sent));
        }
    }

    #[test]
    fn a_state_with_other_octets_is_refused_or_harmless(
        streams: bool,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut pair = Pair::open(BOTH[usize::from(streams)]);
        for number in 0..5 {
            pair.send(1, &message(number % 3, 60, &[5; 900]));
            pair.carry(1, 700);
        }
        let mut state = pair.nodes[0].hand_over().unwrap();
        prop_assert!(Association::taken_over(&state[..cut.index(state.len())], PATIENCE, pair.now).is_none());
        for (index, octet) in changes {
            let at = index.index(state.len());
            state[at] = octet;
        }
        if let Some(mut node) = Association::taken_over(&state, PATIENCE, pair.now) {
            node.resume(pair.now);
            node.command_done(pair.now);
            node.function_sent(message(0, 0, b"").delivery, b"one", true, pair.now);
            node.handle_timeout(pair.now + 2 * PATIENCE.resume);
            prop_assert!(node.end().is_some());
        }
    }
}
