//! One exchange: TLS 1.3 in a conversation over the link, its judgement, the secret it gives, and the messages inside of it.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use bartizan_tls::{Accepting, Connecting, Established, Refused, Watch};
use rustls::server::Acceptor;
use rustls::{ClientConnection, ConnectionCommon, ServerConnection, SideData};
use zeroize::Zeroizing;

use crate::derive::{Binding, LABEL, SECRET, Secret};
use crate::message::{Malformed, Message, Messages};
use crate::segment::{From, Segment};
use crate::stream::{Broken, Stream};

/// The name of what is spoken inside, for ALPN (RFC 7301).
pub const PROTOCOL: &[u8] = b"bartizan-macsec/1";
/// How long a handshake may take: a slow machine signs for a second, and a frame that is lost costs another.
const HANDSHAKE: Duration = Duration::from_secs(20);
/// Octets of plaintext that are read at once.
const READ: usize = 4096;

/// Why an exchange ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// One end refused the other, or what was negotiated.
    #[error("{}", .0.detail)]
    Refused(Box<Refused>),
    /// The peer does not answer.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The peer sent what it must not.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The peer closed the connection.
    #[error("the peer closed the connection")]
    Closed,
}

/// What came of segments.
#[derive(Debug)]
pub enum Received {
    /// The handshake ended well.
    Established(Box<Established>, Secret),
    /// The peer said something.
    Message(Message),
}

/// One end of an exchange.
#[derive(Debug)]
pub struct Session {
    stream: Stream,
    tls: Tls,
    watch: Watch,
    messages: Messages,
    began: Instant,
    established: bool,
}

enum Tls {
    /// Of a client whose hello is not complete yet.
    Accepting(Box<Acceptor>, Box<Accepting>),
    Client(Box<ClientConnection>),
    Server(Box<ServerConnection>),
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepting(..) => "Accepting",
            Self::Client(_) => "Client",
            Self::Server(_) => "Server",
        })
    }
}

impl Session {
    /// Begins an exchange.
    ///
    /// # Errors
    ///
    /// Where TLS has nothing to offer.
    pub fn begin(connecting: Connecting, conversation: u64, mtu: u32, now: Instant) -> Result<Self, Ended> {
        let Connecting { config, name, watch } = connecting;
        let client = ClientConnection::new(config, name).map_err(|error| refused(&watch, error))?;
        let mut session = Self {
            stream: Stream::new(From::Client, conversation, mtu),
            tls: Tls::Client(Box::new(client)),
            watch,
            messages: Messages::default(),
            began: now,
            established: false,
        };
        session.flush()?;
        Ok(session)
    }

    /// Waits for what a peer begins.
    #[must_use]
    pub fn accept(accepting: Accepting, conversation: u64, mtu: u32, now: Instant) -> Self {
        Self {
            stream: Stream::new(From::Server, conversation, mtu),
            watch: accepting.watch.clone(),
            tls: Tls::Accepting(Box::default(), Box::new(accepting)),
            messages: Messages::default(),
            began: now,
            established: false,
        }
    }

    /// The number of its conversation.
    #[must_use]
    pub const fn conversation(&self) -> u64 {
        self.stream.conversation()
    }

