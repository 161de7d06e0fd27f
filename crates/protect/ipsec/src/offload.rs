//! Network cards that do ESP (`offload: crypto` of a node).
//!
//! A card that cannot leaves ESP to the kernel. Linux falls back by itself; charon refuses the SA.

use std::net::IpAddr;

use bartizan_deployment::{Deployment, Offload};
use bartizan_host::Interface;

use crate::lint::{Remark, Severity};
use crate::render::Connection;

/// The feature of `ethtool -k`.
const FEATURE: &str = "esp-hw-offload";

/// Has each connection whose network card does no ESP leave it to the kernel.
pub fn only_where_possible(connections: &mut [Connection]) {
    let asked = connections.iter_mut().filter(|known| known.offload != Offload::No);
    for connection in asked.filter(|known| lack(known.local).is_some()) {
        connection.offload = Offload::No;
    }
}

/// Remarks on the links of a node that asks for offload, where its network card does none.
#[must_use]
pub fn remarks(deployment: &Deployment, node: &str) -> Vec<Remark> {
    of_links(deployment, node, &lack)
}

/// The reason that no network card does ESP for this address; none where one does.
fn lack(local: IpAddr) -> Option<String> {
    let Ok(Some(card)) = Interface::with(local) else {
        return Some(format!("no interface of this host has {local}"));
    };
    match card.has_feature(FEATURE) {
        Ok(Some(true)) => None,
        Ok(Some(false)) => Some(format!("the interface {} does no ESP ({FEATURE} is off)", card.name)),
        Ok(None) | Err(_) => Some(format!("the kernel does not say whether {} does ESP", card.name)),
    }
}

fn of_links(deployment: &Deployment, node: &str, lack: &dyn Fn(IpAddr) -> Option<String>) -> Vec<Remark> {
    let own = deployment.node(node).and_then(|node| node.ipsec.as_ref());
    if own.is_none_or(|own| own.offload == Offload::No) {
        return Vec::new();
    }
    let links = deployment.ipsec_links(node).filter_map(|(_, interface, link)| {
        let (here, _) = link.ends_from(node)?;
        let lack = lack(here.outer)?;
        let [one, other] = &interface.between;
        Some(Remark {
            severity: Severity::Noted,
            about: format!("{} {one} -- {other}", interface.kind.name()),
            cause: format!("{lack}: the kernel encrypts and decrypts instead"),
            hint: format!("`ethtool -K INTERFACE {FEATURE} on` where the card has it, or leave `offload` out"),
        })
    });
    links.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn card_that_does_no_esp_is_noted_where_the_node_asks_for_it() {
        let said = |own: &str, lack: Option<&str>| {
            let text = format!(
                "policy: hybrid\ntrust: {{ roots: r }}\nnodes:\n  \
                 cu: {{ function: O-CU-CP, address: 10.0.0.1, ipsec: {{ certificate: c, key: k{own} }} }}\n  \
                 ric: {{ function: near-RT RIC, address: 10.0.0.2 }}\n\
                 interfaces:\n  - {{ kind: E2, between: [cu, ric], with: ipsec }}\n"
            );
            let deployment = Deployment::parse(&text, "e2.yaml", Path::new("/")).expect("a deployment");
            let remarks = of_links(&deployment, "cu", &|_| lack.map(str::to_owned));
            remarks.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let (asked, none) = (", offload: crypto", Vec::<String>::new());
        assert_eq!(said(asked, None), none);
        assert_eq!(said("", Some("v0 does no ESP")), none);
        for engine in ["", ", engine: bartizan"] {
            assert_eq!(
                said(&format!("{asked}{engine}"), Some("v0 does no ESP")),
                ["E2 cu -- ric: v0 does no ESP: the kernel encrypts and decrypts instead"]
            );
        }
        // Loopback does none on any kernel.
        assert!(lack("127.0.0.1".parse().unwrap()).is_some());
    }
}
