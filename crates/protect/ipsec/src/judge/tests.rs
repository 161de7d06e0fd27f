use bartizan_deployment::Exception;
use bartizan_registry::transform_named;
use time::macros::date;

use super::*;
use crate::vici::Section;

fn exchanges(names: &[&str]) -> Vec<Algorithm> {
    let named = names.iter().map(|name| Algorithm {
        code: transform_named(TransformKind::KeyExchange, name).map(|known| known.id),
        name: (*name).to_owned(),
        bits: None,
    });
    named.collect()
}

fn word(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Excepted { .. } => "excepted",
        Verdict::Refused { reason, .. } => reason,
    }
}

fn transition() -> Policy {
    Policy::transition(Exception {
        reason: "the RIC's vendor delivers ML-KEM in May".into(),
        owner: None,
        expires: date!(2027 - 06 - 30),
    })
}

#[test]
fn key_exchanges_are_judged_by_what_was_done_and_not_by_its_order() {
    let (hybrid, transition) = (Policy::hybrid(), transition());
    for (negotiated, of_hybrid, of_transition) in [
        (&["x25519", "mlkem768"][..], "accepted", "accepted"),
        (&["mlkem768", "x25519"], "accepted", "accepted"),
        (&["x25519"], "classical", "excepted"),
        (&["x25519", "ecp256"], "classical", "classical"),
        (&["mlkem1024"], "not-in-policy", "not-in-policy"),
        (&["x25519", "mlkem768", "ecp256"], "not-in-policy", "not-in-policy"),
        (&["x25519", "HQC_128"], "classical", "classical"),
        (&["modp2048"], "classical", "classical"),
    ] {
        let negotiated = exchanges(negotiated);
        assert_eq!(
            word(&of_key_exchanges(&negotiated, &hybrid)),
            of_hybrid,
            "{negotiated:?}"
        );
        assert_eq!(
            word(&of_key_exchanges(&negotiated, &transition)),
            of_transition,
            "{negotiated:?}"
        );
    }
}

fn child(key_exchanges: &[&str], cipher: &str, bits: &str) -> ChildSa {
    let section = Section::new()
        .with("name", "E2")
        .with("uniqueid", "1")
        .with("state", "INSTALLED")
        .with("spi-in", "00000001")
        .with("spi-out", "00000002")
        .with("encr-alg", cipher)
        .with("encr-keysize", bits);
    let mut child = ChildSa::read(&section).unwrap();
    child.key_exchanges = exchanges(key_exchanges);
    child
}

#[test]
fn a_first_child_keyed_from_a_hybrid_ike_sa_is_not_classical_and_a_rekey_needs_its_own() {
    let policy = Policy::hybrid();
    let accepted = Verdict::Accepted;
    let judge =
        |child: &ChildSa, rekeyed, ike: &Verdict| word(&of_child(child, rekeyed, ike, Some(&policy))).to_owned();
    let first = child(&[], "AES_GCM_16", "256");
    assert_eq!(judge(&first, false, &accepted), "accepted");
    assert_eq!(judge(&first, true, &accepted), "no-fresh-keys");
    let classical = refused(Violation::Classical, String::new());
    assert_eq!(judge(&first, false, &classical), "classical");
    assert_eq!(
        judge(&child(&["x25519"], "AES_GCM_16", "256"), true, &accepted),
        "classical"
    );
    assert_eq!(
        judge(&child(&["x25519", "mlkem768"], "AES_GCM_16", "256"), true, &accepted),
        "accepted"
    );
}

#[test]
fn a_cipher_that_the_policy_does_not_name_is_refused() {
    let policy = Policy::hybrid();
    for (cipher, bits, expected) in [
        ("AES_GCM_16", "256", "accepted"),
        ("AES_GCM_16", "128", "cipher"),
        ("NULL", "0", "cipher"),
        ("WHIRLPOOL", "512", "cipher"),
    ] {
        let verdict = of_child(&child(&[], cipher, bits), false, &Verdict::Accepted, Some(&policy));
        assert_eq!(word(&verdict), expected, "{cipher}");
    }
}

