//! Addresses on loopback for programs that need to know where to listen before they start.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

use bartizan_host::Error;

/// The first port tried; those below are often taken by other programs.
const LOWEST: u16 = 10_000;
/// First port of connections, unless the kernel says otherwise (ip(7), `ip_local_port_range`).
const CONNECTIONS: u16 = 32_768;
/// Ports tried before giving up.
const TRIES: usize = 1000;

/// TCP addresses on loopback without a listener, all different, and handed out once in this
/// process.
///
/// Their ports lie below those that the kernel gives to connections: between the look and the use
/// none of the many connections of a busy machine can take one, only another program that listens
/// there on purpose.
///
/// # Errors
///
/// When the kernel refuses to listen, or no port is free.
pub fn loopback_addresses<const N: usize>() -> Result<[SocketAddr; N], Error> {
    static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    let failed = || Error::io("looking for a free port");
    let end = first_of_connections().max(LOWEST + 1);
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let given = given.get_or_insert_default();
    let mut addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
    let mut tries = 0;
    for address in &mut addresses {
        *address = loop {
            tries += 1;
            if tries > TRIES {
                return Err(failed()(io::ErrorKind::AddrInUse.into()));
            }
            let port = LOWEST + (chance() % u64::from(end - LOWEST)) as u16;
            match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                Ok(_) if given.insert(port) => break (Ipv4Addr::LOCALHOST, port).into(),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(failed()(error)),
            }
        };
    }
    Ok(addresses)
}

/// Another number each time and in each process.
fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn first_of_connections() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next().and_then(|first| first.parse().ok());
    first.unwrap_or(CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_differ_can_be_listened_on_and_are_below_those_of_connections() {
        let [one, other] = loopback_addresses().unwrap();
        let [last] = loopback_addresses().unwrap();
        assert!(one != other && one != last && other != last);
        let _listeners = [one, other, last].map(|address| TcpListener::bind(address).unwrap());
        assert!([one, other, last].iter().all(|one| one.port() < first_of_connections()));
    }
}
