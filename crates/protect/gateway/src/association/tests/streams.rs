//! Tests of carriers with streams alone: streams have no order among each other.

use super::*;

#[test]
fn a_shutdown_that_overtakes_messages_waits_for_each_of_them() {
    let mut pair = Pair::open(Carriage::Streams);
    let last = [message(0, 60, b"last of 0"), message(7, 60, b"last of 7")];
    last.iter().for_each(|message| assert!(pair.send(0, message)));
    pair.nodes[0].function_shut_down(pair.now);
    pair.carry_one(0, usize::MAX, 0);
    while pair.command(1) {}
    assert!(!pair.functions[1].shut_down);
    // The second stream gets on first.
    for which in [2, 2, 1, 1] {
        pair.carry_one(0, usize::MAX, which);
        while pair.command(1) {}
    }
    assert_eq!(pair.functions[1].messages, [last[1].clone(), last[0].clone()]);
    assert!(pair.functions[1].shut_down);
    pair.run();
    assert_eq!([pair.ending(0), pair.ending(1)], [Ending::ShutDown, Ending::ShutDown]);
}

#[test]
fn a_stream_whose_packets_are_lost_holds_up_no_other() {
    let mut pair = Pair::open(Carriage::Streams);
    let (lost, quiet) = (message(1, 60, &[1; 5000]), message(2, 60, b"quiet"));
    assert!(pair.send(0, &lost) && pair.send(0, &quiet));
    let unordered = Message {
        delivery: Delivery {
            order: Order::Unordered,
            ..lost.delivery
        },
        bytes: vec![3],
    };
    assert!(pair.send(0, &unordered));
    for which in [2, 2, 3, 3] {
        pair.carry_one(0, usize::MAX, which);
    }
    while pair.command(1) {}
    let arrived = |messages: &[Message]| messages.iter().map(|message| message.bytes.len()).collect::<Vec<_>>();
    assert_eq!(arrived(&pair.functions[1].messages), [1, 5]);
    pair.run();
    assert_eq!(arrived(&pair.functions[1].messages), [1, 5, 5000]);
}

#[test]
fn a_stream_of_messages_is_not_read_before_the_association_it_belongs_to() {
    let mut pair = Pair::new(Carriage::Streams);
    let early = message(0, 60, b"NG Setup");
    assert!(pair.send(0, &early));
    // The stream's packets are there, those of the association's life are not.
    pair.carry_one(0, usize::MAX, 1);
    assert_eq!(pair.nodes[1].lane_room(1), 0);
    assert!(pair.nodes[1].end().is_none());
    pair.run();
    assert_eq!(pair.functions[1].messages, [early]);
    // After a restart that has not arrived, alike.
    pair.nodes[0].function_restarted(STREAMS, pair.now);
    let fresh = message(0, 60, b"NG Setup again");
    assert!(pair.nodes[0].wants_messages());
    pair.nodes[0].function_sent(fresh.delivery, &fresh.bytes, true, pair.now);
    for _ in 0..3 {
        pair.carry_one(0, usize::MAX, 2);
    }
    while pair.command(1) {}
    assert_eq!(pair.functions[1].messages.len(), 1);
    assert_eq!((pair.nodes[1].lane_room(2), pair.nodes[1].restarts()), (0, 0));
    pair.run();
    assert_eq!(pair.functions[1].messages.last(), Some(&fresh));
    assert_eq!(pair.functions[1].connected, 2);
}

#[test]
fn frames_that_do_not_belong_on_their_stream_end_the_association() {
    let lane = |stream, restarts| Frame::Lane {
        lane: Lane {
            stream,
            order: Order::Ordered,
        },
        restarts,
    };
    let text = |stream, last| {
        Frame::Message(Fragment {
            delivery: message(stream, 0, b"").delivery,
            bytes: b"text".to_vec(),
            last,
        })
    };
    let life = |frame: Frame| (0, frame);
    for frames in [
        vec![life(text(0, true))],
        vec![life(Frame::Shutdown)],
        vec![life(lane(0, 0))],
        vec![(1, text(0, true))],
        vec![(1, Frame::Alive), (1, Frame::Alive)],
        vec![(1, lane(0, 0)), (1, lane(0, 0))],
        vec![(1, lane(0, 0)), (2, lane(0, 0))],
        vec![(1, lane(0, 0)), (1, text(1, true))],
        vec![(1, lane(0, 0)), (1, Frame::ShutdownAfter(0))],
        vec![life(Frame::ShutdownAfter(1)), life(Frame::ShutdownAfter(1))],
        vec![(1, lane(0, 0)), (1, text(0, true)), life(Frame::ShutdownAfter(0))],
        vec![life(Frame::ShutdownAfter(0)), (1, lane(0, 0)), (1, text(0, true))],
    ] {
        let now = Instant::now();
        let mut node = Association::responder(Carriage::Streams, PATIENCE, now);
        let mut octets = Vec::new();
        let open = Frame::Open {
            version: VERSION,
            token: TOKEN,
            streams: STREAMS,
        };
        open.encode(&mut octets);
        node.carrier_received(&octets, now);
        node.function_established(STREAMS, now);
        for (stream, frame) in &frames {
            let mut octets = Vec::new();
            frame.encode(&mut octets);
            match stream {
                0 => node.carrier_received(&octets, now),
                lane => {
                    while !octets.is_empty() && node.end().is_none() {
                        let later = octets.split_off(node.lane_room(*lane).min(octets.len()));
                        node.lane_received(*lane, &octets, now);
                        octets = later;
                    }
                }
            }
        }
        let ending = node.end().map(|end| end.ending);
        assert!(matches!(ending, Some(Ending::Unexpected(_))), "{frames:?}: {ending:?}");
    }
    let now = Instant::now();
    let mut node = Association::responder(Carriage::Stream, PATIENCE, now);
    node.lane_received(1, &[0], now);
    assert!(matches!(node.end().unwrap().ending, Ending::Unexpected(_)));
}
