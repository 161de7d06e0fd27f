//! Versions of HTTP, found per connection: consumers and producers that speak either, in every
//! pair, with programs of others at both ends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use serde_json::Value;

use crate::churn::{all_answered, consumer_with, producer_with, tally};
use crate::stage::{By, PATIENCE, Pair, Ports, Running, Stage, ask, curl, finish, problem, until};

/// Requests of each pair.
const REQUESTS: usize = 600;

/// PCF and SMF ask the BSF in HTTP/1.1, which takes nothing else: the `http2` path answered 505,
/// and no binding was registered.
#[test]
fn either_version_at_either_end_loses_no_request_and_doubles_none() {
    let mut stage = Stage::new();
    for (outbound, inbound) in [(By::Http2, By::Http2), (By::Http2, By::Splice), (By::Splice, By::Http2)] {
        for http1_producer in [false, true] {
            let pair = Pair {
                ports: Ports::free(),
                ..Pair::new(outbound, inbound)
            };
            let arguments: &[&str] = if http1_producer { &["-http1"] } else { &[] };
            let _producer = producer_with(pair.ports.function, arguments);
            let running = stage.run(&pair);
            for http1_consumer in [false, true] {
                let from = if http1_consumer { REQUESTS } else { 0 };
                let mut arguments = vec!["-concurrency", "8", "-body", "30000"];
                arguments.extend(http1_consumer.then_some("-http1"));
                let consumer = consumer_with(pair.ports.outbound, from, REQUESTS, &arguments);
                let tally = tally(consumer, pair.ports.function, from);
                assert_eq!(
                    tally,
                    all_answered(REQUESTS),
                    "{pair:?}, consumer of HTTP/1.1: {http1_consumer}, producer: {http1_producer}"
                );
            }
            if inbound == By::Http2 {
                // The last may be counted after its answer has arrived.
                until("each is counted, and none is under way", || {
                    let counted = running.nrf.metric(
                        "bartizan_sidecar_requests_total",
                        &[
                            "side=\"inbound\"",
                            "consumer=\"amf\"",
                            "producer=\"nrf\"",
                            "status=\"200\"",
                        ],
                    );
                    let in_flight = running
                        .nrf
                        .metric("bartizan_sidecar_requests_in_flight", &["side=\"inbound\""]);
                    (counted, in_flight) == (Some(2.0 * REQUESTS as f64), Some(0.0))
                });
            }
        }
    }
}

/// nginx without TLS, HTTP/1.1 alone, whose root is the stage's folder.
fn nginx(stage: &Stage, function: SocketAddr) -> Process {
    let configuration = format!(
        "daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1; events {{}}
         http {{ access_log {folder}/access.log; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
         uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; server {{ listen {function}; root {folder}; client_max_body_size 10m;
         location /put {{ dav_methods PUT; }} }} }}",
        folder = stage.path("").display(),
    );
    let configuration = stage.write("nginx.conf", configuration);
    let mut nginx = Program::new("/usr/sbin/nginx")
        .package("nginx-light")
        .argument("-e")
        .argument(stage.path("nginx.log"))
        .argument("-c")
        .argument(configuration)
        .start()
        .expect("nginx starts");
    nginx.wait_for_port(function, PATIENCE).expect("nginx listens");
    nginx
}

