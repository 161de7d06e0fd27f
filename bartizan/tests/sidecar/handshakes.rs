//! Handshakes have threads of their own, and what they cost is charged to them.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use bartizan_deployment::Policy;
use bartizan_tls::{Answer, probe};

use crate::stage::{By, Node, PATIENCE, Pair, Stage, get, until};

/// Handshakes, each of which the sidecar has to answer with a key exchange and a signature.
const HANDSHAKES: usize = 100;

/// One without a certificate, by this process: where each is one of its own, as of OpenSSL, they
/// take so long on a machine that does much else that what the serving thread does by the clock
/// comes to as much.
fn without_certificate(inbound: SocketAddr) {
    let mut client = TcpStream::connect(inbound).expect("it listens");
    client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let name = rustls::pki_types::ServerName::try_from("nrf.5gc").expect("a name");
    let answer = probe(&mut client, name, &Policy::hybrid(), None);
    // The refusal is counted with its reason.
    assert!(!matches!(answer, Ok(Answer::Admitted)), "{answer:?}");
}

/// Processor time of the threads of a process by their names, in nanoseconds, and their nice
/// values; the first thread is `None`.
fn threads(node: &Node) -> Vec<(Option<String>, u64, i32)> {
    let process = node.process.id();
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("its threads");
    let tasks = tasks.map(|task| task.expect("a thread").path());
    tasks
        .map(|task| {
            let read = |file: &str| fs::read_to_string(task.join(file)).expect("the kernel says");
            let first = task.file_name().expect("its id").to_string_lossy() == process.to_string();
            let name = (!first).then(|| read("comm").trim().to_owned());
            let time = read("schedstat").split(' ').next().and_then(|time| time.parse().ok());
            // Field 19 of proc_pid_stat(5), counted behind the name.
            let stat = read("stat");
            let nice = stat
                .rsplit_once(") ")
                .and_then(|(_, rest)| rest.split(' ').nth(16)?.parse().ok());
            (name, time.expect("a time"), nice.expect("a nice value"))
        })
        .collect()
}

fn spent(node: &Node, name: Option<&str>) -> u64 {
    let threads = threads(node);
    let found = threads.iter().find(|(known, ..)| known.as_deref() == name);
    found.expect("such a thread").1
}

/// They were answered by the thread that serves requests: 200 connections a second without a
/// certificate made the 99th percentile of the requests of others three times as long.
#[test]
fn handshakes_of_clients_without_a_certificate_take_no_turn_of_the_thread_that_serves() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        stage.write("hello", "hello\n");
        let pair = Pair::new(by, by);
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let hello = format!("http://{}/hello", pair.ports.outbound);
        // A connection that is served since before, and one that comes after.
        assert_eq!(get(&hello).0, 200);
        let node = &running.nrf;
        let names = [None, Some("handshakes"), Some("handshakes-late")];
        let before = names.map(|name| spent(node, name));
        for _ in 0..HANDSHAKES {
            without_certificate(pair.ports.inbound);
        }
        until("every refusal", || {
            let refused = node.metric(
                "bartizan_sidecar_handshake_failures_total",
                &["reason=\"no-certificate\""],
            );
            // The serving thread answers this metric.
            refused == Some(HANDSHAKES as f64)
        });
        let mut took = names.map(|name| spent(node, name)).into_iter().zip(before);
        let [serving, first, late] = std::array::from_fn(|_| took.next().map(|(now, before)| now - before));
        let (serving, first, late) = (serving.expect("one"), first.expect("one"), late.expect("one"));
        assert!(
            first + late > 2 * serving,
            "{by:?}: {first} and {late} ns for {HANDSHAKES} handshakes, {serving} ns for serving meanwhile"
        );
        // Ten fail before those that follow wait for all other work; on a machine that does much else too few at once.
        until("handshakes to be deferred", || {
            let deferred = node.metric(
                "bartizan_sidecar_limits_reached_total",
                &["limit=\"failed-handshakes\""],
            );
            if deferred.is_some_and(|deferred| deferred > 0.0) {
                return true;
            }
            for _ in 0..20 {
                let mut client = TcpStream::connect(pair.ports.inbound).expect("it listens");
                client.write_all(b"stray\n").expect("six bytes");
            }
            false
        });
        until("their thread's turn", || spent(node, names[2]) > before[2]);
        let nice = |wanted: Option<&str>| threads(node).into_iter().find(|(name, ..)| name.as_deref() == wanted);
        let [serving, first, late] = names.map(|name| nice(name).expect("a thread").2);
        assert_eq!(first - serving, 5.min(19 - serving), "requests go first");
        assert_eq!(late, 19.min(serving + 19), "and handshakes while many fail last");
        assert_eq!(get(&hello).0, 200);
    }
}
