//! Network interfaces: their numbers, by which sockets are bound, and their state.

use std::io;
use std::net::IpAddr;

use crate::Error;
use crate::netlink::{Family, Request, attributes, family};

/// From linux/rtnetlink.h and linux/if_link.h.
const GET_LINK: u16 = 18;
const NAME: u16 = 3;
/// From linux/if_addr.h; bytes of `struct ifaddrmsg`, whose last four are the interface's number.
const GET_ADDRESS: u16 = 22;
const ADDRESS_HEADER: usize = 8;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const MTU: u16 = 4;
/// Bytes of the header in front of a link's attributes (`struct ifinfomsg`), and where number and
/// flags are in it.
const HEADER: usize = 16;
const NUMBER: usize = 4;
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
        let all: Vec<_> = attributes(rest).collect();
        let of = |kind| all.iter().find(|(found, _)| *found == kind).map(|(_, value)| *value);
        if of(LOCAL).or_else(|| of(ADDRESS)) == Some(&bytes[..]) {
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
    asked(name).map_err(Error::io(action))
}

fn asked(name: &str) -> io::Result<libc::c_int> {
    let interface = Interface::named(name)?;
    libc::c_int::try_from(interface.number).map_err(|_| missing())
}

fn missing() -> io::Error {
    io::Error::from_raw_os_error(libc::ENODEV)
}

/// A network interface as the kernel has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// Octets that an IP packet may have.
    pub mtu: u32,
    /// True where it is set up.
    pub is_up: bool,
}

impl Interface {
    /// The interface of this name in the calling thread's network namespace.
    ///
    /// # Errors
    ///
    /// The kernel's, ENODEV where there is none.
    pub fn named(name: &str) -> io::Result<Self> {
        // The kernel calls such a name a mistake, and its alternative names are longer: they are no
        // names of ours.
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(missing());
        }
        let question = Request::new(Family::Route, GET_LINK, &[0; HEADER]);
        Self::ask(question.attribute(NAME, &[name.as_bytes(), &[0]].concat()))
    }

    /// The interface that has this address; none where no interface has it.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn with(address: IpAddr) -> Result<Option<Self>, Error> {
        let Some(number) = interface_with(address)? else {
            return Ok(None);
        };
        let mut header = [0; HEADER];
        header[NUMBER..FLAGS].copy_from_slice(&number.to_ne_bytes());
        let asked = Self::ask(Request::new(Family::Route, GET_LINK, &header));
        let action = || format!("looking at the interface with {address}");
        asked.map(Some).map_err(|source| Error::io(action())(source))
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
        let number = self.number.to_ne_bytes();
        let question = Request::generic(ethtool, GET_FEATURES, 1);
        let question = question.nested(FEATURES_OF, |of| of.attribute(INTERFACE_NUMBER, &number));
        let mut found = None;
        let done = question.ask(&mut |message| {
            let inside = |bytes, kind| attributes(bytes).find_map(|(of, value)| (of == kind).then_some(value));
            let active = message.get(GENERIC..).and_then(|all| inside(all, ACTIVE));
            let Some(active) = active else { return };
            // The bits of a set without a mask are those that are on.
            let mut bits = inside(active, BITS).map_or(attributes(&[]), attributes);
            let of_it =
                |bit| inside(bit, BIT_NAME).is_some_and(|text| text.strip_suffix(&[0]) == Some(name.as_bytes()));
            found = Some(bits.any(|(_, bit)| of_it(bit)));
        });
        done.map_err(|refused| refused.source)?;
        Ok(found)
    }

    fn ask(question: Request) -> io::Result<Self> {
        let mut found = None;
        let done = question.ask(&mut |message| {
            let word = |at: usize| Some(u32::from_ne_bytes(*message.get(at..)?.first_chunk()?));
            let rest = message.get(HEADER..).unwrap_or_default();
            let of = |kind| {
                attributes(rest)
                    .find(|(found, _)| *found == kind)
                    .map(|(_, value)| value)
            };
            let read = || {
                let name = of(NAME)?.split(|byte| *byte == 0).next()?;
                Some(Self {
                    name: String::from_utf8_lossy(name).into_owned(),
                    number: word(NUMBER).filter(|number| *number > 0)?,
                    mtu: u32::from_ne_bytes(*of(MTU)?.first_chunk()?),
                    is_up: word(FLAGS)? & libc::IFF_UP as u32 != 0,
                })
            };
            found = found.take().or_else(read);
        });
        done.map_err(|refused| refused.source)?;
        found.ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_a_number_and_what_is_missing_has_none() {
        assert_eq!(interface_number("lo", "looking").unwrap(), 1);
        let loopback = Interface::named("lo").unwrap();
        assert_eq!((loopback.name.as_str(), loopback.number), ("lo", 1));
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
