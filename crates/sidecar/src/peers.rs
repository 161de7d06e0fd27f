//! Where peers' sidecars listen, and which of them a request's target names.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use bartizan_deployment::{Deployment, InterfaceKind, Node, NodeName, Sidecar};

use crate::authority::Authority;

/// An inbound listener of a peer, as it is dialled from here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Door {
    pub(crate) peer: NodeName,
    pub(crate) interface: InterfaceKind,
    pub(crate) address: SocketAddr,
}

/// All doors this node may knock at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Doors {
    doors: Vec<Door>,
    /// By host name or address as text, lower case: which doors, and the port by which each is meant.
    hosts: HashMap<String, Vec<(usize, [u16; 2])>>,
    /// By the address others know a function at: which door leads to it.
    services: HashMap<SocketAddr, usize>,
    /// Functions of the file that none of the doors leads to.
    elsewhere: HashMap<SocketAddr, NodeName>,
}

/// Why a target leads to no door.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoDoor {
    /// The host belongs to no node this one may talk to.
    #[error("no node this one may talk to is called {0}")]
    Unknown(String),
    /// Several nodes share the host, and the port is none of theirs.
    #[error("several nodes share {0}, and its port names none of them")]
    Ambiguous(String),
    /// The address is no function's.
    #[error("the deployment file has no function at {0}")]
    Nobody(SocketAddr),
    /// The function's node has no interface with a sidecar to this one.
    #[error("{address} is {node}, and no interface with a sidecar joins it to this node")]
    Unjoined {
        /// Where the connection was going.
        address: SocketAddr,
        /// Whose function is there.
        node: NodeName,
    },
}

impl Doors {
    /// The doors of the nodes that interfaces with a sidecar join to `node`.
    pub(crate) fn of(deployment: &Deployment, node: &str) -> Self {
        let mut this = Self::default();
        for (peer, interface) in deployment.sidecar_peers(node) {
            let Some(sidecar) = &peer.sidecar else { continue };
            this.add(peer, sidecar, interface.kind);
        }
        for node in deployment.nodes() {
            let inbound = node.sidecar.iter().flat_map(|sidecar| &sidecar.inbound);
            for service in inbound.map(|inbound| inbound.service) {
                if !this.services.contains_key(&service) {
                    this.elsewhere.entry(service).or_insert_with(|| node.name.clone());
                }
            }
        }
        this
    }

