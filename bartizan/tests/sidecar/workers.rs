//! One sidecar on several cores: connections are spread evenly, and what is one for the process stays one.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use bartizan_host::Process;
use bartizan_ledger::{Event, Verdict};

use crate::life::{stderr, waiting_producer};
use crate::raw::{HEADERS, Raw};
use crate::reload::{h2load, reloads, renew};
use crate::stage::{By, Node, PATIENCE, Pair, Running, Stage, curl, finish, get, sidecar, until};

const TWO: &[&str] = &["--workers", "2"];

/// Both sidecars with two workers each.
fn run(stage: &mut Stage, pair: &Pair) -> Running {
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", pair, &amf, &nrf);
    run_file(stage, pair, &file)
}

fn run_file(stage: &Stage, pair: &Pair, file: &Path) -> Running {
    Running {
        nrf: stage.start_with(file, "nrf", pair.ports.nrf_admin, TWO),
        amf: stage.start_with(file, "amf", pair.ports.amf_admin, TWO),
        ports: pair.ports,
    }
}

/// The connections of each worker.
fn spread(node: &Node) -> Vec<usize> {
    let (_, text) = node.admin("/metrics");
    let of_workers = text
        .lines()
        .filter(|line| line.starts_with("bartizan_sidecar_worker_connections{"));
    let counts = of_workers.map(|line| {
        line.rsplit(' ')
            .next()
            .and_then(|count| count.parse().ok())
            .expect(line)
    });
    counts.collect()
}

/// Threads by name with the time that each was on a processor, in nanoseconds. The first has the name of the program.
fn threads(process: &Process) -> BTreeMap<String, u64> {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.id())).expect("its threads");
    let thread = |task: fs::DirEntry| {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).ok();
        let time = read("schedstat")?.split(' ').next()?.parse().ok()?;
        Some((read("comm")?.trim().to_owned(), time))
    };
    tasks.filter_map(|task| thread(task.ok()?)).collect()
}

/// A connection that is kept, with one request answered.
fn kept(address: SocketAddr) -> Raw {
    let mut client = Raw::client(address, &[]);
    again(&mut client, 1);
    client
}

/// One more request on it.
fn again(client: &mut Raw, stream: u32) {
    client.ask(stream, "GET", "/hello");
    client.until(|frame| frame.kind == HEADERS && frame.stream == stream);
}

#[test]
fn kept_connections_are_even_over_the_workers_and_every_request_is_answered() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        let pair = Pair::new(by, by);
        stage.write("hello", "served");
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = run(&mut stage, &pair);
        let mut clients: Vec<_> = (0..8).map(|_| kept(pair.ports.outbound)).collect();
        assert_eq!(spread(&running.amf), [4, 4], "{by:?}");
        // By `http2` each worker has a connection of its own to the peer, by `splice` each
        // connection has one, and each worker one that is ready.
        let at_nrf = match by {
            By::Http2 => [1, 1],
            By::Splice => [5, 5],
        };
        until("the connections at the peer", || spread(&running.nrf) == at_nrf);
        let before = [&running.amf, &running.nrf].map(|node| threads(&node.process));
        for stream in (3..203).step_by(2) {
            clients.iter_mut().for_each(|client| again(client, stream));
        }
        for (node, before) in [&running.amf, &running.nrf].into_iter().zip(before) {
            let after = threads(&node.process);
            for worker in ["bartizan", "worker-1"] {
                assert!(after[worker] > before[worker], "{by:?}: {worker} did nothing");
            }
        }
        assert!(threads(&running.nrf.process).contains_key("handshakes-1"));
        if by == By::Http2 {
            for (node, side) in [(&running.amf, "outbound"), (&running.nrf, "inbound")] {
                let side = format!("side=\"{side}\"");
                // A request is counted when its body is over; its head alone was waited for.
                until("every request is counted", || {
                    node.metric("bartizan_sidecar_requests_total", &[&side, "status=\"200\""]) == Some(808.0)
                });
            }
        }
        // A connection that has ended counts no longer, and the next goes where there are fewer.
        clients.remove(0);
        until("its end", || spread(&running.amf) == [3, 4]);
        clients.push(kept(pair.ports.outbound));
        assert_eq!(spread(&running.amf), [4, 4], "{by:?}");
    }
}

