//! Detection of a process that listens on a TCP port, from `/proc` and without connecting.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bartizan_host::{Error, Process};

use crate::group_members;

/// `TCP_LISTEN` of linux/net/tcp_states.h as `/proc/net/tcp` prints it.
const LISTEN: &str = "0A";

/// Waiting for a process that serves.
pub trait Listening {
    /// Waits until it, or a process it started, listens on this TCP port; an unspecified address (`0.0.0.0`, `::`)
    /// is any. The sockets are read from `/proc`, so the server sees no connection.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] when it ends instead, [`Error::Late`] when the time is over.
    fn wait_for_port(&mut self, address: SocketAddr, timeout: Duration) -> Result<(), Error>;
}

impl Listening for Process {
    fn wait_for_port(&mut self, address: SocketAddr, timeout: Duration) -> Result<(), Error> {
        let what = format!("listen on {address}");
        let group = self.id();
        self.wait_until(&what, timeout, |_| listens(group, address))
    }
}

/// Returns true if any process of the group holds a listening socket at `address`; an unspecified
/// address is any.
///
/// A process that has made itself untraceable, as a confined sidecar does, shows its sockets to
/// root alone. Without root, any listener at `address` in its namespace is then taken for it.
fn listens(group: u32, address: SocketAddr) -> bool {
    let members = group_members(group);
    let hidden = members.iter().any(|&pid| hides_its_files(pid));
    let sockets: HashSet<u64> = members.iter().flat_map(|&pid| sockets(pid)).collect();
    // The tables of /proc/<pid>/net are those of the namespace of that process.
    members.first().is_some_and(|pid| {
        ["tcp", "tcp6"].into_iter().any(|table| {
            fs::read_to_string(format!("/proc/{pid}/net/{table}")).is_ok_and(|table| {
                table
                    .lines()
                    .skip(1)
                    .filter_map(listener)
                    .any(|(bound, inode)| covers(bound, address) && (hidden || sockets.contains(&inode)))
            })
        })
    })
}

/// Returns true if a socket bound there takes connections to `wanted`.
fn covers(bound: SocketAddr, wanted: SocketAddr) -> bool {
    bound.port() == wanted.port()
        && (wanted.ip().is_unspecified() || bound.ip().is_unspecified() || bound.ip().to_canonical() == wanted.ip())
}

fn hides_its_files(pid: u32) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd")).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// Inode numbers of the sockets a process has open.
fn sockets(pid: u32) -> Vec<u64> {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?
                .parse()
                .ok()
        })
        .collect()
}

/// Address and inode in a line of `/proc/net/tcp` or `tcp6`, if that socket listens.
fn listener(line: &str) -> Option<(SocketAddr, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (local, state) = (fields.nth(1)?, fields.nth(1)?);
    if state != LISTEN {
        return None;
    }
    Some((address(local)?, fields.nth(5)?.parse().ok()?))
}

/// Reads `0100007F:1F90`: each 32-bit word in the byte order of the machine, the port in hexadecimal.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |index: usize| {
        u32::from_str_radix(ip.get(index * 8..index * 8 + 8)?, 16)
            .ok()
            .map(u32::to_ne_bytes)
    };
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut octets = [0; 16];
            for (index, chunk) in octets.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(index)?);
            }
            Ipv6Addr::from(octets).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::group_in;
    use proptest::prelude::*;
    use std::net::TcpListener;

    #[test]
    fn our_own_listeners_are_seen_and_a_closed_port_is_not() {
        let group = group_in(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        for bound in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(bound).unwrap();
            let address = listener.local_addr().unwrap();
            assert!(listens(group, address), "{address}");
            assert!(listens(
                group,
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port())
            ));
            drop(listener);
            assert!(!listens(group, address), "{address}");
        }
    }

    #[test]
    fn another_process_on_the_same_port_does_not_count() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let child = bartizan_host::Program::new("sleep").argument("30").start().unwrap();
        assert!(!listens(child.id(), listener.local_addr().unwrap()));
    }

    #[test]
    fn program_that_ends_before_it_listens_is_reported_with_its_words() {
        let mut process = bartizan_host::Program::new("sh")
            .arguments(["-c", "echo cannot bind >&2; exit 1"])
            .start()
            .unwrap();
        let error = process
            .wait_for_port((Ipv4Addr::LOCALHOST, 1).into(), crate::PATIENCE)
            .unwrap_err();
        assert!(error.to_string().contains("cannot bind"), "{error}");
    }

    #[test]
    fn program_that_does_not_listen_in_time_is_reported() {
        let mut process = bartizan_host::Program::new("sh")
            .arguments(["-c", "sleep 1000"])
            .start()
            .unwrap();
        let error = process
            .wait_for_port((Ipv4Addr::LOCALHOST, 1).into(), Duration::from_millis(20))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh -c sleep 1000` did not listen on 127.0.0.1:1 within 20ms"
        );
    }

    proptest! {
        #[test]
        fn no_line_makes_the_readers_panic(line: String, hexadecimal in "[0-9A-F]{0,40}:[0-9A-F]{0,6}") {
            let _ = listener(&line);
            let _ = group_in(&line);
            let _ = address(&line);
            let _ = address(&hexadecimal);
        }
    }
}
