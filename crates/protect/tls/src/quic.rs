//! Handshakes in QUIC (RFC 9001): the same configurations, checks and judgement as over TCP, behind the traits of quinn.
//!
//! A connection is judged where rustls completes its handshake, before quinn opens a stream of it.
//! One that the policy refuses is closed there and then, with an alert. There is no 0-RTT: no keys
//! for it are ever given.

use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use bartizan_deployment::InterfaceKind;
use quinn_proto::crypto::{
    ClientConfig as QuicClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig as QuicServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Connection, KeyChange, Secrets, ServerConnection, Suite, Version};
use rustls::server::Acceptor;
use rustls::{AlertDescription, ClientConfig};

use crate::handshake::{self, Transport};
use crate::{Accepting, Connecting, Endpoint, Error, Established, Refused, Watch};

/// The version of RFC 9000.
const VERSION_1: u32 = 1;
/// Octets of a tag of AES-128-GCM.
const TAG: usize = 16;
/// Retry Integrity (RFC 9001, section 5.8).
const RETRY_KEY: [u8; 16] = [
    0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e,
];
const RETRY_NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
/// Octets of one record at most (RFC 8446, section 5.1).
const RECORD: usize = 1 << 14;

/// One outbound QUIC connection to be made.
pub struct ConnectingQuic {
    /// Its configuration: of no use for a second connection.
    pub config: Arc<dyn QuicClientConfig>,
    /// Observer of its handshake.
    pub handshake: QuicHandshake,
}

/// One inbound QUIC connection to be accepted.
pub struct AcceptingQuic {
    /// Its configuration: of no use for a second connection.
    pub config: Arc<dyn QuicServerConfig>,
    /// Observer of its handshake.
    pub handshake: QuicHandshake,
}

bartizan_registry::made! {
    /// Observer of a handshake in QUIC. A clone watches the same handshake.
    #[derive(Debug, Clone)]
    pub struct QuicHandshake, new(watch: Watch) {
        watch: Watch,
        judged: Arc<OnceLock<Result<Established, Box<Refused>>>> = Arc::default(),
    }
}

impl std::fmt::Debug for ConnectingQuic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectingQuic").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AcceptingQuic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AcceptingQuic").finish_non_exhaustive()
    }
}

impl QuicHandshake {
    /// The result: none before rustls has completed the handshake or failed.
    #[must_use]
    pub fn judged(&self) -> Option<Result<Established, Box<Refused>>> {
        self.judged.get().cloned()
    }

    /// The same as over TCP: why it failed where nothing was judged.
    pub const fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The refusal of a peer that closed the connection with this alert (RFC 9001, section 4.8).
    #[must_use]
    pub fn refused_by(&self, alert: u8) -> Box<Refused> {
        let alert = rustls::Error::AlertReceived(AlertDescription::from(alert));
        self.watch.failed(&io::Error::new(io::ErrorKind::InvalidData, alert))
    }
}

impl Endpoint {
    /// Configuration of one QUIC connection to `peer` over `interface`.
    ///
    /// # Errors
    /// [`Error::UnknownPeer`] where no such interface leads there.
    pub fn connect_quic(&self, peer: &str, interface: InterfaceKind) -> Result<ConnectingQuic, Error> {
        let Connecting { config, name, watch } = self.client(peer, interface, Transport::Quic)?;
        let handshake = QuicHandshake::new(watch);
        Ok(ConnectingQuic {
            config: Arc::new(Client {
                config,
                name,
                handshake: handshake.clone(),
            }),
            handshake,
        })
    }

    /// The same as [`Endpoint::accept_any`] over QUIC.
    #[must_use]
    pub fn accept_any_quic(&self, interface: InterfaceKind) -> AcceptingQuic {
        let accepting = self.server(handshake::Side::Server(interface), Transport::Quic);
        let handshake = QuicHandshake::new(accepting.watch.clone());
        AcceptingQuic {
            config: Arc::new(Server {
                once: Mutex::new(Some((accepting, handshake.clone()))),
            }),
            handshake,
        }
    }
}

