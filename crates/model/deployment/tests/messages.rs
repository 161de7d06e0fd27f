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

const NRF_SIDECAR: &str = "    sidecar:
      inbound: [{ listen: 10.100.200.2:8443, forward: 127.0.0.1:8000 }]
";

/// Text of the valid file, and the mistake in its place.
const MISTAKES: &[(&str, &str)] = &[
    // An address of IPv6 without quotes, and names of the standards that are no kinds.
    ("listen: 127.0.0.1:8001, to: nrf", "listen: [::1]:8001, to: nrf"),
    ("admin: 127.0.0.1:9100", "admin: [2001:db8::1]:9100"),
    ("kind: SBI", "kind: N12"),
    ("kind: SBI", "kind: Nnrf"),
    ("kind: SBI", "kind: F1"),
    ("kind: SBI", "kind: NGAP"),
    ("kind: SBI", "kind: N99"),
    // Several nodes in one entry.
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, among: [amf, nrf, amf], with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, among: [amf], with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, among: [amf, nfr], with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, among: [amf, nrf], between: [amf, nrf], with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, between: [[amf, nrf], nrf], with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, between: [[], nrf], with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n  - { kind: SBI, among: [nrf, amf], with: sidecar }\n",
    ),
    (
        "  - { kind: SBI, between: [amf, nrf], with: sidecar }\n",
        "  - kind: SBI\n    between: [amf, nrf]\n",
    ),
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
    // TLS of a node's own.
    (NRF_SIDECAR, "    sidecar: {}\n    tls: []\n"),
    (NRF_SIDECAR, "    tls: []\n"),
    (NRF_SIDECAR, "    tls: yes\n"),
    (
        NRF_SIDECAR,
        "    tls: [{ listen: 10.100.200.2:8443, forward: 127.0.0.1:8000 }]\n",
    ),
    (NRF_SIDECAR, "    tls: [{ listen: 10.100.200.2:0 }]\n"),
    (NRF_SIDECAR, "    tls: [{ listen: 224.0.0.1:8443 }]\n"),
    (
        NRF_SIDECAR,
        "    tls: [{ listen: 0.0.0.0:8443 }, { listen: 10.100.200.2:8443 }]\n",
    ),
    (
        NRF_SIDECAR,
        "    tls: [{ listen: 0.0.0.0:8443, service: 0.0.0.0:80 }]\n",
    ),
    (NRF_SIDECAR, "    tls: [{ listen: 0.0.0.0:8443, interface: O1 }]\n"),
    (NRF_SIDECAR, ""),
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
    ("crl: ca.crl.pem", "crl: { url: http://ca.5gc:8829/crl.pem }"),
    ("crl: ca.crl.pem", "crl: { url: ca.5gc, file: ca.crl.pem }"),
    ("crl: ca.crl.pem", "crl: { url: 'https://ca.5gc', file: ca.crl.pem }"),
    ("crl: ca.crl.pem", "crl: { uri: 'http://ca.5gc', file: ca.crl.pem }"),
    ("crl: ca.crl.pem", "crl: [ca.crl.pem]"),
    ("    key: nrf.key.pem\n", ""),
    ("    certificate: nrf.crt.pem\n", ""),
    ("    certificate: nrf.crt.pem\n    key: nrf.key.pem\n", ""),
    (
        "    certificate: nrf.crt.pem\n    key: nrf.key.pem\n",
        "    certificates: []\n",
    ),
    (
        "    key: nrf.key.pem\n",
        "    key: nrf.key.pem\n    certificates: [{ certificate: a.pem, key: b.pem }]\n",
    ),
    (
        "    certificate: nrf.crt.pem\n    key: nrf.key.pem\n",
        "    certificates: [{ certificate: a.pem, key: b.pem }, { certificate: a.pem, key: c.pem }]\n",
    ),
    (
        "    certificate: nrf.crt.pem\n    key: nrf.key.pem\n",
        "    certificates: [{ certificate: a.pem }]\n",
    ),
    (
        "    sidecar:\n      inbound",
        "    ipsec: { certificates: [{ certificate: a.pem, key: b.pem }] }\n    sidecar:\n      inbound",
    ),
    // Sidecars.
    ("forward: 127.0.0.1:8000", "forward: 10.100.200.2:8443"),
    ("forward: 127.0.0.1:8000", "forward: 127.0.0.1:8000, path: zero-copy"),
    ("address: 10.100.200.2\n", "address: 0.0.0.0\n"),
    ("address: 10.100.200.2\n", "address: '::'\n"),
    ("address: 10.100.200.2\n", "address: '::ffff:0.0.0.0'\n"),
    ("address: 10.100.200.2\n", "address: 224.0.0.1\n"),
    ("address: 10.100.200.2\n", "address: 'ff02::1'\n"),
    ("address: 10.100.200.2\n", "address: 255.255.255.255\n"),
    ("listen: 127.0.0.1:8001", "listen: 224.0.0.1:8001"),
    ("forward: 127.0.0.1:8000", "forward: 255.255.255.255:8000"),
    (
        "forward: 127.0.0.1:8000",
        "forward: 127.0.0.1:8000, service: 0.0.0.0:8000",
    ),
    (
        "forward: 127.0.0.1:8000",
        "forward: 127.0.0.1:8000, path: splice, x-forwarded-client-cert: true",
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
    (
        "listen: 127.0.0.1:8001, to: nrf }",
        "listen: 127.0.0.1:8001, transparent: true }, { listen: 127.0.0.1:8002, transparent: true, path: splice }",
    ),
    ("to: nrf }", "to: nrf, warm: 65 }"),
    ("admin: 127.0.0.1:9100", "admin: 127.0.0.1:8001"),
    ("admin: 127.0.0.1:9100", "ledger: { file: nrf.ledger, size: 1KiB }"),
    ("admin: 127.0.0.1:9100", "ledger: { file: nrf.ledger, size: 64 }"),
    ("admin: 127.0.0.1:9100", "ledger: { file: nrf.ledger, keep: 0 }"),
    ("admin: 127.0.0.1:9100", "ledger: { path: nrf.ledger }"),
    ("admin: 127.0.0.1:9100", "ledger: [nrf.ledger]"),
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

/// Two elements of an O-RAN joined by IPsec.
const RIGHT_LINK: &str = "\
policy: hybrid
trust: { roots: ca.crt.pem }
nodes:
  cu:
    function: O-CU-CP
    address: 10.200.0.1
    ipsec: { certificate: cu.crt.pem, key: cu.key.pem }
  ric: { function: near-RT RIC, address: 10.200.0.2 }
  du: { function: O-DU, address: 10.200.0.3 }
interfaces:
  - { kind: E2, between: [cu, ric], with: ipsec, ipsec: { mode: tunnel } }
";

/// Text of the valid link, and the mistake in its place.
const MISTAKEN_LINKS: &[(&str, &str)] = &[
    ("mode: tunnel", "mod: tunnel"),
    ("mode: tunnel", "mode: beet"),
    ("mode: tunnel", "start: boot"),
    ("mode: tunnel", "copy-dscp: always"),
    ("mode: tunnel", "initiator: smf"),
    ("mode: tunnel", "ike-dscp: 64"),
    ("mode: tunnel", "replay-window: 5000"),
    ("mode: tunnel", "replay-window: 0"),
    ("mode: tunnel", "mtu: 100"),
    ("mode: tunnel", "esn: sometimes"),
    ("mode: tunnel", "rekey-child: soon"),
    ("mode: tunnel", "rekey-ike: 100ms"),
    ("mode: tunnel", "reauth: 90d"),
    ("mode: tunnel", "dpd: off"),
    ("mode: tunnel", "rekey-bytes: 1"),
    ("mode: tunnel", "rekey-bytes: 1GB"),
    ("mode: tunnel", "esn: false, rekey-packets: 3000000000"),
    ("mode: tunnel", "outer: { cv: 10.0.0.1 }"),
    ("mode: tunnel", "outer: { cu: 10.200.0.2 }"),
    ("mode: tunnel", "outer: { cu: \"fd00::1\" }"),
    ("mode: tunnel", "outer: { cu: 0.0.0.0 }"),
    ("mode: tunnel", "external: { cv: any }"),
    ("mode: tunnel", "external: { cu: somewhere }"),
    ("mode: tunnel", "external: { cu: 0.0.0.0 }"),
    ("mode: tunnel", "external: { cu: \"fd00::1\" }"),
    ("mode: tunnel", "external: { cu: any, ric: any }"),
    ("mode: tunnel", "external: { cu: 203.0.113.7, ric: 203.0.113.7 }"),
    ("mode: tunnel", "external: { cu: 10.200.0.2 }"),
    ("mode: tunnel", "external: { cu: any }, initiator: ric"),
    ("mode: tunnel", "external: { cu: any }, mode: transport"),
    ("key: cu.key.pem }", "key: cu.key.pem, external: everywhere }"),
    ("address: 10.200.0.1\n", "address: 10.200.0.1\n    external: any\n"),
    (
        "ipsec: { mode: tunnel } }\n",
        "ipsec: { outer: { cu: 192.168.1.2 }, external: { cu: any } } }\n  - { kind: N2, between: [cu, ric], with: ipsec, ipsec: { outer: { cu: 192.168.1.2 }, external: { cu: any }, dpd: 5s } }\n",
    ),
    (
        "ipsec: { mode: tunnel } }\n",
        "ipsec: { inner: { cu: [10.78.1.1] } } }\n  - { kind: E2, between: [du, ric], with: ipsec, ipsec: { inner: { du: [10.78.1.1] } } }\n",
    ),
    ("mode: tunnel", "inner: { cu: [10.78.1.1/24] }"),
    ("mode: tunnel", "inner: { cu: [] }"),
    ("mode: tunnel", "inner: { cu: [10.78.0.0/16], ric: [10.78.2.1] }"),
    ("mode: tunnel", "mode: transport, inner: { cu: [10.78.1.1] }"),
    ("mode: tunnel", "selectors: []"),
    ("mode: tunnel", "selectors: [{ protocol: dccp }]"),
    ("mode: tunnel", "selectors: [{ protocol: any, port: 36421 }]"),
    ("mode: tunnel", "selectors: [{ protocol: sctp, port: 0 }]"),
    ("mode: tunnel", "selectors: [{ protocol: sctp, at: ric }]"),
    ("mode: tunnel", "selectors: [{ protocol: sctp, port: 36421, at: smf }]"),
    (
        "mode: tunnel",
        "selectors: [{ protocol: sctp }, { protocol: sctp, port: 36421 }]",
    ),
    ("with: ipsec,", "with: nothing,"),
    (
        "ipsec: { mode: tunnel } }\n",
        "ipsec: { mode: tunnel } }\n  - { kind: N2, between: [ric, cu], with: ipsec, ipsec: { start: trap, dpd: 5s } }\n",
    ),
    (
        "ipsec: { mode: tunnel } }\n",
        "ipsec: { mode: tunnel } }\n  - { kind: N2, between: [cu, ric], with: ipsec, policy: cnsa2 }\n",
    ),
    (
        "ipsec: { mode: tunnel } }\n",
        "ipsec: { mode: tunnel } }\n  - { kind: O1, between: [cu, ric], with: ipsec }\n",
    ),
    (
        "address: 10.200.0.2 }",
        "address: 10.200.0.2, names: { uri: [\"urn:uuid:1\"] } }",
    ),
    ("trust: { roots: ca.crt.pem }\n", ""),
    ("key: cu.key.pem }", "}"),
    ("key: cu.key.pem }", "key: cu.key.pem, socket: charon.vici }"),
    ("key: cu.key.pem }", "key: cu.key.pem, engine: libreswan }"),
    (
        "key: cu.key.pem }",
        "key: cu.key.pem, engine: bartizan, vici: charon.vici }",
    ),
    ("key: cu.key.pem }", "key: cu.key.pem, data-path: userspace }"),
    (
        "key: cu.key.pem }",
        "key: cu.key.pem, engine: bartizan, data-path: dpdk }",
    ),
    ("key: cu.key.pem }", "key: cu.key.pem, offload: packet }"),
    ("key: cu.key.pem }", "key: cu.key.pem, offload: yes }"),
    (
        "key: cu.key.pem }",
        "key: cu.key.pem, engine: bartizan, data-path: userspace, offload: crypto }",
    ),
    // A pre-shared key of a link.
    ("mode: tunnel", "ppk: { id: e2 }"),
    ("mode: tunnel", "ppk: { id: 10.0.0.1, file: e2.ppk }"),
    ("mode: tunnel", "ppk: { id: \"e2 of 2026\", file: e2.ppk }"),
    ("mode: tunnel", "ppk: { id: e2, file: e2.ppk, required: perhaps }"),
    (
        "mode: tunnel } }\n",
        "ppk: { id: e2, file: e2.ppk } } }\n  - { kind: O1, between: [cu, ric], with: ipsec, ipsec: { ppk: { id: e2, file: o1.ppk }, outer: { cu: 10.201.0.1, ric: 10.201.0.2 }, inner: { cu: [10.79.1.1], ric: [10.79.2.1] } } }\n",
    ),
    // IPsec requirements of a policy.
    ("policy: hybrid", "policy: { ipsec: { key-exchange: [mlkem768] } }"),
    ("policy: hybrid", "policy: { ipsec: { key-exchanges: [] } }"),
    ("policy: hybrid", "policy: { ipsec: { key-exchanges: [x25519] } }"),
    (
        "policy: hybrid",
        "policy: { ipsec: { key-exchanges: [X25519MLKEM768] } }",
    ),
    (
        "policy: hybrid",
        "policy: { ipsec: { key-exchanges: [x25519-mlkem768] } }",
    ),
    (
        "policy: hybrid",
        "policy: { ipsec: { key-exchanges: [x25519-ke1_mlkem512] } }",
    ),
    (
        "policy: hybrid",
        "policy: { ipsec: { key-exchanges: [mlkem768-ke1_mlkem768] } }",
    ),
    (
        "policy: hybrid",
        "policy: { ipsec: { key-exchanges: [mlkem768, mlkem768] } }",
    ),
    (
        "policy: hybrid",
        "policy: { ipsec: { key-exchanges: [modp1024-ke1_mlkem768] } }",
    ),
    ("policy: hybrid", "policy: { ipsec: { key-exchanges: [hqc-128] } }"),
    ("policy: hybrid", "policy: { ipsec: { key-exchanges: [bike-l1] } }"),
    ("policy: hybrid", "policy: { ipsec: { ciphers: [null] } }"),
    ("policy: hybrid", "policy: { ipsec: { ciphers: [\"null\"] } }"),
    ("policy: hybrid", "policy: { ipsec: { ciphers: [aes265gcm16] } }"),
    ("policy: hybrid", "policy: { ipsec: { prfs: [prfsha1] } }"),
    ("policy: hybrid", "policy: { ipsec: { integrity: [md5] } }"),
    ("policy: hybrid", "policy: { ipsec: { authentication: any } }"),
    (
        "policy: hybrid",
        "policy: { ipsec: { authentication: post-quantum, signatures: [ed25519] } }",
    ),
    ("policy: hybrid", "policy: { ipsec: { signatures: [rsa] } }"),
    ("policy: hybrid", "policy: { ipsec: { breach: ignore } }"),
    (
        "policy: hybrid",
        "policy: { profile: cnsa2, ipsec: { key-exchanges: [x25519-ke1_mlkem768] } }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: cnsa2, ipsec: { ciphers: [aes128gcm16] } }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: cnsa2, ipsec: { prfs: [prfsha256] } }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: transition, reason: r, expires: 2027-06-30, ipsec: { key-exchanges: [x25519] } }",
    ),
    (
        "policy: hybrid",
        "policy: { profile: classical, lab: true, ipsec: { key-exchanges: [mlkem768] } }",
    ),
];

/// A MACsec link that is right.
const RIGHT_FRONTHAUL: &str = "\
trust: { roots: ca.crt.pem }
nodes:
  odu: { function: O-DU, address: 10.0.0.1, certificate: odu.crt.pem, key: odu.key.pem }
  oru: { function: O-RU, address: 10.0.0.2, certificate: oru.crt.pem, key: oru.key.pem }
  other: { function: O-RU, address: 10.0.0.3, certificate: other.crt.pem, key: other.key.pem }
interfaces:
  - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: eth0, oru: eth1 }, mtu: 9000 } }
