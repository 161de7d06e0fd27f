//! Properties of every namespace.

use crate::stage;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bartizan_controller::{Action, Budget, Circumstances, Settings, Why, reconcile, renew_at};
use bartizan_deployment::Deployment;
use proptest::prelude::*;
use serde_json::{Value, json};

use stage::{DAY, authority, certificate, network, now, observed, orders, run, settled};

/// A file of this many nodes.
fn nodes(count: usize) -> Value {
    let node = |at: usize| {
        let node = json!({
            "function": "AMF", "address": format!("10.{}.{}.{}", at / 60_000, at / 250 % 240, at % 250 + 1),
            "certificate": "tls.crt", "key": "tls.key",
        });
        (format!("amf-{at}"), node)
    };
    let nodes: serde_json::Map<_, _> = (0..count).map(node).collect();
    json!({ "trust": { "roots": "ca.crt" }, "nodes": nodes })
}

/// Any text that a person, or an attacker, may write as a value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        prop_oneof![
            Just("no"),
            Just("null"),
            Just("~"),
            Just("1e3"),
            Just("0x10"),
            Just("2027-06-30"),
            Just("- a"),
            Just("a: b"),
            Just(" a "),
            Just("#a"),
            Just("&a"),
            Just("a\nb\n"),
            Just("'"),
            Just("\""),
            Just("\t"),
            Just("---"),
            Just("...")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("\\PC{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_network_says_nothing_panics_and_one_that_is_accepted_is_rendered_as_it_is(
        key in "[a-z-]{1,12}", wild in value(), at in 0..4_usize,
    ) {
        let mut spec = stage::spec();
        match at {
            0 => spec = wild,
            1 => spec[&key] = wild,
            2 => spec["nodes"]["amf"][&key] = wild,
            _ => spec["nodes"]["amf"]["function"] = wild,
        }
        let mut seen = observed();
        seen.networks = vec![network(spec.clone())];
        seen.exceptions = vec![stage::exception(spec.clone())];
        let turn = run(&seen);
        let files = turn.actions.iter().filter_map(|action| match action {
            Action::WriteFile { text, .. } => Some(text),
            _ => None,
        });
        for text in files {
            let rendered = Deployment::parse(text, "rendered", Path::new("")).unwrap();
            // JSON is YAML too: what the resource said is what the file says.
            let said = Deployment::parse(&spec.to_string(), "said", Path::new(""));
            prop_assert_eq!(Some(rendered), said.ok());
        }
    }

    #[test]
    fn text_that_looks_like_something_else_stays_text(function in "\\PC{1,30}") {
        let mut spec = stage::spec();
        spec["nodes"]["amf"]["function"] = json!(function);
        let mut seen = observed();
        seen.networks = vec![network(spec)];
        let turn = run(&seen);
        if let Some(Action::WriteFile { text, .. }) = turn.actions.first() {
            let rendered = Deployment::parse(text, "rendered", Path::new("")).unwrap();
            prop_assert_eq!(&rendered.node("amf").unwrap().function, &function);
        }
    }

    #[test]
    fn a_certificate_that_was_just_issued_is_never_due_whatever_is_configured(
        days in 1..400_u64, before in proptest::option::of(0..100_000_u64), node in "[a-z0-9.-]{1,20}",
    ) {
        let mut one = certificate(&[]);
        one.not_after = now() + Duration::from_secs(days * 86_400);
        let at = renew_at(&one, before.map(|minutes| Duration::from_secs(minutes * 60)), "free5gc", &node);
        prop_assert!(at > now());
        prop_assert!(at <= one.not_after);
        prop_assert_eq!(at, renew_at(&one, before.map(|minutes| Duration::from_secs(minutes * 60)), "free5gc", &node));
    }

    #[test]
    fn a_turn_never_writes_more_than_its_budget_and_loses_nothing(
        count in 1..60_usize, urgent in 0..20_usize, renewals in 0..20_usize, days in 0..95_u64,
    ) {
        let mut seen = observed();
        seen.networks = vec![network(nodes(count))];
        let later = now() + Duration::from_secs(days * 86_400);
        let missing = run(&seen);
        stage::apply(&mut seen, &missing);
        let budget = Budget { urgent, renewals, lists: 0 };
        let (settings, authority) = (Settings::default(), authority());
        let circumstances = Circumstances { now: later, skew: 0, authority: &authority, settings: &settings };
        let turn = reconcile(&seen, &circumstances, &mut budget.clone());
        let ordered = orders(&turn);
        let ends = ordered.iter().filter(|order| order.why == Why::Ends && days <= 90).count();
        prop_assert!(ends <= renewals);
        prop_assert!(ordered.len() - ends <= urgent);
        let all = reconcile(&seen, &circumstances, &mut Budget { urgent: 1_000, renewals: 1_000, lists: 0 });
        prop_assert_eq!(orders(&all).len(), ordered.len() + turn.waiting);
        prop_assert_eq!(all.waiting, 0);
    }
}

#[test]
fn renewals_of_certificates_issued_together_are_spread_evenly() {
    // 5,000 of ninety days: over the seven days and a half before the last thirty.
    let one = certificate(&[]);
    let mut days: BTreeMap<u64, usize> = BTreeMap::new();
    for at in 0..5_000 {
        let due = renew_at(&one, None, "free5gc", &format!("amf-{at}"));
        let before = one.not_after.duration_since(due).unwrap();
        assert!(before >= 30 * DAY && before <= 38 * DAY, "{before:?}");
        *days.entry(before.as_secs() / 43_200).or_default() += 1;
    }
    // 15 half days and a bit, of about 333 each.
    assert!(days.len() >= 15 && days.values().all(|count| *count < 420), "{days:?}");
}

#[test]
fn a_storm_of_5_000_renewals_takes_less_than_an_hour_of_turns() {
    // As many as a ConfigMap's 1 MiB holds per namespace; the budget is one for all.
    let mut seen = observed();
    seen.networks = vec![network(nodes(500))];
    let settled = settled_by_many(seen);
    let (settings, authority) = (Settings::default(), authority());
    let circumstances = Circumstances {
        now: now() + 85 * DAY,
        skew: 0,
        authority: &authority,
        settings: &settings,
    };
    let turn = reconcile(&settled, &circumstances, &mut Budget::TURN.clone());
    assert_eq!(orders(&turn).len(), Budget::TURN.renewals);
    assert_eq!(turn.waiting, 500 - Budget::TURN.renewals);
    // A pause of five seconds between turns that leave something.
    let turns = 5_000_usize.div_ceil(orders(&turn).len());
    assert!(turns * 5 < 3_600, "{turns}");
}

fn settled_by_many(mut seen: bartizan_controller::Observed) -> bartizan_controller::Observed {
    for _ in 0..30 {
        let turn = run(&seen);
        stage::apply(&mut seen, &turn);
    }
    settled(seen)
}
