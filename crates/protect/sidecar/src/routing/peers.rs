//! Upstreams: where peers accept TLS, and which of them a request's target names.

use std::collections::HashMap;
use std::net::SocketAddr;

use bartizan_deployment::{Carrier, Deployment, InterfaceKind, Node, NodeName};

use crate::routing::authority::Authority;

/// An inbound listener of a peer, as it is dialled from here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Upstream {
    pub(crate) peer: NodeName,
    pub(crate) interface: InterfaceKind,
    /// Carrier of SCTP there, where SCTP is carried.
    pub(crate) carrier: Carrier,
    pub(crate) address: SocketAddr,
    /// The peer's function terminates TLS there itself: requests say `https`.
    pub(crate) own_tls: bool,
}

impl Upstream {
    /// The other end, in words.
    pub(crate) fn end(&self) -> String {
        match self.own_tls {
            true => self.peer.to_string(),
            false => format!("the sidecar of {}", self.peer),
        }
    }
}

/// The upstreams that a listener of this node may dial: those of its interface.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstreams {
    /// The interface they all belong to; none where they are of every interface.
    interface: Option<InterfaceKind>,
    /// All of them.
    pub(crate) upstreams: Vec<Upstream>,
    /// By host name or address as text, lower case: which upstreams it may mean.
    hosts: HashMap<String, Vec<Meant>>,
    /// By the address others know a function at: which upstream leads to it.
    services: HashMap<SocketAddr, usize>,
    /// Functions of the file that none of the upstreams leads to.
    elsewhere: HashMap<SocketAddr, NodeName>,
    /// Hosts of the nodes that none of the upstreams leads to.
    unjoined: HashMap<String, NodeName>,
}

/// An upstream that a host name may mean, and the ports by which it is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meant {
    upstream: usize,
    /// In this order: of `service`, by which others know the function, of `forward` and of `listen`.
    ports: [u16; 3],
}

/// Why a target has no upstream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoUpstream {
    /// The host belongs to no node this one may talk to.
    #[error("no node this one may talk to is called {0}")]
    Unknown(String),
    /// Several functions share the host, and the port is none of theirs.
    #[error("several functions share the host of {0}, and its port is that of none of them")]
    Ambiguous(String),
    /// The address is no function's.
    #[error("the deployment file has no function at {0}")]
    Nobody(SocketAddr),
    /// The function's node has no such interface with a sidecar to this one, or no inbound listener for it.
    #[error("{target} is {node}, and no {}interface with a sidecar leads there from this node", named(*interface))]
    Unjoined {
        /// Destination of the connection or the request.
        target: String,
        /// The node of the function there.
        node: NodeName,
        /// The interface of the listener that was asked, where it has one.
        interface: Option<InterfaceKind>,
    },
}

/// `SBI `, or nothing.
fn named(interface: Option<InterfaceKind>) -> String {
    interface.map_or_else(String::new, |kind| format!("{} ", kind.name()))
}

impl NoUpstream {
    /// The node that was meant, where the file has it. What a client makes up is no name for metrics.
    pub(crate) fn peer(&self) -> &str {
        match self {
            Self::Unjoined { node, .. } => node.as_str(),
            Self::Unknown(_) | Self::Ambiguous(_) | Self::Nobody(_) => "unknown",
        }
    }
}

impl Upstreams {
    /// The upstreams of the nodes that interfaces with a sidecar join to `node`: of one interface, or of all of them. An upstream belongs to
    /// the interface of the inbound listener behind it, and to no other that joins the two nodes.
    pub(crate) fn of(deployment: &Deployment, node: &str, interface: Option<InterfaceKind>) -> Self {
        let mut this = Self {
            interface,
            ..Self::default()
        };
        for (peer, joined) in deployment.sidecar_peers(node) {
            if interface.is_none_or(|wanted| joined.kind == wanted) {
                this.add(peer, joined.kind, joined.carrier);
            }
        }
        for other in deployment.nodes() {
            for host in names(other) {
                if other.name.as_str() != node && !this.hosts.contains_key(&host) {
                    this.unjoined.entry(host).or_insert_with(|| other.name.clone());
                }
            }
        }
        for node in deployment.nodes() {
            for service in node.inbound().iter().map(|inbound| inbound.service) {
                if !this.services.contains_key(&service) {
                    this.elsewhere.entry(service).or_insert_with(|| node.name.clone());
                }
            }
        }
        this
    }

