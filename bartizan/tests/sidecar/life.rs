//! From start to stop: what is refused before a port opens, what the admin port says, and how a sidecar ends.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};

use bartizan_host::{Finished, Process, Program};
use tokio::sync::watch;

use crate::stage::{By, Node, PATIENCE, Pair, Stage, ask, curl, finish, get, sidecar, until};

/// Answers requests in HTTP/2 without TLS, none before what this gives is set to true.
pub(crate) fn waiting_producer(address: SocketAddr) -> watch::Sender<bool> {
    let (answers, waiting) = watch::channel(false);
    let listener = TcpListener::bind(address).expect("the producer's port");
    listener.set_nonblocking(true).expect("a socket for tokio");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                let waiting = waiting.clone();
                tokio::spawn(async move {
                    let Ok(mut connection) = h2::server::handshake(stream).await else {
                        return;
                    };
                    while let Some(Ok((_, mut respond))) = connection.accept().await {
                        let mut waiting = waiting.clone();
                        tokio::spawn(async move {
                            if waiting.wait_for(|answers| *answers).await.is_err() {
                                // The test has ended.
                                return;
                            }
                            let mut stream = respond.send_response(http::Response::new(()), false).expect("a head");
                            stream
                                .send_data(bytes::Bytes::from_static(b"late"), true)
                                .expect("a body");
                        });
                    }
                });
            }
        });
    });
    answers
}

pub(crate) fn stderr(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stderr).into_owned()
}

/// Returns true if a request has come as far as the producer's sidecar. On the `http2` path a
/// connection dialled ahead is there before any request is; on `splice` it is counted only once
/// bytes came by it, and the next is dialled in its place.
fn arrived(nrf: &Node, by: By) -> bool {
    let (metric, connections) = match by {
        By::Splice => ("bartizan_sidecar_local_connections_total", 2),
        By::Http2 => ("bartizan_sidecar_requests_in_flight", 1),
    };
    nrf.metric(metric, &["side=\"inbound\""]) == Some(1.0) && nrf.connections().len() == connections
}

#[test]
fn sigterm_lets_a_slow_request_end_and_takes_nothing_new() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        let pair = Pair {
            limits: "drain: 10m, request: 10m".to_owned(),
            ..Pair::new(by, by)
        };
        let answers = waiting_producer(pair.ports.function);
        let mut running = stage.run(&pair);
        let client = curl(&["--http2-prior-knowledge"]).argument(format!("http://{}/", pair.ports.outbound));
        let client = client.start().expect("curl starts");
        until("the request at both sidecars", || arrived(&running.nrf, by));
        running.amf.process.send(libc::SIGTERM);
        running.nrf.process.send(libc::SIGTERM);
        until("the listener to close", || {
            TcpStream::connect(pair.ports.outbound).is_err()
        });
        assert!(
            running.amf.process.ended().expect("the kernel says").is_none(),
            "it left its request"
        );
        answers.send_replace(true);
        let answer = client.finish(PATIENCE).expect("curl ends");
        assert_eq!(answer.text(), "late", "{by:?}");
        let ledger = running.amf.ledger.clone();
        let (amf, nrf) = (
            running.amf.process.finish(PATIENCE),
            running.nrf.process.finish(PATIENCE),
        );
        assert_eq!(amf.expect("it ends").status.code(), Some(0));
        assert_eq!(nrf.expect("it ends").status.code(), Some(0));
        let text = std::fs::read_to_string(ledger).expect("the ledger");
        assert!(text.contains("\"event\":\"handshake\""), "{text}");
    }
}

#[test]
fn draining_ends_at_its_bound_and_the_ledger_is_written_out() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        let pair = Pair {
            limits: "drain: 300ms, request: 10m".to_owned(),
            ..Pair::new(by, by)
        };
        let _answers = waiting_producer(pair.ports.function);
        let mut running = stage.run(&pair);
        let client = curl(&["--http2-prior-knowledge"]).argument(format!("http://{}/", pair.ports.outbound));
        let client = client.start().expect("curl starts");
        until("the request at both sidecars", || arrived(&running.nrf, by));
        running.amf.process.send(libc::SIGTERM);
        let ended = client.finish(PATIENCE).expect("curl ends");
        assert!(!ended.status.success());
        let ledger = running.amf.ledger.clone();
        let finished = running.amf.process.finish(PATIENCE).expect("it ends");
        assert_eq!(finished.status.code(), Some(0));
        assert!(stderr(&finished).contains("closed connections that had not ended in time"));
        let text = std::fs::read_to_string(ledger).expect("the ledger");
        let of = |event: &str| {
            text.lines()
                .filter(|line| line.contains(&format!("\"event\":\"{event}\"")))
                .count()
        };
        assert!(of("handshake") > 0);
        assert_eq!(of("handshake"), of("closed"), "{text}");
    }
}

