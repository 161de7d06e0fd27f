//! Bodies of a megabyte in both directions, and a reader that does not read.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bartizan_host::Program;
use bartizan_testing::resident;

use crate::stage::{By, PAIRS, PATIENCE, Pair, Stage, curl};

const MEGABYTE: usize = 1 << 20;

fn noise() -> Vec<u8> {
    // A repeating pattern would not show a chunk that is lost and replaced by another.
    (0..MEGABYTE as u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

#[test]
fn a_megabyte_goes_up_and_comes_back_unchanged() {
    for (outbound, inbound) in PAIRS {
        let mut stage = Stage::new();
        let body = noise();
        let upload = stage.write("body", &body);
        let pair = Pair::new(outbound, inbound);
        let _function = stage.nghttpd(pair.ports.function, &["--echo-upload"]);
        let running = stage.run(&pair);
        let echoed = stage.path("echoed");
        let done = curl(&["--http2-prior-knowledge", "--data-binary"])
            .argument(format!("@{}", upload.display()))
            .argument("--output")
            .argument(&echoed)
            .argument(format!("http://{}/echo", running.ports.outbound));
        done.run(PATIENCE).expect("curl succeeds");
        assert!(std::fs::read(&echoed).expect("the echo") == body, "{pair:?}");
        for node in [&running.amf, &running.nrf] {
            for direction in ["direction=\"sent\"", "direction=\"received\""] {
                let bytes = node.metric("bartizan_sidecar_tls_plain_bytes_total", &[direction]);
                assert!(bytes > Some(MEGABYTE as f64), "{direction} {bytes:?}");
            }
        }
    }
}

#[test]
fn twenty_downloads_at_once_are_all_whole() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        let body = noise();
        stage.write("body", &body);
        let pair = Pair::new(by, by);
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let mut client = curl(&["--http2-prior-knowledge", "--parallel", "--parallel-immediate"]);
        for number in 0..20 {
            client = client
                .argument("--output")
                .argument(stage.path(&format!("got-{number}")))
                .argument(format!("http://{}/body", running.ports.outbound));
        }
        client.run(PATIENCE).expect("curl succeeds");
        for number in 0..20 {
            let got = std::fs::read(stage.path(&format!("got-{number}"))).expect("a download");
            assert!(got == body, "{by:?} {number}");
        }
    }
}

/// Window of a link that was not given back for a part of each answer stalled it after some dozens.
#[test]
fn hundreds_of_large_answers_at_once_do_not_use_the_windows_up() {
    let mut stage = Stage::new();
    stage.write("large", vec![b'x'; MEGABYTE / 4]);
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let load = Program::new("h2load")
        .package("nghttp2-client")
        .arguments(["-n", "300", "-c", "1", "-m", "8", "-w", "24", "-W", "24"])
        .argument(format!("http://{}/large", running.ports.outbound));
    let report = load.run(PATIENCE * 3).expect("h2load succeeds").text();
    assert!(
        report.contains("300 succeeded, 0 failed, 0 errored, 0 timeout"),
        "{report}"
    );
}

#[test]
fn a_reader_that_does_not_read_makes_nobody_hold_the_body() {
    const LARGE: usize = 64 * MEGABYTE;
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        stage.write("large", vec![b'x'; LARGE]);
        let pair = Pair::new(by, by);
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let before = [resident(running.amf.process.id()), resident(running.nrf.process.id())];

        // A client with windows as large as they may be, that asks and then sleeps.
        let mut client = TcpStream::connect(running.ports.outbound).expect("the sidecar accepts");
        client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        hello.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff]); // SETTINGS_INITIAL_WINDOW_SIZE
        hello.extend([0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0]); // WINDOW_UPDATE of the connection
        // :method GET, :scheme http, :path /large, :authority nrf; no Huffman, nothing indexed by it.
        let block = b"\x82\x86\x04\x06/large\x01\x03nrf";
        hello.extend([0, 0, block.len() as u8, 1, 0x5, 0, 0, 0, 1]);
        hello.extend(block);
        client.write_all(&hello).expect("the request");
        let mut first = [0; 1];
        client.read_exact(&mut first).expect("an answer begins");
        std::thread::sleep(Duration::from_secs(2));

        let after = [resident(running.amf.process.id()), resident(running.nrf.process.id())];
        for (before, after) in before.iter().zip(after) {
            let grown = after.saturating_sub(*before);
            assert!(grown < 16 * MEGABYTE as u64, "{by:?} grew by {grown}");
        }
    }
}