/// A pair on the `http2` path that routes by authority, with nginx behind it.
fn before_nginx() -> (Stage, Process, Running) {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    stage.write("big", vec![b'x'; 3_000_000]);
    let pair = Pair {
        to: String::new(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let nginx = nginx(&stage, pair.ports.function);
    let running = stage.run(&pair);
    (stage, nginx, running)
}

/// curl's output with these arguments: head and body.
fn said(arguments: &[&str]) -> String {
    curl(&[&["--include"], arguments].concat())
        .run(PATIENCE)
        .expect("curl succeeds")
        .text()
}

#[test]
fn curl_reaches_nginx_in_every_way_that_http_has_of_asking() {
    let (stage, _nginx, running) = before_nginx();
    let at = running.ports.outbound;
    let [hello, big] = ["hello", "big"].map(|file| format!("http://{at}/{file}"));
    let to = ["--header", "Host: nrf"];
    for version in ["--http1.1", "--http2", "--http2-prior-knowledge", "--http1.0"] {
        let (status, _, body) = ask(&[&[version], &to[..], &[hello.as_str()]].concat());
        assert_eq!((status, body.as_str()), (200, "hello"), "{version}");
        let size = ["--output", "/dev/null", "--write-out", "%{http_code} %{size_download}"];
        let sized = said(&[&[version], &size[..], &to[..], &[big.as_str()]].concat());
        assert_eq!(sized, "200 3000000", "{version}");
        let head = said(&[&[version, "--head"], &to[..], &[big.as_str()]].concat());
        assert!(head.to_ascii_lowercase().contains("content-length: 3000000"), "{head}");
        let answer = said(&[&[version, "--header", "If-None-Match: *"], &to[..], &[hello.as_str()]].concat());
        assert!(
            answer
                .lines()
                .next()
                .is_some_and(|line| line.contains("304") || line.contains("200")),
            "{answer}"
        );
    }
    // Kept alive, both requests on one connection.
    let twice = said(
        &[
            &["--http1.1", "--write-out", "[%{num_connects}]"],
            &to[..],
            &[hello.as_str(), hello.as_str()],
        ]
        .concat(),
    );
    assert!(twice.contains("[1]") && twice.contains("[0]"), "{twice}");

    // nginx 405s what it cannot do with a file: the request has come through whole all the same,
    // also where its client waits for 100.
    let file = stage.write("upload", vec![b'y'; 2_000_000]);
    let upload = format!("@{}", file.display());
    for more in [
        &[][..],
        &["--header", "Transfer-Encoding: chunked"],
        &["--header", "Expect: 100-continue"],
    ] {
        let arguments = [
            &["--http1.1", "--data-binary", &upload],
            &to[..],
            more,
            &[hello.as_str()],
        ]
        .concat();
        let answer = said(&arguments);
        assert!(answer.contains("405 Not Allowed"), "{more:?}: {answer}");
    }

    // A proxy's form of asking: the host is in the request line.
    let proxy = format!("http://{at}");
    let (status, _, body) = ask(&["--proxy", &proxy, "http://nrf/hello"]);
    assert_eq!((status, body.as_str()), (200, "hello"));
    let answer = ask(&["--http1.1", "--header", "Host: smf", &hello]);
    assert_eq!((answer.0, &problem(&answer)["reason"]), (400, &Value::from("no-route")));
    let tunnel = finish(curl(&["--proxy", &proxy, "--proxytunnel", "http://nrf/hello"]));
    let why = String::from_utf8_lossy(&tunnel.stderr);
    assert!(why.contains("501"), "{why}");

    // The version was found once, not at every request.
    let log = running.nrf.process.stderr();
    assert_eq!(
        log.matches("requests are sent in the version of HTTP").count(),
        1,
        "{log}"
    );
    until("nothing under way", || {
        let under_way = running
            .amf
            .metric("bartizan_sidecar_requests_in_flight", &["side=\"outbound\""]);
        under_way == Some(0.0)
    });
}

/// Log and metric named the node itself, which is not to blame.
#[test]
fn what_is_not_http_is_closed_and_the_log_names_the_peer_that_was_meant() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    let mut stream = std::net::TcpStream::connect(running.ports.outbound).expect("it listens");
    stream.write_all(b"\x16\x03\x01\x02\x00\x01").expect("it reads");
    assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0);
    until("the log's line", || running.amf.process.stderr().contains("not-http"));
    let log = running.amf.process.stderr();
    let line = log.lines().find(|line| line.contains("not-http")).expect("a line");
    assert!(line.contains("peer=nrf") || line.contains("peer=\"nrf\""), "{line}");
    let counted = running
        .amf
        .metric("bartizan_sidecar_client_errors_total", &["reason=\"not-http\""]);
    assert_eq!(counted, Some(1.0));
}

/// A function that hands out what each of its connections read first, and answers it by `answer`.
fn function(address: SocketAddr, answer: impl Fn(usize, &[u8]) -> &'static [u8] + Send + 'static) -> Receiver<Vec<u8>> {
    let listener = TcpListener::bind(address).expect("the function's port");
    let (read, reads) = channel();
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let mut input = vec![0; 100_000];
            let mut used = 0;
            // A message of HTTP/1.1 ends with the body that the tests send.
            while used == 0 || input.starts_with(b"POST") && !input[..used].ends_with(b"once") {
                match stream.read(&mut input[used..]) {
                    Ok(more @ 1..) => used += more,
                    _ => break,
                }
            }
            let _ = stream.write_all(answer(number, &input[..used]));
            let _ = read.send(input[..used].to_vec());
        }
    });
    reads
}

/// Asks for something that must not be done twice.
fn post(outbound: SocketAddr) -> (u16, String, String) {
    let url = format!("http://{outbound}/subscriptions");
    ask(&["--http2-prior-knowledge", "--data", "once", &url])
}

/// hyper, without HTTP/2: it closes at the preface, where other servers answer in words.
#[test]
fn a_function_that_closes_at_the_preface_is_asked_in_http_1() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let reads = function(pair.ports.function, |_, read| match read.starts_with(b"POST") {
        true => b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n",
        false => b"",
    });
    let running = stage.run(&pair);
    assert_eq!(post(running.ports.outbound).0, 201);
    assert_eq!(post(running.ports.outbound).0, 201);
    let posts = reads.try_iter().filter(|read| read.starts_with(b"POST"));
    assert_eq!(posts.count(), 2);
}

#[test]
fn a_function_of_http_2_that_goes_away_without_a_byte_is_not_asked_twice() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let reads = function(pair.ports.function, |number, _| match number {
        0 => b"",
        _ => b"\0\0\0\x04\0\0\0\0\0",
    });
    let running = stage.run(&pair);
    for _ in 0..2 {
        let answer = post(running.ports.outbound);
        assert_eq!(problem(&answer)["reason"], "broken", "{answer:?}");
    }
    let reads: Vec<_> = reads.try_iter().collect();
    assert!(reads.iter().all(|read| read.starts_with(b"PRI ")), "{reads:?}");
    assert!(
        reads[0].len() > reads[1].len() && reads[0].starts_with(&reads[1]),
        "{reads:?}"
    );
}
