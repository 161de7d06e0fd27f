//! Writes for a namespace, case by case.

use crate::stage;
use std::time::Duration;

use bartizan_controller::{Action, Authority, ConfigMap, Failure, Meta, Pods, Why};
use serde_json::json;

use stage::{
    DAY, apply, authority, certificate, condition, network, now, observed, orders, run, run_at, settled, spec,
};

#[test]
fn a_network_becomes_a_file_secrets_and_a_status_and_then_nothing_is_written() {
    let seen = observed();
    let turn = run(&seen);
    let Action::WriteFile { text, owner, replaces } = &turn.actions[0] else {
        panic!("{turn:?}");
    };
    assert!(text.contains("nrf:") && text.contains("10.96.0.21"), "{text}");
    assert_eq!((owner.0.as_str(), replaces), ("core", &None));
    let ordered = orders(&turn);
    assert_eq!(ordered.len(), 2);
    assert_eq!(
        (ordered[0].secret.as_str(), ordered[0].why),
        ("bartizan-amf", Why::Missing)
    );
    assert_eq!(
        (ordered[0].dns.clone(), ordered[0].replaces.clone()),
        (vec!["amf".to_owned()], None)
    );
    let seen = settled(seen);
    let status = &seen.networks[0].status;
    assert_eq!(status["issued"], "2/2");
    assert_eq!(status["nodes"], 2);
    assert_eq!(condition(status, "Valid").0, "True");
    assert_eq!(condition(status, "Issued").0, "True");
    assert_eq!(
        condition(status, "Ready"),
        ("Unknown", "NoPods", "no pod of a node runs")
    );
    assert_eq!(status["conditions"][0]["observedGeneration"], 3);
}

#[test]
fn a_mistyped_key_is_refused_with_its_place_and_a_hint_and_the_last_file_stays() {
    let mut seen = settled(observed());
    let before = seen.config_map.clone();
    seen.networks[0].spec["nodes"]["amf"]["fuction"] = json!("AMF");
    let turn = run(&seen);
    apply(&mut seen, &turn);
    assert_eq!(seen.config_map, before);
    let (state, reason, message) = condition(&seen.networks[0].status, "Valid");
    assert_eq!((state, reason), ("False", "Refused"));
    assert!(
        message.starts_with("spec.nodes.amf.fuction: unknown field"),
        "{message}"
    );
    assert!(message.contains("did you mean `function`?"), "{message}");
    assert!(message.ends_with("the last file that was accepted stays"), "{message}");
    // Certificates are renewed by the last file.
    let turn = run_at(&seen, now() + 80 * DAY, &authority(), 0);
    assert_eq!(orders(&turn).len(), 2, "{turn:?}");
}

#[test]
fn what_cannot_be_applied_is_refused_with_its_place() {
    let mut file = spec();
    file["interfaces"][0]["between"] = json!(["amf", "nrff"]);
    let mut seen = observed();
    seen.networks = vec![network(file)];
    let turn = run(&seen);
    apply(&mut seen, &turn);
    let (_, _, message) = condition(&seen.networks[0].status, "Valid");
    assert!(message.starts_with("spec.interfaces[0].between"), "{message}");
    assert!(message.contains("did you mean `nrf`?"), "{message}");
    assert_eq!(seen.config_map, None);
    assert_eq!(condition(&seen.networks[0].status, "Issued").1, "NoFile");
    assert!(orders(&turn).is_empty());
}

#[test]
fn a_config_map_of_somebody_is_read_and_never_written() {
    let mut seen = observed();
    let text = "trust: { roots: ca.crt }\nnodes: { smf: { function: SMF, address: 10.0.0.1, certificate: tls.crt, key: tls.key } }\n";
    let map = |file: &str| {
        Some(ConfigMap {
            meta: Meta {
                name: "bartizan".into(),
                ..Meta::default()
            },
            file: Some(file.to_owned()),
        })
    };
    seen.config_map = map(text);
    seen.networks.clear();
    let seen = settled(seen);
    assert_eq!(seen.config_map, map(text));
    assert_eq!(seen.secrets.keys().collect::<Vec<_>>(), ["bartizan-smf"]);
    assert_eq!(seen.secrets["bartizan-smf"].meta.owner, None);
    // Half of it, as while it is being edited: nothing is written, and what is wrong is reported.
    let mut half = seen.clone();
    half.config_map = map(&text[..40]);
    let turn = run_at(&half, now() + 80 * DAY, &authority(), 0);
    assert!(orders(&turn).is_empty());
    assert!(turn.complaint.unwrap().starts_with("ConfigMap bartizan: "));
    let mut none = seen;
    none.config_map.as_mut().unwrap().file = None;
    assert!(run(&none).complaint.unwrap().contains("no key deployment.yaml"));
}

