use bartizan_posture::Ledgers;
use bartizan_wire::link::LinkType;
use bartizan_wire::{CaptureReader, Limits, Observer, Packet, Timestamp, Totals};
use serde_json::{Value, json};

use super::*;
use crate::follow::LinkName;
use crate::follow::{Recent, found};
use crate::{Detail, MEMORY, Shares};

const OPENSSL: &[u8] = include_bytes!("../../../../wire/tests/data/openssl-3.5.7.pcap");

/// One source, followed.
struct Source {
    observer: Observer,
    recent: Recent,
    tracker: Tracker,
    packets: u64,
    now: Timestamp,
}

impl Source {
    fn new() -> Self {
        let shares = Shares::of(MEMORY, Detail::Links).followed();
        Self {
            observer: Observer::new(Limits::default()),
            recent: Recent::new(Duration::from_secs(600), shares).with_handshakes(),
            tracker: Tracker::new("tap"),
            packets: 0,
            now: Timestamp(0),
        }
    }

    fn packet(&mut self, time: Timestamp, link: LinkType, data: &[u8]) {
        self.packets += 1;
        self.now = self.now.max(time);
        let packet = Packet {
            number: self.packets,
            time,
            link,
            data,
            original_length: data.len() as u32,
            interface: 0,
        };
        let ledgers = Ledgers::default();
        let mut report = crate::Report::new("tap", Detail::Links, Shares::of(MEMORY, Detail::Links));
        let mut judging = crate::Judging::new(&ledgers, &mut report).with_recent(Some(&mut self.recent));
        self.observer.observe(&packet, &mut judging);
        judging.finish();
    }

    /// Looks, as a tick of the loop does.
    fn look(&mut self, live: &mut Live) {
        let ledgers = Ledgers::default();
        let mut viewing = self.recent.view(&ledgers, self.now, false);
        self.observer.live_into(&mut viewing);
        let mut view = viewing.finish(None);
        let totals: &Totals = self.observer.totals();
        for event in self.tracker.compare(&view, totals, self.now, Timestamp(0), None) {
            live.event(&event, Duration::from_secs(1));
        }
        live.handshakes(self.recent.handshakes(&mut view, self.packets));
        live.links(0, &view, &self.tracker);
    }
}

fn state(snapshot: &Snapshot, known: Option<Known>, link: Option<u64>) -> Value {
    serde_json::to_value(snapshot.state(known, link)).unwrap()
}

fn count(value: &Value) -> usize {
    value.as_array().unwrap().len()
}

/// One packet of HTTP/2 in plaintext between two hosts of their own.
fn readable(number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 9, high, low, 10, 1, 1, 1];
    packet.extend([
        0xc0, 0x00, 0x1f, 0x40, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0,
    ]);
    packet.extend(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let length = u16::try_from(packet.len()).unwrap().to_be_bytes();
    packet[2..4].copy_from_slice(&length);
    packet
}

const RAW: LinkType = LinkType(101);
const BEGUN: u64 = 1_763_000_000_000_000_000;

#[test]
fn each_handshake_of_a_capture_is_given_once_however_often_somebody_looks() {
    let mut expected = None;
    for between in [1_000_000, 1, 7] {
        let (mut source, mut live) = (Source::new(), Live::new(1));
        let mut reader = CaptureReader::new();
        reader.push(OPENSSL);
        while let Ok(Some(packet)) = reader.next_packet() {
            source.packet(packet.time, packet.link, packet.data);
            if source.packets % between == 0 {
                source.look(&mut live);
            }
        }
        source.look(&mut live);
        source.look(&mut live);
        let state = state(&live.publish(Facts::default()), None, None);
        let handshakes = state["handshakes"].as_array().unwrap();
        assert_eq!(state["handshakes_total"], handshakes.len());
        let mut seen: Vec<String> = handshakes
            .iter()
            .map(|one| {
                let of = ["ends", "kind", "key_exchange", "confidentiality"].map(|field| one[field].to_string());
                of.join(" ")
            })
            .collect();
        seen.sort();
        assert_eq!(
            expected.get_or_insert_with(|| seen.clone()),
            &seen,
            "each {between} packets"
        );
        let worth = |group: &str, verdict: &str| {
            let of = |one: &&Value| one["key_exchange"] == group && one["confidentiality"] == verdict;
            handshakes.iter().filter(of).count()
        };
        assert!(
            worth("X25519MLKEM768", "quantum-safe") > 0 && worth("x25519", "vulnerable") > 0,
            "{handshakes:#?}"
        );
        assert_eq!(
            (worth("X25519MLKEM768", "vulnerable"), worth("x25519", "quantum-safe")),
            (0, 0)
        );
    }
}

