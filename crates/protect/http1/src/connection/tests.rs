use bartizan_http2::{Event, Indexing, Unsent};
use proptest::prelude::*;

use super::*;

const BOUNDS: Bounds = Bounds {
    streams: 10,
    header_bytes: 4096,
    stream_window: 1000,
    connection_window: 100_000,
    waiting: 3000,
};
const ALL: usize = 1000;

fn server() -> Connection<&'static str> {
    Connection::new(Role::Server, BOUNDS)
}

fn fields(list: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in list {
        fields.push(name.as_bytes(), value.as_bytes(), Indexing::Plain);
    }
    fields
}

/// Events in words, and the number of bytes of the input that were used.
fn receive(connection: &mut Connection<&'static str>, input: &[u8]) -> (String, usize) {
    let mut events = Vec::new();
    let received = connection.receive(input, ALL, &mut events).expect("it is taken");
    let words: Vec<String> = events.iter().map(|event| word(event, input)).collect();
    connection.seen();
    (words.join(" "), received.used)
}

fn word(event: &Event<&'static str>, input: &[u8]) -> String {
    let end = |end: &bool| if *end { "." } else { "" };
    match event {
        Event::Head {
            fields,
            status: 0,
            end: last,
            ..
        } => {
            format!(
                "{}{}",
                String::from_utf8_lossy(fields.value(b":path").unwrap()),
                end(last)
            )
        }
        Event::Head { status, end: last, .. } => format!("{status}{}", end(last)),
        Event::Data {
            from, to, end: last, ..
        } => {
            format!("{:?}{}", String::from_utf8_lossy(&input[*from..*to]), end(last))
        }
        Event::Trailers { fields, .. } => format!("trailers({})", fields.len()),
        Event::Unprocessed { .. } => "unprocessed".to_owned(),
        Event::Moved { bytes, .. } => format!("moved({bytes})"),
        Event::Reset { .. } => "reset".to_owned(),
    }
}

/// Takes the bytes to be written.
fn written(connection: &mut Connection<&'static str>) -> String {
    let text = String::from_utf8_lossy(connection.output()).into_owned();
    connection.wrote(text.len());
    text
}

#[test]
fn requests_sent_ahead_are_answered_one_by_one() {
    let mut server = server();
    let input = b"GET /a HTTP/1.1\r\nHost: nrf\r\n\r\nPOST /b HTTP/1.1\r\nHost: nrf\r\nContent-Length: 2\r\n\r\nhi";
    let (events, used) = receive(&mut server, input);
    assert_eq!((events.as_str(), used), ("/a.", 30));
    assert!(
        server
            .send_head(1, &fields(&[(":status", "200"), ("content-length", "1")]), false)
            .is_ok()
    );
    assert_eq!(server.send_data(1, b"x", true), Ok(1));
    assert_eq!(written(&mut server), "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx");
    assert!(server.take_resumed() && server.is_idle());
    assert_eq!(receive(&mut server, &input[used..]).0, "/b \"hi\".");
    assert!(server.send_head(3, &fields(&[(":status", "204")]), true).is_ok());
    assert_eq!(written(&mut server), "HTTP/1.1 204 No Content\r\n\r\n");
    assert!(server.is_idle() && !server.is_drained());
}

