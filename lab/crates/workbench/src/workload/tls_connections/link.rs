//! Two namespaces with a cable between them on which segments are as long as its MTU lets them be.

use std::net::Ipv4Addr;
use std::time::Duration;

use bartizan_host::{Namespace, Program};
use bartizan_testing::{Port, connect};

use crate::workload::Error;

/// Time limit for `ip`.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Link {
    client: Namespace,
    server: Namespace,
}

impl Link {
    /// Name of the interface at either end.
    pub(super) const INTERFACE: &'static str = "eth0";
    /// Address of the server.
    pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 84, 0, 2);

    pub(super) fn make(mtu: u16) -> Result<Self, Error> {
        let link = Self {
            client: Namespace::create("tls-client")?,
            server: Namespace::create("tls-server")?,
        };
        let port = |namespace, address: &str| Port::new(namespace, Self::INTERFACE).address(address);
        connect(
            &port(&link.client, "10.84.0.1/24")?,
            &port(&link.server, &format!("{}/24", Self::SERVER))?,
            mtu,
        )?;
        for namespace in [&link.client, &link.server] {
            // Without it the kernel hands flights over in one piece, which no cable of this MTU carries.
            Program::new("ip")
                .package("iproute2")
                .arguments(["link", "set", "dev", Self::INTERFACE, "gso_max_segs", "1"])
                .inside(namespace)
                .run(PATIENCE)?;
        }
        Ok(link)
    }

    pub(super) fn client(&self) -> &Namespace {
        &self.client
    }

    pub(super) fn server(&self) -> &Namespace {
        &self.server
    }
}
