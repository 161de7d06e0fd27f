//! Windows, and what waits for readers.

use proptest::prelude::*;

use super::*;

#[test]
fn a_reader_that_does_not_read_stops_its_sender_at_the_window() {
    let mut ends = Ends::new();
    ends.reads = false;
    let id = ends.client.open(&request(), false, 1, 1).unwrap();
    let body = vec![1; 300_000];
    let first = ends.client.send_data(id, &body, true).unwrap();
    let [_, server] = ends.talk(usize::MAX);
    assert_eq!(server.body.len(), BOUNDS.stream_window as usize);
    assert!(!server.ended);
    assert_eq!(first + server.moved, server.body.len());
    ends.server.release(id, server.body.len());
    ends.reads = true;
    let [_, server] = ends.talk(usize::MAX);
    assert_eq!(server.body.len(), 200_000);
    assert!(server.ended);
}

/// One stream whose reader did not read held the window of the connection, and so every other stream of it.
#[test]
fn streams_that_nobody_reads_hold_nothing_of_the_connections_window() {
    let mut ends = Ends::new();
    ends.reads = false;
    for _ in 0..BOUNDS.streams - 1 {
        let id = ends.client.open(&request(), false, 1, 1).unwrap();
        ends.client.send_data(id, &[1; 200_000], false).unwrap();
        ends.talk(usize::MAX);
    }
    ends.reads = true;
    let id = ends.client.open(&request(), false, 2, 1).unwrap();
    ends.client.send_data(id, &[1; 150_000], true).unwrap();
    let [_, server] = ends.talk(usize::MAX);
    assert!(server.ended);
    assert_eq!(server.body.len(), 150_000);
}

/// The other end may be one that gives a window back when its program has read: then a body that it
/// does not read is not to stop those of others.
#[test]
fn bodies_that_the_other_end_does_not_read_leave_window_to_those_of_another_owner() {
    let mut ends = Ends::new();
    let mut sent = 0;
    // The other end never looks at these bytes: no window comes back.
    for _ in 0..3 {
        let id = ends.client.open(&request(), false, 1, 1).unwrap();
        ends.client.open(&request(), false, 2, 1).unwrap();
        sent += ends.client.send_data(id, &[1; 100_000], false).unwrap();
        ends.client.wrote(ends.client.output().len());
    }
    ends.client.pump(&mut Vec::new());
    ends.client.wrote(ends.client.output().len());
    let id = ends.client.open(&request(), false, 3, 1).unwrap();
    let now = ends.client.send_data(id, &[1; 1000], true).unwrap();
    assert!(sent > 100_000, "{sent} of 200000");
    assert_eq!(now, 1000);
}

#[test]
fn heads_that_nobody_takes_wait_up_to_a_bound() {
    let mut ends = Ends::new();
    let id = ends.client.open(&request(), true, 1, 1).unwrap();
    ends.talk(usize::MAX);
    let early = early();
    // Nothing is written: first they fill the output, then what may wait for one stream.
    let taken = (0..1_000_000)
        .find(|_| ends.server.send_head(id, &early, false).is_err())
        .expect("a bound");
    assert!(ends.server.output().len() < 2 * 64 * 1024);
    assert!(ends.server.waiting() <= BOUNDS.waiting);
    assert_eq!(ends.server.send_head(id, &early, false), Err(Unsent::Full));
    ends.server.wrote(ends.server.output().len());
    while ends.server.holds() {
        ends.server.pump(&mut Vec::new());
        ends.server.wrote(ends.server.output().len());
    }
    assert_eq!(ends.server.waiting(), 0);
    assert!(taken > 100);
    ends.server.send_head(id, &response(), true).unwrap();
    assert!(ends.server.is_idle());
}

#[test]
fn interim_responses_without_end_cost_their_stream_and_not_the_connection() {
    let mut ends = Ends::new();
    let [flooded, other] = [(); 2].map(|()| ends.client.open(&request(), true, 1, 1).unwrap());
    ends.talk(usize::MAX);
    for _ in 0..200 {
        let _ = ends.server.send_head(flooded, &early(), false);
    }
    ends.server.send_head(other, &response(), true).unwrap();
    let [client, server] = ends.talk(usize::MAX);
    let reset = |by, kept| [(Code::ENHANCE_YOUR_CALM, by, kept)];
    assert_eq!(client.resets, reset(Role::Client, Some(1)));
    assert_eq!(server.resets, reset(Role::Client, Some(7)));
    assert_eq!(client.heads.len(), BOUNDS.header_bytes as usize / early().size() + 1);
    assert!(ends.client.is_idle());
}

