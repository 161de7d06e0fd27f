//! Sick and hostile peers at both listeners of a sidecar: another consumer loses nothing, memory
//! stays within a bound, and the reason is counted by name.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Process;
use bartizan_testing::Listening as _;
use bartizan_testing::{connect_from, resident};

use crate::go;
use crate::stage::{By, Node, PATIENCE, Pair, Running, Stage, until};

/// Requests of the consumer during the attack.
const DURING_ATTACK: usize = 400;
/// First bytes of a client, with an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
/// GET / of `nrf` without TLS, from the static table and literals (RFC 7541, appendix A).
const REQUEST: &[u8] = b"\x82\x86\x84\x41\x03nrf";
const HEADERS: u8 = 0x01;
const RST_STREAM: u8 = 0x03;
const CONTINUATION: u8 = 0x09;
const END_STREAM: u8 = 0x01;
const END_HEADERS: u8 = 0x04;

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A pair that serves while it is attacked.
struct Scene {
    _stage: Stage,
    _producer: Process,
    running: Running,
}

/// Attacked listener.
#[derive(Debug, Clone, Copy)]
enum Attacked {
    /// `amf`'s, for its network function, without TLS.
    Local,
    /// `nrf`'s, for other sidecars.
    Tls,
}

impl Scene {
    fn new(limits: &str) -> Self {
        let mut stage = Stage::new();
        let pair = Pair {
            limits: limits.to_owned(),
            ..Pair::new(By::Http2, By::Http2)
        };
        let mut producer = go::program("h2c-server")
            .arguments(["-listen", &pair.ports.function.to_string(), "-idle", "1m"])
            .start()
            .expect("the Go server starts");
        producer
            .wait_for_port(pair.ports.function, PATIENCE)
            .expect("it listens");
        let running = stage.run(&pair);
        let scene = Self {
            _stage: stage,
            _producer: producer,
            running,
        };
        // With little time for a handshake, it may be begun several times: the one that is to carry
        // the requests is over.
        until("a connection", || !scene.running.nrf.connections().is_empty());
        scene.all_are_answered();
        scene
    }

    fn address(&self, attacked: Attacked) -> SocketAddr {
        match attacked {
            Attacked::Local => self.running.ports.outbound,
            Attacked::Tls => self.running.ports.inbound,
        }
    }

    fn node(&self, attacked: Attacked) -> &Node {
        match attacked {
            Attacked::Local => &self.running.amf,
            Attacked::Tls => &self.running.nrf,
        }
    }

    fn counted(&self, attacked: Attacked, name: &str, label: &str) -> f64 {
        let counted = self
            .node(attacked)
            .metric(&format!("bartizan_sidecar_{name}_total"), &[label]);
        counted.unwrap_or_default()
    }

    /// A consumer's requests, each on its way while the attack goes on. The time of all of them
    /// together depends on the machine; the client gives each its time, and the wait ends if none
    /// is answered.
    fn all_are_answered(&self) {
        let mut client = go::program("h2c-client")
            .arguments(["-to", &self.running.ports.outbound.to_string()])
            .arguments(["-n", &DURING_ATTACK.to_string(), "-concurrency", "4"])
            .start()
            .expect("the Go client starts");
        let (mut answered, mut since) = (self.answered(), Instant::now());
        while client.ended().expect("its status").is_none() {
            let now = self.answered();
            if now > answered {
                (answered, since) = (now, Instant::now());
            }
            assert!(since.elapsed() < PATIENCE, "none after {answered}: {}", client.stderr());
            thread::sleep(Duration::from_millis(100));
        }
        let finished = client.finish(PATIENCE).expect("it has ended");
        let outcomes = finished.text();
        let answered = outcomes.bytes().filter(|outcome| *outcome == b'a').count();
        assert_eq!(answered, DURING_ATTACK, "{}", String::from_utf8_lossy(&finished.stderr));
    }

    /// Requests that the consumer's sidecar has seen answered by the producer.
    fn answered(&self) -> f64 {
        let labels = ["side=\"outbound\"", "status=\"200\""];
        let answered = self.running.amf.metric("bartizan_sidecar_requests_total", &labels);
        answered.unwrap_or_default()
    }

    /// Runs `attack` from this many threads again and again until the consumer has been served and
    /// `counted` holds; memory may grow by this many MB.
    fn survives(
        &self,
        attacked: Attacked,
        threads: usize,
        megabytes: u64,
        attack: impl Fn(SocketAddr) + Send + Sync,
        counted: impl Fn() -> bool,
    ) {
        let (before, address, over) = (self.memory(), self.address(attacked), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        attack(address);
                    }
                });
            }
            // After any failure in here, the attack must end.
            let ending = Ending(&over);
            self.all_are_answered();
            until("the count", counted);
            self.has_grown_by_at_most(before, megabytes);
            drop(ending);
        });
        self.all_are_answered();
    }

    /// Resident memory of both sidecars, in bytes.
    fn memory(&self) -> [u64; 2] {
        [&self.running.amf, &self.running.nrf].map(|node| resident(node.process.id()))
    }

    fn has_grown_by_at_most(&self, before: [u64; 2], megabytes: u64) {
        let now = self.memory();
        println!("resident: {before:?} bytes before, {now:?} now");
        for (before, now) in before.iter().zip(now) {
            assert!(
                now.saturating_sub(*before) <= megabytes * 1024 * 1024,
                "{before} bytes became {now}"
            );
        }
    }
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    with_patience(TcpStream::connect(address).expect("it listens"))
}

