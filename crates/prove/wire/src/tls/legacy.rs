//! Plaintext handshake messages of TLS 1.2 and older: ServerKeyExchange, Certificate,
//! CertificateVerify.

use bartizan_registry::{NamedGroup, Safety, SignatureScheme};

use super::{LONGEST_CHAIN, Version};
use crate::allocation::allocated;
use crate::cursor::Cursor;
use crate::keys::{Certificate, Keys};

/// `ECCurveType.named_curve` (RFC 8422, section 5.4).
const NAMED_CURVE: u8 = 3;

/// Certificates counted in one message; a chain has two or three.
const CHAIN: u32 = 32;

/// A TLS 1.2 ServerKeyExchange, as far as a bystander needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerKeyExchange {
    /// The curve, where the exchange is elliptic-curve Diffie-Hellman over a named one.
    pub group: Option<NamedGroup>,
    /// The scheme the server signed its parameters with (TLS 1.2 only).
    pub signature: Option<SignatureScheme>,
}

impl ServerKeyExchange {
    /// Reads the body of the message. Its content depends on the cipher suite, and is recognised by
    /// its shape: finite-field parameters (RFC 5246, section 7.4.3) whose signature ends with the
    /// body, or a named curve. Anything else, as the hints of pre-shared keys, is left alone.
    pub fn read(body: &[u8], version: Version) -> Self {
        if let Some(signature) = finite_field(body, version) {
            return Self { group: None, signature };
        }
        let mut cursor = Cursor::new(body);
        let group = (cursor.u8() == Some(NAMED_CURVE))
            .then(|| cursor.u16().map(NamedGroup))
            .flatten();
        let signature = group
            .filter(|_| version == Version::TLS12)
            .and_then(|_| cursor.vector8())
            .and_then(|_| cursor.u16())
            .map(SignatureScheme);
        Self { group, signature }
    }
}

/// The scheme that prime, generator and public value are signed with, if the body is these and no byte more.
fn finite_field(body: &[u8], version: Version) -> Option<Option<SignatureScheme>> {
    let mut cursor = Cursor::new(body);
    for _ in 0..3 {
        cursor.vector16()?;
    }
    let scheme = if version == Version::TLS12 && !cursor.is_empty() {
        Some(SignatureScheme(cursor.u16()?))
    } else {
        None
    };
    if !cursor.is_empty() {
        cursor.vector16()?;
    }
    cursor.is_empty().then_some(scheme)
}

/// Certificates sent unencrypted, as TLS 1.2 and older do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// Number of certificates.
    pub count: u32,
    /// Bytes of the message, with its header.
    pub length: usize,
    /// The first ten, the sender's own before those that vouch for it; empty without a certificate
    /// reader.
    pub chain: Vec<Certificate>,
}

impl Certificates {
    /// Reads the body of a Certificate message of TLS 1.2 or older (RFC 5246, section 7.4.2). Their
    /// contents require the certificate reader of `keys`.
    pub fn read(body: &[u8], keys: Option<&dyn Keys>) -> Self {
        let (mut count, mut chain) = (0, Vec::new());
        if let Some(mut list) = Cursor::new(body).vector24() {
            while count < CHAIN
                && let Some(der) = list.vector24()
            {
                count += 1;
                if let Some(keys) = keys
                    && chain.len() < LONGEST_CHAIN
                {
                    chain.push(keys.certificate(der.rest()));
                }
            }
        }
        chain.shrink_to_fit();
        Self {
            count,
            length: body.len() + 4,
            chain,
        }
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        self.chain.iter().map(|one| allocated(one.held())).sum()
    }
}

/// Returns true if a cipher suite does not encrypt: the NULL suites of RFC 4785, 5246, 5487, 5489
/// and 8422, and the integrity-only suites of RFC 9150.
#[must_use]
pub fn is_null_cipher(suite: u16) -> bool {
    matches!(
        suite,
        0x0000..=0x0002
            | 0x002c..=0x002e
            | 0x003b
            | 0x00b0 | 0x00b1
            | 0x00b4 | 0x00b5
            | 0x00b8 | 0x00b9
            | 0xc001 | 0xc006 | 0xc00b | 0xc010 | 0xc015
            | 0xc039..=0xc03b
            | 0xc0b4 | 0xc0b5
    )
}

