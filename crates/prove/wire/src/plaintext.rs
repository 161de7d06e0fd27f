//! Protocols over TCP that are named, recognised by how they begin, and followed to where they go
//! over to TLS (STARTTLS and its kin).

mod begins;
mod session;

use crate::Moment;

pub(crate) use begins::recognise;
pub(crate) use session::Session;

bartizan_registry::named! {
    /// A protocol that sends readable bytes, at least until it goes over to TLS.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Plaintext, name {
        /// Diameter (RFC 6733).
        Diameter = "Diameter",
        /// SIP (RFC 3261).
        Sip = "SIP",
        /// FTP (RFC 959).
        Ftp = "FTP",
        /// Telnet (RFC 854).
        Telnet = "Telnet",
        /// SMTP (RFC 5321).
        Smtp = "SMTP",
        /// IMAP (RFC 9051).
        Imap = "IMAP",
        /// POP3 (RFC 1939).
        Pop3 = "POP3",
        /// LDAP (RFC 4511).
        Ldap = "LDAP",
        /// MySQL.
        MySql = "MySQL",
        /// PostgreSQL.
        PostgreSql = "PostgreSQL",
        /// Remote Desktop Protocol.
        Rdp = "RDP",
        /// XMPP (RFC 6120).
        Xmpp = "XMPP",
        /// DNS (RFC 7766).
        Dns = "DNS",
        /// Redis.
        Redis = "Redis",
        /// MongoDB.
        MongoDb = "MongoDB",
        /// BGP (RFC 4271).
        Bgp = "BGP",
    }
}

impl Plaintext {
    /// Returns true if it may switch to TLS, and is followed there.
    #[must_use]
    pub fn goes_over_to_tls(self) -> bool {
        match self {
            Self::Ftp
            | Self::Smtp
            | Self::Imap
            | Self::Pop3
            | Self::Ldap
            | Self::MySql
            | Self::PostgreSql
            | Self::Rdp
            | Self::Xmpp => true,
            Self::Diameter | Self::Sip | Self::Telnet | Self::Dns | Self::Redis | Self::MongoDb | Self::Bgp => false,
        }
    }

    /// Returns true if its first bytes are text in lines.
    fn is_text(self) -> bool {
        matches!(self, Self::Ftp | Self::Smtp | Self::Imap | Self::Pop3 | Self::Xmpp)
    }
}

/// Protection that a protocol has of its own, without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// A security layer of SASL (RFC 4422, section 3.7) or GSSAPI: each message behind its length,
    /// in whatever the mechanism agreed on.
    SecurityLayer,
    /// Standard RDP Security: symmetric keys made from a secret that RSA transports ([MS-RDPBCGR],
    /// section 5.3).
    Rsa,
    /// The same, whose choice of a cipher, or of none, is not in the capture.
    NotShown,
}

bartizan_registry::made! {
    /// The plaintext part of a conversation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Spoken, pub(crate) new(protocol: Plaintext) {
        /// The protocol.
        pub protocol: Plaintext = protocol,
        /// The client's request to switch to TLS.
        pub asked: Option<Moment> = None,
        /// The client's credentials.
        pub credentials: Option<Moment> = None,
        /// The first packet with more than TLS needs to begin: a mail, a query, a file's name.
        pub content: Option<Moment> = None,
        /// Protection of its own, with the first packet that shows it.
        pub own: Option<(Own, Moment)> = None,
        /// Bytes of both ends.
        pub bytes: u64 = 0,
        /// The first bytes of the client that are missing from the capture: they may have held a ClientHello.
        pub gap: Option<Moment> = None,
    }
}

#[cfg(test)]
mod tests;
