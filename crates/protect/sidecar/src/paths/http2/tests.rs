//! Requests of peers through the `http2` path to a network function of this process.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bartizan_http2::{Code, Connection as Http2, Event, Fields, Indexing, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::timeout;

use super::*;
use crate::Running;
use crate::metrics::Requests;
use crate::tests::stage::{PATIENCE, Stage, run, shared, until};
use crate::worker::Worker;

/// An inbound side: its pool leads to a function.
struct Bench {
    shared: Arc<Shared>,
    worker: Rc<Worker>,
    pool: Rc<Pool>,
    _running: Running,
    _stage: Stage,
}

/// A peer, whatever its connections.
struct Peer {
    reader: Rc<Reader>,
    resets: Rc<ResetAllowance>,
}

impl Bench {
    async fn new(function: SocketAddr, limits: &str) -> Self {
        let stage = Stage::new();
        let running = stage.start_within("nrf", limits).await;
        let shared = Arc::clone(shared(&running));
        let worker = Worker::new(&shared, 0);
        Self {
            pool: Pool::new(&worker, Target::Function(function)),
            shared,
            worker,
            _running: running,
            _stage: stage,
        }
    }

    fn peer(&self) -> Peer {
        self.peer_within(&self.worker.budget)
    }

    fn peer_within(&self, budget: &Rc<Budget>) -> Peer {
        Peer {
            reader: Reader::new(budget, Location::Remote),
            resets: Rc::new(ResetAllowance::new()),
        }
    }

    /// A connection of a peer.
    fn connect(&self, peer: &Peer, version: Version) -> DuplexStream {
        let (client, stream) = duplex(64 * 1024);
        let (shared, pool) = (Arc::clone(&self.shared), Rc::clone(&self.pool));
        let (reader, resets) = (Rc::clone(&peer.reader), Rc::clone(&peer.resets));
        spawn_local(async move {
            let route = Route {
                side: Side::Inbound,
                pool,
                requests: Arc::new(Requests::new(&shared.metrics, Side::Inbound, "amf", "nrf")),
                session: None,
            };
            let service = Service {
                shared: &shared,
                side: Side::Inbound,
                reader,
                resets,
                route: |_: &_| Ok(route.clone()),
                caller: Caller::Peer(None),
                refuses: false,
            };
            let _ = serve(service, version, stream, Vec::new(), shared.drain.guard()).await;
        });
        client
    }

    /// The body of the answer to one request on a connection of its own.
    async fn get(&self, peer: &Peer, path: &str) -> String {
        let mut client = self.connect(peer, Version::Http1);
        let request = format!("GET {path} HTTP/1.1\r\nHost: nrf\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let answer = read_to_end(client).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        body.to_owned()
    }
}

async fn read_to_end(mut client: DuplexStream) -> String {
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, client.read_to_end(&mut answer)).await;
    read.expect("an end").unwrap();
    String::from_utf8(answer).unwrap()
}

/// A function that hands each connection, with its number, to `serve`.
async fn function<F>(serve: impl Fn(u32, TcpStream) -> F + 'static) -> SocketAddr
where
    F: Future<Output = Option<()>> + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn_local(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await.unwrap();
            spawn_local(serve(number, stream));
        }
    });
    address
}

/// One of HTTP/1.1 that answers with the number of its connection, and `/hold` never.
async fn numbering(number: u32, mut stream: TcpStream) -> Option<()> {
    loop {
        let request = head(&mut stream).await?;
        if request.starts_with("GET /hold ") {
            let _ = stream.read(&mut [0; 1]).await;
            return None;
        }
        let body = number.to_string();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}

/// The next head of a request of HTTP/1.1; none where another version is spoken, or nothing more.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    if head.starts_with(b"PRI ") {
        let refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(refusal).await.ok()?;
        return None;
    }
    String::from_utf8(head).ok()
}

/// A client of HTTP/2.
struct Client {
    stream: DuplexStream,
    connection: Http2<()>,
}

impl Client {
    fn new(bench: &Bench, peer: &Peer) -> Self {
        Self {
            stream: bench.connect(peer, Version::Http2),
            connection: Http2::new(Role::Client, bounds(&bench.shared.limits)),
        }
    }

    async fn request(&mut self, method: &str, path: &str, body: &[u8]) -> u32 {
        let mut head = Fields::new();
        for (name, value) in [
            (":method", method),
            (":scheme", "http"),
            (":path", path),
            (":authority", "nrf"),
        ] {
            head.push(name.as_bytes(), value.as_bytes(), Indexing::Plain);
        }
        let stream = self.connection.open(&head, body.is_empty(), 0, ()).expect("a stream");
        if !body.is_empty() {
            self.connection.send_data(stream, body, true).expect("it waits");
        }
        self.flush().await;
        stream
    }