/// Configuration by which a listener answers packets of no connection. None begins by it, and it
/// holds no key: it outlives certificates.
pub fn listening_quic() -> Arc<dyn QuicServerConfig> {
    let once = Mutex::new(None);
    Arc::new(Server { once })
}

struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    handshake: QuicHandshake,
}

/// quinn holds it for as long as its connection, which needs what is in it once.
struct Server {
    once: Mutex<Option<(Accepting, QuicHandshake)>>,
}

/// Suite of Initial packets, whatever the policy: every observer can decrypt them.
fn initial_suite() -> Option<Suite> {
    TLS13_AES_128_GCM_SHA256.tls13()?.quic_suite()
}

fn initial_keys(destination: ConnectionId, side: Side) -> Option<Keys> {
    let side = match side {
        Side::Client => rustls::Side::Client,
        Side::Server => rustls::Side::Server,
    };
    Some(keys(initial_suite()?.keys(&destination, side, Version::V1)))
}

fn keys(keys: rustls::quic::Keys) -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(keys.local.header),
            remote: Box::new(keys.remote.header),
        },
        packet: KeyPair {
            local: Box::new(keys.local.packet),
            remote: Box::new(keys.remote.packet),
        },
    }
}

fn octets(parameters: &TransportParameters) -> Vec<u8> {
    let mut octets = Vec::new();
    parameters.write(&mut octets);
    octets
}

impl QuicClientConfig for Client {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        if version != VERSION_1 || initial_suite().is_none() {
            return Err(ConnectError::UnsupportedVersion);
        }
        let connection = ClientConnection::new(
            Arc::clone(&self.config),
            Version::V1,
            self.name.clone(),
            octets(parameters),
        );
        let connection = connection.map_err(|error| ConnectError::InvalidServerName(error.to_string()))?;
        Ok(Box::new(Tls::new(
            Progress::Running(Box::new(connection.into())),
            Side::Client,
            Some(self.handshake.clone()),
        )))
    }
}

impl QuicServerConfig for Server {
    fn initial_keys(&self, version: u32, destination: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        if version != VERSION_1 {
            return Err(UnsupportedVersion);
        }
        initial_keys(*destination, Side::Server).ok_or(UnsupportedVersion)
    }

    fn retry_tag(&self, _: u32, destination: &ConnectionId, packet: &[u8]) -> [u8; TAG] {
        let mut tag = [0; TAG];
        let sealed = retry_key().and_then(|key| {
            let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
            let head = pseudo_packet(destination, packet);
            key.seal_in_place_separate_tag(nonce, Aad::from(head), &mut []).ok()
        });
        // A peer drops a Retry whose tag is wrong, and tries again.
        if let Some(sealed) = sealed {
            tag.copy_from_slice(sealed.as_ref());
        }
        tag
    }

    fn start_session(self: Arc<Self>, _: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        let once = self.once.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((accepting, handshake)) = once else {
            return Box::new(Tls::new(Progress::Over, Side::Server, None));
        };
        let hello = Hello {
            accepting,
            acceptor: Acceptor::default(),
            read: Vec::new(),
            parameters: octets(parameters),
        };
        Box::new(Tls::new(
            Progress::Hello(Box::new(hello)),
            Side::Server,
            Some(handshake),
        ))
    }
}

fn retry_key() -> Option<LessSafeKey> {
    UnboundKey::new(&aead::AES_128_GCM, &RETRY_KEY)
        .ok()
        .map(LessSafeKey::new)
}

