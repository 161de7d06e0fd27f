//! Frames as they come: in pieces, in floods, wrong.

use proptest::prelude::*;

use super::*;

#[test]
fn connection_with_too_many_frames_that_carry_nothing_is_closed_and_time_allows_for_some() {
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

/// A function with one malformed answer a minute lost its connection, and all on it, after 17 hours.
#[test]
fn errors_of_streams_end_a_connection_where_they_come_faster_than_time_allows_for() {
    for (is_swept, end) in [(false, Some(1024)), (true, None)] {
        let mut ends = Ends::new();
        let ended = (0..3000).find(|_| {
            let stream = ends.client.open(&request(), false, 1, 1).unwrap();
            ends.talk(usize::MAX);
            let mut none = Vec::new();
            frame::put_number(&mut none, frame::WINDOW_UPDATE, stream, 0);
            let is_over = ends.server.receive(&none, ALL, &mut Vec::new()).is_err();
            if is_swept {
                ends.server.sweep(Sweeps { stalled: 9, refused: 9 });
            }
            if !is_over {
                ends.talk(usize::MAX);
            }
            is_over
        });
        assert_eq!(ended, end);
        let mut sweeps = 0..1025;
        let last = Sweeps { stalled: 9, refused: 9 };
        assert!(sweeps.all(|_| !ends.server.needs_sweeps() || ends.server.sweep(last).is_empty()));
        assert!(!ends.server.needs_sweeps());
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

/// One entry of the compression table, named by an octet as often as a block has room for.
#[test]
fn header_blocks_that_repeat_an_entry_of_the_table_end_the_connection() {
    let bounds = Bounds {
        header_bytes: 64 * 1024,
        ..BOUNDS
    };
    let entry = [
        &[0x82, 0x86, 0x84, 0x40, 1, b'a', 0x7f, 0xe0, 30][..],
        &[b'x'; 4063][..],
    ]
    .concat();
    // Lists a little too long are answered, a few of them; one that goes on for long is not read to its end.
    for (named, expected) in [(17, 10..16), (120, 0..1)] {
        let mut server: Connection<u8> = Connection::new(Role::Server, bounds);
        let mut opening = PREFACE.to_vec();
        frame::put_header(&mut opening, 0, frame::SETTINGS, 0, 0);
        frame::put_header(&mut opening, entry.len(), frame::HEADERS, 0x05, 1);
        opening.extend(&entry);
        let mut events = Vec::new();
        server.receive(&opening, ALL, &mut events).unwrap();
        assert_eq!(events.len(), 1, "the entry itself is a request");
        let answered = (1..1000).find_map(|index| {
            let mut bytes = Vec::new();
            frame::put_header(&mut bytes, 3 + named, frame::HEADERS, 0x05, 1 + 2 * index);
            bytes.extend([0x82, 0x86, 0x84]);
            bytes.extend(vec![0xbe; named]);
            let fault = server.receive(&bytes, ALL, &mut Vec::new()).err()?;
            assert_eq!(fault.code, Code::ENHANCE_YOUR_CALM);
            Some(index - 1)
        });
        assert!(expected.contains(&answered.expect("an end")), "{named} {answered:?}");
    }
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
    // By the static table: a request with a path that is a literal.
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

/// Frames that a client sends.
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
}