    async fn reset(&mut self, stream: u32) {
        self.connection.reset(stream, Code::CANCEL);
        self.flush().await;
    }

    async fn flush(&mut self) {
        let output = self.connection.output().to_vec();
        self.connection.wrote(output.len());
        self.stream.write_all(&output).await.unwrap();
    }

    /// Reads, sending what may be sent, until an event is the one.
    async fn until(&mut self, is: impl Fn(&Event<()>) -> bool) {
        let (mut rest, mut events) = (Vec::new(), Vec::new());
        let reading = async {
            loop {
                let received = self.connection.receive(&rest, 1000, &mut events).unwrap();
                rest.drain(..received.used);
                self.connection.seen();
                while {
                    self.flush().await;
                    self.connection.pump(&mut events);
                    !self.connection.output().is_empty()
                } {}
                if events.drain(..).any(|event| is(&event)) {
                    return;
                }
                assert!(self.stream.read_buf(&mut rest).await.unwrap() > 0, "it was closed");
            }
        };
        timeout(PATIENCE, reading).await.expect("the event");
    }

    /// Waits until a request is refused as one that was not processed.
    async fn until_refused(&mut self) {
        let refused = |event: &Event<()>| {
            matches!(
                event,
                Event::Reset {
                    code: Code::REFUSED_STREAM,
                    ..
                }
            )
        };
        self.until(refused).await;
    }
}

/// An endpoint of the function that sends beyond its response answers the next request on the
/// connection, in a segment that comes in between.
#[test]
fn no_peer_has_a_connection_of_http1_that_another_had() {
    run(async {
        let bench = Bench::new(function(numbering).await, "").await;
        let (amf, smf) = (bench.peer(), bench.peer());
        let first = bench.get(&amf, "/").await;
        let second = bench.get(&smf, "/").await;
        assert_ne!(first, second);
        for _ in 0..3 {
            assert_eq!(bench.get(&amf, "/").await, first);
            assert_eq!(bench.get(&smf, "/").await, second);
        }
    });
}

#[test]
fn nothing_waits_for_a_request_that_was_reset() {
    run(async {
        let bench = Bench::new(function(numbering).await, "streams: 4").await;
        let amf = bench.peer();
        bench.get(&amf, "/").await;
        let mut client = Client::new(&bench, &amf);
        for _ in 0..3 {
            client.request("GET", "/hold", b"").await;
        }
        until("three are carried", || bench.pool.occupancy.streams() == 3).await;
        for _ in 0..20 {
            let stream = client.request("GET", "/", b"").await;
            until("it waits", || bench.pool.waiting.get() == 1).await;
            client.reset(stream).await;
            until("it waits no more", || bench.pool.waiting.get() == 0).await;
        }
        drop(client);
        until("the function is free", || bench.pool.occupancy.streams() == 0).await;
        bench.get(&amf, "/").await;
    });
}

#[test]
fn requests_of_a_peer_that_wait_are_bounded_whatever_its_connections() {
    run(async {
        let bench = Bench::new(function(numbering).await, "streams: 4").await;
        let (amf, smf) = (bench.peer(), bench.peer());
        bench.get(&amf, "/").await;
        let mut clients = [(); 3].map(|()| Client::new(&bench, &amf));
        for number in 0..11 {
            clients[number / 4].request("GET", "/hold", b"").await;
            if number == 2 {
                until("three are carried", || bench.pool.occupancy.streams() == 3).await;
            }
        }
        until("eight wait", || bench.pool.waiting.get() == 8).await;
        let last = &mut clients[2];
        last.request("GET", "/", b"").await;
        last.until_refused().await;
        bench.get(&smf, "/").await;
    });
}

#[test]
fn bodies_of_requests_that_wait_are_charged_to_their_peer() {
    run(async {
        let bench = Bench::new(function(numbering).await, "streams: 20").await;
        // One megabyte for all.
        let amf = bench.peer_within(&Rc::new(Budget::shared_by(64)));
        bench.get(&amf, "/").await;
        let [mut holding, mut client] = [(); 2].map(|()| Client::new(&bench, &amf));
        for _ in 0..14 {
            holding.request("GET", "/hold", b"").await;
        }
        until("they are carried", || bench.pool.occupancy.streams() == 14).await;
        for _ in 0..8 {
            client.request("POST", "/", &[b'x'; 240_000]).await;
        }
        client.until_refused().await;
        assert!(!amf.reader.is_over());
        drop((holding, client));
        until("nothing is kept", || amf.reader.waiting.get() == 0).await;
    });
}

#[test]
fn a_peer_that_resets_too_much_is_refused_and_another_is_not() {
    run(async {
        let bench = Bench::new(function(numbering).await, "").await;
        let (amf, smf) = (bench.peer(), bench.peer());
        for _ in 0..20_000 {
            amf.resets.count(std::time::Instant::now());
        }
        let mut client = Client::new(&bench, &amf);
        client.request("GET", "/", b"").await;
        client.until_refused().await;
        bench.get(&smf, "/").await;
    });
}