    /// Whether its handshake ended well.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        self.established
    }

    /// When it began.
    #[must_use]
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Takes a segment.
    ///
    /// # Errors
    ///
    /// [`Ended`]: the exchange is over. What is still to be sent, an alert for example, the next [`Session::poll`] sends.
    pub fn receive(&mut self, segment: &Segment<'_>, binding: &Binding, now: Instant) -> Result<Vec<Received>, Ended> {
        let fresh = self.stream.receive(segment, now);
        if fresh.is_empty() {
            return Ok(Vec::new());
        }
        self.watch.received(fresh);
        let taken = self.take(fresh, binding);
        // An alert that says why goes out also where it is over.
        let flushed = self.flush();
        let received = taken?;
        flushed?;
        Ok(received)
    }

    /// Says something to the peer.
    ///
    /// # Errors
    ///
    /// [`Ended`]: the exchange is over.
    pub fn send(&mut self, message: &Message) -> Result<(), Ended> {
        let encoded = message.encode();
        let written = match &mut self.tls {
            Tls::Accepting(..) => Ok(()),
            Tls::Client(client) => client.writer().write_all(&encoded),
            Tls::Server(server) => server.writer().write_all(&encoded),
        };
        written.map_err(|_| Broken::Full)?;
        self.flush()
    }

    /// Sends what is to be sent now.
    ///
    /// # Errors
    ///
    /// [`Ended`]: the peer does not answer, or its handshake takes longer than it may.
    pub fn poll(&mut self, now: Instant, send: &mut dyn FnMut(Vec<u8>)) -> Result<(), Ended> {
        self.stream.poll(now, send)?;
        if !self.established && now.saturating_duration_since(self.began) >= HANDSHAKE {
            return Err(Ended::Refused(self.watch.timed_out()));
        }
        Ok(())
    }

    /// When [`Session::poll`] is to be called at the latest.
    #[must_use]
    pub fn wake(&self) -> Option<Instant> {
        let handshake = (!self.established).then(|| self.began + HANDSHAKE);
        self.stream.wake().into_iter().chain(handshake).min()
    }

    fn take(&mut self, mut fresh: &[u8], binding: &Binding) -> Result<Vec<Received>, Ended> {
        let mut received = Vec::new();
        while !fresh.is_empty() {
            match &mut self.tls {
                Tls::Accepting(acceptor, accepting) => {
                    acceptor
                        .read_tls(&mut fresh)
                        .map_err(|error| failed(&self.watch, &error))?;
                    let accepted = match acceptor.accept() {
                        Ok(None) => continue,
                        Ok(Some(accepted)) => accepted,
                        Err((error, mut alert)) => {
                            let mut bytes = Vec::new();
                            let _ = alert.write_all(&mut bytes);
                            self.stream.write(&bytes)?;
                            return Err(refused(&self.watch, error));
                        }
                    };
                    let config = accepting.config_for(&accepted.client_hello());
                    match accepted.into_connection(config) {
                        Ok(server) => self.tls = Tls::Server(Box::new(server)),
                        Err((error, mut alert)) => {
                            let mut bytes = Vec::new();
                            let _ = alert.write_all(&mut bytes);
                            self.stream.write(&bytes)?;
                            return Err(refused(&self.watch, error));
                        }
                    }
                }
                Tls::Client(client) => read(client, &mut fresh, &self.watch)?,
                Tls::Server(server) => read(server, &mut fresh, &self.watch)?,
            }
            received.extend(self.judge(binding)?);
            self.messages_into(&mut received)?;
        }
        Ok(received)
    }

    /// Judges a handshake that has just ended.
    fn judge(&mut self, binding: &Binding) -> Result<Option<Received>, Ended> {
        if self.established {
            return Ok(None);
        }
        let (judged, protocol, secret) = match &self.tls {
            Tls::Client(client) if !client.is_handshaking() => (
                self.watch.finish_client(client),
                client.alpn_protocol(),
                export(client, binding),
            ),
            Tls::Server(server) if !server.is_handshaking() => (
                self.watch.finish_server(server),
                server.alpn_protocol(),
                export(server, binding),
            ),
            _ => return Ok(None),
        };
        let established = judged.map_err(Ended::Refused)?;
        // rustls leaves it open where a peer offers none at all.
        if protocol != Some(PROTOCOL) {
            return Err(refused(&self.watch, rustls::Error::NoApplicationProtocol));
        }
        let secret = secret.map_err(|error| refused(&self.watch, error))?;
        self.established = true;
        Ok(Some(Received::Established(Box::new(established), secret)))
    }

    fn messages_into(&mut self, received: &mut Vec<Received>) -> Result<(), Ended> {
        if !self.established {
            return Ok(());
        }
        let mut buffer = [0; READ];
        loop {
            let read = match &mut self.tls {
                Tls::Accepting(..) => return Ok(()),
                Tls::Client(client) => client.reader().read(&mut buffer),
                Tls::Server(server) => server.reader().read(&mut buffer),
            };
            match read {
                Ok(0) => return Err(Ended::Closed),
                Ok(length) => self.messages.push(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(failed(&self.watch, &error)),
            }
            while let Some(message) = self.messages.take()? {
                received.push(Received::Message(message));
            }
        }
    }

    /// Hands to the stream what TLS has to send.
    fn flush(&mut self) -> Result<(), Ended> {
        let mut bytes = Vec::new();
        match &mut self.tls {
            Tls::Accepting(..) => {}
            Tls::Client(client) => write(client, &mut bytes),
            Tls::Server(server) => write(server, &mut bytes),
        }
        self.watch.sent(&bytes);
        self.stream.write(&bytes)?;
        Ok(())
    }
}

fn read<D: SideData>(tls: &mut ConnectionCommon<D>, fresh: &mut &[u8], watch: &Watch) -> Result<(), Ended> {
    let length = tls.read_tls(fresh).map_err(|error| failed(watch, &error))?;
    if length == 0 {
        return Err(Ended::Closed);
    }
    tls.process_new_packets()
        .map(drop)
        .map_err(|error| refused(watch, error))
}

fn write<D: SideData>(tls: &mut ConnectionCommon<D>, bytes: &mut Vec<u8>) {
    while tls.wants_write() {
        // Into memory: it cannot fail.
        if tls.write_tls(bytes).is_err() {
            break;
        }
    }
}

fn export<D: SideData>(tls: &ConnectionCommon<D>, binding: &Binding) -> Result<Secret, rustls::Error> {
    let mut secret = Zeroizing::new([0; SECRET]);
    tls.export_keying_material(secret.as_mut_slice(), LABEL, Some(&binding.context()))?;
    Ok(Secret::new(secret))
}

fn refused(watch: &Watch, error: rustls::Error) -> Ended {
    failed(watch, &io::Error::new(io::ErrorKind::InvalidData, error))
}

fn failed(watch: &Watch, error: &io::Error) -> Ended {
    Ended::Refused(watch.failed(error))
}
