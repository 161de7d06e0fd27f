//! The number of a network interface: what sockets are bound by.

use std::io;
use std::net::IpAddr;

use crate::Error;
use crate::netlink::{Family, Request, attributes};

/// From linux/rtnetlink.h and linux/if_link.h.
const GET_LINK: u16 = 18;
const NAME: u16 = 3;
/// From linux/if_addr.h; bytes of `struct ifaddrmsg`, whose last four are the interface's number.
const GET_ADDRESS: u16 = 22;
const ADDRESS_HEADER: usize = 8;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
/// Bytes of the header in front of a link's attributes (`struct ifinfomsg`), and where the number is in it.
const HEADER: usize = 16;
const NUMBER: usize = 4;
/// `IFNAMSIZ` without its terminator.
const LONGEST_NAME: usize = 15;

/// The number of the interface that has this address, in the calling thread's network namespace; none where no interface has it.
///
/// # Errors
///
/// What the kernel says.
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
        // Of an end of a point-to-point link IFA_ADDRESS is the other's, and IFA_LOCAL this one's; of IPv6 there is IFA_ADDRESS alone.
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
/// `if_nametoindex` is not for an interface that may be missing: for root the kernel then starts `modprobe` to load a driver of that name, and the caller
/// waits until it has ended, 10 to 200 ms.
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
    let missing = || io::Error::from_raw_os_error(libc::ENODEV);
    // The kernel calls such a name a mistake, and its alternative names are longer: they are no names of ours.
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(missing());
    }
    let mut found = None;
    let question =
        Request::new(Family::Route, GET_LINK, &[0; HEADER]).attribute(NAME, &[name.as_bytes(), &[0]].concat());
    let done = question.ask(&mut |message| {
        let number = message.get(NUMBER..).and_then(|rest| rest.first_chunk());
        found = number.map(|&number| libc::c_int::from_ne_bytes(number));
    });
    done.map_err(|refused| refused.source)?;
    found.filter(|&number| number > 0).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_a_number_and_what_is_missing_has_none() {
        assert_eq!(interface_number("lo", "looking").unwrap(), 1);
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
