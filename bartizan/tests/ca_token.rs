//! The authority's keys in a PKCS#11 token: SoftHSM has the keys, OpenSSL 3.5 of the lab root
//! judges what they signed, and OpenSC what the token shows of them.

mod authority;

use std::fs;

use authority::nss::Nss;
use authority::softhsm::{MODULE, PIN};
use authority::{Place, Said};

const ROOT: &str = "pkcs11:token=ca;object=root?module-name=softhsm2";
const INTERMEDIATE: &str = "pkcs11:token=ca;object=intermediate?module-name=softhsm2";

fn place() -> Place {
    let place = Place::with_openssl();
    place.token("ca");
    place
}

fn refused(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    for word in words {
        assert!(said.err.contains(word), "{word} is not in {said:?}");
    }
    assert!(!said.err.contains("panicked"), "{said:?}");
}

/// Issues, revokes and lists, and has OpenSSL verify all of it.
fn openssl_takes_what_is_signed(place: &Place, dir: &str) {
    let out = format!("{dir}-out");
    place.token_works(&format!("issue --dir {dir} --name nrf --dns nrf.5gc --out {out}"));
    place.token_works(&format!("issue --dir {dir} --name amf --dns amf.5gc --out {out}"));
    place.token_works(&format!("revoke --dir {dir} amf"));
    place.token_works(&format!("renew --dir {dir} nrf --out {out} --force"));
    place.token_works(&format!("crl --dir {dir} --file {out}/all.crl.pem"));
    let root = format!("{dir}/root.crt.pem");
    place.openssl_works(&format!("verify -x509_strict -CAfile {root} {root}"));
    let verify = |name: &str| {
        place.openssl(&format!(
            "verify -x509_strict -crl_check_all -CRLfile {out}/all.crl.pem -CAfile {root} -untrusted {out}/{name}.crt.pem \
             {out}/{name}.crt.pem"
        ))
    };
    assert_eq!(verify("nrf").code, 0, "{:?}", verify("nrf"));
    refused(&verify("amf"), 2, &["certificate revoked"]);
    // The file has the lists of every issuer; each is verified by its own.
    let lists = place.text(&format!("{out}/all.crl.pem"));
    let issuers = [format!("{dir}/intermediate.crt.pem"), root];
    let issuers: Vec<&String> = issuers.iter().filter(|file| place.path(file).exists()).collect();
    let mut blocks: Vec<&str> = lists.split_inclusive("-----END X509 CRL-----\n").collect();
    // Certificates of intermediates follow, by which the next lists are recognised.
    blocks.retain(|block| block.contains("-----BEGIN X509 CRL-----"));
    assert_eq!(blocks.len(), issuers.len());
    for (list, issuer) in blocks.iter().zip(issuers) {
        fs::write(place.path("one.crl"), list).unwrap();
        place.openssl_works(&format!("crl -in one.crl -CAfile {issuer} -noout -verify"));
    }
}

#[test]
fn openssl_verifies_what_a_token_signs_by_every_algorithm_that_it_has() {
    let place = place();
    for (algorithm, signed) in [
        ("ecdsa-p256", "ecdsa-with-SHA256"),
        ("ecdsa-p384", "ecdsa-with-SHA384"),
        ("ed25519", "ED25519"),
    ] {
        place.token_works(&format!(
            "init --dir {algorithm} --algorithm {algorithm} --root-key pkcs11:token=ca;object={algorithm}?module-path={MODULE}"
        ));
        openssl_takes_what_is_signed(&place, algorithm);
        let text = place.openssl_works(&format!("x509 -in {algorithm}/root.crt.pem -noout -text"));
        assert!(text.contains(signed), "{text}");
        let file = place.text(&format!("{algorithm}/root.key.pem"));
        assert!(
            file.starts_with("pkcs11:token=ca;") && !file.contains("PRIVATE"),
            "{file}"
        );
    }
}

