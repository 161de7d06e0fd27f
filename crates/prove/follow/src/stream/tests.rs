use std::path::PathBuf;
use std::sync::LazyLock;

use bartizan_host::Fed;
use bartizan_inspect::{MEMORY, json};
use bartizan_posture::Verdict;
use bartizan_wire::Limits;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::read::{inspect_file, read_ledgers};
use crate::source::{Notice, Source, Turn, from_interface};

const CAPTURES: [&str; 5] = [
    "openssl-3.5.7.pcap",
    "sbi-free5gc-two-registrations.pcap",
    "n2-free5gc-two-registrations.pcap",
    "strongswan-6.1.0.pcap",
    "sidecar-hybrid.pcap",
];

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../wire/tests/data")
        .join(name)
}

fn ledgers() -> Ledgers {
    read_ledgers(
        &["sidecar-hybrid.consumers.jsonl", "sidecar-hybrid.nrf.jsonl"].map(data),
        None,
    )
    .unwrap()
}

fn no_keys() -> &'static Arc<Keyring> {
    static NONE: LazyLock<Arc<Keyring>> = LazyLock::new(|| Arc::new(Keyring::new()));
    &NONE
}

fn known(ledgers: &Ledgers) -> Known<'_> {
    Known {
        ledgers,
        deployment: None,
        keys: no_keys(),
    }
}

fn offline(name: &str, ledgers: &Ledgers) -> Value {
    let report = inspect_file(&data(name), known(ledgers), Detail::Each, MEMORY, None).unwrap();
    value(report)
}

fn value(report: Report) -> Value {
    serde_json::to_value(json::document(&[report])).unwrap()
}

fn stream(name: &str, following: Following) -> Stream {
    Stream::new(
        &data(name),
        Detail::Each,
        Shares::of(MEMORY, Detail::Each).followed(),
        following,
        None,
        no_keys(),
    )
}

const LOOKED_AT: Following = Following {
    window: Some(Duration::from_secs(600)),
    hold: Some(Duration::ZERO),
    idle: Some(Duration::from_secs(86_400)),
};

/// Feeds a capture in pieces of these sizes, over and over, and looks at it between them.
fn fed(name: &str, sizes: &[usize], following: Following, ledgers: &Ledgers) -> Stream {
    let mut stream = stream(name, following);
    let file = std::fs::read(data(name)).unwrap();
    let (mut rest, mut sizes) = (file.as_slice(), sizes.iter().cycle());
    let mut context = Context {
        ledgers,
        keys: no_keys(),
        inventory: None,
    };
    for turn in 0.. {
        let size = (*sizes.next().unwrap()).min(rest.len());
        if rest.is_empty() {
            break;
        }
        stream.room(size)[..size].copy_from_slice(&rest[..size]);
        stream.fill(size, &mut context).unwrap();
        rest = &rest[size..];
        if turn % 64 == 0 {
            stream.age(&mut context);
            stream.view(ledgers, None, false);
        }
    }
    stream
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_split_gives_the_report_of_the_whole_file(
        capture in 0..CAPTURES.len(),
        sizes in proptest::collection::vec(1..20_000usize, 1..8),
        held in any::<bool>(),
    ) {
        let name = CAPTURES[capture];
        let ledgers = ledgers();
        let hold = held.then_some(Duration::ZERO);
        let following = Following { hold, ..LOOKED_AT };
        let report = fed(name, &sizes, following, &ledgers).finish(known(&ledgers), None);
        prop_assert_eq!(value(report), offline(name, &ledgers));
    }
}

#[test]
fn the_last_view_has_the_links_of_the_report() {
    let ledgers = ledgers();
    for name in CAPTURES {
        let following = Following {
            window: Some(Duration::from_secs(1_000_000_000)),
            ..LOOKED_AT
        };
        let mut stream = fed(name, &[4096], following, &ledgers);
        let view = stream.view(&ledgers, None, true);
        let report = stream.finish(known(&ledgers), None);
        assert_eq!(view.network().links, report.network().links, "{name}");
    }
}

#[test]
fn what_was_let_go_for_being_idle_is_in_the_report_all_the_same() {
    let ledgers = ledgers();
    for name in CAPTURES {
        let following = Following {
            idle: Some(Duration::ZERO),
            hold: None,
            ..LOOKED_AT
        };
        let mut stream = fed(name, &[1 << 20], following, &ledgers);
        stream.newest = Timestamp(u64::MAX / 2);
        stream.age(&mut Context {
            ledgers: &ledgers,
            keys: no_keys(),
            inventory: None,
        });
        let live = stream.holding();
        let live = live.connections + live.associations + live.ike_sas + live.esp_sas + live.datagrams;
        assert_eq!(live, 0, "{name}");
        let report = stream.finish(known(&ledgers), None);
        assert!(report.summary().connections > 0, "{name}");
    }
}

#[test]
fn packets_of_the_next_file_are_numbered_on_and_a_cut_record_is_reported() {
    let ledgers = Ledgers::default();
    let mut context = Context {
        ledgers: &ledgers,
        keys: no_keys(),
        inventory: None,
    };
    let file = std::fs::read(data(CAPTURES[0])).unwrap();
    let mut stream = stream(CAPTURES[0], LOOKED_AT);
    let mut feed = |stream: &mut Stream, bytes: &[u8]| {
        stream.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        stream.fill(bytes.len(), &mut context).unwrap();
    };
    feed(&mut stream, &file);
    let once = stream.packets();
    assert!(!stream.next_file());
    feed(&mut stream, &file);
    assert_eq!(stream.packets(), 2 * once);
    assert_eq!(stream.totals().last.unwrap().packet, 2 * once);
    assert!(!stream.next_file());
    feed(&mut stream, &file[..file.len() - 1]);
    assert!(stream.next_file());
}

