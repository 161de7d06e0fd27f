//! The handshake of DTLS, as far as it is in plaintext: before version 1.3 up to ChangeCipherSpec.

use bartizan_registry::SignatureScheme;

use super::fragments::{Fragments, Message};
use super::{Dtls, HANDSHAKE, Record};
use crate::keys::Keys;
use crate::tls::{self, Certificates, ClientHello, ServerHello, ServerKeyExchange, Version};
use crate::{Moment, Seen};

/// Records of one user message or datagram that are looked at.
const RECORDS: usize = 64;
/// Chunks or datagrams of an end that are still looked at behind its first protected record: parts
/// of its handshake may have been sent again.
const BEHIND: u8 = 32;

/// Both ends' handshake messages, as they complete.
#[derive(Clone, Default)]
pub(crate) struct Handshake {
    ends: [End; 2],
    client: Option<usize>,
    /// Those of the first number and of the latest, with that.
    first_client_hello: Option<Seen<ClientHello>>,
    client_hello: Option<(u16, Seen<ClientHello>)>,
    hello_retry_request: Option<Seen<ServerHello>>,
    server_hello: Option<Seen<ServerHello>>,
    server_key_exchange: Option<Seen<ServerKeyExchange>>,
    /// By direction.
    certificates: [Option<Seen<Certificates>>; 2],
    contradicted: Option<Moment>,
    client_signature: Option<Seen<SignatureScheme>>,
}

/// Partly received messages of one end.
#[derive(Clone, Default)]
struct End {
    fragments: Fragments,
    /// Chunks or datagrams that are still looked at, once a protected record came.
    left: Option<u8>,
    finished: bool,
    /// DTLS 1.3: a record behind the other's Finished is longer than an alert.
    answers: bool,
}

/// Recognises what may begin with an encrypted record of DTLS 1.3 (RFC 9147, section 4): without a
/// handshake before, that may be anything.
pub(crate) fn is_short(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| byte >> 5 == 1)
}

/// The bits of a short header that have the low ones of its epoch, and epoch 2: the keys of the
/// handshake (RFC 9147, sections 4 and 6.1).
const EPOCH: u8 = 0x03;
const OF_HANDSHAKE: u8 = 0x02;

/// Length of the encrypted record of DTLS 1.3 that these bytes begin with, and the bytes behind it.
/// One with a connection identifier, whose length only its receiver knows, or without a length is
/// taken to the end of the datagram.
fn short(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let first = *bytes.first().filter(|_| is_short(bytes))?;
    let sequence = if first & 0x08 == 0 { 1 } else { 2 };
    let rest = bytes.get(1 + sequence..)?;
    if first & 0x14 != 0x04 {
        return Some((rest.len(), &[]));
    }
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes(*length));
    Some((length, rest.get(length..).unwrap_or_default()))
}

impl Handshake {
    /// Returns true if an end's handshake is over, asked for each of its chunks or datagrams.
    /// Incomplete messages are then forgotten.
    pub(crate) fn is_over(&mut self, from: usize) -> bool {
        let end = &mut self.ends[from];
        let over = end.left == Some(0);
        if over {
            end.fragments = Fragments::default();
        }
        end.left = end.left.map(|left| left.saturating_sub(1));
        over
    }

    /// A protected record of an end came.
    pub(crate) fn protects(&mut self, from: usize) {
        self.ends[from].left.get_or_insert(BEHIND);
    }

    /// Notes where these bytes of an end begin with protected records one of which can be its
    /// Finished, or goes beyond the other's.
    pub(crate) fn finishes(&mut self, mut bytes: &[u8], from: usize) {
        let Some(hello) = &self.server_hello else { return };
        if hello.value.version != Version::DTLS13 {
            self.ends[from].finished |= Record::read(bytes).is_some_and(|record| record.epoch > 0);
            return;
        }
        let suite = hello.value.cipher_suite;
        // Content type and tag.
        let protection = 1 + if suite == 0x1305 { 8 } else { 16 };
        let finished = 12 + if suite == 0x1302 { 48 } else { 32 } + protection;
        let alert = 2 + protection;
        for _ in 0..RECORDS {
            let Some((length, behind)) = short(bytes) else { return };
            // A server may send its flight again, under the keys of the handshake: that is no
            // answer.
            let application = bytes[0] & EPOCH != OF_HANDSHAKE;
            self.ends[from].answers |= self.ends[1 - from].finished && application && length > alert;
            self.ends[from].finished |= length >= finished;
            bytes = behind;
        }
    }

    /// The version that the server chose.
    pub(crate) fn version(&self) -> Option<Version> {
        self.server_hello.as_ref().map(|hello| hello.value.version)
    }

    /// The random of the ClientHello, where there is one.
    pub(crate) fn client_random(&self) -> Option<[u8; 32]> {
        let latest = self.client_hello.as_ref().map(|(_, hello)| hello);
        Some(self.first_client_hello.as_ref().or(latest)?.value.random)
    }

    pub(crate) fn give_up(&mut self) {
        self.ends = Default::default();
    }