/// One `kubectl label` put the Network out of force, and had certificates issued for any name.
#[test]
fn a_config_map_of_somebody_puts_no_network_out_of_force() {
    let mut seen = observed();
    let map = Some(ConfigMap {
        meta: Meta {
            name: "bartizan".into(),
            ..Meta::default()
        },
        file: Some(
            "trust: { roots: ca.crt }\nnodes: { smf: { function: SMF, address: 10.0.0.1, certificate: tls.crt, key: tls.key } }\n".into(),
        ),
    });
    seen.config_map = map.clone();
    let mut settled = settled(seen.clone());
    assert_eq!(settled.config_map, map);
    assert_eq!(
        settled.secrets.keys().collect::<Vec<_>>(),
        ["bartizan-amf", "bartizan-nrf"]
    );
    let (state, reason, message) = condition(&settled.networks[0].status, "Valid");
    assert_eq!((state, reason), ("False", "ForeignConfigMap"));
    assert!(message.contains("certificates are this Network's"), "{message}");
    assert!(
        run(&settled)
            .complaint
            .unwrap()
            .starts_with("ConfigMap bartizan is not labelled")
    );
    // A Network that is refused has no last file in it.
    settled.networks[0].spec["interfaces"][0]["between"] = json!(["amf", "nrff"]);
    assert!(orders(&run_at(&settled, now() + 80 * DAY, &authority(), 0)).is_empty());
}

#[test]
fn the_older_of_two_networks_has_the_namespace() {
    let mut seen = observed();
    let mut other = network(spec());
    (other.meta.name, other.meta.uid) = ("another".into(), "another".into());
    other.meta.created = "2027-01-02T00:00:00Z".into();
    seen.networks.insert(0, other);
    let seen = settled(seen);
    let (state, reason, message) = condition(&seen.networks[0].status, "Valid");
    assert_eq!((state, reason), ("False", "AnotherNetwork"));
    assert!(message.contains("core is older"), "{message}");
    assert_eq!(condition(&seen.networks[1].status, "Valid").0, "True");
    assert_eq!(seen.config_map.unwrap().meta.owner.as_deref(), Some("network"));
}

#[test]
fn each_reason_to_issue_again_is_one_and_a_revoked_certificate_goes_first() {
    let seen = settled(observed());
    let mut revoked = authority();
    if let Authority::Ready { revoked, .. } = &mut revoked {
        revoked.insert("01".into());
    }
    let turn = run_at(&seen, now(), &revoked, 0);
    assert_eq!(
        orders(&turn).iter().map(|order| order.why).collect::<Vec<_>>(),
        [Why::Revoked; 2]
    );
    type Change = fn(&mut bartizan_controller::Secret);
    let cases: [(Why, Change); 5] = [
        (Why::Unreadable, |secret| secret.certificate = None),
        (Why::AnotherKey, |secret| {
            secret.certificate.as_mut().unwrap().key_matches = false;
        }),
        (Why::AnotherAuthority, |secret| {
            secret.certificate.as_mut().unwrap().of_this_authority = false;
        }),
        (Why::AnotherAuthority, |secret| secret.root = Some([9; 32])),
        (Why::OtherNames, |secret| {
            secret.certificate = Some(certificate(&["DNS:nrf", "DNS:amf"]));
        }),
    ];
    for (why, change) in cases {
        let mut seen = seen.clone();
        change(seen.secrets.get_mut("bartizan-amf").unwrap());
        let turn = run(&seen);
        let ordered = orders(&turn);
        assert_eq!(ordered.len(), 1, "{why:?}");
        assert_eq!((ordered[0].why, ordered[0].replaces.as_deref()), (why, Some("7")));
        assert_eq!(turn.issued, 1);
    }
    let mut other = seen.clone();
    other.networks[0].meta.uid = "made again".into();
    assert_eq!(orders(&run(&other))[0].why, Why::AnotherOwner);
}

#[test]
fn certificates_are_renewed_within_a_third_of_their_lifetime_and_are_good_until_then() {
    let seen = settled(observed());
    assert!(orders(&run_at(&seen, now() + 52 * DAY, &authority(), 0)).is_empty());
    let turn = run_at(&seen, now() + 61 * DAY, &authority(), 0);
    assert_eq!(orders(&turn).len(), 2);
    assert_eq!(turn.issued, 2);
    let late = run_at(&seen, now() + 91 * DAY, &authority(), 0);
    assert_eq!((orders(&late).len(), late.issued), (2, 0));
}

#[test]
fn a_secret_of_somebody_else_is_left_alone_and_said() {
    let mut seen = observed();
    seen.foreign.insert("bartizan-amf".into());
    let seen = settled(seen);
    assert_eq!(seen.secrets.keys().collect::<Vec<_>>(), ["bartizan-nrf"]);
    let (state, reason, message) = condition(&seen.networks[0].status, "Issued");
    assert_eq!((state, reason), ("False", "ForeignSecret"));
    assert!(
        message.contains("1 of 2") && message.contains("Secret bartizan-amf is not labelled"),
        "{message}"
    );
}

