//! Stateless resets (RFC 9000, section 10.3) that outlive a process.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{EndpointConfig, RandomConnectionIdGenerator};

use crate::shared::Shared;

/// Between two stateless resets: where a sidecar is started anew, all connections of the one before
/// are reset.
const RESET_INTERVAL: Duration = Duration::from_millis(1);
/// Octets of a signature with HMAC-SHA-256.
const SIGNATURE: usize = 32;

/// Signs stateless resets by the node's key in effect: a sidecar that is started anew ends the
/// connections of the one before at once.
///
/// The listener's address is signed too: no listener tells the tokens of another (RFC 9000, section
/// 21.11).
pub(super) struct ResetKey {
    shared: Weak<Shared>,
    listener: SocketAddr,
}

impl ResetKey {
    pub(super) fn of(shared: &Arc<Shared>, listener: SocketAddr) -> Arc<Self> {
        let shared = Arc::downgrade(shared);
        Arc::new(Self { shared, listener })
    }

    fn current(&self) -> Option<Arc<dyn HmacKey>> {
        Some(self.shared.upgrade()?.endpoint.endpoint().credentials().reset_key())
    }

    fn signed(&self, data: &[u8]) -> Vec<u8> {
        [self.listener.to_string().as_bytes(), b" ", data].concat()
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        if let Some(key) = self.current() {
            key.sign(&self.signed(data), signature_out);
        }
    }

    fn signature_len(&self) -> usize {
        SIGNATURE
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        self.current().ok_or(CryptoError)?.verify(&self.signed(data), signature)
    }
}

/// Has an endpoint reset connections that it does not know, as the one before it with this key
/// would have.
pub(super) fn resettable(key: Arc<dyn HmacKey>) -> EndpointConfig {
    let mut config = EndpointConfig::new(key);
    // Identifiers with a checksum pass in their own process alone, and only those that pass are
    // reset.
    config.cid_generator(|| Box::new(RandomConnectionIdGenerator::default()));
    config.min_reset_interval(RESET_INTERVAL);
    config
}
