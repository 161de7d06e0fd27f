//! Keys of encrypted traffic, supplied by the operator of the capture.
//!
//! Only the questions stand here. The answers take cryptography, which this crate has none of: the crate `keys` gives
//! them.

use std::ops::Range;
use std::sync::Arc;

use bartizan_registry::{CipherSuite, QuicVersion};

use crate::Side;
use crate::ike::Party;
use crate::tls::Version;

/// Keys given by the operator, looked up by values that packets show.
pub trait Keys: Send + Sync {
    /// Returns true if a secret of the TLS connection with this client random was given.
    fn knows_tls(&self, client_random: &[u8; 32]) -> bool;

    /// The keys that may protect one direction of a TLS connection: one for each secret that was given for it. None
    /// where none was given, or where the cipher suite is not one that can be opened.
    fn tls(&self, wanted: &TlsDirection<'_>) -> Vec<Candidate>;

    /// Decompresses a certificate message (RFC 8879) that `algorithm` compressed and whose length
    /// is `length`. None if the length differs, or if the algorithm is not supported.
    fn unpack(&self, algorithm: u16, packed: &[u8], length: usize) -> Option<Vec<u8>>;

    /// Reads a certificate from its DER encoding. This requires no key, only a certificate reader.
    /// Before TLS 1.3 certificates are unencrypted.
    fn certificate(&self, der: &[u8]) -> Certificate;

    /// All keys that were given for the IKE_SA with these SPIs, in the order given: each additional key exchange makes
    /// others.
    fn ike(&self, initiator_spi: u64, responder_spi: u64) -> Vec<IkeCandidate>;

    /// The keys of QUIC Initial packets, derived from the connection identifier that the client's
    /// first packet is sent to (RFC 9001, section 5.2). This requires no secret, only the
    /// derivation. None without an implementation of it.
    fn quic(&self, version: &QuicVersion, destination: &[u8]) -> Option<Arc<dyn InitialKeys>> {
        let _ = (version, destination);
        None
    }

    /// The keys that may protect the packets of one direction of a QUIC connection behind its
    /// Initial packets (RFC 9001, section 5.1): one for each secret that was given for its TLS.
    fn quic_of_tls(&self, version: &QuicVersion, wanted: &TlsDirection<'_>) -> Vec<QuicCandidate> {
        let _ = (version, wanted);
        Vec::new()
    }
}

/// A key of QUIC that may be the right one.
pub struct QuicCandidate {
    /// The key, of one direction.
    pub key: Arc<dyn InitialKeys>,
    /// Source of the secret, in a form that an operator can look up.
    pub given: String,
}

/// Opens packets of a QUIC connection: Initial packets of both ends, others of one.
pub trait InitialKeys: Send + Sync {
    /// Opens a packet that `from` sent, in place: its packet number, which is at `number`, and
    /// where in `packet` its frames stand. `expected` is the number behind the greatest that was
    /// opened of this end. None where the key is not that of the packet, which `packet` then no
    /// longer holds.
    fn open(&self, from: Side, packet: &mut [u8], number: usize, expected: u64) -> Option<(u64, Range<usize>)>;
}

/// A direction of a TLS connection whose key is wanted.
#[derive(Debug, Clone, Copy)]
pub struct TlsDirection<'a> {
    /// The random of its ClientHello.
    pub client_random: &'a [u8; 32],
    /// The random of its ServerHello.
    pub server_random: &'a [u8; 32],
    /// The version chosen.
    pub version: Version,
    /// The cipher suite chosen.
    pub cipher_suite: CipherSuite,
    /// Side that protects with the key.
    pub side: Side,
    /// Epoch of the key.
    pub epoch: Epoch,
}

/// Epoch of a TLS 1.3 key (RFC 9846, section 7.1). TLS 1.2 has one key for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Epoch {
    /// Early data.
    Early,
    /// The handshake.
    Handshake,
    /// All that follows it.
    Application,
}

/// A key that may be the right one.
pub struct Candidate {
    /// The key.
    pub key: Box<dyn RecordKey>,
    /// Source of the secret, in a form that an operator can look up: `line 3 of keys.log`.
    pub given: String,
}

/// Opens the records of one direction.
pub trait RecordKey: Send {
    /// Opens a record in place: `body` holds what follows the record's header, and holds what was protected when it
    /// returns `true`. `false` where the key is not that of the record, which `body` then no longer holds.
    fn open(&mut self, sequence: u64, header: &[u8; 5], body: &mut Vec<u8>) -> bool;

    /// Becomes the key that follows it, behind a KeyUpdate (RFC 9846, section 7.2). `false` where it cannot.
    fn update(&mut self) -> bool;

    /// Bytes it holds, about.
    fn held(&self) -> usize;
}

/// Keys that may be those of an IKE_SA.
pub struct IkeCandidate {
    /// The keys.
    pub key: Box<dyn IkeKey>,
    /// Source of the keys, in a form that an operator can look up.
    pub given: String,
}

/// Opens the messages of both ends of an IKE_SA.
pub trait IkeKey: Send {
    /// Decrypts a message that `from` sent, without its padding. `message` is all of it from the
    /// header on, and `start` the place of the initialization vector, behind the header of the
    /// payload. None if the key is not that of the message.
    fn open(&self, from: Party, message: &[u8], start: usize) -> Option<Vec<u8>>;

    /// Bytes it holds, about.
    fn held(&self) -> usize;
}

/// Key, signature and names of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Its subject, printable and of bounded length.
    pub subject: String,
    /// The algorithm of its key, by the registry's name, else its object identifier.
    pub public_key: String,
    /// The algorithm it is signed with, likewise.
    pub signature: String,
    /// Last second of its validity, since 1970.
    pub not_after: i64,
    /// SHA-256 of it, in hexadecimal.
    pub sha256: String,
}

impl Certificate {
    /// Bytes it holds, about.
    pub fn held(&self) -> usize {
        size_of::<Self>()
            + [&self.subject, &self.public_key, &self.signature, &self.sha256]
                .iter()
                .map(|text| text.capacity())
                .sum::<usize>()
    }
}