#[test]
fn an_sa_of_ah_or_without_a_cipher_is_not_protection_whatever_keyed_it() {
    let policy = Policy::hybrid();
    let judge = |child: &ChildSa| of_child(child, false, &Verdict::Accepted, Some(&policy));
    let mut sa = child(&["x25519", "mlkem768"], "AES_GCM_16", "256");
    sa.protocol = Some("ESP".to_owned());
    assert_eq!(word(&judge(&sa)), "accepted");
    // charon says of an SA of AH what authenticates it, and no cipher.
    sa.encryption = None;
    assert_eq!(word(&judge(&sa)), "not-encrypted");
    sa.protocol = Some("AH".to_owned());
    let Verdict::Refused { detail, .. } = judge(&sa) else {
        panic!("it is refused");
    };
    assert!(
        detail.starts_with("it has no cipher: its packets can be read"),
        "{detail}"
    );
    // Were one to name a cipher, what wraps its packets would still be AH.
    sa.encryption = child(&[], "AES_GCM_16", "256").encryption;
    assert_eq!(word(&judge(&sa)), "not-encrypted");
    // An earlier violation is reported first.
    let classical = refused(Violation::Classical, String::new());
    sa.key_exchanges.clear();
    assert_eq!(word(&of_child(&sa, false, &classical, Some(&policy))), "classical");
}

#[test]
fn a_connection_of_nobody_is_refused() {
    let verdict = of_child(&child(&[], "AES_GCM_16", "256"), false, &Verdict::Accepted, None);
    assert_eq!(word(&verdict), "unknown-connection");
}

#[test]
fn who_can_forge_an_identity_once_there_is_a_quantum_computer_is_distinguished_from_the_keys() {
    let forgery = |peer: &str| {
        authentication(None, Some(peer.into()), Default::default())
            .unwrap()
            .forgery
    };
    assert_eq!(forgery("ECDSA_WITH_SHA256_DER"), Forgery::PossibleLater);
    assert_eq!(forgery("ED25519"), Forgery::PossibleLater);
    assert_eq!(forgery("RSA_EMSA_PKCS1_SHA2_256"), Forgery::PossibleLater);
    assert_eq!(forgery("pre-shared key"), Forgery::AsSecretAsTheKey);
    assert_eq!(forgery("EAP"), Forgery::Unknown);
    assert_eq!(authentication(None, None, Default::default()), None);
}

#[test]
fn a_post_quantum_signature_under_a_classical_certificate_can_be_forged_by_its_authoritys_key() {
    let forgery = |chain: &[&str]| {
        let chain = chain.iter().map(|name| (*name).to_owned()).collect();
        let proven = authentication(None, Some("ML_DSA_65".into()), [Vec::new(), chain]);
        proven.unwrap().forgery
    };
    assert_eq!(forgery(&["id-ml-dsa-65", "id-ml-dsa-87"]), Forgery::NotKnown);
    for chain in [
        &["id-ml-dsa-65", "ecdsa-with-SHA256"][..],
        &["sha256WithRSAEncryption"],
        &["1.2.3.4", "id-ml-dsa-65"],
    ] {
        assert_eq!(forgery(chain), Forgery::PossibleLater, "{chain:?}");
    }
    assert_eq!(forgery(&[]), Forgery::Unknown, "nothing is known of its certificates");
}

#[test]
fn every_violation_is_in_the_page_that_documents_them() {
    let page = include_str!("../../../../../docs/ledger.md");
    for violation in Violation::ALL {
        assert!(
            page.contains(&format!("`{violation}`")),
            "docs/ledger.md lacks {violation}"
        );
    }
}

/// A PPK that the file requires since the IKE_SA was set up was not missed.
#[test]
fn an_ike_sa_without_the_ppk_that_the_file_requires_by_now_is_refused() {
    let sa = |ppk: &str| {
        let section = Section::new()
            .with("uniqueid", "1")
            .with("state", "ESTABLISHED")
            .with("encr-alg", "AES_GCM_16")
            .with("encr-keysize", "256")
            .with("ppk", ppk);
        let mut sa = IkeSa::read("cu--ric", &section).unwrap();
        sa.key_exchanges = exchanges(&["x25519", "mlkem768"]);
        sa
    };
    let expected = |requires_ppk| {
        crate::watch::Expectations::new(vec![crate::watch::Expectation {
            connection: "cu--ric".to_owned(),
            peer: "ric".to_owned(),
            policy: Policy::hybrid(),
            ends: None,
            requires_ppk,
            decides: true,
            reauthentication: None,
            children: Vec::new(),
        }])
    };
    for (requires, ppk, verdict) in [
        (false, "no", "accepted"),
        (true, "yes", "accepted"),
        (true, "no", "no-ppk"),
    ] {
        let judged = expected(requires).judge_ike(&sa(ppk), date!(2026 - 11 - 29));
        assert_eq!(word(&judged), verdict, "{requires} {ppk}");
    }
}
