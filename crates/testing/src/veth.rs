//! Virtual Ethernet pairs: a cable between two namespaces.

use bartizan_host::{Error, Namespace};

use crate::wiring::{Address, Wiring as _, ip};

/// The longest name of an interface in bytes (`IFNAMSIZ` of linux/if.h without its terminator).
const LONGEST_NAME: usize = 15;

/// One end of a cable: the namespace it is in, the name of the interface, and the addresses it has.
#[derive(Debug, Clone)]
pub struct Port<'a> {
    namespace: &'a Namespace,
    interface: String,
    addresses: Vec<Address>,
}

impl<'a> Port<'a> {
    /// An end named `interface` in `namespace`, without addresses yet.
    #[must_use]
    pub fn new(namespace: &'a Namespace, interface: &str) -> Self {
        Self {
            namespace,
            interface: interface.to_owned(),
            addresses: Vec::new(),
        }
    }

    /// Adds an address like `10.0.0.1/24` or `fd00::1/64`.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] when it cannot be read.
    pub fn address(mut self, address: &str) -> Result<Self, Error> {
        self.addresses.push(address.parse()?);
        Ok(self)
    }
}

/// Joins two namespaces (or two interfaces of one) by a veth pair with this MTU in bytes; both ends are up with
/// their addresses when it returns. The cable goes when either namespace goes.
///
/// # Errors
///
/// [`Error::Unfit`] for a name the kernel would not take, or what `ip` says (an interface of that name is there).
pub fn connect(one: &Port<'_>, other: &Port<'_>, mtu: u16) -> Result<(), Error> {
    for port in [one, other] {
        let name = &port.interface;
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(|c: char| c == '/' || c.is_whitespace()) {
            return Err(Error::Unfit {
                what: format!("interface name `{name}`"),
                reason: format!("1 to {LONGEST_NAME} bytes without spaces or `/`"),
            });
        }
    }
    let mtu = mtu.to_string();
    ip([
        "-n",
        one.namespace.name(),
        "link",
        "add",
        "name",
        &one.interface,
        "mtu",
        &mtu,
        "type",
        "veth",
        "peer",
        "name",
        &other.interface,
        "netns",
        other.namespace.name(),
        "mtu",
        &mtu,
    ])?;
    for port in [one, other] {
        for &address in &port.addresses {
            port.namespace.add_address(&port.interface, address)?;
        }
    }
    // Both ends up before returning: a veth carries nothing until its peer is up.
    for port in [one, other] {
        ip(["-n", port.namespace.name(), "link", "set", "dev", &port.interface, "up"])?;
    }
    Ok(())
}
