//! Decrypted content of a TLS connection: the rest of the handshake, and HTTP/2.

use bartizan_registry::{CipherSuite, SignatureScheme};

use super::handshake::{self, Message, Messages};
use super::hello::{ClientHello, EncryptedExtensions, ServerHello};
use super::record::{self, Span};
use super::session::Alert;
use super::{Version, certificates, unpacked};
use crate::application::Application;
use crate::http2::{self, Http2};
use crate::keys::{Certificate, Epoch, Keys, RecordKey, TlsDirection};
use crate::opening::HTTP2_PREFACE;
use crate::proxy::{CONNECT, Hop};
use crate::tcp::Delivery;
use crate::{Content, Moment, Roles, Seen, Side, Start};

/// Alerts and wrong keys kept; more repeat what the first ones say.
const KEPT: usize = 8;

/// Decrypted content. It was protected on the wire: only a holder of the keys sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// The application protocol, where TLS 1.3 hides it.
    pub alpn: Option<Seen<String>>,
    /// The server asked for a certificate.
    pub certificate_request: Option<Seen<()>>,
    /// Certificates of the server, its own first; empty if it sent none.
    pub server_certificates: Option<Seen<Vec<Certificate>>>,
    /// Certificates of the client; empty if it was asked and had none.
    pub client_certificates: Option<Seen<Vec<Certificate>>>,
    /// The scheme of the server's CertificateVerify.
    pub server_signature: Option<Seen<SignatureScheme>>,
    /// The scheme of the client's CertificateVerify.
    pub client_signature: Option<Seen<SignatureScheme>>,
    /// The server's Finished.
    pub server_finished: Option<Seen<()>>,
    /// The client's Finished.
    pub client_finished: Option<Seen<()>>,
    /// Tickets with which the session may be resumed.
    pub tickets: u64,
    /// Number of key updates of the client, and of the server.
    pub key_updates: [u64; 2],
    /// TLS 1.3: the server sent a record behind the client's Finished that is no fatal alert.
    pub answered: bool,
    /// Alerts.
    pub alerts: Vec<Seen<Alert>>,
    /// Records opened of the client and of the server.
    pub records: [u64; 2],
    /// Places where keys were given that do not open what they should: `line 3 of keys.log`.
    pub wrong: Vec<Seen<String>>,
    /// Reasons for which records of the client, and of the server, were no longer opened.
    pub ended: [Option<Seen<Unopened>>; 2],
    /// HTTP/2, where that is what was protected.
    pub http2: Option<Box<Http2>>,
    /// Content behind an HTTP CONNECT inside the protected stream.
    pub tunnel: Option<Box<Tunnel>>,
}

/// Content behind a proxy that was reached by TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// The negotiations with proxies.
    pub proxies: Vec<Hop>,
    /// Content behind them.
    pub content: Content,
}

impl Tunnel {
    /// All negotiations with proxies, also one behind which nothing is read.
    pub fn negotiations(&self) -> impl Iterator<Item = &Hop> {
        self.proxies.iter().chain(self.content.negotiation())
    }
}

/// Reason for which records are not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unopened {
    /// No key was given, or the cipher suite is not one that is opened.
    #[error("no key was given for {}, or its cipher is not opened", epoch(.0))]
    NoKey(Epoch),
    /// None of the keys given is the right one.
    #[error("the key given does not open them")]
    WrongKey,
    /// The key has opened others and does not open this one: its bytes are not those that were sent.
    #[error("a record that is not what was sent")]
    Damaged,
    /// Bytes are missing from the capture: how many records were in them is not known.
    #[error("records are missing from the capture")]
    Missing,
}

fn epoch(epoch: &Epoch) -> &'static str {
    match epoch {
        Epoch::Early => "early data",
        Epoch::Handshake => "the handshake",
        Epoch::Application => "application data",
    }
}

