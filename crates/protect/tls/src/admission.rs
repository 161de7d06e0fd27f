//! The server of a webhook that API servers of Kubernetes call: it proves who it is, and takes clients without a certificate.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bartizan_registry::SignatureScheme;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;

use crate::{Error, OwnCertificate, credentials};

/// A configuration and the certificate it shows.
#[derive(Debug, Clone)]
pub struct AdmissionServer {
    config: Arc<ServerConfig>,
    own: Arc<OwnCertificate>,
}

impl AdmissionServer {
    /// TLS 1.3 alone, `http/1.1` by ALPN, without resumption. X25519MLKEM768 and SECP256R1MLKEM768 are preferred, x25519 is taken from API
    /// servers that offer neither (built with Go before 1.24).
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what to do.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let own = credentials::server(certificate, key)?;
        let certified = own.certified.as_ref().clone();
        let mut provider = default_provider();
        provider.kx_groups = vec![kx_group::X25519MLKEM768, kx_group::SECP256R1MLKEM768, kx_group::X25519];
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self {
            config: Arc::new(config),
            own: Arc::new(own),
        })
    }

    /// For a connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The scheme that clients have to verify.
    pub fn scheme(&self) -> SignatureScheme {
        self.own.scheme()
    }

    /// When the leaf ends.
    pub fn not_after(&self) -> SystemTime {
        self.own.validity().1
    }

    /// Returns true if `other` shows the same certificates.
    #[must_use]
    pub fn shows_the_same_as(&self, other: &Self) -> bool {
        self.own.certified.cert == other.own.certified.cert
    }
}
