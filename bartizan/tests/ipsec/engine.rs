//! Nodes whose engine is Bartizan's own: between two of them, against strongSwan in both roles, and
//! with what it refuses. On the ESP of a guest's kernel, which this machine's may not have.

use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, SystemTime};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use bartizan_host::{Feature, Namespace, Process, Program, Support};
use bartizan_ledger::{Cause, Direction, Event, Forgery, IkeSa, Refuser, Verdict};
use bartizan_pki::Algorithm;
use bartizan_testing::udp_at;
use serde_json::Value;

use super::egress::{GTP_U, Left, PFCP, leaving};
use super::guest::{INNER, MANY, OUTER, in_a_guest, nothing_leaves_unencrypted};
use super::probing::{all_are_probed, several_interfaces_are_probed};
use super::{is_recorded, stderr};
use crate::stage::*;

const POST_QUANTUM: &str = "{ profile: hybrid, ipsec: { authentication: post-quantum } }";
const OURS: [&str; 2] = ["bartizan"; 2];
/// A tunnel between the inner addresses.
const TUNNEL: &str = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }";
/// Ports and payload protocols.
const E2AP: (u16, u32) = (36_421, 70);
const NGAP: (u16, u32) = (38_412, 60);
const XNAP: (u16, u32) = (38_422, 61);
const F1AP: (u16, u32) = (38_472, 62);
const E1AP: (u16, u32) = (38_462, 64);
/// Interfaces that two hosts may have between them at once, and the number of their CHILD_SAs: one
/// if the standard says which end listens, else one for a port at either end.
const SEVERAL: [&str; 5] = ["E2", "N4", "Xn", "E1", "F1-C"];
const OF_SEVERAL: usize = 1 + 2 + 4 + 2 + 1;
const STREAM: u16 = 0;
/// The NAT before the RIC: `nat_before_ric`.
const BEHIND_NAT: &str = "outer: { ric: 10.99.0.5 }, external: { ric: 10.77.0.2 }";
/// The same tunnel and ends with addresses of IPv6.
const TUNNEL_6: &str = "outer: { cu: 'fd77::1', ric: 'fd77::2' }, inner: { cu: ['fd78::1'], ric: ['fd78::2'] }";

fn inner() -> [IpAddr; 2] {
    INNER.map(IpAddr::from)
}

/// Both ends up, and the link with them.
fn up(stage: &Stage) -> [Process; 2] {
    let both = [stage.up("ric"), stage.up("cu")];
    is_up_once(stage);
    both
}

/// Waits for the authentication method that `status` of a node reports of its peer.
fn is_authenticated(stage: &Stage, node: &str, method: &str) {
    eventually("the method is reported", || {
        let report = stage.stands(node);
        (report["links"][0]["authentication"]["peer"] == method).then_some(())
    });
    let text = stage
        .bartizan("status", node, &[])
        .run(PATIENCE)
        .expect("status")
        .text();
    assert!(
        text.contains(&format!("authenticated by {method} here, by {method} of the peer")),
        "{text}"
    );
}

/// Waits for one IKE_SA, also where both ends have begun, and one SA of each CHILD_SA.
fn is_up_once(stage: &Stage) {
    for node in ["cu", "ric"] {
        eventually("the link is up once", || {
            let report = stage.stands(node);
            let count = |of: &Value| of.as_array().map(Vec::len);
            let link = &report["links"][0];
            let children = link["children"].as_array()?;
            let each_once = children.iter().all(|child| count(&child["sas"]) == Some(1));
            (count(&link["ike"]) == Some(1) && each_once).then_some(())
        });
    }
    stage.settled();
}

/// Datagrams to this port of the other end, from any and from the same (as nodes send GTP-U), and their answers.
pub(super) fn asks(ends: [(&Namespace, IpAddr); 2], port: u16) {
    for from in [0, port] {
        asks_from(ends, [from, port]);
    }
}