fn with_patience(stream: TcpStream) -> TcpStream {
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .expect("a timeout");
    stream
        .set_write_timeout(Some(Duration::from_secs(5)))
        .expect("a timeout");
    stream
}

/// Reads until the other side closes, or for five seconds.
fn until_closed(mut stream: &TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
}

/// Lets this process hold many connections.
fn many_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("the limit");
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(20_000), hard).expect("more files");
}

/// The first flight of a real client.
fn client_hello() -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = "nrf.5gc".try_into().expect("a name");
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut hello = Vec::new();
    client.write_tls(&mut hello).expect("its hello");
    hello
}

#[test]
fn garbage_and_half_closed_connections_disturb_nobody_at_the_local_door() {
    let scene = Scene::new("");
    let counted = || scene.counted(Attacked::Local, "client_errors", "reason=\"not-http\"") >= 1.0;
    scene.survives(
        Attacked::Local,
        2,
        16,
        |address| {
            let mut stream = connect(address);
            let _ = stream.write_all(&[0x5a; 4096]);
            until_closed(&stream);
            let mut stream = connect(address);
            let _ = stream.write_all(PREFACE);
            let _ = stream.shutdown(Shutdown::Write);
            until_closed(&stream);
            let stream = connect(address);
            let _ = stream.shutdown(Shutdown::Write);
            until_closed(&stream);
        },
        counted,
    );
}

#[test]
fn a_slow_header_disturbs_nobody_at_the_local_door() {
    const SLOW: usize = 32;
    let scene = Scene::new("");
    // Each was sent to its last byte, and ended by the sidecar.
    let ended = AtomicUsize::new(0);
    scene.survives(
        Attacked::Local,
        SLOW,
        16,
        |address| {
            let mut stream = connect(address);
            let mut whole = stream.write_all(PREFACE).is_ok();
            for byte in frame(HEADERS, END_STREAM | END_HEADERS, 1, REQUEST) {
                whole &= stream.write_all(&[byte]).is_ok();
                thread::sleep(Duration::from_millis(20));
            }
            until_closed(&stream);
            ended.fetch_add(usize::from(whole), Ordering::Relaxed);
        },
        || ended.load(Ordering::Relaxed) >= SLOW,
    );
}

#[test]
fn an_endless_header_block_is_ended_and_counted() {
    let scene = Scene::new("");
    let counted = || scene.counted(Attacked::Local, "client_errors", "reason=\"enhance-your-calm\"") >= 1.0;
    scene.survives(
        Attacked::Local,
        2,
        16,
        |address| {
            let mut stream = connect(address);
            let _ = stream.write_all(PREFACE);
            let _ = stream.write_all(&frame(HEADERS, END_STREAM, 1, REQUEST));
            // `x: xxx...`, never indexed, again and again.
            let field = [b"\x10\x01x\x7d".as_slice(), &[b'x'; 125]].concat();
            let more = frame(CONTINUATION, 0, 1, &field.repeat(100));
            while stream.write_all(&more).is_ok() {}
        },
        counted,
    );
}

/// Sends requests and takes each back, `after` a while, until the sidecar has had enough.
fn take_back(address: SocketAddr, request: &[u8], flags: u8, after: Duration) {
    let mut stream = connect(address);
    let _ = stream.write_all(PREFACE);
    for number in 0..20_000 {
        let id = 2 * number + 1;
        let request = frame(HEADERS, flags, id, request);
        let reset = frame(RST_STREAM, 0, id, &8_u32.to_be_bytes());
        let sent = if after.is_zero() {
            stream.write_all(&[request, reset].concat())
        } else {
            stream.write_all(&request).and_then(|()| {
                thread::sleep(after);
                stream.write_all(&reset)
            })
        };
        if sent.is_err() {
            break;
        }
    }
}

#[test]
fn a_flood_of_requests_with_their_resets_is_ended_and_counted() {
    let scene = Scene::new("");
    let counted = || scene.counted(Attacked::Local, "client_errors", "reason=\"enhance-your-calm\"") >= 1.0;
    let attack = |address| take_back(address, REQUEST, END_STREAM | END_HEADERS, Duration::ZERO);
    scene.survives(Attacked::Local, 2, 16, attack, counted);
}

