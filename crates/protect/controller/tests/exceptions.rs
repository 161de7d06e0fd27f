//! Exceptions in the rendered file, read back by the file's own parser.

use crate::stage;
use std::path::Path;

use bartizan_deployment::{Deployment, Profile};
use serde_json::{Value, json};

use stage::{DAY, authority, condition, exception, network, now, observed, run_at, settled, spec};

fn old_amf() -> Value {
    json!({ "interface": "sbi", "between": ["nrf", "amf"], "reason": "the AMF is of 2024", "expires": "2027-02-01" })
}

/// The rendered file, and the Exception's condition.
fn with(file: Value, spec: Value) -> (Deployment, Value) {
    let mut seen = observed();
    seen.networks = vec![network(file)];
    seen.exceptions = vec![exception(spec)];
    let seen = settled(seen);
    let text = seen.config_map.unwrap().file.unwrap();
    let file = Deployment::parse(&text, "rendered", Path::new("")).unwrap();
    (file, seen.exceptions[0].status.clone())
}

#[test]
fn an_exception_is_the_policy_of_its_interface_until_its_last_day() {
    let (file, status) = with(spec(), old_amf());
    let interface = &file.interfaces()[0];
    let exception = interface.policy.exception.as_ref().expect("an exception");
    assert_eq!(interface.policy.profile, Profile::Transition);
    assert_eq!(exception.reason, "the AMF is of 2024");
    assert_eq!(exception.expires.to_string(), "2027-02-01");
    assert_eq!(condition(&status, "Effective").0, "True");

    let mut seen = observed();
    seen.exceptions = vec![stage::exception(old_amf())];
    let mut seen = settled(seen);
    let before = seen.config_map.clone();
    // 2027-01-15 and 17 days is the last day.
    let turn = run_at(&seen, now() + 17 * DAY, &authority(), 0);
    stage::apply(&mut seen, &turn);
    assert_eq!(seen.config_map, before);
    let turn = run_at(&seen, now() + 18 * DAY, &authority(), 0);
    stage::apply(&mut seen, &turn);
    let text = seen.config_map.unwrap().file.unwrap();
    let file = Deployment::parse(&text, "rendered", Path::new("")).unwrap();
    assert_eq!(file.interfaces()[0].policy.profile, Profile::Hybrid);
    assert_eq!(condition(&seen.exceptions[0].status, "Effective").1, "Expired");
}

#[test]
fn one_link_of_many_is_excepted_and_the_others_are_not() {
    let mut file = spec();
    file["nodes"]["smf"] = file["nodes"]["amf"].clone();
    file["nodes"]["smf"]["address"] = json!("10.96.0.23");
    file["policy"] = json!({ "profile": "hybrid", "revocation": "require" });
    for joined in [
        json!({ "kind": "SBI", "among": ["nrf", "smf", "amf"], "with": "sidecar" }),
        json!({ "kind": "SBI", "between": [["amf", "smf"], "nrf"], "with": "sidecar" }),
    ] {
        file["interfaces"] = json!([joined]);
        let whole = Deployment::parse(&file.to_string(), "whole", Path::new("")).unwrap();
        let (with, status) = with(file.clone(), old_amf());
        assert_eq!(condition(&status, "Effective").0, "True", "{status}");
        assert_eq!(with.interfaces().len(), whole.interfaces().len());
        for (before, after) in whole.interfaces().iter().zip(with.interfaces()) {
            assert_eq!((before.kind, &before.between), (after.kind, &after.between));
            let mut ends: Vec<_> = after
                .between
                .iter()
                .map(bartizan_deployment::NodeName::as_str)
                .collect();
            ends.sort_unstable();
            if ends == ["amf", "nrf"] {
                assert_eq!(after.policy.profile, Profile::Transition);
                assert_eq!(after.policy.revocation, before.policy.revocation);
            } else {
                assert_eq!(before.policy, after.policy);
            }
        }
    }
}

