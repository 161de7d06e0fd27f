//! Tests that need a kernel with its own ESP and AH.

use bartizan_deployment::Policy;
use bartizan_host::Feature;
use bartizan_ipsec::vici::Section;
use bartizan_ledger::Verdict;

use super::named;
use super::watch::{EVERYDAY, children, expectation, wait_for, watched_as};
use crate::stage::*;

#[test]
fn a_child_sa_of_ah_is_taken_down_and_recorded_as_not_encrypted() {
    if bartizan_testing::in_a_guest(&[Feature::Esp]) {
        return;
    }
    let mut stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    for (end, other) in [(&stage.near, &stage.far), (&stage.far, &stage.near)] {
        let connection = end.connection(other, HYBRID, HYBRID);
        let mut authenticated = Section::new();
        for (name, value) in connection.entries().filter(|(name, _)| *name != "children") {
            authenticated.push(name, value.clone());
        }
        let child = Section::new()
            .with("mode", "tunnel")
            .with_list("local_ts", [format!("{}/32", end.inner())])
            .with_list("remote_ts", [format!("{}/32", other.inner())])
            .with_list("ah_proposals", ["sha256-x25519-ke1_mlkem768"])
            .with("rekey_time", "0");
        let authenticated = authenticated.with_section("children", Section::new().with_section("e2", child));
        let message = Section::new().with_section("e2", authenticated);
        end.client().command("load-conn", message).expect("loaded");
    }
    let (events, metrics) = watched_as(expectation(Policy::hybrid()), EVERYDAY, &mut stage, |stage, said, _| {
        let _ = stage.near.client().command("initiate", named("e2"));
        wait_for(said, "breach its IKE_SA");
        wait_for(said, "taken down its IKE_SA");
    });
    let child = children(&events)[0];
    assert_eq!((child.protocol.as_deref(), &child.encryption), (Some("AH"), &None));
    let Verdict::Refused { reason, .. } = &child.verdict else {
        panic!("{:?}", child.verdict);
    };
    assert_eq!(reason, "not-encrypted");
    let counted = r#"breaches_total{peer="far",reason="not-encrypted"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
}
