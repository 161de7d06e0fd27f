use proptest::prelude::*;

use super::*;
use crate::fields::Indexing;

const BOUNDS: Bounds = Bounds {
    streams: 8,
    header_bytes: 4096,
    stream_window: 100_000,
    connection_window: 200_000,
};

fn request() -> Fields {
    fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/x"),
        (":authority", "nrf"),
    ])
}

fn response() -> Fields {
    fields(&[(":status", "200")])
}

fn fields(list: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in list {
        fields.push(name.as_bytes(), value.as_bytes(), Indexing::Kept);
    }
    fields
}

/// What one end has told, bodies in one piece.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    heads: Vec<(u32, Fields, bool)>,
    body: Vec<u8>,
    ended: bool,
    trailers: Vec<Fields>,
    resets: Vec<(Code, Role, Option<u8>)>,
    unprocessed: usize,
    moved: usize,
}

struct Ends {
    client: Connection<u8>,
    server: Connection<u8>,
    /// Bodies are released as soon as they come.
    reads: bool,
}

impl Ends {
    fn new() -> Self {
        let mut ends = Self {
            client: Connection::new(Role::Client, BOUNDS),
            server: Connection::new(Role::Server, BOUNDS),
            reads: true,
        };
        ends.talk(usize::MAX);
        assert!(ends.client.is_settled() && ends.server.is_settled());
        ends
    }

    /// Carries bytes both ways until nobody has anything to say; at most so many at a time.
    fn talk(&mut self, piece: usize) -> [Told; 2] {
        let mut told = [Told::default(), Told::default()];
        let mut rests = [Vec::new(), Vec::new()];
        loop {
            let mut quiet = true;
            for index in 0..2 {
                let (from, to) = match index {
                    0 => (&mut self.server, &mut self.client),
                    _ => (&mut self.client, &mut self.server),
                };
                let mut held = Vec::new();
                from.pump(&mut held);
                let moved = held.iter().map(|event| match event {
                    Event::Moved { bytes, .. } => *bytes,
                    _ => 0,
                });
                told[1 - index].moved += moved.sum::<usize>();
                let output = from.output();
                if output.is_empty() {
                    continue;
                }
                quiet = false;
                let bytes = output[..output.len().min(piece)].to_vec();
                from.wrote(bytes.len());
                let rest: &mut Vec<u8> = &mut rests[index];
                rest.extend(bytes);
                let mut events = Vec::new();
                let used = to.receive(rest, &mut events).expect("the peer keeps to the rules");
                for event in events {
                    told[index].take(event, rest, to, self.reads);
                }
                to.seen();
                rest.drain(..used);
            }
            if quiet {
                return told;
            }
        }
    }
}

impl Told {
    fn take(&mut self, event: Event<u8>, input: &[u8], of: &mut Connection<u8>, reads: bool) {
        match event {
            Event::Head {
                stream, fields, end, ..
            } => {
                self.heads.push((stream, fields, end));
                self.ended |= end;
                if of.role == Role::Server {
                    of.keep(stream, 7);
                }
            }
            Event::Data { stream, from, to, end } => {
                self.body.extend_from_slice(&input[from..to]);
                self.ended |= end;
                if reads {
                    of.release(stream, to - from);
                }
            }
            Event::Trailers { fields, .. } => {
                self.trailers.push(fields);
                self.ended = true;
            }
            Event::Reset { code, by, kept } => self.resets.push((code, by, kept)),
            Event::Unprocessed { .. } => self.unprocessed += 1,
            Event::Moved { bytes, .. } => self.moved += bytes,
        }
    }
}

#[test]
fn a_request_and_its_response_pass_and_nothing_is_left() {
    let mut ends = Ends::new();
    let id = ends.client.open(&request(), false, 1).unwrap();
    assert_eq!(ends.client.send_data(id, b"question", true), Some(8));
    let [_, server] = ends.talk(usize::MAX);
    assert_eq!(server.heads, [(id, request(), false)]);
    assert_eq!((server.body.as_slice(), server.ended), (&b"question"[..], true));
    assert!(ends.server.send_head(id, &response(), false));
    assert_eq!(ends.server.send_data(id, b"answer", false), Some(6));
    ends.server.send_trailers(id, fields(&[("checksum", "1")]));
    let [client, _] = ends.talk(usize::MAX);
    assert_eq!(client.body, b"answer");
    assert_eq!(client.trailers.len(), 1, "trailers that come with the last of the body");
    assert!(ends.client.is_idle() && ends.server.is_idle());
}