bartizan_registry::made! {
    /// A direction's records, as far as they were opened.
    struct Half, new(epoch: Epoch) {
        epoch: Epoch = epoch,
        key: Option<Box<dyn RecordKey>> = None,
        sequence: u64 = 0,
        messages: Messages = Messages::default(),
        /// The record in progress: its body, and where it began; none between two records.
        record: Vec<u8> = Vec::new(),
        began: Option<Moment> = None,
        over: bool = false,
    }
}

impl Half {
    fn turn(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        self.key = None;
        self.sequence = 0;
    }
}

/// A copy opens nothing more: keys cannot be copied.
impl Clone for Half {
    fn clone(&self) -> Self {
        Self {
            epoch: self.epoch,
            key: None,
            sequence: self.sequence,
            messages: self.messages.clone(),
            record: self.record.clone(),
            began: self.began,
            over: self.over,
        }
    }
}

/// Early data, which the server may take or not.
#[derive(Default)]
struct Early {
    key: Option<Box<dyn RecordKey>>,
    sequence: u64,
    /// Keys for the handshake that did not open what may be early data, and the packet.
    tried: Vec<Seen<String>>,
}

/// A copy opens nothing more: keys cannot be copied.
impl Clone for Early {
    fn clone(&self) -> Self {
        Self {
            key: None,
            sequence: self.sequence,
            tried: self.tried.clone(),
        }
    }
}

/// Opens both directions.
#[derive(Clone)]
pub(super) struct Opener {
    client_random: [u8; 32],
    server_random: [u8; 32],
    version: Version,
    suite: CipherSuite,
    halves: [Half; 2],
    early: Option<Early>,
    decided: bool,
    http2: Option<Box<http2::Session>>,
    tunnel: Option<Box<Application>>,
    shown: Opened,
}

impl Opener {
    /// For a connection that these two hellos began, if there are keys of it.
    pub(super) fn new(client: &ClientHello, server: &ServerHello, keys: &dyn Keys) -> Option<Self> {
        if !keys.knows_tls(&client.random) {
            return None;
        }
        let epoch = match server.version {
            Version::TLS13 => Epoch::Handshake,
            Version::TLS12 => Epoch::Application,
            _ => return None,
        };
        let http2 = (server.alpn.as_deref() == Some("h2")).then(|| Box::new(http2::Session::new()));
        Some(Self {
            client_random: client.random,
            server_random: server.random,
            version: server.version,
            suite: CipherSuite(server.cipher_suite),
            halves: [Half::new(epoch), Half::new(epoch)],
            early: (client.early_data && server.version == Version::TLS13).then(Early::default),
            decided: http2.is_some(),
            http2,
            tunnel: None,
            shown: Opened::default(),
        })
    }

    pub(super) fn outcome(mut self) -> Box<Opened> {
        // Records that never opened were not early data.
        if let Some(early) = self.early
            && self.shown.records[Side::Client.index()] == 0
        {
            self.shown.wrong.extend(early.tried);
            self.shown.wrong.truncate(KEPT);
        }
        self.shown.http2 = self.http2.map(|session| Box::new(session.outcome()));
        self.shown.tunnel = self.tunnel.map(|mut application| {
            // No key is needed to end what has begun.
            application.decide(&mut (0, Roles::Content), None);
            let (content, proxies) = application.outcome(Side::Client);
            Box::new(Tunnel { proxies, content })
        });
        Box::new(self.shown)
    }

    /// Bytes it holds on the heap, about, and its own.
    pub(super) fn held(&self) -> usize {
        let half =
            |half: &Half| half.record.capacity() + half.messages.held() + half.key.as_ref().map_or(0, |key| key.held());
        let certificates = [&self.shown.server_certificates, &self.shown.client_certificates];
        let certificates = certificates.into_iter().flatten().flat_map(|seen| &seen.value);
        size_of::<Self>()
            + self.halves.iter().map(half).sum::<usize>()
            + certificates.map(Certificate::held).sum::<usize>()
            + self
                .tunnel
                .as_ref()
                .map_or(0, |application| size_of::<Application>() + application.held())
            + self
                .http2
                .as_ref()
                .map_or(0, |session| size_of::<http2::Session>() + session.held())
    }

