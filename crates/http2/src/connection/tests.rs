use proptest::prelude::*;

use super::*;
use crate::fields::Indexing;

const BOUNDS: Bounds = Bounds {
    streams: 8,
    header_bytes: 4096,
    stream_window: 100_000,
    connection_window: 200_000,
    waiting: 300_000,
};
/// Frames in one turn.
const ALL: usize = usize::MAX;

fn request() -> Fields {
    fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/x"),
        (":authority", "nrf"),
    ])
}

/// An interim response that compression makes no smaller.
fn early() -> Fields {
    let mut early = fields(&[(":status", "103")]);
    early.push(b"link", &[b'x'; 1000], Indexing::Plain);
    early
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
                let used = to
                    .receive(rest, ALL, &mut events)
                    .expect("the peer keeps to the rules")
                    .used;
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
    let id = ends.client.open(&request(), false, 1, 1).unwrap();
    assert_eq!(ends.client.send_data(id, b"question", true), Ok(8));
    let [_, server] = ends.talk(usize::MAX);
    assert_eq!(server.heads, [(id, request(), false)]);
    assert_eq!((server.body.as_slice(), server.ended), (&b"question"[..], true));
    assert_eq!(ends.server.send_head(id, &response(), false), Ok(()));
    assert_eq!(ends.server.send_data(id, b"answer", false), Ok(6));
    assert_eq!(ends.server.send_trailers(id, fields(&[("checksum", "1")])), Ok(()));
    let [client, _] = ends.talk(usize::MAX);
    assert_eq!(client.body, b"answer");
    assert_eq!(client.trailers.len(), 1, "trailers that come with the last of the body");
    assert!(ends.client.is_idle() && ends.server.is_idle());
}

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

