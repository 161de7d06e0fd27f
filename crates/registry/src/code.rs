//! Code points as they stand on the wire.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{group, signature};

/// A TLS 1.3 named group (RFC 9846, section 4.2.7): any 16-bit value a peer may send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedGroup(pub u16);

/// A TLS 1.3 signature scheme (RFC 9846, section 4.2.3): any 16-bit value a peer may send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureScheme(pub u16);

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

/// Whether a 16-bit value is reserved by GREASE (RFC 8701): `0x0a0a`, `0x1a1a` ... `0xfafa`.
#[must_use]
pub const fn is_grease(value: u16) -> bool {
    value & 0x0f0f == 0x0a0a && value >> 8 == value & 0xff
}

macro_rules! named {
    ($type:ident, $table:path) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match $table(*self) {
                    Some(known) => f.pad(known.name),
                    None if is_grease(self.0) => f.pad(&format!("GREASE(0x{:04x})", self.0)),
                    None => f.pad(&format!("unknown(0x{:04x})", self.0)),
                }
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
named!(NamedGroup, group);
named!(SignatureScheme, signature);