/// Safety of what a cipher suite before TLS 1.3 encrypts, whatever keys it; none if the suite is
/// not known. Blocks of 64 bits, RC4 and export keys are broken without a quantum computer.
pub fn older_cipher(suite: u16) -> Option<Safety> {
    if is_null_cipher(suite) {
        return Some(Safety::Vulnerable);
    }
    match suite {
        0x0003..=0x002b
        | 0x0060..=0x0066
        | 0x008a | 0x008b | 0x008e | 0x008f | 0x0092 | 0x0093
        | 0xc002 | 0xc003 | 0xc007 | 0xc008 | 0xc00c | 0xc00d | 0xc011 | 0xc012 | 0xc016 | 0xc017
        | 0xc01a..=0xc01c
        | 0xc033 | 0xc034
        // GOST with Magma or GOST 28147-89 (RFC 9189).
        | 0xc101 | 0xc102
        // FIPS suites of SSL 3.
        | 0xfefe | 0xfeff => Some(Safety::Vulnerable),
        // AES, SEED, Camellia, ARIA, ChaCha20 and Kuznyechik.
        0x002f..=0x003a | 0x003c..=0x0046 | 0x0067..=0x006d | 0x0084..=0x0089
        | 0x008c | 0x008d | 0x0090 | 0x0091 | 0x0094..=0x00af
        | 0x00b2 | 0x00b3 | 0x00b6 | 0x00b7 | 0x00ba..=0x00c5
        | 0xc004 | 0xc005 | 0xc009 | 0xc00a | 0xc00e | 0xc00f | 0xc013 | 0xc014 | 0xc018 | 0xc019
        | 0xc01d..=0xc032 | 0xc035..=0xc038 | 0xc03c..=0xc0b3 | 0xc100
        | 0xcca8..=0xccae
        | 0xd001..=0xd003 | 0xd005 => Some(Safety::QuantumSafe),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_and_signature_scheme_stand_in_a_tls_1_2_server_key_exchange() {
        let mut body = vec![3, 0x00, 0x1d, 32];
        body.extend([9; 32]);
        body.extend([0x04, 0x03, 0, 70]);
        let read = ServerKeyExchange::read(&body, Version::TLS12);
        assert_eq!(read.group, Some(NamedGroup::X25519));
        assert_eq!(read.signature, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
        assert_eq!(
            ServerKeyExchange::read(&body, Version(0x0302)).signature,
            None,
            "TLS 1.1 names no scheme"
        );
    }

    /// Prime, generator, public value, and a signature of 256 bytes.
    fn finite_field_body(prime: usize, scheme: &[u8]) -> Vec<u8> {
        let vector = |length: usize| [&u16::try_from(length).unwrap().to_be_bytes()[..], &vec![0xff; length]].concat();
        [&vector(prime)[..], &vector(1), &vector(prime), scheme, &vector(256)].concat()
    }

    #[test]
    fn finite_field_parameters_name_a_scheme_and_are_no_curve() {
        // The length of 6144 bits begins with the octet that means a named curve.
        for prime in [256, 384, 512, 768, 1024] {
            let read = ServerKeyExchange::read(&finite_field_body(prime, &[0x04, 0x03]), Version::TLS12);
            assert_eq!(read.group, None, "{prime}");
            assert_eq!(read.signature, Some(SignatureScheme::ECDSA_SECP256R1_SHA256), "{prime}");
            let older = ServerKeyExchange::read(&finite_field_body(prime, &[]), Version(0x0302));
            assert_eq!((older.group, older.signature), (None, None), "{prime}");
        }
    }

    #[test]
    fn finite_field_parameters_that_are_cut_are_left_alone() {
        let read = ServerKeyExchange::read(&[1, 0, 0xff, 0xff], Version::TLS12);
        assert_eq!((read.group, read.signature), (None, None));
    }

    #[test]
    fn certificates_are_counted_and_a_short_chain_ends_the_count() {
        assert_eq!(Certificates::read(&[0, 0, 9, 0, 0, 1, 7, 0, 0, 2, 7, 7], None).count, 2);
        assert_eq!(Certificates::read(&[0, 0, 5, 0, 0, 1, 7, 0], None).count, 1);
        assert_eq!(Certificates::read(&[0, 0, 9], None).count, 0);
    }
}
