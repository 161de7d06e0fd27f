//! Post-quantum pre-shared keys (RFC 8784), required and optional.

use std::sync::Arc;
use std::time::Duration;

use bartizan_ike::{Config, Event, Ppk};

use super::By;
use super::stage::{Pluto, Stage};
use crate::strongswan::as_root::stage::Driver;

/// The key of octets 7, as pluto's file of secrets has it.
fn secrets() -> String {
    format!(": PPKS \"oran-1\" 0x{}\n", "07".repeat(32))
}

fn with_key(pluto: &Pluto<'_>, name: Option<&str>, octet: u8, required: bool) -> Config {
    let mut config = pluto.config("x25519");
    config.ppk = name.map(|name| Ppk {
        identity: name.as_bytes().to_vec(),
        secret: vec![octet; 32].into(),
        required,
        early: true,
    });
    config
}

fn is_used(driver: &Driver) -> bool {
    let used = driver.events.iter().find_map(|event| match event {
        Event::Established { agreed, .. } => Some(agreed.ppk),
        _ => None,
    });
    used.expect("established")
}

pub(super) fn a_key_is_required_of_each_other(stage: &Stage, pluto: &Pluto<'_>) {
    pluto.load_secrets(&secrets());
    for begins in By::BOTH {
        pluto.load("curve25519", &[("ppk", "insist"), ("ppk-ids", "\"oran-1\"")]);
        let mut driver = pluto.joined(begins, with_key(pluto, Some("oran-1"), 7, true));
        assert!(is_used(&driver));
        pluto.ended(begins, &mut driver);
        drop(driver);
        // Another key of the same name, and none.
        for (name, octet) in [(Some("oran-1"), 8), (None, 0)] {
            pluto.load(
                "curve25519",
                &[
                    ("ppk", "insist"),
                    ("ppk-ids", "\"oran-1\""),
                    ("retransmit-timeout", "1s"),
                ],
            );
            let mut config = with_key(pluto, name, octet, true);
            // pluto drops what it refuses, or does not go on.
            config.timing.half_open = Duration::from_secs(1);
            config.timing.retransmit = Duration::from_millis(100);
            config.timing.attempts = 3;
            let config = Arc::new(config);
            let mut driver = stage.driver(&config);
            match begins {
                By::Us => driver.initiate(config),
                By::Pluto => {
                    assert!(pluto.whack_with(&mut driver, "--initiate").is_err());
                }
            }
            driver.until("it is refused", |driver| driver.closed().is_some());
            assert!(driver.installed().is_empty());
            pluto.unload();
            pluto.has_none();
        }
    }
}

pub(super) fn where_a_key_is_optional_both_use_it_or_go_on_without(pluto: &Pluto<'_>) {
    pluto.load_secrets(&secrets());
    for (begins, name, theirs, used) in [
        (By::Us, Some("oran-1"), "propose", true),
        // One that pluto does not have.
        (By::Us, Some("oran-2"), "propose", false),
        (By::Us, None, "propose", false),
        (By::Us, Some("oran-1"), "never", false),
        // Not with `propose`: pluto cannot begin what may go on without.
        (By::Pluto, Some("oran-1"), "never", false),
        (By::Pluto, Some("oran-1"), "insist", true),
    ] {
        pluto.load("curve25519", &[("ppk", theirs)]);
        let mut driver = pluto.joined(begins, with_key(pluto, name, 7, false));
        assert_eq!(is_used(&driver), used, "{name:?}, {theirs}, begun by {begins:?}");
        pluto.ended(begins, &mut driver);
    }
}
