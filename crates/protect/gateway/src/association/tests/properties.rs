//! Properties of two nodes that hold for any order of events and octets.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Events between two nodes.
#[derive(Debug, Clone)]
enum Step {
    Send(usize, Delivery, usize),
    Carry(usize, usize, usize),
    Command(usize),
    Acknowledge(usize),
    Path(usize),
    Wait(u64),
}

pub(super) fn delivery() -> impl Strategy<Value = Delivery> {
    (0..10_u16, any::<u32>(), any::<bool>()).prop_map(|(stream, payload_protocol, ordered)| Delivery {
        stream,
        payload_protocol,
        order: if ordered { Order::Ordered } else { Order::Unordered },
    })
}

fn step() -> impl Strategy<Value = Step> {
    let end = 0..2_usize;
    let length = prop_oneof![0..300_usize, 1000..70_000_usize, Just(LARGEST_MESSAGE)];
    prop_oneof![
        3 => (end.clone(), delivery(), length).prop_map(|(end, delivery, length)| Step::Send(end, delivery, length)),
        6 => (end.clone(), 1..100_000_usize, 0..30_usize).prop_map(|(end, octets, which)| Step::Carry(end, octets, which)),
        6 => end.clone().prop_map(Step::Command),
        1 => end.clone().prop_map(Step::Acknowledge),
        1 => end.prop_map(Step::Path),
        1 => (0..3000_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn every_message_arrives_once_in_order_whatever_the_carrier_does_with_the_octets(
        streams: bool,
        shut_down: bool,
        steps in vec(step(), 1..200),
    ) {
        let mut pair = Pair::open(BOTH[usize::from(streams)]);
        let mut sent = [Vec::new(), Vec::new()];
        for step in steps {
            match step {
                Step::Send(end, delivery, length) => {
                    let message = Message { delivery, bytes: vec![delivery.stream as u8; length] };
                    if pair.send(end, &message) {
                        sent[end].push(message);
                    } else {
                        // A message that was begun cannot be reset: the rest follows when there is
                        // room.
                        prop_assert!(pair.nodes[end].departing.is_none());
                    }
                }
                Step::Carry(end, octets, which) => pair.carry_one(end, octets, which),
                Step::Command(end) => { pair.command(end); }
                Step::Acknowledge(end) => pair.nodes[end].function_acknowledged(pair.now),
                Step::Path(end) => pair.nodes[end].function_path(PathState::Unreachable, pair.now),
                Step::Wait(milliseconds) => pair.after(Duration::from_millis(milliseconds)),
            }
            prop_assert!(pair.nodes.iter().all(|node| node.held() <= 2 * WINDOW + 2 * OUTPUT + READ));
        }
        if shut_down {
            // The shutdown may overtake messages that were sent before it. No function receives the
            // answers.
            pair.nodes[0].function_shut_down(pair.now);
            pair.carry_one(0, usize::MAX, 0);
        }
        pair.run();
        prop_assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&sent[0]));
        if shut_down {
            prop_assert_eq!([pair.ending(0), pair.ending(1)], [Ending::ShutDown, Ending::ShutDown]);
        } else {
            prop_assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
            prop_assert_eq!(by_lane(&pair.functions[0].messages), by_lane(&sent[1]));
        }
    }

    #[test]
    fn messages_survive_restarts_of_the_association_in_any_order_of_streams(
        steps in vec((0..2_usize, 0..3_u16, 1..3000_usize, 0..12_usize), 1..60),
    ) {
        let mut pair = Pair::open(Carriage::Streams);
        let mut sent = Vec::new();
        for (number, (end, stream, length, which)) in steps.into_iter().enumerate() {
            let message = message(stream, number as u32, &vec![0; length]);
            if pair.nodes[end].wants_messages() {
                pair.nodes[end].function_sent(message.delivery, &message.bytes, true, pair.now);
                if end == 0 {
                    sent.push(message);
                }
            }
            pair.carry_one(end, 2000, which);
            pair.command(1 - end);
            if number % 10 == 9 {
                // Messages under way are void.
                pair.nodes[0].function_restarted(STREAMS, pair.now);
                sent.clear();
                let reached = |pair: &Pair| pair.nodes.iter().all(|node| node.restarts() == pair.nodes[0].restarts());
                while !reached(&pair) || pair.nodes[0].reopening {
                    pair.carry_one(0, 2000, which);
                    pair.carry_one(0, 2000, 0);
                    pair.command(1);
                    pair.carry_one(1, 2000, 0);
                }
                pair.functions[1].messages.clear();
            }
        }
        pair.run();
        prop_assert_eq!(pair.nodes[0].end(), None);
        prop_assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&sent));
    }

    #[test]
    fn no_octets_from_a_peer_make_a_node_panic_or_hold_more_than_a_window(
        opened: bool,
        streams: bool,
        pieces in vec((0..4_u64, vec(prop_oneof![Just(0_u8), 1..20_u8, any::<u8>()], 0..200)), 1..30),
    ) {
        let now = Instant::now();
        let mut node = Association::responder(BOTH[usize::from(streams)], PATIENCE, now);
        if opened {
            let mut octets = Vec::new();
            Frame::Open { version: VERSION, token: TOKEN, streams: STREAMS }.encode(&mut octets);
            node.carrier_received(&octets, now);
            node.function_established(STREAMS, now);
        }
        for (stream, piece) in pieces {
            match stream {
                0 => node.carrier_received(&piece, now),
                _ if !streams => {}
                lane => {
                    let room = node.lane_room(lane).min(piece.len());
                    node.lane_received(lane, &piece[..room], now);
                }
            }
            prop_assert!(node.held() <= 2 * WINDOW + 2 * OUTPUT);
        }
        for after in [PATIENCE.silence, 2 * PATIENCE.silence, 2 * PATIENCE.resume] {
            node.handle_timeout(now + after);
        }
        prop_assert!(node.end().is_some());
    }
}
