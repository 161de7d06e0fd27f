//! The NRF and its client against programs we did not write, and every target to answer wrongly.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::free_port;
use bartizan_workbench::stand_in::nrf::{self, Manner};
use bartizan_workbench::stand_in::sbi::{
    Authority, Client, Connections, Error, Function, Papers, Procedure, Session, Target,
};
use serde_json::Value;

const LONG: Duration = bartizan_testing::PATIENCE;
const ID: &str = "4947a69a-f61b-4bc1-b9da-47c9c5d14b64";

fn free() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn nrf() -> SocketAddr {
    let (listener, address) = free();
    std::thread::spawn(move || nrf::serve(listener, Manner::default()));
    address
}

/// `curl` by HTTP/2 with prior knowledge; gives the body, and version, status, type and location.
fn curl(arguments: &[&str], url: &str) -> (String, String) {
    let finished = Program::new("curl")
        .package("curl")
        .arguments([
            "--silent",
            "--show-error",
            "--http2-prior-knowledge",
            "--max-time",
            "120",
        ])
        .arguments([
            "--write-out",
            "\n%{http_version} %{response_code} %{content_type} %header{location}",
        ])
        .arguments(arguments)
        .argument(url)
        .run(LONG)
        .unwrap();
    let text = finished.text();
    let (body, said) = text.rsplit_once('\n').unwrap();
    (body.to_owned(), said.trim().to_owned())
}

/// Mandatory attributes by TS 29.510 (clauses 6.1.6.2.2, 6.1.6.2.3 and 6.2.6.2.2), written
/// independently of the code under test.
fn is_profile(profile: &Value) {
    for (name, right) in [
        ("nfInstanceId", profile["nfInstanceId"].is_string()),
        ("nfType", profile["nfType"].is_string()),
        (
            "nfStatus",
            ["REGISTERED", "SUSPENDED", "UNDISCOVERABLE", "CANARY_RELEASE"]
                .iter()
                .any(|s| profile["nfStatus"] == **s),
        ),
        (
            "an address",
            ["fqdn", "ipv4Addresses", "ipv6Addresses"]
                .iter()
                .any(|name| !profile[*name].is_null()),
        ),
        (
            "priority",
            profile["priority"].as_u64().is_none_or(|priority| priority <= 65535),
        ),
    ] {
        assert!(right, "{name} in {profile}");
    }
    for service in profile["nfServices"].as_array().into_iter().flatten() {
        for name in ["serviceInstanceId", "serviceName", "scheme", "nfServiceStatus"] {
            assert!(service[name].is_string(), "{name} in {service}");
        }
        let versions = service["versions"].as_array().unwrap();
        assert!(
            !versions.is_empty()
                && versions
                    .iter()
                    .all(|version| version["apiVersionInUri"].is_string() && version["apiFullVersion"].is_string())
        );
        let points = service["ipEndPoints"].as_array().unwrap();
        assert!(
            points
                .iter()
                .all(|point| point["ipv4Address"].is_string()
                    && point["port"].as_u64().is_some_and(|port| port <= 65535))
        );
        let prefix: http::Uri = service["apiPrefix"].as_str().unwrap().parse().unwrap();
        assert!(
            prefix.scheme().is_some() && prefix.authority().is_some(),
            "an absolute URI: {prefix}"
        );
    }
}

#[test]
fn curl_registers_discovers_keeps_alive_and_deregisters() {
    let root = format!("http://{}", nrf());
    let place = format!("{root}/nnrf-nfm/v1/nf-instances/{ID}");
    let profile = Function::named("UDM").unwrap().profile(ID).to_string();
    let put = [
        "--request",
        "PUT",
        "--header",
        "content-type: application/json",
        "--data",
        &profile,
    ];
    let (body, said) = curl(&put, &place);
    assert_eq!(said, format!("2 201 application/json {place}"));
    let made: Value = serde_json::from_str(&body).unwrap();
    is_profile(&made);
    assert!(made["heartBeatTimer"].is_u64());
    assert_eq!(curl(&put, &place).1, "2 200 application/json");

    let query = format!("{root}/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF");
    let (body, said) = curl(&[], &query);
    assert_eq!(said, "2 200 application/json");
    let result: Value = serde_json::from_str(&body).unwrap();
    assert!(result["validityPeriod"].as_u64().unwrap() > 0);
    let found = result["nfInstances"].as_array().unwrap();
    assert_eq!(found.len(), 1);
    is_profile(&found[0]);

    let beat = [
        "--request",
        "PATCH",
        "--header",
        "content-type: application/json-patch+json",
        "--data",
        r#"[{"op":"replace","path":"/nfStatus","value":"REGISTERED"}]"#,
    ];
    assert_eq!(curl(&beat, &place), (String::new(), "2 204".to_owned()));
    assert_eq!(curl(&["--request", "DELETE"], &place).1, "2 204");
    let (body, said) = curl(&beat, &place);
    assert_eq!(said, "2 404 application/problem+json");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&problem["status"], &problem["cause"]),
        (&404.into(), &"RESOURCE_NOT_FOUND".into())
    );
}

