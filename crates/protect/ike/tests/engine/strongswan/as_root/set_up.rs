//! Set-up with every method and signature that both have, in both roles, and a ping through both.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use bartizan_ike::{Event, Failure, Ppk};
use bartizan_ipsec::vici::Section;
use bartizan_testing::eventually;

use super::stage::{Driver, Stage, ours};
use crate::link::{Algorithm, Authority};

/// charon's names of the methods, and of those that were made in addition.
fn made(sa: &Section) -> Vec<&str> {
    ["dh-group", "ake1", "ake2"]
        .into_iter()
        .filter_map(|name| sa.text(name))
        .collect()
}

/// Proposal of this engine, its form in strongSwan's configuration, and its form in `list-sas`.
const METHODS: [(&[&str], &str, &[&str]); 6] = [
    (
        &["x25519", "mlkem768"],
        "x25519-ke1_mlkem768",
        &["CURVE_25519", "ML_KEM_768"],
    ),
    (
        &["x25519", "mlkem512"],
        "x25519-ke1_mlkem512",
        &["CURVE_25519", "ML_KEM_512"],
    ),
    (
        &["ecp384", "mlkem1024"],
        "ecp384-ke1_mlkem1024",
        &["ECP_384", "ML_KEM_1024"],
    ),
    (&["mlkem768"], "mlkem768", &["ML_KEM_768"]),
    (
        &["ecp256", "mlkem768", "mlkem512"],
        "ecp256-ke1_mlkem768-ke2_mlkem512",
        &["ECP_256", "ML_KEM_768", "ML_KEM_512"],
    ),
    (&["ecp521"], "ecp521", &["ECP_521"]),
];
const SIGNATURES: [Algorithm; 4] = [
    Algorithm::EcdsaP256,
    Algorithm::EcdsaP384,
    Algorithm::Ed25519,
    Algorithm::Rsa,
];

#[test]
fn strongswan_answers_this_engine_with_every_method_and_signature_it_has() {
    let stage = Stage::set_up();
    let signed = METHODS.into_iter().zip(SIGNATURES.into_iter().cycle());
    for ((methods, theirs, listed), algorithm) in signed {
        let authority = Authority::new(algorithm);
        stage.load(&authority, theirs);
        let config = ours(&authority, methods);
        let mut driver = Driver::new(&stage, Arc::clone(&config));
        driver.initiate(config);
        driver.until("a CHILD_SA", |driver| !driver.installed().is_empty());

        let sas = stage.listed();
        assert_eq!(sas.len(), 1, "{theirs}");
        assert_eq!(
            (sas[0].text("state"), made(&sas[0])),
            (Some("ESTABLISHED"), listed.to_vec())
        );
        let children = sas[0].section("child-sas").expect("a list");
        let states: Vec<_> = children.sections().map(|(_, child)| child.text("state")).collect();
        assert_eq!(states, [Some("INSTALLED")], "{theirs}");
        driver.ping();

        driver.current().close(Instant::now());
        driver.until("it is closed", |driver| driver.closed().is_some());
        assert_eq!(driver.closed(), Some(&Failure::Closed));
        eventually("charon has deleted it", || stage.listed().is_empty().then_some(()));
    }
}

#[test]
fn this_engine_answers_strongswan_with_every_method_and_signature_it_has() {
    let stage = Stage::set_up();
    let signed = METHODS.into_iter().zip(SIGNATURES.into_iter().rev().cycle());
    for ((methods, theirs, listed), algorithm) in signed {
        let authority = Authority::new(algorithm);
        stage.load(&authority, theirs);
        let mut driver = Driver::new(&stage, ours(&authority, methods));
        thread::scope(|scope| {
            let initiated = scope.spawn(|| {
                let child = Section::new().with("child", "e2");
                stage.client().command("initiate", child).expect("it is set up");
            });
            driver.until("a CHILD_SA", |driver| !driver.installed().is_empty());
            driver.until("charon has it too", |_| initiated.is_finished());
        });
        let sas = stage.listed();
        assert_eq!(sas.len(), 1, "{theirs}");
        assert_eq!(
            (sas[0].text("state"), made(&sas[0])),
            (Some("ESTABLISHED"), listed.to_vec())
        );
        driver.ping();

        thread::scope(|scope| {
            let ended = scope.spawn(|| {
                let sa = Section::new().with("ike", "e2");
                stage.client().command("terminate", sa).expect("it ends");
            });
            driver.until("it is closed", |driver| {
                driver.closed().is_some() && ended.is_finished()
            });
        });
        assert_eq!(driver.closed(), Some(&Failure::Deleted));
    }
}

#[test]
fn strongswan_and_this_engine_refuse_each_other_under_another_authority() {
    let stage = Stage::set_up();
    let [authority, other] = [0, 1].map(|_| Authority::new(Algorithm::EcdsaP256));
    stage.load(&authority, "x25519-ke1_mlkem768");
    let config = ours(&other, &["x25519", "mlkem768"]);
    let mut driver = Driver::new(&stage, Arc::clone(&config));
    driver.initiate(config);
    driver.until("it is refused", |driver| driver.closed().is_some());
    let failed = bartizan_wire::ike::NotifyType::AUTHENTICATION_FAILED;
    assert_eq!(driver.closed(), Some(&Failure::Refused(failed)));
    assert!(stage.listed().is_empty());
}

