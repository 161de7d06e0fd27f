//! Stage of the writing tests.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Child;

use bartizan_ledger::{Bytes, Closed, Event, Reader, Record};

pub(crate) fn closed(sent: u64) -> Event {
    Event::Closed(Closed {
        key: None,
        bytes: Bytes { sent, received: 0 },
        lasted_us: 1,
        refused: None,
    })
}

pub(crate) fn number(record: &Record) -> u64 {
    match &record.event {
        Event::Closed(closed) => closed.bytes.sent,
        other => panic!("{other:?}"),
    }
}

/// The records of one file, all of them whole.
pub(crate) fn records(path: &Path) -> Vec<Record> {
    let file = BufReader::new(File::open(path).unwrap());
    Reader::new(file).map(Result::unwrap).collect()
}

/// A program of `examples/`: cargo builds them with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples").join(name)
}

/// A writer that is killed when the test ends, however it ends.
pub(crate) struct Victim(pub(crate) Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