    /// Bytes of the handshake that were opened elsewhere.
    pub(super) fn messages(&mut self, from: Side, bytes: &[u8], span: Span, keys: &dyn Keys) {
        self.handshake(from, bytes, span, keys);
    }

    /// Secrets that open nothing of what they name.
    pub(super) fn wrong(&mut self, given: Vec<Seen<String>>) {
        let room = KEPT.saturating_sub(self.shown.wrong.len());
        self.shown.wrong.extend(given.into_iter().take(room));
    }

    /// A record begins.
    pub(super) fn begin(&mut self, from: Side, at: Moment) {
        let half = &mut self.halves[from.index()];
        if half.began.replace(at).is_some() {
            // A part of the one before is not in the capture: it counts all the same.
            half.sequence += 1;
            half.record.clear();
            half.messages.reset();
            self.lose(from, at);
        }
    }

    pub(super) fn body(&mut self, from: Side, bytes: &[u8]) {
        let half = &mut self.halves[from.index()];
        if !half.over {
            half.record.extend_from_slice(bytes);
        }
    }

    /// Bytes are missing, and with them an unknown number of records.
    pub(super) fn gap(&mut self, from: Side, at: Moment) {
        self.end(from, Unopened::Missing, at);
        self.lose(from, at);
    }

    /// The record, of this content type, is complete.
    pub(super) fn complete(&mut self, from: Side, kind: u8, at: Moment, keys: &dyn Keys) {
        let half = &mut self.halves[from.index()];
        let began = half.began.take().unwrap_or(at);
        // Connections that wait for days hold no buffer.
        let mut body = std::mem::take(&mut half.record);
        if half.over {
            return;
        }
        // A body is at most 65535 bytes: its length was read from two.
        let [high, low] = (body.len() as u16).to_be_bytes();
        let header = [kind, 3, 3, high, low];
        let span = Span { first: began, last: at };
        let opened = match &mut half.key {
            Some(key) => key.open(half.sequence, &header, &mut body),
            None => match self.find(from, &header, &body, span, keys) {
                Found::Opened(content) => {
                    body = content;
                    true
                }
                Found::Early(content) => {
                    if let Some(content) = content {
                        self.content(from, kind, content, span, keys);
                    }
                    return;
                }
                Found::Nothing => return,
            },
        };
        if !opened {
            self.end(from, Unopened::Damaged, at);
            self.lose(from, at);
            return;
        }
        self.halves[from.index()].sequence += 1;
        self.shown.records[from.index()] += 1;
        self.content(from, kind, body, span, keys);
    }

    /// The key among those given that opens the first record of an epoch.
    fn find(&mut self, from: Side, header: &[u8; 5], body: &[u8], span: Span, keys: &dyn Keys) -> Found {
        let half = &self.halves[from.index()];
        let (epoch, sequence) = (half.epoch, half.sequence);
        let candidates = keys.tls(&self.wanted(from, epoch));
        let none = candidates.is_empty();
        let mut tried = Vec::new();
        for mut candidate in candidates {
            let mut content = body.to_vec();
            if candidate.key.open(sequence, header, &mut content) {
                self.halves[from.index()].key = Some(candidate.key);
                return Found::Opened(content);
            }
            tried.push(Seen::new(candidate.given, span.first, span.last));
        }
        if from == Side::Client && epoch == Epoch::Handshake && sequence == 0 && self.early.is_some() {
            return Found::Early(self.early_data(header, body, tried, keys));
        }
        let room = KEPT.saturating_sub(self.shown.wrong.len());
        self.shown.wrong.extend(tried.into_iter().take(room));
        let why = if none {
            Unopened::NoKey(epoch)
        } else {
            Unopened::WrongKey
        };
        self.end(from, why, span.last);
        Found::Nothing
    }

