//! Code points as they stand on the wire.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::signature::pair_name;
use crate::{cipher, group, signature};

/// A TLS 1.3 named group (RFC 9846, `supported_groups`): any 16-bit value a peer may send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedGroup(pub u16);

/// A TLS 1.3 signature scheme (RFC 9846, `signature_algorithms`): any 16-bit value a peer may send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureScheme(pub u16);

/// A TLS cipher suite (RFC 9846, Cipher Suites): any 16-bit value a peer may send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CipherSuite(pub u16);

impl NamedGroup {
    /// Hybrid of X25519 and ML-KEM-768 (RFC 10024).
    pub const X25519MLKEM768: Self = Self(0x11ec);
    /// Hybrid of P-256 and ML-KEM-768 (RFC 10024).
    pub const SECP256R1MLKEM768: Self = Self(0x11eb);
    /// Hybrid of P-384 and ML-KEM-1024 (RFC 10024).
    pub const SECP384R1MLKEM1024: Self = Self(0x11ed);
    /// ML-KEM-512 alone.
    pub const MLKEM512: Self = Self(0x0200);
    /// ML-KEM-768 alone.
    pub const MLKEM768: Self = Self(0x0201);
    /// ML-KEM-1024 alone.
    pub const MLKEM1024: Self = Self(0x0202);
    /// X25519.
    pub const X25519: Self = Self(0x001d);
    /// NIST P-256.
    pub const SECP256R1: Self = Self(0x0017);
    /// NIST P-384.
    pub const SECP384R1: Self = Self(0x0018);
    /// NIST P-521.
    pub const SECP521R1: Self = Self(0x0019);
    /// SM2's curve (RFC 8998).
    pub const CURVESM2: Self = Self(0x0029);
    /// Kyber-512 as the OQS project numbered it.
    pub const KYBER512: Self = Self(0x023a);
    /// Kyber-768 as the OQS project numbered it.
    pub const KYBER768: Self = Self(0x023c);
    /// Kyber-1024 as the OQS project numbered it.
    pub const KYBER1024: Self = Self(0x023d);
}

impl SignatureScheme {
    /// ML-DSA-44.
    pub const MLDSA44: Self = Self(0x0904);
    /// ML-DSA-65.
    pub const MLDSA65: Self = Self(0x0905);
    /// ML-DSA-87.
    pub const MLDSA87: Self = Self(0x0906);
    /// ECDSA on P-256 with SHA-256.
    pub const ECDSA_SECP256R1_SHA256: Self = Self(0x0403);
    /// ECDSA on P-384 with SHA-384.
    pub const ECDSA_SECP384R1_SHA384: Self = Self(0x0503);
    /// Ed25519.
    pub const ED25519: Self = Self(0x0807);
}

impl CipherSuite {
    /// AES-128-GCM with SHA-256.
    pub const AES_128_GCM_SHA256: Self = Self(0x1301);
    /// AES-256-GCM with SHA-384.
    pub const AES_256_GCM_SHA384: Self = Self(0x1302);
    /// ChaCha20-Poly1305 with SHA-256.
    pub const CHACHA20_POLY1305_SHA256: Self = Self(0x1303);
}

/// Returns true if a 16-bit value is reserved by GREASE (RFC 8701): `0x0a0a`, `0x1a1a` ...
/// `0xfafa`.
#[must_use]
pub const fn is_grease(value: u16) -> bool {
    value & 0x0f0f == 0x0a0a && value >> 8 == value & 0xff
}

/// A code point in JSON: `"0x11ec"`, so that a table names a code and its name once each.
pub(crate) fn as_hex<S: Serializer>(code: &(impl Into<u16> + Copy), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("0x{:04x}", (*code).into()))
}

macro_rules! named {
    ($type:ident, $table:path, $other:expr) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match $table(*self) {
                    Some(known) => f.pad(known.name),
                    None if is_grease(self.0) => f.pad(&format!("GREASE(0x{:04x})", self.0)),
                    None => {
                        let other: fn(u16) -> Option<String> = $other;
                        f.pad(&other(self.0).unwrap_or_else(|| format!("unknown(0x{:04x})", self.0)))
                    }
                }
            }
        }
        impl From<$type> for u16 {
            fn from(code: $type) -> Self {
                code.0
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}
named!(NamedGroup, group, |_| None);
named!(SignatureScheme, signature, pair_name);
named!(CipherSuite, cipher, |_| None);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grease_is_sixteen_values() {
        let grease: Vec<u16> = (0..=u16::MAX).filter(|value| is_grease(*value)).collect();
        let listed: Vec<u16> = (0..16).map(|n| 0x0a0a + n * 0x1010).collect();
        assert_eq!(grease, listed);
    }

    #[test]
    fn no_known_code_is_grease() {
        assert!(crate::GROUPS.iter().all(|known| !is_grease(known.code.0)));
        assert!(crate::SIGNATURES.iter().all(|known| !is_grease(known.code.0)));
        assert!(crate::CIPHERS.iter().all(|known| !is_grease(known.code.0)));
    }

    #[test]
    fn a_code_prints_its_name_or_says_that_it_is_unknown() {
        assert_eq!(NamedGroup::SECP384R1MLKEM1024.to_string(), "SecP384r1MLKEM1024");
        assert_eq!(SignatureScheme::MLDSA87.to_string(), "mldsa87");
        assert_eq!(CipherSuite::AES_256_GCM_SHA384.to_string(), "TLS_AES_256_GCM_SHA384");
        assert_eq!(SignatureScheme(0x0303).to_string(), "ecdsa_sha224");
        assert_eq!(SignatureScheme(0x0620).to_string(), "signature(0x20)_sha512");
        assert_eq!(SignatureScheme(0x0841).to_string(), "gostr34102012_512");
        assert_eq!(SignatureScheme(0x07ff).to_string(), "unknown(0x07ff)");
        assert_eq!(NamedGroup(0x3a3a).to_string(), "GREASE(0x3a3a)");
        assert_eq!(NamedGroup(0x11ff).to_string(), "unknown(0x11ff)");
        assert_eq!(format!("{:>8}|", NamedGroup::X25519), "  x25519|");
    }
}