    fn add(&mut self, peer: &Node, interface: InterfaceKind, carrier: Carrier) {
        let inbound = peer.inbound().iter();
        for inbound in inbound.filter(|inbound| inbound.interface == interface) {
            let ip = if inbound.listen.ip().is_unspecified() {
                peer.address
            } else {
                inbound.listen.ip()
            };
            let index = self.upstreams.len();
            self.upstreams.push(Upstream {
                peer: peer.name.clone(),
                interface,
                carrier,
                address: SocketAddr::new(ip, inbound.listen.port()),
                own_tls: peer.tls.is_some(),
            });
            self.services.entry(inbound.service).or_insert(index);
            let mut hosts = names(peer);
            hosts.push(ip.to_string());
            hosts.push(inbound.service.ip().to_string());
            // A function listening on loopback can be called by that address only on its own host.
            if !inbound.forward.ip().is_loopback() && !inbound.forward.ip().is_unspecified() {
                hosts.push(inbound.forward.ip().to_string());
            }
            hosts.sort_unstable();
            hosts.dedup();
            for host in hosts {
                self.hosts.entry(host).or_default().push(Meant {
                    upstream: index,
                    ports: [inbound.service.port(), inbound.forward.port(), inbound.listen.port()],
                });
            }
        }
    }

    /// The first upstream of a node.
    pub(crate) fn to(&self, peer: &NodeName) -> Option<&Upstream> {
        self.upstreams.iter().find(|upstream| upstream.peer == *peer)
    }

    /// The upstream to the function that others know to be at `address`.
    pub(crate) fn at(&self, address: SocketAddr) -> Result<&Upstream, NoUpstream> {
        let host = address.ip().to_string();
        // One that may mean several functions means none. Listeners of one function are no several.
        let function = |one: &Meant| {
            let Upstream { peer, interface, .. } = &self.upstreams[one.upstream];
            (peer, *interface, [one.ports[0], one.ports[1]])
        };
        let by_host = || {
            let meant = self.hosts.get(&host).into_iter().flatten();
            let mut meant = meant.filter(|one| one.ports[..2].contains(&address.port()));
            let first = meant.next()?;
            meant
                .all(|other| function(other) == function(first))
                .then_some(first.upstream)
        };
        let elsewhere = || self.elsewhere.get(&address).or_else(|| self.unjoined.get(&host));
        let index = self
            .services
            .get(&address)
            .copied()
            .or_else(by_host)
            .ok_or_else(|| match elsewhere() {
                Some(node) => NoUpstream::Unjoined {
                    target: address.to_string(),
                    node: node.clone(),
                    interface: self.interface,
                },
                None => NoUpstream::Nobody(address),
            })?;
        self.upstreams.get(index).ok_or(NoUpstream::Nobody(address))
    }

