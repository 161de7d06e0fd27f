//! Two interfaces between the same two nodes, SBI `hybrid` and O1 `transition`: the weaker policy
//! must not admit a peer by the other's listener.

use std::net::SocketAddr;
use std::path::PathBuf;

use bartizan_ledger::{Handshake, Verdict};
use bartizan_testing::loopback_addresses;

use crate::stage::{By, Node, Papers, Stage, finish, get, openssl, sidecar};

struct Places {
    sbi: [SocketAddr; 2],
    o1: [SocketAddr; 2],
    functions: [SocketAddr; 2],
    admin: [SocketAddr; 2],
}

impl Places {
    fn free() -> Self {
        let [a, b, c, d, e, f, g, h] = loopback_addresses().expect("free ports");
        Self {
            sbi: [a, b],
            o1: [c, d],
            functions: [e, f],
            admin: [g, h],
        }
    }
}

/// `outbound` and `inbound` are what the listeners say beyond their addresses, SBI's first.
fn file(stage: &Stage, at: &Places, papers: [&Papers; 2], outbound: [&str; 2], inbound: [&str; 2]) -> PathBuf {
    let [amf, nrf] = papers;
    let [sbi, o1] = [at.sbi, at.o1];
    let ledger = |node| stage.path(&format!("two.{node}.ledger")).display().to_string();
    let text = format!(
        "trust: {{ roots: {roots} }}
nodes:
  amf:
    function: AMF
    address: 127.0.0.1
    names: {{ dns: [amf.5gc] }}
    certificate: {}
    key: {}
    sidecar:
      outbound:
        - {{ listen: '{}', to: nrf, {} }}
        - {{ listen: '{}', to: nrf, {} }}
      admin: '{}'
      ledger: {}
  nrf:
    function: NRF
    address: 127.0.0.1
    names: {{ dns: [nrf.5gc] }}
    certificate: {}
    key: {}
    sidecar:
      inbound:
        - {{ listen: '{}', forward: '{}', {} }}
        - {{ listen: '{}', forward: '{}', {} }}
      admin: '{}'
      ledger: {}
interfaces:
  - {{ kind: O1, between: [amf, nrf], with: sidecar, policy: {{ profile: transition, reason: an EMS of 2023, expires: 2099-01-01 }} }}
  - {{ kind: SBI, between: [amf, nrf], with: sidecar }}
",
        amf.certificate.display(),
        amf.key.display(),
        sbi[0],
        outbound[0],
        o1[0],
        outbound[1],
        at.admin[0],
        ledger("amf"),
        nrf.certificate.display(),
        nrf.key.display(),
        sbi[1],
        at.functions[0],
        inbound[0],
        o1[1],
        at.functions[1],
        inbound[1],
        at.admin[1],
        ledger("nrf"),
        roots = nrf.roots.display(),
    );
    stage.write("two.yaml", text)
}

/// The handshakes a node has recorded at this address of its own or of its peer.
fn at(node: &Node, address: SocketAddr) -> Vec<Handshake> {
    node.handshakes(|handshake| handshake.local_address == address || handshake.peer_address == address)
}

#[test]
fn each_interface_between_two_nodes_keeps_to_its_listener_and_its_policy() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let places = Places::free();
    stage.write("hello", "served");
    let _functions = places.functions.map(|function| stage.nghttpd(function, &[]));
    for by in [By::Http2, By::Splice] {
        let named = |interface: &str| format!("interface: {interface}, path: {}", by.word());
        let (sbi, o1) = (named("SBI"), named("O1"));
        let file = file(&stage, &places, [&amf, &nrf], [&sbi, &o1], [&sbi, &o1]);
        let [theirs, ours] =
            [("nrf", places.admin[1]), ("amf", places.admin[0])].map(|(node, admin)| stage.start(&file, node, admin));
        for (listen, address, interface) in [
            (places.sbi[0], places.sbi[1], "SBI"),
            (places.o1[0], places.o1[1], "O1"),
        ] {
            assert_eq!(get(&format!("http://{listen}/hello")).2, "served", "{by:?} {interface}");
            for node in [&theirs, &ours] {
                for handshake in at(node, address) {
                    assert_eq!(handshake.interface, interface, "{by:?}");
                    let group = &handshake.negotiated.expect("it was completed").group.name;
                    assert_eq!(group, "X25519MLKEM768", "{by:?} {interface}");
                }
            }
        }
    }
}

/// With SBI `hybrid` and O1 `transition` a request for SBI was served over x25519 and recorded as
/// O1: a listener offered what any interface between the two nodes allowed.
#[test]
fn a_classical_client_is_refused_where_sbi_listens_and_admitted_where_o1_does() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let places = Places::free();
    let file = file(
        &stage,
        &places,
        [&amf, &nrf],
        ["interface: SBI", "interface: O1"],
        ["interface: SBI", "interface: O1"],
    );
    let theirs = stage.start(&file, "nrf", places.admin[1]);
    for address in [places.sbi[1], places.o1[1]] {
        finish(openssl(address, "X25519", Some(&amf)));
    }
    let refused = at(&theirs, places.sbi[1]);
    assert!(
        refused.iter().all(|handshake| handshake.interface == "SBI"
            && matches!(&handshake.verdict, Verdict::Refused { reason, .. } if reason == "no-common-group")),
        "{refused:?}"
    );
    let admitted = at(&theirs, places.o1[1]);
    assert!(
        admitted
            .iter()
            .all(|handshake| handshake.interface == "O1" && matches!(handshake.verdict, Verdict::Excepted { .. })),
        "{admitted:?}"
    );
    let state = theirs.state();
    assert_eq!(
        (&state["node"], &state["ledger_lost"]),
        (&"nrf".into(), &0.into()),
        "{state}"
    );
    // It was refused before it had shown a certificate: the peer is unknown.
    assert_eq!(state["refused"], serde_json::Value::Array(Vec::new()), "{state}");
}

#[test]
fn a_file_that_leaves_a_listeners_interface_open_is_refused_by_check_and_at_start() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let places = Places::free();
    let open = file(
        &stage,
        &places,
        [&amf, &nrf],
        ["path: http2", "interface: O1"],
        ["interface: SBI", "interface: O1"],
    );
    let refusals = [
        finish(sidecar(&open, "amf")),
        finish(
            bartizan_host::Program::new(env!("CARGO_BIN_EXE_bartizan"))
                .argument("check")
                .argument(&open),
        ),
    ];
    for refused in refusals {
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(64), "{said}");
        for part in [
            "nodes.amf.sidecar.outbound[0]: it cannot be determined whether this listener is for SBI or O1: each joins amf and nrf",
            "hint: name one, `interface: SBI`",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
