//! The VICI socket from the daemon's side: who is connected, what they ask, and which events they hear.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use bartizan_host::Interest;
use zeroize::Zeroizing;

use bartizan_ipsec::vici::{Frames, Packet, Section, framed};

/// Connections at a time; a further one is closed at once.
const CLIENTS: usize = 64;
/// Bytes that wait for a client to read them; one that is further behind is disconnected.
const WAITING: usize = 8 << 20;
/// One read from a socket, in bytes.
const READ: usize = 16 * 1024;

/// A client, as long as it is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClientId(pub(crate) u64);

#[derive(Debug)]
struct Connected {
    stream: UnixStream,
    frames: Frames,
    waiting: Vec<u8>,
    registered: BTreeSet<String>,
    gone: bool,
}

/// The socket and its clients.
#[derive(Debug)]
pub(crate) struct Control {
    listener: UnixListener,
    clients: BTreeMap<ClientId, Connected>,
    next: u64,
}

/// A request from one client.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) client: ClientId,
    pub(crate) packet: Packet,
}

impl Control {
    /// Listens at this path, for this user alone.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            clients: BTreeMap::new(),
            next: 0,
        })
    }

    /// Sockets to wait for: the listener, then the clients.
    pub(crate) fn sockets(&self) -> Vec<(BorrowedFd<'_>, Interest)> {
        let clients = self.clients.values().map(|client| {
            let interest = match client.waiting.is_empty() {
                true => Interest::Read,
                false => Interest::ReadOrWrite,
            };
            (client.stream.as_fd(), interest)
        });
        std::iter::once((self.listener.as_fd(), Interest::Read))
            .chain(clients)
            .collect()
    }

    /// Accepts, writes what waits, and reads what has come.
    pub(crate) fn turn(&mut self) -> Vec<Asked> {
        self.accept();
        let mut asked = Vec::new();
        for (id, client) in &mut self.clients {
            client.flush();
            client.read(*id, &mut asked);
        }
        self.clients.retain(|_, client| !client.gone);
        asked
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.clients.len() >= CLIENTS || stream.set_nonblocking(true).is_err() {
                continue;
            }
            let client = Connected {
                stream,
                frames: Frames::default(),
                waiting: Vec::new(),
                registered: BTreeSet::new(),
                gone: false,
            };
            self.clients.insert(ClientId(self.next), client);
            self.next += 1;
        }
    }

    pub(crate) fn is_connected(&self, id: ClientId) -> bool {
        self.clients.contains_key(&id)
    }

    pub(crate) fn send(&mut self, id: ClientId, packet: &Packet) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.send(packet);
        }
    }

    /// Gives this event to everybody who has registered for it.
    pub(crate) fn event(&mut self, name: &str, message: &Section) {
        if !self.is_heard(name) {
            return;
        }
        let packet = Packet::Event {
            name: name.to_owned(),
            message: message.clone(),
        };
        let heard = self
            .clients
            .values_mut()
            .filter(|client| client.registered.contains(name));
        heard.for_each(|client| client.send(&packet));
    }

    /// The same for one client.
    pub(crate) fn event_to(&mut self, id: ClientId, name: &str, message: Section) {
        if let Some(client) = self.clients.get_mut(&id)
            && client.registered.contains(name)
        {
            let name = name.to_owned();
            client.send(&Packet::Event { name, message });
        }
    }

    /// Returns true if a client has registered for this event.
    pub(crate) fn is_heard(&self, name: &str) -> bool {
        self.clients.values().any(|client| client.registered.contains(name))
    }

    pub(crate) fn register(&mut self, id: ClientId, name: String) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.registered.insert(name);
        }
    }

    pub(crate) fn unregister(&mut self, id: ClientId, name: &str) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.registered.remove(name);
        }
    }
}

impl Connected {
    fn send(&mut self, packet: &Packet) {
        let Ok(bytes) = framed(packet) else {
            self.gone = true;
            return;
        };
        if self.waiting.len() + bytes.len() > WAITING {
            self.gone = true;
            return;
        }
        self.waiting.extend(bytes);
        self.flush();
    }

    fn flush(&mut self) {
        while !self.waiting.is_empty() && !self.gone {
            match self.stream.write(&self.waiting) {
                Ok(0) => self.gone = true,
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.gone = true,
            }
        }
    }

    fn read(&mut self, client: ClientId, asked: &mut Vec<Asked>) {
        // A private key is among what comes.
        let mut buffer = Zeroizing::new([0; READ]);
        while !self.gone {
            match self.stream.read(&mut buffer[..]) {
                Ok(0) => self.gone = true,
                Ok(read) => self.frames.push(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.gone = true,
            }
            loop {
                match self.frames.next_packet() {
                    Ok(Some(packet)) => asked.push(Asked { client, packet }),
                    Ok(None) => break,
                    Err(_) => {
                        self.gone = true;
                        break;
                    }
                }
            }
        }
    }
}