#[test]
fn what_waited_is_sent_in_its_order_heads_body_and_trailers() {
    let mut ends = Ends::new();
    let id = ends.client.open(&request(), true, 1, 1).unwrap();
    ends.talk(usize::MAX);
    let early = early();
    // Another stream's body fills the output.
    let other = ends.client.open(&request(), true, 1, 1).unwrap();
    ends.talk(usize::MAX);
    ends.server.send_head(other, &response(), false).unwrap();
    ends.server.send_data(other, &[1; 70_000], true).unwrap();
    assert!(ends.server.is_full());
    ends.server.send_head(id, &early, false).unwrap();
    ends.server.send_head(id, &response(), false).unwrap();
    assert_eq!(ends.server.send_data(id, b"answer", false), Ok(0));
    ends.server.send_trailers(id, fields(&[("checksum", "1")])).unwrap();
    let [client, server] = ends.talk(usize::MAX);
    assert!(client.body.ends_with(b"answer"));
    let of_it: Vec<_> = client.heads.into_iter().filter(|(stream, ..)| *stream == id).collect();
    assert_eq!(of_it, [(id, early, false), (id, response(), false)]);
    assert_eq!((client.trailers.len(), server.moved), (1, 6));
    assert!(ends.client.is_idle() && ends.server.is_idle());
    assert_eq!(ends.server.waiting(), 0);
}

#[test]
fn a_stream_whose_reader_takes_nothing_or_little_is_found_and_one_that_is_read_is_not() {
    let mut ends = Ends::new();
    ends.reads = false;
    let [stalled, read] = [(); 2].map(|()| ends.client.open(&request(), false, 1, 1).unwrap());
    for id in [stalled, read] {
        ends.client.send_data(id, &[1; 200_000], false).unwrap();
    }
    ends.talk(usize::MAX);
    let enough = Sweeps { stalled: 3, refused: 3 };
    let mut left = 100_000;
    for _ in 0..3 {
        assert_eq!(ends.client.sweep(enough), []);
        // A byte now and then is no reading.
        ends.server.release(stalled, 1);
        ends.server.release(read, 30_000);
        left -= 30_000;
        ends.talk(usize::MAX);
    }
    assert_eq!(ends.client.sweep(enough), [stalled]);
    assert_eq!(ends.client.longest_waiting(), Some(stalled));
    let before = ends.client.waiting();
    ends.client.reset(stalled, Code::CANCEL);
    assert_eq!(ends.client.waiting(), before - 100_000, "{left} left of the other");
}

#[test]
fn what_moves_is_reported_to_the_last_byte() {
    // Five pieces wait for the window; all of them and the end go on their way at once.
    let bounds = Bounds {
        stream_window: 1 << 20,
        waiting: 1 << 20,
        ..BOUNDS
    };
    let mut client: Connection<u8> = Connection::new(Role::Client, BOUNDS);
    let mut server: Connection<u8> = Connection::new(Role::Server, bounds);
    client.open(&request(), true, 1, 0).unwrap();
    let mut events = Vec::new();
    server.receive(client.output(), ALL, &mut events).unwrap();
    server.keep(1, 7);
    server.seen();
    assert_eq!(server.send_head(1, &response(), false), Ok(()));
    let body = vec![b'x'; 150_000];
    let sent = server.send_data(1, &body, true).unwrap();
    server.wrote(server.output().len());
    assert!(sent < body.len());
    let mut more = Vec::new();
    frame::put_number(&mut more, frame::WINDOW_UPDATE, 0, 1 << 20);
    frame::put_number(&mut more, frame::WINDOW_UPDATE, 1, 1 << 20);
    let mut moved = 0;
    events.clear();
    server.receive(&more, ALL, &mut events).unwrap();
    loop {
        for event in events.drain(..) {
            let Event::Moved { bytes, .. } = event else {
                panic!("{event:?}");
            };
            moved += bytes;
        }
        server.wrote(server.output().len());
        if !server.holds() {
            break;
        }
        server.pump(&mut events);
    }
    assert_eq!(moved, body.len() - sent);
    assert!(server.is_idle());
}