#[test]
fn a_reader_that_does_not_read_stops_its_sender_at_the_window() {
    let mut ends = Ends::new();
    ends.reads = false;
    let id = ends.client.open(&request(), false, 1).unwrap();
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

#[test]
fn what_a_reset_stream_held_of_the_connections_window_is_given_back() {
    let mut ends = Ends::new();
    ends.reads = false;
    for _ in 0..20 {
        let id = ends.client.open(&request(), false, 1).unwrap();
        ends.client.send_data(id, &[1; 100_000], false);
        ends.talk(usize::MAX);
        assert_eq!(ends.server.reset(id, Code::CANCEL), Some(7));
        let [client, _] = ends.talk(usize::MAX);
        assert_eq!(client.resets, [(Code::CANCEL, Role::Server, Some(1))]);
    }
    ends.reads = true;
    let id = ends.client.open(&request(), false, 1).unwrap();
    ends.client.send_data(id, &[1; 150_000], true);
    let [_, server] = ends.talk(usize::MAX);
    assert!(server.ended);
}

#[test]
fn streams_beyond_the_bound_are_refused_and_goodbye_names_the_last() {
    let mut ends = Ends::new();
    for _ in 0..BOUNDS.streams {
        assert!(ends.client.open(&request(), true, 1).is_some());
    }
    assert!(!ends.client.has_room());
    ends.talk(usize::MAX);
    ends.server.drain();
    ends.talk(usize::MAX);
    assert!(ends.client.away().is_some() && !ends.client.has_room());
    assert!(!ends.server.is_drained());
    for number in 0..BOUNDS.streams {
        ends.server.send_head(2 * number + 1, &response(), true);
    }
    ends.talk(usize::MAX);
    assert!(ends.server.is_drained());
    assert!(ends.client.is_idle());
}

#[test]
fn requests_after_an_abrupt_goodbye_are_told_as_unprocessed() {
    let mut ends = Ends::new();
    ends.server.fail(Code::ENHANCE_YOUR_CALM);
    ends.client.open(&request(), true, 1).unwrap();
    ends.client.open(&request(), true, 2).unwrap();
    let [client, server] = ends.talk(usize::MAX);
    assert_eq!((client.unprocessed, client.resets.len(), server.heads.len()), (2, 0, 0));
}

#[test]
fn a_server_that_answers_early_refuses_the_rest_without_an_error() {
    let mut ends = Ends::new();
    let id = ends.client.open(&request(), false, 1).unwrap();
    ends.talk(usize::MAX);
    ends.server.abandon(id, Code::NO_ERROR);
    ends.server.send_head(id, &response(), false);
    ends.server.send_data(id, b"enough", true);
    let [client, _] = ends.talk(usize::MAX);
    assert!(client.ended);
    assert_eq!(client.resets, [(Code::NO_ERROR, Role::Server, Some(1))]);
    assert!(ends.server.is_idle());
}

#[test]
fn a_header_block_without_end_ends_the_connection() {
    let mut server: Connection<u8> = Connection::new(Role::Server, BOUNDS);
    let mut bytes = PREFACE.to_vec();
    frame::put_header(&mut bytes, 0, frame::SETTINGS, 0, 0);
    frame::put_header(&mut bytes, 0, frame::HEADERS, 0, 1);
    for _ in 0..10 {
        frame::put_header(&mut bytes, 16_000, frame::CONTINUATION, 0, 1);
        bytes.extend([b'x'; 16_000]);
    }
    let fault = server.receive(&bytes, &mut Vec::new()).unwrap_err();
    assert_eq!(fault.code, Code::ENHANCE_YOUR_CALM);
}

#[test]
fn frames_are_found_wherever_the_input_is_cut() {
    for piece in [1, 2, 3, 7, 100] {
        let mut ends = Ends::new();
        let mut large = request();
        large.push(b"x-large", &[b'v'; 3000], Indexing::Plain);
        let id = ends.client.open(&large, false, 1).unwrap();
        ends.client.send_data(id, &[b'b'; 5000], true);
        let [_, server] = ends.talk(piece);
        assert_eq!(server.heads, [(id, large, false)]);
        assert_eq!((server.body.len(), server.ended), (5000, true));
    }
}

/// Frames that make sense at least by their header.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let frame = (
        0_u8..11,
        any::<u8>(),
        0_u32..8,
        proptest::collection::vec(any::<u8>(), 0..40),
    );
    proptest::collection::vec(frame, 0..40).prop_map(|frames| {
        let mut bytes = PREFACE.to_vec();
        frame::put_header(&mut bytes, 0, frame::SETTINGS, 0, 0);
        for (kind, flags, stream, payload) in frames {
            frame::put_header(&mut bytes, payload.len(), kind, flags, stream);
            bytes.extend(payload);
        }
        bytes
    })
}

