//! Changes to network interfaces, as rtnetlink(7) has them.

use std::io;

use bartizan_host::Interface;
use bartizan_host::netlink::{Family, Request};

use super::codes::{DELETE_LINK, FAMILY, NEW_LINK, UP};
use crate::Error;

/// Bytes of the header in front of a link's attributes (`struct ifinfomsg`).
const HEADER: usize = 16;

/// The interface of this name.
///
/// # Errors
///
/// [`Error::NoInterface`], and the kernel's error.
pub fn interface(name: &str) -> Result<Interface, Error> {
    Interface::find(name)?.ok_or_else(|| Error::NoInterface(name.to_owned()))
}

/// The interface that a MACsec device of this name stands on; none where there is no such device.
///
/// # Errors
///
/// The kernel's error.
pub fn under(device: &str) -> Result<Option<Interface>, Error> {
    Ok(Interface::under(device, FAMILY)?)
}

/// The MAC address of an Ethernet port.
///
/// # Errors
///
/// [`Error::NotEthernet`].
pub fn ethernet_address(port: &Interface) -> Result<[u8; 6], Error> {
    port.address.ok_or_else(|| Error::NotEthernet(port.name.clone()))
}

/// Sets an interface up.
///
/// # Errors
///
/// The kernel's error.
pub fn set_up(interface: &Interface) -> Result<(), Error> {
    let request = Request::new(Family::Route, NEW_LINK, &header(interface.index, UP, UP));
    let done = request.order(0);
    done.map_err(Error::kernel(format!("setting the interface {} up", interface.name)))
}

/// Removes a virtual interface. One that is gone is removed.
pub(super) fn remove(interface: &Interface) -> Result<(), Error> {
    let done = Request::new(Family::Route, DELETE_LINK, &header(interface.index, 0, 0)).order(0);
    match done {
        Err(refused) if is_gone(&refused.source) => Ok(()),
        done => done.map_err(Error::kernel(format!("removing the interface {}", interface.name))),
    }
}

pub(super) fn header(index: u32, flags: u32, change: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&change.to_ne_bytes());
    header
}

pub(super) fn terminated(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

/// Returns true if the kernel says that there is no such interface, channel or association (ENODEV).
pub(super) fn is_gone(error: &io::Error) -> bool {
    const NO_SUCH_DEVICE: i32 = 19;
    error.raw_os_error() == Some(NO_SUCH_DEVICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_and_is_no_ethernet_port() {
        let loopback = interface("lo").unwrap();
        assert_eq!(under("lo").unwrap(), None, "it is no MACsec device");
        let error = ethernet_address(&loopback).unwrap_err();
        assert_eq!(error.to_string(), "the interface lo is no Ethernet port");
        for name in ["none-such", "a-name-that-is-longer-than-any"] {
            let error = interface(name).unwrap_err();
            assert!(matches!(error, Error::NoInterface(_)), "{error}");
        }
    }
}
