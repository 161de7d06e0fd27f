//! Network interfaces: their numbers, by which sockets are bound, and their state.

use std::io;
use std::net::IpAddr;

use crate::Error;
use crate::netlink::{Family, Request, attribute, attributes, family, text};

/// From linux/rtnetlink.h and linux/if_link.h.
const GET_LINK: u16 = 18;
const NAME: u16 = 3;
/// From linux/if_addr.h; bytes of `struct ifaddrmsg`, whose last four are the interface's number.
const GET_ADDRESS: u16 = 22;
const ADDRESS_HEADER: usize = 8;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const MTU: u16 = 4;
const PARENT: u16 = 5;
const LINK_INFO: u16 = 18;
const PARENT_NAMESPACE: u16 = 37;
const INFO_KIND: u16 = 1;
/// Bytes of the header in front of a link's attributes (`struct ifinfomsg`), and where the kind of
/// hardware, the number and flags are in it.
const HEADER: usize = 16;
const KIND: usize = 2;
const INDEX: usize = 4;
const FLAGS: usize = 8;
/// From linux/ethtool_netlink.h: the question for an interface's features, and the attributes of
/// question and answer.
const GET_FEATURES: u8 = 11;
const FEATURES_OF: u16 = 1;
const INTERFACE_NUMBER: u16 = 1;
const ACTIVE: u16 = 4;
const BITS: u16 = 3;
const BIT_NAME: u16 = 2;
/// Bytes of the header that generic netlink adds.
const GENERIC: usize = 4;
/// `IFNAMSIZ` without its terminator.
const LONGEST_NAME: usize = 15;

/// The number of the interface that has this address, in the calling thread's network namespace;
/// none where no interface has it.
///
/// # Errors
///
/// The error of the system call.
pub fn interface_with(address: IpAddr) -> Result<Option<u32>, Error> {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let mut found = None;
    let listed = Request::new(Family::Route, GET_ADDRESS, &[0; ADDRESS_HEADER]).list(&mut |message| {
        let Some((header, rest)) = message.split_at_checked(ADDRESS_HEADER) else {
            return;
        };
        // On a point-to-point link IFA_ADDRESS is the other end's address, and IFA_LOCAL this
        // one's; IPv6 has IFA_ADDRESS alone.
        if attribute(rest, LOCAL).or_else(|| attribute(rest, ADDRESS)) == Some(&bytes[..]) {
            found = header.last_chunk().map(|index| u32::from_ne_bytes(*index));
        }
    });
    let action = || format!("looking for the interface with {address}");
    listed.map_err(|refused| Error::io(action())(refused.source))?;
    Ok(found)
}

/// The number of the interface of this name in the calling thread's network namespace.
///
/// `if_nametoindex` is not for an interface that may be missing: for root the kernel then starts
/// `modprobe` to load a driver of that name, and the caller waits until it has ended, 10 to 200 ms.
///
/// # Errors
///
/// [`Error::Unfit`] for what is no name; else `action` failed, with `ENODEV` where there is no such interface.
pub fn interface_number(name: &str, action: &str) -> Result<libc::c_int, Error> {
    if name.contains('\0') {
        return Err(Error::Unfit {
            what: format!("interface name {name:?}"),
            reason: "has a zero byte".to_owned(),
        });
    }
    let found = Interface::find(name)?;
    let number = found.and_then(|found| libc::c_int::try_from(found.index).ok());
    number.ok_or_else(|| Error::io(action)(io::Error::from_raw_os_error(libc::ENODEV)))
}

bartizan_registry::made! {
    /// A network interface of the calling thread's network namespace, as the kernel has it now.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Interface, read(message: &[u8]) -> Option<Self> {
        let (header, all) = message.split_first_chunk::<HEADER>()?;
        let word = |at: usize| header[at..].first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let number = |kind| attribute(all, kind).and_then(|bytes| Some(u32::from_ne_bytes(*bytes.first_chunk()?)));
        let is_ethernet = header[KIND..FLAGS].starts_with(&libc::ARPHRD_ETHER.to_ne_bytes());
        // Numbers of another namespace are other interfaces here.
        let is_elsewhere = attribute(all, PARENT_NAMESPACE).is_some();
        /// Its number.
        pub index: u32 = word(INDEX).filter(|index| *index > 0)?,
        /// Its name.
        pub name: String = text(attribute(all, NAME)?).into_owned(),
        /// Octets that an IP packet, or a frame's payload, may have.
        pub mtu: u32 = number(MTU)?,
        /// Its MAC address; none where it is no Ethernet.
        pub address: Option<[u8; 6]> = attribute(all, ADDRESS)
            .filter(|_| is_ethernet)
            .and_then(|address| address.try_into().ok()),
        /// True if it is set up.
        pub is_up: bool = word(FLAGS)? & libc::IFF_UP as u32 != 0,
        /// The interface of this namespace that it stands on.
        pub parent: Option<u32> = number(PARENT).filter(|_| !is_elsewhere),
        /// Kind of its virtual interface: `macsec`, `veth`.
        pub kind: Option<String> = attribute(all, LINK_INFO)
            .and_then(|info| attribute(info, INFO_KIND))
            .map(|kind| text(kind).into_owned()),
    }
}

