//! A ledger's size: refusals that any client can cause are counted, files are rotated, moved away
//! and cut by full disks, and no record is lost.

use crate::stage;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bartizan_ledger::{Bounds, Bytes, Direction, Event, Handshake, Ledger, Record, Times, VERSION, Verdict, files};
use bartizan_testing::until;
use stage::{Victim, closed, example, number, records};

fn refused(from: &str, reason: &str) -> Event {
    Event::Handshake(Box::new(Handshake {
        key: None,
        interface: "SBI".to_owned(),
        direction: Direction::Inbound,
        peer: None,
        local_address: "10.0.0.2:7443".parse().unwrap(),
        peer_address: SocketAddr::new(from.parse().unwrap(), 40_000),
        negotiated: None,
        chain: Vec::new(),
        local_chain: Vec::new(),
        bytes: Bytes::default(),
        times: Times::default(),
        verdict: Verdict::Refused {
            reason: reason.to_owned(),
            detail: "the peer sent what is not TLS".to_owned(),
        },
    }))
}

/// The records of all files of a ledger.
fn all(path: &Path) -> Vec<Record> {
    files(path).unwrap().iter().flat_map(|file| records(file)).collect()
}

#[test]
fn unauthenticated_peers_fill_neither_disk_nor_queue() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    let ledger = Ledger::open(&path, "nrf").unwrap();
    let recorder = ledger.recorder();
    // More than the queue holds, and between them what must not be lost.
    for number in 0..50_000 {
        recorder.refuse(refused("10.0.0.66", "malformed"));
        if number % 1000 == 0 {
            recorder.refuse(refused("10.0.0.67", "closed"));
            recorder.record(closed(number / 1000));
        }
    }
    drop(ledger);
    assert_eq!(recorder.lost(), 0);
    let (mut closed, mut whole, mut counts) = (Vec::new(), 0, Vec::new());
    for record in all(&path) {
        match record.event {
            Event::Closed(event) => closed.push(event.bytes.sent),
            Event::Handshake(_) => whole += 1,
            Event::Refusals(refusals) => {
                assert_eq!((record.v, refusals.interface.as_str()), (VERSION, "SBI"));
                counts.push((refusals.from.to_string(), refusals.reason, refusals.count));
            }
            other => panic!("{other:?}"),
        }
    }
    counts.sort();
    assert_eq!(closed, (0..50).collect::<Vec<_>>());
    assert_eq!(whole, 2);
    assert_eq!(
        counts,
        [
            ("10.0.0.66/32".to_owned(), "malformed".to_owned(), 49_999),
            ("10.0.0.67/32".to_owned(), "closed".to_owned(), 49),
        ]
    );
    assert!(fs::metadata(&path).unwrap().len() < 16 * 1024);
}

#[test]
fn what_is_no_refusal_is_never_counted_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    let ledger = Ledger::open(&path, "nrf").unwrap();
    let recorder = ledger.recorder();
    (0..100).for_each(|number| recorder.refuse(closed(number)));
    // And a refusal of a peer that has proven who it is stands in full each time.
    (0..3).for_each(|_| recorder.record(refused("10.0.0.66", "policy")));
    drop(ledger);
    assert_eq!(all(&path).len(), 103);
}

#[test]
fn two_writers_rotate_one_ledger_and_lose_nothing() {
    const EACH: u64 = 600;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    let bounds = Bounds {
        size: 6_000,
        keep: None,
    };
    let ledgers = ["old", "new"].map(|node| Ledger::open_within(&path, node, bounds).unwrap());
    for number in 0..EACH {
        for ledger in &ledgers {
            ledger.recorder().record(closed(number));
        }
        if number % 50 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    assert_eq!(ledgers.each_ref().map(|ledger| ledger.recorder().lost()), [0, 0]);
    drop(ledgers);
    let written = files(&path).unwrap();
    assert!(written.len() > 5, "{written:?}");
    assert_eq!(written[0], directory.path().join("ledger.000001"));
    assert_eq!(written.last(), Some(&path));
    let records = all(&path);
    for node in ["old", "new"] {
        let of_node = records.iter().filter(|record| record.node == node).map(number);
        assert!(of_node.eq(0..EACH), "{node}");
    }
}

#[test]
fn as_many_old_files_are_kept_as_were_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    fs::write(directory.path().join("ledger.old"), "another's").unwrap();
    let bounds = Bounds { size: 1, keep: Some(2) };
    for number in 0..5 {
        let ledger = Ledger::open_within(&path, "nrf", bounds).unwrap();
        ledger.recorder().record(closed(number));
    }
    assert!(all(&path).iter().map(number).eq(3..5));
    let names: Vec<_> = files(&path)
        .unwrap()
        .iter()
        .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["ledger.000004", "ledger.000005", "ledger"]);
    assert!(directory.path().join("ledger.old").exists());
}

