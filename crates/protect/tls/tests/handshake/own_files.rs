//! Flaws of a node's own files although each can be read.

use std::time::SystemTime;

use bartizan_deployment::{Deployment, Policy, PostQuantum, Revocation, USABLE_SIGNATURES};
use bartizan_tls::{Credentials, Flaw, Peer, Weight, peers};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ML_DSA_65};
use time::{Duration, OffsetDateTime};

use crate::authority::{Authority, Wanted, dns};

fn wanted() -> Wanted {
    Wanted::named([dns("nrf")])
}

fn later() -> OffsetDateTime {
    OffsetDateTime::now_utc() + Duration::days(7)
}

/// Two peers whose policies ask for this.
fn two_peers(revocations: [Revocation; 2]) -> Vec<Peer> {
    let text = "nodes: { nrf: { function: NRF, address: 10.0.0.1 }, amf: { function: AMF, address: 10.0.0.2 },
                smf: { function: SMF, address: 10.0.0.3 } }
interfaces: [{ kind: SBI, between: [nrf, amf], with: sidecar }, { kind: SBI, between: [nrf, smf], with: sidecar }]";
    let deployment = Deployment::parse(text, "test", std::path::Path::new("/")).unwrap();
    let with = |(peer, revocation): (Peer, _)| Peer {
        policy: Policy {
            revocation,
            post_quantum: PostQuantum::Forbid,
            chain_signatures: USABLE_SIGNATURES.to_vec(),
            ..peer.policy
        },
        ..peer
    };
    peers(&deployment, "nrf")
        .into_iter()
        .zip(revocations)
        .map(with)
        .collect()
}

fn flaws(credentials: &Credentials) -> Vec<Flaw> {
    credentials.flaws(&two_peers([Revocation::IfPresent; 2]), SystemTime::now())
}

/// The only one, its file and what follows from it.
fn one(flaws: Vec<Flaw>) -> (String, Weight, String) {
    assert_eq!(flaws.len(), 1, "{flaws:?}");
    assert!(!flaws[0].hint.is_empty());
    (flaws[0].place.clone(), flaws[0].weight, flaws[0].cause.clone())
}

#[test]
fn files_in_order_have_no_flaw_with_an_intermediate_of_another_algorithm_too() {
    let root = Authority::root("root", &PKCS_ECDSA_P256_SHA256);
    let below = root.intermediate("below", &PKCS_ML_DSA_65);
    let lists = root.list(&[], later()) + &below.list(&[], later());
    let credentials = below.credentials(&below.issue(wanted()), Some(&lists));
    assert_eq!(flaws(&credentials), []);
}

#[test]
fn a_list_of_another_authority_says_nothing() {
    let (root, other) = (
        Authority::root("root", &PKCS_ML_DSA_65),
        Authority::root("other", &PKCS_ML_DSA_65),
    );
    let credentials = root.credentials(&root.issue(wanted()), Some(&other.list(&[], later())));
    let (place, weight, cause) = one(flaws(&credentials));
    assert_eq!((place.as_str(), weight), ("crl", Weight::Warning));
    assert!(
        cause.contains("CN=other") && cause.contains("it says nothing"),
        "{cause}"
    );
    // If every policy requires a list, no peer is accepted by it; if only one does, the other's
    // handshakes succeed.
    for (revocations, expected) in [
        ([Revocation::Require; 2], Weight::Fatal),
        ([Revocation::Require, Revocation::IfPresent], Weight::Warning),
    ] {
        let found = credentials.flaws(&two_peers(revocations), SystemTime::now());
        assert_eq!(one(found).1, expected);
    }
}

#[test]
fn a_list_that_is_forged_or_missing_or_late_is_found() {
    let (root, forger) = (
        Authority::root("root", &PKCS_ML_DSA_65),
        Authority::root("root", &PKCS_ML_DSA_65),
    );
    let issued = root.issue(wanted());
    let of = |list: Option<&str>| root.credentials(&issued, list);
    let (_, weight, cause) = one(flaws(&of(Some(&forger.list(&[], later())))));
    assert_eq!(weight, Weight::Fatal);
    assert!(cause.contains("has not signed"), "{cause}");
    let (place, weight, _) = one(flaws(&of(None)));
    assert_eq!((place.as_str(), weight), ("trust.crl", Weight::Warning));
    let late = root.list(&[], OffsetDateTime::now_utc() - Duration::minutes(1));
    let (_, weight, cause) = one(flaws(&of(Some(&late))));
    assert_eq!(weight, Weight::Warning);
    assert!(cause.starts_with("was due to be replaced by "), "{cause}");
    let required = of(Some(&late)).flaws(&two_peers([Revocation::Require; 2]), SystemTime::now());
    assert_eq!(one(required).1, Weight::Fatal);
}

