//! SAs that either end replaces, both at once, or deletes, and an end that is gone: judged by what
//! charon lists, by pings through what is there, and by a capture that tshark reads.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_ike::{Config, Event, Failure};
use bartizan_ipsec::vici::Section;
use bartizan_testing::Capture;
use bartizan_testing::{Tshark, eventually, numbers};
use bartizan_wire::ike::ExchangeType;

use super::stage::{Driver, Stage, ours};
use crate::link::{Algorithm, Authority, HYBRID, exchanges};

/// End that acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Us,
    Charon,
}

/// The replaced SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Child,
    Ike,
}

const IKE: &str = "x25519-ke1_mlkem768";
const ESP: &str = "aes256gcm16-x25519-ke1_mlkem768";
/// Key exchanges of each replacement.
const METHODS: [&str; 2] = ["Curve25519", "ml-kem-768"];

fn hybrid(authority: &Authority) -> Config {
    let config = Arc::into_inner(ours(authority, HYBRID));
    let mut config = config.expect("it is nobody else's");
    for proposal in &mut config.child.proposals {
        proposal.extend(exchanges(HYBRID));
    }
    config
}

/// Both set up, begun by one.
fn joined(stage: &Stage, by: By, change: impl FnOnce(&mut Config)) -> Driver {
    let authority = Authority::new(Algorithm::EcdsaP384);
    stage.load_with(&authority, IKE, ESP);
    let mut config = hybrid(&authority);
    change(&mut config);
    let config = Arc::new(config);
    let mut driver = Driver::new(stage, Arc::clone(&config));
    match by {
        By::Us => driver.initiate(config),
        By::Charon => vici(stage, &mut driver, "initiate", "child"),
    }
    driver.until("a CHILD_SA", |driver| !driver.installed().is_empty());
    settled(stage, &mut driver);
    driver
}

/// Lets charon do something to its `child` or `ike`, while this engine answers.
fn vici(stage: &Stage, driver: &mut Driver, command: &str, of: &str) {
    thread::scope(|scope| {
        let done = scope.spawn(|| {
            let section = Section::new().with(of, "e2");
            stage.client().command(command, section).expect("it is done");
        });
        driver.until(command, |_| done.is_finished());
    });
}

/// Waits until both have one IKE_SA and in it one CHILD_SA, the same; then a ping passes through.
fn settled(stage: &Stage, driver: &mut Driver) {
    let is_settled = |driver: &Driver| {
        let (open, installed) = (driver.open(), driver.installed());
        let ([sa], [child]) = (&open[..], &installed[..]) else {
            return false;
        };
        let listed = stage.sas();
        let [theirs] = &listed[..] else { return false };
        let their_children: Vec<_> = theirs.children.iter().filter(|child| child.stands()).collect();
        let [their_child] = their_children[..] else {
            return false;
        };
        let spis = (sa.spis().0, sa.spis().1);
        let their_spis = theirs.key.as_ref().map(|key| match key {
            bartizan_ledger::Key::Ike {
                initiator_spi,
                responder_spi,
            } => (initiator_spi.0, responder_spi.0),
            other => panic!("{other:?}"),
        });
        let [ours_in, ours_out] = [child.inbound.0, child.outbound.0];
        theirs.state == "ESTABLISHED"
            && their_spis == Some(spis)
            && (their_child.spi_out.0, their_child.spi_in.0) == (ours_in, ours_out)
            && sa.sending() == Some(ours_in)
    };
    driver.until("both have the same SAs", is_settled);
    driver.ping();
}

/// Replaces one, and waits until both have.
fn replaced(stage: &Stage, driver: &mut Driver, what: What, by: By) {
    let (before, child) = (driver.open()[0].spis(), driver.installed()[0].inbound.0);
    match (what, by) {
        (What::Child, By::Us) => driver.current().rekey_child(Instant::now(), child),
        (What::Ike, By::Us) => driver.current().rekey(Instant::now()),
        (What::Child, By::Charon) => vici(stage, driver, "rekey", "child"),
        (What::Ike, By::Charon) => vici(stage, driver, "rekey", "ike"),
    }
    driver.until("it is replaced", |driver| {
        let is_other = |child: &u32, spis| match what {
            What::Child => driver.installed().iter().all(|one| one.inbound.0 != *child),
            What::Ike => driver.open().iter().all(|sa| sa.spis() != spis),
        };
        is_other(&child, before)
    });
    settled(stage, driver);
    let listed = stage.sas();
    let (ike, child) = (&listed[0], listed[0].children.iter().find(|child| child.stands()));
    let made = match what {
        What::Ike => &ike.key_exchanges,
        What::Child => &child.expect("settled").key_exchanges,
    };
    let names: Vec<&str> = made.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, METHODS, "{what:?} by {by:?}");
}

/// Requests of this type in a capture, by the initiator of their IKE_SA or by its responder,
/// without retransmissions and fragments.
fn requests(capture: Capture, exchange: ExchangeType) -> usize {
    let file = capture.path().to_owned();
    assert!(capture.stop().expect("written").complete());
    let filter = format!("isakmp.exchangetype == {} && isakmp.flag_r == 0", exchange.0);
    let fields = ["isakmp.ispi", "isakmp.flag_i", "isakmp.messageid"];
    let mut rows = Tshark::new().rows(&file, &filter, &fields);
    rows.sort();
    rows.dedup();
    rows.len()
}