#[test]
fn keys_of_files_and_tokens_and_of_both_kinds_make_one_hierarchy() {
    let place = place();
    // Both in the token.
    place.token_works(&format!(
        "init --dir both --algorithm ecdsa-p384 --intermediate --root-key {ROOT} --intermediate-key {INTERMEDIATE}"
    ));
    openssl_takes_what_is_signed(&place, "both");
    // A root in the token above ML-DSA in an encrypted file.
    fs::write(place.path("passphrase"), "correct horse\n").unwrap();
    let mixed = "pkcs11:token=ca;object=mixed?module-name=softhsm2";
    let passphrase = "--passphrase-file passphrase";
    place.token_works(&format!(
        "init --dir mixed --algorithm ecdsa-p384 --intermediate ml-dsa-65 --root-key {mixed} {passphrase}"
    ));
    assert!(place.text("mixed/intermediate.key.pem").contains("ENCRYPTED"));
    place.token_works(&format!(
        "issue --dir mixed --name nrf --dns nrf.5gc --out mixed-out {passphrase}"
    ));
    place.openssl_works(
        "verify -x509_strict -CAfile mixed/root.crt.pem -untrusted mixed-out/nrf.crt.pem mixed-out/nrf.crt.pem",
    );
    place.token_works(&format!("revoke --dir mixed intermediate {passphrase}"));
    // ML-DSA offline above a key in the token.
    place.token_works(
        "init --dir offline --algorithm ml-dsa-87 --intermediate ecdsa-p256 \
         --intermediate-key pkcs11:token=ca;object=daily?module-name=softhsm2",
    );
    fs::rename(place.path("offline/root.key.pem"), place.path("away.pem")).unwrap();
    openssl_takes_what_is_signed(&place, "offline");
}

#[test]
fn keys_in_a_token_take_the_place_of_others() {
    let place = place();
    let key = |object: &str| format!("--key pkcs11:token=ca;object={object}?module-name=softhsm2");
    place.token_works(&format!(
        "init --dir ca --algorithm ecdsa-p384 --intermediate --root-key {ROOT} --intermediate-key {INTERMEDIATE}"
    ));
    place.token_works("issue --dir ca --name nrf --dns nrf.5gc --out out");
    // The key that is there already is not taken by mistake.
    let same = place.ca_by_pin(&format!("rollover intermediate --dir ca --key {INTERMEDIATE}"), PIN);
    refused(&same, 2, &["give another object in the URI"]);
    // Nor does a key leave the token unawares.
    let leaves = place.ca_by_pin("rollover intermediate --dir ca", PIN);
    refused(&leaves, 64, &["the next one would be in a file", "--in-file"]);
    place.token_works(&format!("rollover intermediate --dir ca {}", key("second")));
    place.token_works(&format!("rollover publish-root --dir ca {}", key("next-root")));
    place.token_works("renew --dir ca nrf --out out");
    place.token_works(&format!("rollover activate-root --dir ca {}", key("third")));
    place.token_works("renew --dir ca nrf --out out");
    place.token_works("rollover retire-roots --dir ca");
    openssl_takes_what_is_signed(&place, "ca");
    let keys = fs::read_dir(place.path("ca")).unwrap().filter_map(|file| {
        let path = file.unwrap().path();
        path.to_str()?
            .ends_with(".key.pem")
            .then(|| fs::read_to_string(&path).unwrap())
    });
    let keys: Vec<String> = keys.collect();
    assert_eq!(keys.len(), 5, "{keys:?}");
    assert!(keys.iter().all(|key| key.starts_with("pkcs11:token=ca;")), "{keys:?}");
}

/// The list of the root stays as it is while its token is somewhere else, as it does without the root's key file.
#[test]
fn the_token_of_the_root_may_be_away_from_day_to_day() {
    let place = place();
    place.token_works(&format!(
        "init --dir ca --algorithm ecdsa-p256 --intermediate ml-dsa-44 --root-key {ROOT}"
    ));
    fs::rename(place.path("tokens"), place.path("away")).unwrap();
    fs::create_dir(place.path("tokens")).unwrap();
    let without = |arguments: &str| place.ca_by_pin(arguments, PIN);
    assert_eq!(without("issue --dir ca --name nrf --dns nrf.5gc --out out").code, 0);
    assert_eq!(without("crl --dir ca").code, 0);
    refused(
        &without("revoke --dir ca intermediate"),
        2,
        &["no such token; present: none"],
    );
}

#[test]
fn a_key_that_the_token_made_does_not_leave_it() {
    let place = place();
    place.token_works(&format!("init --dir ca --algorithm ecdsa-p256 --root-key {ROOT}"));
    let shown = place.pkcs11_tool("--list-objects --type privkey");
    assert!(
        shown.out.contains("never extractable") && shown.out.contains("always sensitive"),
        "{shown:?}"
    );
    // OpenSC ends with 0 all the same.
    place.pkcs11_tool("--read-object --type privkey --label root --output-file stolen");
    assert!(!place.path("stolen").exists());
}

