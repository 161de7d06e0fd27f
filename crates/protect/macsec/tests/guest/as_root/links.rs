//! Links between two controllers: what leaves the port, and frames that go on through rekeys.

use std::collections::BTreeSet;
use std::time::Duration;

use bartizan_ledger::{Event, MacsecEnd, MacsecKey, MacsecOrigin, Verdict};
use bartizan_macsec::control::Question;
use bartizan_registry::ethertype::{LOCAL_EXPERIMENTAL, MACSEC};

use crate::boot::is_here;
use crate::stage::{Stage, ethertype};
use crate::traffic::Load;

fn keys(events: &[Event]) -> Vec<&MacsecKey> {
    let keys = events.iter().filter_map(|event| match event {
        Event::MacsecKey(key) => Some(&**key),
        _ => None,
    });
    keys.collect()
}

#[test]
fn link_comes_up_by_a_post_quantum_exchange_and_nothing_else_leaves_the_port() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.start(0);
    let frames = {
        let file = stage.path("whole.pcap");
        let capture = bartizan_testing::Capture::start(
            Some(&stage.hosts[0]),
            "eth0",
            &file,
            bartizan_testing::Direction::Outbound,
        );
        let capture = capture.expect("a capture");
        stage.start(1);
        stage.until_up();
        let load = Load::start(&stage, 0);
        std::thread::sleep(Duration::from_millis(500));
        load.end_without_loss(50);
        assert!(capture.stop().expect("captured").complete());
        crate::stage::frames(&file)
    };
    let kinds: BTreeSet<u16> = frames.iter().map(|frame| ethertype(frame)).collect();
    assert_eq!(kinds, BTreeSet::from([LOCAL_EXPERIMENTAL, MACSEC]));
    let status = stage.status(0);
    let exchange = status.exchange.expect("an exchange");
    assert_eq!(exchange.group, "X25519MLKEM768");
    assert_eq!(exchange.peer_signature.as_deref(), Some("mldsa65"));
    assert_eq!(
        (status.suite.as_str(), status.encrypted, status.mtu),
        ("GCM-AES-256", true, 8968)
    );
    let counters = status.counters.expect("counters");
    assert!(
        counters.sent_encrypted >= 50 && counters.sent_protected == 0,
        "{counters:?}"
    );
    for end in [0, 1] {
        stage.kill(end);
    }
    let [one, other] = [0, 1].map(|end| stage.recorded(end));
    let (one, other) = (keys(&one), keys(&other));
    // One end receives with the key that the other sends with, by the same name and from the same
    // handshake.
    for (from, to) in [(&one, &other), (&other, &one)] {
        let sent = from.iter().find(|key| key.used_by == MacsecEnd::Us).expect("a key");
        let received = to.iter().find(|key| key.used_by == MacsecEnd::Peer).expect("a key");
        assert_eq!(
            (&sent.key_id, &sent.sci, sent.an),
            (&received.key_id, &received.sci, received.an)
        );
        assert_eq!(sent.verdict, Verdict::Accepted);
        let origin = |key: &MacsecKey| {
            let MacsecOrigin::Direct {
                key, negotiated, chain, ..
            } = key.origin.clone()
            else {
                panic!("{key:?}")
            };
            assert_eq!(chain.len(), 1);
            (key, negotiated.group.name, negotiated.resumed)
        };
        assert_eq!(origin(sent), origin(received));
        assert_eq!(origin(sent).1, "X25519MLKEM768");
    }
}

#[test]
fn rekeys_of_both_ends_at_once_under_load_lose_no_frame() {
    if !is_here() {
        return;
    }
    const REKEYS: u64 = 40;
    let mut stage = Stage::new("keys-per-exchange: 4");
    stage.both_up();
    let loads = [0, 1].map(|from| Load::start(&stage, from));
    for number in 2..=REKEYS {
        // Both, then each alone, and now and then by another exchange.
        let fresh = number % 10 == 0;
        for end in [0, 1] {
            stage.ask(end, Question::Rekey { fresh });
        }
        for end in [0, 1] {
            stage.until(end, "another key", |status| status.keys >= number);
        }
    }
    for load in loads {
        load.end_without_loss(1000);
    }
    let status = stage.status(0);
    assert!(status.exchanges >= REKEYS / 8, "{status:?}");
    let counters = status.counters.expect("counters");
    assert_eq!(
        (counters.late, counters.not_valid, counters.no_association),
        (0, 0, 0),
        "{counters:?}"
    );
    for end in [0, 1] {
        stage.kill(end);
        let events = stage.recorded(end);
        let names: BTreeSet<_> = keys(&events).into_iter().map(|key| &key.key_id).collect();
        assert_eq!(names.len(), keys(&events).len(), "no key is used twice");
        assert!(names.len() as u64 >= 2 * REKEYS - 2, "{}", names.len());
    }
}

#[test]
fn integrity_alone_and_extended_packet_numbers_are_as_the_file_asks() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("cipher: gcm-aes-xpn-256, confidentiality: integrity, replay-window: 0");
    stage.both_up();
    let load = Load::start(&stage, 1);
    for number in 2..=6 {
        stage.ask(1, Question::Rekey { fresh: false });
        stage.until(1, "another key", |status| status.keys >= number);
    }
    load.end_without_loss(100);
    let status = stage.status(1);
    let counters = status.counters.expect("counters");
    assert!(
        counters.sent_protected > 100 && counters.sent_encrypted == 0,
        "{counters:?}"
    );
    assert_eq!((status.suite.as_str(), status.encrypted), ("GCM-AES-XPN-256", false));
}
