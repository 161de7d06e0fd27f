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

    /// Addresses of the node's host that other hosts can reach: its own, and those of its
    /// certificate.
    pub fn addresses(&self) -> BTreeSet<IpAddr> {
        let certified = self.identity.ip().iter().map(IpAddr::to_canonical);
        let all = certified.chain([self.address]);
        all.filter(|address| !address.is_loopback() && !address.is_unspecified())
            .collect()
    }

    /// Addresses at which other hosts can call the function of a listener: `service`, `forward` off
    /// loopback, and each address of the node with a port of the two. TCP listeners for TLS are left
    /// out.
    pub fn called_at(&self, inbound: &Inbound) -> BTreeSet<SocketAddr> {
        let Inbound { service, forward, .. } = *inbound;
        // The function's own TLS is at `forward`.
        let of_function = [Some(service), Some(forward).filter(|_| self.tls.is_none())];
        let of_function = of_function.into_iter().flatten();
        let of_host = self.addresses().into_iter();
        let of_host = of_host.flat_map(|ip| of_function.clone().map(move |one| SocketAddr::new(ip, one.port())));
        let reached = |ip: IpAddr| !ip.is_loopback() && !ip.is_unspecified();
        let off_loopback = of_function.clone().filter(|one| reached(one.ip()));
        let mut all: BTreeSet<_> = of_host.chain(off_loopback).collect();
        if inbound.path != Path::Sctp {
            all.retain(|one| !self.inbound().iter().any(|tls| is_at(tls.listen, *one)));
        }
        all.insert(service);
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

/// Returns true if a listener takes what goes to this address of its host.
fn is_at(listen: SocketAddr, address: SocketAddr) -> bool {
    listen.port() == address.port() && (listen.ip().is_unspecified() || listen.ip() == address.ip())
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
            let hint = "1 to 63 letters, digits, dots, hyphens, underscores";
            Err(Fault::new("", format!("`{text}` cannot name a node"), hint))
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
