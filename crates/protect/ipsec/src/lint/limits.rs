//! Requirements of a node's links beyond the abilities of Bartizan's engine, known from the file
//! alone.

use bartizan_deployment::{CopyDscp, DataPath, Deployment, External, IkeEngine, Interface, IpsecLink, Mode};

use super::{Remark, Severity};

/// Remarks on the links of a node whose engine is Bartizan's; none on those of another.
#[must_use]
pub fn limits(deployment: &Deployment, node: &str) -> Vec<Remark> {
    let own = deployment.node(node).and_then(|node| node.ipsec.as_ref());
    if !own.is_some_and(|own| own.engine == IkeEngine::Bartizan) {
        return Vec::new();
    }
    let in_user_space = own.is_some_and(|own| own.data_path == DataPath::Userspace);
    let mut remarks = Vec::new();
    for (_, interface, link) in deployment.ipsec_links(node) {
        if in_user_space && link.mode == Mode::Transport {
            let [one, other] = &interface.between;
            let about = format!("{} {one} -- {other}", interface.kind.name());
            let cause = "is in transport mode, and ESP in user space has tunnel mode alone".to_owned();
            let hint = "leave `mode` out, or `data-path` where the node's kernel has ESP";
            remarks.push(Remark::new(Severity::Refused, about, cause, hint));
        }
        of_link(interface, link, &mut |severity, cause: String, hint: &str| {
            let [one, other] = &interface.between;
            let about = format!("{} {one} -- {other}", interface.kind.name());
            remarks.push(Remark::new(severity, about, cause, hint));
        });
    }
    remarks
}

const STRONGSWAN: &str = "write `engine: strongswan` for the node, whose charon does this";

fn of_link(interface: &Interface, link: &IpsecLink, say: &mut dyn FnMut(Severity, String, &str)) {
    if link.ends.iter().any(|end| end.external == External::Any) {
        let cause =
            "crosses a NAT that gives an end its address, and the engine of Bartizan follows no peer behind one"
                .to_owned();
        say(Severity::Refused, cause, STRONGSWAN);
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
    // The profile's key exchanges are checked, whatever policy is in effect on the day.
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
            ("copy-dscp: both", "asks for `copy-dscp: both`"),
            ("external: { cu: any }", "crosses a NAT"),
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
    fn several_kinds_of_packets_and_links_between_the_same_addresses_are_within_its_limits() {
        assert_eq!(
            said("bartizan", "selectors: [{ protocol: udp, port: 2152 }]", ""),
            Vec::<String>::new()
        );
        let more = "  - { kind: F1-C, between: [cu, ric], with: ipsec }\n";
        assert_eq!(said("bartizan", "", more), Vec::<String>::new());
        // A NAT that maps an address always alike is found by IKE.
        assert_eq!(
            said("bartizan", "external: { cu: 192.0.2.9 }", ""),
            Vec::<String>::new()
        );
    }
}