fn asks_from([from, to]: [(&Namespace, IpAddr); 2], [own, port]: [u16; 2]) {
    let bound = |(space, address): (&Namespace, IpAddr), port: u16| {
        let socket = space.enter(|| udp_at((address, port))).expect("a namespace");
        socket.set_read_timeout(Some(PATIENCE / 8)).expect("set");
        socket
    };
    let (asking, answering) = (bound(from, own), bound(to, port));
    let mut buffer = [0; 64];
    // If both ends have begun, one of two IKE_SAs ends soon after, and a datagram under it may be
    // lost (another test shows that rekeys lose none).
    let mut asked = || {
        asking.send_to(b"question", (to.1, port)).expect("it is sent");
        answering.recv_from(&mut buffer)
    };
    let (length, asked_by) = asked()
        .or_else(|error| {
            eprintln!(
                "{own} to {port}: {error}; once more. {}",
                refused_by_kernels([from.0, to.0])
            );
            asked()
        })
        .unwrap_or_else(|error| panic!("{own} to {port}: {error}. {}", refused_by_kernels([from.0, to.0])));
    answering.send_to(&buffer[..length], asked_by).expect("it is sent");
    let length = asking.recv(&mut buffer).expect("an answer");
    assert_eq!(&buffer[..length], b"question");
}

/// Packets refused by the kernel of each end (`/proc/net/xfrm_stat`), if it counts them.
fn refused_by_kernels(ends: [&Namespace; 2]) -> String {
    let counted = ends.map(|space| {
        let all = space.enter(|| std::fs::read_to_string("/proc/thread-self/net/xfrm_stat"));
        let all = all.ok().and_then(Result::ok).unwrap_or_default();
        let counted: Vec<&str> = all
            .lines()
            .filter(|line| !line.ends_with(" 0") && !line.ends_with("\t0"))
            .collect();
        counted.join(", ")
    });
    format!("{counted:?}")
}

/// Messages over an association of SCTP from the CU to the RIC between these addresses, each answered with itself.
fn carries(stage: &Stage, [cu, ric]: [IpAddr; 2], application: (u16, u32), many: usize) {
    carries_between([(&stage.cu, cu), (&stage.ric, ric)], application, many);
}

/// The same between any ends.
fn carries_between(ends: [(&Namespace, IpAddr); 2], (port, payload_protocol): (u16, u32), many: usize) {
    let [(here, from), (there, to)] = ends;
    let [from, to] = [(from, 0), (to, port)].map(SocketAddr::from);
    let opening = Opening::default();
    let listener = there.enter(|| Listener::bind(to, opening));
    let listener = listener.expect("a namespace").expect("a listener");
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut accepted, _) = listener.accept().expect("an association");
            accepted.set_patience(Some(PATIENCE)).expect("set");
            while let Ok(Arrival::Message(message)) = accepted.receive() {
                let _ = accepted.send(message.stream, message.payload_protocol, &message.bytes);
            }
        });
        let mut association = here
            .enter(|| Association::connect(from, to, opening))
            .expect("a namespace")
            .expect("it comes up");
        association.set_patience(Some(PATIENCE)).expect("set");
        for number in 0..many {
            // Longer than a packet: SCTP cuts it, and ESP carries the parts.
            let message = vec![number as u8; 3000];
            association
                .send(STREAM, payload_protocol, &message)
                .expect("it is sent");
            match association.receive().expect("an answer") {
                Arrival::Message(answer) => assert_eq!(answer.bytes, message),
                other => panic!("{other:?}"),
            }
        }
        association.finish().expect("it ends");
    });
}

/// The IKE_SAs that a node's ledger has, with how they came about.
fn ike_sas(stage: &Stage, node: &str) -> Vec<IkeSa> {
    let events = events(stage, node).into_iter();
    let sas = events.filter_map(|event| match event {
        Event::IkeSa(sa) => Some(*sa),
        _ => None,
    });
    sas.collect()
}