#[test]
fn one_worker_is_the_default_and_has_no_thread_more() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    let names: Vec<_> = threads(&running.nrf.process).into_keys().collect();
    for other in ["worker-1", "handshakes-1"] {
        assert!(!names.contains(&other.to_owned()), "{names:?}");
    }
    assert_eq!(spread(&running.amf), [0]);
}

#[test]
fn a_renewed_certificate_is_used_by_all_workers_without_losing_a_request() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        let pair = Pair::new(by, by);
        stage.write("hello", "served");
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let (amf, nrf, renewed) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("amf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let mut running = run_file(&stage, &pair, &file);
        let load = h2load(pair.ports.outbound, "6", "8", || {
            let used = |open: &serde_json::Value| open["bytes_sent"] != 0;
            running.amf.connections().into_iter().filter(used).count() >= 2
        });
        renew(&amf, &renewed);
        until("the reload", || reloads(&running.amf, "done") == 1.0);
        running.nrf.process.send(libc::SIGHUP);
        let said = load.finish(PATIENCE).expect("h2load ends").text();
        assert!(said.contains(" 0 failed, 0 errored, 0 timeout"), "{by:?}: {said}");
        // Every worker keeps one ready: it has the new certificate.
        until("connections with the new certificate from both workers", || {
            let open = running.nrf.connections();
            let serial = renewed.serial.trim_start_matches("00");
            let new = open.iter().filter(|open| {
                let shown = open["peer_certificate"]["serial"].as_str();
                shown.is_some_and(|shown| shown.trim_start_matches("00").ends_with(serial))
            });
            new.count() == 2 && open.len() == 2
        });
    }
}

#[test]
fn a_revoked_peer_loses_its_open_connections_at_all_workers() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        stage.write("hello", "served");
        let (amf, nrf, other) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("other"));
        let pair = Pair {
            crl: Some(stage.revoke(&other)),
            limits: "drain: 1s".to_owned(),
            ..Pair::new(by, by)
        };
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let running = run_file(&stage, &pair, &file);
        let clients: Vec<_> = (0..8).map(|_| kept(pair.ports.outbound)).collect();
        until("connections of both workers", || {
            spread(&running.nrf).iter().all(|count| *count > 0)
        });
        stage.revoke(&amf);
        until("the reload", || reloads(&running.nrf, "done") == 1.0);
        until("the end of its connections", || running.nrf.connections().is_empty());
        until("their slots to be free", || spread(&running.nrf) == [0, 0]);
        running.nrf.refused("revoked");
        drop(clients);
    }
}

#[test]
fn sigterm_lets_the_requests_of_all_workers_end() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        let pair = Pair {
            limits: "drain: 10m, request: 10m".to_owned(),
            ..Pair::new(by, by)
        };
        let answers = waiting_producer(pair.ports.function);
        let mut running = run(&mut stage, &pair);
        let client = || {
            let client = curl(&["--http2-prior-knowledge"]).argument(format!("http://{}/", pair.ports.outbound));
            client.start().expect("curl starts")
        };
        let clients: Vec<_> = (0..4).map(|_| client()).collect();
        until("two requests at each worker", || spread(&running.amf) == [2, 2]);
        until("requests at the producer", || match by {
            // Each has said something, and the one of each worker that is dialled in place of those
            // that were taken has ended its handshake.
            By::Splice => {
                let used = running
                    .nrf
                    .metric("bartizan_sidecar_local_connections_total", &["side=\"inbound\""]);
                used == Some(4.0) && running.nrf.connections().len() == 6
            }
            By::Http2 => {
                let in_flight = running
                    .nrf
                    .metric("bartizan_sidecar_requests_in_flight", &["side=\"inbound\""]);
                in_flight == Some(4.0)
            }
        });
        running.amf.process.send(libc::SIGTERM);
        running.nrf.process.send(libc::SIGTERM);
        for node in [&mut running.amf, &mut running.nrf] {
            let said = node.process.wait_for_line("draining", PATIENCE);
            said.expect("it says so");
        }
        answers.send_replace(true);
        for client in clients {
            assert_eq!(client.finish(PATIENCE).expect("curl ends").text(), "late", "{by:?}");
        }
        for node in [running.amf, running.nrf] {
            let ledger = node.ledger.clone();
            let finished = node.process.finish(PATIENCE).expect("it ends");
            assert_eq!(finished.status.code(), Some(0));
            let said = stderr(&finished);
            assert!(
                !said.contains("closed connections that had not ended in time"),
                "{said}"
            );
            // Each connection, whichever worker had it, has its end in the ledger.
            let reader = bartizan_ledger::Reader::new(std::io::BufReader::new(fs::File::open(ledger).expect("it")));
            let (mut begun, mut ended) = (0, 0);
            for record in reader {
                match record.expect("a whole record").event {
                    // One that draining broke off at the other end is refused here.
                    Event::Handshake(handshake) if matches!(handshake.verdict, Verdict::Accepted) => begun += 1,
                    Event::Closed(_) => ended += 1,
                    _ => {}
                }
            }
            assert!(begun >= 2 && begun == ended, "{by:?}: {begun} {ended}");
        }
    }
}