/// The pseudo-packet that the tag of a Retry packet authenticates.
fn pseudo_packet(destination: &ConnectionId, packet: &[u8]) -> Vec<u8> {
    let mut pseudo = Vec::with_capacity(1 + destination.len() + packet.len());
    // A connection identifier has at most 20 octets.
    pseudo.push(destination.len() as u8);
    pseudo.extend_from_slice(destination);
    pseudo.extend_from_slice(packet);
    pseudo
}

/// Progress of a handshake.
enum Progress {
    /// A server that has not read the whole ClientHello: which groups are offered to a client depends on it.
    Hello(Box<Hello>),
    Running(Box<Connection>),
    /// It is over, and what rustls keeps of it, certificates first of all, is of no use any more. Nothing but tickets can follow.
    Over,
}

/// A ClientHello as far as it was read.
struct Hello {
    accepting: Accepting,
    acceptor: Acceptor,
    read: Vec<u8>,
    parameters: Vec<u8>,
}

bartizan_registry::made! {
    /// TLS of one QUIC connection.
    struct Tls, new(progress: Progress, side: Side, handshake: Option<QuicHandshake>) {
        progress: Progress,
        side: Side,
        /// Observer of the handshake, until it is over.
        handshake: Option<QuicHandshake>,
        announced: bool = false,
        /// The peer's transport parameters, behind the handshake.
        parameters: Vec<u8> = Vec::new(),
        next: Option<Secrets> = None,
        /// A client's last flight, written before the handshake is judged: its bytes are of the
        /// handshake.
        last_flight: Option<(Vec<u8>, Option<KeyChange>)> = None,
    }
}

/// The error that a connection is closed with. Every observer can read Initial packets: the reason
/// is in the ledger alone.
fn closed_with(alert: AlertDescription) -> TransportError {
    TransportError {
        code: TransportErrorCode::crypto(alert.into()),
        frame: None,
        reason: String::new(),
    }
}

impl Hello {
    /// The connection once the ClientHello is complete, or is none: rustls itself says then what is wrong.
    fn read(&mut self, bytes: &[u8]) -> Result<Option<Connection>, rustls::Error> {
        self.read.extend_from_slice(bytes);
        let mut complete = None;
        for piece in bytes.chunks(RECORD) {
            // As a record: rustls reads hellos from these.
            let mut record = vec![22, 3, 1];
            record.extend_from_slice(&(piece.len() as u16).to_be_bytes());
            record.extend_from_slice(piece);
            if self.acceptor.read_tls(&mut &record[..]).is_err() {
                complete = Some(Arc::clone(&self.accepting.config));
                break;
            }
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => {
                    complete = Some(self.accepting.config_for(&accepted.client_hello()));
                    break;
                }
                Err(_) => {
                    complete = Some(Arc::clone(&self.accepting.config));
                    break;
                }
            }
        }
        let Some(config) = complete else { return Ok(None) };
        let parameters = std::mem::take(&mut self.parameters);
        ServerConnection::new(config, Version::V1, parameters).map(|connection| Some(connection.into()))
    }
}

impl Tls {
    fn running(&self) -> Option<&Connection> {
        match &self.progress {
            Progress::Hello(_) | Progress::Over => None,
            Progress::Running(connection) => Some(connection),
        }
    }

    /// Releases a handshake that is over, where no ticket is wanted.
    fn release(&mut self) {
        let judged = |handshake: &QuicHandshake| {
            let resumes = handshake.watch.handshake.terms().resumption.is_some();
            handshake.judged.get().is_some_and(Result::is_ok) && !resumes
        };
        let keyed = self.next.is_some() && self.last_flight.is_none();
        if keyed && self.handshake.as_ref().is_some_and(judged) {
            let parameters = self.running().and_then(Connection::quic_transport_parameters);
            self.parameters = parameters.unwrap_or_default().to_vec();
            self.progress = Progress::Over;
            self.handshake = None;
        }
    }

