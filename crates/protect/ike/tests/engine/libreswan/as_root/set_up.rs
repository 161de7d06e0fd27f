//! Set-up with every method and signature that both have, in both roles and with cookies; what is refused.

use std::sync::Arc;

use bartizan_ike::{Event, Failure};
use bartizan_wire::ike::{ExchangeType, NotifyType};

use super::By;
use super::stage::{Pluto, Stage, proposing};
use crate::link::{Algorithm, Authority, transform};

/// A key exchange, and how Libreswan writes and logs it.
const METHODS: [(&str, &str, &str); 4] = [
    ("x25519", "curve25519", "DH31"),
    ("ecp256", "ecp256", "DH19"),
    ("ecp384", "ecp384", "DH20"),
    ("ecp521", "ecp521", "DH21"),
];

/// Encrypted and Authenticated Fragment (RFC 7383, section 2.5).
const FRAGMENT: u64 = 53;

/// Pluto's log line of this engine's signature, and the first octets of the object identifier of
/// its own: ecdsa-with-SHA2 or RSASSA-PSS.
fn signature(algorithm: Algorithm) -> (&'static str, &'static [u8]) {
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    match algorithm {
        Algorithm::EcdsaP256 => ("P-256 ECDSA with", ECDSA),
        Algorithm::EcdsaP384 => ("P-384 ECDSA with", ECDSA),
        Algorithm::Rsa => ("RSASSA-PSS with", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0a]),
        other => panic!("{other:?} is not tried"),
    }
}

pub(super) fn every_key_exchange_and_signature_that_both_have(stage: &Stage, pluto: &Pluto<'_>, algorithm: Algorithm) {
    // Every method with one kind of certificate, each other kind with one method.
    let methods = match algorithm {
        Algorithm::EcdsaP256 => &METHODS[..],
        _ => &METHODS[..1],
    };
    let (signature, identifier) = signature(algorithm);
    // It then asks for cookies, as this engine's end always does here.
    pluto.whack(&["--ddos-busy"]).expect("done");
    let recorded = stage.record();
    let mut expected = Vec::new();
    let mut set_ups = 0;
    for (ours, theirs, logged) in methods {
        let method = transform(4, ours, None).id;
        expected.push(u64::from(method));
        for by in By::BOTH {
            set_ups += 1;
            pluto.load(theirs, &[]);
            let log = pluto.logged(|| {
                let mut driver = pluto.joined(by, pluto.config(ours));
                let established = driver.events.iter().find_map(|event| match event {
                    Event::Established { agreed, proofs, .. } => Some((agreed.first.0, proofs.clone())),
                    _ => None,
                });
                let (made, proofs) = established.expect("established");
                assert_eq!(made, method);
                for proof in proofs {
                    assert!(
                        proof.windows(identifier.len()).any(|part| part == identifier),
                        "{proof:02x?}"
                    );
                }
                pluto.ended(by, &mut driver);
                let failure = if by == By::Us {
                    Failure::Closed
                } else {
                    Failure::Deleted
                };
                assert_eq!(driver.closed(), Some(&failure));
            });
            let group = format!("group={logged}}}");
            let peer = "authenticated peer certificate '@one.test' and ";
            for said in [&group, peer, signature, "xfrm=AES_GCM_16_256"] {
                assert!(log.contains(said), "{said}: {log}");
            }
        }
    }
    let packets = recorded.stop();
    packets.assert_protected(2 * set_ups);
    for by in By::BOTH {
        let mut groups = packets.values(by, ExchangeType::IKE_SA_INIT, "isakmp.key_exchange.dh_group");
        // Each by both, and once more with a cookie.
        groups.dedup();
        assert_eq!(groups, expected, "{by:?}");
        // Half of them it asks for, half of them it sends back.
        let notes = packets.values(by, ExchangeType::IKE_SA_INIT, "isakmp.notify.msgtype");
        let cookies = notes.iter().filter(|kind| **kind == u64::from(NotifyType::COOKIE.0));
        assert!(cookies.count() >= set_ups, "{by:?}");
    }
    // Pluto's IKE_AUTH is longer than one of its fragments; that of this engine is with an RSA key.
    for (by, is_longer) in [(By::Us, matches!(algorithm, Algorithm::Rsa)), (By::Pluto, true)] {
        let payloads = packets.values(by, ExchangeType::IKE_AUTH, "isakmp.nextpayload");
        assert_eq!(payloads.contains(&FRAGMENT), is_longer, "{by:?}");
    }
}

pub(super) fn another_authority_is_refused(stage: &Stage, pluto: &Pluto<'_>) {
    let config = Arc::new(proposing(&Authority::new(Algorithm::EcdsaP256), "x25519"));
    for by in By::BOTH {
        pluto.load("curve25519", &[("retransmit-timeout", "1s")]);
        let mut driver = stage.driver(&config);
        match by {
            By::Us => driver.initiate(Arc::clone(&config)),
            By::Pluto => {
                assert!(pluto.whack_with(&mut driver, "--initiate").is_err());
            }
        }
        driver.until("it is refused", |driver| driver.closed().is_some());
        if by == By::Us {
            let failed = NotifyType::AUTHENTICATION_FAILED;
            assert_eq!(driver.closed(), Some(&Failure::Refused(failed)));
        }
        assert!(driver.installed().is_empty());
        pluto.unload();
        pluto.has_none();
    }
}
