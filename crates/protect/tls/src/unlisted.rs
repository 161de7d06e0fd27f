//! Servers that no deployment names: a user's own network function, an API server of Kubernetes, or a collector of telemetry, judged by roots that the
//! user gives.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::version::TLS13;

use crate::Error;
use crate::credentials::trusted_certificates;

/// The configuration for a client of such a server: TLS 1.3, every group of the provider with the hybrid one first, `h2` by
/// ALPN, the server judged by its chain to these roots and by the name asked for, no certificate of our own.
///
/// It accepts all that the server has, so it says nothing about quantum safety: it is for
/// measuring, not for protecting.
///
/// # Errors
/// Fails if the file cannot be read or has no certificate that can be a root.
pub fn unlisted_server(roots: &Path) -> Result<Arc<ClientConfig>, Error> {
    client(roots, b"h2")
}

/// The configuration for a client of an API server of Kubernetes: TLS 1.3, X25519MLKEM768 first and the provider's other groups behind it, `http/1.1`
/// by ALPN, the server judged by its chain to these roots and by the name asked for, no certificate of our own.
///
/// # Errors
/// Fails if the file cannot be read or has no certificate that can be a root.
pub fn api_server(roots: &Path) -> Result<Arc<ClientConfig>, Error> {
    client(roots, b"http/1.1")
}

/// The configuration for a client of an OpenTelemetry collector over HTTPS: that of [`api_server`].
///
/// # Errors
/// Fails if the file cannot be read or has no certificate that can be a root.
pub fn collector(roots: &Path) -> Result<Arc<ClientConfig>, Error> {
    client(roots, b"http/1.1")
}

fn client(roots: &Path, protocol: &[u8]) -> Result<Arc<ClientConfig>, Error> {
    let mut store = RootCertStore::empty();
    for certificate in trusted_certificates(roots)? {
        store.add(certificate).map_err(|error| Error::Credentials {
            place: roots.display().to_string(),
            cause: format!("a certificate that cannot be a root: {error}"),
            hint: "give the certificate of the CA that issued the server's, PEM".into(),
        })?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(Arc::new(config))
}
