//! MACsec links.

use super::*;

#[test]
fn a_cak_that_others_can_read_is_found_as_up_refuses_it() {
    let place = Place::new(
        "\
nodes:
  odu: { function: O-DU, address: 127.0.0.1 }
  switch: { function: switch, address: 127.0.0.2 }
interfaces:
  - { kind: FH, between: [odu, switch], with: macsec, macsec: { port: { odu: lo }, cipher: gcm-aes-128, keying: mka, cak: { odu: fh.cak } } }
",
    );
    let found = |mode: u32, text: &str| {
        std::fs::write(place.path("fh.cak"), text).unwrap();
        std::fs::set_permissions(place.path("fh.cak"), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let said = place.bartizan("check core.yaml --node odu");
        said.out + &said.err
    };
    let good = format!("ckn = 0a0b\ncak = {}\n", "0f".repeat(16));
    assert!(!found(0o600, &good).contains("fh.cak:"), "{}", found(0o600, &good));
    let open = found(0o644, &good);
    assert!(
        open.contains("its mode is 0644: others than its owner may use the key"),
        "{open}"
    );
    assert!(found(0o600, "ckn = 0a0b\n").contains("fh.cak: it has no `cak = ...`"));
}

/// PDCP is above the fronthaul and F1-U; of N3 an attacker read everything, and nothing was found.
#[test]
fn a_link_that_nothing_encrypts_is_found() {
    let found = |kind: &str, keys: &str| {
        Place::new(&format!(
            "trust: {{ roots: ca.pem }}\nnodes:\n  \
             a: {{ function: UPF, address: 10.0.0.1, certificate: a.pem, key: a.key }}\n  \
             b: {{ function: gNB, address: 10.0.0.2, certificate: b.pem, key: b.key }}\ninterfaces:\n  \
             - {{ kind: {kind}, between: [a, b], with: macsec, macsec: \
             {{ port: {{ a: eth1, b: eth1 }}, confidentiality: integrity{keys} }} }}\n"
        ))
        .findings("")
    };
    let open = "is not encrypted by MACsec nor above it: an attacker on the path reads it";
    assert_eq!(found("N3", ""), [format!("N3 a -- b: {open}")]);
    let cak = ", keying: mka, cipher: gcm-aes-128, cak: { a: a.cak, b: b.cak }";
    assert!(found("N3", cak).contains(&format!("N3 a -- b: {open}")));
    assert_eq!(found("FH", ""), [""; 0]);
    assert_eq!(found("F1-U", ""), [""; 0]);
}

/// Files of a node with MACsec links alone were held against no policy, and wpa_supplicant's end of
/// EAP-TLS passed under one that it cannot keep.
#[test]
fn revocation_lists_that_a_macsec_link_requires_are_found_missing_at_both_ends() {
    let place = Place::with_files("ml-dsa-65");
    for node in ["odu", "oru"] {
        place.works(&format!("ca issue --dir ca --name {node} --dns {node} --out out"));
    }
    for keying in ["direct", "eap-tls"] {
        place.write(&format!(
            "\
policy: {{ profile: hybrid, revocation: require }}
trust: {{ roots: out/ca.crt.pem }}
nodes:
  odu: {{ function: O-DU, address: 127.0.0.3, certificate: out/odu.crt.pem, key: out/odu.key.pem }}
  oru: {{ function: O-RU, address: 127.0.0.4, certificate: out/oru.crt.pem, key: out/oru.key.pem }}
interfaces:
  - {{ kind: FH, between: [odu, oru], with: macsec, macsec: {{ port: {{ odu: lo, oru: lo }}, cipher: gcm-aes-128, keying: {keying} }} }}
"
        ));
        let has = |node: &str, words: &str| {
            let findings = place.findings(&format!("--node {node}"));
            assert!(findings.iter().any(|one| one.contains(words)), "{node}: {findings:?}");
        };
        for (node, peer) in [("odu", "oru"), ("oru", "odu")] {
            has(
                node,
                &format!("FH to {peer} requires a revocation list, and none is named"),
            );
        }
        if keying == "eap-tls" {
            has(
                "oru",
                "the policy requires a revocation list (`revocation: require`), and it checks none",
            );
        }
    }
}

#[test]
fn what_wpa_supplicant_cannot_check_of_eap_tls_is_found_at_the_end_that_it_answers_for() {
    let found = |options: &str| {
        let place = Place::new(&format!(
            "trust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\nnodes:\n  \
             odu: {{ function: O-DU, address: 10.0.0.1, certificate: odu.pem, key: odu.key }}\n  \
             oru: {{ function: O-RU, address: 10.0.0.2, certificate: oru.pem, key: oru.key }}\ninterfaces:\n  \
             - {{ kind: FH, between: [odu, oru], with: macsec, macsec: {{ port: {{ odu: eth0, oru: eth1 }}, {options} }} }}\n"
        ));
        place.findings("")
    };
    let by_eap = found("keying: eap-tls");
    assert!(
        matches!(&by_eap[..], [one] if one.starts_with("FH oru -- odu: ") && one.contains("trust.crl")),
        "{by_eap:?}"
    );
    let turned = found("keying: eap-tls, initiator: oru");
    assert!(
        matches!(&turned[..], [one] if one.starts_with("FH odu -- oru: ")),
        "{turned:?}"
    );
    // An exchange of Bartizan's own checks the list.
    assert!(found("keying: mka").is_empty());
    let place = Place::new(
        "trust: { roots: ca.crt.pem }\nnodes:\n  \
         odu: { function: O-DU, address: 10.0.0.1, certificate: odu.pem, key: odu.key }\n  \
         oru: { function: O-RU, address: 10.0.0.2, certificates: [{ certificate: a.pem, key: a.key }, { certificate: b.pem, key: b.key }] }\n\
         interfaces:\n  - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: eth0, oru: eth1 }, keying: eap-tls } }\n",
    );
    let several = place.findings("");
    assert!(
        matches!(&several[..], [one] if one.contains("it can be given one certificate, and the node has several")),
        "{several:?}"
    );
}
