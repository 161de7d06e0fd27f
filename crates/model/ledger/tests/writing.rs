//! Writing: what is lost is counted, and a crash loses no more than what was on its way.

use crate::stage;
use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bartizan_ledger::{Event, Ledger, Lost, Reader};

use stage::{Victim, closed, example, number, records};

#[test]
fn dropping_the_ledger_writes_what_waits_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    let ledger = Ledger::open(&path, "nrf").unwrap();
    let recorder = ledger.recorder();
    (0..1000).for_each(|number| recorder.record(closed(number)));
    drop(ledger);
    let written = records(&path);
    assert!(written.iter().map(number).eq(0..1000));
    assert!(written.iter().all(|record| record.node == "nrf"));
    assert_eq!(recorder.lost(), 0);
    // A handle that outlives its ledger counts records that are not written any more.
    recorder.record(closed(1000));
    assert_eq!(recorder.lost(), 1);
}

#[test]
fn a_ledger_is_appended_to_and_readable_by_its_group_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    for number in 0..3 {
        Ledger::open(&path, "nrf").unwrap().recorder().record(closed(number));
    }
    assert!(records(&path).iter().map(number).eq(0..3));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o137, 0, "{mode:o}");
}

fn cut(path: &Path, bytes: &[u8]) {
    File::options()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

#[test]
fn a_record_cut_by_a_crash_is_removed_before_the_next_and_a_gap_tells_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    for half in [&b"{\"v\":1,\"at_us\":17"[..], b"{"] {
        Ledger::open(&path, "nrf").unwrap().recorder().record(closed(0));
        cut(&path, half);
        Ledger::open(&path, "nrf").unwrap().recorder().record(closed(1));
        let events: Vec<_> = records(&path).into_iter().map(|record| record.event).collect();
        assert_eq!(events, [closed(0), closed(1), Event::Lost(Lost { records: 1 })]);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_is_no_record_is_never_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    fs::write(&path, "root:x:0:0:root:/root:/bin/bash").unwrap();
    Ledger::open(&path, "nrf").unwrap().recorder().record(closed(1));
    let read: Vec<_> = Reader::new(BufReader::new(File::open(&path).unwrap())).collect();
    let numbers: Vec<_> = read.iter().map(|record| record.as_ref().ok().map(number)).collect();
    assert_eq!(numbers, [None, Some(1)]);
}

/// A service that is root wrote its records into the file that a link led to, `/etc/passwd` say,
/// and waited for ever for the reader of a pipe.
#[test]
fn a_link_a_pipe_and_a_device_are_no_ledgers() {
    let directory = tempfile::tempdir().unwrap();
    let [target, link, pipe] = ["target", "link", "pipe"].map(|name| directory.path().join(name));
    fs::write(&target, "root:x:0:0").unwrap();
    symlink(&target, &link).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, said) in [
        (&link, "it is a symbolic link"),
        (&pipe, "it is no regular file"),
        (&PathBuf::from("/dev/full"), "it is no regular file"),
    ] {
        let error = Ledger::open(path, "nrf").unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "root:x:0:0");
}

/// The same once the ledger is open: a link in the place of its file takes no record.
#[test]
fn a_link_that_takes_the_ledgers_name_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let [target, path, moved] = ["target", "ledger", "moved"].map(|name| directory.path().join(name));
    let ledger = Ledger::open(&path, "nrf").unwrap();
    fs::rename(&path, &moved).unwrap();
    symlink(&target, &path).unwrap();
    ledger.recorder().record(closed(1));
    drop(ledger);
    assert!(!target.exists());
    assert_eq!(records(&moved).len(), 1);
}

#[test]
fn a_node_without_a_ledger_records_nothing_and_loses_nothing() {
    let recorder = Ledger::none().recorder();
    recorder.record(closed(0));
    assert_eq!(recorder.lost(), 0);
}

#[test]
fn a_ledger_that_cannot_be_opened_is_named() {
    let error = Ledger::open(Path::new("/nowhere/ledger"), "nrf").unwrap_err();
    assert!(error.to_string().starts_with("ledger /nowhere/ledger: "), "{error}");
}

#[test]
fn a_writer_killed_at_any_moment_leaves_records_that_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..5u64 {
        let path = directory.path().join(round.to_string());
        let mut victim = Victim(
            Command::new(example("record"))
                .arg(&path)
                .spawn()
                .expect("cargo builds examples with tests"),
        );
        let patience = Instant::now() + Duration::from_secs(60);
        while fs::metadata(&path).map_or(0, |metadata| metadata.len()) < 1 + round * 7000 {
            assert!(Instant::now() < patience, "nothing is written");
            std::thread::sleep(Duration::from_micros(500));
        }
        victim.0.kill().unwrap();
        victim.0.wait().unwrap();
        let read: Vec<_> = Reader::new(BufReader::new(File::open(&path).unwrap())).collect();
        let whole: Vec<_> = read
            .iter()
            .filter_map(|record| record.as_ref().ok())
            .map(number)
            .collect();
        assert!(!whole.is_empty());
        assert!(whole.iter().copied().eq(0..whole.len() as u64), "{whole:?}");
        // At most the last line is cut.
        assert!(read.len() - whole.len() <= 1);
        assert!(read[..whole.len()].iter().all(Result::is_ok));
    }
}

#[test]
fn at_a_steady_trickle_a_record_is_written_while_others_still_come() {
    // A batch is 256 records: at one record each 10 ms a wait that began anew with each would take 2.5 s.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    let ledger = Ledger::open(&path, "nrf").unwrap();
    let recorder = ledger.recorder();
    let mut recorded = 0;
    while fs::metadata(&path).unwrap().len() == 0 {
        assert!(recorded < 200, "200 records wait, and none is written");
        recorder.record(closed(recorded));
        recorded += 1;
        std::thread::sleep(Duration::from_millis(10));
    }
}
