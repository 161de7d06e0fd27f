//! Which group is taken where a client that is not ours offers several.

use bartizan_host::LabRoot;

use crate::stage::{By, Pair, Stage, finish};

#[test]
fn under_transition_a_client_that_lists_x25519_first_still_gets_the_hybrid_it_offers() {
    let mut stage = Stage::new();
    let pair = Pair {
        policy: "{ profile: transition, reason: OpenSSL without ML-KEM, expires: 2099-01-01 }".to_owned(),
        warm: 0,
        ..Pair::new(By::Http2, By::Http2)
    };
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let running = stage.run_with(&pair, &amf, &nrf);
    let root = LabRoot::trixie().expect("a cache directory").present();
    let root = root.expect("no lab root: `make lab-root` builds it, and `make test` does so first");
    for (offered, taken, retried) in [
        // A key share for its first group alone: the hybrid takes a HelloRetryRequest.
        ("X25519:X25519MLKEM768", "X25519MLKEM768", true),
        ("X25519MLKEM768:X25519", "X25519MLKEM768", false),
        ("X25519", "x25519", false),
    ] {
        let client = root.command("openssl").expect("openssl in the lab root").arguments([
            "s_client",
            "-connect",
            &pair.ports.inbound.to_string(),
            "-groups",
            offered,
            "-alpn",
            "h2",
            "-cert",
            &amf.certificate.display().to_string(),
            "-key",
            &amf.key.display().to_string(),
            "-CAfile",
            &amf.roots.display().to_string(),
            "-verify_return_error",
        ]);
        let finished = finish(client);
        let said = format!("{}{}", finished.text(), String::from_utf8_lossy(&finished.stderr));
        assert!(said.contains("Verify return code: 0 (ok)"), "{offered}: {said}");
        let seen = running.nrf.handshakes(|handshake| {
            let negotiated = handshake.negotiated.as_ref();
            negotiated.is_some_and(|all| all.group.name.eq_ignore_ascii_case(taken) && all.hello_retry == retried)
        });
        assert_eq!(seen[0].peer.as_deref(), Some("amf"), "{offered}");
        assert!(
            seen[0].bytes.received > 5000,
            "an ML-DSA chain went by the tap: {:?}",
            seen[0].bytes
        );
    }
}
