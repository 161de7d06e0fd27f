//! The condition `Protected`: what sidecars say of their links and ledgers.

use crate::stage;
use bartizan_controller::{Action, Circumstances, Finding, Pods, Protection, Settings, SidecarState, reconcile};
use proptest::prelude::*;
use serde_json::{Value, json};

use stage::{authority, condition, now, observed, settled};

fn read(state: &Value) -> SidecarState {
    SidecarState::read(state.to_string().as_bytes()).unwrap()
}

fn link(excepted: u64, classical: u64) -> Value {
    json!({ "peer": "nrf", "interface": "SBI", "connections": 3, "excepted": excepted, "classical": classical })
}

fn refused(count: u64) -> Value {
    json!({ "refused": [{ "peer": "nrf", "handshakes": count, "reason": "policy" }] })
}

#[test]
fn a_state_is_judged_by_the_worst_in_it() {
    let judge = |state: &Value| read(state).judge(None);
    let found = |state: &Value| match judge(state) {
        Protection::Found(finding, why) => (finding, why.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(judge(&json!({})), Protection::Protected);
    assert_eq!(
        judge(&json!({ "links": [link(0, 0)], "ledger_lost": 0 })),
        Protection::Protected
    );
    let (finding, why) = found(&json!({ "links": [link(1, 1)] }));
    assert_eq!(
        (finding, why.as_str()),
        (Finding::Excepted, "SBI to nrf: open under an exception")
    );
    let (finding, why) = found(&json!({ "links": [link(0, 0), link(1, 2)] }));
    assert_eq!(
        (finding, why.as_str()),
        (Finding::Classical, "SBI to nrf: its key exchange is classical")
    );
    let (finding, why) = found(&json!({ "links": [link(1, 2)], "ledger_lost": 7 }));
    assert_eq!(
        (finding, why.as_str()),
        (Finding::LedgerLost, "7 ledger records were lost")
    );
    // One of another version may say more.
    assert_eq!(
        judge(&json!({ "node": "amf", "since": [1], "links": [] })),
        Protection::Protected
    );
}

#[test]
fn refused_handshakes_count_when_there_are_more_than_before() {
    assert_eq!(read(&refused(5)).judge(None), Protection::Protected);
    assert_eq!(read(&refused(5)).judge(Some(5)), Protection::Protected);
    // A sidecar that started anew counts from 0.
    assert_eq!(read(&refused(0)).judge(Some(5)), Protection::Protected);
    assert!(matches!(
        read(&refused(2)).judge(Some(5)),
        Protection::Found(Finding::HandshakesRefused, _)
    ));
    match read(&refused(6)).judge(Some(5)) {
        Protection::Found(Finding::HandshakesRefused, why) => {
            assert_eq!(&*why, "handshakes were refused, with nrf 6 of them: policy");
        }
        other => panic!("{other:?}"),
    }
}

fn pods(all: &[Option<Protection>]) -> Pods {
    let mut pods = Pods::default();
    for one in all {
        pods.count(one.as_ref());
    }
    pods
}

fn said(amf: &[Option<Protection>], nrf: &[Option<Protection>]) -> (String, String, String) {
    let mut seen = observed();
    seen.pods.insert("amf".into(), pods(amf));
    seen.pods.insert("nrf".into(), pods(nrf));
    seen.pods.insert(
        "other".into(),
        pods(&[Some(Protection::Found(Finding::Classical, "no node".into()))]),
    );
    let (state, reason, message) = {
        let seen = settled(seen);
        let (state, reason, message) = condition(&seen.networks[0].status, "Protected");
        (state.to_owned(), reason.to_owned(), message.to_owned())
    };
    (state, reason, message)
}

#[test]
fn a_network_is_protected_where_every_sidecar_says_so_and_unknown_where_one_says_nothing() {
    let silent = || Some(Protection::Silent("no answer in time".into()));
    let (state, reason, message) = said(&[None, Some(Protection::NotAsked)], &[silent()]);
    assert_eq!((state.as_str(), reason.as_str()), ("Unknown", "NotAsked"));
    assert_eq!(
        message,
        "0 of 2 sidecars that are ready said what they carry\nnodes.nrf: no answer in time"
    );
    let (state, reason, message) = said(&[Some(Protection::Protected), None], &[silent()]);
    assert_eq!((state.as_str(), reason.as_str()), ("Unknown", "NotAllAnswered"));
    assert_eq!(
        message,
        "1 of 2 sidecars that are ready said what they carry\nnodes.nrf: no answer in time"
    );
    let (state, reason, message) = said(&[Some(Protection::Protected), None], &[Some(Protection::Protected)]);
    assert_eq!((state.as_str(), reason.as_str()), ("True", "AllProtected"));
    assert!(message.starts_with("2 of 2 sidecars"), "{message}");
    let excepted = Some(Protection::Found(
        Finding::Excepted,
        "SBI to amf: open under an exception".into(),
    ));
    let lost = Some(Protection::Found(
        Finding::LedgerLost,
        "7 ledger records were lost".into(),
    ));
    let (state, reason, message) = said(&[excepted.clone(), Some(Protection::Protected)], &[excepted, lost]);
    assert_eq!((state.as_str(), reason.as_str()), ("False", "LedgerLost"));
    assert_eq!(
        message,
        "4 of 4 sidecars that are ready said what they carry\nnodes.nrf: 7 ledger records were lost\nnodes.amf: SBI to amf: open under an exception"
    );
}

#[test]
fn where_sidecars_are_not_asked_there_is_no_condition() {
    let (authority, settings) = (
        authority(),
        Settings {
            state: false,
            ..Settings::default()
        },
    );
    let circumstances = Circumstances {
        now: now(),
        skew: 0,
        authority: &authority,
        settings: &settings,
    };
    let turn = reconcile(
        &observed(),
        &circumstances,
        &mut bartizan_controller::Budget::TURN.clone(),
    );
    let written = turn
        .actions
        .iter()
        .any(|action| matches!(action, Action::WriteStatus { status, .. } if status.to_string().contains("Protected")));
    assert!(!written);
}

proptest! {
    #[test]
    fn no_answer_panics_and_none_makes_more_than_one_short_line(
        text in "\\PC{0,60}", peer in ".{0,600}", counts in proptest::array::uniform4(any::<u64>()), before in proptest::option::of(any::<u64>()),
    ) {
        let _ = SidecarState::read(text.as_bytes());
        let [excepted, classical, handshakes, ledger_lost] = counts;
        let state = json!({
            "links": [{ "peer": peer, "interface": peer, "excepted": excepted, "classical": classical }],
            "refused": [{ "peer": peer, "handshakes": handshakes, "reason": peer }, { "peer": "x", "handshakes": handshakes }],
            "ledger_lost": ledger_lost,
        });
        if let Protection::Found(_, why) = read(&state).judge(before) {
            prop_assert!(why.chars().count() <= 300 && !why.chars().any(char::is_control));
        }
    }
}
