//! Rows of each registry table: columns, cells, and text that a filter compares.

mod ssh;

use bartizan_registry::{
    AuthenticationMethod, Cipher, Group, HashAlgorithm, Kind, MacsecSuite, Primitive, Safety, Signature, State, Status,
    TlsVersion, Transform, X509Algorithm, X509Use, mentions,
};
use serde::Serialize;

use super::table::{Cell, Column, Tone};
use crate::table::Side::{Left, Right};

/// A row of the registry that can be shown and searched.
pub(super) trait Listed: Serialize {
    const COLUMNS: &'static [Column];

    fn cells(&self) -> Vec<Cell>;

    /// Code point, number or object identifier, as the row shows it.
    fn code(&self) -> String;

    fn names(&self) -> Vec<Option<&'static str>>;

    fn status(&self) -> &Status;

    fn note(&self) -> Option<&'static str>;

    /// Returns true if a filter is this row's code, or occurs in a name, the document or its state.
    fn matches(&self, filter: &str) -> bool {
        self.code().eq_ignore_ascii_case(filter)
            || self.names().into_iter().flatten().any(|name| mentions(name, filter))
            || mentions(self.status().document, filter)
            || mentions(&self.status().state.to_string(), filter)
    }
}

fn safety(safety: Option<Safety>) -> Cell {
    match safety {
        Some(Safety::QuantumSafe) => Cell {
            text: "safe".into(),
            tone: Tone::Good,
        },
        Some(Safety::Vulnerable) => Cell {
            text: "vulnerable".into(),
            tone: Tone::Bad,
        },
        None => Cell::plain("-"),
    }
}

/// `RFC 10024, 2026-08`; a state that the document's name does not show follows in brackets.
fn status(status: &Status) -> Cell {
    let mut text = status.document.to_owned();
    if !status.date.is_empty() {
        text.push_str(", ");
        text.push_str(status.date);
    }
    if matches!(status.state, State::Obsolete | State::Private) {
        text.push_str(&format!(" ({})", status.state));
    }
    Cell::plain(text)
}

/// Another program's name for a row, `=` where it is the row's own.
fn other_name(own: &str, other: Option<&'static str>) -> Cell {
    match other {
        Some(other) if other == own => Cell::plain("="),
        other => Cell::of(other),
    }
}

fn pair(one: Option<impl ToString>, other: Option<impl ToString>) -> Cell {
    match (one, other) {
        (Some(one), Some(other)) => Cell::plain(format!("{} / {}", one.to_string(), other.to_string())),
        _ => Cell::plain("-"),
    }
}

