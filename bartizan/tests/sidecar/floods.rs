//! Ends of HTTP/1.1 that send without end: heads, requests ahead of their turn, interim responses.
//! Memory stays bounded, and others are served.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::stage::{By, Node, PATIENCE, Pair, Running, Stage, get, until};
use crate::stalls::{limit, nothing_is_under_way, resident};

const MEGABYTE: usize = 1 << 20;
/// Bytes sent if the sidecar takes them all: many times the allowed growth.
const FLOOD: usize = 128 * MEGABYTE;
/// Allowed growth of a sidecar.
const GROWTH: f64 = 16.0 * MEGABYTE as f64;
/// A connection that takes nothing for so long is stuck.
const STUCK: Duration = Duration::from_millis(700);

struct Memory<'a> {
    nodes: [&'a Node; 2],
    before: [f64; 2],
}

impl<'a> Memory<'a> {
    fn of(running: &'a Running) -> Self {
        let nodes = [&running.amf, &running.nrf];
        Self {
            nodes,
            before: nodes.map(resident),
        }
    }

    fn is_bounded(&self, during: &str) {
        for (node, before) in self.nodes.iter().zip(self.before) {
            let grown = resident(node) - before;
            assert!(grown < GROWTH, "grew by {grown} during {during}");
        }
    }
}

/// Writes `piece` again and again until all is sent, the peer takes no more, or the connection is
/// closed; returns the number of bytes written.
fn pour(stream: &mut TcpStream, piece: &[u8]) -> usize {
    stream.set_write_timeout(Some(STUCK)).expect("a timeout");
    let mut written = 0;
    while written < FLOOD {
        match stream.write(piece) {
            Ok(some) => written += some,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    written
}

/// The bytes of a connection until its end, or until nothing comes.
fn rest(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut said = Vec::new();
    // A reset ends it too.
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

/// A function that speaks HTTP/1.1 alone and answers each request by `answer`.
fn produce(address: SocketAddr, answer: impl Fn(&mut TcpStream) + Clone + Send + 'static) {
    let listener = TcpListener::bind(address).expect("the function's port");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut bytes) {
                    if bytes[..read].starts_with(b"PRI ") {
                        let refusal = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
                        let _ = stream.write_all(refusal);
                        return;
                    }
                    answer(&mut stream);
                }
            });
        }
    });
}

#[test]
fn interim_responses_without_end_from_a_function_of_http1_are_bounded_whether_they_are_read_or_not() {
    for reads in [false, true] {
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        produce(pair.ports.function, |stream| {
            let early = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "x".repeat(1024));
            pour(stream, early.repeat(16).as_bytes());
        });
        let running = stage.run(&pair);
        let memory = Memory::of(&running);
        let mut client = TcpStream::connect(pair.ports.outbound).expect("it listens");
        client
            .write_all(b"GET /early HTTP/1.1\r\nHost: nrf\r\nConnection: close\r\n\r\n")
            .expect("it reads");
        if reads {
            // 103s, and an end of the request that is no response of the function.
            let said = rest(client.try_clone().expect("a socket"));
            assert!(!said.contains("HTTP/1.1 200"), "{said}");
        }
        until("the count", || limit(&running.nrf, "interim-responses") == 1.0);
        nothing_is_under_way(&running);
        memory.is_bounded("interim responses");
        drop(client);
    }
}

/// A client that sends ahead and reads nothing, to the sidecar next to it and, through `splice`, to that of a peer.
#[test]
fn requests_sent_ahead_and_heads_without_end_are_bounded_and_others_are_served() {
    for outbound in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        stage.write("large", vec![b'x'; MEGABYTE]);
        stage.write("hello", "hello\n");
        let pair = Pair {
            // Bytes that are not taken stay; the rest of a splice whose client has gone is read for
            // `request`, 10 s.
            limits: "stall: 1h, request: 10s".to_owned(),
            ..Pair::new(outbound, By::Http2)
        };
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let (to, hello) = (pair.ports.outbound, format!("http://{}/hello", pair.ports.outbound));
        assert_eq!(get(&hello).0, 200);
        let memory = Memory::of(&running);

        let ahead = b"GET /large HTTP/1.1\r\nHost: nrf\r\n\r\n".repeat(1000);
        let sends_ahead: Vec<TcpStream> = (0..4)
            .map(|_| {
                let mut client = TcpStream::connect(to).expect("it listens");
                let taken = pour(&mut client, &ahead);
                assert!(taken < FLOOD, "{outbound:?}: all of it was taken");
                client
            })
            .collect();
        memory.is_bounded("requests sent ahead");
        assert_eq!(get(&hello).0, 200, "{outbound:?}");

        // A head that does not end, by its fields and by one field.
        for endless in ["x: y\r\n".repeat(1000), "y".repeat(8000)] {
            let mut client = TcpStream::connect(to).expect("it listens");
            client
                .write_all(b"GET /hello HTTP/1.1\r\nHost: nrf\r\nx: ")
                .expect("it reads");
            // It is answered, and what comes behind that is dropped for a while.
            pour(&mut client, endless.as_bytes());
            memory.is_bounded("a head without end");
            until("the end of the connection", || client.write_all(b"y").is_err());
        }
        // The same as far as it may go, on many connections at once: each is answered once it is too long.
        let head = format!("GET /hello HTTP/1.1\r\nHost: nrf\r\nx: {}", "y".repeat(70_000));
        let clients: Vec<TcpStream> = (0..60)
            .map(|_| {
                let mut client = TcpStream::connect(to).expect("it listens");
                // It may be answered and closed meanwhile.
                let _ = client.write_all(head.as_bytes());
                client
            })
            .collect();
        let answered = clients
            .into_iter()
            .map(rest)
            .filter(|said| said.starts_with("HTTP/1.1 431 "));
        assert_eq!(answered.count(), 60, "{outbound:?}");
        memory.is_bounded("long heads");
        assert_eq!(get(&hello).0, 200, "{outbound:?}");
        drop(sends_ahead);
        nothing_is_under_way(&running);
    }
}
