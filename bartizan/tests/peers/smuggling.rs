//! Requests that hide in others: what implementations of HTTP/1.1 are known to read differently
//! never passes, and what passes is counted by the producer as often as by us.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::churn::{counts, producer_with};
use crate::stage::{By, PATIENCE, Pair, Stage};

/// Bytes behind a request's line and Host: the request for `/id/9` that they hide must not be done.
const HIDING: &[&str] = &[
    "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Content-Length: 0\r\nContent-Length: 44\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Content-Length: 0, 44\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Content-Length: +0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Content-Length : 44\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "X: y\r\n Content-Length: 44\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "X: y\nContent-Length: 44\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "X: y\n\nGET /id/9 HTTP/1.1\nHost: nrf\n\n",
    "X: y\r\rGET /id/9 HTTP/1.1\rHost: nrf\r\r",
    "Transfer-Encoding: xchunked\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n1;x\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n0\n\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n1\r\nxGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n0\r\n\r\n",
    "Connection: content-length\r\nContent-Length: 44\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "Host: smf\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
    "X: a\0b\r\n\r\nGET /id/9 HTTP/1.1\r\nHost: nrf\r\n\r\n",
];

/// Sends these bytes on one connection and reads until its end.
fn exchange(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(bytes).expect("it reads");
    let mut answers = Vec::new();
    // A reset under the answer is no answer.
    let _ = stream.read_to_end(&mut answers);
    String::from_utf8_lossy(&answers).into_owned()
}

fn count(function: SocketAddr, id: usize) -> u64 {
    counts(function)[id]
}

#[test]
fn no_request_that_hides_in_another_is_done_in_either_version_and_direction() {
    for http1 in [true, false] {
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        let arguments: &[&str] = if http1 { &["-http1"] } else { &[] };
        let _producer = producer_with(pair.ports.function, arguments);
        // Bytes as they are to the sidecar next to the function: a peer that is hostile itself.
        let by_splice = Pair {
            ports: crate::stage::Ports {
                outbound: crate::stage::Ports::free().outbound,
                amf_admin: crate::stage::Ports::free().amf_admin,
                ..pair.ports
            },
            ..Pair::new(By::Splice, By::Http2)
        };
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let running = stage.run_with(&pair, &amf, &nrf);
        let file = stage.deployment("hostile", &by_splice, &amf, &nrf);
        let _hostile = stage.start(&file, "amf", by_splice.ports.amf_admin);
        let mut wanted = 0;
        for to in [pair.ports.outbound, by_splice.ports.outbound] {
            for hiding in HIDING {
                let answers = exchange(to, format!("POST /id/1 HTTP/1.1\r\nHost: nrf\r\n{hiding}").as_bytes());
                let refused = answers.starts_with("HTTP/1.1 400 ") || answers.starts_with("HTTP/1.1 501 ");
                assert!(
                    refused && answers.matches("HTTP/1.1 ").count() == 1,
                    "{hiding:?}: {answers:?}"
                );
                assert_eq!(count(pair.ports.function, 9), 0, "{hiding:?}");
            }
            // Requests that follow each other openly are each answered, in their order.
            let open = "POST /id/2 HTTP/1.1\r\nHost: nrf\r\nContent-Length: 3\r\n\r\nabcGET /id/3 HTTP/1.1\r\nHost: nrf\r\n\r\n\
                        POST /id/4 HTTP/1.1\r\nHost: nrf\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nxyz\r\n0\r\n\r\n\
                        GET /id/5 HTTP/1.1\r\nHost: nrf\r\nConnection: close\r\n\r\n";
            let answers = exchange(to, open.as_bytes());
            let places = ["2 abc", "\r\n\r\n3 ", "4 xyz", "\r\n\r\n5 "].map(|body| answers.find(body));
            assert!(places.is_sorted() && places.iter().all(Option::is_some), "{answers}");
            assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 4, "{answers}");
            wanted += 1;
            for id in 2..6 {
                assert_eq!(count(pair.ports.function, id), wanted, "{id}");
            }
        }
        drop(running);
    }
}

/// A function whose response has bytes behind it that would be the next consumer's response.
#[test]
fn what_a_producer_sends_behind_its_response_reaches_nobody() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let listener = std::net::TcpListener::bind(pair.ports.function).expect("a port");
    let producer = std::thread::spawn(move || {
        let mut answered = 0;
        listener.set_nonblocking(false).expect("it waits");
        while answered < 6 {
            let Ok((mut stream, _)) = listener.accept() else { break };
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .expect("a timeout");
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut bytes) {
                let said = String::from_utf8_lossy(&bytes[..read]).into_owned();
                if said.starts_with("PRI ") {
                    let _ =
                        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
                    break;
                }
                answered += 1;
                let path = said.split(' ').nth(1).unwrap_or_default().to_owned();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
                    path.len()
                );
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    let running = stage.run(&pair);
    for number in 0..6 {
        let path = format!("/{number}");
        let (status, _, body) = crate::stage::get(&format!("http://{}{path}", running.ports.outbound));
        assert_eq!((status, body.as_str()), (200, path.as_str()));
    }
    producer.join().expect("the producer ends");
}
