//! Writes more records than there is room for, then some more: `cargo run -p bartizan-ledger
//! --example overflow -- FILE`.
//!
//! Prints a line once each record of the first part is written or counted as lost, and goes on when it reads one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bartizan_ledger::{Bytes, Closed, Event, Ledger, Reader};

/// Fewer than may wait for the disk: none is lost because the disk is slow.
const BEFORE: u64 = 2000;
const AFTER: u64 = 100;

fn main() {
    let path = std::env::args().nth(1).expect("the ledger's file");
    let path = Path::new(&path);
    let ledger = Ledger::open(path, "nrf").expect("a ledger");
    let recorder = ledger.recorder();
    let record = |numbers: std::ops::Range<u64>| {
        for sent in numbers {
            recorder.record(Event::Closed(Closed {
                key: None,
                bytes: Bytes { sent, received: 0 },
                lasted_us: 0,
                refused: None,
            }));
        }
    };
    record(0..BEFORE);
    loop {
        // In this order: of a batch that is being written fewer stand there than it has, and none is lost yet.
        let lost = recorder.lost();
        let text = fs::read(path).expect("the ledger");
        let records = Reader::new(&text[..]).filter_map(Result::ok);
        let written = records
            .filter(|record| matches!(record.event, Event::Closed(_)))
            .count() as u64;
        if lost > 0 && written + lost == BEFORE {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("full");
    std::io::stdin().read_line(&mut String::new()).expect("a line");
    record(BEFORE..BEFORE + AFTER);
}