/// Open5GS's functions are such clients: libcurl keeps connections between requests and does not
/// read them meanwhile, so that it answers the PING of a graceful GOAWAY with its next request
/// only. A restart took all of `drain`, and callers of that function got 504s.
#[test]
fn a_client_that_does_not_read_between_its_requests_does_not_hold_draining_up() {
    let mut stage = Stage::new();
    let pair = Pair {
        limits: "drain: 10m".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _producer = stage.nghttpd(pair.ports.function, &[]);
    let mut running = stage.run(&pair);
    let url = || format!("http://{}/", pair.ports.outbound);
    // One request an hour: the second waits, and the connection with it.
    let client = curl(&["--http2-prior-knowledge", "--rate", "1/h"]).arguments([url(), url()]);
    let client = client.start().expect("curl starts");
    until("the first request's answer", || {
        let answered = |node: &Node| node.metric("bartizan_sidecar_requests_total", &["side=\"outbound\""]);
        answered(&running.amf) == Some(1.0)
    });
    running.amf.process.send(libc::SIGTERM);
    let finished = running.amf.process.finish(PATIENCE).expect("it ends");
    assert_eq!(finished.status.code(), Some(0));
    assert!(!stderr(&finished).contains("closed connections that had not ended in time"));
    drop(client);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut stage = Stage::new();
    let pair = Pair {
        limits: "drain: 10m, request: 10m".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _answers = waiting_producer(pair.ports.function);
    let mut running = stage.run(&pair);
    let client = curl(&["--http2-prior-knowledge"]).argument(format!("http://{}/", pair.ports.outbound));
    let client = client.start().expect("curl starts");
    until("the request", || arrived(&running.nrf, By::Http2));
    running.amf.process.send(libc::SIGINT);
    running
        .amf
        .process
        .wait_for_line("draining", PATIENCE)
        .expect("it says so");
    running.amf.process.send(libc::SIGTERM);
    let finished = running.amf.process.finish(PATIENCE).expect("it ends");
    assert!(stderr(&finished).contains("stopped at once"));
    drop(client);
}

/// A manager of containers ends the one that was replaced: the request under way was cut off.
#[test]
fn the_first_signal_to_one_that_has_a_successor_ends_no_request() {
    let mut stage = Stage::new();
    let pair = Pair {
        limits: "drain: 10m, request: 10m".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let answers = waiting_producer(pair.ports.function);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let nrf = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let post = stage.path("amf.sock");
    let start = || {
        let arguments = ["--hand-over", post.to_str().expect("a path")];
        stage.start_with(&file, "amf", pair.ports.amf_admin, &arguments)
    };
    let mut before = start();
    let client = curl(&["--http2-prior-knowledge"]).argument(format!("http://{}/", pair.ports.outbound));
    let client = client.start().expect("curl starts");
    until("the request", || arrived(&nrf, By::Http2));
    let _successor = start();
    let says = |process: &mut Process, line: &str| process.wait_for_line(line, PATIENCE).expect("it says so");
    says(&mut before.process, "a successor serves");
    before.process.send(libc::SIGTERM);
    says(&mut before.process, "drains already");
    answers.send_replace(true);
    assert_eq!(client.finish(PATIENCE).expect("curl ends").text(), "late");
    let finished = before.process.finish(PATIENCE).expect("it ends");
    assert_eq!(finished.status.code(), Some(0), "{}", stderr(&finished));
}

#[test]
fn an_idle_pair_stops_at_once() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        let pair = Pair {
            limits: "drain: 10m".to_owned(),
            ..Pair::new(by, by)
        };
        let mut running = stage.run(&pair);
        until("a connection", || running.nrf.connections().len() == 1);
        for node in [&mut running.nrf, &mut running.amf] {
            node.process.send(libc::SIGTERM);
        }
        for node in [running.nrf, running.amf] {
            // Far less than the ten minutes it may take.
            let finished = node.process.finish(PATIENCE).expect("it ends by itself");
            assert_eq!(finished.status.code(), Some(0), "{}", stderr(&finished));
        }
    }
}

/// Regression: draining waited for the handshake of a connection that was dialled ahead.
#[test]
fn a_sidecar_whose_peer_does_not_answer_stops_at_once() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        let pair = Pair {
            limits: "drain: 10m, connect: 10m".to_owned(),
            ..Pair::new(by, by)
        };
        let silent = TcpListener::bind(pair.ports.inbound).expect("the peer's port");
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let mut node = stage.start(&file, "amf", pair.ports.amf_admin);
        let _dialled = silent.accept().expect("a connection that is dialled ahead");
        node.process.send(libc::SIGTERM);
        let finished = node.process.finish(PATIENCE).expect("it ends by itself");
        assert_eq!(finished.status.code(), Some(0), "{}", stderr(&finished));
    }
}

