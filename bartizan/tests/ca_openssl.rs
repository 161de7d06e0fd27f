//! `bartizan ca` judged by OpenSSL 3.5.

mod authority;

use authority::{ALGORITHMS, Place};

const NRF: &str = "--name nrf --dns nrf.5gc --ip 10.0.0.2 --uri urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64";

/// Encodings of an ML-DSA key (RFC 9881) that OpenSSL can write.
const ENCODINGS: [&str; 3] = ["seed-only", "priv-only", "seed-priv"];

fn verify(place: &Place, out: &str, options: &str) -> authority::Said {
    place.openssl(&format!(
        "verify -x509_strict {options} -CAfile {out}/ca.crt.pem -untrusted {out}/nrf.crt.pem {out}/nrf.crt.pem"
    ))
}

#[test]
fn every_algorithm_verifies_strictly_with_and_without_an_intermediate() {
    let place = Place::with_openssl();
    for algorithm in ALGORITHMS {
        for (kind, option) in [("root", ""), ("chain", "--intermediate")] {
            let (dir, out) = (format!("ca-{algorithm}-{kind}"), format!("out-{algorithm}-{kind}"));
            place.ca_works(&format!("init --dir {dir} --algorithm {algorithm} {option}"));
            place.ca_works(&format!("issue --dir {dir} {NRF} --out {out}"));
            let certificates = place
                .text(&format!("{out}/nrf.crt.pem"))
                .matches("BEGIN CERTIFICATE")
                .count();
            assert_eq!(certificates, if kind == "chain" { 2 } else { 1 }, "{algorithm} {kind}");
            for purpose in [
                "-purpose sslserver -verify_hostname nrf.5gc",
                "-purpose sslserver -verify_ip 10.0.0.2",
                "-purpose sslclient",
            ] {
                let said = verify(&place, &out, purpose);
                assert_eq!(said.code, 0, "{algorithm} {kind} {purpose}: {said:?}");
            }
            let wrong = verify(&place, &out, "-verify_hostname amf.5gc");
            assert_ne!(wrong.code, 0, "a name that is not in the certificate");
        }
    }
}

#[test]
fn an_intermediate_may_be_of_another_algorithm_than_root_and_leaf() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-87 --intermediate ml-dsa-44");
    place.ca_works(&format!("issue --dir ca {NRF} --key-algorithm ecdsa-p384 --out out"));
    assert_eq!(verify(&place, "out", "").code, 0);
    let text = place.openssl_works("x509 -in out/nrf.crt.pem -noout -text");
    assert!(text.contains("Signature Algorithm: ML-DSA-44"), "{text}");
    assert!(text.contains("ASN1 OID: secp384r1"), "{text}");
}

#[test]
fn openssl_reads_every_key_and_finds_it_in_the_certificate() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    for algorithm in ALGORITHMS {
        let out = format!("out-{algorithm}");
        place.ca_works(&format!("issue --dir ca {NRF} --key-algorithm {algorithm} --out {out}"));
        let of_key = place.openssl_works(&format!("pkey -in {out}/nrf.key.pem -pubout"));
        let of_certificate = place.openssl_works(&format!("x509 -in {out}/nrf.crt.pem -noout -pubkey"));
        assert_eq!(of_key, of_certificate, "{algorithm}");
    }
}

#[test]
fn the_profile_is_that_of_a_network_function() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --country SE --organization 5gc.mnc001.mcc001.3gppnetwork.org --crl-url http://crl.5gc/ca.crl");
    place.ca_works(&format!("issue --dir ca {NRF} --nf-type NRF --out out"));
    let names = "subjectAltName,keyUsage,extendedKeyUsage,basicConstraints,crlDistributionPoints";
    let text = place.openssl_works(&format!("x509 -in out/nrf.crt.pem -noout -subject -ext {names}"));
    for line in [
        "subject=C=SE, O=5gc.mnc001.mcc001.3gppnetwork.org, CN=nrf",
        "X509v3 Subject Alternative Name: critical",
        "    DNS:nrf.5gc, IP Address:10.0.0.2, URI:urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64",
        "X509v3 Key Usage: critical",
        "    Digital Signature",
        "X509v3 Extended Key Usage: ",
        "    TLS Web Server Authentication, TLS Web Client Authentication",
        "X509v3 Basic Constraints: critical",
        "    CA:FALSE",
        "      URI:http://crl.5gc/ca.crl",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line:?} is missing in\n{text}"
        );
    }
    // RFC 9310: SEQUENCE OF IA5String, not critical; OpenSSL has no name for the extension.
    let parsed = place.openssl_works("asn1parse -in out/nrf.crt.pem");
    let extension: Vec<&str> = parsed
        .lines()
        .skip_while(|line| !line.contains(":1.3.6.1.5.5.7.1.34"))
        .collect();
    assert!(
        extension[1].contains("OCTET STRING      [HEX DUMP]:300516034E5246"),
        "{extension:?}"
    );
}