#[test]
fn packets_that_the_kernel_had_no_room_for_are_reported_and_counted() {
    let ledgers = Ledgers::default();
    let mut context = Context {
        ledgers: &ledgers,
        keys: no_keys(),
        inventory: None,
    };
    let mut stream = stream("eth0", LOOKED_AT);
    let (give, fed) = std::sync::mpsc::channel();
    let mut batch = Batch::default();
    batch.dropped = 5;
    give.send(Fed::Packets(batch)).unwrap();
    give.send(Fed::Down).unwrap();
    give.send(Fed::Ended(Ok(()))).unwrap();
    let (mut reported, mut down) = (Vec::new(), false);
    let turns: Vec<Turn> = (0..3)
        .map(|_| {
            from_interface(&fed, &mut down, &mut stream, &mut context, &mut |notice| {
                reported.push(notice);
            })
            .unwrap()
        })
        .collect();
    assert_eq!(turns, [Turn::Busy, Turn::Busy, Turn::Ended]);
    assert_eq!(reported, [Notice::Lost(5), Notice::Down]);
    assert_eq!(stream.dropped(), 5);
    let report = stream.finish(known(&ledgers), None);
    let findings = report.findings();
    let dropped = findings
        .iter()
        .find(|finding| finding.because.starts_with("dropped by"));
    assert_eq!(dropped.map(|finding| finding.count), Some(5), "{findings:?}");
}

/// Before, records of ledgers were kept for as long as one source was silent or had ended.
#[test]
fn the_time_of_a_silent_source_goes_on_and_that_of_one_that_has_ended_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture");
    let mut capture = std::fs::read(data(CAPTURES[0])).unwrap();
    std::fs::write(&path, &capture).unwrap();
    let ledgers = Ledgers::default();
    let mut context = Context {
        ledgers: &ledgers,
        keys: no_keys(),
        inventory: None,
    };
    let (mut source, mut stream) = (Source::file(&path).unwrap(), stream(CAPTURES[0], LOOKED_AT));
    let clock = Duration::from_secs(1_800_000_000);
    assert_eq!(source.now(&stream, clock), Some(Timestamp(0)));
    source.turn(&mut stream, &mut context, |_| {}).unwrap();
    stream.arrived = stream.arrived.checked_sub(Duration::from_secs(60)).unwrap();
    let now = source.now(&stream, clock).unwrap();
    assert!(now.0 >= stream.newest.0 + 60_000_000_000);
    capture.extend([0xff; 16]);
    std::fs::write(&path, &capture).unwrap();
    assert!(source.turn(&mut stream, &mut context, |_| {}).is_err());
    assert_eq!(source.now(&stream, clock), None);
}

/// A stream that has no room for some of a capture's flows, at its end and when a window has passed without packets: the verdicts of
/// its links.
fn passed_over(name: &str, limits: Limits) -> [Vec<Verdict>; 2] {
    let ledgers = Ledgers::default();
    let mut context = Context {
        ledgers: &ledgers,
        keys: no_keys(),
        inventory: None,
    };
    let shares = Shares {
        limits,
        ..Shares::of(MEMORY, Detail::Links).followed()
    };
    let file = std::fs::read(data(name)).unwrap();
    let mut stream = Stream::new(&data(name), Detail::Links, shares, LOOKED_AT, None, no_keys());
    stream.room(file.len())[..file.len()].copy_from_slice(&file);
    stream.fill(file.len(), &mut context).unwrap();
    assert!(stream.totals().untracked > 0);
    let verdicts = |stream: &mut Stream| {
        let view = stream.view(&ledgers, None, true);
        let links = view.network().links.iter();
        links.map(|link| link.confidentiality.verdict()).collect()
    };
    let at_once = verdicts(&mut stream);
    let window = LOOKED_AT.window.unwrap();
    stream.newest = Timestamp(stream.newest.0 + 3 * u64::try_from(window.as_nanos()).unwrap());
    stream.age(&mut context);
    [at_once, verdicts(&mut stream)]
}

#[test]
fn what_was_passed_over_is_not_safe_as_long_as_it_is_within_the_window() {
    let none = Limits {
        connections: 0,
        ..Limits::default()
    };
    let [at_once, later] = passed_over("openssl-3.5.7.pcap", none);
    assert!(!at_once.is_empty());
    assert!(
        at_once.iter().all(|verdict| *verdict == Verdict::NotSeen),
        "{at_once:?}"
    );
    assert_eq!(later, [], "it is not within the window any more");
}

#[test]
fn ipsec_that_was_passed_over_is_not_safe_when_the_window_has_left_it_behind_either() {
    let none = Limits {
        ike_sas: 0,
        ..Limits::default()
    };
    for verdicts in passed_over("strongswan-6.1.0.pcap", none) {
        assert!(!verdicts.is_empty());
        assert!(!verdicts.contains(&Verdict::QuantumSafe), "{verdicts:?}");
    }
}
