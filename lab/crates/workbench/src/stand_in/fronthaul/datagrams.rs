//! Frames of the fronthaul over IP: what follows the Ethernet header, from eCPRI's own on, as a
//! datagram of UDP. eCPRI 2.0 has that transport next to Ethernet, and no port of its own.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd as _;
use std::time::Duration;

use bartizan_host::Namespace;
use bartizan_machine::{Arrival, Departure, Handed};
use bartizan_registry::Header;
use bartizan_registry::ethertype::ECPRI;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt};

use super::frame::{ADDRESSES, Kind, Tagging};
use super::play::{Inlet, Outlet};
use crate::Error;

/// Port of both ends: the first dynamic port, which is never assigned (RFC 6335, section 6).
pub const PORT: u16 = 49152;
/// Bytes of the Ethernet header of a frame without a VLAN tag, which is not sent.
const ETHERNET: usize = Header::ETHERNET.bytes as usize;
/// Bytes of the headers of IPv4 and UDP in front of what is sent.
pub const HEADERS: usize = 20 + 8;
/// Room in the kernel for datagrams not yet read, in bytes, as for frames.
const ROOM: usize = 32 << 20;

/// Bytes of what is sent of a frame.
#[must_use]
pub fn payload(kind: Kind) -> usize {
    kind.length(Tagging::Untagged) - ETHERNET
}

/// The end that sends.
#[derive(Debug)]
pub struct Sender(UdpSocket);

/// The end that receives.
#[derive(Debug)]
pub struct Receiver<'a> {
    socket: UdpSocket,
    namespace: &'a Namespace,
    /// Datagrams without room that the namespace has counted before.
    before: u64,
}

impl Sender {
    /// From this address of a namespace to another.
    ///
    /// # Errors
    /// Fails if the kernel refuses the address.
    pub fn open(namespace: &Namespace, from: Ipv4Addr, to: Ipv4Addr) -> Result<Self, Error> {
        let open = || {
            let socket = UdpSocket::bind(SocketAddrV4::new(from, PORT))?;
            socket.connect(SocketAddrV4::new(to, PORT))?;
            Ok::<_, io::Error>(socket)
        };
        Ok(Self(namespace.enter(open)?.map_err(Error::Broken)?))
    }
}

impl<'a> Receiver<'a> {
    /// At this address of a namespace.
    ///
    /// # Errors
    /// Fails if the kernel refuses the address or the larger buffer.
    pub fn open(namespace: &'a Namespace, at: Ipv4Addr) -> Result<Self, Error> {
        let open = || {
            let socket = UdpSocket::bind(SocketAddrV4::new(at, PORT))?;
            socket.set_nonblocking(true)?;
            setsockopt(&socket, sockopt::RcvBufForce, &ROOM)?;
            Ok::<_, io::Error>(socket)
        };
        Ok(Self {
            socket: namespace.enter(open)?.map_err(Error::Broken)?,
            namespace,
            before: without_room(namespace)?,
        })
    }
}

impl Outlet for Sender {
    /// Waits where the socket has no room: then the kernel sends what it has.
    fn send(&self, frame: &[u8]) -> Result<Handed, Error> {
        match self.0.send(frame.get(ETHERNET..).unwrap_or_default()) {
            Ok(_) => Ok(Handed::Taken),
            Err(error) if error.raw_os_error() == Some(nix::Error::ENOBUFS as i32) => Ok(Handed::Dropped),
            Err(error) => Err(Error::Broken(error)),
        }
    }

    fn room_within(&self, _: Duration) -> Result<bool, Error> {
        Ok(true)
    }

    fn departure(&self) -> Result<Option<Departure>, Error> {
        Ok(None)
    }
}

impl Inlet for Receiver<'_> {
    /// With the Ethernet header that it would have had.
    fn receive(&self, buffer: &mut [u8], wait: Duration) -> Result<Option<Arrival>, Error> {
        let Some((header, room)) = buffer.split_at_mut_checked(ETHERNET) else {
            return Ok(None);
        };
        let [du, ru] = ADDRESSES;
        header[..6].copy_from_slice(&ru);
        header[6..12].copy_from_slice(&du);
        header[12..].copy_from_slice(&ECPRI.to_be_bytes());
        loop {
            match self.socket.recv(room) {
                Ok(length) => {
                    let length = ETHERNET + length;
                    return Ok(Some(Arrival { length, at: None }));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut ready = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
                    let wait = PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX);
                    match poll(&mut ready, wait) {
                        Ok(0) => return Ok(None),
                        Ok(_) | Err(nix::Error::EINTR) => {}
                        Err(error) => return Err(Error::Broken(error.into())),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Broken(error)),
            }
        }
    }

    fn dropped(&self) -> Result<u64, Error> {
        Ok(without_room(self.namespace)?.saturating_sub(self.before))
    }
}

/// Datagrams for which sockets of a namespace had no room.
fn without_room(namespace: &Namespace) -> Result<u64, Error> {
    let path = "/proc/thread-self/net/snmp";
    let text = namespace
        .enter(|| fs::read_to_string(path))?
        .map_err(Error::file(path))?;
    let unread = || Error::Configuration(format!("{path} does not count what sockets of UDP had no room for"));
    receive_buffer_errors(&text).ok_or_else(unread)
}

/// A line of names, and one of what was counted under each.
fn receive_buffer_errors(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, counts) = (lines.next()?, lines.next()?);
    let mut counted = names.split_whitespace().zip(counts.split_whitespace());
    counted.find(|(name, _)| *name == "RcvbufErrors")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_had_no_room_is_read_by_its_name() {
        let text = "Tcp: A RcvbufErrors\nTcp: 1 2\nUdp: InDatagrams NoPorts RcvbufErrors SndbufErrors\nUdp: 5 6 7 8\nUdpLite: RcvbufErrors\nUdpLite: 9\n";
        assert_eq!(receive_buffer_errors(text), Some(7));
        assert_eq!(receive_buffer_errors("Udp: InDatagrams\nUdp: 5\n"), None);
        assert_eq!(receive_buffer_errors(""), None);
    }

    #[test]
    fn a_frame_is_sent_without_its_ethernet_header() {
        assert_eq!(payload(Kind::Full), 7660);
        assert_eq!(payload(Kind::Narrow), 352);
    }
}
