//! CertificateRequests: what becomes of one, and what is taken of an answer.

use crate::stage;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bartizan_controller::{
    Action, Answer, Asked, Authority, Budget, Cause, Circumstances, Observed, Order, Received, Settings, Stray, Turn,
    Why, reconcile,
};
use bartizan_registry::SignatureScheme;
use proptest::prelude::*;
use serde_json::{Value, json};

use stage::{DAY, ROOT, certificate, condition, network, now, observed, orders};

fn elsewhere() -> Authority {
    Authority::Elsewhere {
        root: Some(ROOT),
        signs: SignatureScheme::MLDSA65,
    }
}

/// The stage's file without a revocation list.
fn spec() -> Value {
    let mut spec = stage::spec();
    spec["trust"] = json!({ "roots": "ca.crt" });
    spec
}

fn stage_of(answers: &[(&str, Answer)]) -> Observed {
    let mut seen = observed();
    seen.networks = vec![network(spec())];
    for (node, answer) in answers {
        seen.asked.insert((*node).to_owned(), asked(node, answer.clone()));
    }
    seen
}

fn asked(node: &str, answer: Answer) -> Asked {
    Asked {
        request: format!("bartizan-{node}"),
        uid: format!("uid-{node}"),
        names: BTreeSet::from([format!("DNS:{node}")]),
        since: now(),
        answer,
    }
}

fn run_by(seen: &Observed, authority: &Authority) -> Turn {
    stage::run_at(seen, now(), authority, 0)
}

fn run(seen: &Observed) -> Turn {
    run_by(seen, &elsewhere())
}

fn issued() -> Answer {
    Answer::Issued {
        certificate: "AA==".into(),
        root: None,
    }
}

fn taken(turn: &Turn) -> Vec<&Order> {
    let taken = turn.actions.iter().filter_map(|action| match action {
        Action::Take(order) => Some(order),
        _ => None,
    });
    taken.collect()
}

/// Uid, node and reason of a request that is removed.
type Removed<'a> = (&'a str, Option<&'a str>, Option<(Cause, &'a str)>);

fn withdrawn(turn: &Turn) -> Vec<Removed<'_>> {
    let withdrawn = turn.actions.iter().filter_map(|action| match action {
        Action::Withdraw { uid, node, failure, .. } => {
            let failure = failure.as_ref().map(|(cause, why)| (*cause, why.as_str()));
            Some((uid.as_str(), node.as_deref(), failure))
        }
        _ => None,
    });
    withdrawn.collect()
}

/// The condition `Issued` that is written.
fn said(turn: &Turn) -> (String, String, String) {
    let status = turn.actions.iter().find_map(|action| match action {
        Action::WriteStatus { status, .. } => Some(status),
        _ => None,
    });
    let (state, reason, message) = condition(status.expect("a status"), "Issued");
    (state.into(), reason.into(), message.into())
}

fn conditions(all: &[(&str, &str, &str)]) -> Value {
    let all = all.iter().map(
        |(kind, status, reason)| json!({ "type": kind, "status": status, "reason": reason, "message": "so\nit is" }),
    );
    json!({ "conditions": all.collect::<Vec<_>>() })
}