#[test]
fn a_flood_of_requests_reset_once_they_are_on_their_way_is_ended_and_counted() {
    let scene = Scene::new("");
    let counted = || scene.counted(Attacked::Local, "client_errors", "reason=\"enhance-your-calm\"") >= 1.0;
    // The producer waits for a body that never comes, so none is answered before it is reset.
    let request = b"\x83\x86\x04\x05/id/0\x41\x03nrf";
    let attack = |address| take_back(address, request, END_HEADERS, Duration::from_millis(3));
    scene.survives(Attacked::Local, 2, 16, attack, counted);
}

#[test]
fn five_thousand_idle_connections_are_evicted_for_those_that_send_something() {
    many_files();
    // By default 4,096 connections in all; at the TLS listener 512 unauthenticated ones, 256 of these from one address.
    for (attacked, limits, bound, turned_away) in [
        (Attacked::Local, "", "connections", 5_000 - 4_096),
        (Attacked::Tls, "", "handshakes-per-address", 5_000 - 256),
        (
            Attacked::Tls,
            ", handshakes-per-address: 1000",
            "unauthenticated",
            5_000 - 512,
        ),
    ] {
        let scene = Scene::new(&format!("handshake: 1m{limits}"));
        let before = scene.memory();
        let idle: Vec<TcpStream> = (0..5_000).map(|_| connect(scene.address(attacked))).collect();
        scene.all_are_answered();
        let label = format!("limit=\"{bound}\"");
        until("the count", || {
            scene.counted(attacked, "limits_reached", &label) >= f64::from(turned_away)
        });
        scene.has_grown_by_at_most(before, 64);
        drop(idle);
        scene.all_are_answered();
    }
}

/// Holds 3,000 half-open handshakes from `source` and begins ever new ones while the consumer is
/// served; `bound` is what they meet.
fn half_open_handshakes_from(source: [u8; 4], limits: &str, bound: &str) {
    many_files();
    // The flood must not have its own connections time out: what ends them is eviction.
    let scene = Scene::new(&format!("handshake: 1m{limits}"));
    let hello = client_hello();
    let (before, address, over) = (scene.memory(), scene.address(Attacked::Tls), AtomicBool::new(false));
    let given_way = || scene.counted(Attacked::Tls, "limits_reached", &format!("limit=\"{bound}\""));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = VecDeque::new();
            while !over.load(Ordering::Relaxed) {
                let mut stream = with_patience(connect_from(source, address));
                let _ = stream.write_all(&hello);
                held.push_back(stream);
                if held.len() > 3_000 {
                    held.pop_front();
                }
            }
        });
        let ending = Ending(&over);
        until("the bound", || given_way() >= 1.0);
        scene.all_are_answered();
        until("many more", || given_way() >= 500.0);
        scene.has_grown_by_at_most(before, 64);
        drop(ending);
    });
    scene.all_are_answered();
}

#[test]
fn a_flood_of_half_open_handshakes_disturbs_nobody() {
    // From the address of the consumer's sidecar, as through a translator of addresses, or from so
    // many addresses that what bounds one of them does not help.
    half_open_handshakes_from([127, 0, 0, 1], ", handshakes-per-address: 1000", "unauthenticated");
}

#[test]
fn a_flood_of_half_open_handshakes_from_the_address_of_a_peer_disturbs_no_connection_of_it() {
    half_open_handshakes_from([127, 0, 0, 1], "", "handshakes-per-address");
}

#[test]
fn a_flood_of_half_open_handshakes_from_one_address_keeps_no_handshake_of_another_out() {
    // The consumer's sidecar has to dial again and again.
    let limits = ", requests-per-connection: 50";
    half_open_handshakes_from([127, 0, 0, 2], limits, "handshakes-per-address");
}

#[test]
fn silent_garbled_and_half_closed_connections_disturb_nobody_at_the_tls_listener() {
    let scene = Scene::new("handshake: 1s");
    let hello = client_hello();
    let counted = || {
        ["reason=\"malformed\"", "reason=\"timed-out\"", "reason=\"closed\""]
            .iter()
            .all(|reason| scene.counted(Attacked::Tls, "handshake_failures", reason) >= 1.0)
    };
    scene.survives(
        Attacked::Tls,
        4,
        16,
        |address| {
            let silent = connect(address);
            let mut garbage = connect(address);
            let _ = garbage.write_all(&[0x5a; 4096]);
            until_closed(&garbage);
            let mut half = connect(address);
            let _ = half.write_all(&hello[..hello.len() / 2]);
            let _ = half.shutdown(Shutdown::Write);
            until_closed(&half);
            // Byte by byte, which no longer fits into the time for a handshake.
            let mut slow = connect(address);
            for byte in &hello {
                if slow.write_all(&[*byte]).is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
            until_closed(&silent);
        },
        counted,
    );
}
