//! Nodes whose engine is Bartizan's own: between two of them, against strongSwan in both roles, and with what it refuses. On the ESP of a guest's
//! kernel, which this machine's may not have.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, SystemTime};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use bartizan_host::{Feature, Process};
use bartizan_ledger::{Cause, Direction, Event, Forgery, IkeSa, Refuser, Verdict};
use bartizan_pki::Algorithm;
use serde_json::Value;

use super::egress::{Left, leaving};
use super::guest::{INNER, MANY, OUTER, in_a_guest_as, nothing_leaves_unencrypted};
use super::{is_recorded, stderr};
use crate::stage::*;

const POST_QUANTUM: &str = "{ profile: hybrid, ipsec: { authentication: post-quantum } }";
const OURS: [&str; 2] = ["bartizan"; 2];
/// A tunnel between the inner addresses.
const TUNNEL: &str = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }";
/// Ports and payload protocols.
const E2AP: (u16, u32) = (36_421, 70);
const NGAP: (u16, u32) = (38_412, 60);
const STREAM: u16 = 0;

/// Both ends up, and the link with them: one IKE_SA, also where both ends have begun.
fn up(stage: &Stage) -> [Process; 2] {
    let both = [stage.up("ric"), stage.up("cu")];
    for node in ["cu", "ric"] {
        eventually("the link is up once", || {
            let report = stage.stands(node);
            let count = |of: &Value| of.as_array().map(Vec::len);
            let link = &report["links"][0];
            (count(&link["ike"]) == Some(1) && count(&link["children"][0]["sas"]) == Some(1)).then_some(())
        });
    }
    both
}

/// Messages over an association of SCTP between these addresses, each answered with itself.
fn carries(stage: &Stage, ends: [Ipv4Addr; 2], (port, payload_protocol): (u16, u32), many: usize) {
    let [from, to] = [(ends[0], 0), (ends[1], port)].map(SocketAddr::from);
    let opening = Opening::default();
    let listener = stage.ric.enter(|| Listener::bind(to, opening));
    let listener = listener.expect("a namespace").expect("a listener");
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut accepted, _) = listener.accept().expect("an association");
            accepted.set_patience(Some(PATIENCE)).expect("set");
            while let Ok(Arrival::Message(message)) = accepted.receive() {
                let _ = accepted.send(message.stream, message.payload_protocol, &message.bytes);
            }
        });
        let mut association = stage
            .cu
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

/// Whether a CHILD_SA has taken the place of another.
fn rekeyed_children(stage: &Stage, node: &str) -> bool {
    let mut events = events(stage, node).into_iter();
    events.any(|event| matches!(event, Event::ChildSa(sa) if sa.cause == Cause::Rekey && sa.mode == "TRANSPORT"))
}

/// Rekeys of both kinds, begun by this node.
fn rekeyed_by(stage: &Stage, node: &str) {
    for more in [&[][..], &["--ike"]] {
        let (code, report) = stage.json("rekey", node, more);
        assert_eq!(code, 0, "{node} {more:?}: {report}");
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
    if in_a_guest_as(
        "engine::two_engines_of_ours_authenticate_by_ml_dsa_and_let_nothing_leave_unencrypted_in_any_phase",
    ) {
        return;
    }
    let stage = Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, ("E2", TUNNEL));
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
            // Of the end that answers the record is written before its answer leaves.
            let fragments = messages.fragments.sent + messages.fragments.received;
            assert!(fragments > 0 && messages.packets.received > 0, "{messages:?}");
            assert_eq!(proven.peer_chain, ["id-ml-dsa-65"]);
        }
    }
}