";

const MISTAKEN_FRONTHAULS: &[(&str, &str)] = &[
    ("port: { odu: eth0, oru: eth1 }, ", ""),
    ("oru: eth1 }", "oru: eth1, other: eth2 }"),
    ("oru: eth1 }", "oru: \"an interface\" }"),
    ("mtu: 9000", "mtu: 576"),
    ("mtu: 9000", "cipher: aes256"),
    ("mtu: 9000", "confidentiality: none"),
    ("mtu: 9000", "keying: eap-tls, rekey-packets: 100000"),
    ("mtu: 9000", "keying: eap-tls, cak: { odu: fh.cak }"),
    ("mtu: 9000", "keying: mka, cipher: gcm-aes-xpn-256"),
    ("mtu: 9000", "keying: mka, rekey-packets: 100000"),
    ("mtu: 9000", "keying: mka, cak: { other: fh.cak }"),
    ("mtu: 9000", "cak: { odu: fh.cak }"),
    ("mtu: 9000", "keying: static"),
    ("mtu: 9000", "rekey: never"),
    ("mtu: 9000", "rekey: soon"),
    ("mtu: 9000", "rekey-packets: 4294967295"),
    ("mtu: 9000", "keys-per-exchange: 0"),
    ("mtu: 9000", "replay-window: 4000000"),
    ("mtu: 9000", "initiator: other"),
    ("mtu: 9000", "unencrypted: [ecpri]"),
    ("mtu: 9000", "device: { odu: eth0 }"),
    ("with: macsec,", "with: nothing,"),
    (", certificate: oru.crt.pem, key: oru.key.pem", ""),
    (
        "mtu: 9000 } }\n",
        "mtu: 9000 } }\n  - { kind: FH, between: [odu, other], with: macsec, macsec: { port: { odu: eth0, other: eth0 }, device: { odu: macsec1 } } }\n",
    ),
];