    /// A record of the client before its handshake's: what it said early, where the key of that was given.
    fn early_data(
        &mut self,
        header: &[u8; 5],
        body: &[u8],
        tried: Vec<Seen<String>>,
        keys: &dyn Keys,
    ) -> Option<Vec<u8>> {
        let candidates = match &self.early {
            Some(Early { key: None, .. }) => keys.tls(&self.wanted(Side::Client, Epoch::Early)),
            _ => Vec::new(),
        };
        let early = self.early.as_mut()?;
        if early.tried.is_empty() {
            early.tried = tried;
            early.tried.truncate(KEPT);
        }
        let mut content = body.to_vec();
        let opened = match &mut early.key {
            Some(key) => key.open(early.sequence, header, &mut content),
            None => candidates.into_iter().any(|mut candidate| {
                content = body.to_vec();
                let opened = candidate.key.open(early.sequence, header, &mut content);
                if opened {
                    early.key = Some(candidate.key);
                }
                opened
            }),
        };
        early.sequence += 1;
        opened.then_some(content)
    }

    fn wanted(&self, side: Side, epoch: Epoch) -> TlsDirection<'_> {
        TlsDirection {
            client_random: &self.client_random,
            server_random: &self.server_random,
            version: self.version,
            cipher_suite: self.suite,
            side,
            epoch,
        }
    }

    /// Reads the content of a record.
    fn content(&mut self, from: Side, outer: u8, mut content: Vec<u8>, span: Span, keys: &dyn Keys) {
        let kind = if self.version == Version::TLS13 {
            // The content's type stands behind it, then zeros (RFC 9846, section 5.2).
            let end = content.iter().rposition(|&byte| byte != 0);
            let Some(kind) = end.map(|end| content[end]) else {
                return;
            };
            content.truncate(end.unwrap_or(0));
            kind
        } else {
            outer
        };
        let alert = match content[..] {
            [level, description] if kind == record::ALERT => Some(Alert {
                from,
                level,
                description,
            }),
            _ => None,
        };
        self.shown.answered |=
            from == Side::Server && self.shown.client_finished.is_some() && !alert.is_some_and(Alert::is_fatal);
        match kind {
            record::HANDSHAKE => self.handshake(from, &content, span, keys),
            record::ALERT => {
                if let Some(alert) = alert
                    && self.shown.alerts.len() < KEPT
                {
                    self.shown.alerts.push(Seen::new(alert, span.first, span.last));
                }
            }
            record::APPLICATION_DATA => self.application(from, &content, span.last),
            _ => {}
        }
    }

    fn handshake(&mut self, from: Side, content: &[u8], span: Span, keys: &dyn Keys) {
        if self.version != Version::TLS13 {
            // Finished; what else TLS 1.2 has, it has in plaintext.
            return;
        }
        let (mut finished, mut updated, mut no_longer_early) = (false, false, false);
        let shown = &mut self.shown;
        let half = &mut self.halves[from.index()];
        half.messages.push(content, handshake::OPENED, span, |message| {
            match (message.kind, from) {
                (handshake::FINISHED, _) => finished = true,
                (handshake::KEY_UPDATE, _) => updated = true,
                (handshake::END_OF_EARLY_DATA, Side::Client) => no_longer_early = true,
                _ => {}
            }
            shown.message(from, &message, keys);
        });
        if no_longer_early {
            self.early = None;
        }
        if finished && half.epoch == Epoch::Handshake {
            half.turn(Epoch::Application);
        } else if updated && half.epoch == Epoch::Application {
            half.sequence = 0;
            if !half.key.as_mut().is_some_and(|key| key.update()) {
                half.key = None;
                self.end(from, Unopened::NoKey(Epoch::Application), span.last);
            }
        }
    }

    fn application(&mut self, from: Side, content: &[u8], at: Moment) {
        if !std::mem::replace(&mut self.decided, true) {
            let agreed = self.shown.alpn.as_ref().is_some_and(|alpn| alpn.value == "h2");
            if agreed || from == Side::Client && content.starts_with(HTTP2_PREFACE) {
                self.http2 = Some(Box::new(http2::Session::new()));
            } else if from == Side::Client && content.starts_with(CONNECT) {
                self.tunnel = Some(Box::new(Application::new(Start::Syn)));
            }
        }
        if let Some(application) = &mut self.tunnel
            && !content.is_empty()
        {
            let delivery = Delivery::Data { bytes: content, at };
            // Nested protection is opened one level deep: keys that a peer chose must not lead
            // deeper and deeper.
            application.take(from.index(), delivery, &mut (0, Roles::Content), None);
        }
        if let Some(session) = &mut self.http2 {
            session.data(from, content, at);
        }
    }

    /// Content is missing.
    fn lose(&mut self, from: Side, at: Moment) {
        if let Some(session) = &mut self.http2 {
            session.gap(from, u64::MAX, at);
        }
        if let Some(application) = &mut self.tunnel {
            // The number of missing bytes is unknown.
            let delivery = Delivery::Gap { bytes: 1, at };
            application.take(from.index(), delivery, &mut (0, Roles::Content), None);
        }
    }

    fn end(&mut self, from: Side, why: Unopened, at: Moment) {
        let half = &mut self.halves[from.index()];
        half.over = true;
        half.record = Vec::new();
        half.messages.reset();
        self.shown.ended[from.index()].get_or_insert_with(|| Seen::new(why, at, at));
    }
}