#[test]
fn a_ledger_that_cannot_be_rotated_grows_on() {
    let directory = tempfile::tempdir().unwrap();
    // A name that leaves no room for a number.
    let path = directory.path().join("l".repeat(252));
    let bounds = Bounds { size: 1, keep: None };
    for number in 0..3 {
        let ledger = Ledger::open_within(&path, "nrf", bounds).unwrap();
        ledger.recorder().record(closed(number));
        let recorder = ledger.recorder();
        drop(ledger);
        assert_eq!(recorder.lost(), 0);
    }
    assert!(records(&path).iter().map(number).eq(0..3));
}

#[test]
fn a_file_that_was_moved_away_is_begun_anew() {
    let directory = tempfile::tempdir().unwrap();
    let [path, moved] = ["ledger", "moved"].map(|name| directory.path().join(name));
    let ledger = Ledger::open(&path, "nrf").unwrap();
    let recorder = ledger.recorder();
    recorder.record(closed(0));
    until("the first record", || fs::metadata(&path).unwrap().len() > 0);
    fs::rename(&path, &moved).unwrap();
    // With a word, as logrotate gives by SIGHUP, the new file is there before there is anything to write.
    ledger.reopen();
    until("the new file", || path.exists());
    recorder.record(closed(1));
    until("the second record", || fs::metadata(&path).unwrap().len() > 0);
    // Without a word the next record finds out.
    fs::remove_file(&path).unwrap();
    recorder.record(closed(2));
    drop(ledger);
    assert!(records(&moved).iter().map(number).eq(0..1));
    assert!(records(&path).iter().map(number).eq(2..3));
}

#[test]
fn who_keeps_the_lock_keeps_nobody_from_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    let ledger = Ledger::open(&path, "nrf").unwrap();
    let reader = fs::File::open(&path).unwrap();
    reader.lock().unwrap();
    ledger.recorder().record(closed(0));
    until("the record", || fs::metadata(&path).unwrap().len() > 0);
    drop(ledger);
    assert!(records(&path).iter().map(number).eq(0..1));
}

#[test]
fn a_full_disk_leaves_no_half_line_and_the_gap_has_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger");
    // A limit of the file's size for a full disk: what fits is written, the rest is an error. It
    // has room for some whole batches (some 25 kB) and not for all, in blocks of 512 bytes as in
    // blocks of 1024.
    let mut writer = Command::new("sh");
    writer.args(["-c", "trap '' XFSZ; ulimit -S -f 120; exec \"$0\" \"$1\""]);
    writer.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut writer = Victim(writer.arg(example("overflow")).arg(&path).spawn().unwrap());
    let mut said = String::new();
    let said_to = writer.0.stdout.take().unwrap();
    BufReader::new(said_to).read_line(&mut said).unwrap();
    assert_eq!(said, "full\n");
    // All of them whole, else this panics; nothing is on its way to the disk now.
    assert!(!records(&path).is_empty());
    let raised = Command::new("prlimit")
        .args(["--fsize=1073741824:", "--pid", &writer.0.id().to_string()])
        .status();
    assert!(raised.unwrap().success());
    // It goes on, and ends with all written.
    writer.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(writer.0.wait().unwrap().success());
    let (mut lost, mut numbers) = (0, Vec::new());
    for record in records(&path) {
        match record.event {
            Event::Lost(gap) => lost += gap.records,
            Event::Closed(closed) => numbers.push(closed.bytes.sent),
            other => panic!("{other:?}"),
        }
    }
    assert!(lost > 0);
    assert!(numbers.is_sorted_by(|one, next| one < next));
    assert!(numbers.ends_with(&(2000..2100).collect::<Vec<_>>()));
    assert_eq!(numbers.len() as u64 + lost, 2100);
}
