//! Servers of a link to one peer.

use bartizan_deployment::{Deployment, InterfaceKind, Policy};
use bartizan_tls::{Endpoint, Error, Reason, peers};
use rcgen::PKCS_ML_DSA_65;

use crate::authority::Authority;
use crate::wire::{nrf, shake, under};

/// Two peers of one interface: by the policy of the second an exchange may be classical.
fn deployment() -> Deployment {
    let exception = "{ profile: transition, reason: the old SMF, expires: 2040-06-30 }";
    let text = format!(
        "nodes:\n  amf: {{ function: AMF, address: 10.0.0.1 }}\n  nrf: {{ function: NRF, address: 10.0.0.2 }}\n  \
         smf: {{ function: SMF, address: 10.0.0.3 }}\ninterfaces:\n  \
         - {{ kind: SBI, between: [amf, nrf], with: sidecar }}\n  \
         - {{ kind: SBI, between: [smf, nrf], with: sidecar, policy: {exception} }}\n"
    );
    Deployment::parse(&text, "test.yaml", std::path::Path::new("/")).unwrap()
}

#[test]
fn server_of_a_link_admits_its_peer_alone_and_by_that_peers_policy() {
    let (authority, deployment) = (Authority::root("root", &PKCS_ML_DSA_65), deployment());
    let server = nrf(authority.node("nrf"), &deployment);
    let client = |node, change: fn(&mut Policy)| {
        let known = under(peers(&deployment, node), change);
        let endpoint = Endpoint::new(authority.node(node), known).unwrap();
        endpoint.connect("nrf", InterfaceKind::Sbi).unwrap()
    };
    for peer in ["amf", "smf"] {
        for from in ["amf", "smf"] {
            let outcome = shake(client(from, |_| ()), server.accept(peer, InterfaceKind::Sbi).unwrap());
            match outcome.server {
                Ok(established) => assert_eq!((established.peer.as_str(), from), (peer, peer)),
                Err(refused) => {
                    assert_ne!(from, peer, "{refused}");
                    assert_eq!(refused.reason, Reason::WrongName);
                    // A name that was refused is no peer.
                    assert!(
                        refused.peer.is_none() && refused.detail.ends_with(&format!("{peer} is known by dns:{peer}")),
                        "{refused}"
                    );
                }
            }
        }
    }
    // The exception of one link opens no other.
    let classical = |policy: &mut Policy| {
        let (signatures, chain_signatures) = (Policy::hybrid().signatures, Policy::hybrid().chain_signatures);
        *policy = Policy {
            signatures,
            chain_signatures,
            ..Policy::classical()
        };
    };
    for (peer, admitted) in [("amf", false), ("smf", true)] {
        let outcome = shake(
            client("smf", classical),
            server.accept(peer, InterfaceKind::Sbi).unwrap(),
        );
        match outcome.server {
            Ok(_) => assert!(admitted, "{peer}"),
            Err(refused) => assert!(!admitted && refused.reason == Reason::NoCommonGroup, "{refused}"),
        }
    }
    for (peer, interface) in [("amf", InterfaceKind::A1), ("pcf", InterfaceKind::Sbi)] {
        let unknown = server.accept(peer, interface);
        assert!(matches!(unknown, Err(Error::UnknownPeer { .. })), "{unknown:?}");
    }
}
