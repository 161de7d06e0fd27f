//! The handshake of DTLS, as far as it is in clear: before version 1.3 up to ChangeCipherSpec.

use bartizan_registry::SignatureScheme;

use super::assembly::Assembly;
use super::fragments::{Fragments, Message};
use super::{Dtls, Record};
use crate::keys::Keys;
use crate::sctp::Data;
use crate::tls::{self, Certificates, ClientHello, ServerHello, ServerKeyExchange, Version};
use crate::{Moment, Seen};

/// Content type of handshake records.
const HANDSHAKE: u8 = 22;
/// Records of one user message that are looked at.
const RECORDS: usize = 16;
/// Chunks of an end that are still looked at behind its first protected record: parts of its handshake may have been sent
/// again.
const BEHIND: u8 = 32;

/// Both ends' handshake messages, as they complete.
#[derive(Clone, Default)]
pub(super) struct Handshake {
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

/// What one end has sent in part.
#[derive(Clone, Default)]
struct End {
    assembly: Assembly,
    fragments: Fragments,
    /// Chunks that are still looked at, once a protected record came.
    left: Option<u8>,
}

impl End {
    /// Whether its handshake is over; what was in the making then is forgotten.
    fn is_over(&mut self) -> bool {
        let over = self.left == Some(0);
        if over {
            self.assembly = Assembly::default();
            self.fragments = Fragments::default();
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        over
    }
}

impl Handshake {
    pub(super) fn chunk(&mut self, data: &Data<'_>, from: usize, at: Moment, keys: Option<&dyn Keys>) {
        let end = &mut self.ends[from];
        if end.is_over() {
            return;
        }
        match (data.begins, data.ends) {
            (true, true) => self.message(data.payload, from, (at, at), keys),
            (begins, _) => {
                if begins && Record::read(data.payload).is_some_and(|record| record.epoch > 0) {
                    end.left.get_or_insert(BEHIND);
                } else if let Some(whole) = end.assembly.push(data, at) {
                    self.message(&whole.bytes, from, (whole.first, whole.last), keys);
                }
            }
        }
    }

    pub(super) fn give_up(&mut self) {
        self.ends = Default::default();
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        let end = |end: &End| end.assembly.held() + end.fragments.held();
        let certificates = self.certificates.iter().flatten();
        self.ends.iter().map(end).sum::<usize>()
            + self.first_client_hello.as_ref().map_or(0, |hello| hello.value.held())
            + self.client_hello.as_ref().map_or(0, |(_, hello)| hello.value.held())
            + certificates.map(|seen| seen.value.held()).sum::<usize>()
    }

    pub(super) fn outcome(self) -> Dtls {
        let [initiator, responder] = self.certificates;
        let (client_certificates, server_certificates) = match self.client {
            Some(0) => (initiator, responder),
            Some(_) => (responder, initiator),
            None => (None, None),
        };
        Dtls {
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

    /// A whole user message: records.
    fn message(&mut self, mut bytes: &[u8], from: usize, seen: (Moment, Moment), keys: Option<&dyn Keys>) {
        for _ in 0..RECORDS {
            let Some(record) = Record::read(bytes) else { return };
            let Some((body, behind)) = record.rest.split_at_checked(record.length) else {
                return;
            };
            bytes = behind;
            if record.epoch > 0 {
                self.ends[from].left.get_or_insert(BEHIND);
            } else if record.kind == HANDSHAKE {
                let mut fragments = std::mem::take(&mut self.ends[from].fragments);
                fragments.push(body, tls::IN_CLEAR, seen, |message| {
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
                let is_first = message.sequence == 0 && self.first_client_hello.is_none();
                if (later || is_first)
                    && let Ok(hello) = ClientHello::read_dtls(body)
                {
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
