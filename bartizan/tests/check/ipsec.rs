//! IPsec links: what their policy, their engines and their nodes' files leave to be said.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// E2 with a policy and settings of its own, and nothing missing.
fn e2(policy: &str, link: &str) -> Place {
    Place::new(&format!(
        "\
policy: {policy}
trust: {{ roots: ca.crt.pem }}
nodes:
  cu: {{ function: O-CU-CP, address: 10.200.0.1, ipsec: {{ certificate: cu.crt.pem, key: cu.key.pem }} }}
  ric: {{ function: near-RT RIC, address: 10.200.0.2, ipsec: {{ certificate: ric.crt.pem, key: ric.key.pem }} }}
interfaces:
  - {{ kind: E2, between: [cu, ric], with: ipsec, ipsec: {link} }}
"
    ))
}

#[test]
fn a_hybrid_e2_link_is_clean_and_its_classical_authentication_is_reported() {
    let place = e2(
        "hybrid",
        "{ inner: { cu: [10.78.1.1], ric: [10.78.2.1] }, start: trap }",
    );
    assert_eq!(place.findings(""), Vec::<String>::new());
    let said = place.works("check core.yaml");
    insta::assert_snapshot!(timeless(&place, &said.out));
    let link = &first_interface(&place)["ipsec"];
    assert_eq!(link["key_exchanges"], serde_json::json!(["x25519-ke1_mlkem768"]));
    assert_eq!(link["protects"], serde_json::json!(["sctp/36421 at ric"]));
    assert_eq!(link["start"], "trap");
}

/// The same with certificates of both nodes.
fn e2_with_files() -> Place {
    let place = e2("hybrid", "{}");
    let network = std::fs::read_to_string(place.path("core.yaml")).unwrap();
    place.write(&network.replace("{ roots: ca.crt.pem }", "{ roots: ca.crt.pem, crl: ca.crl.pem }"));
    place.works("ca init --dir ca --algorithm ecdsa-p256");
    for node in ["cu", "ric"] {
        place.works(&format!(
            "ca issue --dir ca --profile ipsec --name {node} --dns {node} --out ."
        ));
    }
    place.works("ca crl --dir ca --file ca.crl.pem");
    place
}

