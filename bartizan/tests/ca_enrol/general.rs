//! General messages: the root that takes the place of one's own, and revocation lists, asked for by OpenSSL.

use std::fs;

use super::{Serving, invite};
use crate::authority::Place;

/// A base station with a certificate: `gnb.crt`, `gnb.key`, `gnb.root`, `gnb.extra`.
fn enrolled(options: &str) -> (Place, Serving) {
    let place = Place::with_openssl();
    place.ca_works(&format!("init --dir ca {options}"));
    let serving = Serving::start(&place, "");
    let (reference, secret) = invite(&place, "--name gnb --dns gnb.ran --allow-classical");
    place.openssl_works("genpkey -algorithm ML-DSA-65 -out gnb.key");
    let said = serving.cmp(
        &place,
        &format!(
            "-cmd ir -ref {reference} -secret pass:{secret} -subject /CN=gnb -newkey gnb.key \
             -certout gnb.crt -cacertsout gnb.root -extracertsout gnb.extra"
        ),
    );
    assert_eq!(said.code, 0, "{said:?}");
    (place, serving)
}

/// Arguments with which it authenticates itself. Nothing is between its certificate and a root that
/// issues by itself.
fn gnb(place: &Place) -> &'static str {
    if place.text("gnb.extra").contains("BEGIN") {
        "-cert gnb.crt -key gnb.key -extracerts gnb.extra"
    } else {
        "-cert gnb.crt -key gnb.key"
    }
}

/// Asks for the successor of a root, which is all that the base station trusts; gives what is new, and what shows it.
fn successor(place: &Place, serving: &Serving, root: &str) -> (Option<String>, Option<String>) {
    for file in ["new", "across"] {
        let _ = fs::remove_file(place.path(file));
    }
    let said = serving.cmp(
        place,
        &format!(
            "-cmd genm {} -trusted {root} -infotype rootCaCert -oldwithold {root} -newwithnew new -newwithold across",
            gnb(place)
        ),
    );
    assert_eq!(said.code, 0, "{said:?}");
    let file = |name| {
        fs::read_to_string(place.path(name))
            .ok()
            .filter(|text| !text.is_empty())
    };
    (file("new"), file("across"))
}

#[test]
fn openssl_learns_of_a_root_by_the_one_that_it_trusts() {
    let (place, serving) = enrolled("--algorithm ecdsa-p384 --intermediate --organization Core --country FI");
    assert_eq!(successor(&place, &serving, "gnb.root"), (None, None));
    let said = place.ca_works("rollover publish-root --dir ca --algorithm ml-dsa-87 --days 4000");
    assert!(!said.contains("newWithOld"), "{said}");
    let roots = place.text("ca/root.crt.pem");
    let (new, across) = successor(&place, &serving, "gnb.root");
    let new = new.expect("a successor");
    assert!(roots.ends_with(&new) && !roots.starts_with(&new));
    let subject = |file: &str| place.openssl_works(&format!("x509 -in {file} -noout -subject -pubkey"));
    assert_eq!(subject("new"), subject("across"));
    assert!(across.is_some());
    place.openssl_works("verify -x509_strict -CAfile gnb.root across");
    assert_eq!(place.ca_works("list --dir ca --json").matches("\"serial\"").count(), 5);

    // The certificate that signs answers is still below the previous root.
    fs::write(place.path("both"), place.text("gnb.root") + &new).unwrap();
    place.openssl_works("genpkey -algorithm ML-DSA-65 -out next.key");
    let said = serving.cmp(
        &place,
        &format!(
            "-cmd kur {} -newkey next.key -trusted both -certout gnb.crt -extracertsout gnb.extra",
            gnb(&place)
        ),
    );
    assert_eq!(said.code, 0, "{said:?}");
    fs::rename(place.path("next.key"), place.path("gnb.key")).unwrap();
    place.ca_works("rollover activate-root --dir ca");
    assert_eq!(successor(&place, &serving, "gnb.root").0.as_ref(), Some(&new));
}

/// OpenSSL takes no root that the one it trusts has not signed.
#[test]
fn a_root_that_is_not_signed_by_the_one_of_before_is_given_as_it_is() {
    let (place, serving) = enrolled("--algorithm ml-dsa-65");
    let said = place.ca_works("rollover publish-root --dir ca");
    assert!(said.contains("newWithOld"), "{said}");
    let said = serving.cmp(
        &place,
        &format!(
            "-cmd genm {} -trusted gnb.root -infotype rootCaCert -oldwithold gnb.root -newwithnew new",
            gnb(&place)
        ),
    );
    assert_ne!(said.code, 0);
    assert!(said.err.contains("failed to validate newWithNew"), "{said:?}");
}

/// Neither end that renews took such a root, and its succession went on.
#[test]
fn no_root_is_published_above_an_intermediate_without_the_key_of_the_one_of_before() {
    let (place, _serving) = enrolled("--algorithm ml-dsa-65 --intermediate");
    fs::rename(place.path("ca/root.key.pem"), place.path("kept")).unwrap();
    let said = place.ca("rollover publish-root --dir ca");
    assert!(
        said.code == 2 && said.err.contains("root.key.pem is not here"),
        "{said:?}"
    );
    fs::rename(place.path("kept"), place.path("ca/root.key.pem")).unwrap();
    place.ca_works("rollover publish-root --dir ca");
}

#[test]
fn openssl_gets_revocation_lists_that_are_newer_than_its_own() {
    for options in [
        "--algorithm ml-dsa-65 --intermediate",
        "--algorithm ecdsa-p384 --crl-url http://ca.ran/crl.der",
    ] {
        let (place, serving) = enrolled(options);
        let list = |extra: &str, out: &str| {
            let said = serving.cmp(
                &place,
                &format!(
                    "-cmd genm {} -trusted gnb.root -infotype crlStatusList {extra} -crlout {out}",
                    gnb(&place)
                ),
            );
            assert_eq!(said.code, 0, "{said:?}");
            fs::read(place.path(out)).is_ok_and(|list| !list.is_empty())
        };
        let issuer = if options.contains("--intermediate") {
            "ca/intermediate.crt.pem"
        } else {
            "ca/root.crt.pem"
        };
        assert!(list("-crlcert gnb.crt", "first"));
        let number =
            |file: &str| place.openssl_works(&format!("crl -in {file} -CAfile {issuer} -verify -noout -crlnumber"));
        let before = number("first");
        assert!(!list("-oldcrl first", "same"), "there is none that is newer");
        std::thread::sleep(std::time::Duration::from_secs(1));
        place.ca_works("issue --dir ca --name amf --dns amf.5gc --out amf");
        place.ca_works("revoke --dir ca amf");
        assert!(list("-oldcrl first", "second"), "{options}");
        assert_ne!(number("second"), before);
        // Lists of an unrelated authority.
        place.openssl_works("req -x509 -newkey ED25519 -nodes -keyout other.key -out other.crt -subj /CN=other");
        assert!(!list("-crlcert other.crt", "none"));
    }
}