#[test]
fn the_profile_of_an_ipsec_endpoint_is_for_ike_and_for_nothing_else() {
    let place = Place::with_openssl();
    for algorithm in ["ecdsa-p256", "ecdsa-p384", "ed25519"] {
        let (dir, out) = (format!("ca-{algorithm}"), format!("out-{algorithm}"));
        place.ca_works(&format!("init --dir {dir} --algorithm {algorithm} --intermediate"));
        place.ca_works(&format!("issue --dir {dir} --profile ipsec {NRF} --out {out}"));
        assert_eq!(verify(&place, &out, "-verify_hostname nrf.5gc").code, 0, "{algorithm}");
        for purpose in ["sslserver", "sslclient"] {
            assert_ne!(
                verify(&place, &out, &format!("-purpose {purpose}")).code,
                0,
                "{algorithm} {purpose}"
            );
        }
        let names = "subjectAltName,keyUsage,extendedKeyUsage,basicConstraints";
        let text = place.openssl_works(&format!("x509 -in {out}/nrf.crt.pem -noout -ext {names}"));
        for line in [
            "    DNS:nrf.5gc, IP Address:10.0.0.2, URI:urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64",
            "    Digital Signature",
            "    ipsec Internet Key Exchange",
            "    CA:FALSE",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line:?} is missing in\n{text}"
            );
        }
    }
}

#[test]
fn an_authoritys_certificates_may_sign_and_nothing_else() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    for (role, length) in [("root", 1), ("intermediate", 0)] {
        let text = place.openssl_works(&format!(
            "x509 -in ca/{role}.crt.pem -noout -ext keyUsage,basicConstraints,extendedKeyUsage"
        ));
        assert!(text.contains("Certificate Sign, CRL Sign\n"), "{text}");
        assert!(text.contains(&format!("CA:TRUE, pathlen:{length}\n")), "{text}");
        assert!(!text.contains("Digital Signature"), "{text}");
    }
}

#[test]
fn key_identifiers_lead_from_leaf_to_root() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-44 --intermediate");
    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    let identifier = |file: &str, extension: &str| {
        let text = place.openssl_works(&format!("x509 -in {file} -noout -ext {extension}"));
        text.lines().nth(1).expect("a value").trim().to_owned()
    };
    let (subject, authority) = ("subjectKeyIdentifier", "authorityKeyIdentifier");
    assert_eq!(
        identifier("out/nrf.crt.pem", authority),
        identifier("ca/intermediate.crt.pem", subject)
    );
    assert_eq!(
        identifier("ca/intermediate.crt.pem", authority),
        identifier("ca/root.crt.pem", subject)
    );
}

#[test]
fn a_revoked_leaf_is_refused() {
    let place = Place::with_openssl();
    for algorithm in ALGORITHMS {
        let (dir, out) = (format!("ca-{algorithm}"), format!("out-{algorithm}"));
        place.ca_works(&format!("init --dir {dir} --algorithm {algorithm}"));
        place.ca_works(&format!("issue --dir {dir} {NRF} --out {out} --crl"));
        let check = format!("-crl_check -CRLfile {dir}/crl.pem");
        assert_eq!(verify(&place, &out, &check).code, 0, "{algorithm}");
        place.ca_works(&format!("revoke --dir {dir} nrf --reason key-compromise"));
        let said = verify(&place, &out, &check);
        assert_ne!(said.code, 0, "{algorithm}");
        assert!(said.err.contains("certificate revoked"), "{said:?}");
        // The copy next to the certificate is the older list.
        let older = verify(&place, &out, &format!("-crl_check -CRLfile {out}/ca.crl.pem"));
        assert_eq!(older.code, 0, "{algorithm}");
        let list = place.openssl_works(&format!(
            "crl -in {dir}/crl.pem -CAfile {dir}/root.crt.pem -noout -text"
        ));
        assert!(list.contains("Key Compromise"), "{list}");
    }
}

#[test]
fn a_revoked_intermediate_is_refused_by_the_roots_list() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    let check = "-crl_check_all -CRLfile ca/crl.pem";
    let said = verify(&place, "out", check);
    assert_eq!(said.code, 0, "{said:?}");
    place.ca_works("revoke --dir ca intermediate --reason ca-compromise");
    let said = verify(&place, "out", check);
    assert_ne!(said.code, 0);
    assert!(said.err.contains("certificate revoked"), "{said:?}");
    let refused = place.ca(&format!("issue --dir ca {NRF} --out elsewhere"));
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("this issuer is revoked"), "{refused:?}");
}