#[test]
fn the_files_of_a_node_with_ipsec_alone_are_looked_at() {
    let place = e2_with_files();
    assert_eq!(place.findings("--node cu"), [""; 0]);
    let said = place.works("check core.yaml --node cu");
    assert!(said.out.contains("IPsec files of cu\n  certificate "), "{}", said.out);
    assert!(said.out.contains("ecdsa-with-SHA256"), "{}", said.out);

    let one = |place: &Place| {
        let findings = place.findings("--node cu");
        let [finding] = findings.as_slice() else {
            panic!("{findings:?}")
        };
        finding.clone()
    };
    let copy = |from: &str, to: &str| {
        std::fs::copy(place.path(from), place.path(to)).unwrap();
    };
    // Another node's, with its key.
    for file in ["crt", "key"] {
        copy(&format!("cu.{file}.pem"), &format!("kept.{file}.pem"));
        copy(&format!("ric.{file}.pem"), &format!("cu.{file}.pem"));
    }
    assert!(
        one(&place).ends_with("peers know cu as cu: it is another node's"),
        "{}",
        one(&place)
    );
    // Its own, with another's key.
    copy("kept.crt.pem", "cu.crt.pem");
    assert!(
        one(&place).contains("cu.key.pem: is not the key of "),
        "{}",
        one(&place)
    );
    copy("kept.key.pem", "cu.key.pem");

    // A certificate of another authority.
    place.works("ca init --dir other --algorithm ecdsa-p256");
    copy("ca.crt.pem", "kept.root.pem");
    copy("other/root.crt.pem", "ca.crt.pem");
    let findings = place.findings("--node cu");
    assert!(
        findings[0].contains("ca.crt.pem: holds no root that the chain of "),
        "{findings:?}"
    );
    assert!(
        findings[1].contains("is of no authority that is trusted here"),
        "{findings:?}"
    );
    copy("kept.root.pem", "ca.crt.pem");

    // Garbage, and nothing.
    for file in ["cu.crt.pem", "cu.key.pem", "ca.crt.pem", "ca.crl.pem"] {
        copy(file, "kept");
        std::fs::write(place.path(file), "garbage").unwrap();
        assert!(one(&place).contains(&format!("{file}: holds no ")), "{}", one(&place));
        std::fs::remove_file(place.path(file)).unwrap();
        assert!(
            one(&place).contains(&format!("{file}: No such file")),
            "{}",
            one(&place)
        );
        copy("kept", file);
    }
    assert_eq!(place.findings("--node cu"), [""; 0]);

    // A pre-shared key of the link is read too, and never shown.
    let network = std::fs::read_to_string(place.path("core.yaml")).unwrap();
    let network = network.replace("ipsec: {} }", "ipsec: { ppk: { id: e2-2026, file: e2.ppk } } }");
    place.write(&network.replacen("key: cu.key.pem }", "key: cu.key.pem, offload: crypto }", 1));
    assert!(one(&place).contains("e2.ppk: No such file"), "{}", one(&place));
    let secret = "0f1e".repeat(16);
    std::fs::write(place.path("e2.ppk"), &secret).unwrap();
    let mode = |mode| std::fs::set_permissions(place.path("e2.ppk"), Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    assert!(one(&place).contains("e2.ppk: has mode 644"), "{}", one(&place));
    mode(0o600);
    assert_eq!(place.findings("--node cu"), [""; 0]);
    let said = place.works("check core.yaml --node cu").out;
    let ends = |field: &str, with: &str| said.lines().any(|line| line.starts_with(field) && line.ends_with(with));
    assert!(
        ends("  pre-shared key ", "e2.ppk; a peer without it is refused"),
        "{said}"
    );
    assert!(ends("  ESP ", "network card encrypt where it can"), "{said}");
    assert!(!said.contains(&secret[..8]));
}

#[test]
fn a_key_as_openssl_writes_it_belongs_to_its_certificate() {
    let place = e2_with_files();
    // SEC 1 (RFC 5915), what `openssl ecparam -genkey` and `openssl ec` write; charon reads it.
    let traditional = Command::new("openssl")
        .args(["ec", "-in", "cu.key.pem", "-out", "cu.key.pem"])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    assert!(traditional.status.success(), "{traditional:?}");
    let text = std::fs::read_to_string(place.path("cu.key.pem")).unwrap();
    assert!(text.starts_with("-----BEGIN EC PRIVATE KEY-----"), "{text}");
    assert_eq!(place.findings("--node cu"), [""; 0]);
}

#[test]
fn what_an_e2_link_protects_less_than_it_seems_to_is_found() {
    let about = "E2 cu -- ric: ";
    for (policy, link, expected) in [
        (
            "cnsa2",
            "{}",
            "asks for post-quantum signatures in IKE_AUTH, and no released strongSwan makes or checks them",
        ),
        (
            "{ profile: cnsa2, ipsec: { authentication: classical-accepted } }",
            "{}",
            "accepts classical signatures, and CNSA 2.0 asks for ML-DSA-87",
        ),
        (
            "{ profile: classical, lab: true }",
            "{}",
            "is classical: what is recorded today is read by a quantum computer later",
        ),
        (
            "{ lab: true, ipsec: { key-exchanges: [mlkem512] } }",
            "{}",
            "may negotiate mlkem512, of NIST category 1",
        ),
        (
            "hybrid",
            "{ ike-fragments: false }",
            "lets IKE fragment nothing, and the additional exchange of x25519-ke1_mlkem768 may exceed a packet",
        ),
        (
            "{ profile: transition, reason: old CU, expires: 2020-12-31 }",
            "{}",
            "its exception ended with 2020-12-31: classical handshakes are refused since (old CU)",
        ),
        (
            "hybrid",
            "{ selectors: [{ protocol: sctp, port: 36421, at: cu }] }",
            "its `selectors` leave out sctp/36421 at ric: these packets leave as they are",
        ),
        (
            "hybrid",
            "{ replay-window: 0, esn: false }",
            "has no replay protection: a packet that is recorded can be sent again",
        ),
        (
            "{ ipsec: { breach: report } }",
            "{}",
            "leaves an SA that breaks the policy: it is reported alone",
        ),
    ] {
        assert_eq!(
            e2(policy, link).findings(""),
            [format!("{about}{expected}")],
            "{policy} {link}"
        );
    }
}

/// Findings about a link between nodes of these engines, without those about the files of `a`, which are not there.
fn with_engines(engines: [&str; 2], policy: &str, link: &str) -> Vec<String> {
    let node = |name: &str, number: u8, engine: &str| {
        format!(
            "  {name}: {{ function: gNB, address: 10.0.0.{number}, ipsec: {{ engine: {engine}, certificate: none.pem, key: none.key }} }}\n"
        )
    };
    let place = Place::new(&format!(
        "policy: {policy}\ntrust: {{ roots: ca.crt.pem }}\nnodes:\n{}{}interfaces:\n  \
         - {{ kind: E2, between: [a, b], with: ipsec, ipsec: {{ {link} }} }}\n",
        node("a", 1, engines[0]),
        node("b", 2, engines[1])
    ));
    let mut findings = place.findings("");
    findings.retain(|finding| finding.starts_with("E2 "));
    findings
}

#[test]
fn what_each_engine_cannot_do_is_found_and_ml_dsa_is_where_both_ends_have_it() {
    let one_way = "selectors: [{ protocol: sctp, port: 36421, at: b }]";
    let none =
        "E2 a -- b: asks for post-quantum signatures in IKE_AUTH, and no released strongSwan makes or checks them";
    for engines in [
        ["strongswan"; 2],
        ["bartizan", "strongswan"],
        ["strongswan", "bartizan"],
    ] {
        assert_eq!(with_engines(engines, "cnsa2", one_way), [none], "{engines:?}");
    }
    let both = ["bartizan"; 2];
    assert_eq!(with_engines(both, "cnsa2", one_way), Vec::<String>::new());
    // Bartizan's own engine always has a replay window.
    let replayed = "replay-window: 0, esn: false";
    assert_eq!(with_engines(both, "hybrid", replayed), Vec::<String>::new());
    // The first packet may set a link up, and a port may be at either end.
    assert_eq!(with_engines(both, "cnsa2", "start: trap"), Vec::<String>::new());
    let copied = format!("{one_way}, copy-dscp: both");
    let cause = "asks for `copy-dscp: both`, and the engine of Bartizan copies the DSCP of packets to the tunnel alone";
    assert_eq!(
        with_engines(both, "hybrid", &copied),
        [format!("E2 a -- b at a: {cause}"), format!("E2 a -- b at b: {cause}")]
    );
    assert_eq!(
        with_engines(["strongswan", "bartizan"], "hybrid", &copied),
        [format!("E2 a -- b at b: {cause}")]
    );
}

#[test]
fn after_an_exception_no_classical_key_exchange_is_in_effect() {
    let exchanges = |expires: &str| {
        let policy = format!("{{ profile: transition, reason: old CU, expires: {expires} }}");
        first_interface(&e2(&policy, "{}"))["ipsec"]["key_exchanges"].clone()
    };
    assert_eq!(exchanges("2020-12-31"), serde_json::json!(["x25519-ke1_mlkem768"]));
    let before = serde_json::json!(["x25519-ke1_mlkem768", "x25519", "ecp256", "ecp384"]);
    assert_eq!(exchanges("2099-12-31"), before);
}

#[test]
fn a_first_message_that_exceeds_a_packet_is_reported() {
    let notes = |link: &str| {
        e2("{ ipsec: { key-exchanges: [mlkem1024] } }", link)
            .works("check core.yaml")
            .out
    };
    assert!(
        notes("{}").contains("IKE_SA_INIT with mlkem1024 takes 1688 octets or more, and a packet has 1500"),
        "{}",
        notes("{}")
    );
    assert!(!notes("{ mtu: 9000 }").contains("IKE_SA_INIT"));
}

#[test]
fn the_example_of_the_page_on_ipsec_is_clean() {
    let page = include_str!("../../../docs/ipsec.md");
    let example = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let place = Place::new(example);
    assert_eq!(place.findings(""), Vec::<String>::new());
    let link = &first_interface(&place)["ipsec"];
    assert_eq!(link["protects"], serde_json::json!(["sctp/36421 at ric"]));
}

#[test]
fn the_example_of_links_behind_nat_is_clean_and_a_nat_that_the_file_does_not_name_is_reported() {
    let page = include_str!("../../../docs/ipsec.md");
    let example = page.split("```yaml\n").nth(2).unwrap().split("```").next().unwrap();
    let place = Place::new(example);
    assert_eq!(place.findings(""), Vec::<String>::new());
    let ends = &first_interface(&place)["ipsec"]["ends"];
    assert_eq!(
        [
            &ends[0]["outer"],
            &ends[0]["external"],
            &ends[1]["outer"],
            &ends[1]["external"]
        ],
        ["192.168.10.2", "any", "10.0.0.5", "203.0.113.7"]
    );
    let said = place.works("check core.yaml").out;
    assert!(said.contains("ric at 10.0.0.5, reached at 203.0.113.7, for "), "{said}");
    let silent = "a NAT between them is not in the file";
    assert!(!said.contains(silent), "{said}");
    let unnamed = example
        .replace(", external: any", "")
        .replace(", external: 203.0.113.7", "")
        .replace("address: 10.0.0.5", "address: 203.0.113.7")
        .replacen("address: 192.168.10.2", "address: 192.168.10.3", 1);
    let said = Place::new(&unnamed).works("check core.yaml").out;
    assert!(said.contains(silent), "{said}");
}

#[test]
fn a_swanctl_conf_is_read_with_its_includes_and_the_line_of_a_classical_choice_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("conf.d")).unwrap();
    write(
        "swanctl.conf",
        "# by hand\nhybrid {\n  proposals = aes256gcm16-prfsha384-x25519-ke1_mlkem768\n}\ninclude conf.d/*.conf\n",
    );
    write(
        "conf.d/ric.conf",
        "connections {\n  ric : hybrid {\n    children {\n      E2 {\n        esp_proposals = aes256gcm16-x25519-mlkem768\n      }\n    }\n  }\n}\n",
    );
    write("conf.d/.ric.conf.swp", "{");
    let check = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["check", "--swanctl", "swanctl.conf"])
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, err) = check(&[]);
    assert_eq!(code, Some(1), "{err}");
    insta::assert_snapshot!(out);
    let (_, out, _) = check(&["--json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let finding = &report["findings"][0];
    assert_eq!(
        (&finding["file"], &finding["line"], &finding["child"]),
        (&"conf.d/ric.conf".into(), &5.into(), &"E2".into())
    );

    write("conf.d/ric.conf", "connections {\n  ric : nobody { }\n}\n");
    let (code, _, err) = check(&[]);
    assert_eq!(code, Some(64));
    assert!(
        err.starts_with("error: conf.d/ric.conf:2: no section is called `nobody`\n"),
        "{err}"
    );
    write("conf.d/ric.conf", "");
    let (code, _, err) = check(&[]);
    assert_eq!(
        (code, err.starts_with("error: swanctl.conf: no connections\n")),
        (Some(64), true),
        "{err}"
    );
}
