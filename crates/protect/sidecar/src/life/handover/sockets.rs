//! Listening sockets that another process opened.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use bartizan_host::sctp;

use crate::listening::socket;

/// Listening sockets that were passed to this process, by the address they listen at.
#[derive(Debug, Default)]
pub struct Sockets {
    tcp: Vec<Held<TcpListener>>,
    sctp: Vec<Held<sctp::Listener>>,
    udp: Vec<Held<UdpSocket>>,
    /// The process that passed them has yet to drain.
    pub(crate) of_a_predecessor: bool,
}

#[derive(Debug)]
struct Held<S> {
    address: SocketAddr,
    socket: S,
    /// Its name at systemd.
    name: Option<String>,
}

impl<S> Held<S> {
    fn take(held: &mut Vec<Self>, address: SocketAddr) -> Option<S> {
        let index = held.iter().position(|held| held.address == address)?;
        Some(held.swap_remove(index).socket)
    }
}

impl Sockets {
    /// Takes a socket in, if it is one that a listener of the deployment file could be.
    ///
    /// # Errors
    /// Fails if it is no listening socket of TCP.
    pub(crate) fn add(&mut self, descriptor: OwnedFd, name: Option<String>) -> io::Result<()> {
        let socket = socket::passed(descriptor)?;
        let address = socket.local_addr()?;
        self.tcp.push(Held { address, socket, name });
        Ok(())
    }

    /// The same for associations of functions.
    ///
    /// # Errors
    /// Fails if it is no listening socket of SCTP.
    pub(super) fn add_sctp(&mut self, descriptor: OwnedFd) -> io::Result<()> {
        let socket = sctp::Listener::passed(descriptor)?;
        let (address, name) = (socket.address()?, None);
        self.sctp.push(Held { address, socket, name });
        Ok(())
    }

    /// The same for QUIC.
    ///
    /// # Errors
    /// Fails if it is no socket of UDP.
    pub(super) fn add_udp(&mut self, descriptor: OwnedFd) -> io::Result<()> {
        let socket = socket::passed_udp(descriptor)?;
        let (address, name) = (socket.local_addr()?, None);
        self.udp.push(Held { address, socket, name });
        Ok(())
    }

    /// The socket that listens at `address`, if it was passed.
    pub(crate) fn take(&mut self, address: SocketAddr) -> Option<TcpListener> {
        Held::take(&mut self.tcp, address)
    }

    pub(crate) fn take_sctp(&mut self, address: SocketAddr) -> Option<sctp::Listener> {
        Held::take(&mut self.sctp, address)
    }

    pub(crate) fn take_udp(&mut self, address: SocketAddr) -> Option<UdpSocket> {
        Held::take(&mut self.udp, address)
    }

    /// Takes all sockets of another set in.
    pub fn extend(&mut self, others: Self) {
        self.tcp.extend(others.tcp);
        self.sctp.extend(others.sctp);
        self.udp.extend(others.udp);
        self.of_a_predecessor |= others.of_a_predecessor;
    }

    /// Number of sockets.
    pub fn count(&self) -> usize {
        self.tcp.len() + self.sctp.len() + self.udp.len()
    }

    /// Those that are left, with what systemd calls them.
    pub fn left(&self) -> impl Iterator<Item = (SocketAddr, Option<&str>)> {
        let tcp = self.tcp.iter().map(|held| (held.address, held.name.as_deref()));
        let sctp = self.sctp.iter().map(|held| (held.address, held.name.as_deref()));
        let udp = self.udp.iter().map(|held| (held.address, held.name.as_deref()));
        tcp.chain(sctp).chain(udp)
    }
}
