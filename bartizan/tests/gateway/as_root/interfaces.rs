//! The other interfaces over SCTP: between hosts that have all of them at once, each with its port,
//! its payload protocol and messages as its functions send them.

use std::net::SocketAddr;

use bartizan_host::sctp::Ordering;

use super::PATIENCE;
use crate::boot::is_here;
use crate::function::{Function, Message, Seen, accept, listen, opening};
use crate::stage::{CARRIERS, Stage, protocols};

/// An interface as 3GPP has it: name in the file, port, payload protocol, streams of the end that
/// calls, and what both ends say in turn, by octets.
struct Interface {
    kind: &'static str,
    port: u16,
    protocol: u32,
    streams: u16,
    messages: &'static [usize],
}

const INTERFACES: [Interface; 3] = [
    // XnAP (TS 38.422): Xn Setup lists served cells and neighbours; handovers have a container of RRC.
    Interface {
        kind: "Xn",
        port: 38_422,
        protocol: 61,
        streams: 2,
        messages: &[1460, 980, 720, 410, 64, 64],
    },
    // F1AP (TS 38.472): F1 Setup with system information of cells, then RRC messages of radio bearers.
    Interface {
        kind: "F1-C",
        port: 38_472,
        protocol: 62,
        streams: 2,
        messages: &[2900, 310, 95, 240, 130, 61_000],
    },
    // E1AP (TS 38.462): bearer contexts, with the keys of the user plane.
    Interface {
        kind: "E1",
        port: 38_462,
        protocol: 64,
        streams: 1,
        messages: &[130, 70, 420, 260, 48, 36],
    },
];

/// Both nodes with every one of them, by ports of the sidecars' own.
fn deployment(carrier: &str) -> String {
    let listeners = |line: &dyn Fn(&Interface) -> String| {
        let all: Vec<String> = INTERFACES.iter().map(line).collect();
        all.join(", ")
    };
    let outbound = listeners(&|one| {
        let Interface { kind, port, .. } = one;
        format!("{{ listen: '127.0.0.1:{port}', to: amf, path: sctp, interface: {kind} }}")
    });
    let inbound = listeners(&|one| {
        let Interface { kind, port, .. } = one;
        format!(
            "{{ listen: '10.80.0.2:{}', forward: '127.0.0.5:{port}', path: sctp, interface: {kind} }}",
            port + 1
        )
    });
    let node = |name: &str, number: u8, listeners: &str| {
        format!(
            "  {name}: {{ function: gNB, address: 10.80.0.{number}, names: {{ dns: [{name}.test] }}, certificate: {name}.crt.pem, key: {name}.key.pem,\n      \
             sidecar: {{ {listeners}, admin: '127.0.0.1:9001', ledger: {name}.jsonl, limits: {{ drain: 1s }} }} }}\n"
        )
    };
    let links = INTERFACES.map(|one| {
        format!(
            "  - {{ kind: {}, between: [gnb, amf], with: gateway, carrier: {carrier} }}\n",
            one.kind
        )
    });
    format!(
        "policy: hybrid\ntrust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\nnodes:\n{}{}interfaces:\n{}",
        node("gnb", 1, &format!("outbound: [{outbound}]")),
        node("amf", 2, &format!("inbound: [{inbound}]")),
        links.concat()
    )
}

#[test]
fn xn_f1_and_e1_between_the_same_hosts_are_carried_apart_and_only_the_carrier_is_on_the_cable() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        stage.write("all.yaml", &deployment(carrier));
        let capture = stage.capture();
        let (_theirs, _ours) = (stage.start_by("amf", "all.yaml"), stage.start_by("gnb", "all.yaml"));
        let pairs = INTERFACES.map(|one| {
            let waiting = listen(&stage.amf, SocketAddr::from(([127, 0, 0, 5], one.port)));
            let to = SocketAddr::from(([127, 0, 0, 1], one.port));
            let function = Function::open(&stage.gnb, "127.0.0.1:0", to, opening(one.streams, one.streams));
            (one, function, accept(&waiting))
        });
        // In turn over all of them, so that each is open while the others speak.
        for turn in 0..6 {
            for (one, function, other) in &pairs {
                let stream = turn as u16 % one.streams;
                let octets = vec![turn as u8 + 1; one.messages[turn]];
                let message: Message = (stream, one.protocol, Ordering::Ordered, octets);
                let (from, to) = if turn % 2 == 0 {
                    (function, other)
                } else {
                    (other, function)
                };
                from.send(&message);
                assert_eq!(to.next(), Seen::Message(message), "{} over {carrier}", one.kind);
            }
        }
        for (one, function, other) in &pairs {
            function.shut_down();
            assert_eq!(other.next_within(PATIENCE), Some(Seen::ShutDown), "{}", one.kind);
        }
        for node in ["gnb", "amf"] {
            stage.ended_after(node, INTERFACES.len() - 1);
            let handshakes = stage.handshakes(node);
            for one in &INTERFACES {
                let of_it: Vec<_> = handshakes
                    .iter()
                    .filter(|handshake| handshake.interface == one.kind)
                    .collect();
                assert!(!of_it.is_empty(), "{}: {handshakes:?}", one.kind);
                for negotiated in of_it.iter().filter_map(|handshake| handshake.negotiated.as_ref()) {
                    assert_eq!(negotiated.group.name, "X25519MLKEM768");
                }
            }
        }
        let path = capture.path().to_owned();
        assert!(capture.stop().unwrap().complete());
        let seen = protocols(&path);
        assert!(seen[&if carrier == "quic" { 17 } else { 6 }] > 60, "{seen:?}");
        assert_eq!(seen.get(&132), None, "SCTP left a host unencrypted: {seen:?}");
    }
}
