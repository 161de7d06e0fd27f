//! One TLS 1.3 connection without a transport: what arrives goes in, what is to be sent comes out.

use std::fmt;
use std::io::{self, Read as _, Write as _};

use bartizan_tls::{Accepting, Connecting, Established, Refused, Watch};
use rustls::server::Acceptor;
use rustls::{ClientConnection, ConnectionCommon, ServerConnection, SideData};

bartizan_registry::made! {
    /// One TLS 1.3 connection.
    pub(crate) struct Tls,
    /// The server's end.
    pub(crate) accept(accepting: Accepting) {
        /// Observations of its handshake.
        pub(crate) watch: Watch = accepting.watch.clone(),
        connection: Connection = Connection::Accepting(Box::default(), Box::new(accepting)),
        /// An alert of a connection that was not made.
        alert: Vec<u8> = Vec::new(),
    }
}

enum Connection {
    /// A server's connection whose client hello is not complete yet.
    Accepting(Box<Acceptor>, Box<Accepting>),
    Client(Box<ClientConnection>),
    Server(Box<ServerConnection>),
}

/// Why nothing more can be read.
#[derive(Debug)]
pub(crate) enum Ended {
    /// One end refused the other, or what was negotiated.
    Refused(Box<Refused>),
    /// The peer closed the connection.
    Closed,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.connection {
            Connection::Accepting(..) => "Accepting",
            Connection::Client(_) => "Client",
            Connection::Server(_) => "Server",
        })
    }
}

impl Tls {
    /// The client's end.
    pub(crate) fn connect(connecting: Connecting) -> Result<Self, Box<Refused>> {
        let Connecting { config, name, watch } = connecting;
        let client = ClientConnection::new(config, name).map_err(|error| refused(&watch, error))?;
        Ok(Self {
            connection: Connection::Client(Box::new(client)),
            watch,
            alert: Vec::new(),
        })
    }

    /// Takes a part of what has arrived.
    ///
    /// # Errors
    ///
    /// [`Ended`]; an alert that says why is among what is to be sent.
    pub(crate) fn take(&mut self, fresh: &mut &[u8]) -> Result<(), Ended> {
        let (acceptor, accepting) = match &mut self.connection {
            Connection::Client(client) => return read(client, fresh, &self.watch),
            Connection::Server(server) => return read(server, fresh, &self.watch),
            Connection::Accepting(acceptor, accepting) => (acceptor, accepting),
        };
        let failed = |error: io::Error| Ended::Refused(self.watch.failed(&error));
        acceptor.read_tls(fresh).map_err(failed)?;
        let accepted = match acceptor.accept() {
            Ok(None) => return Ok(()),
            Ok(Some(accepted)) => accepted,
            Err((error, mut alert)) => {
                // Into memory: it cannot fail.
                let _ = alert.write_all(&mut self.alert);
                return Err(Ended::Refused(refused(&self.watch, error)));
            }
        };
        let config = accepting.config_for(&accepted.client_hello());
        match accepted.into_connection(config) {
            Ok(server) => self.connection = Connection::Server(Box::new(server)),
            Err((error, mut alert)) => {
                let _ = alert.write_all(&mut self.alert);
                return Err(Ended::Refused(refused(&self.watch, error)));
            }
        }
        Ok(())
    }

    /// Judges the negotiation of a handshake that has ended. None while it goes on.
    pub(crate) fn judge(&self) -> Option<Result<Established, Box<Refused>>> {
        match &self.connection {
            Connection::Client(client) if !client.is_handshaking() => Some(self.watch.finish_client(client)),
            Connection::Server(server) if !server.is_handshaking() => Some(self.watch.finish_server(server)),
            _ => None,
        }
    }

    /// The name of what is spoken inside, where both ends agreed on one.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match &self.connection {
            Connection::Accepting(..) => None,
            Connection::Client(client) => client.alpn_protocol(),
            Connection::Server(server) => server.alpn_protocol(),
        }
    }

    /// The exporter (RFC 8446, section 7.5).
    pub(crate) fn export(&self, secret: &mut [u8], label: &[u8], context: &[u8]) -> Result<(), Box<Refused>> {
        let exported = match &self.connection {
            Connection::Accepting(..) => Err(rustls::Error::HandshakeNotComplete),
            Connection::Client(client) => client.export_keying_material(secret, label, Some(context)).map(drop),
            Connection::Server(server) => server.export_keying_material(secret, label, Some(context)).map(drop),
        };
        exported.map_err(|error| refused(&self.watch, error))
    }

    /// Encrypts something for the peer.
    pub(crate) fn write(&mut self, plaintext: &[u8]) -> io::Result<()> {
        match &mut self.connection {
            Connection::Accepting(..) => Ok(()),
            Connection::Client(client) => client.writer().write_all(plaintext),
            Connection::Server(server) => server.writer().write_all(plaintext),
        }
    }

    /// Reads the peer's decrypted data; `WouldBlock` if no more is there.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.connection {
            Connection::Accepting(..) => Err(io::ErrorKind::WouldBlock.into()),
            Connection::Client(client) => client.reader().read(buffer),
            Connection::Server(server) => server.reader().read(buffer),
        }
    }

    /// Takes the octets to send now.
    pub(crate) fn outgoing(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.alert);
        match &mut self.connection {
            Connection::Accepting(..) => {}
            Connection::Client(client) => write(client, &mut bytes),
            Connection::Server(server) => write(server, &mut bytes),
        }
        self.watch.sent(&bytes);
        bytes
    }

    /// Why it is refused, where rustls has no objection.
    pub(crate) fn refused(&self, error: rustls::Error) -> Box<Refused> {
        refused(&self.watch, error)
    }
}

fn read<D: SideData>(tls: &mut ConnectionCommon<D>, fresh: &mut &[u8], watch: &Watch) -> Result<(), Ended> {
    let length = tls
        .read_tls(fresh)
        .map_err(|error| Ended::Refused(watch.failed(&error)))?;
    if length == 0 {
        return Err(Ended::Closed);
    }
    tls.process_new_packets()
        .map(drop)
        .map_err(|error| Ended::Refused(refused(watch, error)))
}

fn write<D: SideData>(tls: &mut ConnectionCommon<D>, bytes: &mut Vec<u8>) {
    while tls.wants_write() {
        // Into memory: it cannot fail.
        if tls.write_tls(bytes).is_err() {
            break;
        }
    }
}

fn refused(watch: &Watch, error: rustls::Error) -> Box<Refused> {
    watch.failed(&io::Error::new(io::ErrorKind::InvalidData, error))
}
