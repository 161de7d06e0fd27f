//! DTLS in SCTP user messages (RFC 6083): recognised, and what of its handshake is in clear read.

mod assembly;
mod fragments;
mod handshake;

use bartizan_registry::SignatureScheme;

use self::handshake::Handshake;
use super::Data;
use crate::keys::Keys;
use crate::observer::allocated;
use crate::tls::{Certificates, ClientHello, ServerHello, ServerKeyExchange};
use crate::{Moment, Seen};

/// Bytes of a DTLS record's header before version 1.3.
const RECORD: usize = 13;

/// What the DTLS of an association shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dtls {
    /// The first record.
    pub first: Option<Moment>,
    /// User messages that are DTLS records.
    pub messages: u64,
    /// Encrypted records with the header that DTLS 1.3 gave up: those of 1.2 or 1.0.
    pub legacy_protected: u64,
    /// Who is the client of DTLS: 0 the association's initiator, 1 its responder; none where no message tells.
    pub client: Option<usize>,
    /// The first ClientHello, by its number.
    pub first_client_hello: Option<Seen<ClientHello>>,
    /// The server's request for another.
    pub hello_retry_request: Option<Seen<ServerHello>>,
    /// What the client offers; of two ClientHellos the second.
    pub client_hello: Option<Seen<ClientHello>>,
    /// What the server chose; its version is that of DTLS.
    pub server_hello: Option<Seen<ServerHello>>,
    /// Where another ServerHello came that says something else.
    pub contradicted: Option<Moment>,
    /// DTLS 1.2 and older: the server's key exchange.
    pub server_key_exchange: Option<Seen<ServerKeyExchange>>,
    /// DTLS 1.2 and older: the server's certificates.
    pub server_certificates: Option<Seen<Certificates>>,
    /// DTLS 1.2 and older: the client's certificates.
    pub client_certificates: Option<Seen<Certificates>>,
    /// DTLS 1.2: the scheme the client signed with.
    pub client_signature: Option<Seen<SignatureScheme>>,
}

impl Dtls {
    /// Bytes it holds on the heap, about.
    #[must_use]
    pub fn held(&self) -> usize {
        let certificates = [&self.server_certificates, &self.client_certificates];
        let certificates = certificates.into_iter().flatten().map(|seen| seen.value.held());
        let hellos = [&self.first_client_hello, &self.client_hello];
        let hellos = hellos.into_iter().flatten().map(|hello| hello.value.held());
        hellos.sum::<usize>() + certificates.sum::<usize>()
    }
}

/// Looks at the user messages of both directions. Holds little as long as they are no DTLS.
#[derive(Clone, Default)]
pub(super) struct Reader {
    first: Option<Moment>,
    messages: u64,
    legacy_protected: u64,
    handshake: Option<Box<Handshake>>,
}

impl Reader {
    /// Looks at the beginning of a user message; says whether it is a DTLS record.
    pub(super) fn message(&mut self, bytes: &[u8], at: Moment) -> bool {
        // DTLS 1.3 shortens the header of encrypted records to one that begins with 001 (RFC 9147, section 4): without
        // a handshake before, that may be anything.
        let short = self.messages > 0 && bytes.first().is_some_and(|byte| byte >> 5 == 1);
        if !short && Record::read(bytes).is_none() {
            return false;
        }
        self.first.get_or_insert(at);
        self.messages += 1;
        let epoch = bytes.get(3..5).is_some_and(|epoch| epoch != [0, 0]);
        self.legacy_protected += u64::from(!short && epoch);
        true
    }

    /// Takes a DATA chunk that is new, of a message that may be DTLS; `keys` read certificates.
    pub(super) fn chunk(&mut self, data: &Data<'_>, from: usize, at: Moment, keys: Option<&dyn Keys>) {
        self.handshake.get_or_insert_default().chunk(data, from, at, keys);
    }

    /// It is no DTLS, or not only: nothing is put together.
    pub(super) fn give_up(&mut self) {
        if let Some(handshake) = &mut self.handshake {
            handshake.give_up();
        }
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        let handshake = self.handshake.as_ref();
        handshake.map_or(0, |handshake| allocated(size_of::<Handshake>()) + handshake.held())
    }

    /// What there was to see; none where nothing was DTLS.
    pub(super) fn outcome(self) -> Option<Dtls> {
        let shown = self.handshake.map(|handshake| handshake.outcome()).unwrap_or_default();
        (self.messages > 0).then_some(Dtls {
            first: self.first,
            messages: self.messages,
            legacy_protected: self.legacy_protected,
            ..shown
        })
    }
}

/// A record with the header of DTLS before version 1.3, which 1.3 still has in clear.
struct Record<'a> {
    kind: u8,
    epoch: u16,
    length: usize,
    /// What is there of its body, and behind it.
    rest: &'a [u8],
}

impl<'a> Record<'a> {
    /// Whether bytes begin with one: content type, version 1.0 or 1.2 (1.3 says 1.2), a length that can be.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<RECORD>()?;
        let length = usize::from(u16::from_be_bytes([header[11], header[12]]));
        let known = matches!(header[0], 20..=26) && header[1] == 0xfe && matches!(header[2], 0xfd | 0xff);
        (known && length <= (1 << 14) + 2048).then_some(Self {
            kind: header[0],
            epoch: u16::from_be_bytes([header[3], header[4]]),
            length,
            rest,
        })
    }
}
