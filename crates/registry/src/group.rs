//! TLS 1.3 named groups.

use serde::Serialize;

use crate::{Category, NamedGroup, Safety, Standing, State};

/// How a group makes its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// (Elliptic-curve) Diffie-Hellman alone.
    Classical,
    /// A post-quantum KEM beside a classical exchange.
    Hybrid,
    /// A post-quantum KEM alone.
    PostQuantum,
}

/// One TLS named group. Sizes are bytes of key exchange data, without length fields.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Group {
    /// Code point.
    pub code: NamedGroup,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// How it makes its secret.
    pub kind: Kind,
    /// Bytes in the client's key share.
    pub client_share: u16,
    /// Bytes in the server's key share.
    pub server_share: u16,
    /// Bytes of shared secret.
    pub secret: u16,
    /// NIST category; none for classical groups.
    pub category: Option<Category>,
    /// Safe against an attacker who records today and computes later.
    pub recording: Safety,
    /// The defining document.
    pub standing: Standing,
    /// OpenSSL's name, where OpenSSL 3.5 has the group.
    pub openssl: Option<&'static str>,
    /// rustls' name, where rustls 0.23 can negotiate or name it.
    pub rustls: Option<&'static str>,
}

const fn rfc(document: &'static str, date: &'static str) -> Standing {
    Standing {
        document,
        date,
        state: State::Rfc,
    }
}

/// Every group this project knows, by code point.
pub static GROUPS: &[Group] = &[
    Group {
        code: NamedGroup(0x0017),
        name: "secp256r1",
        kind: Kind::Classical,
        client_share: 65,
        server_share: 65,
        secret: 32,
        category: None,
        recording: Safety::Vulnerable,
        standing: rfc("RFC 9846", ""),
        openssl: Some("P-256"),
        rustls: Some("secp256r1"),
    },
    Group {
        code: NamedGroup(0x001d),
        name: "x25519",
        kind: Kind::Classical,
        client_share: 32,
        server_share: 32,
        secret: 32,
        category: None,
        recording: Safety::Vulnerable,
        standing: rfc("RFC 9846", ""),
        openssl: Some("X25519"),
        rustls: Some("X25519"),
    },
    Group {
        code: NamedGroup(0x11ec),
        name: "X25519MLKEM768",
        kind: Kind::Hybrid,
        client_share: 1216,
        server_share: 1120,
        secret: 64,
        category: Some(Category(3)),
        recording: Safety::QuantumSafe,
        standing: rfc("RFC 10024", "2026-08"),
        openssl: Some("X25519MLKEM768"),
        rustls: Some("X25519MLKEM768"),
    },
];

/// The group with this code point.
#[must_use]
pub fn group(code: NamedGroup) -> Option<&'static Group> {
    GROUPS.iter().find(|known| known.code == code)
}

/// The group with this name, as IANA, OpenSSL or rustls write it; case does not matter.
#[must_use]
pub fn group_named(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|known| {
        [Some(known.name), known.openssl, known.rustls]
            .into_iter()
            .flatten()
            .any(|n| n.eq_ignore_ascii_case(name))
    })
}
