//! Probe of a listener: refusal of a client without a certificate, or with one of another
//! authority; and what any server negotiates and shows.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bartizan_deployment::Policy;
use bartizan_ledger::Certificate;
use bartizan_registry as registry;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, ResolvesClientCert, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, KeyLog, NamedGroup, SignatureScheme, Stream};

use crate::terms::{Classical, Terms};
use crate::{Credentials, Error, certificate, group, scheme};

/// Connection preface of RFC 9113, section 3.4, and an empty SETTINGS frame: an HTTP/2 server must answer it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The listener's answer to such a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It answered inside the protected connection.
    Admitted,
    /// It refused, with this alert.
    Refused(String),
    /// It closed without an alert.
    Closed,
}

/// Connects to a TLS 1.3 listener with the groups of `policy`, and with a certificate of `credentials` or none.
///
/// A TLS 1.3 client has finished before the server has judged its certificate, so the answer is what comes back after a
/// greeting. The server's own certificate is taken as it is: this asks whether *it* admits unauthenticated clients, and must never be used
/// to protect anything.
///
/// # Errors
/// Fails if the stream fails or times out, or the policy cannot be offered.
pub fn probe(
    stream: &mut (impl Read + Write),
    name: ServerName<'static>,
    policy: &Policy,
    credentials: Option<&Credentials>,
) -> Result<Answer, Error> {
    let terms = Terms::of(policy, Classical::Excluded);
    let terms = terms.ok_or(Error::Ours(rustls::Error::General(
        "the policy leaves nothing to offer".into(),
    )))?;
    let own = credentials.into_iter().flat_map(Credentials::own);
    let resolver = Presented(own.map(|own| Arc::clone(&own.certified)).collect());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&terms.provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer {
            algorithms: terms.provider.signature_verification_algorithms,
            shown: Arc::default(),
        }))
        .with_client_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = Resumption::disabled();
    let mut connection = ClientConnection::new(Arc::new(config), name)?;
    let mut tls = Stream::new(&mut connection, stream);
    let answer = tls
        .write_all(PREFACE)
        .and_then(|()| tls.flush())
        .and_then(|()| tls.read(&mut [0]));
    match answer {
        Ok(0) => Ok(Answer::Closed),
        Ok(_) => Ok(Answer::Admitted),
        Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::AlertReceived(alert)) => Ok(Answer::Refused(format!("{alert:?}"))),
            Some(other) => Err(Error::Ours(other.clone())),
            None if matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
            ) =>
            {
                Ok(Answer::Closed)
            }
            None => Err(Error::Ours(rustls::Error::General(error.to_string()))),
        },
    }
}

/// Shows the first certificate that the server can verify, or else the first of all: one that cannot
/// be verified is refused for its scheme, not for its authority.
#[derive(Debug)]
struct Presented(Vec<Arc<CertifiedKey>>);

impl ResolvesClientCert for Presented {
    fn resolve(&self, _roots: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let verifiable = |certified: &&Arc<CertifiedKey>| certified.key.choose_scheme(schemes).is_some();
        self.0.iter().find(verifiable).or(self.0.first()).cloned()
    }

    fn has_certs(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Values that a server negotiated and showed in one handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Key exchange group.
    pub group: Option<registry::NamedGroup>,
    /// The scheme of CertificateVerify, which was verified by the leaf's key.
    pub signature: Option<registry::SignatureScheme>,
    /// Its chain, leaf first; not verified, and of a long one the first alone.
    pub chain: Vec<Certificate>,
    /// Number of certificates that it sent.
    pub sent: usize,
    /// Tickets.
    pub tickets: u32,
    /// Largest amount of 0-RTT data that a ticket permits (`max_early_data_size`).
    pub early_data: u32,
}

/// A client that accepts any server, to ask what that negotiates.
#[derive(Debug)]
pub struct Asking {
    /// Configuration for one connection. It protects nothing.
    pub config: ClientConfig,
    shown: Arc<Mutex<Shown>>,
}

impl Asking {
    /// A client that offers these groups, as far as they are implemented, and these application
    /// protocols. Its secrets go to `key_log`.
    ///
    /// # Errors
    /// None of the groups is implemented.
    pub fn new(groups: &[registry::NamedGroup], protocols: &[&str], key_log: Arc<dyn KeyLog>) -> Result<Self, Error> {
        let provider = CryptoProvider {
            kx_groups: groups.iter().filter_map(|&code| group::implementation(code)).collect(),
            ..default_provider()
        };
        let shown = Arc::<Mutex<Shown>>::default();
        let verifier = AnyServer {
            algorithms: provider.signature_verification_algorithms,
            shown: Arc::clone(&shown),
        };
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config.resumption = Resumption::store(Arc::new(Tickets(Arc::clone(&shown))));
        config.key_log = key_log;
        Ok(Self { config, shown })
    }

    /// The values shown so far, also once the configuration is given away.
    pub fn watch(&self) -> impl Fn() -> Shown + use<> {
        let shown = Arc::clone(&self.shown);
        move || locked(&shown).clone()
    }

    /// Groups that can be offered.
    pub fn groups() -> impl Iterator<Item = registry::NamedGroup> {
        let known = registry::GROUPS.iter().map(|known| known.code);
        known.filter(|&code| group::implementation(code).is_some())
    }
}

fn locked(shown: &Mutex<Shown>) -> std::sync::MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts tickets and keeps none.
#[derive(Debug)]
struct Tickets(Arc<Mutex<Shown>>);

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _name: ServerName<'static>, group: NamedGroup) {
        locked(&self.0).group = Some(registry::NamedGroup(u16::from(group)));
    }

    fn kx_hint(&self, _name: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _name: ServerName<'static>, _session: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _name: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut shown = locked(&self.0);
        shown.tickets = shown.tickets.saturating_add(1);
        shown.early_data = shown.early_data.max(ticket.max_early_data_size());
    }

    fn take_tls13_ticket(&self, _name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}

/// Takes any server that has the key of its leaf: the question is what the server takes.
#[derive(Debug)]
struct AnyServer {
    algorithms: WebPkiSupportedAlgorithms,
    shown: Arc<Mutex<Shown>>,
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let chain = std::iter::once(end_entity).chain(intermediates);
        let chain: Vec<_> = chain.map(|one| CertificateDer::from(one.as_ref())).collect();
        let mut shown = locked(&self.shown);
        shown.sent = chain.len();
        shown.chain = certificate::chain(&chain);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not offered".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let valid = verify_tls13_signature(message, certificate, signed, &self.algorithms)?;
        locked(&self.shown).signature = Some(scheme::from_rustls(signed.scheme));
        Ok(valid)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