#[test]
fn a_key_is_never_made_over_another_and_taken_only_where_that_is_asked_for() {
    let place = place();
    place.token_works(&format!("init --dir one --algorithm ecdsa-p256 --root-key {ROOT}"));
    let said = place.ca_by_pin(&format!("init --dir two --algorithm ecdsa-p256 --root-key {ROOT}"), PIN);
    refused(
        &said,
        2,
        &["has a private key of this name already", "hint: --existing-keys"],
    );
    assert!(!place.path("two/ca.sqlite").exists());
    let taken = format!("--root-key {ROOT} --existing-keys");
    refused(
        &place.ca_by_pin(&format!("init --dir two --algorithm ed25519 {taken}"), PIN),
        2,
        &["its key is ecdsa-p256, and ed25519 is asked for"],
    );
    place.token_works(&format!("init --dir two {taken}"));
    let spki = |dir: &str| place.openssl_works(&format!("x509 -in {dir}/root.crt.pem -noout -pubkey"));
    assert_eq!(spki("one"), spki("two"));
    // A key of another program: OpenSC names the curve of Ed25519 by a text.
    let made = place.pkcs11_tool("--keypairgen --key-type EC:edwards25519 --label foreign --id 4f --usage-sign");
    assert_eq!(made.code, 0, "{made:?}");
    place.token_works(
        "init --dir foreign --existing-keys --root-key pkcs11:token=ca;object=foreign?module-name=softhsm2",
    );
    openssl_takes_what_is_signed(&place, "foreign");
    let made = place.pkcs11_tool("--keypairgen --key-type rsa:2048 --label rsa --id 50 --usage-sign");
    assert_eq!(made.code, 0, "{made:?}");
    let said = place.ca_by_pin(
        "init --dir rsa --existing-keys --root-key pkcs11:token=ca;object=rsa?module-name=softhsm2",
        PIN,
    );
    refused(&said, 2, &["CKK_RSA", "signs no certificates here"]);
    let said = place.ca_by_pin(
        &format!(
            "init --dir same --existing-keys --root-key {ROOT} --intermediate ecdsa-p256 --intermediate-key {ROOT}"
        ),
        PIN,
    );
    refused(&said, 64, &["the same key"]);
}

#[test]
fn what_a_token_or_its_module_lacks_is_named() {
    let place = place();
    let init = |uri: &str| place.ca_by_pin(&format!("init --dir ca --algorithm ecdsa-p256 --root-key {uri}"), PIN);
    let said = place.ca_by_pin(&format!("init --dir ca --algorithm ml-dsa-65 --root-key {ROOT}"), PIN);
    refused(
        &said,
        2,
        &[
            "token ca (module /usr/lib/",
            "softhsm/libsofthsm2.so, SoftHSM ",
            "has no ml-dsa-65; it has ecdsa-p256, ecdsa-p384, ed25519",
            "hint: keep an ML-DSA root offline in a file",
            "hint: or a classical root in the token",
        ],
    );
    refused(
        &init("pkcs11:token=other;object=a?module-name=softhsm2"),
        2,
        &["no such token; present: ca"],
    );
    refused(
        &init("pkcs11:object=a?module-name=nothing"),
        2,
        &["module nothing: no file of this name"],
    );
    refused(
        &init("pkcs11:object=a?module-path=/none.so"),
        2,
        &["/none.so: no such file"],
    );
    refused(&init("pkcs11:object=a?module-path=/etc/passwd"), 2, &["/etc/passwd"]);
    // A library that is no module.
    let libc = fs::canonicalize("/lib/x86_64-linux-gnu/libm.so.6");
    if let Ok(library) = libc {
        refused(
            &init(&format!("pkcs11:object=a?module-path={}", library.display())),
            2,
            &["C_GetFunctionList"],
        );
    }
    refused(&init("pkcs11:id=%01?module-name=softhsm2"), 2, &["needs a label"]);
    place.token("ca");
    refused(&init(ROOT), 2, &["several tokens fit: ca (serial", "hint: add serial="]);
    assert!(!place.path("ca/ca.sqlite").exists());
    let said = init("pkcs11:object=a?module-name=softhsm2&pin-value=987654");
    refused(&said, 64, &["pin-value would keep the PIN in a file that is no secret"]);
    let said = place.ca("init --dir ca --algorithm ed25519 --existing-keys");
    refused(&said, 64, &["--existing-keys without a key in a token"]);
    let said = place.ca(&format!(
        "init --dir ca --algorithm ecdsa-p256 --encrypt --root-key {ROOT}"
    ));
    refused(&said, 64, &["every key is in a token"]);
}

