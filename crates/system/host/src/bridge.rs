//! A switch between cables: Ethernet frames pass from each interface to the others, in a namespace
//! that neither end is in.

use crate::namespace::ip;
use crate::{Error, Namespace};

impl Namespace {
    /// Makes a bridge of this name out of interfaces of the namespace. The impairment of an
    /// interface meets the frames that the bridge sends out of it, so that an end which captures at
    /// its own interface sees when it sent and when it received.
    ///
    /// # Errors
    ///
    /// The error of `ip`: no such interface, or a kernel without bridges.
    pub fn bridge(&self, name: &str, interfaces: &[&str]) -> Result<(), Error> {
        let bridge = ["-n", self.name(), "link", "add", "name", name, "type", "bridge"];
        // Without the spanning tree protocol a port forwards as soon as it is up.
        ip(bridge.into_iter().chain(["stp_state", "0"]))?;
        for interface in interfaces {
            ip(["-n", self.name(), "link", "set", "dev", interface, "master", name])?;
        }
        ip(["-n", self.name(), "link", "set", "dev", name, "up"])
    }
}
