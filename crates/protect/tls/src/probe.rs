//! Probe of a listener: refusal of a client without a certificate, or with one of another
//! authority.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bartizan_deployment::Policy;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, Stream};

use crate::terms::{Classical, Terms};
use crate::{Credentials, Error};

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
    let resolver = Presented(own.map(|own| Arc::clone(own.certified())).collect());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&terms.provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer(terms)))
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

/// Takes any server: the question is what the server takes.
#[derive(Debug)]
struct AnyServer(Terms);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
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
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.provider.signature_verification_algorithms.supported_schemes()
    }
}
