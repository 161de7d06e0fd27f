//! Certificates, keys, roots and lists that a deployment file names.

use super::*;

#[test]
fn a_network_with_its_files_in_order_is_clean() {
    let place = Place::with_files("ml-dsa-65");
    assert_eq!(place.findings(""), Vec::<String>::new());
    for node in ["nrf", "amf"] {
        assert_eq!(place.findings(&format!("--node {node}")), Vec::<String>::new());
    }
    let said = place.works("check core.yaml --node nrf");
    assert!(said.out.ends_with("no findings\n"), "{}", said.out);
    assert!(
        said.out.contains("id-ml-dsa-65, signed by id-ml-dsa-65, until "),
        "{}",
        said.out
    );
    assert!(said.out.contains("dns:nrf"), "{}", said.out);
}

#[test]
fn each_missing_file_is_found() {
    let place = Place::with_files("ml-dsa-65");
    std::fs::remove_file(place.path("out/nrf.key.pem")).unwrap();
    std::fs::remove_file(place.path("out/ca.crl.pem")).unwrap();
    let missing = "No such file or directory (os error 2)";
    let expected = [
        format!("out/nrf.key.pem: {missing}"),
        format!("out/ca.crl.pem: {missing}"),
    ];
    assert_eq!(place.findings("--node nrf"), expected);
    // The command as it can be typed: without a name to carry, it is refused.
    let said = place.bartizan("check core.yaml --node nrf");
    assert!(
        said.out
            .contains("`bartizan ca issue --name nrf --dns nrf --out out` writes certificate, key and root; `bartizan ca crl --file out/ca.crl.pem` the lists"),
        "{}",
        said.out
    );
}

#[test]
fn a_key_of_another_node_is_found() {
    let place = Place::with_files("ml-dsa-65");
    std::fs::copy(place.path("out/amf.key.pem"), place.path("out/nrf.key.pem")).unwrap();
    let expected = ["out/nrf.key.pem: the key is not the one of the certificate in out/nrf.crt.pem"];
    assert_eq!(place.findings("--node nrf"), expected);
}

#[test]
fn a_certificate_without_the_node_s_names_is_found_with_the_command_to_issue_one() {
    let place = Place::with_files("ml-dsa-65");
    place.write(&NETWORK.replace(
        "address: 10.0.0.2\n",
        "address: 10.0.0.2\n    names: { dns: [nrf.5gc], ip: [10.0.0.2] }\n",
    ));
    let expected = "out/nrf.crt.pem: the certificate carries dns:nrf, and the deployment knows this node by dns:nrf.5gc, ip:10.0.0.2";
    assert_eq!(place.findings("--node nrf"), [expected]);
    let said = place.bartizan("check core.yaml --node nrf");
    assert!(
        said.out
            .contains("`bartizan ca issue --dns nrf.5gc --ip 10.0.0.2 --name nrf --out out --force`"),
        "{}",
        said.out
    );
}

#[test]
fn a_certificate_that_does_not_fit_the_policy_is_found() {
    let place = Place::with_files("ml-dsa-65");
    place.write(&format!("policy: cnsa2\n{NETWORK}"));
    let found = place.findings("--node nrf");
    assert_eq!(
        found,
        ["out/nrf.crt.pem: its key signs by mldsa65, and SBI to amf accepts mldsa87 (policy cnsa2)"]
    );
}

#[test]
fn an_exception_is_shown_with_the_peers_it_admits_or_found_to_admit_no_classical_one() {
    let place = Place::with_files("ml-dsa-65");
    let until = |day: &str| format!("policy: {{ profile: transition, reason: old SMF, expires: {day} }}\n");
    place.write(&format!("{}{NETWORK}", until("2099-12-31")));
    let found = place.findings("--node nrf");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("lets classical handshakes through"), "{found:?}");
    assert_eq!(
        found[1],
        "SBI nrf -- amf: its exception admits no classical peer: nrf signs by mldsa65, which no classical peer verifies"
    );
    // A second certificate by a second authority, with the commands of the first.
    place.works("ca init --dir old-ca --algorithm ecdsa-p256");
    place.works("ca issue --dir old-ca --name nrf --dns nrf --out old");
    place.works("ca renew --dir old-ca nrf --out old --force");
    let roots = ["out/ca.crt.pem", "old/ca.crt.pem"].map(|file| std::fs::read(place.path(file)).unwrap());
    std::fs::write(place.path("out/ca.crt.pem"), roots.concat()).unwrap();
    let two = NETWORK.replace(
        "    certificate: out/nrf.crt.pem\n    key: out/nrf.key.pem\n",
        "    certificates:\n      - { certificate: out/nrf.crt.pem, key: out/nrf.key.pem }\n      \
         - { certificate: old/nrf.crt.pem, key: old/nrf.key.pem }\n",
    );
    place.write(&format!("{}{two}", until("2099-12-31")));
    assert_eq!(place.findings("--node nrf").len(), 1);
    let said = place.bartizan("check core.yaml --node nrf").out;
    let admitted = "exception        SBI amf, until 2099-12-31: a peer that has a group of X25519MLKEM768, x25519, secp256r1, \
                    secp384r1, verifies mldsa65, ecdsa_secp256r1_sha256 and signs by one of mldsa65, ecdsa_secp256r1_sha256";
    assert!(said.contains(admitted) && !said.contains("not in use"), "{said}");
    // Once it has ended the second certificate is of no use and in no way.
    place.write(&format!("{}{two}", until("2020-12-31")));
    let found = place.findings("--node nrf");
    assert!(
        found.len() == 1 && found[0].contains("its exception ended"),
        "{found:?}"
    );
    let said = place.bartizan("check core.yaml --node nrf").out;
    assert_eq!(
        said.matches("not in use: no policy accepts it today").count(),
        1,
        "{said}"
    );
    assert!(!said.contains("verifies mldsa65"), "{said}");
    std::fs::remove_file(place.path("old/nrf.key.pem")).unwrap();
    assert!(place.findings("--node nrf")[1].starts_with("old/nrf.key.pem: No such file"));
}

