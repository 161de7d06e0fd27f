//! A TLS connection as seen on the wire.

use bartizan_registry::SignatureScheme;

use super::Watched;
use crate::plaintext::Spoken;
use crate::spread::Spread;
use crate::tls::Version;
use crate::tls::hello::{ClientHello, Malformed, ServerHello};
use crate::tls::legacy::{Certificates, ServerKeyExchange};
use crate::tls::opened::Opened;
use crate::{Moment, Seen, Side};

bartizan_registry::made! {
    /// A TLS connection as seen on the wire.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Tls, pub(super) of(watched: Watched, opened: Option<Box<Opened>>) {
        let rare = watched.rare.map(|rare| *rare).unwrap_or_default();
        // Without any byte of the server the capture has one direction only, and lacks what asked for the second hello.
        let answered =
            watched.flights.iter().any(|flight| flight.from == Side::Server) || watched.server_hello.is_some();
        let unasked = rare.unanswered_hello.filter(|_| answered);
        /// The first ClientHello.
        pub client_hello: Option<Seen<ClientHello>> = watched.client_hello,
        /// The server's request for another ClientHello.
        pub hello_retry_request: Option<Seen<ServerHello>> = rare.hello_retry_request,
        /// The ClientHello that answered it.
        pub second_client_hello: Option<Seen<ClientHello>> = rare.second_client_hello,
        /// The server's choice.
        pub server_hello: Option<Seen<ServerHello>> = watched.server_hello,
        /// TLS 1.2 and older: the server's key exchange.
        pub server_key_exchange: Option<Seen<ServerKeyExchange>> = rare.server_key_exchange,
        /// TLS 1.2 and older: the server's certificates.
        pub server_certificates: Option<Seen<Certificates>> = rare.server_certificates,
        /// TLS 1.2 and older: the client's certificates.
        pub client_certificates: Option<Seen<Certificates>> = rare.client_certificates,
        /// TLS 1.2: the scheme the client signed with.
        pub client_signature: Option<Seen<SignatureScheme>> = rare.client_signature,
        /// Alerts in plaintext.
        pub alerts: Vec<Seen<Alert>> = rare.alerts,
        /// Runs of bytes in one direction, in the order captured: those of the handshake, and while
        /// that is unknown up to eight. A ChangeCipherSpec that a TLS 1.3 client sends while the server
        /// speaks (rustls does) ends no flight of the server: it means nothing (RFC 9846, appendix
        /// D.4), and is counted with the client's next.
        pub flights: Vec<Flight> = watched.flights,
        /// TLS 1.3: the packet with the end of the client's first protected record that is as long as Finished and nothing
        /// else. A client that puts its Finished into one record with other messages shows none.
        pub client_finished: Option<Moment> = watched.client_finished,
        /// Possible contents of the protected records of client and server, by their lengths.
        pub ends: [Protection; 2] = watched.ends,
        /// Protected records of the client.
        pub from_client: Protected = watched.from_client,
        /// Protected records of the server.
        pub from_server: Protected = watched.from_server,
        /// The first excess hello, by its sender: an observer cannot decide which of them counts.
        pub excess_hello: Option<Seen<Side>> = unasked.or(rare.excess_hello),
        /// Violations of the standard, and missing messages.
        pub faults: Vec<Seen<Fault>> = rare.faults,
        /// Decrypted content, if keys were given for this connection.
        pub opened: Option<Box<Opened>> = opened,
        /// Plaintext before it: it began by STARTTLS or its kin.
        pub behind: Option<Spoken> = rare.behind,
        pub(crate) spread: [Spread; 2] = watched.spread,
    }
}

impl Tls {
    /// Returns true if the bytes of its protected records are distributed as encrypted ones are; none
    /// if there are too few.
    #[must_use]
    pub fn looks_encrypted(&self) -> Option<bool> {
        Spread::both_look_encrypted(self.spread)
    }

    /// The version the server chose.
    pub fn version(&self) -> Option<Version> {
        let chosen = self.server_hello.as_ref().or(self.hello_retry_request.as_ref())?;
        Some(chosen.value.version)
    }

