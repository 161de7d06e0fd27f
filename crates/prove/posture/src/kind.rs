//! Kinds of connections.

use bartizan_wire::datagrams::{DatagramProtocol, Named};
use bartizan_wire::plaintext::Plaintext;
use bartizan_wire::proxy::ProxyProtocol;
use bartizan_wire::tls::{Tls, Version};
use bartizan_wire::{Connection, Content, Ending};

use crate::Verdict;

/// Defines the enum and a list with one of each variant, those with a field with the sample given.
macro_rules! kinds {
    ($(#[$of_enum:meta])* pub enum Kind {
        $($(#[$of_variant:meta])* $variant:ident $(($field:ty = $sample:expr))?),+ $(,)?
    }) => {
        $(#[$of_enum])*
        pub enum Kind {
            $($(#[$of_variant])* $variant $(($field))?),+
        }

        const ONE_OF_EACH: &[Kind] = &[$(Kind::$variant $(($sample))?),+];
    };
}

kinds! {
    /// Kind of a connection, as far as packets show.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Kind {
        /// TLS 1.3.
        Tls13,
        /// TLS 1.2 or older.
        TlsLegacy(Version = Version::TLS12),
        /// TLS, ended before a version was agreed on.
        TlsNotAgreed,
        /// TLS whose handshake was before the capture, or is missing from it.
        TlsNotSeen,
        /// HTTP/2 in plaintext.
        ClearHttp2,
        /// HTTP/1 in plaintext.
        ClearHttp1,
        /// SSH.
        Ssh,
        /// SSH, ended before both ends had agreed.
        SshNotAgreed,
        /// SSH whose key exchange is missing from the capture.
        SshNotSeen,
        /// A protocol over TCP that is known by name, in plaintext.
        Plaintext(Plaintext = Plaintext::Diameter),
        /// The same with protection of its own, without TLS: a security layer of SASL or GSSAPI, or
        /// Standard RDP Security.
        Protected(Plaintext = Plaintext::Ldap),
        /// A negotiation with a proxy, behind which nothing is, or nothing is read.
        Proxy(ProxyProtocol = ProxyProtocol::Socks5),
        /// IKE and ESP in TCP, which are conversations of their own.
        IkeInTcp,
        /// A protocol that is not read.
        Unknown,
        /// No data.
        Silent,
        /// IKEv2.
        Ike,
        /// IKEv2, ended before the responder agreed.
        IkeNotAgreed,
        /// IKEv2 that was there before the capture.
        IkeNotSeen,
        /// IKEv1.
        IkeV1,
        /// ESP.
        Esp,
        /// ESP with NULL encryption.
        EspUnencrypted,
        /// SCTP in plaintext, at least in part.
        ClearSctp,
        /// DTLS in SCTP user messages.
        DtlsOverSctp,
        /// SCTP whose chunks are encrypted by DTLS chunks.
        DtlsChunks,
        /// SSH in SCTP user messages.
        SshOverSctp,
        /// SCTP without user data.
        SctpSilent,
        /// GTP-U in plaintext.
        GtpU,
        /// PFCP in plaintext.
        Pfcp,
        /// GTPv2-C in plaintext.
        GtpC,
        /// QUIC.
        Quic,
        /// QUIC, ended before the server answered.
        QuicNotAgreed,
        /// QUIC whose handshake was before the capture, is missing from it, or is not read.
        QuicNotSeen,
        /// A protocol over UDP that is known by name.
        Named(Named = Named::WireGuard),
        /// DTLS over UDP.
        Dtls(Version = Version::DTLS12),
        /// DTLS over UDP, ended before a version was agreed on.
        DtlsNotAgreed,
        /// DTLS over UDP whose handshake was before the capture, or is missing from it.
        DtlsNotSeen,
        /// EAP with a method that has TLS in it.
        EapTls,
        /// The same, ended before a version was agreed on.
        EapTlsNotAgreed,
        /// The same, whose handshake is missing from the capture.
        EapTlsNotSeen,
        /// EAP with other methods, or keys of EAPOL.
        Eap,
        /// EAPOL without a method.
        EapSilent,
        /// MACsec Key Agreement.
        Mka,
        /// MACsec that encrypts.
        MacSec,
        /// Packets without a connection that are not read.
        NotRead(DatagramProtocol = DatagramProtocol::Udp),
    }
}

impl Kind {
    /// All that a conversation can be: each protocol that is known by name, and what no reader recognises as UDP.
    pub fn all() -> impl Iterator<Item = Self> {
        ONE_OF_EACH.iter().flat_map(|kind| match kind {
            Self::Plaintext(_) => Plaintext::ALL.iter().copied().map(Self::Plaintext).collect(),
            Self::Protected(_) => {
                let layered = Plaintext::ALL.iter().filter(|named| named.goes_over_to_tls());
                layered.copied().map(Self::Protected).collect()
            }
            Self::Proxy(_) => ProxyProtocol::ALL.iter().copied().map(Self::Proxy).collect(),
            Self::Named(_) => Named::ALL.iter().copied().map(Self::Named).collect(),
            one => vec![*one],
        })
    }

    /// The verdicts on its confidentiality that packets, ledgers and keys can lead to, the best first.
    #[must_use]
    pub fn verdicts(self) -> &'static [Verdict] {
        use Verdict::{NotObservable, NotSeen, QuantumSafe, ReadableNow, Vulnerable};
        match self {
            // A NULL cipher is readable now, and so is what came before STARTTLS.
            Self::Tls13 | Self::Ssh | Self::SshOverSctp | Self::Ike | Self::Esp => {
                &[QuantumSafe, NotObservable, NotSeen, Vulnerable, ReadableNow]
            }
            Self::TlsLegacy(_) => &[NotObservable, Vulnerable, ReadableNow],
            // A ledger may know what is not in the capture.
            Self::TlsNotAgreed | Self::TlsNotSeen | Self::IkeNotAgreed | Self::IkeNotSeen => {
                &[QuantumSafe, NotObservable, NotSeen, Vulnerable, ReadableNow]
            }
            Self::IkeV1 => &[NotObservable, NotSeen, Vulnerable],
            Self::DtlsOverSctp | Self::Dtls(_) | Self::EapTls => {
                &[QuantumSafe, NotObservable, NotSeen, Vulnerable, ReadableNow]
            }
            Self::Quic => &[QuantumSafe, NotObservable, NotSeen, Vulnerable],
            Self::QuicNotSeen | Self::SshNotSeen | Self::EapTlsNotSeen => &[NotObservable, NotSeen],
            Self::EapTlsNotAgreed | Self::EapSilent => &[NotSeen],
            Self::Mka => &[NotObservable, Vulnerable],
            Self::MacSec => &[NotObservable, Vulnerable, ReadableNow],
            Self::DtlsNotSeen | Self::DtlsNotAgreed => &[NotObservable, NotSeen, ReadableNow],
            Self::SshNotAgreed | Self::QuicNotAgreed | Self::IkeInTcp | Self::Silent | Self::SctpSilent => &[NotSeen],
            Self::ClearHttp2 | Self::ClearHttp1 | Self::EspUnencrypted | Self::ClearSctp | Self::Pfcp | Self::GtpC => {
                &[ReadableNow]
            }
            Self::Plaintext(_) => &[ReadableNow],
            Self::Protected(Plaintext::Rdp) => &[NotObservable, Vulnerable],
            Self::Protected(_) => &[NotObservable],
            // PDCP may encrypt what is in tunnels; what is behind a negotiation may be encrypted as well.
            Self::GtpU | Self::Proxy(_) => &[NotObservable, ReadableNow],
            Self::Named(named) if named.is_plaintext() => &[ReadableNow],
            Self::Named(_) | Self::Unknown | Self::DtlsChunks | Self::Eap | Self::NotRead(_) => &[NotObservable],
        }
    }

    /// The kind of a connection; `refused` says that an end refused the other behind a ServerHello.
    pub(crate) fn of(connection: &Connection, refused: bool) -> Self {
        match &connection.content {
            Content::Nothing => Self::Silent,
            Content::Http2(_) => Self::ClearHttp2,
            Content::Http1(_) => Self::ClearHttp1,
            Content::Plaintext(spoken) if spoken.own.is_some() => Self::Protected(spoken.protocol),
            Content::Plaintext(spoken) => Self::Plaintext(spoken.protocol),
            Content::Proxy(hop) => Self::Proxy(hop.protocol),
            Content::IkeInTcp(None) => Self::IkeInTcp,
            Content::IkeInTcp(Some(_)) | Content::Unknown(_) => Self::Unknown,
            Content::Tls(tls) => Self::of_tls(tls, connection, refused),
            Content::Ssh(ssh) => crate::ssh::kind(&connection.into(), ssh),
        }
    }

    fn of_tls(tls: &Tls, connection: &Connection, refused: bool) -> Self {
        match tls.server_hello.as_ref().map(|hello| hello.value.version) {
            Some(_) if refused => Self::TlsNotAgreed,
            Some(Version::TLS13) => Self::Tls13,
            Some(older) => Self::TlsLegacy(older),
            None if was_refused(tls, connection) => Self::TlsNotAgreed,
            None => Self::TlsNotSeen,
        }
    }

    /// Returns true if it carried data worth reading. A refused, unanswered or silent connection
    /// endangers nothing.
    #[must_use]
    pub fn carries_data(self) -> bool {
        !matches!(
            self,
            Self::Silent
                | Self::IkeInTcp
                | Self::TlsNotAgreed
                | Self::SshNotAgreed
                | Self::IkeNotAgreed
                | Self::SctpSilent
                | Self::QuicNotAgreed
                | Self::DtlsNotAgreed
                | Self::EapTlsNotAgreed
        )
    }

    /// As a table writes it.
    pub fn name(self) -> String {
        match self {
            Self::Tls13 => "TLS 1.3".into(),
            Self::TlsLegacy(version) => version.to_string(),
            Self::TlsNotAgreed => "TLS, not established".into(),
            Self::TlsNotSeen => "TLS, handshake not seen".into(),
            Self::ClearHttp2 => "HTTP/2 in plaintext".into(),
            Self::ClearHttp1 => "HTTP/1 in plaintext".into(),
            Self::Ssh => "SSH".into(),
            Self::SshNotAgreed => "SSH, not established".into(),
            Self::SshNotSeen => "SSH, key exchange not seen".into(),
            Self::Plaintext(named) => format!("{} in plaintext", named.name()),
            Self::Protected(named) => format!("{} without TLS", named.name()),
            Self::Proxy(protocol) => protocol.name().into(),
            Self::Unknown => "unknown protocol".into(),
            Self::IkeInTcp => "IKE and ESP in TCP".into(),
            Self::Silent => "no data".into(),
            Self::Ike => "IKEv2".into(),
            Self::IkeNotAgreed => "IKEv2, not established".into(),
            Self::IkeNotSeen => "IKEv2, set-up not seen".into(),
            Self::IkeV1 => "IKEv1".into(),
            Self::Esp => "ESP".into(),
            Self::EspUnencrypted => "ESP without encryption".into(),
            Self::ClearSctp => "SCTP in plaintext".into(),
            Self::DtlsOverSctp => "DTLS over SCTP".into(),
            Self::DtlsChunks => "SCTP in DTLS chunks".into(),
            Self::SshOverSctp => "SSH over SCTP".into(),
            Self::SctpSilent => "SCTP, no data".into(),
            Self::GtpU => "GTP-U in plaintext".into(),
            Self::Pfcp => "PFCP in plaintext".into(),
            Self::GtpC => "GTPv2-C in plaintext".into(),
            Self::Quic => "QUIC".into(),
            Self::QuicNotAgreed => "QUIC, not established".into(),
            Self::QuicNotSeen => "QUIC, handshake not seen".into(),
            Self::Named(named) if named.is_plaintext() => format!("{} in plaintext", named.name()),
            Self::Named(named) => named.name().into(),
            Self::Dtls(version) => version.to_string(),
            Self::DtlsNotAgreed => "DTLS, not established".into(),
            Self::DtlsNotSeen => "DTLS, handshake not seen".into(),
            Self::EapTls => "EAP-TLS".into(),
            Self::EapTlsNotAgreed => "EAP-TLS, not established".into(),
            Self::EapTlsNotSeen => "EAP-TLS, handshake not seen".into(),
            Self::Eap => "EAPOL".into(),
            Self::EapSilent => "EAPOL, no method".into(),
            Self::Mka => "MKA".into(),
            Self::MacSec => "MACsec".into(),
            Self::NotRead(DatagramProtocol::Udp) => "UDP, not recognised".into(),
            Self::NotRead(protocol) => format!("{}, not read", protocol.name()),
        }
    }
}

/// Returns true if packets show that nothing was agreed on: a ClientHello that was answered by an
/// alert, or by the end of the connection. Encrypted records, and server bytes other than alerts,
/// belong to a handshake that the capture lacks. An answer may also follow after the end of the
/// capture.
fn was_refused(tls: &Tls, connection: &Connection) -> bool {
    let protected = tls.from_client.records + tls.from_server.records;
    let refused = tls.alerts.iter().any(|alert| alert.value.is_fatal());
    let ended = matches!(connection.ending, Ending::Closed | Ending::Reset);
    tls.client_hello.is_some() && protected == 0 && (refused || ended && connection.from_server.stream.sent() == 0)
}