/// A server of HTTP/2 that answers the first request of each connection alone.
async fn answering_once(_: u32, mut stream: TcpStream) -> Option<()> {
    let mut connection = Http2::<()>::new(Role::Server, bounds(&Limits::default()));
    let (mut rest, mut events) = (Vec::new(), Vec::new());
    loop {
        let received = connection.receive(&rest, 1000, &mut events).ok()?;
        rest.drain(..received.used);
        connection.seen();
        for event in events.drain(..) {
            if let Event::Head { stream: 1, .. } = event {
                let mut head = Fields::new();
                head.push(b":status", b"204", Indexing::Plain);
                connection.send_head(1, &head, true).ok()?;
                stream.write_all(connection.output()).await.ok()?;
            }
        }
        stream.read_buf(&mut rest).await.ok().filter(|read| *read > 0)?;
    }
}

/// A firewall that forgets a connection lets nothing pass in either direction, and nothing says so.
#[test]
fn the_request_after_one_that_a_dead_connection_took_has_a_new_one() {
    run(async {
        let bench = Bench::new(function(answering_once).await, "request: 1s").await;
        let mut client = bench.connect(&bench.peer(), Version::Http1);
        for status in ["204", "504", "204"] {
            client.write_all(b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n").await.unwrap();
            let mut answer = Vec::new();
            let answered = async {
                loop {
                    assert!(client.read_buf(&mut answer).await.unwrap() > 0, "it was closed");
                    let text = String::from_utf8_lossy(&answer);
                    // The answer in the place of the function has a body.
                    if text.ends_with("\r\n\r\n") || text.ends_with('}') {
                        return assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
                    }
                }
            };
            timeout(PATIENCE, answered).await.expect("an answer");
        }
    });
}

/// Clients that had given up held all connections to the function until `request`.
#[test]
fn a_client_that_has_gone_does_not_hold_the_function() {
    run(async {
        let (begun, gone) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
        let gates = (Rc::clone(&begun), Rc::clone(&gone));
        let address = function(move |_, mut stream: TcpStream| {
            let (begun, gone) = gates.clone();
            async move {
                head(&mut stream).await?;
                begun.notify_one();
                let _ = stream.read(&mut [0; 1]).await;
                gone.notify_one();
                Some(())
            }
        })
        .await;
        let bench = Bench::new(address, "request: 3600s").await;
        let mut client = bench.connect(&bench.peer(), Version::Http1);
        client.write_all(b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n").await.unwrap();
        timeout(PATIENCE, begun.notified()).await.expect("it is asked");
        drop(client);
        // An eighth of that, by a clock that passes at once.
        tokio::time::pause();
        let before = tokio::time::Instant::now();
        gone.notified().await;
        assert!(before.elapsed() < Duration::from_secs(900), "{:?}", before.elapsed());
    });
}

#[test]
fn a_client_that_closes_its_half_has_the_answers_to_all_it_asked() {
    run(async {
        let (begun, release) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
        let gates = (Rc::clone(&begun), Rc::clone(&release));
        let address = function(move |_, mut stream: TcpStream| {
            let (begun, release) = gates.clone();
            async move {
                while let Some(request) = head(&mut stream).await {
                    begun.notify_one();
                    release.notified().await;
                    let path = request.split(' ').nth(1)?;
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len());
                    stream.write_all(answer.as_bytes()).await.ok()?;
                }
                Some(())
            }
        })
        .await;
        let bench = Bench::new(address, "request: 600s").await;
        for paths in [&["/first"][..], &["/first", "/second"]] {
            let mut client = bench.connect(&bench.peer(), Version::Http1);
            for path in paths {
                let request = format!("GET {path} HTTP/1.1\r\nHost: nrf\r\n\r\n");
                client.write_all(request.as_bytes()).await.unwrap();
            }
            client.shutdown().await.unwrap();
            for _ in paths {
                timeout(PATIENCE, begun.notified()).await.expect("it is asked");
                // The end of the client has been read by then.
                bench.shared.ticks.next().await;
                release.notify_one();
            }
            let answers = read_to_end(client).await;
            assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), paths.len(), "{answers}");
            assert!(
                paths.iter().all(|path| answers.contains(&format!("\r\n\r\n{path}"))),
                "{answers}"
            );
        }
        // A request that is cut off is none.
        let mut client = bench.connect(&bench.peer(), Version::Http1);
        client
            .write_all(b"POST / HTTP/1.1\r\nHost: nrf\r\nContent-Length: 2\r\n\r\nx")
            .await
            .unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_to_end(client).await, "");
    });
}