/// Returns true if a CHILD_SA has replaced another.
fn rekeyed_children(stage: &Stage, node: &str) -> bool {
    let mut events = events(stage, node).into_iter();
    events.any(|event| matches!(event, Event::ChildSa(sa) if sa.cause == Cause::Rekey && sa.mode == "TRANSPORT"))
}

/// Rekeys of both kinds, begun by this node.
fn rekeyed_by(stage: &Stage, node: &str) {
    for more in [&[][..], &["--ike"]] {
        let (code, report) = stage.json("rekey", node, more);
        assert_eq!(code, 0, "{node} {more:?}: {report}");
        // Not before each CHILD_SA is another: a first one says nothing of the others.
        let children = report["links"][0]["children"].as_array().expect("a list");
        let own = |sa: &Value| sa["key_exchanges"].as_array().map(Vec::len) == Some(2);
        let is_new = |child: &Value| child["sas"].as_array().expect("a list").iter().any(own);
        assert!(children.iter().all(is_new), "{node} {more:?}: {report}");
    }
    let report = stage.stands(node);
    let sas = report["links"][0]["children"][0]["sas"].as_array().expect("a list");
    let own = |sa: &Value| sa["key_exchanges"].as_array().map(Vec::len);
    assert!(
        sas.iter().all(|sa| own(sa) == Some(2)),
        "a rekey has its own key exchanges: {report}"
    );
}

#[test]
fn two_engines_of_ours_authenticate_by_ml_dsa_and_let_nothing_leave_unencrypted_in_any_phase() {
    if in_a_guest() {
        return;
    }
    let stage = Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, &[("E2", TUNNEL)]);
    nothing_leaves_unencrypted(&stage);
    for node in ["cu", "ric"] {
        let set_up: Vec<_> = ike_sas(&stage, node)
            .into_iter()
            .filter(|sa| sa.cause == Cause::SetUp)
            .collect();
        assert!(!set_up.is_empty());
        for sa in set_up {
            let names: Vec<_> = sa.key_exchanges.iter().map(|known| known.name.as_str()).collect();
            assert_eq!(names, ["Curve25519", "ml-kem-768"]);
            let proven = sa.authentication.expect("it was seen");
            assert_eq!(proven.forgery, Forgery::NotKnown, "{proven:?}");
            for method in [&proven.local, &proven.peer] {
                assert_eq!(method.as_deref(), Some("ML_DSA_65"));
            }
            assert_eq!(sa.verdict, Verdict::Accepted);
            let messages = sa.messages.expect("they were counted");
            // The responding end writes the record before its response leaves.
            let fragments = messages.fragments.sent + messages.fragments.received;
            assert!(fragments > 0 && messages.packets.received > 0, "{messages:?}");
            for chain in [&proven.local_chain, &proven.peer_chain] {
                assert_eq!(*chain, ["id-ml-dsa-65"]);
            }
        }
    }
}