#[test]
fn h2load_is_answered_every_time() {
    let url = format!(
        "http://{}/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF",
        nrf()
    );
    let finished = Program::new("h2load")
        .package("nghttp2-client")
        .arguments(["--requests=3000", "--clients=4", "--max-concurrent-streams=64", &url])
        .run(LONG)
        .unwrap();
    let text = finished.text();
    assert!(
        text.contains("3000 succeeded, 0 failed") && text.contains("status codes: 3000 2xx"),
        "{text}"
    );
}

fn transact(client: &mut Client, session: &mut Session, count: usize) -> Result<Vec<Procedure>, Error> {
    let mut done = Vec::new();
    for _ in 0..count {
        let (procedure, question) = session.turn();
        let exchanged = client.exchange(&question)?;
        Session::judge(&question, &exchanged.said, &client.target().url)?;
        assert!(exchanged.took > Duration::ZERO);
        done.push(procedure);
    }
    while let Some(question) = session.deregistration() {
        let exchanged = client.exchange(&question)?;
        Session::judge(&question, &exchanged.said, &client.target().url)?;
    }
    Ok(done)
}

fn amf() -> Session {
    Session::new(Function::named("AMF").unwrap(), 7)
}

fn left(root: SocketAddr) -> u64 {
    let (body, _) = curl(&[], &format!("http://{root}/nnrf-nfm/v1/nf-instances"));
    serde_json::from_str::<Value>(&body).unwrap()["totalItemCount"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_session_leaves_nothing_registered_whether_connections_are_kept_or_new() {
    let address = nrf();
    for (connections, opened) in [(Connections::Kept, 1), (Connections::New, 30 + 10)] {
        let mut client = Client::new(Target::clear(address), connections).unwrap();
        transact(&mut client, &mut amf(), 30).unwrap();
        assert_eq!(client.opened(), opened);
    }
    assert_eq!(left(address), 0);
}

#[test]
fn many_questions_at_once_are_all_answered() {
    let mut client = Client::new(Target::clear(nrf()), Connections::Kept).unwrap();
    let question = Arc::new(amf().discovery());
    for streams in [1, 16, 64] {
        let took = client.load(&question, streams, 500, Session::judge).unwrap();
        assert_eq!(took.len(), 500);
    }
    let (took, dropped) = client
        .stream(&question, 500.0, Duration::from_millis(400), Session::judge)
        .unwrap();
    assert_eq!((took.len(), dropped), (200, 0));
}

fn papers(folder: &Path, authority: Authority) -> (Papers, String) {
    let papers = Papers::make(folder, authority, &["consumer", "nrf"]).unwrap();
    let policy = match authority {
        Authority::Classical => "{ profile: classical, lab: true }",
        _ => "hybrid",
    };
    let text = format!(
        "policy: {policy}\nnodes:\n\
         \x20 consumer: {{ function: AMF, address: 127.78.0.1, names: {{ dns: [consumer.5gc] }} }}\n\
         \x20 nrf: {{ function: NRF, address: 127.78.0.2, names: {{ dns: [nrf.5gc] }} }}\n\
         interfaces:\n  - {{ kind: SBI, between: [consumer, nrf], with: sidecar }}\n"
    );
    (papers, text)
}

#[test]
fn over_tls_of_their_own_both_ends_are_authenticated() {
    let folder = tempfile::tempdir().unwrap();
    for authority in [Authority::Classical, Authority::MlDsa65] {
        let (papers, text) = papers(folder.path(), authority);
        let (listener, address) = free();
        let tls = Some(papers.endpoint(&text, "nrf").unwrap());
        std::thread::spawn(move || {
            nrf::serve(
                listener,
                Manner {
                    tls,
                    ..Manner::default()
                },
            )
        });
        let endpoint = papers.endpoint(&text, "consumer").unwrap();
        let mut client = Client::new(Target::mutual(address, endpoint, "nrf"), Connections::New).unwrap();
        transact(&mut client, &mut amf(), 6).unwrap();
        // A client without a certificate is refused. In TLS 1.3 it learns this after its handshake.
        let url = format!("https://localhost:{}", address.port());
        let target = Target::to_url(&url, Some(&papers.roots())).unwrap();
        let error = transact(&mut Client::new(target, Connections::Kept).unwrap(), &mut amf(), 1).unwrap_err();
        assert!(matches!(error, Error::Tls { .. } | Error::Broken { .. }), "{error}");
    }
}

/// A server of others over TLS; its certificate carries `nrf.5gc` and `localhost`.
fn nghttpd(folder: &Path) -> (Process, SocketAddr) {
    let place = folder.join("htdocs/nnrf-disc/v1");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("nf-instances"), r#"{"validityPeriod":1,"nfInstances":[]}"#).unwrap();
    let address = free_port();
    let mut process = Program::new("nghttpd")
        .package("nghttp2-server")
        .arguments(["--address=127.0.0.1", "--htdocs"])
        .argument(folder.join("htdocs"))
        .argument(address.port().to_string())
        .argument(folder.join("server.key.pem"))
        .argument(folder.join("server.crt.pem"))
        .start()
        .unwrap();
    process.wait_for_port(address, LONG).unwrap();
    (process, address)
}

#[test]
fn a_server_of_others_is_judged_by_its_roots_and_its_name() {
    use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
    let folder = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let mut ca = Authority::init(&folder.path().join("ca"), InitOptions::new(Algorithm::EcdsaP256), now).unwrap();
    let leaf = Leaf::new("server").unwrap().dns("localhost").unwrap();
    ca.issue(&leaf, now)
        .unwrap()
        .write_to(folder.path(), Overwrite::Replace)
        .unwrap();
    let (_process, address) = nghttpd(folder.path());
    let roots = folder.path().join("ca.crt.pem");
    let ask = |url: &str, roots: &Path| {
        let mut client = Client::new(Target::to_url(url, Some(roots))?, Connections::Kept)?;
        let question = amf().discovery();
        let said = client.exchange(&question)?.said;
        assert_eq!(said.status, 200);
        Session::judge(&question, &said, url)
    };
    // nghttpd does not say what it serves: the answer is refused by its type, after a handshake that was accepted.
    let url = format!("https://localhost:{}", address.port());
    let error = ask(&url, &roots).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");

    let error = ask(&format!("https://{address}"), &roots).unwrap_err();
    assert!(error.to_string().contains("not valid for name"), "{error}");
    assert!(error.hint().unwrap().contains("--target"));

    let other = folder.path().join("other");
    Authority::init(&other, InitOptions::new(Algorithm::EcdsaP256), now).unwrap();
    let other_root = fs::read_dir(&other)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().ends_with(".crt.pem"))
        .unwrap();
    let error = ask(&url, &other_root).unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(error.hint().unwrap().contains("--target-ca"));

    let error = ask(&format!("https://localhost:{}", nrf().port()), &roots).unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
}

/// Answers the first bytes of each connection with these, and hangs up.
fn answering(bytes: &'static [u8]) -> SocketAddr {
    let (listener, address) = free();
    std::thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(bytes);
            // Closed with something unread, it would be reset, and the client could fail by that
            // before it reads the answer.
            let _ = socket.shutdown(Shutdown::Write);
            let _ = io::copy(&mut socket, &mut io::sink());
        }
    });
    address
}

