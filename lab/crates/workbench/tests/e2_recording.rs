//! The exchange in the repository against the capture it was made from, read again and counted by tshark.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::Program;
use bartizan_workbench::stand_in::e2::Exchange;
use bartizan_workbench::stand_in::e2::exchange::File;

#[path = "../examples/e2-exchange-from-capture.rs"]
#[allow(dead_code, reason = "it is a program with a `main` of its own")]
mod tool;

const LONG: Duration = Duration::from_secs(60);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/e2-kpm")
}

#[test]
fn the_file_is_what_the_tool_makes_of_the_capture() {
    let text = fs::read_to_string(folder().join("exchange.json")).unwrap();
    let file: File = serde_json::from_str(&text).unwrap();
    let made = tool::exchange(&folder().join("e2.pcap"), &file.description, "36421").unwrap();
    assert_eq!(made, file);
}

#[test]
fn every_byte_of_user_data_that_tshark_counts_is_in_the_exchange() {
    let fields = [
        "-T",
        "fields",
        "-e",
        "sctp.data_sid",
        "-e",
        "sctp.chunk_length",
        "-e",
        "sctp.chunk_type",
    ];
    let program = Program::new("tshark").package("tshark").arguments(["-n", "-r"]);
    let program = program
        .argument(folder().join("e2.pcap"))
        .arguments(["-Y", "sctp.data_sid"]);
    let text = program.arguments(fields).run(LONG).unwrap().text();
    let mut bytes = 0;
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        for (length, kind) in columns[1].split(',').zip(columns[2].split(',')) {
            // DATA has 16 bytes before the user's (RFC 9260, section 3.3.1).
            if kind == "0" {
                bytes += length.parse::<usize>().unwrap() - 16;
            }
        }
    }
    let exchange = Exchange::flexric();
    assert!(bytes > 8000, "{text}");
    assert_eq!(
        exchange
            .messages()
            .iter()
            .map(|message| message.bytes.len())
            .sum::<usize>(),
        bytes
    );
}
