//! A packet socket bound to one interface: packet(7).

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::ptr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::socket::SockFlag;

use crate::socket_option;
use crate::{Error, interface_number};

/// Room in the kernel for packets not yet read, in bytes: 32 MiB, a quarter of a second at 1 Gb/s.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;

/// Bytes of a VLAN tag, and of the two addresses before it (IEEE 802.1Q, clause 9).
const TAG: usize = 4;
const ADDRESSES: usize = 12;
/// The type of tags that the kernel names none of: the customer's.
const CUSTOMER: u16 = 0x8100;

/// A packet socket bound to one interface.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    interface: String,
    /// The number of the interface it is bound to.
    pub(super) index: libc::c_int,
    loopback: bool,
}

/// Direction of a packet: arrived at an interface or left by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It arrived.
    Inbound,
    /// It left.
    Outbound,
}

/// A packet as the kernel gave it.
#[derive(Debug)]
pub struct Packet<'a> {
    /// Since the epoch, by the kernel.
    pub time: Duration,
    /// Arrived or left.
    pub side: Side,
    /// Type of the header that the first byte begins, as the kernel names the device: an `ARPHRD_`
    /// value.
    pub hardware: u16,
    /// The packet from its first header on, as much of it as fits the buffer.
    pub bytes: &'a [u8],
    /// Bytes on the wire, which may be more than were kept.
    pub length: u32,
}

impl PacketSocket {
    /// Opens one in the network namespace of the calling thread.
    pub fn open(interface: &str) -> Result<Self, Error> {
        let action = format!("capturing on the interface {interface}");
        let index = interface_number(interface, &action)?;
        let socket = socket_option::packet_socket(SockFlag::empty()).map_err(Error::io(&action))?;
        let socket = Self {
            socket,
            interface: interface.to_owned(),
            index,
            loopback: interface == "lo",
        };
        // Beyond the system's own bound only with CAP_NET_ADMIN: without it as much as the bound
        // allows. Packets without room are counted.
        socket
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .or_else(|_| socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER))
            .map_err(Error::io(&action))?;
        socket
            .set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
            .map_err(Error::io(&action))?;
        // The kernel takes the outer tag out of a frame, and gives it next to the frame on request.
        socket
            .set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1 as libc::c_int)
            .map_err(Error::io(&action))?;
        let all = libc::ETH_P_ALL as u16;
        socket_option::bind_packets(socket.socket.as_fd(), index, all).map_err(Error::io(&action))?;
        Ok(socket)
    }

    /// Takes frames that are addressed to others too, for as long as the socket is open: on a mirror port all are.
    pub(super) fn promiscuous(&self) -> Result<(), Error> {
        let member = libc::packet_mreq {
            mr_ifindex: self.index,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, member)
            .map_err(Error::io(format!(
                "taking all frames of the interface {}",
                self.interface
            )))
    }

    /// Returns true for the loopback, on which each packet is seen twice.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// The next packet, with the VLAN tag that the kernel took out of it, or `None` when none comes
    /// for so long. The buffer needs room for a tag next to the packet.
    pub fn receive<'a>(&self, buffer: &'a mut [u8], wait: Duration) -> Result<Option<Packet<'a>>, Error> {
        let failed = || Error::io(format!("capturing on the interface {}", self.interface));
        // SAFETY: all fields of these plain C structures may be zero.
        let (mut from, mut message) = unsafe { (mem::zeroed::<libc::sockaddr_ll>(), mem::zeroed::<libc::msghdr>()) };
        let room = buffer.get_mut(TAG..).unwrap_or_default();
        let mut part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        // Room for control messages with a timespec and a tpacket_auxdata, aligned as a cmsghdr must be.
        let mut control = [MaybeUninit::<u64>::uninit(); 16];
        message.msg_name = ptr::from_mut(&mut from).cast();
        message.msg_namelen = size_of_val(&from) as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let received = loop {
            // MSG_TRUNC makes the kernel return the length on the wire even when the buffer is shorter.
            // SAFETY: every pointer in `message` refers to a live local or to `room` with its true length.
            let received = unsafe {
                libc::recvmsg(
                    self.socket.as_raw_fd(),
                    &raw mut message,
                    libc::MSG_TRUNC | libc::MSG_DONTWAIT,
                )
            };
            if received >= 0 {
                break received as usize;
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => {
                    if !self.readable_within(wait).map_err(failed())? {
                        return Ok(None);
                    }
                }
                _ => return Err(failed()(error)),
            }
        };
        let side = if from.sll_pkttype == libc::PACKET_OUTGOING {
            Side::Outbound
        } else {
            Side::Inbound
        };
        // SAFETY: `message` was filled by the kernel and its control buffer is still alive.
        let control = unsafe { read(&message) };
        let kept = received.min(buffer.len().saturating_sub(TAG));
        let has_addresses = matches!(from.sll_hatype, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) && kept >= ADDRESSES;
        let (start, added) = match control.tag.filter(|_| has_addresses) {
            Some(tag) => {
                buffer.copy_within(TAG..TAG + ADDRESSES, 0);
                buffer[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
                (0, TAG)
            }
            None => (TAG.min(buffer.len()), 0),
        };
        Ok(Some(Packet {
            time: control
                .time
                .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
            side,
            hardware: from.sll_hatype,
            length: u32::try_from(received.saturating_add(added)).unwrap_or(u32::MAX),
            bytes: &buffer[start..start + added + kept],
        }))
    }

    /// Packets lost since the last call.
    pub fn dropped(&self) -> Result<u64, Error> {
        let failed = Error::io(format!("reading the statistics of {}", self.interface));
        socket_option::dropped_packets(self.socket.as_fd()).map_err(failed)
    }

    fn readable_within(&self, wait: Duration) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let wait = libc::c_int::try_from(wait.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one pollfd is passed and one is there.
        match unsafe { libc::poll(&raw mut poll, 1, wait) } {
            0 => Ok(false),
            // POLLERR (the interface went down) is reported by the next recvmsg.
            1.. => Ok(true),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
        }
    }

    /// Sets an option to a plain C value, of the type that the option asks for.
    fn set<T: Copy>(&self, level: libc::c_int, option: libc::c_int, value: T) -> io::Result<()> {
        socket_option::set(self.socket.as_fd(), level, option, &value)
    }
}