#[test]
fn two_engines_of_ours_carry_sctp_of_e2_and_n2_through_rekeys_from_both_ends() {
    if in_a_guest() {
        return;
    }
    // N2 in a tunnel, rekeyed by both ends; E2 in transport mode, rekeyed for the packets that an SA may carry.
    let transport = "mode: transport, rekey-packets: 100";
    for (interface, link, ends, application, many) in [
        ("N2", TUNNEL, inner(), NGAP, MANY),
        // Each message takes three packets.
        ("E2", transport, OUTER.map(IpAddr::from), E2AP, 50),
    ] {
        let stage = Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, &[(interface, link)]);
        let both = up(&stage);
        let left: Left = leaving(&stage, interface, || {
            carries(&stage, ends, application, many);
            all_are_probed(&stage);
            if interface == "N2" {
                rekeyed_by(&stage, "cu");
                rekeyed_by(&stage, "ric");
            } else {
                eventually("it is rekeyed", || rekeyed_children(&stage, "cu").then_some(()));
            }
            carries(&stage, ends, application, many);
        });
        assert!(left.clear.is_empty(), "{interface}: {left:?}");
        assert!(left.protected.len() > 2 * MANY, "{interface}: {left:?}");
        if interface == "N2" {
            // Each is written some time after it stands.
            eventually("the two rekeys are recorded", || {
                let rekeys = ike_sas(&stage, "cu").into_iter().filter(|sa| sa.cause == Cause::Rekey);
                (rekeys.count() == 2).then_some(())
            });
            is_authenticated(&stage, "cu", "ML_DSA_65");
            // By another program, at one end and at both.
            for flushed in [&["ric"][..], &["cu", "ric"]] {
                let spi = || stage.json("status", "cu", &[]).1["links"][0]["children"][0]["sas"][0]["spi_out"].clone();
                let before = spi();
                for node in flushed {
                    stage.ip(node, &["xfrm", "state", "flush"]);
                }
                eventually("the SAs are replaced", || {
                    (spi() != before && spi().is_string()).then_some(())
                });
                is_up_once(&stage);
                carries(&stage, ends, application, many);
            }
        }
        assert_eq!(stage.json("down", "cu", &[]).0, 0);
        for process in both {
            process.terminate(PATIENCE).expect("it ends");
        }
    }
    packets_set_a_link_up_through_a_nat();
    ipv6_is_carried(OURS, Algorithm::MlDsa65, POST_QUANTUM);
}