#[test]
fn every_mistake_about_macsec_is_shown_with_its_place_and_what_to_do() {
    insta::assert_snapshot!(reported(RIGHT_FRONTHAUL, MISTAKEN_FRONTHAULS));
}

#[test]
fn every_mistake_about_ipsec_is_reported_with_its_place_and_what_to_do() {
    insta::assert_snapshot!(reported(RIGHT_LINK, MISTAKEN_LINKS));
}

#[test]
fn every_mistake_is_reported_with_its_place_and_what_to_do() {
    insta::assert_snapshot!(reported(RIGHT, MISTAKES));
}

fn reported(right: &str, mistakes: &[(&str, &str)]) -> String {
    let parse = |text: &str| Deployment::parse(text, "core.yaml", Path::new("/etc/bartizan"));
    parse(right).unwrap();
    let mut reported = String::new();
    for (stands, wrong) in mistakes {
        assert_eq!(right.matches(stands).count().min(1), 1, "{stands}");
        let Err(error) = parse(&right.replacen(stands, wrong, 1)) else {
            panic!("this passes: {wrong}")
        };
        writeln!(reported, "──── {}", wrong.trim_end().replace('\n', "\n     ")).unwrap();
        writeln!(reported, "error: {error}").unwrap();
        if let Some(hint) = error.hint() {
            assert!(!hint.is_empty());
            writeln!(reported, "hint: {hint}").unwrap();
        }
        writeln!(reported).unwrap();
    }
    reported
}