/// All of them use the listening socket that is handed over, whatever their number.
#[test]
fn successors_with_more_and_with_fewer_workers_take_over_under_load() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    stage.write("hello", "served");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let start = |node: &str, workers: &str| {
        let program = sidecar(&file, node)
            .argument("--hand-over")
            .argument(stage.path(&format!("{node}.sock")))
            .arguments(["--workers", workers]);
        let mut process = program.start().expect("it starts");
        if let Err(error) = process.wait_for_line("ready", PATIENCE) {
            panic!("{error}\n{}", process.stderr());
        }
        process
    };
    let (mut nrf, mut amf) = (start("nrf", "2"), start("amf", "2"));
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let (status, _, body) = get(&format!("http://{}/hello", pair.ports.outbound));
                    assert_eq!((status, body.as_str()), (200, "served"));
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for workers in ["1", "2", "2"] {
            for (node, running) in [("nrf", &mut nrf), ("amf", &mut amf)] {
                let before = answered.load(Ordering::Relaxed);
                let successor = start(node, workers);
                let ended = std::mem::replace(running, successor).finish(PATIENCE).expect("it ends");
                assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
                until("answers", || answered.load(Ordering::Relaxed) > before + 3);
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(threads(&amf).contains_key("worker-1"));
}

#[test]
fn a_number_of_workers_that_is_none_is_refused_with_a_hint() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    for workers in ["0", "257", "two", "1.5", ""] {
        let refused = finish(sidecar(&file, "amf").argument(format!("--workers={workers}")));
        assert_eq!(refused.status.code(), Some(64), "{workers}");
        assert_eq!(
            stderr(&refused),
            format!(
                "error: --workers {workers}: no number from 1 to 256\nhint: write 1, 2 or another number of threads, \
                 or auto for as many as the process may use processors\n"
            )
        );
    }
}

#[test]
fn auto_takes_as_many_workers_as_there_are_processors_for_the_process() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let node = stage.start_with(&file, "amf", pair.ports.amf_admin, &["--workers", "auto"]);
    let processors = thread::available_parallelism().expect("the kernel says").get();
    assert_eq!(spread(&node).len(), processors.min(256));
}

#[test]
fn the_watchdog_hears_of_a_sidecar_whose_workers_take_turns_unless_it_asked_another_process() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let path = stage.path("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let hear = || {
        let mut text = [0; 4096];
        let length = socket.recv(&mut text).expect("a notification");
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    for asked in [true, false] {
        let mut program = sidecar(&file, "nrf")
            .arguments(TWO)
            .environment("NOTIFY_SOCKET", &path)
            .environment("WATCHDOG_USEC", "200000");
        if !asked {
            program = program.environment("WATCHDOG_PID", "1");
        }
        let mut process = program.start().expect("it starts");
        while hear() != "READY=1" {}
        if asked {
            for _ in 0..3 {
                while hear() != "WATCHDOG=1" {}
            }
        }
        process.send(libc::SIGTERM);
        let mut until_then = Vec::new();
        while until_then.last().is_none_or(|last| last != "STOPPING=1") {
            until_then.push(hear());
        }
        assert!(
            asked || !until_then.iter().any(|said| said == "WATCHDOG=1"),
            "{until_then:?}"
        );
        process.finish(PATIENCE).expect("it ends");
        // It drains, and is alive.
        let mut rest = [0; 4096];
        socket.set_nonblocking(true).expect("it waits no longer");
        while socket.recv(&mut rest).is_ok() {}
        socket.set_nonblocking(false).expect("it waits");
    }
}