#[test]
fn mistakes_are_refused_before_a_port_opens() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);

    let refused = finish(sidecar(&file, "smf"));
    assert_eq!(refused.status.code(), Some(64));
    assert_eq!(
        stderr(&refused),
        "error: no node is called `smf`\nhint: nodes with a sidecar are amf, nrf\n"
    );
    let refused = finish(sidecar(&stage.path("nowhere.yaml"), "amf"));
    assert_eq!(refused.status.code(), Some(64));
    assert!(stderr(&refused).contains("nowhere.yaml: No such file"));

    let broken = stage.write("broken.yaml", "nodes: [");
    assert_eq!(finish(sidecar(&broken, "amf")).status.code(), Some(64));

    // amf's certificate with nrf's key.
    let mixed = crate::stage::Papers {
        key: nrf.key.clone(),
        ..amf.clone()
    };
    let file = stage.deployment("mixed", &pair, &mixed, &nrf);
    let refused = finish(sidecar(&file, "amf"));
    assert_eq!(refused.status.code(), Some(64), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("hint: "));

    // A certificate that every peer would refuse for its name.
    let file = stage.deployment("misnamed", &pair, &nrf, &nrf);
    let refused = finish(sidecar(&file, "amf"));
    assert_eq!(refused.status.code(), Some(64), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("amf.5gc"), "{}", stderr(&refused));
}