    /// The upstream a target names: by the address others know a function at, else by host and port. A host of one function alone is
    /// found whatever the port, and one without a port means the node's first function.
    pub(crate) fn find(&self, target: &Authority<'_>) -> Result<&Upstream, NoUpstream> {
        let host = target.host();
        let unknown = || match self.unjoined.get(&host) {
            Some(node) => NoUpstream::Unjoined {
                target: target.to_string(),
                node: node.clone(),
                interface: self.interface,
            },
            None => NoUpstream::Unknown(target.to_string()),
        };
        let address = host.parse().ok().zip(target.port);
        if let Some(index) = address.and_then(|(ip, port)| self.services.get(&SocketAddr::new(ip, port))) {
            return self.upstreams.get(*index).ok_or_else(unknown);
        }
        let found = self.hosts.get(&host).ok_or_else(unknown)?;
        let one = match target.port {
            Some(port) => by_port(found, port).or(match found.as_slice() {
                [only] => Some(only),
                _ => None,
            }),
            None => found.first().filter(|first| {
                let peer = &self.upstreams[first.upstream].peer;
                found.iter().all(|other| self.upstreams[other.upstream].peer == *peer)
            }),
        };
        let one = one.ok_or_else(|| NoUpstream::Ambiguous(target.to_string()))?;
        self.upstreams.get(one.upstream).ok_or_else(unknown)
    }
}

/// The function meant by a port: as others know it before as it is known on its own host.
fn by_port(found: &[Meant], port: u16) -> Option<&Meant> {
    (0..3).find_map(|kind| found.iter().find(|meant| meant.ports[kind] == port))
}

