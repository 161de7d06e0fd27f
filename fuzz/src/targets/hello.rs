//! The bodies of a ClientHello and of a ServerHello.

use bartizan_wire::tls::{ClientHello, ServerHello};

/// Items that a list of a hello has at most.
const LIST: usize = 256;

pub(super) fn run(bytes: &[u8]) {
    if let Ok(hello) = ClientHello::read(bytes) {
        assert_eq!(hello.length, bytes.len() + 4);
        assert!(hello.session_id.len() <= 32);
        let lists = [
            hello.cipher_suites.len(),
            hello.supported_groups.len(),
            hello.key_shares.len(),
            hello.signature_algorithms.len(),
            hello.alpn.len(),
        ];
        assert!(lists.iter().all(|length| *length <= LIST));
    }
    if let Ok(hello) = ServerHello::read(bytes) {
        assert_eq!(hello.length, bytes.len() + 4);
        assert!(!hello.is_hello_retry_request() || hello.key_share.is_none_or(|share| share.length == 0));
    }
}