    /// Bytes it holds on the heap, about.
    pub(crate) fn held(&self) -> usize {
        let certificates = self.certificates.iter().flatten();
        self.ends.iter().map(|end| end.fragments.held()).sum::<usize>()
            + self.first_client_hello.as_ref().map_or(0, |hello| hello.value.held())
            + self.client_hello.as_ref().map_or(0, |(_, hello)| hello.value.held())
            + certificates.map(|seen| seen.value.held()).sum::<usize>()
    }

    pub(crate) fn outcome(self) -> Dtls {
        let newest = self.version() == Some(Version::DTLS13);
        let [initiator, responder] = self.certificates;
        let (client_certificates, server_certificates) = match self.client {
            Some(0) => (initiator, responder),
            Some(_) => (responder, initiator),
            None => (None, None),
        };
        Dtls {
            finished: self.ends.each_ref().map(|end| end.finished),
            answered: newest.then(|| self.client.is_some_and(|client| self.ends[1 - client].answers)),
            client: self.client,
            first_client_hello: self.first_client_hello,
            hello_retry_request: self.hello_retry_request,
            client_hello: self.client_hello.map(|(_, hello)| hello),
            server_hello: self.server_hello,
            server_key_exchange: self.server_key_exchange,
            server_certificates,
            client_certificates,
            client_signature: self.client_signature,
            contradicted: self.contradicted,
            ..Dtls::default()
        }
    }

    /// A whole user message or datagram: records.
    pub(crate) fn records(&mut self, mut bytes: &[u8], from: usize, seen: (Moment, Moment), keys: Option<&dyn Keys>) {
        for _ in 0..RECORDS {
            self.finishes(bytes, from);
            let Some(record) = Record::read(bytes) else { return };
            let Some((body, behind)) = record.rest.split_at_checked(record.length) else {
                return;
            };
            bytes = behind;
            if record.epoch > 0 {
                self.ends[from].left.get_or_insert(BEHIND);
            } else if record.kind == HANDSHAKE {
                let mut fragments = std::mem::take(&mut self.ends[from].fragments);
                fragments.push(body, tls::IN_PLAINTEXT, seen, |message| {
                    self.handshake(&message, from, keys);
                });
                self.ends[from].fragments = fragments;
            }
        }
    }

    fn handshake(&mut self, message: &Message<'_>, from: usize, keys: Option<&dyn Keys>) {
        let (body, first, last) = (message.body, message.first, message.last);
        match message.kind {
            tls::CLIENT_HELLO => {
                let known = self.client_hello.as_ref().map(|(known, _)| *known);
                let later = known.is_none_or(|known| known < message.sequence);
                let first_known = self.first_client_hello.as_ref().filter(|_| message.sequence == 0);
                let is_first = message.sequence == 0 && first_known.is_none();
                let Ok(hello) = ClientHello::read_dtls(body) else {
                    return;
                };
                // Sent again it is the same.
                let same = match (known == Some(message.sequence), first_known) {
                    (true, _) => self.client_hello.as_ref().is_none_or(|(_, known)| known.value == hello),
                    (false, Some(known)) => known.value == hello,
                    (false, None) => true,
                };
                if !same {
                    self.contradicted.get_or_insert(last);
                }
                if later || is_first {
                    self.client.get_or_insert(from);
                    let hello = Seen::new(hello, first, last);
                    if is_first {
                        self.first_client_hello = Some(hello.clone());
                    }
                    if later {
                        self.client_hello = Some((message.sequence, hello));
                    }
                }
            }
            tls::SERVER_HELLO => {
                let Ok(hello) = ServerHello::read(body) else { return };
                let place = if hello.is_hello_retry_request() {
                    &mut self.hello_retry_request
                } else {
                    &mut self.server_hello
                };
                match place {
                    None => {
                        *place = Some(Seen::new(hello, first, last));
                        self.client.get_or_insert(1 - from);
                    }
                    // Sent again it is the same.
                    Some(known) if known.value != hello => {
                        self.contradicted.get_or_insert(last);
                    }
                    Some(_) => {}
                }
            }
            tls::SERVER_KEY_EXCHANGE => {
                let chosen = self.server_hello.as_ref().map(|seen| seen.value.version);
                let version = match chosen {
                    Some(Version::DTLS10) => Version::TLS11,
                    _ => Version::TLS12,
                };
                self.client.get_or_insert(1 - from);
                self.server_key_exchange
                    .get_or_insert_with(|| Seen::new(ServerKeyExchange::read(body, version), first, last));
            }
            tls::CERTIFICATE => {
                self.certificates[from].get_or_insert_with(|| Seen::new(Certificates::read(body, keys), first, last));
            }
            tls::CERTIFICATE_VERIFY => {
                if let Some(code) = body.first_chunk() {
                    self.client.get_or_insert(from);
                    let scheme = SignatureScheme(u16::from_be_bytes(*code));
                    self.client_signature.get_or_insert(Seen::new(scheme, first, last));
                }
            }
            _ => {}
        }
    }
}
