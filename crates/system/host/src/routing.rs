//! Policy routing over rtnetlink(7): rules and routes, added, removed, and listed as the kernel has
//! them.

mod route;
mod rule;

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::netlink::{self, Refused, Request};

pub use route::{Filter, Route};
pub use rule::Rule;

/// Attributes by their number.
type Attributes = BTreeMap<u16, Vec<u8>>;

/// An IP version that has rules and routes of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Version {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::V4, Self::V6];

    /// The version of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    const fn family(self) -> u8 {
        match self {
            Self::V4 => libc::AF_INET as u8,
            Self::V6 => libc::AF_INET6 as u8,
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// An address and the bits that count, as `ip` prints them.
fn network(bytes: &[u8], bits: u8) -> Option<String> {
    let address: IpAddr = match bytes.len() {
        4 => IpAddr::from(*bytes.first_chunk::<4>()?),
        _ => IpAddr::from(*bytes.first_chunk::<16>()?),
    };
    let all = if address.is_ipv4() { 32 } else { 128 };
    Some(match bits == all {
        true => address.to_string(),
        false => format!("{address}/{bits}"),
    })
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.first_chunk()?))
}

fn with(mut request: Request, attributes: &Attributes) -> Request {
    for (kind, content) in attributes {
        request = request.attribute(*kind, content);
    }
    request
}

/// Those that are wanted and missing, and those that are there and not wanted, as often as they
/// are.
#[must_use]
pub fn differences<T: Ord>(wanted: Vec<T>, there: Vec<T>) -> (Vec<T>, Vec<T>) {
    let mut times: BTreeMap<T, isize> = BTreeMap::new();
    for one in wanted {
        *times.entry(one).or_default() += 1;
    }
    for one in there {
        *times.entry(one).or_default() -= 1;
    }
    let (mut missing, mut added) = (Vec::new(), Vec::new());
    for (one, times) in times.into_iter().filter(|(_, times)| *times != 0) {
        if times > 0 { missing.push(one) } else { added.push(one) }
    }
    (missing, added)
}

/// The messages of a listing behind a fixed header of so many bytes.
fn listed<T>(
    question: Request,
    fixed: usize,
    read: impl Fn(&[u8], Attributes) -> Option<T>,
) -> Result<Vec<T>, Refused> {
    let mut all = Vec::new();
    let done = question.list(&mut |message| {
        let Some((header, rest)) = message.split_at_checked(fixed) else {
            return;
        };
        let attributes = netlink::attributes(rest).map(|(kind, content)| (kind, content.to_vec()));
        all.extend(read(header, attributes.collect()));
    });
    match done {
        Ok(()) => Ok(all),
        // An IP version that the kernel does not have, and a table that was never filled.
        Err(refused)
            if matches!(
                refused.source.raw_os_error(),
                Some(libc::ENOENT | libc::EAFNOSUPPORT | libc::EOPNOTSUPP)
            ) =>
        {
            Ok(Vec::new())
        }
        Err(refused) => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_twice_and_wanted_once_was_added() {
        assert_eq!(differences(vec![1, 2, 3], vec![3, 2, 2, 4]), (vec![1], vec![2, 4]));
    }
}
