//! Two links of one file between the same two nodes, each over a pair of addresses of its own:
//! charon compares identities alone.

use bartizan_host::{Namespace, Process, Program};
use bartizan_ledger::{Event, Why};
use bartizan_testing::Wiring as _;
use bartizan_testing::{Port, connect};
use serde_json::Value;

use super::cleartext::sctp;
use crate::stage::*;

const LINKS: [&str; 2] = ["cu--ric", "cu--ric--2"];

fn set_up() -> Stage {
    let [cu, ric] = ["cu", "ric"].map(|name| Namespace::create(name).expect("a namespace"));
    for (interface, network, inner) in [("v0", "10.77.0", "10.78.0"), ("v1", "10.87.0", "10.88.0")] {
        let [here, there] = [(&cu, 1), (&ric, 2)].map(|(space, number)| {
            let port = Port::new(space, interface).address(&format!("{network}.{number}/24"));
            port.expect("an address")
        });
        connect(&here, &there, 1500).expect("a cable");
        // A packet without an SA has a way to the peer, unencrypted.
        for (space, own, other) in [(&cu, 1, 2), (&ric, 2, 1)] {
            let [own, other] =
                [own, other].map(|number| (format!("{inner}.{number}/32"), format!("{network}.{number}")));
            space
                .add_address("lo", own.0.parse().expect("an address"))
                .expect("an address");
            let (to, hop) = (
                other.0.parse().expect("a network"),
                other.1.parse().expect("an address"),
            );
            space.add_route(to, Some(hop), interface).expect("a route");
        }
    }
    let node = |name: &str, function: &str, number: u8| {
        format!(
            "  {name}: {{ function: {function}, address: 10.77.0.{number}, names: {{ dns: [{name}.test] }}, \
             ipsec: {{ certificate: {name}.crt.pem, key: {name}.key.pem, ledger: {name}.ledger }} }}\n"
        )
    };
    let file = format!(
        "policy: hybrid\ntrust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\nnodes:\n{}{}interfaces:\n  \
         - {{ kind: E2, between: [cu, ric], with: ipsec, ipsec: {{ inner: {{ cu: [10.78.0.1], ric: [10.78.0.2] }} }} }}\n  \
         - {{ kind: O1, between: [cu, ric], with: ipsec, ipsec: {{ outer: {{ cu: 10.87.0.1, ric: 10.87.0.2 }}, \
         inner: {{ cu: [10.88.0.1], ric: [10.88.0.2] }}, selectors: [{{ protocol: any }}] }} }}\n",
        node("cu", "O-CU-CP", 1),
        node("ric", "near-RT RIC", 2)
    );
    Stage::of_hosts([cu, ric], [file.clone(), file])
}

/// Drops what this node sends of the exchange IKE_AUTH (35): RFC 7296, section 3.1, behind UDP's
/// header and the marker of RFC 3948, section 2.2.
const NO_IKE_AUTH: &str = "table inet test {\nchain out {\ntype filter hook output priority 0;\n\
     udp dport 4500 @th,64,32 0 @th,240,8 35 drop\n}\n}\n";

fn nft(space: &Namespace, script: &str) {
    let nft = Program::new("nft").arguments(["-f", "-"]).text(script).expect("a text");
    nft.inside(space).run(PATIENCE).expect("nft");
}

/// Starts `up` of the CU, and lets its IKE_AUTH requests go when those of both links are made:
/// neither knows of the other then.
fn up_at_once(stage: &Stage) -> Process {
    nft(&stage.cu, NO_IKE_AUTH);
    let cu = stage.up("cu");
    let log = stage.charon("cu").join("charon.log");
    eventually("both are made", || {
        let log = std::fs::read_to_string(&log).ok()?;
        let made = |link: &&str| {
            let of_link = format!("<{link}|");
            log.lines()
                .any(|line| line.contains(&of_link) && line.contains("generating IKE_AUTH request"))
        };
        LINKS.iter().all(made).then_some(())
    });
    nft(&stage.cu, "delete table inet test\n");
    cu
}

/// The SPIs of the IKE_SAs of both links.
fn spis(report: &Value) -> [Vec<Value>; 2] {
    [0, 1].map(|link| {
        assert_eq!(report["links"][link]["connection"], LINKS[link], "{report}");
        let sas = report["links"][link]["ike"].as_array().expect("a list").iter();
        sas.map(|sa| sa["spis"].clone()).collect()
    })
}

/// Waits until both links are up with one IKE_SA each, the same at both ends; what these are.
fn settled(stage: &Stage) -> [Vec<Value>; 2] {
    stage.settled();
    eventually("each link has one IKE_SA, the same at both ends", || {
        let both = ["cu", "ric"].map(|node| stage.try_json("status", node));
        let [Some((0, cu)), Some((0, ric))] = both else {
            return None;
        };
        let (cu, ric) = (spis(&cu), spis(&ric));
        (cu == ric && cu.iter().all(|sas| sas.len() == 1)).then_some(cu)
    })
}

