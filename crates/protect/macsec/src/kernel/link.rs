//! Network interfaces, as rtnetlink(7) has them.

use std::io;

use bartizan_host::netlink::{Family, Request, attributes};

use super::codes::{
    ADDRESS, DELETE_LINK, ETHERNET, FAMILY, GET_LINK, INFO_KIND, LINK_INFO, MTU, NAME, NEW_LINK, PARENT,
    PARENT_NAMESPACE, UP,
};
use crate::Error;

/// Bytes of the header in front of a link's attributes (`struct ifinfomsg`).
const HEADER: usize = 16;
/// `IFNAMSIZ` without its terminator.
const LONGEST_NAME: usize = 15;

/// A network interface of this network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Octets that a frame's payload may have.
    pub mtu: u32,
    /// Its MAC address; none where it is no Ethernet.
    pub address: Option<[u8; 6]>,
    /// True if it is up.
    pub is_up: bool,
    /// The interface of this namespace that it stands on.
    pub parent: Option<u32>,
    /// Kind of its virtual interface: `macsec`, `veth`.
    pub kind: Option<String>,
}

impl Interface {
    /// The one of this name; none where there is none.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn find(name: &str) -> Result<Option<Self>, Error> {
        // The kernel calls such a name a mistake; it is nobody's.
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains('\0') {
            return Ok(None);
        }
        let question = Request::new(Family::Route, GET_LINK, &header(0, 0, 0)).attribute(NAME, &terminated(name));
        Self::asked(question, name)
    }

    /// The one of this number, whatever its current name. None if there is none.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn numbered(index: u32) -> Result<Option<Self>, Error> {
        let question = Request::new(Family::Route, GET_LINK, &header(index, 0, 0));
        Self::asked(question, &format!("of number {index}"))
    }

    /// The port that the MACsec device of this name stands on; none where there is no such device.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn under(device: &str) -> Result<Option<Self>, Error> {
        let device = Self::find(device)?.filter(|device| device.kind.as_deref() == Some(FAMILY));
        device.and_then(|device| device.parent).map_or(Ok(None), Self::numbered)
    }

    fn asked(question: Request, what: &str) -> Result<Option<Self>, Error> {
        let mut found = None;
        let done = question.ask(&mut |message| found = Self::read(message));
        match done {
            Ok(()) => Ok(found),
            Err(refused) if is_gone(&refused.source) => Ok(None),
            Err(refused) => Err(Error::kernel(format!("looking for the interface {what}"))(refused)),
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    ///
    /// [`Error::NoInterface`], and what the kernel says.
    pub fn of(name: &str) -> Result<Self, Error> {
        Self::find(name)?.ok_or_else(|| Error::NoInterface {
            interface: name.to_owned(),
        })
    }

    /// Its MAC address.
    ///
    /// # Errors
    ///
    /// [`Error::NotEthernet`].
    pub fn ethernet_address(&self) -> Result<[u8; 6], Error> {
        self.address.ok_or_else(|| Error::NotEthernet {
            interface: self.name.clone(),
        })
    }

    /// Sets it up.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn set_up(&self) -> Result<(), Error> {
        let request = Request::new(Family::Route, NEW_LINK, &header(self.index, UP, UP));
        let done = request.order(0);
        done.map_err(Error::kernel(format!("setting the interface {} up", self.name)))
    }

    /// Removes it; one that is gone is removed already.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn remove(&self) -> Result<(), Error> {
        let done = Request::new(Family::Route, DELETE_LINK, &header(self.index, 0, 0)).order(0);
        match done {
            Err(refused) if is_gone(&refused.source) => Ok(()),
            done => done.map_err(Error::kernel(format!("removing the interface {}", self.name))),
        }
    }

    fn read(message: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = message.first_chunk()?;
        let mut interface = Self {
            index: number(&header[4..8])?,
            name: String::new(),
            mtu: 0,
            address: None,
            is_up: number(&header[8..12])? & UP != 0,
            parent: None,
            kind: None,
        };
        let mut is_elsewhere = false;
        let is_ethernet = u16::from_ne_bytes([header[2], header[3]]) == ETHERNET;
        for (attribute, content) in attributes(&message[HEADER..]) {
            match attribute {
                NAME => interface.name = text(content),
                MTU => interface.mtu = number(content)?,
                ADDRESS if is_ethernet => interface.address = content.try_into().ok(),
                PARENT => interface.parent = number(content),
                PARENT_NAMESPACE => is_elsewhere = true,
                LINK_INFO => {
                    let kind = attributes(content).find(|&(attribute, _)| attribute == INFO_KIND);
                    interface.kind = kind.map(|(_, content)| text(content));
                }
                _ => {}
            }
        }
        // Numbers of another namespace are other interfaces here.
        interface.parent = interface.parent.filter(|_| !is_elsewhere);
        Some(interface)
    }
}

/// `struct ifinfomsg`: family, type, index, flags, and which flags are to change.
pub(super) fn header(index: u32, flags: u32, change: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&change.to_ne_bytes());
    header
}

/// A name as the kernel takes it: with a zero at its end.
pub(super) fn terminated(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

/// ENODEV: it is gone.
pub(super) fn is_gone(error: &io::Error) -> bool {
    const NO_SUCH_DEVICE: i32 = 19;
    error.raw_os_error() == Some(NO_SUCH_DEVICE)
}

fn number(content: &[u8]) -> Option<u32> {
    content.try_into().ok().map(u32::from_ne_bytes)
}

fn text(content: &[u8]) -> String {
    let text = content.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_and_is_no_ethernet_port() {
        let loopback = Interface::of("lo").unwrap();
        assert_eq!((loopback.index, loopback.kind.as_deref()), (1, None));
        assert_eq!(Interface::numbered(1).unwrap(), Some(loopback.clone()));
        assert_eq!(Interface::numbered(u32::MAX / 2).unwrap(), None);
        assert_eq!(Interface::under("lo").unwrap(), None, "it is no MACsec device");
        let error = loopback.ethernet_address().unwrap_err();
        assert_eq!(error.to_string(), "the interface lo is no Ethernet port");
        for name in ["none-such", "a-name-that-is-longer-than-any"] {
            let error = Interface::of(name).unwrap_err();
            assert!(matches!(error, Error::NoInterface { .. }), "{error}");
        }
    }
}