#[test]
fn what_cannot_be_an_exception_is_refused_by_name_and_the_file_stays_as_it_is() {
    let change = |key: &str, value: Value| {
        let mut spec = old_amf();
        spec[key] = value;
        spec
    };
    for (spec_of_it, reason, says) in [
        (
            change("between", json!(["amf", "smf"])),
            "Refused",
            "no interface sbi of the Network joins amf and smf",
        ),
        (change("interface", json!("N2")), "Refused", "no interface N2"),
        (change("expires", json!("soon")), "Refused", "`soon` is not a date"),
        (
            change("expires", json!("2027-01-14")),
            "Expired",
            "the last day is over",
        ),
        (change("reason", json!(" ")), "Refused", "reason: is empty"),
        (change("between", json!(["amf"])), "Refused", "spec: "),
        (change("intrface", json!("SBI")), "Refused", "did you mean `interface`?"),
        (
            change("network", json!("lab")),
            "AnotherNetwork",
            "the namespace's Network is not lab",
        ),
    ] {
        let (file, status) = with(spec(), spec_of_it);
        let (state, why, message) = condition(&status, "Effective");
        assert_eq!((state, why), ("False", reason), "{message}");
        assert!(message.contains(says), "{message}");
        assert_eq!(file.interfaces()[0].policy.profile, Profile::Hybrid);
    }
    let mut own = spec();
    own["interfaces"][0]["policy"] = json!({ "profile": "transition", "reason": "mine", "expires": "2027-06-30" });
    let (file, status) = with(own, old_amf());
    assert!(
        condition(&status, "Effective")
            .2
            .contains("the Network itself has an exception")
    );
    assert_eq!(file.interfaces()[0].policy.exception.as_ref().unwrap().reason, "mine");
}

/// The file was parsed once for each Exception: a hundred of a file with two hundred nodes took
/// minutes without optimisation, and the Lease was lost meanwhile.
#[test]
fn of_many_exceptions_those_that_are_refused_and_no_others_are_left_out() {
    let mut seen = observed();
    let mut file = spec();
    for at in 0..12 {
        let mut node = file["nodes"]["amf"].clone();
        node["address"] = json!(format!("10.97.0.{}", at + 1));
        file["nodes"][format!("n{at}")] = node;
        let interface = json!({ "kind": "SBI", "between": [format!("n{at}"), "nrf"], "with": "sidecar" });
        file["interfaces"].as_array_mut().unwrap().push(interface);
    }
    seen.networks = vec![network(file)];
    // For each node one that the parser refuses where its number is odd, then one that is in effect
    // unless the first is, then one more.
    for at in 0..12 {
        for (of, reason) in [(0, ["old", " "][at % 2]), (1, "second"), (2, "third")] {
            let mut one = exception(json!({
                "interface": "SBI", "between": [format!("n{at}"), "nrf"], "reason": reason, "expires": "2027-02-01",
            }));
            (one.meta.name, one.meta.uid) = (format!("e{at:02}-{of}"), format!("e{at:02}-{of}"));
            seen.exceptions.push(one);
        }
    }
    let seen = settled(seen);
    for (at, said) in seen.exceptions.chunks(3).enumerate() {
        let said: Vec<_> = said.iter().map(|one| condition(&one.status, "Effective")).collect();
        let states: Vec<_> = said.iter().map(|(state, ..)| *state).collect();
        let wanted = [["True", "False", "False"], ["False", "True", "False"]][at % 2];
        assert_eq!(states, wanted, "{said:?}");
        assert!(said[2].2.contains("itself has an exception"), "{said:?}");
        assert_eq!(said[0].2.contains("reason: is empty"), at % 2 == 1, "{said:?}");
    }
    let text = seen.config_map.unwrap().file.unwrap();
    let read = Deployment::parse(&text, "rendered", Path::new("")).unwrap();
    let excepted = read.interfaces().iter().filter_map(|one| one.policy.exception.as_ref());
    assert_eq!(excepted.count(), 12);
}

#[test]
fn one_exception_that_is_refused_leaves_the_others_in_effect() {
    let mut seen = observed();
    let mut wrong = exception(json!({ "interface": "SBI" }));
    (wrong.meta.name, wrong.meta.uid) = ("wrong".into(), "wrong".into());
    seen.exceptions = vec![wrong, exception(old_amf())];
    let seen = settled(seen);
    assert_eq!(condition(&seen.exceptions[0].status, "Effective").1, "Refused");
    assert_eq!(condition(&seen.exceptions[1].status, "Effective").0, "True");
    let mut none = seen.clone();
    none.networks.clear();
    let turn = stage::run(&none);
    stage::apply(&mut none, &turn);
    assert_eq!(condition(&none.exceptions[1].status, "Effective").1, "NoNetwork");
}
