//! The server of a webhook that API servers of Kubernetes call: it proves who it is, and takes clients without a certificate.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_registry::SignatureScheme;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::CertificateDer;
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;

use crate::{Error, certificate, credentials};

/// A configuration and the certificate it shows.
#[derive(Debug, Clone)]
pub struct AdmissionServer {
    config: Arc<ServerConfig>,
    chain: Vec<CertificateDer<'static>>,
    scheme: SignatureScheme,
}

impl AdmissionServer {
    /// TLS 1.3 alone, `http/1.1` by ALPN, without resumption. X25519MLKEM768 and SECP256R1MLKEM768 are preferred, x25519 is taken from API
    /// servers that offer neither (built with Go before 1.24).
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what to do.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let (scheme, certified) = credentials::server(certificate, key)?;
        let chain = certified.cert.clone();
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
            chain,
            scheme,
        })
    }

    /// For a connection.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The scheme that clients have to verify.
    #[must_use]
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// When the leaf ends.
    #[must_use]
    pub fn not_after(&self) -> SystemTime {
        let ends = self.chain.first().and_then(|leaf| certificate::validity(leaf).ok());
        let seconds = ends.and_then(|(_, ends)| u64::try_from(ends).ok()).unwrap_or_default();
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Whether `other` shows the same certificates.
    #[must_use]
    pub fn shows_the_same_as(&self, other: &Self) -> bool {
        self.chain == other.chain
    }
}
