//! Client and server of the bench against programs we did not write.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::free_port;

use super::client::Client;
use super::{ANSWER_BYTES, REQUEST_BYTES, serve};

const LONG: Duration = bartizan_testing::PATIENCE;

fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&listener));
    address
}

/// A server of others that has this document where requests ask for one.
struct Nghttpd {
    _process: Process,
    _folder: tempfile::TempDir,
    address: SocketAddr,
}

fn nghttpd(document: Option<&str>) -> Nghttpd {
    let folder = tempfile::tempdir().unwrap();
    let place = folder
        .path()
        .join("nudm-ueau/v1/imsi-208930000000001/security-information");
    fs::create_dir_all(&place).unwrap();
    if let Some(document) = document {
        fs::write(place.join("generate-auth-data"), document).unwrap();
    }
    let address = free_port();
    let mut process = Program::new("nghttpd")
        .package("nghttp2-server")
        .arguments(["--no-tls", "--address=127.0.0.1", "--htdocs"])
        .argument(folder.path())
        .argument(address.port().to_string())
        .start()
        .unwrap();
    process.wait_for_port(address, LONG).unwrap();
    Nghttpd {
        _process: process,
        _folder: folder,
        address,
    }
}

#[test]
fn client_is_answered_by_nghttpd() {
    let nghttpd = nghttpd(Some(&"x".repeat(ANSWER_BYTES)));
    let mut client = Client::connect(nghttpd.address).unwrap();
    for _ in 0..20 {
        client.exchange().unwrap();
    }
    // More than the window of a connection: it must be given back, and taken.
    client.load(16, 3_000).unwrap();
}

#[test]
fn client_takes_no_other_answer_for_the_right_one() {
    for (document, expected) in [
        (Some("short"), "an answer of 5 bytes"),
        (None, "another status than 200"),
    ] {
        let nghttpd = nghttpd(document);
        let mut client = Client::connect(nghttpd.address).unwrap();
        let error = client.exchange().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn server_answers_curl() {
    let url = format!("http://{}/nudm-ueau/v1", server());
    let body = "y".repeat(REQUEST_BYTES);
    let finished = Program::new("curl")
        .package("curl")
        .arguments([
            "--silent",
            "--show-error",
            "--http2-prior-knowledge",
            "--max-time",
            "120",
            "--data",
        ])
        .argument(body)
        .arguments(["--write-out", "\n%{http_version} %{response_code} %{content_type}"])
        .argument(url)
        .run(LONG)
        .unwrap();
    let text = finished.text();
    let (answer, said) = text.rsplit_once('\n').unwrap();
    assert_eq!(said, "2 200 application/json");
    assert_eq!(answer.len(), ANSWER_BYTES);
    serde_json::from_str::<serde_json::Value>(answer).unwrap();
}

#[test]
fn server_answers_every_request_of_h2load() {
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body");
    fs::write(&body, "z".repeat(REQUEST_BYTES)).unwrap();
    let finished = Program::new("h2load")
        .package("nghttp2-client")
        .arguments([
            "--requests=20000",
            "--clients=4",
            "--max-concurrent-streams=64",
            "--data",
        ])
        .argument(&body)
        .argument(format!("http://{}/", server()))
        .run(LONG)
        .unwrap();
    let text = finished.text();
    assert!(
        text.contains("20000 succeeded, 0 failed, 0 errored, 0 timeout") && text.contains("status codes: 20000 2xx"),
        "{text}"
    );
}