/// After a rollover the authority let the former issuer's list end, and nothing said so.
#[test]
fn a_late_list_of_an_issuer_of_before_is_found() {
    let root = Authority::root("root", &PKCS_ECDSA_P256_SHA256);
    let [former, below] = ["former", "below"].map(|name| root.intermediate(name, &PKCS_ML_DSA_65));
    let late = OffsetDateTime::now_utc() - Duration::minutes(1);
    let lists = root.list(&[], later()) + &below.list(&[], later()) + &former.list(&[], late);
    let credentials = below.credentials(&below.issue(wanted()), Some(&lists));
    for revocation in [Revocation::IfPresent, Revocation::Require] {
        let mut found = credentials.flaws(&two_peers([revocation; 2]), SystemTime::now());
        let unknown = found.pop().expect("two flaws");
        assert!(
            unknown.cause.contains("CN=former, whose certificate is not at hand"),
            "{unknown:?}"
        );
        let (_, weight, cause) = one(found);
        assert_eq!(weight, Weight::Warning);
        assert!(
            cause.starts_with("was due to be replaced by ") && cause.contains("CN=former"),
            "{cause}"
        );
    }
}

#[test]
fn the_own_certificate_on_the_list_just_read_is_fatal() {
    let root = Authority::root("root", &PKCS_ML_DSA_65);
    let issued = root.issue(wanted());
    let credentials = root.credentials(&issued, Some(&root.list(&[&issued], later())));
    let (place, weight, cause) = one(flaws(&credentials));
    assert_eq!((place.as_str(), weight), ("crl", Weight::Fatal));
    assert!(cause.contains("has revoked this node's own certificate"), "{cause}");
}

#[test]
fn roots_that_do_not_verify_the_own_chain_are_fatal_among_equals() {
    // One of another name, and one that took the name of the right one.
    for name in ["other", "root"] {
        let (root, other) = (
            Authority::root("root", &PKCS_ML_DSA_65),
            Authority::root(name, &PKCS_ML_DSA_65),
        );
        let issued = root.issue(wanted());
        let list = other.list(&[], later());
        let credentials = other.credentials(&issued, Some(&list));
        let (place, weight, cause) = one(flaws(&credentials));
        assert_eq!((place.as_str(), weight), ("roots", Weight::FatalAmongEquals), "{cause}");
    }
}

#[test]
fn a_leaf_among_the_roots_is_not_trusted_as_an_authority() {
    let root = Authority::root("root", &PKCS_ML_DSA_65);
    let issued = root.issue(wanted());
    let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
    let both = format!("{}{}", issued.certificate, root.trusted());
    let list = root.list(&[], later());
    let credentials = Credentials::from_pem(certificate, key, both.as_bytes(), Some(list.as_bytes())).unwrap();
    let (place, weight, cause) = one(flaws(&credentials));
    assert_eq!((place.as_str(), weight), ("roots", Weight::Warning));
    assert!(cause.contains("CN=leaf"), "{cause}");
    let error = Credentials::from_pem(certificate, key, certificate, None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("holds no certificate of an authority, only CN=leaf"),
        "{error}"
    );
}

#[test]
fn dates_are_judged_on_both_sides_and_those_of_roots() {
    let now = OffsetDateTime::now_utc();
    let root = Authority::root_until("root", &PKCS_ML_DSA_65, now + Duration::days(400));
    let issued = root.issue(Wanted {
        not_before: now + Duration::days(1),
        not_after: now + Duration::days(300),
        ..wanted()
    });
    let list = root.list(&[], now + Duration::days(800));
    let credentials = root.credentials(&issued, Some(&list));
    let at = |days: i64| {
        credentials.flaws(
            &two_peers([Revocation::IfPresent; 2]),
            (now + Duration::days(days)).into(),
        )
    };
    let (_, weight, cause) = one(at(0));
    assert_eq!(weight, Weight::Fatal);
    assert!(cause.starts_with("begins with "), "{cause}");
    assert_eq!(at(2), []);
    assert!(one(at(301)).2.starts_with("ended with "));
    let of_roots = |days: i64| {
        let found = at(days).into_iter().find(|flaw| flaw.place == "roots");
        found.map(|flaw| (flaw.cause, flaw.hint)).unwrap_or_default()
    };
    let (cause, hint) = of_roots(500);
    assert!(cause.starts_with("every root has ended, the last with "), "{cause}");
    assert!(hint.starts_with("check the clock of this host; "), "{hint}");
    // A clock that is behind is no reason to roll the roots over.
    let (cause, hint) = of_roots(-20 * 365);
    assert!(
        cause.starts_with("no root is valid yet, the next begins with "),
        "{cause}"
    );
    assert_eq!(
        hint,
        "correct the clock of this host: it is behind that of the authority"
    );
}