/// Names of a node, in lower case.
fn names(node: &Node) -> Vec<String> {
    let mut names = vec![node.name.as_str().to_ascii_lowercase(), node.address.to_string()];
    names.extend(node.identity.dns().iter().map(|name| name.to_ascii_lowercase()));
    names.extend(node.identity.ip().iter().map(|ip| ip.to_canonical().to_string()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
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

    fn upstreams() -> Upstreams {
        let deployment = Deployment::parse(TEXT, "test", std::path::Path::new("/")).unwrap();
        Upstreams::of(&deployment, "amf", None)
    }

    fn find(upstreams: &Upstreams, target: &str) -> Result<String, NoUpstream> {
        let target = Authority::parse(target).unwrap();
        upstreams
            .find(&target)
            .map(|upstream| format!("{} {}", upstream.peer, upstream.address))
    }

    #[test]
    fn a_node_is_found_by_its_name_dns_name_certificate_address_and_address() {
        let upstreams = upstreams();
        for target in [
            "nrf",
            "NRF:8000",
            "nrf.5gc.mnc01.mcc001.3gppnetwork.org",
            "[2001:db8::2]:29510",
            "10.0.0.2:29510",
        ] {
            assert_eq!(find(&upstreams, target).unwrap(), "nrf 10.0.0.2:7443", "{target}");
        }
    }

    #[test]
    fn the_port_tells_functions_on_one_address_apart() {
        let upstreams = upstreams();
        assert_eq!(find(&upstreams, "10.0.0.3:8001").unwrap(), "udm 10.0.0.3:7444");
        assert_eq!(find(&upstreams, "10.0.0.3:8002").unwrap(), "udr 10.0.0.3:7445");
        assert_eq!(find(&upstreams, "udm").unwrap(), "udm 10.0.0.3:7443");
        assert_eq!(
            find(&upstreams, "10.0.0.3"),
            Err(NoUpstream::Ambiguous("10.0.0.3".into()))
        );
        // It names neither of the two functions: the first would be a guess.
        assert_eq!(
            find(&upstreams, "udm:9999"),
            Err(NoUpstream::Ambiguous("udm:9999".into()))
        );
    }

    /// A request for the second `service` of a node reached its first: routing knew `forward` and `listen` alone.
    #[test]
    fn a_function_is_found_by_the_address_and_port_that_others_know_it_by() {
        let text = "
trust: { roots: ca.pem }
nodes:
  amf: { function: AMF, address: 10.0.0.1, certificate: a, key: b, sidecar: { outbound: [ { listen: 127.0.0.1:1 } ] } }
  nrf:
    function: NRF
    address: 10.0.0.2
    certificate: a
    key: b
    sidecar:
      inbound:
        - { listen: '10.0.0.2:7443', forward: '127.0.0.1:9000', service: '10.0.0.2:8000' }
        - { listen: '10.0.0.2:7444', forward: '127.0.0.1:8000', service: '10.0.0.2:8001' }
        - { listen: '10.0.0.2:7445', forward: '127.0.0.1:9002', service: '10.0.9.2:8000' }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
";
        let deployment = Deployment::parse(text, "test", std::path::Path::new("/")).unwrap();
        let upstreams = Upstreams::of(&deployment, "amf", None);
        for (target, upstream) in [
            ("10.0.0.2:8000", "nrf 10.0.0.2:7443"),
            ("10.0.0.2:8001", "nrf 10.0.0.2:7444"),
            ("10.0.9.2:8000", "nrf 10.0.0.2:7445"),
            ("nrf:8001", "nrf 10.0.0.2:7444"),
            ("nrf:9002", "nrf 10.0.0.2:7445"),
            ("nrf:7444", "nrf 10.0.0.2:7444"),
            ("nrf", "nrf 10.0.0.2:7443"),
        ] {
            assert_eq!(find(&upstreams, target).unwrap(), upstream, "{target}");
        }
        assert!(find(&upstreams, "nrf:9999").is_err());
    }

    #[test]
    fn a_function_with_tls_of_its_own_is_found_by_its_tls_port_and_by_its_service() {
        let text = "
trust: { roots: ca.pem }
nodes:
  amf: { function: AMF, address: 10.0.0.1, certificate: a, key: b, sidecar: { outbound: [ { listen: 127.0.0.1:1 } ] } }
  nrf: { function: NRF, address: 10.0.0.2, tls: [ { listen: '0.0.0.0:443', service: '10.0.9.2:80' } ] }
  smf: { function: SMF, address: 10.0.0.3, tls: [] }
interfaces:
  - { kind: SBI, among: [amf, nrf, smf], with: sidecar }
";
        let deployment = Deployment::parse(text, "test", std::path::Path::new("/")).unwrap();
        let upstreams = Upstreams::of(&deployment, "amf", None);
        for target in ["nrf", "nrf:443", "nrf:80", "10.0.9.2:80", "10.0.0.2:443"] {
            assert_eq!(find(&upstreams, target).unwrap(), "nrf 10.0.0.2:443", "{target}");
        }
        let found = upstreams.at("10.0.9.2:80".parse().unwrap()).unwrap();
        assert!(found.own_tls && found.end() == "nrf");
        assert_eq!(find(&upstreams, "smf").unwrap_err().peer(), "smf");
    }

    #[test]
    fn a_node_that_no_interface_joins_is_named_and_a_made_up_one_is_not() {
        let upstreams = upstreams();
        let error = |target: &str| upstreams.find(&Authority::parse(target).unwrap()).unwrap_err();
        let unjoined = error("smf:8000");
        assert_eq!(unjoined.peer(), "smf");
        assert_eq!(
            unjoined.to_string(),
            "smf:8000 is smf, and no interface with a sidecar leads there from this node"
        );
        assert_eq!(error("10.0.0.4:8000").peer(), "smf");
        assert_eq!(error("elsewhere.org").peer(), "unknown");
        assert_eq!(
            upstreams.at("10.0.0.4:8000".parse().unwrap()).unwrap_err().peer(),
            "smf"
        );
    }

    #[test]
    fn an_original_destination_names_its_door() {
        let upstreams = upstreams();
        let at = |address: &str| {
            let upstream = upstreams.at(address.parse().unwrap());
            upstream
                .map(|upstream| format!("{} {}", upstream.peer, upstream.address))
                .map_err(|error| error.to_string())
        };
        assert_eq!(at("10.0.0.2:8000").unwrap(), "nrf 10.0.0.2:7443");
        assert_eq!(at("10.0.0.3:8001").unwrap(), "udm 10.0.0.3:7444");
        assert_eq!(at("10.0.0.3:8002").unwrap(), "udr 10.0.0.3:7445");
        assert_eq!(at("[2001:db8::2]:8000").unwrap(), "nrf 10.0.0.2:7443");
        // Two listeners lead to one function.
        let two = "inbound: [ { listen: '[2001:db8::2]:7443', forward: '127.0.0.1:8000' }, ";
        let text = TEXT.replacen("inbound: [ ", two, 1);
        let deployment = Deployment::parse(&text, "test", std::path::Path::new("/")).unwrap();
        let upstreams = Upstreams::of(&deployment, "amf", None);
        assert!(upstreams.at("[2001:db8::2]:8000".parse().unwrap()).is_ok());
        assert_eq!(
            at("10.0.0.3:9999").unwrap_err(),
            "the deployment file has no function at 10.0.0.3:9999"
        );
        assert_eq!(
            at("10.0.0.4:8000").unwrap_err(),
            "10.0.0.4:8000 is smf, and no interface with a sidecar leads there from this node"
        );
    }

    /// A request for SBI was carried over the weaker policy of O1: any interface between the two nodes would do.
    #[test]
    fn a_door_belongs_to_the_interface_of_its_listener_and_to_no_other_between_the_nodes() {
        let text = "
trust: { roots: ca.pem }
nodes:
  amf: { function: AMF, address: 10.0.0.1, certificate: a, key: b, sidecar: { outbound: [ { listen: 127.0.0.1:1, interface: SBI } ] } }
  nrf:
    function: NRF
    address: 10.0.0.2
    certificate: a
    key: b
    sidecar:
      inbound:
        - { listen: '10.0.0.2:7443', forward: '127.0.0.1:8000', interface: SBI }
        - { listen: '10.0.0.2:7444', forward: '127.0.0.1:8001', interface: O1 }
  smo:
    function: SMO
    address: 10.0.0.3
    certificate: a
    key: b
    sidecar: { inbound: [ { listen: '10.0.0.3:7443', forward: '127.0.0.1:8000' } ] }
interfaces:
  - { kind: O1, between: [amf, nrf], with: sidecar, policy: { profile: transition, reason: r, expires: 2027-01-01 } }
  - { kind: SBI, between: [amf, nrf], with: sidecar }
  - { kind: O1, between: [amf, smo], with: sidecar }
";
        let deployment = Deployment::parse(text, "test", std::path::Path::new("/")).unwrap();
        let of = |interface| Upstreams::of(&deployment, "amf", interface);
        let (sbi, o1, all) = (of(Some(InterfaceKind::Sbi)), of(Some(InterfaceKind::O1)), of(None));
        let nrf = deployment.node("nrf").unwrap();
        for (upstreams, address) in [(&sbi, "10.0.0.2:7443"), (&o1, "10.0.0.2:7444")] {
            let upstream = upstreams.to(&nrf.name).unwrap();
            assert_eq!(
                (upstream.address.to_string().as_str(), Some(upstream.interface)),
                (address, upstreams.interface)
            );
            assert_eq!(find(upstreams, "nrf").unwrap(), format!("nrf {address}"));
        }
        // If the destination decides, it is the interface of the listener behind it.
        let at = |address: &str| all.at(address.parse().unwrap()).unwrap().interface;
        assert_eq!(
            (at("10.0.0.2:8000"), at("10.0.0.2:8001")),
            (InterfaceKind::Sbi, InterfaceKind::O1)
        );
        assert_eq!(all.upstreams.len(), 3);
        let unjoined = "no SBI interface with a sidecar leads there from this node";
        assert_eq!(
            find(&sbi, "smo").unwrap_err().to_string(),
            format!("smo is smo, and {unjoined}")
        );
        let to_o1 = sbi.at("10.0.0.2:8001".parse().unwrap()).unwrap_err();
        assert_eq!(to_o1.to_string(), format!("10.0.0.2:8001 is nrf, and {unjoined}"));
    }

    #[test]
    fn a_name_of_no_node_is_not_found() {
        assert_eq!(
            find(&upstreams(), "evil.org:80"),
            Err(NoUpstream::Unknown("evil.org:80".into()))
        );
        assert!(find(&upstreams(), "amf").is_err());
    }
}