    fn add(&mut self, peer: &Node, sidecar: &Sidecar, interface: InterfaceKind) {
        for inbound in &sidecar.inbound {
            let ip = if inbound.listen.ip().is_unspecified() {
                peer.address
            } else {
                inbound.listen.ip()
            };
            let index = self.doors.len();
            self.doors.push(Door {
                peer: peer.name.clone(),
                interface,
                address: SocketAddr::new(ip, inbound.listen.port()),
            });
            self.services.entry(inbound.service).or_insert(index);
            let mut hosts = vec![peer.name.as_str().to_ascii_lowercase(), peer.address.to_string()];
            hosts.extend(peer.identity.dns().iter().cloned());
            hosts.extend(peer.identity.ip().iter().map(IpAddr::to_string));
            hosts.push(ip.to_string());
            // A function listening on loopback can be called by that address only on its own host.
            if !inbound.forward.ip().is_loopback() && !inbound.forward.ip().is_unspecified() {
                hosts.push(inbound.forward.ip().to_string());
            }
            hosts.sort_unstable();
            hosts.dedup();
            for host in hosts {
                self.hosts
                    .entry(host)
                    .or_default()
                    .push((index, [inbound.forward.port(), inbound.listen.port()]));
            }
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Door] {
        &self.doors
    }

    /// The first door of a node.
    pub(crate) fn to(&self, peer: &NodeName) -> Option<&Door> {
        self.doors.iter().find(|door| door.peer == *peer)
    }

    /// The door to the function that others know to be at `address`.
    pub(crate) fn at(&self, address: SocketAddr) -> Result<&Door, NoDoor> {
        let index = self
            .services
            .get(&address)
            .ok_or_else(|| match self.elsewhere.get(&address) {
                Some(node) => NoDoor::Unjoined {
                    address,
                    node: node.clone(),
                },
                None => NoDoor::Nobody(address),
            })?;
        self.doors.get(*index).ok_or(NoDoor::Nobody(address))
    }

    /// The door a target names: by the port where it is one of the peer's, else the peer's first.
    pub(crate) fn find(&self, target: &Authority<'_>) -> Result<&Door, NoDoor> {
        let unknown = || NoDoor::Unknown(target.to_string());
        let found = self.hosts.get(&target.host()).ok_or_else(unknown)?;
        let by_port = found
            .iter()
            .find(|(_, ports)| target.port().is_some_and(|port| ports.contains(&port)));
        let (index, _) = match by_port {
            Some(door) => door,
            None => {
                let first = found.first().ok_or_else(unknown)?;
                let peer = &self.doors[first.0].peer;
                if found.iter().any(|(other, _)| self.doors[*other].peer != *peer) {
                    return Err(NoDoor::Ambiguous(target.to_string()));
                }
                first
            }
        };
        self.doors.get(*index).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doors() -> Doors {
        let text = "
trust: { roots: ca.pem }
nodes:
  amf: { function: AMF, address: 10.0.0.1, certificate: a, key: b, sidecar: { outbound: [ { listen: 127.0.0.1:1 } ] } }
  nrf:
    function: NRF
    address: 10.0.0.2
    names: { dns: [nrf.5gc.mnc01.mcc001.3gppnetwork.org], ip: ['2001:db8::2'] }
    certificate: a
    key: b
    sidecar: { inbound: [ { listen: '0.0.0.0:7443', forward: '127.0.0.1:8000' } ] }
  udm:
    function: UDM
    address: 10.0.0.3
    certificate: a
    key: b
    sidecar: { inbound: [ { listen: '10.0.0.3:7443', forward: '127.0.0.1:8000' }, { listen: '10.0.0.3:7444', forward: '127.0.0.1:8001' } ] }
  udr:
    function: UDR
    address: 10.0.0.3
    certificate: a
    key: b
    sidecar: { inbound: [ { listen: '10.0.0.3:7445', forward: '127.0.0.1:8002' } ] }
  smf:
    function: SMF
    address: 10.0.0.4
    certificate: a
    key: b
    sidecar: { inbound: [ { listen: '10.0.0.4:7443', forward: '127.0.0.1:8000' } ] }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
  - { kind: SBI, between: [amf, udm], with: sidecar }
  - { kind: SBI, between: [udr, amf], with: sidecar }
";
        let deployment = Deployment::parse(text, "test", std::path::Path::new("/")).unwrap();
        Doors::of(&deployment, "amf")
    }

    fn find(doors: &Doors, target: &str) -> Result<String, NoDoor> {
        let target = Authority::parse(target).unwrap();
        doors
            .find(&target)
            .map(|door| format!("{} {}", door.peer, door.address))
    }

    #[test]
    fn a_node_is_found_by_its_name_dns_name_certificate_address_and_address() {
        let doors = doors();
        for target in [
            "nrf",
            "NRF:8000",
            "nrf.5gc.mnc01.mcc001.3gppnetwork.org",
            "[2001:db8::2]:29510",
            "10.0.0.2:29510",
        ] {
            assert_eq!(find(&doors, target).unwrap(), "nrf 10.0.0.2:7443", "{target}");
        }
    }

    #[test]
    fn the_port_tells_functions_on_one_address_apart() {
        let doors = doors();
        assert_eq!(find(&doors, "10.0.0.3:8001").unwrap(), "udm 10.0.0.3:7444");
        assert_eq!(find(&doors, "10.0.0.3:8002").unwrap(), "udr 10.0.0.3:7445");
        assert_eq!(find(&doors, "udm").unwrap(), "udm 10.0.0.3:7443");
        assert_eq!(find(&doors, "10.0.0.3"), Err(NoDoor::Ambiguous("10.0.0.3".into())));
    }

    #[test]
    fn an_original_destination_names_its_door() {
        let doors = doors();
        let at = |address: &str| {
            let door = doors.at(address.parse().unwrap());
            door.map(|door| format!("{} {}", door.peer, door.address))
                .map_err(|error| error.to_string())
        };
        assert_eq!(at("10.0.0.2:8000").unwrap(), "nrf 10.0.0.2:7443");
        assert_eq!(at("10.0.0.3:8001").unwrap(), "udm 10.0.0.3:7444");
        assert_eq!(at("10.0.0.3:8002").unwrap(), "udr 10.0.0.3:7445");
        assert_eq!(
            at("10.0.0.3:9999").unwrap_err(),
            "the deployment file has no function at 10.0.0.3:9999"
        );
        assert_eq!(
            at("10.0.0.4:8000").unwrap_err(),
            "10.0.0.4:8000 is smf, and no interface with a sidecar joins it to this node"
        );
    }

    #[test]
    fn a_stranger_is_not_found() {
        assert_eq!(
            find(&doors(), "evil.org:80"),
            Err(NoDoor::Unknown("evil.org:80".into()))
        );
        assert!(find(&doors(), "amf").is_err());
    }
}