/// One of several IKE_SAs of the same link has ended, as both ends had begun.
fn is_within_its_link(why: &Why) -> bool {
    matches!(why, Why::Duplicate | Why::Replaced)
}

/// Waits until the node's ledger has the end of what its peer has forgotten; where both ends have
/// begun there are duplicates of links besides.
fn peer_restarted(stage: &Stage, node: &str) {
    let ends = eventually("the ends are recorded", || {
        let mut ends = ends(stage, node);
        ends.retain(|why| !is_within_its_link(why));
        (ends.len() == 2).then_some(ends)
    });
    assert_eq!(ends, [Why::PeerRestarted; 2], "{node}");
}

/// Its charon goes with it.
fn kill(stage: &Stage, node: &str, mut up: Process) {
    up.send(libc::SIGKILL);
    eventually("charon is gone", || stage.charon_process(node).is_none().then_some(()));
}

#[test]
fn two_links_between_the_same_nodes_come_up_at_once_and_again_after_either_end_was_killed() {
    let stage = set_up();
    let mut ric = stage.up("ric");
    let mut cu = up_at_once(&stage);
    let first = settled(&stage);
    // Neither was deleted for the sake of the other: where this end took long the other has begun
    // as well, and what a link has twice ends as a duplicate within it.
    for node in ["cu", "ric"] {
        eventually("each link is recorded once, but for duplicates", || {
            let set_up = events(&stage, node);
            let set_up = set_up.iter().filter(|event| matches!(event, Event::IkeSa(_))).count();
            let ends = ends(&stage, node);
            assert!(ends.iter().all(is_within_its_link), "{node}: {ends:?}");
            (set_up == 2 + ends.len()).then_some(())
        });
    }
    kill(&stage, "ric", ric);
    ric = stage.up("ric");
    let second = settled(&stage);
    assert!((0..2).all(|link| first[link] != second[link]), "{first:?} {second:?}");
    peer_restarted(&stage, "cu");
    kill(&stage, "cu", cu);
    cu = up_at_once(&stage);
    let third = settled(&stage);
    assert!((0..2).all(|link| second[link] != third[link]), "{second:?} {third:?}");
    peer_restarted(&stage, "ric");
    for (node, up) in [("cu", cu), ("ric", ric)] {
        assert_eq!(up.terminate(PATIENCE).expect("it ends").code(), Some(0), "{node}");
    }
}

/// Packets of a link that the guard has dropped, leaving, translated and arriving, as `status` has
/// them.
fn dropped(report: &Value, link: &str) -> [Option<u64>; 3] {
    let links = report["cleartext"]["links"].as_array().expect("a list");
    let of_it = links.iter().find(|of| of["link"] == link).expect("the link");
    ["dropped_leaving", "dropped_translated", "dropped_arriving"].map(|field| of_it[field].as_u64())
}

#[test]
fn packets_that_the_guard_drops_are_counted_by_status_and_metrics_as_those_of_their_link_alone() {
    const SERVED: u16 = 9464;
    let stage = set_up();
    // Its peer is not there: what it sends finds no SA.
    let _cu = stage.up_with("cu", &["--metrics", &format!("127.0.0.1:{SERVED}")]);
    let counted = |e2: [u64; 3], o1: [u64; 3]| {
        for (link, counts) in [("ric-E2", e2), ("ric-O1", o1)] {
            for (direction, count) in ["leaving", "translated", "arriving"].iter().zip(counts) {
                let wanted = format!(
                    "bartizan_ipsec_guard_dropped_total{{link=\"{link}\",direction=\"{direction}\"}} {count}\n"
                );
                eventually(&wanted, || stage.metrics("cu", SERVED).contains(&wanted).then_some(()));
            }
            let (_, report) = stage.try_json("status", "cu").expect("it is watched");
            assert_eq!(dropped(&report, link), counts.map(Some), "{link}: {report}");
        }
    };
    counted([0; 3], [0; 3]);
    // charon's routes for its traps lead to its own device, where the packets would be lost uncounted.
    stage.ip("cu", &["route", "flush", "table", "220"]);
    let [e2_of_cu, e2_of_ric] = [[10, 78, 0, 1], [10, 78, 0, 2]];
    let mut send = sctp(&stage.cu, [(e2_of_cu, 40_000), (e2_of_ric, 36_421)]);
    (0..5).for_each(|_| send());
    counted([5, 0, 0], [0; 3]);
    let mut send = sctp(&stage.ric, [(e2_of_ric, 36_421), (e2_of_cu, 40_000)]);
    (0..3).for_each(|_| send());
    counted([5, 0, 3], [0; 3]);
    let mut send = sctp(&stage.cu, [([10, 88, 0, 1], 40_000), ([10, 88, 0, 2], 36_421)]);
    (0..2).for_each(|_| send());
    counted([5, 0, 3], [2, 0, 0]);
    // Packets of neither link: between the nodes' own addresses.
    let mut send = sctp(&stage.cu, [([10, 77, 0, 1], 40_000), ([10, 77, 0, 2], 36_421)]);
    (0..2).for_each(|_| send());
    counted([5, 0, 3], [2, 0, 0]);
}