#[test]
fn a_pin_comes_from_the_environment_a_file_or_the_uri_and_is_tried_once() {
    let place = place();
    place.token_works(&format!("init --dir ca --algorithm ecdsa-p256 --root-key {ROOT}"));
    let crl = |options: &str| place.ca_by_pin(&format!("crl --dir ca {options}"), "99999");
    refused(&crl(""), 2, &["token ca: wrong PIN", "hint: it was tried once"]);
    fs::write(place.path("pin"), format!("{PIN}\n")).unwrap();
    assert_eq!(crl("--pin-file pin").code, 0);
    refused(&place.ca("crl --dir ca"), 2, &["cannot ask for the PIN", "--pin-file"]);
    // By the URI, before any other.
    let key = place.text("ca/root.key.pem");
    let source = format!("{}&pin-source=file:{}\n", key.trim(), place.path("pin").display());
    fs::write(place.path("ca/root.key.pem"), source).unwrap();
    assert_eq!(crl("").code, 0);
    fs::write(place.path("pin"), "\n").unwrap();
    refused(&crl(""), 2, &["its first line is no PIN"]);
    fs::write(place.path("ca/root.key.pem"), format!("{}&pin-value={PIN}", key.trim())).unwrap();
    let said = crl("");
    refused(&said, 2, &["root.key.pem: PKCS#11 URI: pin-value", "hint: pin-source="]);
    assert!(!said.err.contains(PIN), "{said:?}");
}

#[test]
fn a_key_that_is_not_the_certificates_or_not_one_signs_nothing() {
    let place = place();
    place.token_works(&format!("init --dir ca --algorithm ecdsa-p256 --root-key {ROOT}"));
    place.token_works(
        "init --dir other --algorithm ecdsa-p256 --root-key pkcs11:token=ca;object=other?module-name=softhsm2",
    );
    let crl = |uri: &str| {
        fs::write(place.path("ca/root.key.pem"), uri).unwrap();
        place.ca_by_pin("crl --dir ca", PIN)
    };
    let other = place.text("other/root.key.pem");
    refused(
        &crl(&other),
        2,
        &["not the certificate's: its signature does not verify"],
    );
    refused(
        &crl("pkcs11:token=ca;object=none?module-name=softhsm2"),
        2,
        &["token ca has no such private key; present: ", "other", "root"],
    );
    let made = place.pkcs11_tool("--keypairgen --key-type EC:prime256v1 --label root --id 4f --usage-sign");
    assert_eq!(made.code, 0, "{made:?}");
    refused(
        &crl(ROOT),
        2,
        &["several private keys that fit, with the ids", "%4F", "hint: add id="],
    );
    let made = place.pkcs11_tool("--keypairgen --key-type EC:secp384r1 --label third --id 50 --usage-sign");
    assert_eq!(made.code, 0, "{made:?}");
    refused(
        &crl("pkcs11:token=ca;object=third?module-name=softhsm2"),
        2,
        &["its key is ecdsa-p384, and the certificate's ecdsa-p256"],
    );
}

/// SoftHSM has no ML-DSA; the token of NSS has all three.
#[test]
fn openssl_verifies_ml_dsa_that_a_token_signs() {
    let place = Place::with_openssl();
    let nss = Nss::new(&place);
    for algorithm in ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] {
        let (root, own) = (
            nss.uri(&format!("{algorithm}-root")),
            nss.uri(&format!("{algorithm}-own")),
        );
        nss.works(&format!(
            "init --dir {algorithm} --algorithm {algorithm} --root-key {root} --intermediate --intermediate-key {own}"
        ));
        let out = format!("{algorithm}-out");
        nss.works(&format!("issue --dir {algorithm} --name nrf --dns nrf.5gc --out {out}"));
        nss.works(&format!("issue --dir {algorithm} --name amf --dns amf.5gc --out {out}"));
        nss.works(&format!("revoke --dir {algorithm} amf"));
        nss.works(&format!("crl --dir {algorithm} --file all.crl"));
        let verify = |name: &str| {
            place.openssl(&format!(
                "verify -x509_strict -crl_check_all -CRLfile all.crl -CAfile {algorithm}/root.crt.pem \
                 -untrusted {out}/{name}.crt.pem {out}/{name}.crt.pem"
            ))
        };
        assert_eq!(verify("nrf").code, 0, "{algorithm}: {:?}", verify("nrf"));
        refused(&verify("amf"), 2, &["certificate revoked"]);
        let text = place.openssl_works(&format!("x509 -in {algorithm}/root.crt.pem -noout -text"));
        assert!(text.contains(&algorithm.to_uppercase()), "{text}");
        // The key that is there is found by its kind, with its public key.
        nss.works(&format!(
            "init --dir again-{algorithm} --root-key {root} --existing-keys"
        ));
        let key = |dir: &str| place.openssl_works(&format!("x509 -in {dir}/root.crt.pem -noout -pubkey"));
        assert_eq!(key(algorithm), key(&format!("again-{algorithm}")));
    }
}