/// The other end may be one that gives a window back when its program has read: then a body that it does not read is not to stop
/// those of others.
#[test]
fn bodies_that_the_other_end_does_not_read_leave_window_to_those_of_another_owner() {
    let mut ends = Ends::new();
    let mut sent = 0;
    // What is sent is never looked at: no window comes back.
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
fn a_peer_that_sends_frames_that_carry_nothing_is_sent_away_and_time_allows_for_some() {
    let mut ping = Vec::new();
    frame::put_header(&mut ping, 8, frame::PING, 0, 0);
    ping.extend([0; 8]);
    let mut empty = Vec::new();
    frame::put_header(&mut empty, 0, frame::DATA, 0, 1);
    let mut settings = Vec::new();
    frame::put_header(&mut settings, 6, frame::SETTINGS, 0, 0);
    settings.extend([0, 4, 0, 0, 1, 0]);
    let mut unknown = Vec::new();
    frame::put_header(&mut unknown, 0, 0xfa, 0, 1);
    let mut window = Vec::new();
    frame::put_number(&mut window, frame::WINDOW_UPDATE, 0, 1);
    for idle in [ping, empty, settings, unknown, window] {
        let mut ends = Ends::new();
        ends.client.open(&request(), false, 1, 1).unwrap();
        ends.talk(usize::MAX);
        let send = |server: &mut Connection<u8>| {
            let received = server.receive(&idle, ALL, &mut Vec::new());
            server.wrote(server.output().len());
            received
        };
        let sent = (0..100_000).find(|_| send(&mut ends.server).is_err());
        assert!((4000..5000).contains(&sent.expect("an end")), "{idle:?} {sent:?}");
        ends.server.sweep(Sweeps { stalled: 9, refused: 9 });
        assert!((0..200).all(|_| send(&mut ends.server).is_ok()), "{idle:?}");
    }
}

#[test]
fn a_turn_takes_so_many_frames_and_says_that_there_are_more() {
    let mut ends = Ends::new();
    let mut pings = Vec::new();
    for _ in 0..10 {
        frame::put_header(&mut pings, 8, frame::PING, 0, 0);
        pings.extend([0; 8]);
    }
    let first = ends.server.receive(&pings, 4, &mut Vec::new()).unwrap();
    assert_eq!(
        first,
        Received {
            used: 4 * 17,
            frames: 4,
            more: true
        }
    );
    let rest = ends.server.receive(&pings[first.used..], 6, &mut Vec::new()).unwrap();
    assert_eq!(
        rest,
        Received {
            used: 6 * 17,
            frames: 6,
            more: false
        }
    );
}

#[test]
fn a_server_that_speaks_http_1_is_recognised_by_its_first_bytes() {
    let mut client: Connection<u8> = Connection::new(Role::Client, BOUNDS);
    let fault = client
        .receive(b"HTTP/1.1 400 Bad Request\r\n", ALL, &mut Vec::new())
        .unwrap_err();
    assert_eq!(fault.code, Code::HTTP_1_1_REQUIRED);
}

#[test]
fn streams_beyond_the_bound_are_refused_and_goodbye_names_the_last() {
    let mut ends = Ends::new();
    for _ in 0..BOUNDS.streams {
        assert!(ends.client.open(&request(), true, 1, 1).is_some());
    }
    assert!(!ends.client.has_room());
    ends.talk(usize::MAX);
    ends.server.drain();
    ends.talk(usize::MAX);
    assert!(ends.client.away().is_some() && !ends.client.has_room());
    assert!(!ends.server.is_drained());
    for number in 0..BOUNDS.streams {
        assert_eq!(ends.server.send_head(2 * number + 1, &response(), true), Ok(()));
    }
    ends.talk(usize::MAX);
    assert!(ends.server.is_drained());
    assert!(ends.client.is_idle());
}

/// libcurl reads an idle connection only when it is asked for something: no PING of ours is answered until then.
#[test]
fn a_client_that_reads_nothing_is_drained_without_its_answer_and_may_repeat_what_it_asks_too_late() {
    let mut ends = Ends::new();
    ends.client.open(&request(), true, 1, 1).unwrap();
    ends.talk(usize::MAX);
    assert_eq!(ends.server.send_head(1, &response(), true), Ok(()));
    ends.talk(usize::MAX);
    ends.server.drain();
    assert!(!ends.server.is_drained());
    ends.client.open(&request(), true, 1, 2).unwrap();
    ends.server.conclude();
    assert!(ends.server.is_drained());
    let [client, server] = ends.talk(usize::MAX);
    assert_eq!((client.unprocessed, client.resets.len(), server.heads.len()), (1, 0, 0));
}

#[test]
fn requests_after_an_abrupt_goodbye_are_told_as_unprocessed() {
    let mut ends = Ends::new();
    ends.server.fail(Code::ENHANCE_YOUR_CALM);
    ends.client.open(&request(), true, 1, 1).unwrap();
    ends.client.open(&request(), true, 1, 2).unwrap();
    let [client, server] = ends.talk(usize::MAX);
    assert_eq!((client.unprocessed, client.resets.len(), server.heads.len()), (2, 0, 0));
}

/// A reset right after the response made clients lose the response (curl 7.88).
#[test]
fn a_server_that_answers_early_reads_the_rest_and_ends_without_a_reset() {
    let mut ends = Ends::new();
    let id = ends.client.open(&request(), false, 1, 1).unwrap();
    ends.client.send_data(id, &[1; 50_000], false).unwrap();
    ends.reads = false;
    ends.talk(usize::MAX);
    assert_eq!(ends.server.take_kept(id), Some(7));
    ends.server.refuse_rest(id, Code::NO_ERROR, 400_000);
    ends.server.send_head(id, &response(), false).unwrap();
    ends.server.send_data(id, b"enough", true).unwrap();
    let [client, _] = ends.talk(usize::MAX);
    assert!(client.ended && client.resets.is_empty());
    // What it sends on is read, and shown to nobody.
    ends.client.send_data(id, &[1; 300_000], true).unwrap();
    let [client, server] = ends.talk(usize::MAX);
    assert_eq!((client.resets.len(), server), (0, Told::default()));
    assert!(ends.server.is_idle() && ends.client.is_idle());
}

#[test]
fn the_rest_of_a_request_that_nobody_wants_is_bounded_in_bytes_and_in_time() {
    for too_long in [true, false] {
        let mut ends = Ends::new();
        let id = ends.client.open(&request(), false, 1, 1).unwrap();
        ends.talk(usize::MAX);
        ends.server.refuse_rest(id, Code::NO_ERROR, 1000);
        ends.server.send_head(id, &response(), true).unwrap();
        let [client, _] = ends.talk(usize::MAX);
        assert!(client.resets.is_empty());
        let reset = [(Code::NO_ERROR, Role::Server, Some(1))];
        if too_long {
            ends.client.send_data(id, &[1; 1000], false).unwrap();
        } else {
            let enough = Sweeps { stalled: 9, refused: 2 };
            for _ in 0..3 {
                assert_eq!(ends.server.sweep(enough), []);
            }
        }
        assert_eq!(ends.talk(usize::MAX)[0].resets, reset);
        assert!(ends.server.is_idle());
    }
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
    let fault = server.receive(&bytes, ALL, &mut Vec::new()).unwrap_err();
    assert_eq!(fault.code, Code::ENHANCE_YOUR_CALM);
}

#[test]
fn frames_are_found_wherever_the_input_is_cut() {
    for piece in [1, 2, 3, 7, 100] {
        let mut ends = Ends::new();
        let mut large = request();
        large.push(b"x-large", &[b'v'; 3000], Indexing::Plain);
        let id = ends.client.open(&large, false, 1, 1).unwrap();
        ends.client.send_data(id, &[b'b'; 5000], true).unwrap();
        let [_, server] = ends.talk(piece);
        assert_eq!(server.heads, [(id, large, false)]);
        assert_eq!((server.body.len(), server.ended), (5000, true));
    }
}

/// One frame of a client that keeps to the standard nearly always: what it is, its flags, its stream and its payload.
fn frame_of_a_client() -> impl Strategy<Value = (u8, u8, u32, Vec<u8>)> {
    let stream = (0_u32..6).prop_map(|index| 2 * index + 1);
    // Of the static table: a request with a path that is a literal.
    let head = (any::<bool>(), "[a-z]{1,9}").prop_map(|(post, path)| {
        let mut block = vec![if post { 0x83 } else { 0x82 }, 0x86, 0x04, path.len() as u8 + 1, b'/'];
        block.extend(path.as_bytes());
        block
    });
    let bytes = |most: usize| proptest::collection::vec(any::<u8>(), 0..most);
    prop_oneof![
        20 => (stream.clone(), 0_u8..8, head).prop_map(|(stream, end, head)| (frame::HEADERS, 0x04 | u8::from(end == 0), stream, head)),
        20 => (stream.clone(), 0_u8..8, bytes(60)).prop_map(|(stream, end, body)| (frame::DATA, u8::from(end == 0), stream, body)),
        2 => stream.clone().prop_map(|stream| (frame::RST_STREAM, 0, stream, vec![0, 0, 0, 8])),
        2 => (0_u32..6, 1_u32..9).prop_map(|(stream, by)| (frame::WINDOW_UPDATE, 0, stream, by.to_be_bytes().to_vec())),
        2 => any::<[u8; 8]>().prop_map(|ping| (frame::PING, 0, 0, ping.to_vec())),
        1 => Just((frame::SETTINGS, 1, 0, Vec::new())),
        1 => (3_u16..5, 1_u32..100).prop_map(|(name, value)| {
            (frame::SETTINGS, 0, 0, [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
        }),
        1 => (0x20_u8..0x40, bytes(20)).prop_map(|(kind, payload)| (kind, 0, 0, payload)),
        // Anything at all: few connections go on behind one.
        1 => (0_u8..11, any::<u8>(), 0_u32..8, bytes(40)),
    ]
}

/// What a client sends.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(frame_of_a_client(), 1..40).prop_map(|frames| {
        let mut bytes = PREFACE.to_vec();
        frame::put_header(&mut bytes, 0, frame::SETTINGS, 0, 0);
        let mut opened = 0;
        for (kind, flags, stream, payload) in frames {
            if opened == 0 && matches!(kind, frame::DATA | frame::RST_STREAM | frame::WINDOW_UPDATE) {
                continue;
            }
            // Each request opens the next stream, and bodies are of those that were opened.
            let stream = match kind {
                frame::HEADERS => {
                    opened += 1;
                    2 * opened - 1
                }
                frame::DATA | frame::RST_STREAM => 2 * (stream % opened) + 1,
                frame::WINDOW_UPDATE if stream > 0 => 2 * (stream % opened) + 1,
                _ => stream,
            };
            frame::put_header(&mut bytes, payload.len(), kind, flags, stream);
            bytes.extend(payload);
        }
        bytes
    })
}