    fn failed(&self, error: rustls::Error, alert: Option<AlertDescription>) -> TransportError {
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        if let Some(handshake) = &self.handshake {
            // One that was judged before stays so: what fails then is the connection.
            let _ = handshake.judged.set(Err(handshake.watch.failed(&error)));
        }
        closed_with(alert.unwrap_or(AlertDescription::InternalError))
    }
}

impl Session for Tls {
    fn initial_keys(&self, destination: &ConnectionId, side: Side) -> Keys {
        initial_keys(*destination, side).expect("no session begins without the suite of Initial packets")
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.announced.then(|| Box::new(()) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        (self.side == Side::Client).then_some(false)
    }

    fn is_handshaking(&self) -> bool {
        match &self.progress {
            Progress::Hello(_) => true,
            Progress::Running(connection) => connection.is_handshaking(),
            Progress::Over => self.next.is_none(),
        }
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let Some(handshake) = self.handshake.clone() else {
            return match self.next {
                Some(_) => Ok(false),
                None => Err(closed_with(AlertDescription::InternalError)),
            };
        };
        handshake.watch.received(bytes);
        let mut unread = bytes.to_vec();
        if let Progress::Hello(hello) = &mut self.progress {
            match hello.read(bytes) {
                Ok(None) => return Ok(false),
                Ok(Some(connection)) => {
                    unread = std::mem::take(&mut hello.read);
                    self.progress = Progress::Running(Box::new(connection));
                }
                Err(error) => return Err(self.failed(error, None)),
            }
        }
        let Progress::Running(connection) = &mut self.progress else {
            return Ok(false);
        };
        if let Err(error) = connection.read_hs(&unread) {
            let alert = connection.alert();
            return Err(self.failed(error, alert));
        }
        if !connection.is_handshaking() && handshake.judged.get().is_none() {
            if self.side == Side::Client {
                let mut flight = Vec::new();
                let change = connection.write_hs(&mut flight);
                handshake.watch.sent(&flight);
                self.last_flight = Some((flight, change));
            }
            let judged = handshake.watch.handshake.finish(connection);
            let refused = judged.is_err();
            // This is the only place that judges this handshake.
            let _ = handshake.judged.set(judged);
            if refused {
                return Err(closed_with(AlertDescription::AccessDenied));
            }
        }
        let announces = !self.announced && (connection.alpn_protocol().is_some() || !connection.is_handshaking());
        self.announced |= announces;
        Ok(announces)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let parameters = match &self.progress {
            Progress::Hello(_) => None,
            Progress::Running(connection) => connection.quic_transport_parameters(),
            Progress::Over => Some(&self.parameters[..]),
        };
        let read = parameters.map(|mut parameters| TransportParameters::read(self.side, &mut parameters));
        read.transpose().map_err(Into::into)
    }

    fn write_handshake(&mut self, to: &mut Vec<u8>) -> Option<Keys> {
        self.release();
        let Progress::Running(connection) = &mut self.progress else {
            return None;
        };
        let change = if let Some((flight, change)) = self.last_flight.take() {
            to.extend_from_slice(&flight);
            change
        } else {
            let before = to.len();
            let change = connection.write_hs(to);
            if let Some(handshake) = &self.handshake {
                handshake.watch.sent(&to[before..]);
            }
            change
        };
        Some(keys(match change? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        }))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair {
            local: Box::new(keys.local),
            remote: Box::new(keys.remote),
        })
    }

    fn is_valid_retry(&self, destination: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some((text, tag)) = payload.len().checked_sub(TAG).map(|at| payload.split_at(at)) else {
            return false;
        };
        let Some(key) = retry_key() else { return false };
        let head = pseudo_packet(destination, &[header, text].concat());
        let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
        key.open_in_place(nonce, Aad::from(head), &mut tag.to_vec()).is_ok()
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let connection = self.running().ok_or(ExportKeyingMaterialError)?;
        let exported = connection.export_keying_material(output, label, Some(context));
        exported.map(|_| ()).map_err(|_| ExportKeyingMaterialError)
    }
}