#[test]
fn a_chain_of_proxies_leaks_no_window() {
    // server -> link | consumer -> client, as a sidecar between them.
    let wide = Bounds {
        stream_window: 16 << 20,
        connection_window: 16 << 20,
        waiting: 16 << 20,
        ..BOUNDS
    };
    let mut server: Connection<u8> = Connection::new(Role::Server, wide);
    let mut link: Connection<u32> = Connection::new(Role::Client, BOUNDS);
    let mut consumer: Connection<u32> = Connection::new(Role::Server, BOUNDS);
    let mut client: Connection<u8> = Connection::new(Role::Client, wide);
    let body = vec![b'x'; 262_144];
    let mut answered = 0;
    let mut asked = 0;
    let mut idle = 0;
    let mut left: std::collections::BTreeMap<u32, usize> = std::collections::BTreeMap::new();
    while answered < 200 {
        let before = answered;
        while asked < answered + 8
            && asked < 200
            && client.is_settled()
            && client.open(&request(), true, 1, 0).is_some()
        {
            asked += 1;
        }
        // client -> consumer
        let bytes = client.output().to_vec();
        client.wrote(bytes.len());
        let mut events = Vec::new();
        assert_eq!(consumer.receive(&bytes, ALL, &mut events).unwrap().used, bytes.len());
        for event in events {
            match event {
                Event::Head {
                    stream, fields, end, ..
                } => {
                    let id = link.open(&fields, end, 1, stream).unwrap();
                    consumer.keep(stream, id);
                }
                Event::Moved { stream, bytes } => {
                    if let Some(&mut id) = consumer.kept(stream) {
                        link.release(id, bytes);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        consumer.seen();
        // link -> server
        let bytes = link.output().to_vec();
        link.wrote(bytes.len());
        let mut events = Vec::new();
        server.receive(&bytes, ALL, &mut events).unwrap();
        for event in events {
            if let Event::Head { stream, .. } = event {
                server.send_head(stream, &response(), false).unwrap();
                left.insert(stream, body.len());
            }
        }
        server.seen();
        // The server sends as much as its windows allow, whole bodies at once.
        for (stream, bytes) in std::mem::take(&mut left) {
            server.send_data(stream, &body[..bytes], true).unwrap();
        }
        let mut events = Vec::new();
        server.pump(&mut events);
        // server -> link, in small pieces
        let bytes = server.output().to_vec();
        server.wrote(bytes.len());
        let mut events = Vec::new();
        link.receive(&bytes, ALL, &mut events).unwrap();
        for event in events {
            match event {
                Event::Head {
                    stream, fields, end, ..
                } => {
                    let to = *link.kept(stream).unwrap();
                    consumer.send_head(to, &fields, end).unwrap();
                }
                Event::Data { stream, from, to, end } => {
                    let onto = *link.kept(stream).unwrap();
                    let sent = consumer.send_data(onto, &bytes[from..to], end).unwrap();
                    link.release(stream, sent);
                }
                other => panic!("{other:?}"),
            }
        }
        link.seen();
        // consumer -> client
        loop {
            let mut events = Vec::new();
            if consumer.output().is_empty() && consumer.holds() {
                consumer.pump(&mut events);
                for event in events.drain(..) {
                    let Event::Moved { stream, bytes } = event else {
                        panic!()
                    };
                    if let Some(&mut id) = consumer.kept(stream) {
                        link.release(id, bytes);
                    }
                }
            }
            let bytes = consumer.output().to_vec();
            if bytes.is_empty() {
                break;
            }
            consumer.wrote(bytes.len());
            let mut events = Vec::new();
            client.receive(&bytes, ALL, &mut events).unwrap();
            for event in events {
                if let Event::Data { stream, from, to, end } = event {
                    client.release(stream, to - from);
                    answered += u32::from(end);
                }
            }
            client.seen();
        }
        idle = if answered == before { idle + 1 } else { 0 };
        assert!(
            idle < 1000,
            "stuck after {answered}: link unreleased {:?}, receive {:?}, server window {}",
            link.streams.all().map(|(id, s)| (id, s.unreleased)).collect::<Vec<_>>(),
            link.receive,
            server.send_window
        );
    }
}

proptest! {
    #[test]
    fn bodies_of_many_streams_arrive_whole_in_any_order_of_sending(
        // Within what may wait for one stream.
        pieces in proptest::collection::vec((0_usize..4, 0_usize..7_000), 1..40),
        piece in 1_usize..20_000,
    ) {
        let mut ends = Ends::new();
        let ids: Vec<u32> = (0..4).map(|_| ends.client.open(&request(), false, 1, 1).unwrap()).collect();
        let mut sent = 0;
        for (stream, length) in &pieces {
            ends.client.send_data(ids[*stream], &vec![7; *length], false).unwrap();
            sent += length;
        }
        for id in ids {
            ends.client.send_data(id, &[], true).unwrap();
        }
        let [_, server] = ends.talk(piece);
        prop_assert_eq!(server.body.len(), sent);
    }
}