/// Control messages of a packet.
#[derive(Debug, Default)]
struct Control {
    time: Option<Duration>,
    /// The VLAN tag that it took out.
    tag: Option<[u8; TAG]>,
}

/// Reads the control messages.
///
/// # Safety
///
/// `message` was filled by `recvmsg` and its control buffer is alive.
unsafe fn read(message: &libc::msghdr) -> Control {
    let mut control = Control::default();
    // SAFETY: see above; CMSG_FIRSTHDR and CMSG_NXTHDR stay inside the control buffer and return
    // null at its end, CMSG_DATA may be unaligned, hence read_unaligned, and the kernel gives each
    // of these types the structure that is read.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::timespec>());
                    let parts = (u64::try_from(time.tv_sec).ok(), u32::try_from(time.tv_nsec).ok());
                    control.time = parts
                        .0
                        .zip(parts.1)
                        .map(|(seconds, nanos)| Duration::new(seconds, nanos));
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    let auxiliary = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>());
                    control.tag = tag(&auxiliary);
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    control
}

/// The tag as it stood in the frame.
fn tag(auxiliary: &libc::tpacket_auxdata) -> Option<[u8; TAG]> {
    let has = |status: u32| auxiliary.tp_status & status != 0;
    if !has(libc::TP_STATUS_VLAN_VALID) {
        return None;
    }
    let protocol = if has(libc::TP_STATUS_VLAN_TPID_VALID) {
        auxiliary.tp_vlan_tpid
    } else {
        CUSTOMER
    };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), auxiliary.tp_vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}

#[cfg(test)]
mod as_root {
    use super::*;
    use crate::Namespace;
    use std::net::UdpSocket;

    #[test]
    fn packets_without_room_are_counted_as_dropped() {
        let namespace = Namespace::create("drops").expect("NOT RUN: this test needs root");
        let (socket, sent) = namespace
            .enter(|| {
                let socket = PacketSocket::open("lo").unwrap();
                let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
                // 32 KiB each, twice on loopback, in a buffer of 64 MiB (the kernel doubles what is asked for).
                let datagram = vec![0; 32 << 10];
                for _ in 0..2048 {
                    sender.send_to(&datagram, "127.0.0.1:9").unwrap();
                }
                (socket, 2 * 2048)
            })
            .unwrap();
        let mut buffer = vec![0; TAG + 64];
        let mut received = 0;
        while let Some(packet) = socket.receive(&mut buffer, Duration::ZERO).unwrap() {
            if packet.length == (32 << 10) + 42 {
                assert_eq!(packet.bytes.len(), 64, "more than the buffer has room for is cut");
                received += 1;
            }
        }
        let dropped = socket.dropped().unwrap();
        assert!(dropped > 0 && received > 0);
        // The ICMP errors that come back are packets too, so this is not an equation.
        assert!(
            received + dropped >= sent,
            "{received} received, {dropped} dropped, {sent} sent"
        );
        assert_eq!(socket.dropped().unwrap(), 0, "each is counted once");
    }
}
