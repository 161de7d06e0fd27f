//! The responder and the player against programs we did not write.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::time::Duration;

use bartizan_host::Program;
use bartizan_testing::Listening as _;
use bartizan_testing::free_port;
use bartizan_workbench::Exchange;
use bartizan_workbench::stand_in::replay::{Behaviour, Idle, Responder, Speed, Targets, Think, play};

const LONG: Duration = bartizan_testing::PATIENCE;

const DISCOVERY: &str = "/nnrf-disc/v1/nf-instances?requester-nf-type=AMF&target-nf-type=AUSF";

fn responder(idle: Idle) -> Responder {
    let behaviour = Behaviour {
        think: Think::None,
        idle,
    };
    Responder::on_loopback(&Exchange::two_registrations(), behaviour).unwrap()
}

fn curl() -> Program {
    Program::new("curl")
        .package("curl")
        .arguments(["--silent", "--show-error", "--http2-prior-knowledge"])
}

#[test]
fn curl_gets_the_recorded_bytes() {
    let responder = responder(Idle::Keep);
    let exchange = Exchange::two_registrations();
    let url = format!("http://{}{DISCOVERY}", responder.address("NRF").unwrap());
    let got = curl()
        .arguments(["--write-out", "%{http_version} %{http_code}", &url])
        .run(LONG)
        .unwrap();
    let recorded = exchange
        .requests()
        .find(|(_, request)| request.path == DISCOVERY && request.answer.is_some());
    let body = &recorded.unwrap().1.answer.as_ref().unwrap().body;
    assert_eq!(got.text(), format!("{}2 200", std::str::from_utf8(body).unwrap()));
}

#[test]
fn curl_must_send_the_recorded_body_to_be_answered() {
    let responder = responder(Idle::Keep);
    let exchange = Exchange::two_registrations();
    let path = "/nausf-auth/v1/ue-authentications";
    let (_, request) = exchange.requests().find(|(_, request)| request.path == path).unwrap();
    let url = format!("http://{}{path}", responder.address("AUSF").unwrap());
    let post = |body: &str| {
        let finished = curl()
            .arguments([
                "--data-binary",
                body,
                "--write-out",
                "\n%{http_code} %{content_type}",
                &url,
            ])
            .run(LONG)
            .unwrap();
        finished.text()
    };
    let body = std::str::from_utf8(&request.body).unwrap();
    assert!(post(body).ends_with("\n201 application/json; charset=utf-8"));
    let refused = post(&body.replace("208", "209"));
    assert!(
        refused.contains("AUSF was not asked POST /nausf-auth/v1/ue-authentications with this body"),
        "{refused}"
    );
    assert!(refused.ends_with("\n404 application/problem+json"), "{refused}");
    assert_eq!((responder.answered().requests, responder.answered().unknown), (1, 1));
}

#[test]
fn nghttp_is_asked_to_go_away_with_the_last_stream_that_was_answered() {
    let responder = responder(Idle::FREE5GC);
    let url = format!("http://{}{DISCOVERY}", responder.address("NRF").unwrap());
    // Waiting for a second request keeps nghttp there after the first.
    let finished = Program::new("nghttp")
        .package("nghttp2-client")
        .arguments(["--no-dep", "--verbose", "--null-out", &url])
        .run(LONG)
        .unwrap();
    assert!(finished.text().contains(":status: 200"), "{}", finished.text());

    // Connections that say nothing are reported as well, before any stream.
    let idle = std::net::TcpStream::connect(responder.address("UDM").unwrap()).unwrap();
    let frames = go_away_of_a_silent_client(idle);
    // GOAWAY (type 7) of 8 bytes on stream 0: last stream 0, NO_ERROR (RFC 9113 section 6.8).
    let goaway = [0, 0, 8, 0x07, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(
        frames.windows(goaway.len()).any(|window| window == goaway),
        "{frames:02x?}"
    );
    assert!(responder.answered().goaways > 0);
}

/// Sends the preface and empty SETTINGS, and reads until the server closes.
fn go_away_of_a_silent_client(mut stream: std::net::TcpStream) -> Vec<u8> {
    use std::io::{Read as _, Write as _};
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let mut frames = Vec::new();
    stream.read_to_end(&mut frames).unwrap();
    frames
}

#[test]
fn h2load_gets_every_answer_over_many_streams() {
    let responder = responder(Idle::Keep);
    let url = format!("http://{}{DISCOVERY}", responder.address("NRF").unwrap());
    let finished = Program::new("h2load")
        .package("nghttp2-client")
        .arguments(["--requests=2000", "--clients=4", "--max-concurrent-streams=20", &url])
        .run(LONG)
        .unwrap();
    let text = finished.text();
    assert!(
        text.contains("2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout"),
        "{text}"
    );
    assert!(text.contains("2000 2xx"), "{text}");
    assert_eq!(responder.answered().requests, 2000);
}

#[test]
fn player_through_a_proxy_we_did_not_write_gets_every_answer() {
    let exchange = Exchange::two_registrations();
    let responder = responder(Idle::Keep);
    let front = free_port();
    let mut proxy = Program::new("nghttpx")
        .package("nghttp2-proxy")
        .arguments([
            "--no-location-rewrite",
            "--no-server-rewrite",
            "--conf=/dev/null",
            "--errorlog-file=/dev/stderr",
        ])
        .arguments(["--accesslog-file=/dev/null", "--workers=1", "--single-process"])
        .argument(format!("--frontend={},{};no-tls", front.ip(), front.port()));
    for connection in exchange.connections() {
        // nghttpx chooses by the host of `:authority`, where the network function was in the recording.
        let Some(request) = connection.requests.first() else {
            continue;
        };
        let address = responder.address(&connection.server).unwrap();
        let (ip, port, host) = (address.ip(), address.port(), request.authority.host());
        proxy = proxy.argument(format!("--backend={ip},{port};{host}/;proto=h2"));
    }
    // And one for everything else, which nghttpx insists on.
    let anywhere = responder.address("NRF").unwrap();
    proxy = proxy.argument(format!("--backend={},{};/;proto=h2", anywhere.ip(), anywhere.port()));
    let mut proxy = proxy.start().unwrap();
    proxy.wait_for_port(front, LONG).unwrap();
    let targets: Targets = exchange
        .servers()
        .into_iter()
        .map(|server| (server.to_owned(), front))
        .collect();
    let outcome = play(&exchange, &targets, Speed::AsFastAsPossible).unwrap();
    assert_eq!(outcome.faults, []);
    assert_eq!(outcome.requests.len(), 59);
    assert_eq!(responder.answered().requests, 59);
}