proptest! {
    #[test]
    fn no_frames_panic_and_the_output_is_bounded_by_the_input(bytes in frames()) {
        let mut server: Connection<u8> = Connection::new(Role::Server, BOUNDS);
        let opening = server.output().len();
        let mut events = Vec::new();
        let _ = server.receive(&bytes, &mut events);
        prop_assert!(server.output().len() <= opening + 4 * bytes.len() + 100);
        server.seen();
    }

    #[test]
    fn bodies_of_many_streams_arrive_whole_in_any_order_of_sending(
        pieces in proptest::collection::vec((0_usize..4, 0_usize..40_000), 1..40),
        piece in 1_usize..20_000,
    ) {
        let mut ends = Ends::new();
        let ids: Vec<u32> = (0..4).map(|_| ends.client.open(&request(), false, 1).unwrap()).collect();
        let mut sent = 0;
        for (stream, length) in &pieces {
            ends.client.send_data(ids[*stream], &vec![7; *length], false);
            sent += length;
        }
        for id in ids {
            ends.client.send_data(id, &[], true);
        }
        let [_, server] = ends.talk(piece);
        prop_assert_eq!(server.body.len(), sent);
    }
}

#[test]
fn what_moves_is_told_while_it_is_known_whose_it_is() {
    // Five pieces wait for the window; all of them and the end go on their way at once.
    let bounds = Bounds {
        stream_window: 1 << 20,
        ..BOUNDS
    };
    let mut client: Connection<u8> = Connection::new(Role::Client, BOUNDS);
    let mut server: Connection<u8> = Connection::new(Role::Server, bounds);
    client.open(&request(), true, 0).unwrap();
    let mut events = Vec::new();
    server.receive(client.output(), &mut events).unwrap();
    server.keep(1, 7);
    server.seen();
    assert!(server.send_head(1, &response(), false));
    let body = vec![b'x'; 150_000];
    let sent = server.send_data(1, &body, true).unwrap();
    server.wrote(server.output().len());
    assert!(sent < body.len());
    let mut more = Vec::new();
    frame::put_number(&mut more, frame::WINDOW_UPDATE, 0, 1 << 20);
    frame::put_number(&mut more, frame::WINDOW_UPDATE, 1, 1 << 20);
    let mut moved = 0;
    events.clear();
    server.receive(&more, &mut events).unwrap();
    loop {
        for event in events.drain(..) {
            let Event::Moved { stream, bytes, over } = event else {
                panic!("{event:?}");
            };
            assert_eq!(over.or_else(|| server.kept(stream).copied()), Some(7));
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
        ..BOUNDS
    };
    let mut server: Connection<u8> = Connection::new(Role::Server, BOUNDS);
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
        while asked < answered + 8 && asked < 200 && client.is_settled() && client.open(&request(), true, 0).is_some() {
            asked += 1;
        }
        // client -> consumer
        let bytes = client.output().to_vec();
        client.wrote(bytes.len());
        let mut events = Vec::new();
        assert_eq!(consumer.receive(&bytes, &mut events).unwrap(), bytes.len());
        for event in events {
            match event {
                Event::Head {
                    stream, fields, end, ..
                } => {
                    let id = link.open(&fields, end, stream).unwrap();
                    consumer.keep(stream, id);
                }
                Event::Moved { stream, bytes, over } => {
                    let id = over.or_else(|| consumer.kept(stream).copied()).unwrap();
                    link.release(id, bytes);
                }
                other => panic!("{other:?}"),
            }
        }
        consumer.seen();
        // link -> server
        let bytes = link.output().to_vec();
        link.wrote(bytes.len());
        let mut events = Vec::new();
        server.receive(&bytes, &mut events).unwrap();
        for event in events {
            if let Event::Head { stream, .. } = event {
                server.send_head(stream, &response(), false);
                left.insert(stream, body.len());
            }
        }
        server.seen();
        // The server sends as much as its windows allow, whole bodies at once.
        for (stream, bytes) in std::mem::take(&mut left) {
            server.send_data(stream, &body[..bytes], true);
        }
        let mut events = Vec::new();
        server.pump(&mut events);
        // server -> link, in small pieces
        let bytes = server.output().to_vec();
        server.wrote(bytes.len());
        let mut events = Vec::new();
        link.receive(&bytes, &mut events).unwrap();
        for event in events {
            match event {
                Event::Head {
                    stream, fields, end, ..
                } => {
                    let to = *link.kept(stream).unwrap();
                    assert!(consumer.send_head(to, &fields, end));
                }
                Event::Data { stream, from, to, end } => {
                    let onto = *link.kept(stream).unwrap();
                    let sent = consumer.send_data(onto, &bytes[from..to], end);
                    link.release(stream, sent.unwrap_or(to - from));
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
                    let Event::Moved { stream, bytes, over } = event else {
                        panic!()
                    };
                    let id = over.or_else(|| consumer.kept(stream).copied()).unwrap();
                    link.release(id, bytes);
                }
            }
            let bytes = consumer.output().to_vec();
            if bytes.is_empty() {
                break;
            }
            consumer.wrote(bytes.len());
            let mut events = Vec::new();
            client.receive(&bytes, &mut events).unwrap();
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