/// Heads, bytes of bodies, frames and the fault of what a client sends, taken in pieces.
fn received(bytes: &[u8], piece: usize) -> (Vec<u32>, usize, usize, Option<Fault>) {
    let mut server: Connection<u8> = Connection::new(Role::Server, BOUNDS);
    let (mut heads, mut body, mut frames) = (Vec::new(), 0, 0);
    let mut waiting = Vec::new();
    for piece in bytes.chunks(piece) {
        waiting.extend_from_slice(piece);
        let mut events = Vec::new();
        let taken = server.receive(&waiting, ALL, &mut events);
        for event in events {
            match event {
                Event::Head { stream, .. } => heads.push(stream),
                Event::Data { from, to, .. } => body += to - from,
                _ => {}
            }
        }
        server.seen();
        match taken {
            Ok(taken) => {
                frames += taken.frames;
                waiting.drain(..taken.used);
            }
            Err(fault) => return (heads, body, frames, Some(fault)),
        }
    }
    (heads, body, frames, None)
}

/// A strategy whose frames all die at the first would show nothing.
#[test]
fn the_frames_that_are_tried_reach_requests_with_bodies() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let tried: Vec<_> = (0..100)
        .map(|_| received(&frames().new_tree(&mut runner).unwrap().current(), usize::MAX))
        .collect();
    type Received = (Vec<u32>, usize, usize, Option<Fault>);
    let count = |is: fn(&Received) -> bool| tried.iter().filter(|one| is(one)).count();
    let [heads, several, bodies] = [
        count(|(heads, ..)| !heads.is_empty()),
        count(|(heads, ..)| heads.len() > 1),
        count(|(_, body, ..)| *body > 0),
    ];
    assert!(heads > 60 && several > 30 && bodies > 30, "{heads} {several} {bodies}");
    let faults: std::collections::BTreeSet<_> = tried.iter().filter_map(|one| one.3.map(|fault| fault.why)).collect();
    assert!(faults.len() > 2, "{faults:?}");
}

proptest! {
    #[test]
    fn no_frames_panic_and_the_output_is_bounded_by_the_input(bytes in frames(), piece in 1_usize..50) {
        let mut server: Connection<u8> = Connection::new(Role::Server, BOUNDS);
        let opening = server.output().len();
        let mut events = Vec::new();
        let _ = server.receive(&bytes, ALL, &mut events);
        prop_assert!(server.output().len() <= opening + 4 * bytes.len() + 100);
        prop_assert!(server.open_streams() <= BOUNDS.streams as usize);
        server.seen();
        let whole = received(&bytes, bytes.len());
        let pieces = received(&bytes, piece);
        // Frames before one with a fault are counted where it comes in a later piece.
        prop_assert_eq!((&whole.0, whole.1, whole.3), (&pieces.0, pieces.1, pieces.3));
    }

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

#[test]
fn what_moves_is_told_to_the_last_byte() {
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
