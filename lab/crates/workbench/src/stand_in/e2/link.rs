//! The cable between an E2 node and its RIC: two namespaces of the kernel that runs us, joined by veth.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bartizan_host::{Namespace, Program};
use bartizan_registry::SCTP_APPLICATIONS;
use bartizan_testing::{Port, connect};

use crate::Error;

/// The interface in both namespaces.
pub const INTERFACE: &str = "e2";
/// The RIC's address.
pub const RIC: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// The address of the host with the E2 nodes.
pub const NODE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// Bytes of an IP packet on Ethernet.
const MTU: u16 = 1500;
/// The source port of the first node; each has its own, by which the RIC knows it again.
const FIRST_NODE_PORT: u16 = 30_000;
const IP_TIMEOUT: Duration = Duration::from_secs(60);

/// Both ends; they pass with it.
#[derive(Debug)]
pub struct Link {
    node: Namespace,
    ric: Namespace,
}

impl Link {
    /// Makes the two namespaces and the cable. Segments are not put together for the kernel's
    /// convenience: what a capture shows is what a wire would carry.
    ///
    /// # Errors
    /// Without root, or what `ip` says.
    pub fn make() -> Result<Self, Error> {
        Self::with_mtu(MTU)
    }

    /// The same with another MTU.
    ///
    /// # Errors
    /// As [`Link::make`].
    pub fn with_mtu(mtu: u16) -> Result<Self, Error> {
        let (node, ric) = (Namespace::create("e2-node")?, Namespace::create("e2-ric")?);
        let one = Port::new(&node, INTERFACE).address(&format!("{NODE}/24"))?;
        let other = Port::new(&ric, INTERFACE).address(&format!("{RIC}/24"))?;
        connect(&one, &other, mtu)?;
        let size = mtu.to_string();
        for namespace in [&node, &ric] {
            let set = [
                "-n",
                namespace.name(),
                "link",
                "set",
                "dev",
                INTERFACE,
                "gso_max_size",
                &size,
            ];
            Program::new("ip").package("iproute2").arguments(set).run(IP_TIMEOUT)?;
        }
        Ok(Self { node, ric })
    }

    /// Namespace of the E2 nodes.
    #[must_use]
    pub fn node(&self) -> &Namespace {
        &self.node
    }

    /// Namespace of the RIC.
    #[must_use]
    pub fn ric(&self) -> &Namespace {
        &self.ric
    }

    /// The RIC's listening address. E2 has no assigned port; this is the port of the recording.
    #[must_use]
    pub fn ric_address() -> SocketAddr {
        let e2 = SCTP_APPLICATIONS.iter().find(|one| one.interface == "E2");
        SocketAddr::new(IpAddr::V4(RIC), e2.and_then(|one| one.port).unwrap_or_default())
    }

    /// Address of this node, counted from 0; none if the port number would overflow.
    #[must_use]
    pub fn node_address(number: usize) -> Option<SocketAddr> {
        let port = u16::try_from(number).ok()?.checked_add(FIRST_NODE_PORT)?;
        Some(SocketAddr::new(IpAddr::V4(NODE), port))
    }
}
