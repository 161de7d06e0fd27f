//! Parts of ledger records that many have in common, held once: all handshakes of two nodes with
//! their certificates of a year are some ten different ones, and a record takes two kilobytes.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bartizan_ledger::{Bytes, Handshake, Times};

#[derive(Debug, Default)]
pub(crate) struct Alike {
    nodes: HashSet<Arc<str>>,
    /// The latest with a hash: handshakes that share it are seldom and held apart.
    handshakes: HashMap<u64, Arc<Handshake>>,
}

impl Alike {
    /// Drops what no record has any more.
    pub(crate) fn forget(&mut self) {
        self.handshakes.retain(|_, handshake| Arc::strong_count(handshake) > 1);
        self.nodes.retain(|node| Arc::strong_count(node) > 1);
    }

    /// The name of a node.
    pub(crate) fn node(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.nodes.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.nodes.insert(Arc::clone(&name));
        name
    }

    /// A handshake without what no other one has: its key, addresses, bytes and times.
    pub(crate) fn handshake(&mut self, handshake: Handshake) -> Arc<Handshake> {
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let handshake = Handshake {
            key: None,
            local_address: nowhere,
            peer_address: nowhere,
            bytes: Bytes::default(),
            times: Times::default(),
            ..handshake
        };
        let known = self.handshakes.get(&hash(&handshake));
        if let Some(known) = known.filter(|known| ***known == handshake) {
            return Arc::clone(known);
        }
        let (hash, handshake) = (hash(&handshake), Arc::new(handshake));
        self.handshakes.insert(hash, Arc::clone(&handshake));
        handshake
    }
}

/// Hash of the fields by which handshakes mostly differ.
fn hash(handshake: &Handshake) -> u64 {
    let mut hasher = DefaultHasher::new();
    handshake.interface.hash(&mut hasher);
    handshake.peer.hash(&mut hasher);
    std::mem::discriminant(&handshake.direction).hash(&mut hasher);
    std::mem::discriminant(&handshake.verdict).hash(&mut hasher);
    if let Some(negotiated) = &handshake.negotiated {
        (negotiated.group.code, negotiated.resumed, negotiated.hello_retry).hash(&mut hasher);
    }
    for certificate in handshake.chain.iter().chain(&handshake.local_chain) {
        certificate.sha256.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(port: u16, peer: &str) -> Handshake {
        let text = format!(
            r#"{{"key":null,"interface":"SBI","direction":"outbound","peer":"{peer}","local_address":"10.0.0.1:{port}",
                "peer_address":"10.0.0.2:8443","negotiated":null,"bytes":{{"sent":{port},"received":1}},
                "times":{{"connect_us":1,"handshake_us":{port}}},"verdict":{{"verdict":"accepted"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn handshakes_that_differ_in_addresses_bytes_and_times_alone_are_held_once() {
        let mut alike = Alike::default();
        let first = alike.handshake(handshake(1, "nrf"));
        for port in 2..1_000 {
            assert!(Arc::ptr_eq(&first, &alike.handshake(handshake(port, "nrf"))));
        }
        let other = alike.handshake(handshake(1, "udm"));
        assert_eq!(
            (first.peer.as_deref(), other.peer.as_deref()),
            (Some("nrf"), Some("udm"))
        );
        assert_eq!(alike.handshakes.len(), 2);
        assert!(Arc::ptr_eq(&alike.node("amf"), &alike.node("amf")));
        // A handshake that no record holds goes.
        drop(other);
        alike.forget();
        assert_eq!((alike.handshakes.len(), alike.nodes.len()), (1, 0));
    }
}
