//! The watch over a real charon: what it records, and what it takes down.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{InterfaceKind, Mode, Policy};
use bartizan_ipsec::vici::Section;
use bartizan_ipsec::watch::{Ends, Expectation, Expectations, ExpectedChild, Form, Notice, Watch};
use bartizan_ipsec::{Metrics, TrafficSelector};
use bartizan_ledger::{Cause, ChildSa, Event, Forgery, IkeSa, Ledger, Reader, Verdict, Why};

use super::{list_sas, named};
use crate::stage::*;

/// The watch's reports, by a word each.
pub(super) type Said = Mutex<Vec<String>>;

/// Expectation of the connection as the stage loads it.
pub(super) fn expectation(policy: Policy) -> Expectation {
    let inner = |address| vec![TrafficSelector::parse(address).expect("a selector")];
    let form = Form {
        mode: Mode::Tunnel,
        traffic: [inner("10.78.0.1/32"), inner("10.78.0.2/32")],
    };
    Expectation {
        connection: "e2".into(),
        peer: "far".into(),
        policy: policy.clone(),
        ends: Some(Ends {
            local: [10, 77, 0, 1].into(),
            remote: Some([10, 77, 0, 2].into()),
            identity: "far.test".into(),
        }),
        requires_ppk: false,
        decides: true,
        reauthentication: None,
        children: vec![ExpectedChild {
            name: "e2".into(),
            interface: InterfaceKind::E2,
            policy,
            form: Some(form),
        }],
    }
}

/// Runs `act` while a watch over the near charon runs; what it recorded and counted.
fn watched(stage: &mut Stage, act: impl FnOnce(&mut Stage, &Said, &Metrics)) -> (Vec<Event>, String) {
    watched_by(Policy::hybrid(), EVERYDAY, stage, act)
}

/// A clock, and how often all SAs are looked at anew.
pub(super) type Time = (fn() -> SystemTime, Duration);

/// The clock of this machine, and the sweep as `up` and `watch` have it.
pub(super) const EVERYDAY: Time = (SystemTime::now, Duration::from_secs(30));

/// The same under this policy and by this time.
pub(super) fn watched_by(
    policy: Policy,
    time: Time,
    stage: &mut Stage,
    act: impl FnOnce(&mut Stage, &Said, &Metrics),
) -> (Vec<Event>, String) {
    watched_as(expectation(policy), time, stage, act)
}

/// The same with this expected of the connection.
pub(super) fn watched_as(
    expected: Expectation,
    (clock, sweep): Time,
    stage: &mut Stage,
    act: impl FnOnce(&mut Stage, &Said, &Metrics),
) -> (Vec<Event>, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ledger.jsonl");
    let (metrics, expectations) = (Metrics::default(), Expectations::new(vec![expected]));
    let ledger = Ledger::open(&path, "near").expect("a ledger");
    let (stop, said) = (AtomicBool::new(false), Said::default());
    let watch = Watch::new(stage.near.socket(), &expectations, ledger.recorder(), &metrics).with_time(clock, sweep);
    thread::scope(|scope| {
        let (stop, said) = (&stop, &said);
        scope.spawn(move || {
            watch.run(&|| stop.load(Ordering::Relaxed), &mut |notice| {
                said.lock().expect("not poisoned").push(word(&notice));
            });
        });
        // Ends the watch also where an assertion fails.
        let _stopped = Raised(stop);
        wait_for(said, "connected");
        act(stage, said, &metrics);
    });
    drop(ledger);
    (read(&path), metrics.text())
}

struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn word(notice: &Notice<'_>) -> String {
    match notice {
        Notice::Connected => "connected".into(),
        Notice::Away(_) => "away".into(),
        Notice::Stands(sighting) => format!("stands {}", sighting.keyed_by),
        Notice::Breach(sighting, _) => format!("breach {}", sighting.keyed_by),
        Notice::TakenDown(sighting, _) => format!("taken down {}", sighting.keyed_by),
        other => format!("{other:?}"),
    }
}

pub(super) fn wait_for(said: &Said, wanted: &str) {
    eventually(wanted, || {
        let said = said.lock().expect("not poisoned");
        said.iter().any(|word| word.starts_with(wanted)).then_some(())
    });
}

fn read(path: &Path) -> Vec<Event> {
    let reader = Reader::new(BufReader::new(File::open(path).expect("a ledger")));
    reader.map(|record| record.expect("whole").event).collect()
}

pub(super) fn ikes(events: &[Event]) -> Vec<&IkeSa> {
    let found = events.iter().filter_map(|event| match event {
        Event::IkeSa(sa) => Some(&**sa),
        _ => None,
    });
    found.collect()
}

pub(super) fn children(events: &[Event]) -> Vec<&ChildSa> {
    let found = events.iter().filter_map(|event| match event {
        Event::ChildSa(sa) => Some(&**sa),
        _ => None,
    });
    found.collect()
}

