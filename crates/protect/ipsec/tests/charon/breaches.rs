//! SAs that break their policy later than at their set-up: at a re-authentication, under `breach:
//! report`, when an exception runs out.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Breach, Deployment, Policy};
use bartizan_ipsec::vici::Section;
use bartizan_ledger::{Cause, Event, Verdict, Why};

use super::watch::{EVERYDAY, Said, children, ikes, wait_for, watched_by};
use super::{list_sas, named};
use crate::stage::*;

/// Interval between checks of all SAs in these tests.
const SWEEP: Duration = Duration::from_millis(100);

fn reauthenticate() -> Section {
    Section::new().with("ike", "e2").with("reauth", "yes")
}

/// Number of the watch's reports with this beginning.
fn times(said: &Said, wanted: &str) -> usize {
    let said = said.lock().expect("not poisoned");
    said.iter().filter(|word| word.starts_with(wanted)).count()
}

fn refused(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Refused { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

fn ends(events: &[Event]) -> Vec<Why> {
    let ends = events.iter().filter_map(|event| match event {
        Event::SaClosed(closed) => Some(closed.why),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_reauthentication_is_recorded_with_what_keyed_it_and_the_one_before_was_replaced() {
    let mut stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    let policy = Policy::hybrid();
    let (events, metrics) = watched_by(policy, EVERYDAY, &mut stage, |stage, said, metrics| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        client.command("rekey", reauthenticate()).expect("begun");
        eventually("both authentications and both children", || {
            (times(said, "stands") == 4).then_some(())
        });
        eventually("the one before is gone", || {
            let text = metrics.text();
            text.contains("bartizan_ipsec_ike_sas_established 1").then_some(())
        });
    });
    let (ikes, children) = (ikes(&events), children(&events));
    let wanted = [Cause::SetUp, Cause::ReAuthentication];
    assert_eq!(ikes.iter().map(|sa| sa.cause).collect::<Vec<_>>(), wanted);
    assert_eq!(children.iter().map(|sa| sa.cause).collect::<Vec<_>>(), wanted);
    for sa in &ikes {
        assert_eq!(sa.verdict, Verdict::Accepted);
        let codes: Vec<_> = sa.key_exchanges.iter().map(|one| one.code).collect();
        assert_eq!(codes, [Some(31), Some(36)]);
        // Proven anew each time, not carried over.
        let authentication = sa.authentication.as_ref().expect("charon's log tells");
        assert_eq!(authentication.peer.as_deref(), Some("ECDSA_WITH_SHA256_DER"));
    }
    assert_ne!(ikes[0].key, ikes[1].key);
    assert_eq!(ends(&events), [Why::Replaced, Why::Replaced], "{events:?}");
    assert!(!metrics.contains("verdict=\"refused\""), "{metrics}");
}

#[test]
fn a_reauthentication_to_a_classical_key_exchange_is_a_breach_and_leaves_no_sa() {
    let mut stage = Stage::set_up();
    // This end's configuration would let it pass; the peer forgets the hybrid between set-up and re-authentication.
    let both = format!("{HYBRID},x25519");
    stage.near.load(&stage.far, &stage.authority, &both, HYBRID);
    stage.far.load(&stage.near, &stage.authority, HYBRID, HYBRID);
    let policy = Policy::hybrid();
    let (events, metrics) = watched_by(policy, EVERYDAY, &mut stage, |stage, said, metrics| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        wait_for(said, "stands its IKE_SA");
        let classical = stage.far.connection(&stage.near, "x25519", HYBRID);
        let message = Section::new().with_section("e2", classical);
        stage.far.client().command("load-conn", message).expect("loaded");
        client.command("rekey", reauthenticate()).expect("begun");
        wait_for(said, "breach Curve25519 alone");
        wait_for(said, "taken down Curve25519 alone");
        eventually("nothing stands", || {
            let text = metrics.text();
            text.contains("bartizan_ipsec_ike_sas_established 0").then_some(())
        });
        // As charon itself has it.
        eventually("charon has none", || list_sas(&mut client).is_empty().then_some(()));
    });
    let again = ikes(&events)
        .into_iter()
        .find(|sa| sa.cause == Cause::ReAuthentication)
        .expect("recorded");
    assert_eq!(refused(&again.verdict), "classical");
    let breach = |event: &Event| matches!(event, Event::SaClosed(closed) if closed.key == again.key && closed.spi_in.is_none() && closed.why == Why::Breach);
    assert!(events.iter().any(breach), "{events:?}");
    assert!(
        metrics.contains(r#"breaches_total{peer="far",reason="classical"}"#),
        "{metrics}"
    );
}

#[test]
fn under_report_a_breach_is_reported_once_and_the_sa_stays() {
    /// Number of the watch's calls for the day: once or more for each SA of a sweep.
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    fn clock() -> SystemTime {
        ASKED.fetch_add(1, Ordering::Relaxed);
        SystemTime::now()
    }
    let mut stage = Stage::set_up();
    let any = format!("{HYBRID},");
    stage.near.load(&stage.far, &stage.authority, HYBRID, &any);
    // A peer that rekeys without any key exchange.
    stage.far.load(&stage.near, &stage.authority, HYBRID, "");
    let mut policy = Policy::hybrid();
    policy.ipsec.breach = Breach::Report;
    let (events, metrics) = watched_by(policy, (clock, SWEEP), &mut stage, |stage, said, _| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        wait_for(said, "stands its IKE_SA");
        stage.far.client().command("rekey", named("e2")).expect("rekeyed");
        wait_for(said, "breach its IKE_SA");
        // Several sweeps later nothing has changed its mind.
        let until = ASKED.load(Ordering::Relaxed) + 12;
        eventually("sweeps", || (ASKED.load(Ordering::Relaxed) >= until).then_some(()));
        assert_eq!(times(said, "breach"), 1, "{said:?}");
        assert_eq!(times(said, "stands its IKE_SA"), 1, "{said:?}");
        assert_eq!(times(said, "taken down"), 0, "{said:?}");
        let sas = list_sas(&mut client);
        let established = sas[0].section("child-sas").expect("children");
        let mut established = established.sections();
        assert!(
            established.any(|(_, child)| child.text("state") == Some("INSTALLED")),
            "{sas:?}"
        );
    });
    let children = children(&events);
    assert_eq!(children.len(), 2);
    assert_eq!(refused(&children[1].verdict), "no-fresh-keys");
    let closed = |event: &Event| matches!(event, Event::SaClosed(closed) if closed.spi_in == Some(children[1].spi_in));
    assert!(!events.iter().any(closed), "{events:?}");
    assert!(
        metrics.contains(r#"breaches_total{peer="far",reason="no-fresh-keys"} 1"#),
        "{metrics}"
    );
    assert!(metrics.contains("taken_down_total 0"), "{metrics}");
}

#[test]
fn what_an_exception_let_through_is_taken_down_when_it_runs_out() {
    const DAY: u64 = 24 * 3600;
    /// Days since 1970 for the watch: 2026-11-20, and then the day after.
    static TODAY: AtomicU64 = AtomicU64::new(20_777);
    fn clock() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(TODAY.load(Ordering::Relaxed) * DAY)
    }
    let mut stage = Stage::set_up();
    stage.load("x25519", "x25519");
    let policy = transition("2026-11-20");
    let (events, metrics) = watched_by(policy, (clock, SWEEP), &mut stage, |stage, said, _| {
        let mut client = stage.near.client();
        client.command("initiate", named("e2")).expect("up");
        wait_for(said, "stands its IKE_SA");
        assert_eq!(times(said, "breach"), 0, "{said:?}");
        TODAY.fetch_add(1, Ordering::Relaxed);
        wait_for(said, "breach Curve25519 alone");
        wait_for(said, "taken down Curve25519 alone");
        eventually("charon has none", || list_sas(&mut client).is_empty().then_some(()));
    });
    assert!(
        ikes(&events)
            .iter()
            .all(|sa| matches!(&sa.verdict, Verdict::Excepted { .. })),
        "when it was set up: {events:?}"
    );
    assert!(ends(&events).iter().all(|why| *why == Why::Breach), "{events:?}");
    assert!(
        metrics.contains(r#"breaches_total{peer="far",reason="classical"}"#),
        "{metrics}"
    );
}

/// A policy that lets classical key exchange through until this day.
fn transition(expires: &str) -> Policy {
    let text = format!(
        "policy: {{ profile: transition, reason: an old peer, expires: {expires} }}\nnodes:\n  \
         a: {{ function: O-CU-CP, address: 10.0.0.1 }}\n  b: {{ function: near-RT RIC, address: 10.0.0.2 }}\ninterfaces:\n  \
         - {{ kind: E2, between: [a, b], with: ipsec }}\n"
    );
    let deployment = Deployment::parse(&text, "e2.yaml", std::path::Path::new("/")).expect("a deployment");
    Policy::clone(&deployment.interfaces()[0].policy)
}
