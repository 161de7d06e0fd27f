//! Interfaces of this host that take shorter packets than the file says.

use std::net::IpAddr;

use bartizan_deployment::{DataPath, Deployment};
use bartizan_host::Interface;

use super::{Remark, Severity};

/// Remarks on the links of a node that does ESP in user space, where an interface of this host has
/// the address of the node's end: ESP packets
/// longer than the interface's MTU are sent one by one and in fragments. On another host there is
/// nothing to compare.
#[must_use]
pub fn interfaces(deployment: &Deployment, node: &str) -> Vec<Remark> {
    // An interface that cannot be read is not compared.
    remarks(deployment, node, &|address| Interface::with(address).ok().flatten())
}

fn remarks(deployment: &Deployment, node: &str, at: &dyn Fn(IpAddr) -> Option<Interface>) -> Vec<Remark> {
    let own = deployment.node(node).and_then(|node| node.ipsec.as_ref());
    if !own.is_some_and(|own| own.data_path == DataPath::Userspace) {
        return Vec::new();
    }
    let links = deployment.ipsec_links(node).filter_map(|(_, interface, link)| {
        let (here, _) = link.ends_from(node)?;
        let carrier = at(here.outer).filter(|carrier| carrier.mtu < u32::from(link.mtu))?;
        let [one, other] = &interface.between;
        Some(Remark::new(
            Severity::Noted,
            format!("{} {one} -- {other}", interface.kind.name()),
            format!(
                "the interface {} takes packets of {} octets, and the file says {}: long ESP packets leave in fragments",
                carrier.name, carrier.mtu, link.mtu
            ),
            format!("write `mtu: {}` for the link at both ends, or raise the interface's MTU", carrier.mtu),
        ))
    });
    links.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn interface_that_takes_less_than_the_file_says_is_reported_of_a_node_that_does_esp_itself() {
        let said = |own: &str, mtu: u32| {
            let text = format!(
                "policy: hybrid\ntrust: {{ roots: r }}\nnodes:\n  \
                 cu: {{ function: O-CU-CP, address: 10.0.0.1, ipsec: {{ certificate: c, key: k, engine: bartizan{own} }} }}\n  \
                 ric: {{ function: near-RT RIC, address: 10.0.0.2 }}\n\
                 interfaces:\n  - {{ kind: E2, between: [cu, ric], with: ipsec }}\n"
            );
            let deployment = Deployment::parse(&text, "e2.yaml", Path::new("/")).expect("a deployment");
            let carrier = |address: IpAddr| {
                (address.to_string() == "10.0.0.1").then(|| Interface {
                    name: "v0".to_owned(),
                    mtu,
                    ..Interface::default()
                })
            };
            let remarks = remarks(&deployment, "cu", &carrier);
            remarks.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let userspace = ", data-path: userspace";
        assert_eq!(said(userspace, 1500), Vec::<String>::new());
        assert_eq!(said("", 1400), Vec::<String>::new());
        assert_eq!(
            said(userspace, 1400),
            [
                "E2 cu -- ric: the interface v0 takes packets of 1400 octets, and the file says 1500: long ESP packets leave in fragments"
            ]
        );
    }
}