/// A request of OpenSSL for a key it made; the name of its file.
fn request(place: &Place, name: &str, key: &str) -> String {
    place.openssl_works(&format!("genpkey -out {name}.key {key}"));
    place.openssl_works(&format!(
        "req -new -key {name}.key -subj /CN={name} -addext subjectAltName=DNS:{name}.5gc,IP:10.0.0.9 -out {name}.csr"
    ));
    format!("{name}.csr")
}

#[test]
fn requests_of_openssl_are_signed_for_every_key_and_encoding() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    let mut keys: Vec<(String, String)> = vec![
        ("p256".into(), "-algorithm EC -pkeyopt group:P-256".into()),
        ("p384".into(), "-algorithm EC -pkeyopt group:P-384".into()),
        ("ed25519".into(), "-algorithm ED25519".into()),
    ];
    for level in ["44", "65", "87"] {
        for encoding in ENCODINGS {
            keys.push((
                format!("m{level}-{encoding}"),
                format!("-algorithm ML-DSA-{level} -provparam ml-dsa.output_formats={encoding}"),
            ));
        }
    }
    for (name, key) in keys {
        let csr = request(&place, &name, &key);
        place.ca_works(&format!("sign --dir ca --csr {csr} --accept-san --out out"));
        let said = place.openssl(&format!(
            "verify -x509_strict -verify_hostname {name}.5gc -verify_ip 10.0.0.9 -CAfile out/ca.crt.pem -untrusted out/{name}.crt.pem out/{name}.crt.pem"
        ));
        assert_eq!(said.code, 0, "{name}: {said:?}");
        let of_key = place.openssl_works(&format!("pkey -in {name}.key -pubout"));
        assert_eq!(
            of_key,
            place.openssl_works(&format!("x509 -in out/{name}.crt.pem -noout -pubkey")),
            "{name}"
        );
        assert!(
            !place.path(&format!("out/{name}.key.pem")).exists(),
            "the requester's key stays with it"
        );
    }
}

#[test]
fn a_request_in_der_is_signed_with_the_names_given_alone() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-44");
    let csr = request(&place, "amf", "-algorithm ML-DSA-44");
    place.openssl_works(&format!("req -in {csr} -outform DER -out amf.der"));
    let nameless = place.ca("sign --dir ca --csr amf.der --out out");
    assert_eq!(nameless.code, 64, "{nameless:?}");
    assert!(
        nameless.err.contains("--accept-san") && nameless.err.contains("DNS:amf.5gc"),
        "{nameless:?}"
    );
    place.ca_works("sign --dir ca --csr amf.der --name amf2 --dns other.5gc --out out");
    let text = place.openssl_works("x509 -in out/amf2.crt.pem -noout -subject -ext subjectAltName");
    assert!(
        text.contains("CN=amf2") && text.contains("    DNS:other.5gc\n"),
        "{text}"
    );
}

#[test]
fn a_request_to_be_an_authority_gets_a_network_functions_certificate() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-44");
    place.openssl_works("genpkey -algorithm ML-DSA-44 -out amf.key");
    place.openssl_works("req -new -key amf.key -subj /CN=amf -addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign -out amf.csr");
    place.ca_works("sign --dir ca --csr amf.csr --dns amf.5gc --out out");
    let text = place.openssl_works("x509 -in out/amf.crt.pem -noout -ext basicConstraints,keyUsage");
    assert!(
        text.contains("CA:FALSE") && !text.contains("Certificate Sign"),
        "{text}"
    );
}

#[test]
fn keys_that_are_not_certified_are_refused_by_name() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-44");
    for (name, key, message) in [
        (
            "rsa",
            "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
            "type RSA are not certified",
        ),
        (
            "p521",
            "-algorithm EC -pkeyopt group:P-521",
            "another curve than P-256 and P-384",
        ),
        ("ed448", "-algorithm ED448", "type Ed448"),
    ] {
        let csr = request(&place, name, key);
        let said = place.ca(&format!("sign --dir ca --csr {csr} --accept-san --out out"));
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(message), "{said:?}");
    }
    assert!(!place.path("out").exists());
}