#[test]
fn a_certificate_that_ends_soon_is_found() {
    let place = Place::with_files("ml-dsa-65");
    place.works("ca issue --dir ca --name nrf --dns nrf --days 3 --out soon");
    for file in ["nrf.crt.pem", "nrf.key.pem"] {
        std::fs::copy(place.path("soon").join(file), place.path("out").join(file)).unwrap();
    }
    let found = place.findings("--node nrf");
    assert!(
        found.len() == 1 && found[0].starts_with("out/nrf.crt.pem: ends with 2"),
        "{found:?}"
    );
    assert!(
        !place
            .bartizan("check core.yaml --node nrf")
            .out
            .contains("associations")
    );
    // Associations end with it too.
    let gateway = NETWORK
        .replace("function: NRF", "function: gNB")
        .replace("127.0.0.1:8000 }", "127.0.0.1:8000, path: sctp }")
        .replace("to: nrf }", "to: nrf, path: sctp }")
        .replace(
            "kind: SBI, between: [amf, nrf], with: sidecar",
            "kind: N2, between: [amf, nrf], with: gateway",
        );
    place.write(&gateway);
    let said = place.bartizan("check core.yaml --node nrf");
    assert!(
        said.out.contains("\n  associations     end with 2"),
        "{}{}",
        said.out,
        said.err
    );
}

#[test]
fn a_revocation_list_that_is_older_than_what_the_node_remembers_is_found() {
    let place = Place::with_files("ml-dsa-65");
    let older = std::fs::read(place.path("out/ca.crl.pem")).unwrap();
    place.list();
    std::fs::copy(place.path("out/ca.crl.pem"), place.path("nrf.tls.crl.pem")).unwrap();
    place.write(&NETWORK.replace("ca.crl.pem }", "ca.crl.pem, state: . }"));
    assert_eq!(place.findings("--node nrf"), Vec::<String>::new());
    std::fs::write(place.path("out/ca.crl.pem"), older).unwrap();
    let found = place.findings("--node nrf");
    assert!(
        found.len() == 1 && found[0].starts_with("out/ca.crl.pem: holds an older revocation list of "),
        "{found:?}"
    );
}

#[test]
fn own_trust_files_that_keep_handshakes_from_succeeding_are_found() {
    let place = Place::with_files("ml-dsa-65");
    let shown: serde_json::Value = serde_json::from_str(&place.works("ca show --dir ca nrf --json").out).unwrap();
    let first = shown["serial"].as_str().unwrap().to_owned();
    place.works("ca init --dir other --algorithm ml-dsa-65");
    place.works("ca issue --dir other --name odd --dns odd --out other --crl");
    let copy = |from: &str, to: &str| {
        std::fs::copy(place.path(from), place.path(to)).unwrap();
    };
    let one = || {
        let found = place.findings("--node nrf");
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };

    copy("other/ca.crl.pem", "out/ca.crl.pem");
    assert!(one().starts_with("out/ca.crl.pem: is of "), "{}", one());
    place.write(&NETWORK.replace(", crl: out/ca.crl.pem", ""));
    assert!(one().starts_with("trust.crl: names no revocation list"), "{}", one());
    place.write(NETWORK);
    place.list();

    copy("out/ca.crt.pem", "kept");
    copy("other/ca.crt.pem", "out/ca.crt.pem");
    let found = place.findings("--node nrf");
    assert!(
        found
            .iter()
            .any(|found| found.starts_with("out/ca.crt.pem: holds no root that the chain in out/nrf.crt.pem leads to")),
        "{found:?}"
    );
    let leaf = std::fs::read_to_string(place.path("other/odd.crt.pem")).unwrap();
    std::fs::write(
        place.path("out/ca.crt.pem"),
        std::fs::read_to_string(place.path("kept")).unwrap() + &leaf,
    )
    .unwrap();
    assert!(one().contains("odd is no authority's certificate"), "{}", one());
    copy("kept", "out/ca.crt.pem");

    for file in ["nrf.crt.pem", "nrf.key.pem"] {
        copy(&format!("out/{file}"), &format!("kept.{file}"));
    }
    let now = SystemTime::now();
    let not_before = now + Duration::from_secs(3 * 86_400);
    let not_after = not_before + Duration::from_secs(30 * 86_400);
    let leaf = Leaf::new("nrf").and_then(|leaf| leaf.dns("nrf")).unwrap();
    let leaf = leaf.lifetime(Lifetime::Between { not_before, not_after });
    let mut authority = Authority::open(&place.path("ca"), None, now).unwrap();
    let issued = authority.issue(&leaf, now).unwrap();
    std::fs::write(place.path("out/nrf.crt.pem"), issued.chain_pem()).unwrap();
    std::fs::write(place.path("out/nrf.key.pem"), issued.key_pem().unwrap()).unwrap();
    drop(authority);
    assert!(one().starts_with("out/nrf.crt.pem: begins with 2"), "{}", one());
    for file in ["nrf.crt.pem", "nrf.key.pem"] {
        copy(&format!("kept.{file}"), &format!("out/{file}"));
    }

    place.works(&format!("ca revoke --dir ca {first}"));
    place.list();
    assert!(
        one().contains("has revoked this node's own certificate, in out/nrf.crt.pem"),
        "{}",
        one()
    );
}
