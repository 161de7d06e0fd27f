//! Readers that stall, on either side: others are not affected, and the stall ends.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::raw::{DATA, END_HEADERS, Frame, HEADERS, INITIAL_WINDOW_SIZE, RST_STREAM, Raw, frame};
use crate::stage::{By, Node, PATIENCE, Pair, Running, Stage, curl, until};

const MEGABYTE: usize = 1 << 20;
/// Far beyond what a test takes: nothing here goes on because a bound in time ended something else.
const NO_END: &str = "stall: 1h, request: 1h";

pub(crate) fn limit(node: &Node, limit: &str) -> f64 {
    let label = format!("limit=\"{limit}\"");
    node.metric("bartizan_sidecar_limits_reached_total", &[&label])
        .unwrap_or_default()
}

/// Requests under way at a node, by its gauge and by its pools.
fn under_way(node: &Node) -> [f64; 2] {
    ["bartizan_sidecar_requests_in_flight", "bartizan_sidecar_pool_streams"].map(|name| {
        let (_, text) = node.admin("/metrics");
        text.lines()
            .filter(|line| line.starts_with(name))
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
            .sum()
    })
}

pub(crate) fn nothing_is_under_way(running: &Running) {
    for node in [&running.amf, &running.nrf] {
        until("every request to end", || under_way(node) == [0.0, 0.0]);
    }
}

/// Serves HTTP/2 by hand at `address`: each connection in a thread of its own.
fn produce(address: SocketAddr, each: impl Fn(Raw) + Clone + Send + 'static) {
    let listener = TcpListener::bind(address).expect("the producer's port");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let each = each.clone();
            thread::spawn(move || {
                if let Ok(raw) = Raw::server(stream, &[]) {
                    each(raw);
                }
            });
        }
    });
}

/// Resident memory in bytes.
pub(crate) fn resident(node: &Node) -> f64 {
    node.metric("process_resident_memory_bytes", &[]).expect("the metric")
}

/// All consumers' streams on a link shared one window: a client that took no bodies left every
/// other one with heads alone.
#[test]
fn consumers_that_take_no_bodies_leave_those_of_others_flowing() {
    // Through `splice` the one that does not read is a peer's connection to the producer's sidecar.
    for outbound in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        stage.write("large", vec![b'x'; MEGABYTE]);
        let pair = Pair {
            limits: NO_END.to_owned(),
            ..Pair::new(outbound, By::Http2)
        };
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let hostile: Vec<Raw> = (0..4)
            .map(|_| {
                let mut client = Raw::client(pair.ports.outbound, &[(INITIAL_WINDOW_SIZE, 0)]);
                for number in 0..20 {
                    client.ask(2 * number + 1, "GET", "/large");
                }
                // Every head comes, and no body.
                let mut heads = 0;
                client.until(|frame| {
                    heads += u32::from(frame.kind == HEADERS);
                    heads == 20
                });
                client
            })
            .collect();
        for _ in 0..3 {
            let got = stage.path("got");
            let client = curl(&["--http2-prior-knowledge", "--output"])
                .argument(&got)
                .argument(format!("http://{}/large", pair.ports.outbound));
            client.run(PATIENCE).expect("others are served");
            assert_eq!(
                std::fs::metadata(got).expect("the body").len(),
                MEGABYTE as u64,
                "{outbound:?}"
            );
        }
        drop(hostile);
        nothing_is_under_way(&running);
    }
}

