//! Group chosen for a foreign client that offers several.

use crate::stage::{By, Pair, Stage, finish, openssl};

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
    for (offered, taken, retried) in [
        // A key share for its first group alone: the hybrid takes a HelloRetryRequest.
        ("X25519:X25519MLKEM768", "X25519MLKEM768", true),
        ("X25519MLKEM768:X25519", "X25519MLKEM768", false),
        ("X25519", "x25519", false),
    ] {
        let client = openssl(pair.ports.inbound, offered, Some(&amf));
        let finished = finish(client.argument("-verify_return_error"));
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