impl Interface {
    /// The interface of this name; none where there is none.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn find(name: &str) -> Result<Option<Self>, Error> {
        // The kernel calls such a name a mistake, and its alternative names are longer: they are no
        // names of ours.
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains('\0') {
            return Ok(None);
        }
        let question = Request::new(Family::Route, GET_LINK, &[0; HEADER]);
        Self::ask(question.attribute(NAME, &[name.as_bytes(), &[0]].concat()), name)
    }

    /// The interface of this number, whatever its current name; none where there is none.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn numbered(index: u32) -> Result<Option<Self>, Error> {
        let mut header = [0; HEADER];
        header[INDEX..FLAGS].copy_from_slice(&index.to_ne_bytes());
        let question = Request::new(Family::Route, GET_LINK, &header);
        Self::ask(question, &format!("of number {index}"))
    }

    /// The interface on which a virtual interface of this name and kind stands; none where it does not.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn under(device: &str, kind: &str) -> Result<Option<Self>, Error> {
        let device = Self::find(device)?.filter(|device| device.kind.as_deref() == Some(kind));
        device.and_then(|device| device.parent).map_or(Ok(None), Self::numbered)
    }

    /// The interface that has this address; none where no interface has it.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn with(address: IpAddr) -> Result<Option<Self>, Error> {
        interface_with(address)?.map_or(Ok(None), Self::numbered)
    }

    /// Returns true if a feature of `ethtool -k` is on, as `esp-hw-offload`. None if this kernel
    /// does not say (before Linux 5.6).
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn has_feature(&self, name: &str) -> io::Result<Option<bool>> {
        let Some(ethtool) = family("ethtool").map_err(|refused| refused.source)? else {
            return Ok(None);
        };
        let number = self.index.to_ne_bytes();
        let question = Request::generic(ethtool, GET_FEATURES, 1);
        let question = question.nested(FEATURES_OF, |of| of.attribute(INTERFACE_NUMBER, &number));
        let mut found = None;
        let done = question.ask(&mut |message| {
            let active = message.get(GENERIC..).and_then(|all| attribute(all, ACTIVE));
            let Some(active) = active else { return };
            // The bits of a set without a mask are those that are on.
            let mut bits = attributes(attribute(active, BITS).unwrap_or_default());
            let of_it =
                |bit| attribute(bit, BIT_NAME).is_some_and(|text| text.strip_suffix(&[0]) == Some(name.as_bytes()));
            found = Some(bits.any(|(_, bit)| of_it(bit)));
        });
        done.map_err(|refused| refused.source)?;
        Ok(found)
    }

    fn ask(question: Request, what: &str) -> Result<Option<Self>, Error> {
        let mut found = None;
        let done = question.ask(&mut |message| found = found.take().or_else(|| Self::read(message)));
        match done {
            Err(refused) if refused.source.raw_os_error() != Some(libc::ENODEV) => {
                Err(Error::io(format!("looking for the interface {what}"))(refused.source))
            }
            _ => Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_a_number_and_what_is_missing_has_none() {
        assert_eq!(interface_number("lo", "looking").unwrap(), 1);
        let loopback = Interface::find("lo").unwrap().unwrap();
        assert_eq!((loopback.name.as_str(), loopback.index), ("lo", 1));
        assert_eq!((loopback.address, loopback.kind.as_deref()), (None, None));
        assert_eq!(Interface::numbered(1).unwrap(), Some(loopback.clone()));
        assert_eq!(Interface::numbered(u32::MAX / 2).unwrap(), None);
        // Netlink of ethtool came with Linux 5.6.
        let on = ["rx-checksum", "esp-hw-offload"].map(|name| loopback.has_feature(name).unwrap());
        assert!([[Some(true), Some(false)], [None, None]].contains(&on), "{on:?}");
        assert_eq!(Interface::with("192.0.2.254".parse().unwrap()).unwrap(), None);
        for name in ["", "none-such", "a-name-that-is-longer-than-any"] {
            let error = interface_number(name, "looking").unwrap_err();
            let Error::Io { source, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(source.raw_os_error(), Some(libc::ENODEV), "{name}");
        }
        assert!(matches!(interface_number("l\0o", "looking"), Err(Error::Unfit { .. })));
    }
}
