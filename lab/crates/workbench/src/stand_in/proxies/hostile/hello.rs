//! A ClientHello that any server of the deployment answers, made without a key: what it costs is
//! the server's signature and key exchange.

use bartizan_registry::{CipherSuite, NamedGroup, SignatureScheme, group};

/// TLS extension types (RFC 9846, section 4.2) and versions.
const SUPPORTED_GROUPS: u16 = 0x000a;
const SIGNATURE_ALGORITHMS: u16 = 0x000d;
const SUPPORTED_VERSIONS: u16 = 0x002b;
const KEY_SHARE: u16 = 0x0033;
const TLS12: [u8; 2] = [0x03, 0x03];
const TLS13: [u8; 2] = [0x03, 0x04];
/// X25519's base point (RFC 7748, section 4.1), which is a public key whose private key is 1.
const BASE_POINT: u8 = 9;
const X25519_BYTES: usize = 32;

/// The record of a ClientHello for X25519MLKEM768 and ML-DSA-65. Its key shares are valid without a
/// known private key: an ML-KEM encapsulation key of zeros passes the check of FIPS 203, section
/// 7.2.
pub(super) fn client_hello() -> Vec<u8> {
    let hybrid = NamedGroup::X25519MLKEM768;
    let length = group(hybrid).map_or(0, |group| usize::from(group.client_share));
    let mut share = vec![0; length];
    if let Some(first) = length.checked_sub(X25519_BYTES).and_then(|at| share.get_mut(at)) {
        *first = BASE_POINT;
    }
    let mut entry = hybrid.0.to_be_bytes().to_vec();
    put16(&mut entry, &share);
    let mut extensions = Vec::new();
    let mut extension = |kind: u16, content: &[u8]| {
        extensions.extend(kind.to_be_bytes());
        put16(&mut extensions, content);
    };
    extension(SUPPORTED_VERSIONS, &[&[2], &TLS13[..]].concat());
    extension(SUPPORTED_GROUPS, &listed(&hybrid.0.to_be_bytes()));
    extension(SIGNATURE_ALGORITHMS, &listed(&SignatureScheme::MLDSA65.0.to_be_bytes()));
    extension(KEY_SHARE, &listed(&entry));

    let mut body = TLS12.to_vec();
    // Random, and a session id for the sake of middleboxes (appendix D.4).
    body.extend([0x5a; 32]);
    body.push(32);
    body.extend([0xa5; 32]);
    put16(&mut body, &CipherSuite::AES_256_GCM_SHA384.0.to_be_bytes());
    body.extend([1, 0]);
    put16(&mut body, &extensions);

    // handshake(22), client_hello(1) with a length of three bytes.
    let mut message = vec![1, 0];
    put16(&mut message, &body);
    let mut record = vec![22, 0x03, 0x01];
    put16(&mut record, &message);
    record
}

/// A list with its length of two bytes.
fn listed(content: &[u8]) -> Vec<u8> {
    let mut list = Vec::new();
    put16(&mut list, content);
    list
}

fn put16(out: &mut Vec<u8>, content: &[u8]) {
    // Every part of a hello is shorter than a record.
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    out.extend(length.to_be_bytes());
    out.extend(content);
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use rustls::server::Acceptor;

    use super::*;

    #[test]
    fn a_server_reads_a_whole_hello_with_the_groups_and_signatures_of_the_deployment() {
        let hello = client_hello();
        let mut acceptor = Acceptor::default();
        acceptor.read_tls(&mut Cursor::new(&hello)).unwrap();
        let accepted = acceptor.accept().unwrap().expect("it is whole");
        let read = accepted.client_hello();
        assert_eq!(
            read.named_groups().unwrap(),
            [rustls::NamedGroup::from(NamedGroup::X25519MLKEM768.0)]
        );
        assert_eq!(
            read.signature_schemes(),
            [rustls::SignatureScheme::from(SignatureScheme::MLDSA65.0)]
        );
    }
}
