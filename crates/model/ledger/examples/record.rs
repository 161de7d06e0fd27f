//! Writes records to a ledger until it is killed: `cargo run -p bartizan-ledger --example record -- FILE`.

use std::path::Path;
use std::time::Duration;

use bartizan_ledger::{Bytes, Closed, Event, Ledger};

fn main() {
    let path = std::env::args().nth(1).expect("the ledger's file");
    let ledger = Ledger::open(Path::new(&path), "nrf").expect("a ledger");
    let recorder = ledger.recorder();
    for sent in 0.. {
        recorder.record(Event::Closed(Closed {
            key: None,
            bytes: Bytes { sent, received: 0 },
            lasted_us: 0,
            refused: None,
        }));
        // Slower than a disk, so that nothing is lost.
        std::thread::sleep(Duration::from_micros(100));
    }
}
