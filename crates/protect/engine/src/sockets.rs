//! UDP ports 500 and 4500 of the addresses that connections have at this end.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};

use bartizan_host::Interest;
use bartizan_ike::{Ends, Port, Transmit};
use bartizan_wire::udp::{Encapsulated, IKE, IKE_NAT, encapsulated};

use crate::data_path::DataPath;

/// Datagrams of one socket that are read before others have their turn.
const AT_ONCE: usize = 64;
const MARKER: [u8; 4] = [0; 4];
/// A NAT-keepalive packet (RFC 3948, section 2.3).
const KEEPALIVE: [u8; 1] = [0xff];

/// The sockets of each address: of port 500 and of port 4500.
#[derive(Debug, Default)]
pub(crate) struct Sockets(BTreeMap<IpAddr, [UdpSocket; 2]>);

impl Sockets {
    /// Opens those of an address, unless they are.
    pub(crate) fn open(&mut self, address: IpAddr, data_path: &mut DataPath) -> io::Result<()> {
        if self.0.contains_key(&address) {
            return Ok(());
        }
        let [ike, nat] = [IKE, IKE_NAT].map(|port| -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind((address, port))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let sockets = [ike?, nat?];
        data_path.attach(address, [&sockets[0], &sockets[1]])?;
        self.0.insert(address, sockets);
        Ok(())
    }

    /// Closes those of addresses that are not needed any more.
    pub(crate) fn retain(&mut self, needed: impl Fn(&IpAddr) -> bool) {
        self.0.retain(|address, _| needed(address));
    }

    /// Sockets that are read here. Port 4500 is included only if no data path thread reads it.
    pub(crate) fn all(&self, with_nat: bool) -> impl Iterator<Item = (BorrowedFd<'_>, Interest)> {
        let sockets = self
            .0
            .values()
            .flat_map(move |sockets| &sockets[..1 + usize::from(with_nat)]);
        sockets.map(|socket| (socket.as_fd(), Interest::Read))
    }

    /// Gives every message of IKE that has come, without its marker.
    pub(crate) fn receive(&self, with_nat: bool, each: &mut dyn FnMut(Ends, &[u8])) {
        let mut buffer = vec![0; usize::from(u16::MAX)];
        for (address, [ike, nat]) in &self.0 {
            for (socket, port) in [(ike, IKE), (nat, IKE_NAT)].into_iter().take(1 + usize::from(with_nat)) {
                for _ in 0..AT_ONCE {
                    // An error is one of an earlier datagram, that its receiver's port is closed: that it is not answered is enough to know.
                    let (length, remote) = match socket.recv_from(&mut buffer) {
                        Ok(received) => received,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(_) => continue,
                    };
                    let datagram = &buffer[..length];
                    let local = SocketAddr::new(*address, port);
                    let message = match (port, encapsulated(datagram)) {
                        (IKE, _) => datagram,
                        (_, Encapsulated::Ike(message)) => message,
                        _ => continue,
                    };
                    each(Ends { local, remote }, message);
                }
            }
        }
    }

    /// Has a NAT before this end remember it.
    pub(crate) fn keep_alive(&self, ends: Ends) {
        if let Some([_, nat]) = self.0.get(&ends.local.ip()) {
            // A lost keepalive is replaced by the next one soon.
            let _ = nat.send_to(&KEEPALIVE, ends.to(Port::Nat));
        }
    }

    /// Sends; what the kernel does not take is lost as on the way, and sent again.
    pub(crate) fn send(&self, ends: Ends, transmit: &Transmit) {
        let Some([ike, nat]) = self.0.get(&ends.local.ip()) else {
            return;
        };
        // The error of an earlier datagram is reported once, and leaves this one unsent.
        for _ in 0..2 {
            let sent = match transmit.port {
                Port::Ike => ike.send_to(&transmit.datagram, ends.to(Port::Ike)),
                Port::Nat => {
                    let datagram = [&MARKER[..], &transmit.datagram].concat();
                    nat.send_to(&datagram, ends.to(Port::Nat))
                }
            };
            if sent.is_ok() {
                return;
            }
        }
    }
}
