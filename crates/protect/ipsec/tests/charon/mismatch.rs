//! SAs that are between others, for more packets or in another mode than the file says, however well they are keyed.

use bartizan_deployment::{Breach, Mode, Policy};
use bartizan_ipsec::TrafficSelector;
use bartizan_ipsec::watch::Expectation;
use bartizan_ledger::Verdict;

use super::watch::{EVERYDAY, children, expectation, ikes, wait_for, watched_as};
use super::{list_sas, named};
use crate::stage::*;

fn refused(verdict: &Verdict) -> (&str, &str) {
    match verdict {
        Verdict::Refused { reason, detail } => (reason, detail),
        other => panic!("{other:?}"),
    }
}

/// An expectation that is the stage's but for one thing.
fn but(change: impl FnOnce(&mut Expectation)) -> Expectation {
    let mut expected = expectation(Policy::hybrid());
    change(&mut expected);
    expected
}

#[test]
fn an_ike_sa_to_another_peer_or_address_is_taken_down() {
    let mut stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    let other_peer = but(|expected| expected.ends.as_mut().expect("ends").identity = "else.test".into());
    let other_address = but(|expected| expected.ends.as_mut().expect("ends").remote = Some([10, 77, 0, 9].into()));
    for (expected, reason, detail) in [
        (
            other_peer,
            "other-peer",
            "the peer is far.test; the file names else.test",
        ),
        (
            other_address,
            "other-address",
            "the other end has the address 10.77.0.2; the file says 10.77.0.9",
        ),
    ] {
        let (events, metrics) = watched_as(expected, EVERYDAY, &mut stage, |stage, said, _| {
            let mut client = stage.near.client();
            // It may be down again before charon has answered.
            let _ = client.command("initiate", named("e2"));
            wait_for(said, "breach Curve25519 and ml-kem-768");
            wait_for(said, "taken down Curve25519 and ml-kem-768");
            eventually("charon has none", || list_sas(&mut client).is_empty().then_some(()));
        });
        assert_eq!(refused(&ikes(&events)[0].verdict), (reason, detail));
        // CHILD_SAs keyed from it are refused for the same reason.
        assert_eq!(refused(&children(&events)[0].verdict).0, reason);
        let counted = format!(r#"breaches_total{{peer="far",reason="{reason}"}}"#);
        assert!(metrics.contains(&counted), "{metrics}");
        eventually("the peer has none", || {
            list_sas(&mut stage.far.client()).is_empty().then_some(())
        });
    }
}

#[test]
fn a_child_for_more_packets_than_the_file_says_is_taken_down_or_reported_as_the_policy_asks() {
    let mut stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    let narrow = |expected: &mut Expectation| {
        let form = expected.children[0].form.as_mut().expect("a form");
        form.traffic[1] = vec![TrafficSelector::parse("10.78.0.2/32[132/36421]").expect("a selector")];
    };
    let wanted = (
        "traffic",
        "it is for 10.78.0.2/32 there, which is more than the file says",
    );
    let (events, _) = watched_as(but(narrow), EVERYDAY, &mut stage, |stage, said, _| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        wait_for(said, "breach its IKE_SA");
        wait_for(said, "taken down its IKE_SA");
        client
            .command("terminate", super::Section::new().with("ike", "e2"))
            .expect("down");
    });
    assert_eq!(ikes(&events)[0].verdict, Verdict::Accepted);
    assert_eq!(refused(&children(&events)[0].verdict), wanted);

    let reported = but(|expected| {
        narrow(expected);
        expected.children[0].policy.ipsec.breach = Breach::Report;
    });
    let (events, metrics) = watched_as(reported, EVERYDAY, &mut stage, |stage, said, _| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        wait_for(said, "breach its IKE_SA");
        let sas = list_sas(&mut client);
        let established = sas[0].section("child-sas").expect("children");
        let mut established = established.sections();
        assert!(
            established.any(|(_, child)| child.text("state") == Some("INSTALLED")),
            "{sas:?}"
        );
    });
    assert_eq!(refused(&children(&events)[0].verdict), wanted);
    assert!(metrics.contains("taken_down_total 0"), "{metrics}");
}

#[test]
fn a_child_in_another_mode_than_the_file_says_is_taken_down() {
    let mut stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    let transport = but(|expected| expected.children[0].form.as_mut().expect("a form").mode = Mode::Transport);
    let (events, _) = watched_as(transport, EVERYDAY, &mut stage, |stage, said, _| {
        stage.near.client().command("initiate", named("e2")).expect("up");
        wait_for(said, "breach its IKE_SA");
        wait_for(said, "taken down its IKE_SA");
    });
    let wanted = ("mode", "it is in tunnel mode; the file says transport");
    assert_eq!(refused(&children(&events)[0].verdict), wanted);
}
