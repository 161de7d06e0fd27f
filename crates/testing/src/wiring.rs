//! Wiring of namespaces: addresses, routes, impairments, and switches between cables.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use bartizan_host::{Error, Feature, Namespace, Program};

use crate::Impairment;

/// Time limit of an `ip` or `tc` command: they take milliseconds; a machine out of memory takes
/// longer.
const IP_TIMEOUT: Duration = Duration::from_secs(20);

/// Changes to the interfaces of a namespace.
pub trait Wiring {
    /// Adds an address to an interface; usable at once (IPv6 without duplicate address detection).
    ///
    /// # Errors
    ///
    /// The error of `ip address add`: no such interface, address already there.
    fn add_address(&self, interface: &str, address: Address) -> Result<(), Error>;

    /// Sends packets to a network out of an interface, through the next hop if one is given;
    /// `0.0.0.0/0` and `::/0` stand for all that no other route covers. An older route to the same
    /// network is replaced.
    ///
    /// # Errors
    ///
    /// The error of `ip route`: no such interface, a next hop that no address of the interface
    /// reaches, bits beyond the prefix.
    fn add_route(&self, network: Address, via: Option<IpAddr>, interface: &str) -> Result<(), Error>;

    /// Sets the longest packet that an interface takes, in bytes of IP; the other end of a cable keeps its own.
    ///
    /// # Errors
    ///
    /// The error of `ip link set`: no such interface, a size it cannot have.
    fn set_mtu(&self, interface: &str, mtu: u16) -> Result<(), Error>;

    /// Impairs what leaves by this interface from now on, instead of how it was impaired before.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] for values that cannot be, [`Error::KernelLacks`] where the kernel has no
    /// netem, [`Error::MissingProgram`] without iproute2, or what `tc` says (no such interface).
    fn impair(&self, interface: &str, impairment: &Impairment) -> Result<(), Error>;

    /// Makes a bridge of this name out of interfaces of the namespace. The impairment of an
    /// interface meets the frames that the bridge sends out of it, so that an end which captures at
    /// its own interface sees when it sent and when it received.
    ///
    /// # Errors
    ///
    /// The error of `ip`: no such interface, or a kernel without bridges.
    fn bridge(&self, name: &str, interfaces: &[&str]) -> Result<(), Error>;
}

impl Wiring for Namespace {
    fn add_address(&self, interface: &str, address: Address) -> Result<(), Error> {
        let address_text = format!("{}/{}", address.ip, address.prefix_length);
        let mut arguments = vec!["-n", self.name(), "address", "add", &address_text, "dev", interface];
        if address.ip.is_ipv6() {
            arguments.push("nodad");
        }
        ip(arguments)
    }

    fn add_route(&self, network: Address, via: Option<IpAddr>, interface: &str) -> Result<(), Error> {
        let network = format!("{}/{}", network.ip, network.prefix_length);
        let via = via.map(|hop| hop.to_string());
        let mut arguments = vec!["-n", self.name(), "route", "replace", &network];
        if let Some(hop) = &via {
            arguments.extend(["via", hop]);
        }
        arguments.extend(["dev", interface]);
        ip(arguments)
    }

    fn set_mtu(&self, interface: &str, mtu: u16) -> Result<(), Error> {
        let mtu = mtu.to_string();
        ip(["-n", self.name(), "link", "set", "dev", interface, "mtu", &mtu])
    }

    fn impair(&self, interface: &str, impairment: &Impairment) -> Result<(), Error> {
        let arguments = impairment.arguments()?;
        let tc = Program::new("tc").package("iproute2").arguments(["-n", self.name()]);
        let tc = tc.arguments(["qdisc", "replace", "dev", interface, "root"]);
        match tc.arguments(arguments).run(IP_TIMEOUT) {
            Err(Error::Failed { tail, .. }) if tail.contains("qdisc kind is unknown") => Err(Error::KernelLacks {
                feature: Feature::Netem,
                reason: tail.lines().next().unwrap_or_default().to_owned(),
            }),
            done => done.map(drop),
        }
    }

    fn bridge(&self, name: &str, interfaces: &[&str]) -> Result<(), Error> {
        let bridge = ["-n", self.name(), "link", "add", "name", name, "type", "bridge"];
        // Without the spanning tree protocol a port forwards as soon as it is up.
        ip(bridge.into_iter().chain(["stp_state", "0"]))?;
        for interface in interfaces {
            ip(["-n", self.name(), "link", "set", "dev", interface, "master", name])?;
        }
        ip(["-n", self.name(), "link", "set", "dev", name, "up"])
    }
}

/// An address of an interface with the length of its network's prefix in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    ip: IpAddr,
    prefix_length: u8,
}

impl Address {
    /// An IPv4 address; `None` when the prefix is longer than 32 bits.
    #[must_use]
    pub fn v4(ip: Ipv4Addr, prefix_length: u8) -> Option<Self> {
        (prefix_length <= 32).then_some(Self {
            ip: ip.into(),
            prefix_length,
        })
    }

    /// An IPv6 address; `None` when the prefix is longer than 128 bits.
    #[must_use]
    pub fn v6(ip: Ipv6Addr, prefix_length: u8) -> Option<Self> {
        (prefix_length <= 128).then_some(Self {
            ip: ip.into(),
            prefix_length,
        })
    }

    /// The address without its prefix length.
    #[must_use]
    pub fn ip(self) -> IpAddr {
        self.ip
    }
}

impl std::str::FromStr for Address {
    type Err = Error;

    /// Reads `10.0.0.1/24` or `fd00::1/64`.
    fn from_str(text: &str) -> Result<Self, Error> {
        text.split_once('/')
            .and_then(|(ip, length)| match ip.parse().ok()? {
                IpAddr::V4(ip) => Self::v4(ip, length.parse().ok()?),
                IpAddr::V6(ip) => Self::v6(ip, length.parse().ok()?),
            })
            .ok_or_else(|| Error::Unfit {
                what: format!("address `{text}`"),
                reason: "not an IP address with a prefix length, like 10.0.0.1/24 or fd00::1/64".to_owned(),
            })
    }
}

/// Runs `ip` with these arguments.
pub(crate) fn ip<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    let ip = Program::new("ip").package("iproute2").arguments(arguments);
    ip.run(IP_TIMEOUT).map(drop)
}