#[test]
fn what_is_known_is_not_given_again_and_what_went_is_named() {
    let (mut source, mut live) = (Source::new(), Live::new(7));
    source.packet(Timestamp(BEGUN), RAW, &readable(1));
    source.look(&mut live);
    let first = live.publish(Facts::default());
    let whole = state(&first, None, None);
    assert_eq!(
        (&whole["schema"], &whole["whole"], &whole["run"]),
        (&json!(SCHEMA), &json!(true), &json!("7"))
    );
    assert_eq!((count(&whole["links"]), count(&whole["findings"])), (1, 2), "{whole:#}");
    let link = &whole["links"][0];
    assert_eq!(
        (&link["confidentiality"], &link["severity"]),
        (&json!("readable now"), &json!("critical"))
    );
    let critical = whole["findings"].as_array().unwrap();
    let critical = critical
        .iter()
        .find(|finding| finding["severity"] == "critical")
        .unwrap();
    assert_eq!(critical["command"], "bartizan sidecar FILE --node A");
    assert_eq!(critical["changes"][0]["file"], "the deployment file");
    assert_eq!(critical["about"], json!(null), "plaintext is no matter of algorithms");
    assert_eq!(whole["frameworks"]["key-exchange"][0]["name"], "CNSA 2.0");

    source.packet(Timestamp(BEGUN + 1), RAW, &readable(2));
    source.look(&mut live);
    let second = live.publish(Facts::default());
    let known = first.known();
    let changed = state(&second, Some(known), whole["links"][0]["id"].as_u64());
    assert_eq!(
        (&changed["whole"], &changed["frameworks"]),
        (&json!(false), &json!(null))
    );
    assert_eq!(
        (count(&changed["links"]), count(&changed["events"])),
        (1, 3),
        "{changed:#}"
    );
    assert_eq!(changed["detail"]["id"], whole["links"][0]["id"]);
    assert_eq!(changed["detail"]["phases"][0]["kind"], "HTTP/2 in plaintext");
    assert_eq!(changed["detail"]["objections"][0]["remedy"], critical["remedy"]);
    // A reader of another run, or one that says to know more than there is, is given everything.
    for known in [Known { run: 8, ..known }, Known { version: 99, ..known }] {
        assert_eq!(state(&second, Some(known), None)["whole"], true);
    }
    // Nothing is given to who knows all of it.
    let nothing = state(&second, Some(second.known()), None);
    for rows in [
        "links",
        "links_gone",
        "findings",
        "findings_gone",
        "events",
        "handshakes",
    ] {
        assert_eq!(nothing[rows], json!([]), "{rows}");
    }
}

#[test]
fn of_more_links_than_are_kept_the_worst_stay_whenever_they_began() {
    let (mut source, mut live) = (Source::new(), Live::new(1));
    // Links of which nothing is known yet: a protocol that is not read.
    for number in 0..1200_u16 {
        let mut packet = readable(number);
        let length = packet.len();
        packet[length - 24..].fill(0xee);
        source.packet(Timestamp(BEGUN), RAW, &packet);
    }
    source.now = Timestamp(BEGUN + 6_000_000_000);
    source.look(&mut live);
    let before = state(&live.publish(Facts::default()), None, None);
    assert_eq!(count(&before["links"]), LINKS);
    for number in 2000..2003_u16 {
        source.packet(Timestamp(BEGUN + 6_000_000_000), RAW, &readable(number));
    }
    source.look(&mut live);
    let snapshot = live.publish(Facts::default());
    let after = state(&snapshot, None, None);
    assert_eq!(count(&after["links"]), LINKS);
    let readable = after["links"].as_array().unwrap().iter();
    let readable = readable.filter(|link| link["confidentiality"] == "readable now");
    assert_eq!(readable.count(), 3);
    // No link is left out of what is given by turns.
    let known = Known { run: 1, version: 1 };
    let changed = state(&snapshot, Some(known), None);
    assert_eq!((count(&changed["links"]), count(&changed["links_gone"])), (3, 3));
}

#[test]
fn a_thousand_events_each_second_stay_within_bounds_and_the_most_severe_findings_are_kept() {
    let mut live = Live::new(1);
    let mut longest = 0;
    let mut known = None;
    for second in 0..20_u64 {
        for number in 0..1000_u64 {
            let concern = if number == 999 {
                Concern::ReadableNow
            } else {
                Concern::Unproven
            };
            let because = "<img src=x onerror=alert(1)>\u{202e}".repeat(12);
            let mut event = found(concern, &because);
            event.link = Some(LinkName {
                ends: [format!("10.0.{second}.{number}"), "10.1.1.1".to_owned()],
                interface: None,
                service: None,
                path: None,
            });
            live.event(&event, Duration::from_secs(second));
        }
        let snapshot = live.publish(Facts::default());
        let text = serde_json::to_string(&snapshot.state(known, None)).unwrap();
        longest = longest.max(text.len());
        if second > 0 {
            known = Some(snapshot.known());
        }
    }
    let snapshot = live.publish(Facts::default());
    let state = state(&snapshot, None, None);
    assert_eq!(state["events_total"], 20_000);
    assert_eq!((count(&state["events"]), count(&state["findings"])), (NEWEST, FINDINGS));
    let findings = state["findings"].as_array().unwrap();
    assert_eq!(findings.iter().filter(|one| one["severity"] == "critical").count(), 20);
    assert!(longest < 3 << 20, "{longest} bytes");
    let because = findings[0]["because"].as_str().unwrap();
    assert!(
        because.chars().count() <= 301 && !because.contains('\u{202e}'),
        "{because}"
    );
}

#[test]
fn a_finding_that_is_cleared_is_gone() {
    let mut live = Live::new(1);
    live.event(&found(Concern::Unseen, "in the file"), Duration::ZERO);
    let first = live.publish(Facts::default());
    assert_eq!(count(&state(&first, None, None)["findings"]), 1);
    live.event(&crate::follow::cleared(Concern::Unseen, "in the file"), Duration::ZERO);
    let second = live.publish(Facts::default());
    let changed = state(&second, Some(first.known()), None);
    assert_eq!(count(&changed["findings_gone"]), 1);
    assert_eq!(count(&state(&second, None, None)["findings"]), 0);
}
