//! SAs that either end replaces or deletes, and ends that ask each other whether they are alive.

use std::time::{Duration, Instant};

use bartizan_ike::Event;
use bartizan_wire::ike::ExchangeType;

use super::By;
use super::stage::{Pluto, Stage};
use crate::strongswan::as_root::stage::Driver;

/// The replaced SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Child,
    Ike,
}

/// Replaces one, and waits until both have.
fn replaced(pluto: &Pluto<'_>, driver: &mut Driver, what: What, by: By) {
    let (before, child) = (driver.open()[0].spis(), driver.installed()[0].inbound.0);
    match (what, by) {
        (What::Child, By::Us) => driver.current().rekey_child(Instant::now(), child),
        (What::Ike, By::Us) => driver.current().rekey(Instant::now()),
        (What::Child, By::Pluto) => drop(pluto.whack_with(driver, "--rekey-child").expect("it is replaced")),
        (What::Ike, By::Pluto) => drop(pluto.whack_with(driver, "--rekey-ike").expect("it is replaced")),
    }
    driver.until("it is replaced", |driver| match what {
        What::Child => driver.installed().iter().all(|one| one.inbound.0 != child),
        What::Ike => driver.open().iter().all(|sa| sa.spis() != before),
    });
    pluto.settled(driver);
    let is_same = (
        driver.open()[0].spis() == before,
        driver.installed()[0].inbound.0 == child,
    );
    assert_eq!(is_same, (what == What::Child, what == What::Ike), "{what:?} by {by:?}");
}

pub(super) fn both_kinds_are_replaced_by_either_end(stage: &Stage, pluto: &Pluto<'_>) {
    let recorded = stage.record();
    for begins in By::BOTH {
        pluto.load("curve25519", &[]);
        let mut driver = pluto.joined(begins, pluto.config("x25519"));
        for what in [What::Ike, What::Child] {
            for by in By::BOTH {
                replaced(pluto, &mut driver, what, by);
                if what == What::Child {
                    // With a key exchange of its own.
                    let child = driver.installed()[0];
                    assert!(
                        child
                            .transforms
                            .iter()
                            .any(|transform| transform.id == 31 && transform.kind == 4)
                    );
                }
            }
        }
        let ends = if begins == By::Us { By::Pluto } else { By::Us };
        pluto.ended(ends, &mut driver);
        let refused = |event: &Event| matches!(event, Event::NotReplaced { .. });
        assert!(!driver.events.iter().any(refused), "{:?}", driver.events);
    }
    let packets = recorded.stop();
    packets.assert_protected(2 * 2 * 5);
    for by in By::BOTH {
        // Nothing collided, nothing was asked for twice.
        assert_eq!(packets.requests(by, ExchangeType::CREATE_CHILD_SA), 4, "{by:?}");
    }
}

pub(super) fn either_end_asks_whether_the_other_is_alive(stage: &Stage, pluto: &Pluto<'_>) {
    let recorded = stage.record();
    for asks in By::BOTH {
        let (settings, silence): (&[(&str, &str)], _) = match asks {
            By::Us => (&[], Duration::from_secs(3)),
            By::Pluto => (&[("dpddelay", "1")], Duration::from_secs(8)),
        };
        pluto.load("curve25519", settings);
        let mut config = pluto.config("x25519");
        config.timing.liveness = (asks == By::Us).then_some(Duration::from_millis(200));
        let mut driver = pluto.joined(By::Us, config);
        let end = Instant::now() + silence;
        driver.until("some silence", |_| Instant::now() > end);
        pluto.settled(&mut driver);
        pluto.ended(By::Us, &mut driver);
    }
    let packets = recorded.stop();
    // This engine has deleted both IKE_SAs besides.
    for (by, deleted) in [(By::Us, 2), (By::Pluto, 0)] {
        assert!(packets.requests(by, ExchangeType::INFORMATIONAL) > deleted, "{by:?}");
    }
}
