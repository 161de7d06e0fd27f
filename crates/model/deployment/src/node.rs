//! Nodes: network functions and O-RAN elements.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::error::Fault;
use crate::identity::Identity;
use crate::ipsec::IpsecNode;
use crate::sidecar::{Files, Inbound, Path, Sidecar};

/// A node's name in the deployment file. It exists in the file it came from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(Arc<str>);

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name in the file.
    pub name: NodeName,
    /// Network function: `NRF`, `AMF`, `O-CU-CP`, `near-RT RIC`.
    pub function: String,
    /// Its address on the network.
    pub address: IpAddr,
    /// The names its certificate must carry.
    pub identity: Identity,
    /// Its certificates and keys, where this file names them.
    pub files: Option<Files>,
    /// Its sidecar, where it has one.
    pub sidecar: Option<Sidecar>,
    /// Listeners of its own TLS, if it has that instead of a sidecar; none of a client. `forward`
    /// is `listen`.
    pub tls: Option<Vec<Inbound>>,
    /// IPsec configuration, if the file has one.
    pub ipsec: Option<IpsecNode>,
}

impl Node {
    /// Listeners for TLS connections of peers: those of its sidecar, or of its own TLS.
    pub fn inbound(&self) -> &[Inbound] {
        match &self.sidecar {
            Some(sidecar) => &sidecar.inbound,
            None => self.tls.as_deref().unwrap_or_default(),
        }
    }

    /// Addresses of the node that other hosts can reach: its own, those of its certificate, and
    /// those of its functions.
    pub fn addresses(&self) -> BTreeSet<IpAddr> {
        let of_functions = self
            .inbound()
            .iter()
            .flat_map(|inbound| [inbound.service, inbound.forward]);
        let mut all = BTreeSet::from([self.address]);
        all.extend(self.identity.ip().iter().map(IpAddr::to_canonical));
        all.extend(of_functions.map(|address| address.ip()));
        all.retain(|address| !address.is_loopback() && !address.is_unspecified());
        all
    }

    /// Addresses at which other hosts can call the function of a listener: `service`, and each
    /// address of the node with a port of the function. TCP listeners for TLS are left out.
    pub fn called_at(&self, inbound: &Inbound) -> BTreeSet<SocketAddr> {
        let has_tls = |address: &SocketAddr| {
            let mut listeners = self.inbound().iter().map(|other| other.listen);
            let has = |listen: SocketAddr| listen.ip().is_unspecified() || listen.ip() == address.ip();
            inbound.path != Path::Sctp && listeners.any(|listen| listen.port() == address.port() && has(listen))
        };
        // The function's own TLS is at `forward`.
        let ports = match self.tls {
            Some(_) => [inbound.service.port(); 2],
            None => [inbound.service.port(), inbound.forward.port()],
        };
        let addresses = self.addresses().into_iter();
        let mut all: BTreeSet<_> = addresses
            .flat_map(|ip| ports.map(|port| SocketAddr::new(ip, port)))
            .filter(|address| !has_tls(address))
            .collect();
        all.insert(inbound.service);
        all
    }

    /// Remedy where a command is for the node's sidecar, and it has none.
    pub fn without_sidecar(&self) -> String {
        let (name, fields) = (&self.name, "sidecar: { inbound: [...], outbound: [...] }");
        match self.tls {
            Some(_) => format!("{name} has TLS of its own: run this for its peers, or replace `tls` by `{fields}`"),
            None => format!("add `{fields}` to nodes.{name}"),
        }
    }
}

/// Why no peer can call this address; none where it is that of one host.
pub(crate) fn not_of_a_host(address: IpAddr) -> Option<String> {
    let kind = match address.to_canonical() {
        one if one.is_unspecified() => "the unspecified address",
        one if one.is_multicast() => "a multicast address",
        IpAddr::V4(one) if one.is_broadcast() => "the broadcast address",
        // RFC 1122, section 3.2.1.3, and RFC 6890.
        IpAddr::V4(one) if one.octets()[0] == 0 => "an address of 0.0.0.0/8, which no host has",
        IpAddr::V6(one) if one.is_unicast_link_local() => "a link-local address, which is known on one link alone",
        _ => return None,
    };
    Some(format!("{address} is {kind}: no peer can call it"))
}

impl NodeName {
    /// Names go into file names, metric labels and certificates: 1 to 63 letters, digits, dots, hyphens and underscores.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let fits = (1..=63).contains(&text.len())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
            && text.as_bytes()[0].is_ascii_alphanumeric();
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(Fault::new(
                "",
                format!("`{text}` cannot name a node"),
                "1 to 63 letters, digits, dots, hyphens, underscores",
            ))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Equality, order and hash are those of the text.
impl Borrow<str> for NodeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