#[test]
fn a_policy_that_asks_for_a_validated_module_refuses_to_start() {
    let mut stage = Stage::new();
    let pair = Pair {
        policy: "{ profile: hybrid, module: validated }".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let refused = finish(sidecar(&file, "amf"));
    assert_eq!(refused.status.code(), Some(64));
    let said = stderr(&refused);
    assert!(
        said.contains(
            "error: policy of SBI to nrf requires a validated cryptographic module, and this build has AWS-LC"
        ),
        "{said}"
    );
    assert!(said.contains("hint: remove `module: validated`"), "{said}");
    let mistyped = Pair {
        policy: "{ profile: hybrid, module: fips }".to_owned(),
        ..pair
    };
    let file = stage.deployment("mistyped", &mistyped, &amf, &nrf);
    let refused = finish(sidecar(&file, "amf"));
    assert_eq!(refused.status.code(), Some(64));
    assert!(
        stderr(&refused).contains("policy.module: `fips` is not known"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn a_port_in_use_is_a_failure_with_a_hint() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let _holder = TcpListener::bind(pair.ports.outbound).expect("the port");
    let refused = finish(sidecar(&file, "amf"));
    assert_eq!(refused.status.code(), Some(2));
    let said = stderr(&refused);
    let port = pair.ports.outbound.port();
    assert!(
        said.contains(&format!("error: outbound listener {}", pair.ports.outbound)),
        "{said}"
    );
    assert!(
        said.contains(&format!("hint: `ss -ltnp sport = :{port}` shows who has it")),
        "{said}"
    );
}

#[test]
fn a_browser_gets_a_page_of_the_admin_port_that_takes_nothing_from_elsewhere() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    let url = |path: &str| format!("http://{}{path}", running.amf.admin);
    let browser = ["-H", "Accept: text/html,application/xhtml+xml;q=0.9", &url("/")];
    let (status, _, page) = ask(&browser);
    assert_eq!(status, 200);
    let head = curl(&["--head", browser[0], browser[1], browser[2]]).run(PATIENCE);
    let head = head.expect("curl succeeds").text().to_lowercase();
    for header in [
        "content-type: text/html; charset=utf-8",
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
        "cross-origin-resource-policy: same-origin",
        "cross-origin-opener-policy: same-origin",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "cache-control: no-store",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert_eq!(running.amf.admin("/page"), (200, page.clone()));
    // A page of elsewhere, whose name was made to lead here, reads nothing; Prometheus finds it by
    // whatever name it has.
    let by_name = |path: &str| ask(&["-H", "Host: evil.example:9100", &url(path)]).0;
    for path in [
        "/",
        "/page",
        "/page.js",
        "/config",
        "/state",
        "/connections",
        "/nothing",
    ] {
        assert_eq!(by_name(path), 421, "{path}");
    }
    for path in ["/metrics", "/live", "/ready"] {
        assert_eq!(by_name(path), 200, "{path}");
    }
    // Its files are here, and no other.
    let referenced: Vec<_> = ["href=\"", "src=\""]
        .into_iter()
        .flat_map(|attribute| page.split(attribute).skip(1))
        .map(|rest| rest.split('"').next().unwrap())
        .filter(|path| *path != "data:,")
        .collect();
    assert_eq!(referenced.len(), 5, "{referenced:?}");
    for path in referenced {
        let (status, text) = running.amf.admin(path);
        assert_eq!(status, 200, "{path}");
        assert!(
            !path.starts_with("/page") || !text.contains("://"),
            "{path} names another place"
        );
    }
    // Programs still get a list.
    let (status, list) = running.amf.admin("/");
    assert_eq!(status, 200);
    assert!(list.starts_with("/metrics\n") && list.ends_with("/page\n"), "{list}");
}

/// In Kubernetes the port is open to all pods, and the kubelet restarts a container that does not
/// answer. Before, each of these connections had one of 32 places for ten seconds.
#[test]
fn connections_that_ask_the_admin_port_for_nothing_make_room_for_a_probe() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    let silent: Vec<TcpStream> = (0..400)
        .map(|_| TcpStream::connect(running.amf.admin).unwrap())
        .collect();
    assert_eq!(running.amf.admin("/live"), (200, "live\n".to_owned()));
    assert_eq!(running.amf.admin("/ready"), (200, "ready\n".to_owned()));
    assert_eq!(silent.len(), 400);
}

#[test]
fn the_admin_port_answers_and_keeps_secrets() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run_with(&pair, &amf, &nrf);
    assert_eq!(running.amf.admin("/live"), (200, "live\n".to_owned()));
    assert_eq!(running.amf.admin("/ready"), (200, "ready\n".to_owned()));
    assert_eq!(running.amf.admin("/nothing").0, 404);
    assert_eq!(
        ask(&["--data", "x", &format!("http://{}/config", running.amf.admin)]).0,
        405
    );

    let (_, config) = running.amf.admin("/config");
    let config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    assert_eq!(config["node"], "amf");
    assert_eq!(config["peers"][0]["policy"]["groups"][0], "X25519MLKEM768");
    assert_eq!(config["sidecar"]["limits"]["connections"], 4096);
    let secret = std::fs::read_to_string(&amf.key).expect("the key");
    let secret = secret.lines().nth(1).expect("its first line");
    for path in ["/config", "/connections", "/state", "/metrics"] {
        let (status, text) = running.amf.admin(path);
        assert_eq!(status, 200);
        assert!(!text.contains(secret) && !text.contains("PRIVATE KEY"), "{path}");
    }

    let (_, metrics) = running.amf.admin("/metrics");
    assert!(metrics.ends_with("# EOF\n"));
    for wanted in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "bartizan_build_info{",
        "bartizan_sidecar_certificate_not_after_seconds{",
        "bartizan_sidecar_pool_connections{",
        "bartizan_sidecar_ledger_lost_total 0",
    ] {
        assert!(metrics.contains(wanted), "{wanted} is missing in\n{metrics}");
    }
}