#[test]
fn set_up_both_rekeys_and_the_end_are_recorded_with_what_keyed_them() {
    let mut stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    let (events, metrics) = watched(&mut stage, |stage, said, metrics| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        client.command("rekey", named("e2")).expect("rekeyed");
        wait_for(said, "stands Curve25519 and ml-kem-768");
        eventually("the child is rekeyed", || {
            let said = said.lock().expect("not poisoned");
            // The IKE_SA, the first child keyed from it, and the child's rekey.
            (said.iter().filter(|word| word.starts_with("stands")).count() == 3).then_some(())
        });
        client
            .command("rekey", Section::new().with("ike", "e2"))
            .expect("rekeyed");
        eventually("the IKE_SA is rekeyed", || {
            let said = said.lock().expect("not poisoned");
            (said.iter().filter(|word| word.starts_with("stands")).count() == 4).then_some(())
        });
        // One that goes meanwhile cannot be terminated, and charon says so.
        eventually("the one before is gone", || {
            (list_sas(&mut client).len() == 1).then_some(())
        });
        client
            .command("terminate", Section::new().with("ike", "e2"))
            .expect("down");
        eventually("the watch has heard", || {
            metrics
                .text()
                .contains("bartizan_ipsec_ike_sas_established 0")
                .then_some(())
        });
    });
    let (ikes, children) = (ikes(&events), children(&events));
    assert_eq!(
        ikes.iter().map(|sa| sa.cause).collect::<Vec<_>>(),
        [Cause::SetUp, Cause::Rekey]
    );
    assert_eq!(ikes[1].replaces, Some(ikes[0].key));
    assert_eq!(
        children.iter().map(|sa| sa.cause).collect::<Vec<_>>(),
        [Cause::SetUp, Cause::Rekey]
    );
    assert_eq!(children[1].replaces, Some(children[0].spi_in));
    assert!(children[0].key_exchanges.is_empty());
    for exchanges in [
        &ikes[0].key_exchanges,
        &ikes[1].key_exchanges,
        &children[1].key_exchanges,
    ] {
        assert_eq!(
            exchanges.iter().map(|one| one.code).collect::<Vec<_>>(),
            [Some(31), Some(36)]
        );
    }
    for sa in &ikes {
        let authentication = sa.authentication.as_ref().expect("charon's log tells");
        assert_eq!(authentication.peer.as_deref(), Some("ECDSA_WITH_SHA256_DER"));
        assert_eq!(authentication.forgery, Forgery::PossibleLater);
        assert_eq!((sa.peer.as_deref(), &sa.verdict), (Some("far"), &Verdict::Accepted));
    }
    let messages = ikes[0].messages.expect("charon's log tells");
    assert_eq!(
        messages.fragments.sent, 2,
        "the ML-KEM-768 key of IKE_INTERMEDIATE, at 1280 bytes"
    );
    assert!(
        children
            .iter()
            .all(|sa| sa.verdict == Verdict::Accepted && sa.interface.as_deref() == Some("E2"))
    );
    let ends = events
        .iter()
        .filter(|event| matches!(event, Event::SaClosed(_)))
        .count();
    assert_eq!(ends, 4, "both IKE_SAs and both CHILD_SAs");
    assert!(metrics.contains("bartizan_ipsec_ike_sas_established 0"), "{metrics}");
    assert!(!metrics.contains("verdict=\"refused\""), "{metrics}");
}

#[test]
fn a_child_that_a_peer_rekeys_without_its_additional_key_exchange_is_taken_down() {
    let mut stage = Stage::set_up();
    // Set up by the hybrid; this charon's configuration would let the classical rekey pass, and the peer offers no other.
    let both = format!("{HYBRID},x25519");
    stage.near.load(&stage.far, &stage.authority, HYBRID, &both);
    stage.far.load(&stage.near, &stage.authority, HYBRID, "x25519");
    let (events, metrics) = watched(&mut stage, |stage, said, _| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        wait_for(said, "stands its IKE_SA");
        stage.far.client().command("rekey", named("e2")).expect("rekeyed");
        wait_for(said, "breach Curve25519 alone");
        wait_for(said, "taken down Curve25519 alone");
    });
    let children = children(&events);
    let Verdict::Refused { reason, detail } = &children[1].verdict else {
        panic!("{:?}", children[1].verdict);
    };
    assert_eq!(reason, "classical");
    assert_eq!(
        detail,
        "keyed by Curve25519 alone; the policy asks for x25519-ke1_mlkem768"
    );
    let breach = |event: &Event| matches!(event, Event::SaClosed(closed) if closed.why == Why::Breach && closed.spi_in == Some(children[1].spi_in));
    assert!(events.iter().any(breach), "{events:?}");
    assert!(
        metrics.contains(r#"breaches_total{peer="far",reason="classical"} 1"#),
        "{metrics}"
    );
}

#[test]
fn an_sa_that_stands_before_the_watch_is_found_and_a_charon_started_again_is_watched_again() {
    let mut stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    stage.near.client().command("initiate", named("e2")).expect("up");
    let (events, _) = watched(&mut stage, |stage, said, _| {
        wait_for(said, "stands its IKE_SA");
        let charon = stage.near.charon.as_mut().expect("it runs");
        charon.process().expect("it runs").send(libc::SIGKILL);
        wait_for(said, "away");
        stage.near.charon = None;
        said.lock().expect("not poisoned").clear();
        stage.near.start();
        wait_for(said, "connected");
        stage.near.load(&stage.far, &stage.authority, HYBRID, HYBRID);
        stage.near.client().command("initiate", named("e2")).expect("up again");
        wait_for(said, "stands its IKE_SA");
    });
    let causes: Vec<_> = ikes(&events).iter().map(|sa| sa.cause).collect();
    assert_eq!(causes, [Cause::Found, Cause::SetUp]);
    let gone = |event: &&Event| matches!(event, Event::SaClosed(closed) if closed.why == Why::DaemonGone);
    assert_eq!(
        events.iter().filter(gone).count(),
        2,
        "the IKE_SA and its CHILD_SA: {events:?}"
    );
}