    /// The alert with which an end refused the other, in plaintext or as keys opened it.
    pub fn refusal(&self) -> Option<&Seen<Alert>> {
        let opened = self.opened.iter().flat_map(|opened| &opened.alerts);
        // handshake_failure, those about certificates, decrypt_error, insufficient_security and certificate_required
        // (RFC 9846, section 6).
        let refuses = |alert: &&Seen<Alert>| matches!(alert.value.description, 40 | 42..=49 | 51 | 71 | 116);
        self.alerts.iter().chain(opened).find(refuses)
    }

    /// The flights of the handshake: client, server, client; two more behind a HelloRetryRequest, one more in TLS 1.2.
    /// In TLS 1.3 the last one may also hold what the client had to say at once, which is encrypted alike.
    pub fn handshake_flights(&self) -> &[Flight] {
        let count = flights_of(self.version(), self.hello_retry_request.is_some());
        &self.flights[..count.min(self.flights.len())]
    }
}

/// Number of flights of a handshake.
pub(super) fn flights_of(version: Option<Version>, retried: bool) -> usize {
    match (version, retried) {
        (Some(Version::TLS13) | None, false) => 3,
        (Some(Version::TLS13) | None, true) => 5,
        (Some(_), _) => 4,
    }
}

/// An alert in plaintext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// Sender.
    pub from: Side,
    /// 1 warning, 2 fatal.
    pub level: u8,
    /// Description; [`alert_name`] names it.
    pub description: u8,
}

impl Alert {
    /// Returns true if it ends the connection: all fatal alerts but `close_notify` (RFC 9846,
    /// section 6).
    #[must_use]
    pub fn is_fatal(self) -> bool {
        self.level == 2 && self.description != 0
    }
}

impl std::fmt::Display for Alert {
    /// `bad_certificate from the client`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match alert_name(self.description) {
            Some(name) => write!(f, "{name} from the {}", self.from),
            None => write!(f, "{} from the {}", self.description, self.from),
        }
    }
}

/// Bytes one side sent until the other side sent some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// Sender.
    pub from: Side,
    /// Bytes of TLS records, headers included.
    pub bytes: u64,
    /// Records that began in it.
    pub records: u64,
    /// First packet.
    pub first: Moment,
    /// Last packet.
    pub last: Moment,
}

/// Possible contents of the protected records of one end, by their lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Protection {
    /// One is long enough for a Finished behind the ServerHello; before TLS 1.3 one came behind ChangeCipherSpec.
    pub finished: bool,
    /// TLS 1.3, behind the client's Finished and before such a record of the other end: one is as long as an alert.
    pub alert_sized: bool,
    /// TLS 1.3, behind the client's Finished: one is not.
    pub data: bool,
}

/// Records whose contents are encrypted. In TLS 1.3 that includes most of the handshake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Protected {
    /// Number of records.
    pub records: u64,
    /// Bytes of their bodies, without record headers, as far as captured.
    pub bytes: u64,
}

/// Something in a TLS connection that is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A handshake message could not be read.
    #[error("a malformed message of the {from}: {part}")]
    Malformed {
        /// Its sender.
        from: Side,
        /// The part that is not well formed.
        part: Malformed,
    },
    /// A handshake message longer than any that are read.
    #[error("a handshake message of {length} bytes from the {from}, which is not read")]
    TooLong {
        /// Its sender.
        from: Side,
        /// Bytes of its body.
        length: usize,
    },
    /// The next bytes are no TLS record.
    #[error("bytes of the {from} that are no TLS record")]
    NotARecord {
        /// Their sender.
        from: Side,
    },
    /// Bytes are missing from the capture inside the handshake in plaintext.
    #[error("bytes of the {from} are missing from the capture")]
    Gap {
        /// Their sender.
        from: Side,
    },
    /// A message that has no place here.
    #[error("an unexpected handshake message of type {kind} from the {from}")]
    Unexpected {
        /// Its sender.
        from: Side,
        /// Its `HandshakeType`.
        kind: u8,
    },
}

/// Name of an alert (RFC 9846, section 6).
pub fn alert_name(description: u8) -> Option<&'static str> {
    Some(match description {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => return None,
    })
}