#[test]
fn both_require_a_post_quantum_pre_shared_key_of_each_other() {
    let stage = Stage::set_up();
    let authority = Authority::new(Algorithm::EcdsaP384);
    for (ours_is, begins) in [(7, true), (7, false), (8, true), (8, false)] {
        stage.load_with_ppk(&authority, "x25519-ke1_mlkem768", ("oran-1", &[7; 32], true));
        let config = Arc::into_inner(ours(&authority, &["x25519", "mlkem768"]));
        let mut config = config.expect("it is nobody else's");
        config.ppk = Some(Ppk {
            identity: b"oran-1".to_vec(),
            secret: vec![ours_is; 32].into(),
            required: true,
            early: true,
        });
        let config = Arc::new(config);
        let mut driver = Driver::new(&stage, Arc::clone(&config));
        let is_same = ours_is == 7;
        let done = |driver: &Driver| {
            if is_same {
                !driver.installed().is_empty()
            } else {
                driver.closed().is_some()
            }
        };
        if begins {
            driver.initiate(config);
            driver.until("both agree, or do not", done);
        } else {
            thread::scope(|scope| {
                let initiated = scope.spawn(|| {
                    let child = Section::new().with("child", "e2");
                    assert_eq!(stage.client().command("initiate", child).is_ok(), is_same);
                });
                driver.until("both agree, or do not", done);
                driver.until("charon knows too", |_| initiated.is_finished());
            });
        }
        if is_same {
            let listed = eventually("charon lists it", || stage.listed().into_iter().next());
            assert_eq!(listed.text("ppk"), Some("yes"));
            driver.ping();
            driver.current().close(Instant::now());
            driver.until("it is closed", |driver| driver.closed().is_some());
        }
        eventually("charon has none", || stage.listed().is_empty().then_some(()));
    }
}

#[test]
fn where_a_pre_shared_key_is_optional_both_use_it_or_go_on_without() {
    let stage = Stage::set_up();
    let authority = Authority::new(Algorithm::Ed25519);
    for (name, begins) in [
        (Some("oran-1"), true),
        (Some("oran-1"), false),
        // A key that charon does not have, in a connection that names none: charon takes the proof
        // without. If the connection names another key, it refuses.
        (Some("oran-2"), true),
        (Some("oran-2"), false),
        (None, true),
        (None, false),
    ] {
        if begins && name == Some("oran-2") {
            stage.load(&authority, "x25519-ke1_mlkem768");
            stage.load_ppk("oran-1", &[7; 32]);
        } else {
            stage.load_with_ppk(&authority, "x25519-ke1_mlkem768", ("oran-1", &[7; 32], false));
        }
        let config = Arc::into_inner(ours(&authority, &["x25519", "mlkem768"]));
        let mut config = config.expect("it is nobody else's");
        config.ppk = name.map(|name| Ppk {
            identity: name.as_bytes().to_vec(),
            secret: vec![7; 32].into(),
            required: false,
            early: true,
        });
        let config = Arc::new(config);
        let mut driver = Driver::new(&stage, Arc::clone(&config));
        let is_up = |driver: &Driver| !driver.installed().is_empty();
        if begins {
            driver.initiate(config);
            driver.until("both agree", is_up);
        } else {
            thread::scope(|scope| {
                let initiated = scope.spawn(|| {
                    let child = Section::new().with("child", "e2");
                    stage.client().command("initiate", child).expect("set up");
                });
                driver.until("both agree", is_up);
                driver.until("charon knows too", |_| initiated.is_finished());
            });
        }
        let listed = eventually("charon lists it", || stage.listed().into_iter().next());
        let expected = (name == Some("oran-1")).then_some("yes");
        assert_eq!(listed.text("ppk"), expected, "{name:?}, {begins}");
        driver.ping();
        driver.current().close(Instant::now());
        driver.until("it is closed", |driver| driver.closed().is_some());
        eventually("charon has none", || stage.listed().is_empty().then_some(()));
    }
}

#[test]
fn an_ike_sa_is_set_up_without_a_child_sa_and_then_has_one() {
    let stage = Stage::set_up();
    let authority = Authority::new(Algorithm::EcdsaP256);
    for (begins, settings) in [(true, &[][..]), (false, &[("childless", "force")])] {
        stage.load_with_settings(&authority, "x25519-ke1_mlkem768", settings);
        let config = ours(&authority, &["x25519", "mlkem768"]);
        let mut driver = Driver::new(&stage, Arc::clone(&config));
        let is_up = |driver: &Driver| !driver.installed().is_empty();
        if begins {
            driver.initiate(config);
            driver.sas.last_mut().expect("it has begun").begin_childless();
            driver.until("it is established", |driver| {
                driver.open().iter().any(|sa| sa.is_established())
            });
            assert!(!is_up(&driver));
            driver.current().make_child(Instant::now(), 0);
            driver.until("it has a CHILD_SA", is_up);
        } else {
            thread::scope(|scope| {
                let initiated = scope.spawn(|| {
                    let child = Section::new().with("child", "e2");
                    stage.client().command("initiate", child).expect("set up");
                });
                driver.until("charon has asked for a CHILD_SA", is_up);
                driver.until("charon knows too", |_| initiated.is_finished());
            });
        }
        driver.ping();
        let established = driver
            .events
            .iter()
            .position(|event| matches!(event, Event::Established { .. }));
        let made = driver.events.iter().position(|event| matches!(event, Event::Child(_)));
        assert!(
            established < made
                && !driver
                    .events
                    .iter()
                    .any(|event| matches!(event, Event::ChildRefused { .. }))
        );
        driver.current().close(Instant::now());
        driver.until("it is closed", |driver| driver.closed().is_some());
        eventually("charon has none", || stage.listed().is_empty().then_some(()));
    }
}
