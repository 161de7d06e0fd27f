//! The file in the repository against the capture it was made from, counted by tshark.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::Program;
use bartizan_workbench::Exchange;
use bartizan_workbench::stand_in::exchange::file::File;

#[path = "../examples/exchange-from-capture.rs"]
#[allow(dead_code, reason = "it is a program with a `main` of its own")]
mod tool;

const LONG: Duration = Duration::from_secs(60);

/// By the sample configuration of free5GC.
const FUNCTIONS: [(&str, &str); 6] = [
    ("127.0.0.3", "UDM"),
    ("127.0.0.4", "UDR"),
    ("127.0.0.7", "PCF"),
    ("127.0.0.9", "AUSF"),
    ("127.0.0.10", "NRF"),
    ("127.0.0.18", "AMF"),
];

fn experiment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/ue-registration")
}

/// Fields of the packets that a filter takes, one packet per line.
fn tshark(filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut program = Program::new("tshark")
        .package("tshark")
        .arguments(["-n", "-d", "tcp.port==8000,http2", "-r"])
        .argument(experiment().join("sbi.pcap"))
        .arguments(["-Y", filter, "-T", "fields"]);
    for field in fields {
        program = program.arguments(["-e", field]);
    }
    let text = program.run(LONG).unwrap().text();
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn function(address: &str) -> String {
    FUNCTIONS
        .iter()
        .find(|(known, _)| *known == address)
        .expect("a known server")
        .1
        .to_owned()
}

#[test]
fn connections_are_those_of_the_capture_by_server_and_time() {
    let exchange = Exchange::two_registrations();
    let recorded: Vec<(String, u128)> = tshark(
        "tcp.flags.syn == 1 && tcp.flags.ack == 0",
        &["ip.dst", "frame.time_relative"],
    )
    .iter()
    .map(|syn| {
        (
            function(&syn[0]),
            (syn[1].parse::<f64>().unwrap() * 1e6).round() as u128,
        )
    })
    .collect();
    assert_eq!(recorded.len(), 65);
    let ours: Vec<(String, u128)> = exchange
        .connections()
        .iter()
        .map(|connection| (connection.server.clone(), connection.opened.as_micros()))
        .collect();
    assert_eq!(ours, recorded);
}

#[test]
fn requests_and_answers_are_those_of_the_capture_by_server() {
    let exchange = Exchange::two_registrations();
    let mut recorded: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for request in tshark(
        "http2.headers.method",
        &["ip.dst", "http2.headers.method", "http2.headers.path"],
    ) {
        let [address, method, path] = request.try_into().unwrap();
        *recorded.entry((function(&address), method, path)).or_default() += 1;
    }
    let mut ours: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for (server, request) in exchange.requests() {
        let key = (server.to_owned(), request.method.to_string(), request.path.to_string());
        *ours.entry(key).or_default() += 1;
    }
    assert_eq!(ours.values().sum::<usize>(), 73);
    assert!(ours == recorded, "requests differ");

    let mut recorded: BTreeMap<(String, String), usize> = BTreeMap::new();
    for answer in tshark("http2.headers.status", &["ip.src", "http2.headers.status"]) {
        let [address, status] = answer.try_into().unwrap();
        *recorded.entry((function(&address), status)).or_default() += 1;
    }
    let mut ours: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (server, request) in exchange.requests() {
        if let Some(answer) = &request.answer {
            *ours
                .entry((server.to_owned(), answer.status.as_u16().to_string()))
                .or_default() += 1;
        }
    }
    assert_eq!(ours.values().sum::<usize>(), 59);
    assert_eq!(ours, recorded);
}

#[test]
fn bodies_have_the_bytes_that_the_capture_has() {
    let exchange = Exchange::two_registrations();
    let bytes: usize = exchange
        .requests()
        .map(|(_, request)| request.body.len() + request.answer.as_ref().map_or(0, |answer| answer.body.len()))
        .sum();
    // A packet may hold several frames: their types and lengths are printed in the same order.
    let recorded: usize = tshark("http2.type == 0", &["http2.type", "http2.length"])
        .iter()
        .flat_map(|packet| packet[0].split(',').zip(packet[1].split(',')))
        .filter(|(kind, _)| *kind == "0")
        .map(|(_, length)| length.parse::<usize>().unwrap())
        .sum();
    assert_eq!(bytes, recorded);
}

#[test]
fn consumer_is_recognised_exactly_where_a_discovery_names_it() {
    let exchange = Exchange::two_registrations();
    let named = exchange
        .requests()
        .filter(|(_, request)| request.consumer.is_some())
        .count();
    let discoveries = tshark(
        "http2.headers.path contains \"requester-nf-type=\"",
        &["http2.headers.path"],
    );
    assert_eq!(named, discoveries.len());
    for (server, request) in exchange.requests() {
        if let Some(consumer) = &request.consumer {
            assert_eq!(server, "NRF");
            assert!(request.path.as_str().contains(&format!("requester-nf-type={consumer}")));
        }
    }
}

#[test]
fn tool_makes_the_file_in_the_repository_again() {
    let text = fs::read_to_string(experiment().join("exchange.json")).unwrap();
    let file: File = serde_json::from_str(&text).unwrap();
    let capture = experiment().join("sbi.pcap");
    let servers: Vec<String> = file
        .servers
        .iter()
        .map(|server| format!("{}={}", server.address, server.function))
        .collect();
    let again = tool::exchange(capture.to_str().unwrap(), &file.source.description, &servers).unwrap();
    assert_eq!(again.source.capture, file.source.capture);
    // The dissector may be another version here.
    assert!(
        (again.servers, again.connections) == (file.servers, file.connections),
        "the file differs"
    );
}

#[test]
fn tool_leaves_nothing_out_in_silence() {
    let capture = experiment().join("sbi.pcap");
    let capture = capture.to_str().unwrap();
    let error = tool::exchange(capture, "", &["127.0.0.10:8000=NRF".to_owned()]).unwrap_err();
    assert!(
        error.ends_with("no network function is named for its server"),
        "{error}"
    );
    let error = tool::exchange("/no/such.pcap", "", &["127.0.0.10:8000=NRF".to_owned()]).unwrap_err();
    assert!(error.contains("/no/such.pcap"), "{error}");
}