/// A NAT before the RIC, which maps its address always alike (`BEHIND_NAT`).
fn nat_before_ric(stage: &Stage) {
    stage.ip("ric", &["address", "add", "10.99.0.5/32", "dev", "lo"]);
    for line in [
        "qdisc add dev v0 clsact",
        "filter add dev v0 ingress protocol ip u32 match ip dst 10.77.0.2/32 action nat ingress 10.77.0.2/32 10.99.0.5",
        "filter add dev v0 egress protocol ip u32 match ip src 10.99.0.5/32 action nat egress 10.99.0.5/32 10.77.0.2",
    ] {
        let tc = Program::new("tc").arguments(line.split(' ')).inside(&stage.ric);
        tc.run(PATIENCE).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

/// Every CHILD_SA is carried in UDP, as both ends report it.
fn is_in_udp(stage: &Stage) {
    for node in ["cu", "ric"] {
        let report = stage.stands(node);
        let children = report["links"][0]["children"].as_array().expect("a list");
        let in_udp = |child: &Value| child["sas"][0]["udp"] == true;
        assert!(children.iter().all(in_udp), "{node}: {report}");
    }
}

/// `start: trap`: nothing is set up until a packet asks for it, and that packet is not sent unencrypted; through a NAT.
fn packets_set_a_link_up_through_a_nat() {
    let link = format!("{TUNNEL}, {BEHIND_NAT}, start: trap");
    let stage = Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, &[("E2", &link)]);
    nat_before_ric(&stage);
    let both = [stage.up("ric"), stage.up("cu")];
    for node in ["cu", "ric"] {
        let (_, report) = stage.json("status", node, &[]);
        assert_eq!(report["links"][0]["ike"].as_array().map(Vec::len), Some(0), "{report}");
    }
    let left = leaving(&stage, "asked", || {
        carries(&stage, inner(), E2AP, MANY);
        is_up_once(&stage);
        rekeyed_by(&stage, "ric");
        carries(&stage, inner(), E2AP, MANY);
    });
    assert!(left.clear.is_empty() && left.protected.len() > 2 * MANY, "{left:?}");
    is_in_udp(&stage);
    for process in both {
        process.terminate(PATIENCE).expect("it ends");
    }
}

/// E2 and N3 in tunnels between addresses of IPv6, rekeyed by both ends.
fn ipv6_is_carried(engines: [&str; 2], algorithm: Algorithm, policy: &str) {
    let interfaces = ["E2", "N3"].map(|kind| (kind, TUNNEL_6));
    let stage = Stage::set_up_engines(engines, algorithm, policy, &interfaces);
    let both = up(&stage);
    let inner: [IpAddr; 2] = ["fd78::1", "fd78::2"].map(|text| text.parse().expect("an address"));
    let [at_cu, at_ric] = [(&stage.cu, inner[0]), (&stage.ric, inner[1])];
    let left = leaving(&stage, "ipv6", || {
        let all = || {
            carries(&stage, inner, E2AP, MANY);
            asks([at_cu, at_ric], GTP_U);
            asks([at_ric, at_cu], GTP_U);
        };
        all();
        for node in ["cu", "ric"] {
            rekeyed_by(&stage, node);
        }
        all();
    });
    assert!(left.clear.is_empty(), "{engines:?}: {left:?}");
    assert!(left.protected.len() > 2 * MANY, "{engines:?}: {left:?}");
    assert_eq!(stage.json("down", "cu", &[]).0, 0);
    for process in both {
        process.terminate(PATIENCE).expect("it ends");
    }
}

#[test]
fn an_engine_of_ours_and_strongswan_carry_five_interfaces_in_both_roles_and_rekey_from_both_ends() {
    if in_a_guest() {
        return;
    }
    // The CU sets the link up.
    for engines in [["strongswan", "bartizan"], ["bartizan", "strongswan"]] {
        // Once without a NAT, and once with one.
        let is_hidden = engines[1] == "strongswan";
        let behind = format!("{TUNNEL}, {BEHIND_NAT}");
        let interfaces = SEVERAL.map(|kind| (kind, if is_hidden { &behind[..] } else { TUNNEL }));
        let mut stage = Stage::set_up_engines(engines, Algorithm::EcdsaP384, "hybrid", &interfaces);
        if is_hidden {
            nat_before_ric(&stage);
        }
        let [ric, cu] = up(&stage);
        let [at_cu, at_ric] = [(&stage.cu, inner()[0]), (&stage.ric, inner()[1])];
        let left = leaving(&stage, "through", || {
            let all = || {
                for application in [E2AP, XNAP, E1AP] {
                    carries_between([at_cu, at_ric], application, MANY);
                }
                // The CU listens.
                carries_between([at_ric, at_cu], F1AP, MANY);
                for port in [GTP_U, PFCP] {
                    asks([at_cu, at_ric], port);
                    asks([at_ric, at_cu], port);
                }
            };
            all();
            for node in ["cu", "ric"] {
                rekeyed_by(&stage, node);
            }
            all();
            several_interfaces_are_probed(&stage);
        });
        let report = stage.stands("cu");
        let children = report["links"][0]["children"].as_array().map(Vec::len);
        assert_eq!(children, Some(OF_SEVERAL), "{engines:?}: {report}");
        if is_hidden {
            is_in_udp(&stage);
        }
        assert!(left.clear.is_empty(), "{engines:?}: {left:?}");
        assert!(left.protected.len() > 2 * MANY, "{engines:?}: {left:?}");
        for (node, words) in [("cu", "ECDSA_WITH_SHA384_DER"), ("ric", "ECDSA_WITH_SHA384_DER")] {
            let sas = ike_sas(&stage, node);
            let proven = sas[0].authentication.clone().expect("it was seen");
            assert_eq!(proven.peer.as_deref(), Some(words), "{engines:?} {node}");
            assert_eq!(proven.forgery, Forgery::PossibleLater);
            is_authenticated(&stage, node, words);
        }
        assert_eq!(stage.json("down", "cu", &[]).0, 0);
        eventually("the other end has none either", || {
            let (_, report) = stage.try_json("status", "ric")?;
            let sas = report["links"][0]["ike"].as_array()?;
            let established = sas.iter().filter(|sa| sa["state"] == "ESTABLISHED");
            (established.count() == 0).then_some(())
        });
        for process in [cu, ric] {
            process.terminate(PATIENCE).expect("it ends");
        }

        if !is_hidden {
            ipv6_is_carried(engines, Algorithm::EcdsaP384, "hybrid");
        }

        // A certificate that has run out is refused by either of them, and the ledger says why.
        let then = SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
        stage.issue("cu", then);
        let (ric, cu) = (stage.up("ric"), stage.up("cu"));
        is_recorded(&stage, "ric", Direction::Inbound, Refuser::Us, "expired");
        for process in [cu, ric] {
            process.terminate(PATIENCE).expect("it ends");
        }
    }
    charons_ask_the_same_child_first();
}

/// From the port to the port, which two CHILD_SAs are for; policies that are made anew stand behind
/// others of their priority.
fn charons_ask_the_same_child_first() {
    let stage = Stage::set_up_engines(["strongswan"; 2], Algorithm::EcdsaP384, "hybrid", &[("N4", TUNNEL)]);
    let both = up(&stage);
    let [at_cu, at_ric] = [(&stage.cu, inner()[0]), (&stage.ric, inner()[1])];
    for node in ["ric", "cu"] {
        asks([at_cu, at_ric], PFCP);
        asks([at_ric, at_cu], PFCP);
        let (code, report) = stage.json("rekey", node, &[]);
        assert_eq!(code, 0, "{report}");
    }
    for (space, out, into) in [(&stage.cu, "sport", "dport"), (&stage.ric, "dport", "sport")] {
        let listed = Program::new("ip").arguments(["xfrm", "policy"]).inside(space);
        let listed = listed.run(PATIENCE).expect("a list").text();
        let ranked = |direction: &str, port: &str| {
            let entries: Vec<&str> = listed.split("\nsrc ").collect();
            let entry = entries.iter().find(|entry| {
                let mut lines = entry.lines();
                lines
                    .next()
                    .is_some_and(|line| line.contains(&format!("{port} {PFCP}")))
                    && lines
                        .next()
                        .is_some_and(|line| line.contains(&format!("dir {direction} ")))
            });
            let rest = entry.and_then(|entry| entry.split("priority ").nth(1));
            let rest = rest.unwrap_or_else(|| panic!("{direction} {port}: {listed}"));
            rest.split_whitespace()
                .next()
                .and_then(|number| number.parse::<u32>().ok())
        };
        let other = |port: &str| if port == "sport" { "dport" } else { "sport" };
        // The CU's address is the lower one.
        assert!(ranked("out", out) < ranked("out", other(out)), "{listed}");
        assert!(ranked("in", into) < ranked("in", other(into)), "{listed}");
    }
    for process in both {
        process.terminate(PATIENCE).expect("it ends");
    }
}

#[test]
fn what_the_engine_cannot_use_is_said_before_anything_is_set_up() {
    let stage = Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, &[("E2", TUNNEL)]);
    stage.key_mode("cu", 0o644);
    let refused = stage.run("up", "cu", &["--no-guard"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("chmod 600"), "{}", stderr(&refused));
    stage.key_mode("cu", 0o600);
    if let Support::Absent(_) = Feature::Esp.tried() {
        let refused = stage.run("up", "cu", &["--no-guard"]);
        assert_eq!(refused.status.code(), Some(2));
        let complaint = stderr(&refused);
        assert!(complaint.contains("needs a kernel that does ESP"), "{complaint}");
    }
    // strongSwan is not given a key that it cannot use.
    let stage = Stage::set_up_engines(
        ["strongswan", "bartizan"],
        Algorithm::MlDsa65,
        "hybrid",
        &[("E2", TUNNEL)],
    );
    let refused = stage.run("up", "cu", &["--no-guard"]);
    assert_eq!(refused.status.code(), Some(2));
    let complaint = stderr(&refused);
    assert!(
        complaint.contains("which no released strongSwan can use"),
        "{complaint}"
    );
}
