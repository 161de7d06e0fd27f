//! The server of an authority's enrolment over TLS (EST, RFC 7030). The client of a certificate
//! proves to hold its key. The authority judges the certificate itself, by its records.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, PeerIncompatible, ServerConfig, SignatureScheme,
};
use webpki::EndEntityCert;

use crate::credentials::Credentials;
use crate::{Error, scheme};

/// A configuration that takes clients with a certificate and without one: TLS 1.3, quantum-safe groups alone, `http/1.1` by ALPN, no
/// resumption and no early data. Of a client's certificate it is proved that the client has the key, and **nothing else**: the chain is
/// not looked at.
///
/// # Errors
/// Fails if certificate and key, PEM, cannot be used.
pub fn enrolment_server(certificate: &[u8], key: &[u8], root: &[u8]) -> Result<Arc<ServerConfig>, Error> {
    let credentials = Credentials::from_pem(certificate, key, root, None)?;
    let certified: CertifiedKey = credentials.own()[0].certified.as_ref().clone();
    let mut provider = default_provider();
    provider.kx_groups = vec![kx_group::X25519MLKEM768, kx_group::SECP256R1MLKEM768];
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(Possession))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Asks for a certificate, and verifies that its holder has the key.
#[derive(Debug)]
struct Possession;

impl ClientCertVerifier for Possession {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let bad = || rustls::Error::InvalidCertificate(CertificateError::BadSignature);
        let verifier = scheme::verifier(scheme::from_rustls(dss.scheme)).ok_or_else(bad)?;
        EndEntityCert::try_from(cert)
            .and_then(|leaf| leaf.verify_signature(verifier, message, dss.signature()))
            .map(|()| HandshakeSignatureValid::assertion())
            .map_err(|_| bad())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        scheme::usable().map(scheme::to_rustls).collect()
    }
}
