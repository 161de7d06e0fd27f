//! Listening sockets that another process opened.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use crate::listening::socket;

/// Listening sockets that were passed to this process, by the address they listen at.
#[derive(Debug, Default)]
pub struct Sockets {
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    address: SocketAddr,
    listener: TcpListener,
    /// Its name at systemd.
    name: Option<String>,
}

impl Sockets {
    /// Takes a socket in, if it is one that a listener of the deployment file could be.
    ///
    /// # Errors
    /// Fails if it is no listening socket of TCP.
    pub(crate) fn add(&mut self, descriptor: OwnedFd, name: Option<String>) -> io::Result<()> {
        let listener = socket::passed(descriptor)?;
        self.held.push(Held {
            address: listener.local_addr()?,
            listener,
            name,
        });
        Ok(())
    }

    /// The socket that listens at `address`, if it was passed.
    pub(crate) fn take(&mut self, address: SocketAddr) -> Option<TcpListener> {
        let index = self.held.iter().position(|held| held.address == address)?;
        Some(self.held.swap_remove(index).listener)
    }

    /// Takes all sockets of another set in.
    pub fn extend(&mut self, others: Self) {
        self.held.extend(others.held);
    }

    /// Number of sockets.
    pub fn count(&self) -> usize {
        self.held.len()
    }

    /// Those that are left, with what systemd calls them.
    pub fn left(&self) -> impl Iterator<Item = (SocketAddr, Option<&str>)> {
        self.held.iter().map(|held| (held.address, held.name.as_deref()))
    }
}
