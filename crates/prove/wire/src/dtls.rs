//! DTLS (RFC 4347, RFC 6347, RFC 9147): what of its handshake is in plaintext, over UDP and in SCTP user messages.

mod fragments;
mod handshake;
mod session;

use bartizan_registry::SignatureScheme;

pub(crate) use self::handshake::{Handshake, is_short};
pub(crate) use self::session::{Session, begins};
use crate::spread::Spread;
use crate::tls::{Alert, Certificates, ClientHello, ServerHello, ServerKeyExchange};
use crate::{Moment, Seen};

/// Bytes of a record's header before version 1.3.
pub(crate) const RECORD: usize = 13;

/// Content types.
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
/// Protected, with a connection identifier in its header (RFC 9146).
const WITH_CONNECTION_ID: u8 = 25;

/// A DTLS association. Its ends are numbered: 0 began the SCTP association, or over UDP sent first;
/// 1 is the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dtls {
    /// The first record.
    pub first: Option<Moment>,
    /// User messages of SCTP that are DTLS records, or datagrams.
    pub messages: u64,
    /// Encrypted records with the header that DTLS 1.3 gave up: those of 1.2 or 1.0.
    pub legacy_protected: u64,
    /// Datagrams of each end that begin with an encrypted record, or have one behind others. Over UDP only.
    pub protected: [u64; 2],
    /// By end: a protected record that can be a Finished was sent, before version 1.3 any, in 1.3
    /// one that is long enough.
    pub finished: [bool; 2],
    /// In version 1.3: behind the client's Finished the server sent a record that is longer than an
    /// alert, under keys of application data.
    pub answered: Option<bool>,
    /// The first record with application data that is not encrypted. Over UDP only.
    pub data_in_plaintext: Option<Moment>,
    /// The first alert of each end in plaintext. Over UDP only.
    pub alerts: [Option<Seen<Alert>>; 2],
    /// Client of DTLS; none if no message shows it.
    pub client: Option<usize>,
    /// The first ClientHello, by its number.
    pub first_client_hello: Option<Seen<ClientHello>>,
    /// The server's request for another.
    pub hello_retry_request: Option<Seen<ServerHello>>,
    /// The client's offer; of two ClientHellos the second.
    pub client_hello: Option<Seen<ClientHello>>,
    /// The server's choice; its version is that of DTLS.
    pub server_hello: Option<Seen<ServerHello>>,
    /// First ServerHello or ClientHello that differs from an earlier one under the same number.
    pub contradicted: Option<Moment>,
    /// DTLS 1.2 and older: the server's key exchange.
    pub server_key_exchange: Option<Seen<ServerKeyExchange>>,
    /// DTLS 1.2 and older: the server's certificates.
    pub server_certificates: Option<Seen<Certificates>>,
    /// DTLS 1.2 and older: the client's certificates.
    pub client_certificates: Option<Seen<Certificates>>,
    /// DTLS 1.2: the scheme the client signed with.
    pub client_signature: Option<Seen<SignatureScheme>>,
    /// By end: the distribution of protected bytes.
    pub(crate) spread: [Spread; 2],
}

impl Dtls {
    /// Returns true if the bytes of its protected records are distributed as encrypted ones are; none
    /// if there are too few.
    #[must_use]
    pub fn looks_encrypted(&self) -> Option<bool> {
        Spread::both_look_encrypted(self.spread)
    }

    /// Bytes it holds on the heap, about.
    pub fn held(&self) -> usize {
        let certificates = [&self.server_certificates, &self.client_certificates];
        let certificates = certificates.into_iter().flatten().map(|seen| seen.value.held());
        let hellos = [&self.first_client_hello, &self.client_hello];
        let hellos = hellos.into_iter().flatten().map(|hello| hello.value.held());
        hellos.sum::<usize>() + certificates.sum::<usize>()
    }

    /// The alert with which an end refused the other, in plaintext.
    pub fn refusal(&self) -> Option<&Seen<Alert>> {
        self.alerts.iter().flatten().find(|alert| alert.value.is_fatal())
    }
}

/// A record with the header of DTLS before version 1.3, which 1.3 still has in plaintext.
pub(crate) struct Record<'a> {
    pub(crate) kind: u8,
    pub(crate) epoch: u16,
    pub(crate) length: usize,
    /// Captured bytes of its body and of all behind it.
    pub(crate) rest: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads a record header: content type, version 1.0 or 1.2 (1.3 says 1.2), a valid length.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
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
