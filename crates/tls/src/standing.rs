//! What is kept of a peer's chain to see later whether a certificate of it has been revoked.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::Credentials;

/// Issuer and serial number of each certificate of a chain, by which revocation lists name them (RFC 5280, section 5.1).
/// Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing(Arc<[(Vec<u8>, Vec<u8>)]>);

impl Standing {
    /// A certificate that cannot be read is left out: no list could name it.
    pub(crate) fn of(chain: &[CertificateDer<'_>]) -> Self {
        let readable = chain.iter().filter_map(|der| EndEntityCert::try_from(der).ok());
        Self(
            readable
                .map(|certificate| (certificate.issuer().to_vec(), certificate.serial().to_vec()))
                .collect(),
        )
    }
}

impl Credentials {
    /// Whether a revocation list names a certificate of the chain.
    #[must_use]
    pub fn revokes(&self, standing: &Standing) -> bool {
        standing.0.iter().any(|(issuer, serial)| {
            let lists = self.lists().iter().map(|known| &known.list);
            lists
                .filter(|list| list.issuer() == issuer.as_slice())
                // A list whose entries cannot be read was refused when it was loaded.
                .any(|list| matches!(list.find_serial(serial), Ok(Some(_))))
        })
    }
}