#[test]
fn a_response_without_length_is_chunked_and_its_trailers_follow() {
    let mut server = server();
    receive(&mut server, b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n");
    server
        .send_head(1, &fields(&[(":status", "103"), ("link", "x")]), false)
        .unwrap();
    server.send_head(1, &fields(&[(":status", "200")]), false).unwrap();
    assert_eq!(server.send_data(1, b"hello world", false), Ok(11));
    server.send_trailers(1, fields(&[("check", "42")])).unwrap();
    assert_eq!(
        written(&mut server),
        "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\ncheck: 42\r\n\r\n"
    );
}

#[test]
fn announced_trailers_take_chunks_instead_of_a_length() {
    let mut server = server();
    receive(&mut server, b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n");
    let head = [(":status", "200"), ("content-length", "2"), ("trailer", "check")];
    server.send_head(1, &fields(&head), false).unwrap();
    server.send_data(1, b"hi", false).unwrap();
    server.send_trailers(1, fields(&[("check", "42")])).unwrap();
    assert_eq!(
        written(&mut server),
        "HTTP/1.1 200 OK\r\ntrailer: check\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\ncheck: 42\r\n\r\n"
    );
}

#[test]
fn a_client_of_http10_gets_neither_chunks_nor_interim_responses() {
    let mut server = server();
    receive(&mut server, b"GET / HTTP/1.0\r\n\r\n");
    server.send_head(1, &fields(&[(":status", "100")]), false).unwrap();
    server.send_head(1, &fields(&[(":status", "200")]), false).unwrap();
    server.send_data(1, b"hello", true).unwrap();
    assert_eq!(
        written(&mut server),
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello"
    );
    assert!(server.is_drained());
}

#[test]
fn an_answer_to_head_has_a_length_and_no_body() {
    let mut server = server();
    receive(&mut server, b"HEAD / HTTP/1.1\r\nHost: nrf\r\n\r\n");
    server
        .send_head(1, &fields(&[(":status", "200"), ("content-length", "5")]), true)
        .unwrap();
    assert_eq!(written(&mut server), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    assert!(server.is_idle());
}

#[test]
fn a_request_answered_before_its_end_is_the_last_and_its_rest_is_read() {
    let mut server = server();
    receive(
        &mut server,
        b"POST / HTTP/1.1\r\nHost: nrf\r\nContent-Length: 500\r\n\r\nab",
    );
    server.refuse_rest(1, Code::NO_ERROR, 100_000);
    server
        .send_head(1, &fields(&[(":status", "504"), ("content-length", "2")]), false)
        .unwrap();
    server.send_data(1, b"no", true).unwrap();
    assert!(written(&mut server).ends_with("connection: close\r\n\r\nno"));
    assert!(!server.is_drained());
    assert_eq!(receive(&mut server, &[b'x'; 498]), (String::new(), 498));
    assert!(server.is_drained());
}

#[test]
fn a_broken_off_response_ends_the_connection_without_its_end() {
    let mut one = server();
    receive(&mut one, b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n");
    one.keep(1, "kept");
    one.send_head(1, &fields(&[(":status", "200")]), false).unwrap();
    one.send_data(1, b"half", false).unwrap();
    assert_eq!(one.reset(1, Code::INTERNAL_ERROR), Some("kept"));
    assert!(one.is_drained() && !written(&mut one).contains("0\r\n\r\n"));
    let mut unreported = server();
    receive(&mut unreported, b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n");
    unreported.reset(1, Code::CANCEL);
    assert!(unreported.is_drained() && written(&mut unreported).starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
    // More than was announced would be taken for the next response.
    let mut long = server();
    receive(&mut long, b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n");
    long.send_head(1, &fields(&[(":status", "200"), ("content-length", "1")]), false)
        .unwrap();
    assert_eq!(long.send_data(1, b"xy", true), Err(Unsent::Over));
    assert!(long.is_drained() && written(&mut long).ends_with("\r\n\r\n"));
}

#[test]
fn a_malformed_request_is_answered_once_and_is_the_last() {
    let mut server = server();
    let mut events: Vec<Event<&str>> = Vec::new();
    let fault = server
        .receive(b"GET / HTTP/1.1\nHost: nrf\n\n", ALL, &mut events)
        .unwrap_err();
    assert!(events.is_empty());
    server.fail(fault.code, fault.why);
    assert!(written(&mut server).starts_with("HTTP/1.1 400 Bad Request\r\n"));
    assert!(server.is_drained() && server.lingers());
    // The following bytes are no request, whatever they look like.
    assert_eq!(receive(&mut server, b"GET /x HTTP/1.1\r\nHost: nrf\r\n\r\n").0, "");
}

#[test]
fn a_body_that_is_not_taken_stops_the_reading_of_it() {
    let mut server = server();
    let head = b"POST / HTTP/1.1\r\nHost: nrf\r\nContent-Length: 3000\r\n\r\n";
    let input = [&head[..], &[b'x'; 3000]].concat();
    let (_, used) = receive(&mut server, &input);
    assert_eq!(used, head.len() + 1000);
    assert!(server.is_paused());
    assert_eq!(receive(&mut server, &input[used..]).1, 0);
    server.release(1, 600);
    assert!(server.take_resumed() && !server.is_paused());
    assert_eq!(receive(&mut server, &input[used..]).1, 600);
}

#[test]
fn a_client_takes_interim_and_final_responses_and_keeps_the_connection() {
    let mut client = Connection::new(Role::Client, BOUNDS);
    let request = fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/x"),
        (":authority", "nrf:8000"),
        ("cookie", "a=1"),
        ("cookie", "b=2"),
        ("te", "trailers"),
    ]);
    assert_eq!(client.open(&request, false, "kept"), Ok(1));
    assert!(!client.has_room());
    client.send_data(1, b"hello", true).unwrap();
    assert_eq!(
        written(&mut client),
        "POST /x HTTP/1.1\r\nhost: nrf:8000\r\ncookie: a=1; b=2\r\nte: trailers\r\nconnection: te\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    );
    let (events, _) = receive(&mut client, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx: y\r\n\r\n");
    assert_eq!(events, "100 200 \"hi\" trailers(1)");
    assert!(client.has_room());
    let get = fields(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "nrf"),
    ]);
    assert_eq!(client.open(&get, true, "again"), Ok(3));
    // Closed without a word: whether it was processed does not matter to a GET.
    let mut events = Vec::new();
    client.finish(true, &mut events);
    assert!(matches!(events[..], [Event::Unprocessed { kept: Some("again") }]));
}

#[test]
fn what_may_not_be_done_twice_is_not_given_back() {
    let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
    for (id, method) in [(1, "GET"), (3, "POST")] {
        let request = fields(&[
            (":method", method),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "nrf"),
        ]);
        assert_eq!(client.open(&request, true, "kept"), Ok(id));
        if id == 1 {
            receive(&mut client, b"HTTP/1.1 204 No Content\r\n\r\n");
        }
    }
    let mut events = Vec::new();
    client.finish(true, &mut events);
    assert!(events.is_empty());
    assert_eq!(client.clear(), ["kept"]);
}

#[test]
fn bytes_that_answer_nothing_and_another_protocol_end_the_connection() {
    let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
    let get = fields(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "nrf"),
    ]);
    client.open(&get, true, "kept").unwrap();
    // A second response behind the first would be given to the next request.
    let input = b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(receive(&mut client, input).0, "204.");
    assert!(client.is_idle() && client.is_leaving() && !client.has_room());
    assert_eq!(client.open(&get, true, "next"), Err(Unopened::NoRoom));
    // The same where a turn ends between the two.
    let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
    client.open(&get, true, "kept").unwrap();
    let received = client.receive(input, 1, &mut Vec::new()).unwrap();
    client.seen();
    assert!(received.more && !client.has_room());
    // And where they come later, before the next request.
    let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
    client.open(&get, true, "kept").unwrap();
    let (_, used) = receive(&mut client, &input[..27]);
    assert!(used == 27 && client.has_room());
    assert!(client.receive(&input[27..], ALL, &mut Vec::new()).is_err());
    for (input, code) in [
        (&b"\0\0\x06\x04\0\0\0\0\0"[..], Code::HTTP_1_1_REQUIRED),
        (b"SSH-2.0-x\r\n", Code::PROTOCOL_ERROR),
    ] {
        let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
        client.open(&get, true, "kept").unwrap();
        let fault = client.receive(input, ALL, &mut Vec::new()).unwrap_err();
        assert_eq!(fault.code, code);
    }
}

#[test]
fn a_body_without_length_ends_with_its_connection_if_that_ended_well() {
    for clean in [true, false] {
        let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
        let get = fields(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "nrf"),
        ]);
        client.open(&get, true, "kept").unwrap();
        assert_eq!(receive(&mut client, b"HTTP/1.0 200 OK\r\n\r\nhello").0, "200 \"hello\"");
        let mut events = Vec::new();
        client.finish(clean, &mut events);
        assert_eq!(matches!(events[..], [Event::Data { end: true, .. }]), clean);
    }
}

