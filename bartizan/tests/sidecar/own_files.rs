//! A node's own certificate, roots and revocation list: what keeps every handshake from succeeding
//! is said, and shows in `/ready`.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bartizan_pki::Algorithm;

use crate::stage::{By, Pair, Stage, get, until};

/// Lines of the log with these words; the state of `/ready` repeats them.
fn said(text: &str, what: &str) -> usize {
    let is_said = |line: &&str| line.contains(what) && !line.contains("not ready");
    text.lines().filter(is_said).count()
}

#[test]
fn a_sidecar_whose_own_certificate_is_revoked_or_not_yet_valid_is_not_ready_and_says_so_once() {
    let mut stage = Stage::new();
    let (nrf, revoked) = (stage.issue("nrf"), stage.issue("amf"));
    let list = stage.revoke(&revoked);
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    let early = stage.issue_from("amf", tomorrow);
    for (amf, cause) in [
        (&revoked, "has revoked this node's own certificate"),
        (&early, "begins with "),
    ] {
        // Nothing is dialled ahead: that of an outbound listener without a warm connection counts as well.
        let mut pair = Pair::new(By::Splice, By::Splice);
        (pair.crl, pair.warm) = (Some(list.clone()), 0);
        let mut running = stage.run_with(&pair, amf, &nrf);
        let (status, body) = running.amf.admin("/ready");
        assert!(status == 503 && body.contains(cause), "{status} {body}");
        assert_eq!(running.nrf.admin("/ready").0, 200);
        running.amf.process.send(libc::SIGHUP);
        until("the reload", || {
            running.amf.metric("bartizan_reloads_total", &["result=\"done\""]) == Some(1.0)
        });
        let log = running.amf.process.stderr();
        assert_eq!(said(&log, cause), 1, "{log}");
    }
}

#[test]
fn with_roots_of_another_authority_a_sidecar_is_ready_once_a_handshake_has_succeeded() {
    let mut stage = Stage::new();
    stage.write("hello", "served");
    let mut other = Stage::with(Algorithm::MlDsa65);
    let (amf, nrf) = (stage.issue("amf"), other.issue("nrf"));
    // Each trusts the other's authority and not its own, which can be meant so, or be a mistake.
    let mut pair = Pair::new(By::Splice, By::Splice);
    pair.warm = 0;
    let crossed = |name: &str, roots: &Path| {
        let file = stage.deployment(name, &pair, &amf, &nrf);
        let text = std::fs::read_to_string(&file).expect("the file");
        let text = text.replace(&amf.roots.display().to_string(), &roots.display().to_string());
        std::fs::write(&file, text).expect("the file");
        file
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let nrf_side = stage.start(&crossed("nrf-side", &amf.roots), "nrf", pair.ports.nrf_admin);
    let amf_side = stage.start(&crossed("amf-side", &nrf.roots), "amf", pair.ports.amf_admin);
    let (status, body) = amf_side.admin("/ready");
    assert!(
        status == 503 && body.contains("holds no root that the chain"),
        "{status} {body}"
    );
    assert_eq!(get(&format!("http://{}/hello", pair.ports.outbound)).2, "served");
    assert_eq!(amf_side.admin("/ready").0, 200);
    assert_eq!(nrf_side.admin("/ready").0, 200);
    assert_eq!(said(&amf_side.process.stderr(), "holds no root that the chain"), 1);
}

/// A client of TLS 1.3 has finished its handshake before the server judges it.
#[test]
fn a_handshake_that_the_peer_refuses_makes_no_sidecar_ready() {
    let mut stage = Stage::new();
    let mut other = Stage::with(Algorithm::MlDsa65);
    let (amf, nrf) = (stage.issue("amf"), other.issue("nrf"));
    // Both trust the peer's authority alone: each handshake that the AMF's sidecar begins is refused.
    let mut pair = Pair::new(By::Splice, By::Splice);
    pair.limits = "handshake: 1m".to_owned();
    let trusting = |name: &str| {
        let file = stage.deployment(name, &pair, &amf, &nrf);
        let text = std::fs::read_to_string(&file).expect("the file");
        let text = text.replace(&amf.roots.display().to_string(), &nrf.roots.display().to_string());
        std::fs::write(&file, text).expect("the file");
        file
    };
    let nrf_side = stage.start(&trusting("nrf-side"), "nrf", pair.ports.nrf_admin);
    let amf_side = stage.start(&trusting("amf-side"), "amf", pair.ports.amf_admin);
    nrf_side.refused("unknown-ca");
    until("the refusal", || {
        let failed = ["side=\"outbound\"", "reason=\"peer-refused\""];
        amf_side.metric("bartizan_sidecar_handshake_failures_total", &failed) >= Some(1.0)
    });
    let (status, body) = amf_side.admin("/ready");
    assert!(
        status == 503 && body.contains("holds no root that the chain"),
        "{status} {body}"
    );
}