fn first(address: SocketAddr) -> Error {
    let target = Target::to_url(&format!("http://{address}"), None).unwrap();
    transact(&mut Client::new(target, Connections::Kept).unwrap(), &mut amf(), 3).unwrap_err()
}

#[test]
fn what_does_not_answer_as_an_nrf_is_named_with_what_to_do() {
    let nobody = free_port();
    let page = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>no</html>");
    // An UDM's address, say: HTTP/2 with other paths.
    let (mut other, other_address) = {
        let folder = std::env::temp_dir();
        let address = free_port();
        let process = Program::new("nghttpd")
            .package("nghttp2-server")
            .arguments(["--no-tls", "--address=127.0.0.1", "--htdocs"])
            .argument(folder.join("no-such-folder"))
            .argument(address.port().to_string())
            .start()
            .unwrap();
        (process, address)
    };
    other.wait_for_port(other_address, LONG).unwrap();
    for (address, expected, hint) in [
        (nobody, "Connection refused", "is an NRF listening there"),
        (page, "does not speak HTTP/2", "by prior knowledge"),
        (other_address, "answered 404 Not Found", "is this an NRF?"),
    ] {
        let error = first(address);
        assert!(
            error.to_string().contains(expected) && error.to_string().contains(&address.to_string()),
            "{error}"
        );
        assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
    }
}

/// An HTTP/2 server with one answer to everything.
fn saying(status: u16, content_type: &'static str, body: &'static str) -> SocketAddr {
    let (listener, address) = free();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut connection = h2::server::handshake(socket).await.unwrap();
                    while let Some(Ok((_, mut respond))) = connection.accept().await {
                        let head = http::Response::builder()
                            .status(status)
                            .header("content-type", content_type);
                        let mut stream = respond.send_response(head.body(()).unwrap(), false).unwrap();
                        stream
                            .send_data(bytes::Bytes::from_static(body.as_bytes()), true)
                            .unwrap();
                    }
                });
            }
        });
    });
    address
}

#[test]
fn a_token_that_is_asked_for_and_a_page_that_is_no_answer_are_distinguished() {
    let problem = r#"{"title":"Unauthorized","status":401,"detail":"missing access token"}"#;
    let error = first(saying(401, "application/problem+json", problem));
    assert!(
        error
            .to_string()
            .contains("401 Unauthorized: Unauthorized, missing access token"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("OAuth 2.0"));
    let error = first(saying(
        200,
        "text/html; charset=utf-8",
        "<!doctype html><title>Console</title>",
    ));
    assert!(
        error.to_string().contains("200 OK as text/html: <!doctype html>"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("console"));
    let error = first(saying(201, "application/json", r#"{"nfInstanceId":"another"}"#));
    assert!(error.to_string().contains("not the profile of the instance"), "{error}");
}