/// The reader's own advice is about calls of its library.
#[test]
fn no_message_gives_advice_to_programmers() {
    for (file, cause, hint) in [
        (
            "nodes: {}\n---\nnodes: {}\n",
            "multiple YAML documents detected",
            "one document",
        ),
        (
            "nodes: { ~: { function: NRF, address: 10.0.0.1 } }\n",
            "cannot deserialize null into string",
            "in quotes",
        ),
        ("", "unexpected end of input", "`bartizan init`"),
        (
            "-----BEGIN CERTIFICATE-----\n",
            "expected mapping start",
            "`bartizan init`",
        ),
        (
            "nodes:\n  nrf:\n    function: NRF\n    address: 10.0.0.1\n   key: nrf.key.pem\n",
            "did not find expected key",
            "in the same column",
        ),
    ] {
        let error = Deployment::parse(file, "core.yaml", Path::new("")).unwrap_err();
        let (said, hints) = (error.to_string(), error.hint().unwrap_or_default().to_owned());
        assert!(said.lines().next().is_some_and(|line| line.ends_with(cause)), "{said}");
        assert!(hints.contains(hint), "{hints}");
    }
}

/// The kernel sends IPv4 to an address of IPv6's form for it, past every rule for IPv6.
#[test]
fn an_address_in_the_form_for_ipv6_is_the_address_of_ipv4() {
    let parse = |text: &str| Deployment::parse(text, "core.yaml", Path::new("/")).unwrap();
    let allowed = "admin: 127.0.0.1:9100\n      allow: [{ name: dns, to: 10.100.200.0/24, port: 53 }]";
    let named = "names: { dns: [nrf.5gc], ip: [10.100.200.2] }";
    let network = RIGHT
        .replace("admin: 127.0.0.1:9100", allowed)
        .replace("names: { dns: [nrf.5gc] }", named);
    let link = RIGHT_LINK.replace(
        "mode: tunnel",
        "mode: tunnel, outer: { cu: 10.1.1.1 }, inner: { cu: [10.1.2.0/24] }",
    );
    for plain in [network, link] {
        let ends = [' ', ',', '[', ']', '{', '}', '\n'];
        let pieces = plain.split_inclusive(ends).map(|piece| {
            let word = piece.trim_end_matches(ends);
            let is_address = word.matches('.').count() == 3 && word.starts_with(|first: char| first.is_ascii_digit());
            let form = match (word.split_once(':'), word.split_once('/')) {
                _ if !is_address => return piece.to_owned(),
                (Some((host, port)), _) => format!("'[::ffff:{host}]:{port}'"),
                (_, Some((host, bits))) => format!("'::ffff:{host}/{}'", bits.parse::<u8>().unwrap() + 96),
                _ => format!("'::ffff:{word}'"),
            };
            form + &piece[word.len()..]
        });
        let mapped: String = pieces.collect();
        assert!(mapped.matches("::ffff:").count() > 4, "{mapped}");
        // An index over the interfaces ends it, in no order.
        let [mapped, plain] = [&mapped, &plain].map(|text| format!("{:?}", parse(text)));
        assert_eq!(
            mapped.split_once(", joining").unwrap().0,
            plain.split_once(", joining").unwrap().0
        );
    }
}