/// The caller answers it; the connection carries the next.
#[test]
fn a_head_that_cannot_be_written_is_not_sent_and_changes_nothing() {
    let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
    let head = |path, host| {
        fields(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", path),
            (":authority", host),
        ])
    };
    for (path, host) in [("http://evil/x", "nrf"), ("/a b", "nrf"), ("/", "n rf"), ("/", "")] {
        assert_eq!(
            client.open(&head(path, host), true, "kept"),
            Err(Unopened::Unwritable),
            "{path}"
        );
    }
    assert!(client.output().is_empty() && client.has_room());
    let mut once = head("/x", "nrf");
    for length in ["2", "02"] {
        once.push(b"content-length", length.as_bytes(), Indexing::Plain);
    }
    assert_eq!(client.open(&once, false, "kept"), Ok(1));
    assert_eq!(
        written(&mut client),
        "GET /x HTTP/1.1\r\nhost: nrf\r\ncontent-length: 2\r\n\r\n"
    );
    // Less of the body than was announced.
    assert_eq!(client.send_data(1, b"x", true), Err(Unsent::Over));
    assert!(client.is_broken_off());
}

#[test]
fn what_is_not_taken_waits_within_its_bound() {
    let mut server = server();
    receive(&mut server, b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n");
    server.send_head(1, &fields(&[(":status", "200")]), false).unwrap();
    assert_eq!(server.send_data(1, &[b'x'; OUT_MARK], false), Ok(OUT_MARK));
    assert_eq!(server.send_data(1, &[b'y'; 2000], false), Ok(0));
    assert_eq!((server.waiting(), server.holds()), (2000, true));
    assert_eq!(server.send_data(1, &[b'y'; 2000], false), Err(Unsent::Full));
    assert_eq!(server.send_data(1, &[], true), Ok(0));
    let enough = Sweeps { stalled: 1, refused: 1 };
    assert_eq!(server.sweep(enough), []);
    assert_eq!(server.sweep(enough), [1]);
    written(&mut server);
    let mut events = Vec::new();
    server.pump(&mut events);
    assert!(matches!(events[..], [Event::Moved { stream: 1, bytes: 2000 }]));
    assert!(written(&mut server).ends_with("\r\n0\r\n\r\n") && server.is_idle());
}

#[test]
fn a_head_that_does_not_end_is_answered_after_a_while() {
    let mut server = server();
    assert_eq!(receive(&mut server, b"GET / HT").1, 0);
    assert!(server.needs_sweeps());
    let enough = Sweeps { stalled: 1, refused: 1 };
    server.sweep(enough);
    assert!(!server.is_drained());
    server.sweep(enough);
    assert!(server.is_drained() && written(&mut server).starts_with("HTTP/1.1 408 Request Timeout\r\n"));
}

proptest! {
    /// However bytes come, the same requests are read from them.
    #[test]
    fn cuts_do_not_change_what_is_read(cuts in proptest::collection::vec(1_usize..20, 0..20)) {
        let input = b"POST /a HTTP/1.1\r\nHost: nrf\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n1\r\n!\r\n0\r\nc: d\r\n\r\n";
        let (mut server, mut rest, mut content, mut trailers) = (server(), Vec::new(), Vec::new(), 0);
        let mut left = &input[..];
        let mut cuts = cuts.into_iter().chain(std::iter::repeat(7));
        while !left.is_empty() {
            let (now, later) = left.split_at(cuts.next().unwrap().min(left.len()));
            rest.extend_from_slice(now);
            left = later;
            let mut events = Vec::new();
            let received = server.receive(&rest, 2, &mut events).unwrap();
            for event in events {
                match event {
                    Event::Data { from, to, .. } => content.extend_from_slice(&rest[from..to]),
                    Event::Trailers { fields, .. } => trailers += fields.len(),
                    _ => {}
                }
            }
            server.seen();
            rest.drain(..received.used);
        }
        while !rest.is_empty() {
            let mut events = Vec::new();
            let used = server.receive(&rest, ALL, &mut events).unwrap().used;
            for event in events {
                match event {
                    Event::Data { from, to, .. } => content.extend_from_slice(&rest[from..to]),
                    Event::Trailers { fields, .. } => trailers += fields.len(),
                    _ => {}
                }
            }
            prop_assert!(used > 0);
            rest.drain(..used);
        }
        prop_assert_eq!(content, b"hello!");
        prop_assert_eq!(trailers, 1);
    }

    /// A written message is read again as the one message that it was.
    #[test]
    fn a_written_request_is_one_request(path in "/[a-z?=/%.]{0,20}", values in proptest::collection::vec("[ -~]{0,20}", 0..5), body in proptest::collection::vec(any::<u8>(), 0..300), sized in any::<bool>()) {
        let mut request = fields(&[(":method", "POST"), (":scheme", "http"), (":path", &path), (":authority", "nrf")]);
        for (index, value) in values.iter().enumerate() {
            request.push(format!("x-{index}").as_bytes(), value.as_bytes(), Indexing::Plain);
        }
        if sized {
            request.push(b"content-length", body.len().to_string().as_bytes(), Indexing::Plain);
        }
        let mut client: Connection<&str> = Connection::new(Role::Client, BOUNDS);
        client.open(&request, false, "kept").unwrap();
        client.send_data(1, &body, true).unwrap();
        let wire = client.output().to_vec();
        let mut server = server();
        let mut events = Vec::new();
        let received = server.receive(&wire, ALL, &mut events).unwrap();
        prop_assert_eq!(received.used, wire.len());
        let mut read = Vec::new();
        for event in &events {
            match event {
                Event::Head { fields, .. } => prop_assert_eq!(fields.value(b":path"), Some(path.as_bytes())),
                Event::Data { from, to, .. } => read.extend_from_slice(&wire[*from..*to]),
                _ => prop_assert!(false, "{:?}", event),
            }
        }
        prop_assert_eq!(read, body);
        server.seen();
        prop_assert!(server.stream.is_some_and(|stream| stream.is_received()));
    }
}
