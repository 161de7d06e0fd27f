//! The cause of a refusal: from what webpki, rustls and the system say to a reason, a sentence and a hint.

use std::io;

use bartizan_registry::{NamedGroup, SignatureScheme};
use rustls::{AlertDescription, CertificateError, Error, OtherError, PeerIncompatible, PeerMisbehaved};

use crate::stack::Stack;
use crate::terms::{Terms, names, quantum_safe_group};
use crate::{Reason, scheme};

bartizan_registry::made! {
    /// Why a handshake is refused, before it is known which handshake it was.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Cause, pub(crate) new(reason: Reason, detail: impl Into<String>, hint: impl Into<String>) {
        pub(crate) reason: Reason,
        pub(crate) detail: String = detail.into(),
        pub(crate) hint: String = hint.into(),
    }
}

/// Groups and schemes that the peer offered, as far as they were received.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    pub(crate) groups: Option<Vec<NamedGroup>>,
    pub(crate) schemes: Option<Vec<SignatureScheme>>,
}

impl Cause {
    /// The cause of an error that the socket or rustls reported.
    pub(crate) fn of_io(error: &io::Error, offered: &Offered, terms: &Terms, signs_by: &[SignatureScheme]) -> Self {
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            return Self::of_tls(error, offered, terms, signs_by);
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::new(
                Reason::Closed,
                format!("the peer closed the connection: {error}"),
                "its own log says why",
            ),
            io::ErrorKind::TimedOut => Self::new(
                Reason::TimedOut,
                format!("no answer in time: {error}"),
                "is the peer's sidecar running, and does a firewall let its port through?",
            ),
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::NotConnected => Self::new(
                Reason::Unreachable,
                format!("the peer cannot be reached: {error}"),
                "is its sidecar running, and is its inbound listener the one in the deployment file?",
            ),
            io::ErrorKind::InvalidData => Self::new(
                Reason::Malformed,
                format!("the peer sent what is not TLS: {error}"),
                "is a sidecar at the other end?",
            ),
            _ => Self::new(
                Reason::Ours,
                error.to_string(),
                "the operating system refused; see its log",
            ),
        }
    }

    fn of_tls(error: &Error, offered: &Offered, terms: &Terms, signs_by: &[SignatureScheme]) -> Self {
        match error {
            Error::NoCertificatesPresented => Self::new(
                Reason::NoCertificate,
                "the peer sent no certificate",
                "connect through a sidecar, or give the client a certificate of this deployment's CA",
            ),
            Error::AlertReceived(alert) => Self::of_alert(*alert, terms, signs_by),
            Error::PeerIncompatible(incompatible) => Self::of_incompatible(incompatible, offered, terms, signs_by),
            Error::PeerMisbehaved(misbehaved) => Self::of_misbehaved(misbehaved, terms),
            Error::InvalidCertificate(error) => Self::of_certificate(error),
            Error::DecryptError => Self::new(
                Reason::BadSignature,
                "a record or the Finished message does not verify",
                "bytes were changed on the way: look at what stands between the two sidecars",
            ),
            Error::NoApplicationProtocol => Self::new(
                Reason::Policy,
                "the peer offers application protocols and HTTP/2 (ALPN h2) is not among them",
                "SBI is HTTP/2 (TS 29.500, clause 5.2)",
            ),
            Error::InvalidMessage(_)
            | Error::InappropriateMessage { .. }
            | Error::InappropriateHandshakeMessage { .. }
            | Error::PeerSentOversizedRecord => Self::new(
                Reason::Malformed,
                format!("the peer broke the protocol: {error}"),
                "is a TLS sidecar at the other end, and not a plain network function?",
            ),
            other => Self::new(
                Reason::Ours,
                other.to_string(),
                "this is a fault of bartizan or of its machine: please report it",
            ),
        }
    }

    /// No key exchange group that the policy accepts.
    fn no_common_group(offered: &Offered, terms: &Terms) -> Self {
        let groups = offered.groups.as_deref().unwrap_or_default();
        let option = terms.groups.first().map(|group| offered.option_for_group(*group));
        let option = option.unwrap_or_default();
        let hint = if groups.iter().any(|&code| quantum_safe_group(code)) {
            format!(
                "have the peer offer one of these{option}; its own post-quantum groups need an interface whose policy accepts them"
            )
        } else {
            format!(
                "have the peer offer one of these{option}; a peer without ML-KEM needs the profile transition, with a reason and an end"
            )
        };
        Self::new(
            Reason::NoCommonGroup,
            format!(
                "the peer offers {}; this node accepts {}",
                heard(offered.groups.as_deref()),
                names(&terms.groups)
            ),
            hint,
        )
    }

    /// No certificate of this node that the policy accepts and whose signatures the peer verifies.
    pub(crate) fn no_common_signature(offered: &Offered, terms: &Terms, signs_by: &[SignatureScheme]) -> Self {
        let schemes = offered.schemes.as_deref().unwrap_or_default();
        let option = signs_by.first().map(|code| offered.option_for_signature(*code));
        let option = option.unwrap_or_default();
        let lacking = terms
            .signatures
            .iter()
            .find(|code| schemes.contains(code) && !signs_by.contains(code));
        let hint = match lacking {
            Some(&code) => format!(
                "the policy accepts {code}: add a certificate with such a key to `certificates` of this node (bartizan ca init \
                 --algorithm {}, then bartizan ca issue), or have the peer verify one of these{option}",
                scheme::command_line_name(code)
            ),
            None => format!(
                "have the peer verify one of these{option}; a peer that cannot needs the profile transition, with a reason and an end, \
                 and this node a second, classical certificate in `certificates`"
            ),
        };
        let ours = match signs_by {
            [] => format!(
                "this node has no certificate that the policy {} accepts now",
                terms.profile
            ),
            some => format!("this node signs by {}", names(some)),
        };
        let accepted = heard(offered.schemes.as_deref());
        Self::new(
            Reason::NoCommonSignature,
            format!("the peer accepts signatures by {accepted}; {ours}"),
            hint,
        )
    }

    fn of_incompatible(
        error: &PeerIncompatible,
        offered: &Offered,
        terms: &Terms,
        signs_by: &[SignatureScheme],
    ) -> Self {
        match error {
            PeerIncompatible::NoKxGroupsInCommon
            | PeerIncompatible::NamedGroupsExtensionRequired
            | PeerIncompatible::KeyShareExtensionRequired => Self::no_common_group(offered, terms),
            PeerIncompatible::NoSignatureSchemesInCommon
            | PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon
            | PeerIncompatible::SignatureAlgorithmsExtensionRequired => {
                Self::no_common_signature(offered, terms, signs_by)
            }
            PeerIncompatible::NoCipherSuitesInCommon => Self::new(
                Reason::NoCommonCipher,
                "the peer offers no cipher suite of the policy",
                "the profile cnsa2 accepts AES-256-GCM alone",
            ),
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled => Self::new(
                Reason::NoCommonVersion,
                "the peer does not speak TLS 1.3",
                "ML-KEM and ML-DSA are defined for TLS 1.3 alone: put a sidecar next to the peer",
            ),
            other => Self::new(
                Reason::Malformed,
                format!("the peer is incompatible: {other:?}"),
                "is a TLS 1.3 sidecar at the other end?",
            ),
        }
    }

    fn of_misbehaved(error: &PeerMisbehaved, terms: &Terms) -> Self {
        match error {
            PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedNamedGroup
            | PeerMisbehaved::IllegalHelloRetryRequestWithOfferedGroup
            | PeerMisbehaved::WrongGroupForKeyShare => Self::new(
                Reason::NoCommonGroup,
                format!("the peer insists on a group other than {}", names(&terms.groups)),
                "compare `bartizan check` on both nodes",
            ),
            PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme => Self::new(
                Reason::NoCommonSignature,
                format!("the peer signs in another scheme than {}", names(&terms.signatures)),
                "compare `bartizan check` on both nodes",
            ),
            other => Self::new(
                Reason::Malformed,
                format!("the peer broke the protocol: {other:?}"),
                "report it to the peer's vendor with a capture",
            ),
        }
    }

    /// The cause of a certificate error that rustls found before the checks of this crate.
    fn of_certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::BadSignature => Self::new(
                Reason::BadSignature,
                "CertificateVerify does not verify: the peer does not hold the key of its certificate",
                "someone may be in the middle; compare certificates at both ends",
            ),
            other => Self::new(
                Reason::BadCertificate,
                other.to_string(),
                "reissue the peer's certificate",
            ),
        }
    }

    fn of_alert(alert: AlertDescription, terms: &Terms, signs_by: &[SignatureScheme]) -> Self {
        let (name, hint) = described(alert);
        let hint = match alert {
            AlertDescription::HandshakeFailure => format!(
                "nothing in common: this node accepts the groups {} and signatures by {}, and signs by {}",
                names(&terms.groups),
                names(&terms.signatures),
                names(signs_by)
            ),
            _ => hint.to_owned(),
        };
        Self::new(
            Reason::PeerRefused,
            format!("the peer refused with the alert {name}"),
            hint,
        )
    }

    /// The cause of a chain that webpki refused.
    pub(crate) fn of_chain(error: &webpki::Error, terms: &Terms) -> Self {
        use webpki::Error as E;
        match error {
            E::CertExpired { not_after, .. } => Self::new(
                Reason::Expired,
                format!("a certificate of the peer ended {}", moment(not_after.as_secs())),
                "renew it: `bartizan ca renew NAME`",
            ),
            E::CertNotValidYet { not_before, .. } => Self::new(
                Reason::NotYetValid,
                format!("a certificate of the peer begins {}", moment(not_before.as_secs())),
                "compare the clocks of both nodes",
            ),
            E::CertRevoked => Self::new(
                Reason::Revoked,
                "a certificate of the peer is on the revocation list",
                "if the peer is to be trusted again, issue it a new key and certificate: `bartizan ca issue --dns NAME`",
            ),
            E::UnknownRevocationStatus => Self::new(
                Reason::RevocationUnknown,
                "no revocation list covers a certificate of the peer, and the policy requires one",
                "give `trust: { crl: FILE }` the lists of the root and of every intermediate: `bartizan ca crl`",
            ),
            E::CrlExpired { next_update, .. } => Self::new(
                Reason::RevocationUnknown,
                format!(
                    "the revocation list was due to be replaced {}",
                    moment(next_update.as_secs())
                ),
                "publish a new one: `bartizan ca crl`",
            ),
            E::InvalidCrlSignatureForPublicKey
            | E::IssuerNotCrlSigner
            | E::UnsupportedCrlSignatureAlgorithmContext(_)
            | E::UnsupportedCrlSignatureAlgorithmForPublicKeyContext(_)
            | E::UnsupportedCrlIssuingDistributionPoint
            | E::UnsupportedDeltaCrl
            | E::UnsupportedIndirectCrl => Self::new(
                Reason::RevocationUnknown,
                format!("the revocation list of the peer's issuer cannot be trusted: {error}"),
                "it must be signed by that issuer in a scheme of chain-signatures: `bartizan ca crl`",
            ),
            E::UnsupportedSignatureAlgorithmContext(_) => Self::new(
                Reason::Policy,
                format!(
                    "a certificate of the peer is signed in another scheme than {} (policy {})",
                    names(&terms.chain_signatures),
                    terms.profile
                ),
                "reissue the peer's chain, or name the scheme in chain-signatures",
            ),
            // A foreign CA that took the name of a trusted one ends in the last two.
            E::UnknownIssuer
            | E::InvalidSignatureForPublicKey
            | E::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => Self::new(
                Reason::UnknownCa,
                "no root trusted here has signed the peer's chain",
                "compare the peer's certificate with `trust: { roots: FILE }`; an intermediate must be sent along",
            ),
            other => Self::new(
                Reason::BadCertificate,
                format!("the peer's chain cannot be accepted: {other}"),
                "reissue it: `bartizan ca issue --dns NAME`",
            ),
        }
    }

    /// The error that makes rustls send the alert that fits the reason.
    pub(crate) fn to_rustls(&self) -> Error {
        let certificate = match self.reason {
            Reason::Expired => CertificateError::Expired,
            Reason::NotYetValid => CertificateError::NotValidYet,
            Reason::Revoked => CertificateError::Revoked,
            Reason::UnknownCa => CertificateError::UnknownIssuer,
            Reason::RevocationUnknown => CertificateError::UnknownRevocationStatus,
            Reason::BadSignature => CertificateError::BadSignature,
            Reason::BadCertificate => CertificateError::BadEncoding,
            Reason::WrongName | Reason::Policy => CertificateError::ApplicationVerificationFailure,
            _ => CertificateError::Other(OtherError(std::sync::Arc::new(io::Error::other(self.detail.clone())))),
        };
        Error::InvalidCertificate(certificate)
    }
}

