//! The peer that sent a request, as the network function sees it: by certificate or nothing, and
//! never what the peer sends itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use crate::stage::{By, Pair, Ports, Stage, ask, finish};
use bartizan_host::Program;

/// A function of HTTP/1.1 that answers with the head, or for a body in chunks all, of what it was asked.
fn mirror(address: SocketAddr) {
    let listener = TcpListener::bind(address).expect("a port");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut said = Vec::new();
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut bytes) {
                said.extend_from_slice(&bytes[..read]);
                let text = String::from_utf8_lossy(&said);
                let whole = match text.contains("chunked") {
                    true => text.contains("\r\n0\r\n") && text.ends_with("\r\n\r\n"),
                    false => text.contains("\r\n\r\n"),
                };
                if whole {
                    break;
                }
            }
            let status = if said.starts_with(b"PRI ") {
                "400 Bad Request"
            } else {
                "200 OK"
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                said.len()
            );
            let _ = stream.write_all(&[head.as_bytes(), &said].concat());
        }
    });
}

#[test]
fn a_function_sees_its_caller_by_certificate_or_nothing_whatever_the_caller_sends() {
    for named in [true, false] {
        let mut stage = Stage::new();
        let pair = Pair {
            ports: Ports::free(),
            ..Pair::new(By::Http2, By::Http2)
        };
        let function = pair.ports.function;
        mirror(function);
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        if named {
            let text = std::fs::read_to_string(&file).expect("the file");
            let forward = format!("forward: '{function}',");
            let with = format!("{forward} x-forwarded-client-cert: true,");
            stage.write("pair.yaml", text.replace(&forward, &with));
        }
        let _nrf = stage.start(&file, "nrf", pair.ports.nrf_admin);
        let _amf = stage.start(&file, "amf", pair.ports.amf_admin);
        let url = format!("http://{}/x", pair.ports.outbound);
        for version in ["--http1.1", "--http2-prior-knowledge"] {
            let (status, _, head) = ask(&[
                version,
                "--header",
                "X-Forwarded-Client-Cert: Hash=0;Subject=\"CN=nrf\"",
                "--header",
                "Client-Cert: :AAAA:",
                "--header",
                "x_forwarded_client_cert: DNS=nrf.5gc",
                &url,
            ]);
            assert_eq!(status, 200);
            let lines: Vec<&str> = head
                .lines()
                .filter(|line| line.to_ascii_lowercase().replace('_', "-").contains("client-cert"))
                .collect();
            match lines[..] {
                [line] if named => {
                    assert!(line.starts_with("x-forwarded-client-cert: Hash="), "{line}");
                    assert!(line.contains(";Subject=\"") && line.ends_with(";DNS=amf.5gc"), "{line}");
                }
                [] if !named => {}
                _ => panic!("{version}, named: {named}: {lines:?}"),
            }
        }
        let body = stage.write("trailed", "body");
        let trailed = finish(
            Program::new("nghttp")
                .package("nghttp2-client")
                .arguments([
                    "--no-dep",
                    "--trailer",
                    "x-forwarded-client-cert: DNS=nrf.5gc",
                    "--trailer",
                    "asked: yes",
                    "-d",
                ])
                .argument(body)
                .argument(&url),
        );
        let said = trailed.text();
        assert!(said.contains("asked: yes") && !said.contains("DNS=nrf.5gc"), "{said}");
    }
}
