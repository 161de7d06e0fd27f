//! What of a node's links the engine of Bartizan cannot do, known from the file alone.

use bartizan_deployment::{CopyDscp, Deployment, External, IkeEngine, Interface, IpsecLink, Mode, Start};

use super::{Remark, Severity};
use crate::traffic;

/// Remarks on the links of a node whose engine is Bartizan's; none on those of another.
#[must_use]
pub fn limits(deployment: &Deployment, node: &str) -> Vec<Remark> {
    let own = deployment.node(node).and_then(|node| node.ipsec.as_ref());
    if !own.is_some_and(|own| own.engine == IkeEngine::Bartizan) {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    let mut peers = Vec::new();
    for (_, interface, link) in deployment.ipsec_links(node) {
        of_link(node, interface, link, &mut |severity, cause: String, hint: &str| {
            let [one, other] = &interface.between;
            let about = format!("{} {one} -- {other}", interface.kind.name());
            remarks.push(Remark::new(severity, about, cause, hint));
        });
        let Some((_, there)) = link.ends_from(node) else {
            continue;
        };
        let address = there.outer;
        if peers.contains(&address) {
            let [one, other] = &interface.between;
            let about = format!("{} {one} -- {other}", interface.kind.name());
            let cause = "goes to an address to which another link of the node goes, and the engine of Bartizan has one CHILD_SA in an IKE_SA \
                         and one IKE_SA to an address";
            remarks.push(Remark::new(Severity::Refused, about, cause, STRONGSWAN));
        }
        peers.push(address);
    }
    remarks
}

const STRONGSWAN: &str = "write `engine: strongswan` for the node, whose charon does this";

fn of_link(node: &str, interface: &Interface, link: &IpsecLink, say: &mut dyn FnMut(Severity, String, &str)) {
    let pairs = traffic::pairs(node, link).len();
    if pairs > 1 {
        let cause = format!(
            "is for {pairs} kinds of packets in a CHILD_SA each, and the engine of Bartizan has one in an IKE_SA"
        );
        let hint = "name one protocol, and at which end its port is, in `selectors`; or write `engine: strongswan` for the node";
        say(Severity::Refused, cause, hint);
    }
    if link.ends.iter().any(|end| end.external != External::Same) {
        let cause = "crosses a NAT, and the engine of Bartizan follows no peer behind one".to_owned();
        say(Severity::Refused, cause, STRONGSWAN);
    }
    if link.start == Start::Trap {
        let cause = "is to be set up by the first packet, and the engine of Bartizan sets links up at once".to_owned();
        say(Severity::Refused, cause, "leave `start` out");
    }
    if link.mode == Mode::Tunnel && link.copy_dscp != CopyDscp::Out {
        let cause = format!(
            "asks for `copy-dscp: {}`, and the engine of Bartizan copies the DSCP of packets to the tunnel alone",
            link.copy_dscp.name()
        );
        say(Severity::Refused, cause, "leave `copy-dscp` out");
    }
    if link.ike_dscp != 0 {
        let cause = "asks for a DSCP of IKE packets, which the engine of Bartizan does not mark".to_owned();
        say(
            Severity::Noted,
            cause,
            "leave `ike-dscp` out, or mark UDP 500 and 4500 by nftables",
        );
    }
    // Whatever the policy of the day is: the key exchanges of the profile are what is asked for.
    let lacking = interface.policy.ipsec.key_exchanges.iter().filter(|exchange| {
        let mut methods = exchange.methods().iter();
        methods.any(|method| bartizan_ike::key_exchange(bartizan_wire::ike::KeyExchangeMethod(method.id())).is_none())
    });
    for exchange in lacking {
        let cause = format!("names {exchange}, which the engine of Bartizan does not have");
        let hint = "it has x25519, ecp256, ecp384, ecp521, mlkem512, mlkem768 and mlkem1024";
        say(Severity::Refused, cause, hint);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn said(engine: &str, settings: &str, more: &str) -> Vec<String> {
        let node = |name: &str, function: &str, number: u8| {
            format!(
                "  {name}: {{ function: {function}, address: 10.0.0.{number}, ipsec: {{ certificate: c, key: k, engine: {engine} }} }}\n"
            )
        };
        let text = format!(
            "policy: hybrid\ntrust: {{ roots: r }}\nnodes:\n{}{}interfaces:\n  - {{ kind: E2, between: [cu, ric], with: ipsec, ipsec: {{ {settings} }} }}\n{more}",
            node("cu", "O-CU-CP", 1),
            node("ric", "near-RT RIC", 2)
        );
        let deployment = Deployment::parse(&text, "e2.yaml", Path::new("/")).expect("a deployment");
        let remarks = limits(&deployment, "cu");
        let noted = |remark: &Remark| format!("{:?} {}", remark.severity, remark.cause);
        remarks.iter().map(noted).collect()
    }

    #[test]
    fn the_default_link_is_within_the_limits_of_the_engine() {
        assert_eq!(said("bartizan", "", ""), Vec::<String>::new());
    }

    #[test]
    fn what_the_engine_does_not_do_is_said_of_its_own_nodes_alone() {
        for (settings, cause) in [
            ("start: trap", "is to be set up by the first packet"),
            ("copy-dscp: both", "asks for `copy-dscp: both`"),
            ("external: { cu: any }", "crosses a NAT"),
            (
                "selectors: [{ protocol: udp, port: 2152 }]",
                "is for 2 kinds of packets",
            ),
        ] {
            let remarks = said("bartizan", settings, "");
            assert!(
                remarks.len() == 1 && remarks[0].starts_with(&format!("Refused {cause}")),
                "{settings}: {remarks:?}"
            );
            assert_eq!(said("strongswan", settings, ""), Vec::<String>::new());
        }
        let dscp = said("bartizan", "ike-dscp: 46", "");
        assert!(
            dscp.len() == 1 && dscp[0].starts_with("Noted asks for a DSCP"),
            "{dscp:?}"
        );
    }

    #[test]
    fn a_second_link_to_the_same_address_is_refused() {
        let more = "  - { kind: F1-C, between: [cu, ric], with: ipsec }\n";
        let remarks = said("bartizan", "", more);
        let is_it = |remark: &String| remark.starts_with("Refused goes to an address");
        assert_eq!(remarks.iter().filter(|remark| is_it(remark)).count(), 1, "{remarks:?}");
    }
}