impl Listed for Group {
    const COLUMNS: &'static [Column] = &[
        ("CODE", Left),
        ("NAME", Left),
        ("KIND", Left),
        ("SHARE", Right),
        ("SECRET", Right),
        ("CAT", Right),
        ("RECORDING", Left),
        ("DEFINED IN", Left),
        ("OPENSSL", Left),
        ("RUSTLS", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.code()),
            Cell::plain(self.name),
            Cell::plain(match self.kind {
                Kind::Classical => "classical",
                Kind::Hybrid => "hybrid",
                Kind::PostQuantum => "post-quantum",
            }),
            pair(Some(self.client_share), Some(self.server_share)),
            Cell::plain(self.secret),
            Cell::of(self.category.map(|category| category.0)),
            safety(Some(self.recording)),
            status(&self.status),
            other_name(self.name, self.openssl),
            other_name(self.name, self.rustls),
        ]
    }

    fn code(&self) -> String {
        format!("0x{:04x}", self.code.0)
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name), self.openssl, self.rustls]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for Signature {
    const COLUMNS: &'static [Column] = &[
        ("CODE", Left),
        ("NAME", Left),
        ("SIGNATURE", Right),
        ("PUBLIC KEY", Right),
        ("CAT", Right),
        ("FORGERY", Left),
        ("DEFINED IN", Left),
        ("OPENSSL", Left),
        ("RUSTLS", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.code()),
            Cell::plain(self.name),
            Cell::of(self.signature),
            Cell::of(self.public_key),
            Cell::of(self.category.map(|category| category.0)),
            safety(Some(self.forgery)),
            status(&self.status),
            other_name(self.name, self.openssl),
            other_name(self.name, self.rustls),
        ]
    }

    fn code(&self) -> String {
        format!("0x{:04x}", self.code.0)
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name), self.openssl, self.rustls]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for Cipher {
    const COLUMNS: &'static [Column] = &[
        ("CODE", Left),
        ("NAME", Left),
        ("TLS", Left),
        ("KEY BITS", Right),
        ("CAT", Right),
        ("DEFINED IN", Left),
        ("OPENSSL", Left),
        ("RUSTLS", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.code()),
            Cell::plain(self.name),
            Cell::plain(match self.version {
                TlsVersion::Tls12 => "1.2",
                TlsVersion::Tls13 => "1.3",
            }),
            Cell::plain(self.key_bits),
            Cell::of(self.category.map(|category| category.0)),
            status(&self.status),
            other_name(self.name, self.openssl),
            other_name(self.name, self.rustls),
        ]
    }

    fn code(&self) -> String {
        format!("0x{:04x}", self.code.0)
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name), self.openssl, self.rustls]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for Transform {
    const COLUMNS: &'static [Column] = &[
        ("TYPE", Left),
        ("ID", Right),
        ("NAME", Left),
        ("DATA", Right),
        ("CAT", Right),
        ("RECORDING", Left),
        ("DEFINED IN", Left),
        ("STRONGSWAN", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.kind),
            Cell::plain(self.id),
            Cell::plain(self.name),
            pair(self.initiator, self.responder),
            Cell::of(self.category.map(|category| category.0)),
            safety(self.recording),
            status(&self.status),
            Cell::of(self.strongswan),
        ]
    }

    fn code(&self) -> String {
        self.id.to_string()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name), self.strongswan]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for AuthenticationMethod {
    const COLUMNS: &'static [Column] = &[("ID", Right), ("NAME", Left), ("FORGERY", Left), ("DEFINED IN", Left)];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.id),
            Cell::plain(self.name),
            safety(self.forgery),
            status(&self.status),
        ]
    }

    fn code(&self) -> String {
        self.id.to_string()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name)]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for HashAlgorithm {
    const COLUMNS: &'static [Column] = &[("ID", Right), ("NAME", Left), ("DEFINED IN", Left)];

    fn cells(&self) -> Vec<Cell> {
        vec![Cell::plain(self.id), Cell::plain(self.name), status(&self.status)]
    }

    fn code(&self) -> String {
        self.id.to_string()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name)]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for MacsecSuite {
    const COLUMNS: &'static [Column] = &[
        ("ID", Left),
        ("NAME", Left),
        ("KEY", Right),
        ("PN", Right),
        ("CAT", Right),
        ("RECORDING", Left),
        ("DEFINED IN", Left),
        ("IPROUTE2", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.code()),
            Cell::plain(self.name),
            Cell::plain(self.key),
            Cell::plain(self.packet_number_bits),
            Cell::plain(self.category.0),
            safety(Some(self.recording)),
            status(&self.status),
            Cell::of(self.iproute2),
        ]
    }

    fn code(&self) -> String {
        format!("{:016x}", self.id)
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name), self.iproute2]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for X509Algorithm {
    const COLUMNS: &'static [Column] = &[
        ("OID", Left),
        ("NAME", Left),
        ("USE", Left),
        ("KEY", Right),
        ("SPKI", Right),
        ("CAT", Right),
        ("ATTACK", Left),
        ("DEFINED IN", Left),
        ("OPENSSL", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.oid),
            Cell::plain(self.name),
            Cell::plain(match self.usage {
                X509Use::Signing => "signing",
                X509Use::KeyEstablishment => "key establishment",
                X509Use::SignatureOnly => "signature only",
            }),
            Cell::of(self.public_key),
            Cell::of(self.spki),
            Cell::of(self.category.map(|category| category.0)),
            safety(Some(self.safety)),
            status(&self.status),
            other_name(self.name, self.openssl),
        ]
    }

    fn code(&self) -> String {
        self.oid.to_owned()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name), self.openssl]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for Primitive {
    const COLUMNS: &'static [Column] = &[
        ("NAME", Left),
        ("CAT", Right),
        ("PUBLIC KEY", Right),
        ("SECRET KEY", Right),
        ("SEED", Right),
        ("OUTPUT", Right),
        ("SHARED", Right),
        ("DEFINED IN", Left),
        ("OPENSSL", Left),
        ("AWS-LC-RS", Left),
        ("STRONGSWAN", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.name),
            Cell::of(self.category.map(|category| category.0)),
            Cell::of(self.public_key),
            Cell::of(self.secret_key),
            Cell::of(self.seed),
            Cell::of(self.output),
            Cell::of(self.shared_secret),
            status(&self.status),
            other_name(self.name, self.openssl),
            Cell::of(self.aws_lc_rs),
            Cell::of(self.strongswan),
        ]
    }

    fn code(&self) -> String {
        self.name.to_owned()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name), self.openssl, self.aws_lc_rs, self.strongswan]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}