#[test]
fn two_engines_of_ours_carry_sctp_of_e2_and_n2_through_rekeys_from_both_ends() {
    if in_a_guest_as("engine::two_engines_of_ours_carry_sctp_of_e2_and_n2_through_rekeys_from_both_ends") {
        return;
    }
    // N2 in a tunnel, rekeyed by both ends; E2 in transport mode, rekeyed for the packets that an SA may carry.
    let transport = "mode: transport, rekey-packets: 100";
    for (interface, link, ends, application, many) in [
        ("N2", TUNNEL, INNER, NGAP, MANY),
        // Each message takes three packets.
        ("E2", transport, OUTER, E2AP, 50),
    ] {
        let stage = Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, (interface, link));
        let both = up(&stage);
        let left: Left = leaving(&stage, interface, || {
            carries(&stage, ends, application, many);
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
            let rekeys = ike_sas(&stage, "cu").into_iter().filter(|sa| sa.cause == Cause::Rekey);
            assert_eq!(rekeys.count(), 2);
        }
        assert_eq!(stage.json("down", "cu", &[]).0, 0);
        for process in both {
            process.terminate(PATIENCE).expect("it ends");
        }
    }
}

#[test]
fn an_engine_of_ours_and_strongswan_carry_e2_in_both_roles_and_rekey_from_both_ends() {
    if in_a_guest_as("engine::an_engine_of_ours_and_strongswan_carry_e2_in_both_roles_and_rekey_from_both_ends") {
        return;
    }
    // The CU sets the link up.
    for engines in [["strongswan", "bartizan"], ["bartizan", "strongswan"]] {
        let mut stage = Stage::set_up_engines(engines, Algorithm::EcdsaP384, "hybrid", ("E2", TUNNEL));
        let [ric, cu] = up(&stage);
        let left = leaving(&stage, "through", || {
            carries(&stage, INNER, E2AP, MANY);
            for node in ["cu", "ric"] {
                rekeyed_by(&stage, node);
            }
            carries(&stage, INNER, E2AP, MANY);
        });
        assert!(left.clear.is_empty(), "{engines:?}: {left:?}");
        assert!(left.protected.len() > 2 * MANY, "{engines:?}: {left:?}");
        for (node, words) in [("cu", "ECDSA_WITH_SHA384_DER"), ("ric", "ECDSA_WITH_SHA384_DER")] {
            let sas = ike_sas(&stage, node);
            let proven = sas[0].authentication.clone().expect("it was seen");
            assert_eq!(proven.peer.as_deref(), Some(words), "{engines:?} {node}");
            assert_eq!(proven.forgery, Forgery::PossibleLater);
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

        // A certificate that has run out is refused by either of them, and the ledger says why.
        let then = SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
        stage.issue("cu", then);
        let (ric, cu) = (stage.up("ric"), stage.up("cu"));
        is_recorded(&stage, "ric", Direction::Inbound, Refuser::Us, "expired");
        for process in [cu, ric] {
            process.terminate(PATIENCE).expect("it ends");
        }
    }
}

#[test]
fn what_the_engine_cannot_use_is_said_before_anything_is_set_up() {
    let stage = Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, ("E2", TUNNEL));
    stage.key_mode("cu", 0o640);
    let refused = stage.run("up", "cu", &["--no-guard"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("chmod 600"), "{}", stderr(&refused));
    stage.key_mode("cu", 0o600);
    if !Feature::Esp.tried().present() {
        let refused = stage.run("up", "cu", &["--no-guard"]);
        assert_eq!(refused.status.code(), Some(2));
        let complaint = stderr(&refused);
        assert!(complaint.contains("needs a kernel that does ESP"), "{complaint}");
    }
    // strongSwan is not given a key that it cannot use.
    let stage = Stage::set_up_engines(["strongswan", "bartizan"], Algorithm::MlDsa65, "hybrid", ("E2", TUNNEL));
    let refused = stage.run("up", "cu", &["--no-guard"]);
    assert_eq!(refused.status.code(), Some(2));
    let complaint = stderr(&refused);
    assert!(
        complaint.contains("which no released strongSwan can use"),
        "{complaint}"
    );
}