#[test]
fn nothing_is_issued_by_a_wrong_clock_or_without_the_authority() {
    let mut seen = observed();
    for skew in [-3_600, 86_400] {
        let turn = run_at(&seen, now(), &authority(), skew);
        assert!(orders(&turn).is_empty());
        assert_eq!(turn.waiting, 2);
    }
    let turn = run_at(&seen, now(), &authority(), 3_600);
    apply(&mut seen, &turn);
    let (state, reason, message) = condition(&seen.networks[0].status, "Issued");
    assert_eq!((state, reason), ("False", "ClockSkew"));
    assert!(message.contains("3600 s ahead of"), "{message}");
    let gone = Authority::Unavailable("ca: no authority".into());
    let turn = run_at(&seen, now(), &gone, 0);
    apply(&mut seen, &turn);
    assert_eq!(condition(&seen.networks[0].status, "Issued").1, "NoAuthority");
    // Small differences are those of any two machines.
    assert_eq!(orders(&run_at(&seen, now(), &authority(), 30)).len(), 2);
    // Resources that need nothing are not called wrong.
    let seen = settled(seen);
    let turn = run_at(&seen, now(), &gone, 0);
    assert!(turn.actions.is_empty(), "{turn:?}");
}

#[test]
fn a_failure_is_reported_and_repeated_later() {
    let mut seen = observed();
    let failure = Failure {
        cause: bartizan_controller::Cause::Failed,
        count: 1,
        reason: "its name has an underscore".into(),
        again: now() + Duration::from_secs(60),
    };
    seen.failures.insert("amf".into(), failure);
    let seen = settled(seen);
    let (_, reason, message) = condition(&seen.networks[0].status, "Issued");
    assert_eq!(reason, "Failed");
    assert!(message.contains("nodes.amf: its name has an underscore"), "{message}");
    let later = run_at(&seen, now() + Duration::from_secs(61), &authority(), 0);
    assert_eq!(orders(&later).len(), 1);
}

#[test]
fn a_node_that_names_no_secret_is_an_obstacle_and_one_with_files_of_its_own_is_not_counted() {
    let mut file = spec();
    file["nodes"]["AMF_1"] = file["nodes"]["amf"].clone();
    file["nodes"]["AMF_1"]["address"] = json!("10.96.0.23");
    file["nodes"]["AMF_1"]["names"] = json!({ "dns": ["amf-1"] });
    file["nodes"]["cu"] =
        json!({ "function": "CU", "address": "10.96.0.24", "certificate": "/etc/cu.crt", "key": "/etc/cu.key" });
    let mut seen = observed();
    seen.networks = vec![network(file)];
    let seen = settled(seen);
    let status = &seen.networks[0].status;
    assert_eq!(
        (status["issued"].as_str(), status["nodes"].as_i64()),
        (Some("2/3"), Some(4))
    );
    assert!(
        condition(status, "Issued")
            .2
            .contains("nodes.AMF_1: no Secret can be called bartizan-AMF_1")
    );
}

#[test]
fn newer_revocation_lists_go_into_secrets_that_stay() {
    let seen = settled(observed());
    let newer = Authority::Ready {
        root: stage::ROOT,
        list: Some([8; 32]),
        revoked: std::collections::BTreeSet::new(),
        unrenewed: vec!["the revocation list of CN=root cannot be renewed".to_owned()],
    };
    let turn = run_at(&seen, now(), &newer, 0);
    let lists = turn
        .actions
        .iter()
        .filter(|action| matches!(action, Action::WriteList { replaces, .. } if replaces == "7"));
    assert_eq!((lists.count(), orders(&turn).len()), (2, 0));
}

#[test]
fn readiness_is_that_of_the_files_pods_and_a_transition_keeps_its_time() {
    let mut seen = settled(observed());
    seen.pods.insert(
        "amf".into(),
        Pods {
            all: 2,
            ready: 1,
            ..Pods::default()
        },
    );
    seen.pods.insert(
        "a name that is no node of the file".into(),
        Pods {
            all: 5,
            ready: 0,
            ..Pods::default()
        },
    );
    let first = run(&seen);
    apply(&mut seen, &first);
    let status = seen.networks[0].status.clone();
    assert_eq!(status["ready"], "1/2");
    let (state, _, message) = condition(&status, "Ready");
    assert_eq!(state, "False");
    assert_eq!(message, "1 of 2 sidecars answer /ready; not ready are pods of amf");
    seen.pods.insert(
        "amf".into(),
        Pods {
            all: 3,
            ready: 1,
            ..Pods::default()
        },
    );
    let turn = run_at(&seen, now() + DAY, &authority(), 0);
    apply(&mut seen, &turn);
    let later = &seen.networks[0].status;
    assert_eq!(later["ready"], "1/3");
    assert_eq!(
        later["conditions"][2]["lastTransitionTime"],
        status["conditions"][2]["lastTransitionTime"]
    );
    seen.pods.insert(
        "amf".into(),
        Pods {
            all: 3,
            ready: 3,
            ..Pods::default()
        },
    );
    let turn = run_at(&seen, now() + 2 * DAY, &authority(), 0);
    apply(&mut seen, &turn);
    let last = &seen.networks[0].status;
    assert_eq!(condition(last, "Ready").0, "True");
    assert_ne!(
        last["conditions"][2]["lastTransitionTime"],
        status["conditions"][2]["lastTransitionTime"]
    );
}