/// Result of the search for a key.
enum Found {
    /// It opens the record, which holds this.
    Opened(Vec<u8>),
    /// The record is early data, and holds this where its key was given.
    Early(Option<Vec<u8>>),
    Nothing,
}

impl Opened {
    fn message(&mut self, from: Side, message: &Message<'_>, keys: &dyn Keys) {
        let (first, last) = (message.span.first, message.span.last);
        let body = message.body.unwrap_or_default();
        match (message.kind, from) {
            (handshake::ENCRYPTED_EXTENSIONS, Side::Server) => {
                if let Ok(EncryptedExtensions { alpn: Some(alpn) }) = EncryptedExtensions::read(body) {
                    self.alpn.get_or_insert(Seen::new(alpn, first, last));
                }
            }
            (handshake::CERTIFICATE_REQUEST, Side::Server) => {
                self.certificate_request.get_or_insert(Seen::new((), first, last));
            }
            (handshake::COMPRESSED_CERTIFICATE, _) => {
                if let Some(body) = unpacked(body, keys) {
                    let unpacked = Message {
                        kind: handshake::CERTIFICATE,
                        body: Some(&body),
                        ..*message
                    };
                    self.message(from, &unpacked, keys);
                }
            }
            (handshake::CERTIFICATE, _) => {
                let place = match from {
                    Side::Client => &mut self.client_certificates,
                    Side::Server => &mut self.server_certificates,
                };
                if let (None, Some(chain)) = (&place, certificates(body)) {
                    let chain = chain.into_iter().map(|der| keys.certificate(der)).collect();
                    *place = Some(Seen::new(chain, first, last));
                }
            }
            (handshake::CERTIFICATE_VERIFY, _) => {
                let place = match from {
                    Side::Client => &mut self.client_signature,
                    Side::Server => &mut self.server_signature,
                };
                if let Some(code) = body.first_chunk() {
                    let scheme = SignatureScheme(u16::from_be_bytes(*code));
                    place.get_or_insert(Seen::new(scheme, first, last));
                }
            }
            (handshake::FINISHED, Side::Client) => {
                self.client_finished.get_or_insert(Seen::new((), first, last));
            }
            (handshake::FINISHED, Side::Server) => {
                self.server_finished.get_or_insert(Seen::new((), first, last));
            }
            (handshake::KEY_UPDATE, _) => self.key_updates[from.index()] += 1,
            (handshake::NEW_SESSION_TICKET, Side::Server) => self.tickets += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