#[test]
fn a_request_changed_on_its_way_is_refused() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-44");
    let csr = request(&place, "amf", "-algorithm ML-DSA-65");
    place.openssl_works(&format!("req -in {csr} -outform DER -out amf.der"));
    let mut der = std::fs::read(place.path("amf.der")).expect("the request");
    let at = der
        .windows(7)
        .position(|window| window == b"amf.5gc")
        .expect("its name");
    der[at..at + 3].copy_from_slice(b"nrf");
    std::fs::write(place.path("amf.der"), der).expect("written");
    let said = place.ca("sign --dir ca --csr amf.der --accept-san --out out");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("does not verify under its own key"), "{said:?}");
}

#[test]
fn an_authority_is_made_from_a_key_of_openssl_in_every_encoding_of_rfc_9881() {
    let place = Place::with_openssl();
    for level in ["44", "65", "87"] {
        for encoding in ENCODINGS {
            let name = format!("{level}-{encoding}");
            place.openssl_works(&format!(
                "genpkey -algorithm ML-DSA-{level} -provparam ml-dsa.output_formats={encoding} -out {name}.key"
            ));
            place.ca_works(&format!("init --dir ca-{name} --root-key {name}.key"));
            // Issuing opens the key that was written: a seed wherever a seed is known.
            place.ca_works(&format!("issue --dir ca-{name} {NRF} --out out-{name}"));
            assert_eq!(verify(&place, &format!("out-{name}"), "").code, 0, "{name}");
            let written = place.text(&format!("ca-{name}/root.key.pem"));
            assert_eq!(written.len() < 200, encoding != "priv-only", "{name}");
        }
    }
}

#[test]
fn bare_keys_are_refused_with_the_way_out() {
    let place = Place::with_openssl();
    for (encoding, what) in [("bare-seed", "bare seed"), ("bare-priv", "bare expanded key")] {
        place.openssl_works(&format!(
            "genpkey -algorithm ML-DSA-65 -provparam ml-dsa.output_formats={encoding} -out {encoding}.key"
        ));
        let said = place.ca(&format!("init --dir ca --root-key {encoding}.key"));
        assert_eq!(said.code, 2, "{said:?}");
        assert!(
            said.err.contains(what) && said.err.contains("hint: openssl pkey"),
            "{said:?}"
        );
        // The way out leads out.
        let hint = said
            .err
            .lines()
            .find_map(|line| line.strip_prefix("hint: openssl "))
            .expect("a hint");
        let (command, _) = hint.split_once(" writes").expect("a command in it");
        let command = command
            .replace("KEY", &format!("{encoding}.key"))
            .replace("NEW", "new.key");
        place.openssl_works(&command);
        place.ca_works(&format!("init --dir ca-{encoding} --root-key new.key"));
    }
    assert!(!place.path("ca").exists(), "nothing was made");
}

#[test]
fn openssl_opens_our_encrypted_key_and_we_open_one_of_openssl() {
    let place = Place::with_openssl();
    for file in ["pass", "same"] {
        std::fs::write(place.path(file), "correct horse\n").expect("written");
    }
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate --passphrase-file pass");
    for role in ["root", "intermediate"] {
        let of_key = place.openssl_works(&format!("pkey -in ca/{role}.key.pem -passin file:pass -pubout"));
        assert_eq!(
            of_key,
            place.openssl_works(&format!("x509 -in ca/{role}.crt.pem -noout -pubkey"))
        );
        let wrong = place.openssl(&format!("pkey -in ca/{role}.key.pem -passin pass:wrong-one -noout"));
        assert_ne!(wrong.code, 0);
    }
    // OpenSSL's own encryption of the same key, its default form "both" inside.
    place
        .openssl_works("pkey -in ca/intermediate.key.pem -passin file:pass -aes-256-cbc -passout file:same -out other");
    std::fs::rename(place.path("other"), place.path("ca/intermediate.key.pem")).expect("moved");
    place.ca_works(&format!("issue --dir ca {NRF} --passphrase-file pass --out out"));
    assert_eq!(verify(&place, "out", "").code, 0);
}

#[test]
fn a_renewed_certificate_verifies_next_to_the_old_one() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    std::fs::copy(place.path("out/nrf.crt.pem"), place.path("old.crt.pem")).expect("copied");
    place.ca_works("renew --dir ca nrf --out out --revoke-old");
    let check = "-crl_check -CRLfile ca/crl.pem";
    let said = verify(&place, "out", check);
    assert_eq!(said.code, 0, "{said:?}");
    let old = place.openssl(&format!(
        "verify -x509_strict {check} -CAfile out/ca.crt.pem -untrusted old.crt.pem old.crt.pem"
    ));
    assert!(old.err.contains("certificate revoked"), "{old:?}");
    let of_key = place.openssl_works("pkey -in out/nrf.key.pem -pubout");
    assert_eq!(of_key, place.openssl_works("x509 -in out/nrf.crt.pem -noout -pubkey"));
}