#[test]
fn both_kinds_are_replaced_by_either_end_in_both_roles() {
    let stage = Stage::set_up();
    let whose = [By::Us, By::Charon];
    for by in whose {
        let capture = stage.capture();
        let mut driver = joined(&stage, by, |_| {});
        for what in [What::Child, What::Ike, What::Child, What::Ike] {
            for by in whose {
                replaced(&stage, &mut driver, what, by);
            }
        }
        driver.current().close(Instant::now());
        driver.until("it ends", |driver| driver.open().is_empty());
        eventually("charon has none either", || stage.sas().is_empty().then_some(()));
        assert!(
            !driver
                .events
                .iter()
                .any(|event| matches!(event, Event::NotReplaced { .. }))
        );
        // Eight replacements of one CREATE_CHILD_SA and one IKE_FOLLOWUP_KE each: nothing collided,
        // nothing was asked for twice.
        let file = capture.path().to_owned();
        assert_eq!(requests(capture, ExchangeType::CREATE_CHILD_SA), 8);
        let followed = Tshark::new().values(
            &file,
            "isakmp.exchangetype == 44 && isakmp.flag_r == 0",
            "isakmp.messageid",
        );
        assert!(numbers(&followed).len() >= 8, "{followed:?}");
        let unencrypted = Tshark::new().values(&file, "icmp.type == 8 || icmp.type == 0", "frame.number");
        assert_eq!(unencrypted, Vec::<String>::new());
    }
}

#[test]
fn what_both_replace_at_once_is_the_same_at_both_in_the_end() {
    let stage = Stage::set_up();
    for by in [By::Us, By::Charon] {
        let mut driver = joined(&stage, by, |_| {});
        for round in 0..6 {
            let what = if round % 2 == 0 { What::Child } else { What::Ike };
            let (before, child) = (driver.open()[0].spis(), driver.installed()[0].inbound.0);
            let now = Instant::now();
            // This end's request leaves when it looks at its sockets again: by then charon's has arrived.
            let of = match what {
                What::Child => {
                    driver.current().rekey_child(now, child);
                    "child"
                }
                What::Ike => {
                    driver.current().rekey(now);
                    "ike"
                }
            };
            let section = Section::new().with(of, "e2");
            stage.client().command("rekey", section).expect("it is begun");
            thread::sleep(Duration::from_millis(200));
            driver.until("both have replaced it", |driver| match what {
                What::Child => driver.installed().iter().all(|one| one.inbound.0 != child),
                What::Ike => driver.open().iter().all(|sa| sa.spis() != before),
            });
            settled(&stage, &mut driver);
        }
        driver.current().close(Instant::now());
        driver.until("it ends", |driver| driver.open().is_empty());
        eventually("charon has none either", || stage.sas().is_empty().then_some(()));
    }
}

#[test]
fn either_end_deletes_the_child_sa_and_either_makes_another() {
    let stage = Stage::set_up();
    for by in [By::Us, By::Charon] {
        let mut driver = joined(&stage, by, |_| {});
        for (deletes, makes) in [(By::Us, By::Charon), (By::Charon, By::Us), (By::Us, By::Us)] {
            let spis = driver.open()[0].spis();
            let child = driver.installed()[0].inbound.0;
            match deletes {
                By::Us => driver.current().delete_child(Instant::now(), child),
                By::Charon => vici(&stage, &mut driver, "terminate", "child"),
            }
            driver.until("it is deleted", |driver| driver.installed().is_empty());
            eventually("charon has deleted it", || {
                let listed = stage.sas();
                let installed = listed.iter().flat_map(|sa| &sa.children).filter(|child| child.stands());
                (installed.count() == 0).then_some(())
            });
            match makes {
                By::Us => driver.current().make_child(Instant::now(), 0),
                By::Charon => vici(&stage, &mut driver, "initiate", "child"),
            }
            driver.until("there is another", |driver| !driver.installed().is_empty());
            settled(&stage, &mut driver);
            assert_eq!(driver.open()[0].spis(), spis);
        }
        vici(&stage, &mut driver, "terminate", "ike");
        driver.until("it ends", |driver| driver.open().is_empty());
        assert_eq!(driver.closed(), Some(&Failure::Deleted));
    }
}

#[test]
fn charon_answers_when_it_is_asked_whether_it_is_alive_and_is_found_out_when_it_is_not() {
    let mut stage = Stage::set_up();
    let capture = stage.capture();
    let mut driver = joined(&stage, By::Us, |config| {
        config.timing.liveness = Some(Duration::from_millis(200));
        // A charon that does not run for seconds is alive.
        config.timing.retransmit = Duration::from_millis(500);
        config.timing.attempts = 4;
    });
    driver.until("it has asked often", |driver| driver.asked.len() >= 6);
    settled(&stage, &mut driver);
    assert!(requests(capture, ExchangeType::INFORMATIONAL) >= 5);
    stage.kill();
    driver.until("it is found out", |driver| driver.open().is_empty());
    assert_eq!(driver.closed(), Some(&Failure::Unanswered));
}