impl Offered {
    /// The stack of a client. A server's CertificateRequest names no groups and identifies none.
    fn stack(&self) -> Option<Stack> {
        let client = self.groups.as_ref().and(self.schemes.as_deref());
        client.and_then(Stack::of)
    }

    fn option_for_group(&self, code: NamedGroup) -> String {
        Stack::options(self.stack(), |stack| stack.group(code))
    }

    fn option_for_signature(&self, code: SignatureScheme) -> String {
        Stack::options(self.stack(), |stack| stack.signature(code))
    }
}

fn heard<T: std::fmt::Display>(codes: Option<&[T]>) -> String {
    codes.map_or_else(|| "none this node knows of".to_owned(), names)
}

/// A moment as people read it: `2027-06-30T00:00:00Z`.
fn moment(seconds: u64) -> String {
    use time::format_description::well_known::Rfc3339;
    let moment = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| time::OffsetDateTime::from_unix_timestamp(seconds).ok());
    moment
        .and_then(|moment| moment.format(&Rfc3339).ok())
        .unwrap_or_else(|| format!("{seconds} s after 1970"))
}

/// An alert by the name of RFC 9846, section 6.2, and what it asks of us.
fn described(alert: AlertDescription) -> (String, &'static str) {
    const OUR_CERTIFICATE: &str = "our certificate does not suit the peer: see it with `bartizan ca show`, reissue it with `bartizan ca issue --dns NAME`";
    let (name, hint) = match alert {
        AlertDescription::HandshakeFailure => ("handshake_failure", "nothing in common"),
        AlertDescription::ProtocolVersion => ("protocol_version", "the peer does not accept TLS 1.3"),
        AlertDescription::CertificateRequired => (
            "certificate_required",
            "we sent no certificate: the peer asked for a signature scheme ours does not have",
        ),
        AlertDescription::BadCertificate => ("bad_certificate", OUR_CERTIFICATE),
        AlertDescription::UnsupportedCertificate => ("unsupported_certificate", OUR_CERTIFICATE),
        AlertDescription::CertificateRevoked => (
            "certificate_revoked",
            "our certificate is on the peer's revocation list: issue a new one with `bartizan ca issue --dns NAME`",
        ),
        AlertDescription::CertificateExpired => (
            "certificate_expired",
            "renew our certificate with `bartizan ca renew NAME`, and compare the clocks of both nodes",
        ),
        AlertDescription::CertificateUnknown => ("certificate_unknown", OUR_CERTIFICATE),
        AlertDescription::UnknownCA => (
            "unknown_ca",
            "the peer does not trust the root of our certificate, or has no current revocation list of it",
        ),
        AlertDescription::AccessDenied => (
            "access_denied",
            "our certificate carries no name under which the peer's deployment file knows us",
        ),
        AlertDescription::DecryptError => ("decrypt_error", "the peer could not verify a signature of ours"),
        AlertDescription::NoApplicationProtocol => ("no_application_protocol", "the peer does not speak HTTP/2"),
        AlertDescription::InsufficientSecurity => (
            "insufficient_security",
            "the peer's policy asks for stronger algorithms",
        ),
        AlertDescription::InternalError => ("internal_error", "the peer's own log says what failed there"),
        other => {
            return (
                format!("{other:?} ({})", u8::from(other)),
                "the peer's own log says why",
            );
        }
    };
    (name.to_owned(), hint)
}
