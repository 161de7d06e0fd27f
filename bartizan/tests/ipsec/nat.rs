//! NAT between the ends of a link, of which one file says what each has as its own address and
//! where the other reaches it.

use std::thread;

use bartizan_host::{Namespace, Program};
use bartizan_ledger::{Cause, Event};
use bartizan_testing::{Capture, Direction, Port, connect};
use serde_json::Value;

use super::cleartext::raw;
use super::egress::{Left, Sender, counted};
use crate::stage::*;

/// Packets that are sent in each state.
const MANY: usize = 50;

/// Own addresses: of the CU's network, of the RIC's, and between the two.
const CU: &str = "192.168.1.2";
const RIC: &str = "10.0.0.5";
const NAT_OF_CU: &str = "203.0.113.1";
const NAT_OF_RIC: &str = "203.0.113.7";

/// Before which end a NAT is: of the CU it hides the address, of the RIC it forwards UDP 500 and 4500.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Cu,
    Ric,
    Both,
}

/// CU, router, router, RIC, in a row.
struct Path {
    stage: Stage,
    /// The CU's router and the RIC's.
    routers: [Namespace; 2],
}

impl Path {
    /// With these more settings of the link.
    fn set_up(before: Before, more: &str) -> Self {
        let [cu, near, far, ric] =
            ["cu", "near", "far", "ric"].map(|name| Namespace::create(name).expect("a namespace"));
        cable((&cu, "v0", CU), (&near, "i0", "192.168.1.1"));
        cable((&near, "o0", NAT_OF_CU), (&far, "o0", NAT_OF_RIC));
        cable((&far, "i0", "10.0.0.1"), (&ric, "v0", RIC));
        // A packet without an SA has a way to the peer, unencrypted.
        for (space, lines) in [
            (
                &cu,
                "address add 10.78.0.1/32 dev lo\nroute add default via 192.168.1.1\n",
            ),
            (
                &ric,
                "address add 10.78.0.2/32 dev lo\nroute add default via 10.0.0.1\n",
            ),
            (
                &near,
                "route add 10.78.0.1/32 via 192.168.1.2\nroute add 10.78.0.2/32 via 203.0.113.7\nroute add 10.0.0.0/24 via 203.0.113.7\n",
            ),
            (
                &far,
                "route add 10.78.0.2/32 via 10.0.0.5\nroute add 10.78.0.1/32 via 203.0.113.1\nroute add 192.168.1.0/24 via 203.0.113.1\n",
            ),
        ] {
            ip(space, lines);
        }
        for space in [&near, &far] {
            let forward = space.enter(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"));
            forward.expect("a namespace").expect("forwarding");
        }
        if before != Before::Ric {
            nft(
                &near,
                "chain p {\ntype nat hook postrouting priority 100\noifname \"o0\" masquerade\n}",
            );
        }
        if before != Before::Cu {
            nft(
                &far,
                "chain p {\ntype nat hook prerouting priority -100\niifname \"o0\" udp dport { 500, 4500 } dnat to 10.0.0.5\n}",
            );
        }
        let external = match before {
            Before::Cu => "external: { cu: any }",
            Before::Ric => "external: { ric: 203.0.113.7 }",
            Before::Both => "external: { cu: any, ric: 203.0.113.7 }",
        };
        let file = file(&format!("{external}{more}"));
        Self {
            stage: Stage::of_hosts([cu, ric], [file.clone(), file]),
            routers: [near, far],
        }
    }

    /// Packets on all cables in both directions while `act` runs.
    fn passing(&self, name: &str, act: impl FnOnce()) -> [Left; 3] {
        let places = [
            (&self.stage.cu, "v0"),
            (&self.routers[0], "o0"),
            (&self.stage.ric, "v0"),
        ];
        let captures = [0, 1, 2].map(|at| {
            let (space, interface) = places[at];
            let path = self.stage.path().join(format!("{name}.{at}"));
            Capture::start(Some(space), interface, &path, Direction::Both).expect("a capture")
        });
        act();
        captures.map(counted)
    }

    /// The link stands, and carries packets from the CU to the RIC.
    fn carries(&self) {
        let received = || {
            let (code, report) = self.stage.try_json("status", "ric")?;
            let of = &report["links"][0]["children"][0]["sas"];
            let bytes = of.as_array()?.iter().filter_map(|sa| sa["bytes"]["received"].as_u64());
            (code == 0).then(|| bytes.sum::<u64>())
        };
        let before = eventually("the RIC has the link", received);
        eventually("packets arrive", || received().filter(|now| *now > before));
        self.stage.stands("cu");
    }
}

/// Joins two interfaces, each with its address.
fn cable(one: (&Namespace, &str, &str), other: (&Namespace, &str, &str)) {
    let [one, other] = [one, other].map(|(space, name, address)| {
        let port = Port::new(space, name).address(&format!("{address}/24"));
        port.expect("an address")
    });
    connect(&one, &other, 1500).expect("a cable");
}

fn file(settings: &str) -> String {
    let node = |name: &str, function: &str, address: &str| {
        format!(
            "  {name}: {{ function: {function}, address: {address}, names: {{ dns: [{name}.test] }}, \
             ipsec: {{ certificate: {name}.crt.pem, key: {name}.key.pem, ledger: {name}.ledger }} }}\n"
        )
    };
    format!(
        "policy: hybrid\ntrust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\nnodes:\n{}{}interfaces:\n  \
         - {{ kind: E2, between: [cu, ric], with: ipsec, ipsec: {{ inner: {{ cu: [10.78.0.1], ric: [10.78.0.2] }}, {settings} }} }}\n",
        node("cu", "O-CU-CP", CU),
        node("ric", "near-RT RIC", RIC)
    )
}

fn ip(space: &Namespace, lines: &str) {
    let ip = Program::new("ip")
        .arguments(["-batch", "-"])
        .text(lines)
        .expect("a text");
    ip.inside(space)
        .run(PATIENCE)
        .unwrap_or_else(|error| panic!("{error}\n{lines}"));
}

fn nft(space: &Namespace, rules: &str) {
    let script = format!("table ip nat {{\n{rules}\n}}\n");
    let nft = Program::new("nft")
        .arguments(["-f", "-"])
        .text(&script)
        .expect("a text");
    nft.inside(space)
        .run(PATIENCE)
        .unwrap_or_else(|error| panic!("{error}"));
}

fn clear(left: &[Left]) -> Vec<usize> {
    left.iter().map(|left| left.clear.len()).collect()
}

/// Address at which an end of the link sees the other.
fn remote(report: &Value) -> &str {
    report["links"][0]["ike"][0]["remote"].as_str().unwrap_or_default()
}

/// Sends from the CU to the RIC meanwhile.
fn while_it_sends(path: &Path, act: impl FnOnce(&Sender)) {
    let sender = Sender::new(MANY);
    thread::scope(|scope| {
        let _stopped = sender.stopped();
        let send = raw(&path.stage);
        scope.spawn(|| sender.run(send));
        act(&sender);
    });
}

fn a_link_stands_carries_and_is_rekeyed_from_both_ends(before: Before) {
    let path = Path::set_up(before, "");
    let stage = &path.stage;
    while_it_sends(&path, |sender| {
        // Without a guard the packets are seen, on every cable.
        let seen = path.passing("before", || sender.many_more());
        assert!(clear(&seen).iter().all(|clear| *clear > 0), "{seen:?}");

        let (ric, cu) = (stage.up("ric"), stage.up("cu"));
        let seen = path.passing("through", || {
            path.carries();
            for node in ["ric", "cu"] {
                for more in [&[][..], &["--ike"]] {
                    let (code, report) = stage.json("rekey", node, more);
                    assert_eq!(code, 0, "{report}");
                    path.carries();
                }
            }
        });
        assert_eq!(clear(&seen), [0; 3], "{seen:?}");
        assert!(seen.iter().all(|left| left.protected.len() >= MANY), "{seen:?}");
        let report = stage.stands("ric");
        let from = if before == Before::Ric { CU } else { NAT_OF_CU };
        assert!(remote(&report).starts_with(from), "{report}");
        let (report, to) = (stage.stands("cu"), if before == Before::Cu { RIC } else { NAT_OF_RIC });
        assert!(remote(&report).starts_with(to), "{report}");

        // The CU's own loses it: the RIC, which cannot call it, sends nothing unencrypted
        // meanwhile, and the CU comes back.
        let seen = path.passing("again", || {
            cu.terminate(PATIENCE).expect("it ends");
            sender.many_more();
            let cu = stage.up("cu");
            path.carries();
            cu.terminate(PATIENCE).expect("it ends");
        });
        assert_eq!(clear(&seen), [0; 3], "{seen:?}");
        ric.terminate(PATIENCE).expect("it ends");
    });
}

#[test]
fn an_initiator_behind_nat_has_a_link_that_either_end_rekeys() {
    a_link_stands_carries_and_is_rekeyed_from_both_ends(Before::Cu);
}

#[test]
fn a_responder_behind_forwarded_ports_has_a_link_that_either_end_rekeys() {
    a_link_stands_carries_and_is_rekeyed_from_both_ends(Before::Ric);
}

#[test]
fn two_ends_behind_nat_have_a_link_that_either_end_rekeys() {
    a_link_stands_carries_and_is_rekeyed_from_both_ends(Before::Both);
}

#[test]
fn a_link_from_behind_nat_outlives_its_mapping() {
    a_link_outlives_its_mapping(Before::Cu);
}

#[test]
fn a_link_of_two_ends_behind_nat_outlives_its_mapping() {
    a_link_outlives_its_mapping(Before::Both);
}

fn a_link_outlives_its_mapping(before: Before) {
    // Nothing arrives at the CU: it asks this often whether its peer lives, and so notices the change.
    let path = Path::set_up(before, ", dpd: 2s");
    let stage = &path.stage;
    while_it_sends(&path, |_| {
        let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
        let seen = path.passing("moved", || {
            path.carries();
            // By MOBIKE, strongSwan 6.1.0 compares what a peer sees of it with what it saw at the
            // first such question: what changes before that is answered is never noticed.
            let log = stage.charon("cu").join("charon.log");
            eventually("the CU asks whether its peer lives", || {
                let log = std::fs::read_to_string(&log).ok()?;
                // The request has NAT detection payloads: it would otherwise be no check of the
                // address.
                let answered =
                    |line: &str| line.contains("parsed INFORMATIONAL response") && line.contains("NATD_D_IP");
                (before != Before::Both || log.lines().any(answered)).then_some(())
            });
            // A line is dialled anew: the CU's NAT has another address, and no mapping.
            ip(
                &path.routers[0],
                "address delete 203.0.113.1/24 dev o0\naddress add 203.0.113.9/24 dev o0\n\
                 route replace 10.78.0.2/32 via 203.0.113.7\nroute replace 10.0.0.0/24 via 203.0.113.7\n",
            );
            eventually("the RIC hears it from its new address", || {
                let (code, report) = stage.try_json("status", "ric")?;
                (code == 0 && remote(&report).starts_with("203.0.113.9")).then_some(())
            });
            path.carries();
            let (code, report) = stage.json("rekey", "ric", &[]);
            assert_eq!(code, 0, "{report}");
            path.carries();
        });
        assert_eq!(clear(&seen), [0; 3], "{seen:?}");
        // The SAs moved: nothing was set up anew.
        let begun = |event: &Event| matches!(event, Event::IkeSa(sa) if sa.cause == Cause::SetUp);
        assert_eq!(events(stage, "ric").iter().filter(|event| begun(event)).count(), 1);
    });
}