#[test]
fn conditions_of_a_request_are_read_as_cert_manager_writes_them() {
    let read = |all: &[(&str, &str, &str)]| Answer::of(&conditions(all));
    let waits = |all: &[(&str, &str, &str)]| match read(all) {
        Answer::Waiting(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(waits(&[]), "is not approved yet");
    assert_eq!(waits(&[("Ready", "False", "Pending")]), "is not approved yet");
    let approved = ("Approved", "True", "cert-manager.io");
    assert_eq!(
        waits(&[approved, ("Ready", "False", "Pending")]),
        "is approved and not issued yet: Pending: so it is"
    );
    assert_eq!(waits(&[approved]), "is approved, and no issuer has looked at it yet");
    let why = |reason: &str| format!("{reason}: so it is");
    let denied = Answer::Refused(Cause::Denied, why("policy"));
    assert_eq!(
        read(&[("Denied", "True", "policy"), ("Ready", "False", "Denied")]),
        denied
    );
    assert_eq!(
        read(&[approved, ("Ready", "False", "Failed")]),
        Answer::Refused(Cause::Failed, why("Failed"))
    );
    assert_eq!(
        read(&[
            approved,
            ("InvalidRequest", "True", "bad"),
            ("Ready", "False", "Failed")
        ]),
        Answer::Refused(Cause::InvalidRequest, why("bad"))
    );
    // Ready without a certificate is not issued; with one that is denied, neither.
    let ready = ("Ready", "True", "Issued");
    assert!(waits(&[approved, ready]).contains("not issued yet"));
    let mut status = conditions(&[approved, ready]);
    status["certificate"] = json!("AA==");
    assert_eq!(Answer::of(&status), issued());
    status["ca"] = json!("BB==");
    assert!(matches!(Answer::of(&status), Answer::Issued { root: Some(root), .. } if root == "BB=="));
    let mut status = conditions(&[("Denied", "True", "policy"), ready]);
    status["certificate"] = json!("AA==");
    assert_eq!(Answer::of(&status), denied);
}

#[test]
fn a_node_is_asked_for_once_waited_for_and_its_answer_taken_over_the_secret_as_it_is_then() {
    let first = run(&stage_of(&[]));
    assert_eq!(orders(&first).len(), 2);
    let seen = stage_of(&[
        ("amf", Answer::Waiting("is not approved yet".into())),
        ("nrf", issued()),
    ]);
    let turn = run(&seen);
    assert!(orders(&turn).is_empty());
    assert!(withdrawn(&turn).is_empty());
    assert_eq!(turn.waiting, 2);
    let [order] = taken(&turn)[..] else { panic!("{turn:?}") };
    assert_eq!((order.node.as_str(), order.replaces.as_deref()), ("nrf", None));
    let (state, reason, message) = said(&turn);
    assert_eq!((state.as_str(), reason.as_str()), ("False", "Issuing"));
    assert!(
        message.ends_with("\nnodes.amf: CertificateRequest bartizan-amf is not approved yet"),
        "{message}"
    );
    // A Secret that another program has made meanwhile is not replaced as if it were missing.
    let mut seen = stage_of(&[("nrf", issued())]);
    let mut old = stage::written(order);
    old.certificate.as_mut().unwrap().not_after = now() - DAY;
    seen.secrets.insert("bartizan-nrf".into(), old);
    let turn = run(&seen);
    let [order] = taken(&turn)[..] else { panic!("{turn:?}") };
    assert_eq!(order.replaces.as_deref(), Some("7"));
}

#[test]
fn what_was_refused_is_removed_with_its_reason_and_not_asked_again_at_once() {
    let refused = Answer::Refused(Cause::Denied, "policy: no such name".into());
    let turn = run(&stage_of(&[("amf", refused), ("nrf", Answer::Gone)]));
    let removed = withdrawn(&turn);
    assert_eq!(removed.len(), 2);
    assert_eq!(removed[0].0, "uid-amf");
    let (cause, why) = removed[0].2.unwrap();
    assert_eq!(cause, Cause::Denied);
    assert_eq!(why, "CertificateRequest bartizan-amf was denied: policy: no such name");
    assert!(removed[1].2.unwrap().1.contains("was deleted by somebody else"));
    assert!(orders(&turn).is_empty());
    // As it is recorded.
    let mut seen = stage_of(&[]);
    seen.failures.insert(
        "amf".into(),
        bartizan_controller::Failure {
            cause,
            reason: why.to_owned(),
            count: 1,
            again: now() + Duration::from_secs(60),
        },
    );
    let turn = run(&seen);
    assert_eq!(orders(&turn).len(), 1);
    let (state, reason, message) = said(&turn);
    assert_eq!((state.as_str(), reason.as_str()), ("False", "Denied"));
    assert!(
        message.contains("nodes.amf: CertificateRequest bartizan-amf was denied"),
        "{message}"
    );
}

#[test]
fn requests_of_other_names_of_nodes_that_left_and_of_others_keys_are_removed() {
    let mut seen = stage_of(&[("amf", issued()), ("nrf", Answer::Waiting(String::new()))]);
    seen.asked.get_mut("amf").unwrap().names.insert("DNS:upf".into());
    seen.asked.insert("smf".into(), asked("smf", issued()));
    seen.strays.insert(Stray {
        request: "bartizan-amf".into(),
        uid: "left".into(),
    });
    let turn = run(&seen);
    assert!(taken(&turn).is_empty());
    let removed: BTreeMap<_, _> = withdrawn(&turn)
        .into_iter()
        .map(|(uid, node, why)| (uid, (node, why)))
        .collect();
    assert_eq!(
        removed.keys().copied().collect::<Vec<_>>(),
        ["left", "uid-amf", "uid-smf"]
    );
    assert_eq!(removed["left"].0, None);
    assert!(removed.values().all(|(_, why)| why.is_none()));
    // Without a file nothing is waited for.
    seen.networks.clear();
    assert_eq!(withdrawn(&run(&seen)).len(), 4);
}

#[test]
fn an_answer_that_never_comes_is_waited_for_a_day() {
    let seen = stage_of(&[("amf", Answer::Waiting("is not approved yet".into()))]);
    let at = |days: u32| stage::run_at(&seen, now() + days * DAY, &elsewhere(), 0);
    assert!(withdrawn(&at(1)).is_empty());
    let turn = at(2);
    assert!(
        withdrawn(&turn)[0]
            .2
            .unwrap()
            .1
            .contains("was not answered within a day")
    );
}

#[test]
fn nothing_is_taken_while_the_clock_is_wrong_or_the_api_has_no_requests() {
    let seen = stage_of(&[("amf", issued())]);
    let turn = stage::run_at(&seen, now(), &elsewhere(), 3_600);
    assert!(taken(&turn).is_empty() && withdrawn(&turn).is_empty());
    assert_eq!(said(&turn).1, "ClockSkew");
    let turn = run_by(&seen, &Authority::Unavailable("install cert-manager".into()));
    assert!(taken(&turn).is_empty() && withdrawn(&turn).is_empty());
    assert_eq!(said(&turn).1, "NoAuthority");
}

#[test]
fn what_the_file_asks_for_and_the_issuer_has_not_is_said() {
    let mut seen = stage_of(&[]);
    seen.networks = vec![network(stage::spec())];
    let (state, reason, message) = said(&run(&seen));
    assert_eq!((state.as_str(), reason.as_str()), ("False", "NoRevocationList"));
    assert!(message.contains("leave `crl` out of `trust`"), "{message}");
    let classical = Authority::Elsewhere {
        root: Some(ROOT),
        signs: SignatureScheme::ECDSA_SECP256R1_SHA256,
    };
    let (_, reason, message) = said(&run_by(&stage_of(&[]), &classical));
    assert_eq!(reason, "PolicyRefusesKey");
    assert!(
        message.contains("SBI between amf and nrf: its policy, hybrid, accepts no signature by"),
        "{message}"
    );
    // Under an exception it does.
    let mut with = spec();
    with["policy"] = json!({ "profile": "transition", "reason": "cert-manager", "expires": "2099-12-31" });
    let mut seen = stage_of(&[]);
    seen.networks = vec![network(with)];
    assert_eq!(said(&run_by(&seen, &classical)).1, "Issuing");
    // Two roots, of which none is configured.
    let unpinned = Authority::Elsewhere {
        root: None,
        signs: SignatureScheme::MLDSA65,
    };
    let mut seen = stage_of(&[]);
    for order in orders(&run(&seen.clone())) {
        let mut secret = stage::written(order);
        secret.root = Some([u8::try_from(order.node.len()).unwrap() + order.node.as_bytes()[0]; 32]);
        seen.secrets.insert(order.secret.clone(), secret);
    }
    let (_, reason, message) = said(&run_by(&seen, &unpinned));
    assert_eq!(reason, "DifferentRoots");
    assert!(message.starts_with("2 of 2 certificates"), "{message}");
    // With one that is, each that has another is asked for again.
    let turn = run(&seen);
    assert!(orders(&turn).iter().all(|order| order.why == Why::AnotherAuthority));
    assert_eq!(orders(&turn).len(), 2);
}

fn received() -> Received {
    Received {
        certificate: certificate(&["DNS:amf", "IP:10.96.0.22"]),
        is_authority: false,
        is_for_both_ends: true,
        flaw: None,
    }
}

fn fault(received: &Received) -> Option<String> {
    let (authority, settings) = (elsewhere(), Settings::default());
    let circumstances = Circumstances {
        now: now(),
        skew: 0,
        authority: &authority,
        settings: &settings,
    };
    let names = BTreeSet::from(["DNS:AMF".to_owned(), "IP:10.96.0.22".to_owned()]);
    received.fault(&names, "free5gc", "amf", &circumstances)
}

#[test]
fn a_certificate_that_is_not_what_was_asked_for_is_refused_with_what_differs() {
    assert_eq!(fault(&received()), None);
    let refused = |change: &dyn Fn(&mut Received), why: &str| {
        let mut one = received();
        change(&mut one);
        let said = fault(&one).expect("it is refused");
        assert!(said.contains(why), "{said}");
    };
    refused(&|one| one.certificate.key_matches = false, "of another key");
    refused(&|one| one.is_authority = true, "an authority's");
    refused(&|one| one.is_for_both_ends = false, "clients and servers");
    refused(
        &|one| one.certificate.names.extend(["DNS:nrf".to_owned()]),
        "has the name dns:nrf",
    );
    refused(
        &|one| one.certificate.names.retain(|name| name != "DNS:amf"),
        "lacks the name dns:amf",
    );
    refused(
        &|one| one.certificate.not_before = now() + Duration::from_secs(600),
        "not valid yet",
    );
    refused(
        &|one| one.certificate.not_after = now() - Duration::from_secs(1),
        "renewed at once",
    );
    refused(&|one| one.flaw = Some("no root".into()), "no root");
}

/// Any state of affairs between a namespace and cert-manager.
fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        Just(Answer::Waiting("is not approved yet".into())),
        Just(issued()),
        Just(Answer::Gone),
        Just(Answer::Refused(Cause::Denied, "no".into())),
        Just(Answer::Refused(Cause::InvalidRequest, "no".into())),
        Just(Answer::Refused(Cause::Failed, "no".into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_status_says_nothing_panics_and_nothing_without_a_certificate_is_issued(
        kind in prop_oneof![Just("Ready"), Just("Approved"), Just("Denied"), Just("InvalidRequest"), Just("x")],
        status in "True|False|Unknown|", reason in "\\PC{0,12}", message in "\\PC{0,400}", certificate in proptest::option::of("\\PC{0,9}"),
    ) {
        let status = json!({ "conditions": [{ "type": kind, "status": status, "reason": reason, "message": message }], "certificate": certificate });
        match Answer::of(&status) {
            Answer::Issued { certificate: issued, .. } => prop_assert_eq!(Some(issued), certificate),
            Answer::Refused(_, why) | Answer::Waiting(why) => prop_assert!(why.chars().count() < 400 && !why.contains('\n')),
            Answer::Gone => prop_assert!(false, "it is there"),
        }
        prop_assert!(matches!(Answer::of(&json!(message)), Answer::Waiting(_)));
    }

    #[test]
    fn every_request_is_waited_for_taken_or_removed_and_no_node_has_two(
        amf in proptest::option::of(answer()), nrf in proptest::option::of(answer()), gone in proptest::option::of(answer()),
        strays in 0..3_usize, stored in 0..3_usize, skew in prop_oneof![Just(0_i64), Just(3_600)],
    ) {
        let mut seen = stage_of(&[]);
        for order in orders(&run(&seen.clone())).into_iter().take(stored) {
            seen.secrets.insert(order.secret.clone(), stage::written(order));
        }
        for (node, answer) in [("amf", amf), ("nrf", nrf), ("smf", gone)] {
            if let Some(answer) = answer {
                seen.asked.insert(node.to_owned(), asked(node, answer));
            }
        }
        for at in 0..strays {
            seen.strays.insert(Stray { request: format!("bartizan-{at}"), uid: format!("stray-{at}") });
        }
        let turn = stage::run_at(&seen, now(), &elsewhere(), skew);
        let mut removed: Vec<_> = withdrawn(&turn).into_iter().map(|(uid, ..)| uid.to_owned()).collect();
        let count = removed.len();
        removed.sort();
        removed.dedup();
        prop_assert_eq!(removed.len(), count);
        prop_assert_eq!(removed.iter().filter(|uid| uid.starts_with("stray")).count(), strays);
        for (node, asked) in &seen.asked {
            let is_taken = taken(&turn).iter().any(|order| order.node == *node);
            let is_removed = removed.contains(&asked.uid);
            prop_assert!(!(is_taken && is_removed));
            prop_assert!(!is_taken || (asked.answer == issued() && skew == 0));
            prop_assert!(orders(&turn).iter().all(|order| order.node != *node));
        }
        // The remaining requests come to an end: each answer is issued, and a turn writes it.
        for _ in 0..10 {
            for asked in seen.asked.values_mut() {
                asked.answer = issued();
            }
            let turn = run(&seen);
            for order in orders(&turn) {
                seen.asked.insert(order.node.clone(), asked(&order.node, Answer::Waiting(String::new())));
            }
            let asked_for = seen.asked.clone();
            let mut without = turn.clone();
            without.actions.retain(|action| !matches!(action, Action::Issue(_)));
            seen.asked = asked_for;
            stage::apply(&mut seen, &without);
        }
        let turn = run(&seen);
        prop_assert_eq!((turn.nodes, turn.issued, turn.waiting), (2, 2, 0));
        prop_assert!(seen.asked.is_empty() && seen.strays.is_empty());
    }

    #[test]
    fn no_more_than_64_wait_in_a_namespace(count in 1..100_usize, waiting in 0..90_usize) {
        let node = |at: usize| {
            let node = json!({ "function": "AMF", "address": format!("10.0.0.{}", at + 1), "certificate": "tls.crt", "key": "tls.key" });
            (format!("amf-{at}"), node)
        };
        let nodes: serde_json::Map<_, _> = (0..count).map(node).collect();
        let mut seen = observed();
        seen.networks = vec![network(json!({ "trust": { "roots": "ca.crt" }, "nodes": nodes }))];
        for at in 0..waiting.min(count).min(64) {
            let mut one = asked("amf", Answer::Waiting(String::new()));
            one.names = BTreeSet::from([format!("DNS:amf-{at}")]);
            seen.asked.insert(format!("amf-{at}"), one);
        }
        let (settings, authority) = (Settings::default(), elsewhere());
        let circumstances = Circumstances { now: now(), skew: 0, authority: &authority, settings: &settings };
        let turn = reconcile(&seen, &circumstances, &mut Budget { urgent: 1_000, renewals: 0, lists: 0 });
        prop_assert!(withdrawn(&turn).is_empty());
        prop_assert_eq!(seen.asked.len() + orders(&turn).len(), count.min(64));
        prop_assert_eq!(turn.waiting + orders(&turn).len(), count);
    }
}