#[test]
fn a_response_that_is_not_taken_is_reset_after_a_while_and_counted() {
    let mut stage = Stage::new();
    stage.write("large", vec![b'x'; MEGABYTE]);
    let pair = Pair {
        // That of the sidecar behind it is half as long again.
        limits: "stall: 4s".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let mut client = Raw::client(pair.ports.outbound, &[(INITIAL_WINDOW_SIZE, 0)]);
    client.ask(1, "GET", "/large");
    let reset = client.until(|frame| frame.kind == RST_STREAM);
    assert_eq!(
        (reset.stream, reset.payload),
        (1, vec![0, 0, 0, 0x0b]),
        "ENHANCE_YOUR_CALM"
    );
    assert_eq!(limit(&running.amf, "stall"), 1.0);
    let stalled = running
        .amf
        .metric("bartizan_sidecar_requests_total", &["status=\"stalled\""]);
    assert_eq!(stalled, Some(1.0));
    nothing_is_under_way(&running);
}

/// A deployment in which the NRF has a second function, by the address and port that others know it by.
fn with_second(stage: &Stage, file: &PathBuf, pair: &Pair, second: SocketAddr) -> PathBuf {
    let [listen] = bartizan_testing::loopback_addresses().expect("a free port");
    let text = std::fs::read_to_string(file).expect("the file");
    let first = format!("        - {{ listen: '{}'", pair.ports.inbound);
    let line = format!("        - {{ listen: '{listen}', forward: '{second}', path: http2 }}\n");
    assert!(text.contains(&first), "{text}");
    stage.write("two.yaml", text.replace(&first, &format!("{line}{first}")))
}

/// The window of a consumer's connection was held by the bodies that one producer did not take, and
/// stopped those for another.
#[test]
fn a_producer_that_takes_no_bodies_leaves_those_for_another_flowing() {
    let mut stage = Stage::new();
    let pair = Pair {
        limits: NO_END.to_owned(),
        to: String::new(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let [stalled] = bartizan_testing::loopback_addresses().expect("a free port");
    // Windows as they are by default, and never another.
    produce(stalled, |mut raw| while raw.read().is_ok() {});
    let _function = stage.nghttpd(pair.ports.function, &["--echo-upload"]);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = with_second(&stage, &stage.deployment("pair", &pair, &amf, &nrf), &pair, stalled);
    let running = Running {
        nrf: stage.start(&file, "nrf", pair.ports.nrf_admin),
        amf: stage.start(&file, "amf", pair.ports.amf_admin),
        ports: pair.ports,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let stream = tokio::net::TcpStream::connect(pair.ports.outbound)
            .await
            .expect("it listens");
        let (sender, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        tokio::spawn(connection);
        let post = |to: SocketAddr| {
            let uri = format!("http://nrf:{}/echo", to.port());
            http::Request::post(uri).body(()).expect("a request")
        };
        let mut held = Vec::new();
        for _ in 0..20 {
            let mut sender = sender.clone().ready().await.expect("a connection");
            let (response, mut body) = sender.send_request(post(stalled), false).expect("sent");
            body.send_data(vec![b'x'; MEGABYTE].into(), true).expect("a body");
            held.push((response, body));
        }
        // As much of them is on its way as ever will be.
        let sent = || {
            running
                .amf
                .metric("bartizan_sidecar_tls_plain_bytes_total", &["direction=\"sent\""])
                .unwrap_or_default()
        };
        let mut before = sent();
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let now = sent();
            if now == before && now > MEGABYTE as f64 {
                break;
            }
            before = now;
        }
        let mut sender = sender.ready().await.expect("a connection");
        let (response, mut body) = sender.send_request(post(pair.ports.function), false).expect("sent");
        body.send_data(vec![b'x'; MEGABYTE].into(), true).expect("a body");
        let echoed = tokio::time::timeout(PATIENCE, async {
            let mut body = response.await.expect("an answer").into_body();
            let mut length = 0;
            while let Some(part) = body.data().await {
                let part = part.expect("a part");
                length += part.len();
                body.flow_control().release_capacity(part.len()).expect("a window");
            }
            length
        });
        assert_eq!(echoed.await.expect("others are served"), MEGABYTE);
        drop(held);
    });
    nothing_is_under_way(&running);
}

/// Heads are outside of all windows: interim responses grew a sidecar from 8 MB to 669 in seven seconds.
#[test]
fn interim_responses_without_end_are_bounded_whether_they_are_read_or_not() {
    for reads in [false, true] {
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        produce(pair.ports.function, |mut raw| {
            let request = raw.until(|frame| frame.kind == HEADERS);
            // 103 with a kilobyte that no table keeps.
            let mut block = vec![0x08, 3];
            block.extend(b"103");
            block.extend([0x10, 4]);
            block.extend(b"link");
            block.extend([0x7f, 0x81, 0x07]);
            block.extend([b'x'; 1024]);
            let early = frame(HEADERS, END_HEADERS, request.stream, &block).repeat(16);
            // 256 MB, or until the sidecar has had enough.
            for _ in 0..16 * 1024 {
                if std::io::Write::write_all(&mut raw.0, &early).is_err() {
                    return;
                }
            }
        });
        let running = stage.run(&pair);
        let before = [resident(&running.amf), resident(&running.nrf)];
        let mut client = Raw::client(pair.ports.outbound, &[]);
        client.ask(1, "GET", "/early");
        if reads {
            let end = client.until(|frame| frame.kind == RST_STREAM || frame.kind == DATA);
            assert_eq!(end.stream, 1);
        }
        until("the count", || limit(&running.nrf, "interim-responses") == 1.0);
        nothing_is_under_way(&running);
        for (node, before) in [&running.amf, &running.nrf].into_iter().zip(before) {
            let grown = resident(node) - before;
            assert!(grown < 16.0 * MEGABYTE as f64, "{reads} grew by {grown}");
        }
    }
}

/// curl 7.88, which Open5GS uses, lost the answer where the sidecar reset the stream right after
/// it; requests that were answered so stayed under way for ever, and SIGTERM waited for them.
#[test]
fn an_answer_in_place_of_a_request_with_a_body_arrives_and_leaves_nothing_under_way() {
    let mut stage = Stage::new();
    let pair = Pair {
        warm: 0,
        // It would wait in vain.
        limits: "drain: 10m".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    // No process runs at the address of the peer's sidecar.
    let mut amf = stage.start(&file, "amf", pair.ports.amf_admin);
    for size in [1_000, 200_000, 3 * MEGABYTE] {
        let body = stage.write("body", vec![b'x'; size]);
        for number in 0..20 {
            let posted = curl(&["--http2-prior-knowledge", "--data-binary"])
                .argument(format!("@{}", body.display()))
                .argument(format!("http://{}/post", pair.ports.outbound))
                .run(PATIENCE);
            let answer = posted.expect("curl succeeds").text();
            let problem: serde_json::Value = serde_json::from_str(&answer).expect("ProblemDetails");
            assert_eq!(problem["reason"], "unreachable", "{size} {number}");
        }
    }
    // One connection for many.
    let body = stage.path("body");
    let load = bartizan_host::Program::new("h2load")
        .package("nghttp2-client")
        .arguments(["-n", "400", "-c", "1", "-m", "16", "-d"])
        .argument(body)
        .argument(format!("http://{}/post", pair.ports.outbound));
    let report = load.run(PATIENCE).expect("h2load ends").text();
    assert!(report.contains("400 done, 0 succeeded"), "{report}");
    assert!(report.contains("400 5xx"), "{report}");
    until("every request to end", || under_way(&amf) == [0.0, 0.0]);
    amf.process.send(libc::SIGTERM);
    let ended = amf.process.finish(PATIENCE).expect("it ends by itself");
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn however_a_request_ends_it_is_no_longer_under_way() {
    let mut stage = Stage::new();
    let pair = Pair {
        limits: "request: 400ms, stall: 400ms".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    produce(pair.ports.function, |mut raw| {
        let head = |end: u8, stream| frame(HEADERS, END_HEADERS | end, stream, b"\x88");
        let mut count = 0;
        while let Ok(asked) = raw.read() {
            let Frame {
                kind: HEADERS, stream, ..
            } = asked
            else {
                continue;
            };
            count += 1;
            match count % 6 {
                // Answered before the request has ended, and refused.
                0 => raw.send(&[head(1, stream), frame(RST_STREAM, 0, stream, &[0; 4])].concat()),
                // A head, and the end of the connection.
                1 => return raw.send(&head(0, stream)),
                2 => raw.send(&frame(RST_STREAM, 0, stream, &[0, 0, 0, 2])),
                // Half of a body.
                3 => raw.send(&[head(0, stream), frame(DATA, 0, stream, &[b'x'; 10_000])].concat()),
                4 => raw.send(&head(1, stream)),
                // Silence.
                _ => {}
            }
        }
    });
    let running = stage.run(&pair);
    let counted = |status: &str| {
        let label = format!("status=\"{status}\"");
        let ended = [&running.amf, &running.nrf].map(|node| node.metric("bartizan_sidecar_requests_total", &[&label]));
        ended.iter().any(Option::is_some)
    };
    let mut round = 0_u32;
    // A dozen times, and on until each end has come about: a machine that does much else may not get as far in one.
    until("each end", || {
        let mut client = Raw::client(pair.ports.outbound, &[(INITIAL_WINDOW_SIZE, 100)]);
        for number in 0..8 {
            let stream = 2 * number + 1;
            client.ask(stream, if number % 2 == 0 { "GET" } else { "POST" }, "/end");
            if (number + round).is_multiple_of(3) {
                client.send(&frame(DATA, 0, stream, &[b'x'; 8_000]));
            }
            if (number + round).is_multiple_of(5) {
                client.send(&frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
            }
        }
        thread::sleep(Duration::from_millis(u64::from(round % 4) * 100));
        round += 1;
        let ends = ["broken", "producer-reset", "consumer-reset", "504"];
        round >= 12 && ends.into_iter().all(counted)
    });
    nothing_is_under_way(&running);
}