#[test]
fn every_metric_is_described_and_every_described_metric_exists() {
    let mut stage = Stage::new();
    let running = stage.run(&Pair::new(By::Http2, By::Http2));
    let (_, text) = running.amf.admin("/metrics");
    let without = "bartizan_sidecar_revocation_list_left_seconds";
    assert!(!text.contains(without), "no revocation list is given");
    let exported: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        })
        .collect();
    let page = include_str!("../../../docs/sidecar-reference.md");
    let table = page.split_once("### Metrics").expect("the section").1;
    let table = table.split_once("\n## ").expect("its end").0;
    let described: BTreeSet<String> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    assert!(
        exported.is_subset(&described),
        "not described: {:?}",
        exported.difference(&described)
    );
    // A metric without an event is not exported: the sidecar's own test holds this list equal to
    // the registered families.
    let registered: BTreeSet<&str> = include_str!("../../../crates/protect/sidecar/src/metrics/families.txt")
        .lines()
        .collect();
    for name in described.difference(&exported).filter(|name| *name != without) {
        let family = name
            .strip_suffix("_total")
            .or(name.strip_suffix("_info"))
            .unwrap_or(name);
        assert!(registered.contains(family), "{name} is described and does not exist");
    }
    for family in registered {
        let named = [family.to_owned(), format!("{family}_total"), format!("{family}_info")];
        assert!(
            named.iter().any(|name| described.contains(name)),
            "{family} is not described"
        );
    }
}

#[test]
fn an_expired_certificate_makes_a_sidecar_unready() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue_expired("amf"), stage.issue("nrf"));
    let running = stage.run_with(&Pair::new(By::Splice, By::Splice), &amf, &nrf);
    let (status, body) = running.amf.admin("/ready");
    assert!(
        status == 503 && body.contains("ended with ") && body.contains(&amf.certificate.display().to_string()),
        "{status} {body}"
    );
    let said = running.amf.process.stderr();
    let line = said.lines().find(|line| line.contains("not ready")).expect("readiness");
    assert!(line.contains("ended with ") && !said.contains("INFO ready"), "{said}");
    assert!(running.amf.metric("bartizan_sidecar_certificate_left_seconds", &[]) < Some(0.0));
    assert_eq!(running.nrf.admin("/ready").0, 200);
}

#[test]
fn status_of_a_node_with_a_sidecar_is_that_of_its_admin_port() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let pair = Pair::new(By::Splice, By::Splice);
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let status = |node: &str, more: &[&str]| {
        let program = Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .argument("status")
            .argument(&file);
        finish(program.arguments(["--node", node]).arguments(more))
    };
    let absent = status("nrf", &[]);
    assert_eq!(absent.status.code(), Some(2), "{}", stderr(&absent));
    assert!(stderr(&absent).contains("bartizan sidecar ") && stderr(&absent).contains("--node nrf"));
    // A link of another kind is none that the node has.
    let none = status("nrf", &["--with", "ipsec"]);
    assert_eq!(none.status.code(), Some(64), "{}", stderr(&none));

    let running = stage.run_with(&pair, &amf, &nrf);
    until("a connection that is dialled ahead", || {
        let shown = status("amf", &[]);
        shown.status.code() == Some(0) && shown.text().contains("nrf (SBI): 1 open connection, ")
    });
    // A connection that is kept ready counts once the peer has answered by it.
    let _function = stage.nghttpd(pair.ports.function, &[]);
    get(&format!("http://{}/", pair.ports.outbound));
    let shown = status("amf", &["--json", "--with", "sidecar"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(shown["well"], true, "{shown}");
    assert_eq!(shown["peers"][0]["refused"], 0, "{shown}");
    assert!(shown["peers"][0]["handshakes"].as_u64() > Some(0), "{shown}");
    assert!(
        shown["certificates"][0]["subject"]
            .as_str()
            .is_some_and(|name| name.contains("amf")),
        "{shown}"
    );
    drop(running);
    let expired = stage.issue_expired("amf");
    let running = stage.run_with(&pair, &expired, &nrf);
    let unready = status("amf", &[]);
    assert_eq!(unready.status.code(), Some(1), "{}", stderr(&unready));
    assert!(unready.text().contains("amf: NOT READY: ") && unready.text().contains("ended with "));
    drop(running);
}

#[test]
fn the_log_is_json_where_that_is_asked_for() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Splice, By::Splice);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let mut process = sidecar(&file, "nrf")
        .arguments(["--log-format", "json"])
        .start()
        .expect("it starts");
    process.wait_for_line("\"ready\"", PATIENCE).expect("it is ready");
    process.send(libc::SIGTERM);
    let finished = process.finish(PATIENCE).expect("it ends");
    let lines: Vec<serde_json::Value> = stderr(&finished)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let listener = lines.iter().find(|line| line["message"] == "inbound listener, TLS 1.3");
    assert_eq!(
        listener.expect("it says what it bound")["listen"],
        pair.ports.inbound.to_string()
    );
    assert!(lines.iter().any(|line| line["message"] == "stopped"));
}
