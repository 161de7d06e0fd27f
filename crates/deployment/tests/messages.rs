//! Every message a mistaken deployment file gets, as its author sees it.

use std::fmt::Write;
use std::path::Path;

use bartizan_deployment::Deployment;

/// A network that is right, into which each case puts one mistake.
const RIGHT: &str = "\
policy: hybrid
trust: { roots: ca.crt.pem, crl: ca.crl.pem }
nodes:
  nrf:
    function: NRF
    address: 10.100.200.2
    names: { dns: [nrf.5gc] }
    certificate: nrf.crt.pem
    key: nrf.key.pem
    sidecar:
      inbound: [{ listen: 10.100.200.2:8443, forward: 127.0.0.1:8000 }]
  amf:
    function: AMF
    address: 10.100.200.10
    certificate: amf.crt.pem
    key: amf.key.pem
    sidecar:
      outbound: [{ listen: 127.0.0.1:8001, to: nrf }]
      admin: 127.0.0.1:9100
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
";

/// What stands in the right file, and the mistake in its place.
const MISTAKES: &[(&str, &str)] = &[
    // Not YAML, not a field, not a value.
    ("policy: hybrid\n", "policy: [hybrid\n"),
    ("policy: hybrid\n", "polcy: hybrid\n"),
    ("policy: hybrid\n", "policy: hybrid\npolicy: cnsa2\n"),
    ("policy: hybrid\n", "policy: 7\n"),
    ("policy: hybrid\n", "policy: [hybrid]\n"),
    (
        "policy: hybrid\n",
        "policy: { profile: hybrid, group: [X25519MLKEM768] }\n",
    ),
    (
        "policy: hybrid\n",
        "policy: { profile: hybrid, groups: X25519MLKEM768 }\n",
    ),
    ("policy: hybrid\n", "policy: { profile: hybrid, lab: perhaps }\n"),
    ("    address: 10.100.200.2\n", "    adress: 10.100.200.2\n"),
    ("    address: 10.100.200.2\n", ""),
    ("    address: 10.100.200.2\n", "    address: 10.100.200.256\n"),
    ("    address: 10.100.200.2\n", "    address: nrf.5gc\n"),
    ("listen: 127.0.0.1:8001", "listen: 8001"),
    ("listen: 127.0.0.1:8001", "listen: localhost:8001"),
    ("to: nrf }", "to: nrf, warm: many }"),
    ("  - { kind: SBI,", "  - { type: SBI,"),
    // Names.
    ("between: [amf, nrf]", "between: [amf, nfr]"),
    ("between: [amf, nrf]", "between: [amf]"),
    ("between: [amf, nrf]", "between: [amf, nrf, nrf]"),
    ("between: [amf, nrf]", "between: [amf, amf]"),
    ("to: nrf", "to: nfr"),
    ("to: nrf", "to: amf"),
    ("  amf:\n", "  -amf:\n"),
    ("  amf:\n", "  \"a m f\":\n"),
    ("dns: [nrf.5gc]", "dns: [\"nrf..5gc\"]"),
    ("dns: [nrf.5gc]", "dns: [\"*.5gc\"]"),
    ("dns: [nrf.5gc]", "uri: [nrf]"),
    ("names: { dns: [nrf.5gc] }", "names: { }"),
    ("names: { dns: [nrf.5gc] }", "names: { cn: [nrf] }"),
    ("dns: [nrf.5gc]", "dns: [nrf.5gc, amf]"),
    ("dns: [nrf.5gc]", "dns: [amf]"),
    // Interfaces.
    ("kind: SBI", "kind: SBA"),
    ("with: sidecar", "with: tls"),
    ("kind: SBI", "kind: E2"),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n  - { kind: SBI, between: [nrf, amf], with: nothing }\n",
    ),
    ("with: sidecar", "with: nothing"),
    // Files.
    ("trust: { roots: ca.crt.pem, crl: ca.crl.pem }\n", ""),
    (
        "trust: { roots: ca.crt.pem, crl: ca.crl.pem }\n",
        "trust: { crl: ca.crl.pem }\n",
    ),
    ("    key: nrf.key.pem\n", ""),
    ("    certificate: nrf.crt.pem\n", ""),
    ("    certificate: nrf.crt.pem\n    key: nrf.key.pem\n", ""),
    // Sidecars.
    ("forward: 127.0.0.1:8000", "forward: 10.100.200.2:8443"),
    ("forward: 127.0.0.1:8000", "forward: 127.0.0.1:8000, path: zero-copy"),
    (
        "forward: 127.0.0.1:8000",
        "forward: 127.0.0.1:8000, service: 0.0.0.0:8000",
    ),
    (
        "      inbound: [{ listen: 10.100.200.2:8443, forward: 127.0.0.1:8000 }]\n",
        "      ledger: nrf.ledger\n",
    ),
    ("to: nrf }", "path: splice }"),
    ("to: nrf }", "to: nrf, transparent: true }"),
    (
        "listen: 127.0.0.1:8001, to: nrf",
        "listen: 10.100.200.10:8001, transparent: true",
    ),
    ("to: nrf }", "to: nrf, warm: 65 }"),
    ("admin: 127.0.0.1:9100", "admin: 127.0.0.1:8001"),
    ("admin: 127.0.0.1:9100", "limits: { handshake: 5 }"),
    ("admin: 127.0.0.1:9100", "limits: { drain: 2h }"),
    ("admin: 127.0.0.1:9100", "limits: { request: 0s }"),
    ("admin: 127.0.0.1:9100", "limits: { connections: 0 }"),
    ("admin: 127.0.0.1:9100", "limits: { streams: 20000 }"),
    ("admin: 127.0.0.1:9100", "limits: { header-bytes: 512 }"),
    ("admin: 127.0.0.1:9100", "limits: { timeout: 5s }"),
    // Policies.
    ("policy: hybrid", "policy: post-quantum"),
    ("policy: hybrid", "policy: { profile: quantum }"),
    ("policy: hybrid", "policy: classical"),
    ("policy: hybrid", "policy: transition"),
    ("policy: hybrid", "policy: { profile: transition, reason: old SMF }"),
    (
        "policy: hybrid",
        "policy: { profile: transition, reason: \" \", expires: 2027-06-30 }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: transition, reason: old SMF, expires: 30.6.2027 }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: transition, reason: old SMF, expires: 2027-02-30 }",
    ),
    ("policy: hybrid", "policy: { reason: old SMF, expires: 2027-06-30 }"),
    ("policy: hybrid", "policy: { profile: hybrid, post-quantum: prefer }"),
    ("policy: hybrid", "policy: { profile: hybrid, post-quantum: always }"),
    (
        "policy: hybrid",
        "policy: { profile: transition, post-quantum: require, reason: r, expires: 2027-06-30 }",
    ),
    ("policy: hybrid", "policy: { groups: [] }"),
    ("policy: hybrid", "policy: { groups: [X25519] }"),
    ("policy: hybrid", "policy: { groups: [MLKEM512] }"),
    ("policy: hybrid", "policy: { groups: [X25519Kyber768Draft00] }"),
    ("policy: hybrid", "policy: { groups: [X25519MLKEM786] }"),
    ("policy: hybrid", "policy: { groups: [MLKEM768, ml-kem-768] }"),
    ("policy: hybrid", "policy: { signatures: [ecdsa_secp256r1_sha256] }"),
    ("policy: hybrid", "policy: { chain-signatures: [ed25519] }"),
    ("policy: hybrid", "policy: { signatures: [rsa_pss_rsae_sha256] }"),
    ("policy: hybrid", "policy: { profile: cnsa2, groups: [X25519MLKEM768] }"),
    ("policy: hybrid", "policy: { profile: cnsa2, signatures: [mldsa65] }"),
    (
        "policy: hybrid",
        "policy: { profile: cnsa2, chain-signatures: [mldsa44] }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: transition, reason: r, expires: 2027-06-30, groups: [X25519] }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: transition, reason: r, expires: 2027-06-30, signatures: [ed25519] }",
    ),
    ("policy: hybrid", "policy: { resumption: 25h }"),
    ("policy: hybrid", "policy: { resumption: 0s }"),
    ("policy: hybrid", "policy: { resumption: sometimes }"),
    ("policy: hybrid", "policy: { revocation: ocsp }"),
    ("with: sidecar }", "with: sidecar, policy: { groups: [X25519] } }"),
];

#[test]
fn every_mistake_is_told_with_its_place_and_what_to_do() {
    let parse = |text: &str| Deployment::parse(text, "core.yaml", Path::new("/etc/bartizan"));
    parse(RIGHT).unwrap();
    let mut told = String::new();
    for (right, wrong) in MISTAKES {
        assert_eq!(RIGHT.matches(right).count().min(1), 1, "{right}");
        let Err(error) = parse(&RIGHT.replacen(right, wrong, 1)) else {
            panic!("this passes: {wrong}")
        };
        writeln!(told, "──── {}", wrong.trim_end().replace('\n', "\n     ")).unwrap();
        writeln!(told, "error: {error}").unwrap();
        if let Some(hint) = error.hint() {
            assert!(!hint.is_empty());
            writeln!(told, "hint: {hint}").unwrap();
        }
        writeln!(told).unwrap();
    }
    insta::assert_snapshot!(told);
}
