//! Rows of each registry table: columns, cells, and text that a filter compares.

use bartizan_registry::{
    AuthenticationMethod, Cipher, Group, HashAlgorithm, Kind, MacsecSuite, Primitive, Safety, Signature, State, Status,
    TlsVersion, Transform, X509Algorithm, X509Use, mentions,
};
use serde::Serialize;

use super::table::{Cell, Tone};
use crate::table::Side::{self, Left, Right};

/// A row of the registry that can be shown and searched.
pub(super) trait Listed: Serialize {
    fn entry(&'static self) -> Entry;
}

/// A row as a table shows it and a filter compares it.
pub(super) struct Entry {
    /// Code point, number or object identifier, as the row shows it.
    pub(super) code: String,
    pub(super) names: Vec<Option<&'static str>>,
    pub(super) status: &'static Status,
    pub(super) note: Option<&'static str>,
    /// Headings, sides and cells.
    pub(super) cells: Vec<(&'static str, Side, Cell)>,
}

impl Entry {
    /// Returns true if a filter is this row's code, or occurs in a name, the document or its state.
    pub(super) fn matches(&self, filter: &str) -> bool {
        self.code.eq_ignore_ascii_case(filter)
            || self.names.iter().flatten().any(|name| mentions(name, filter))
            || mentions(self.status.document, filter)
            || mentions(&self.status.state.to_string(), filter)
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

/// Makes a type `Listed`: its rows' code, names, note and cells; each has a status.
macro_rules! listed {
    (|$row:ident: $type:ty| $code:expr, [$($name:expr),+], $note:expr, [$($cell:expr),+ $(,)?]) => {
        impl Listed for $type {
            fn entry(&'static self) -> Entry {
                let $row = self;
                Entry {
                    code: $code,
                    names: vec![$($name),+],
                    status: &$row.status,
                    note: $note,
                    cells: vec![$($cell),+],
                }
            }
        }
    };
}

mod ssh;

listed!(
    |row: Group| format!("0x{:04x}", row.code.0),
    [Some(row.name), row.openssl, row.rustls],
    row.note,
    [
        ("CODE", Left, Cell::plain(format!("0x{:04x}", row.code.0))),
        ("NAME", Left, Cell::plain(row.name)),
        (
            "KIND",
            Left,
            Cell::plain(match row.kind {
                Kind::Classical => "classical",
                Kind::Hybrid => "hybrid",
                Kind::PostQuantum => "post-quantum",
            }),
        ),
        ("SHARE", Right, pair(Some(row.client_share), Some(row.server_share))),
        ("SECRET", Right, Cell::plain(row.secret)),
        ("CAT", Right, Cell::of(row.category.map(|category| category.0))),
        ("RECORDING", Left, safety(Some(row.recording))),
        ("DEFINED IN", Left, status(&row.status)),
        ("OPENSSL", Left, other_name(row.name, row.openssl)),
        ("RUSTLS", Left, other_name(row.name, row.rustls)),
    ]
);

listed!(
    |row: Signature| format!("0x{:04x}", row.code.0),
    [Some(row.name), row.openssl, row.rustls],
    row.note,
    [
        ("CODE", Left, Cell::plain(format!("0x{:04x}", row.code.0))),
        ("NAME", Left, Cell::plain(row.name)),
        ("SIGNATURE", Right, Cell::of(row.signature)),
        ("PUBLIC KEY", Right, Cell::of(row.public_key)),
        ("CAT", Right, Cell::of(row.category.map(|category| category.0))),
        ("FORGERY", Left, safety(Some(row.forgery))),
        ("DEFINED IN", Left, status(&row.status)),
        ("OPENSSL", Left, other_name(row.name, row.openssl)),
        ("RUSTLS", Left, other_name(row.name, row.rustls)),
    ]
);

listed!(
    |row: Cipher| format!("0x{:04x}", row.code.0),
    [Some(row.name), row.openssl, row.rustls],
    row.note,
    [
        ("CODE", Left, Cell::plain(format!("0x{:04x}", row.code.0))),
        ("NAME", Left, Cell::plain(row.name)),
        (
            "TLS",
            Left,
            Cell::plain(match row.version {
                TlsVersion::Tls12 => "1.2",
                TlsVersion::Tls13 => "1.3",
            }),
        ),
        ("KEY BITS", Right, Cell::plain(row.key_bits)),
        ("CAT", Right, Cell::of(row.category.map(|category| category.0))),
        ("DEFINED IN", Left, status(&row.status)),
        ("OPENSSL", Left, other_name(row.name, row.openssl)),
        ("RUSTLS", Left, other_name(row.name, row.rustls)),
    ]
);

listed!(
    |row: Transform| row.id.to_string(),
    [Some(row.name), row.strongswan],
    row.note,
    [
        ("TYPE", Left, Cell::plain(row.kind)),
        ("ID", Right, Cell::plain(row.id)),
        ("NAME", Left, Cell::plain(row.name)),
        ("DATA", Right, pair(row.initiator, row.responder)),
        ("CAT", Right, Cell::of(row.category.map(|category| category.0))),
        ("RECORDING", Left, safety(row.recording)),
        ("DEFINED IN", Left, status(&row.status)),
        ("STRONGSWAN", Left, Cell::of(row.strongswan)),
    ]
);

listed!(
    |row: AuthenticationMethod| row.id.to_string(),
    [Some(row.name)],
    row.note,
    [
        ("ID", Right, Cell::plain(row.id)),
        ("NAME", Left, Cell::plain(row.name)),
        ("FORGERY", Left, safety(row.forgery)),
        ("DEFINED IN", Left, status(&row.status)),
    ]
);

listed!(
    |row: HashAlgorithm| row.id.to_string(),
    [Some(row.name)],
    row.note,
    [
        ("ID", Right, Cell::plain(row.id)),
        ("NAME", Left, Cell::plain(row.name)),
        ("DEFINED IN", Left, status(&row.status)),
    ]
);

listed!(
    |row: MacsecSuite| format!("{:016x}", row.id),
    [Some(row.name), row.iproute2],
    row.note,
    [
        ("ID", Left, Cell::plain(format!("{:016x}", row.id))),
        ("NAME", Left, Cell::plain(row.name)),
        ("KEY", Right, Cell::plain(row.key)),
        ("PN", Right, Cell::plain(row.packet_number_bits)),
        ("CAT", Right, Cell::plain(row.category.0)),
        ("RECORDING", Left, safety(Some(row.recording))),
        ("DEFINED IN", Left, status(&row.status)),
        ("IPROUTE2", Left, Cell::of(row.iproute2)),
    ]
);

listed!(
    |row: X509Algorithm| row.oid.to_owned(),
    [Some(row.name), row.openssl],
    row.note,
    [
        ("OID", Left, Cell::plain(row.oid)),
        ("NAME", Left, Cell::plain(row.name)),
        (
            "USE",
            Left,
            Cell::plain(match row.usage {
                X509Use::Signing => "signing",
                X509Use::KeyEstablishment => "key establishment",
                X509Use::SignatureOnly => "signature only",
            }),
        ),
        ("KEY", Right, Cell::of(row.public_key)),
        ("SPKI", Right, Cell::of(row.spki)),
        ("CAT", Right, Cell::of(row.category.map(|category| category.0))),
        ("ATTACK", Left, safety(Some(row.safety))),
        ("DEFINED IN", Left, status(&row.status)),
        ("OPENSSL", Left, other_name(row.name, row.openssl)),
    ]
);

listed!(
    |row: Primitive| row.name.to_owned(),
    [Some(row.name), row.openssl, row.aws_lc_rs, row.strongswan],
    row.note,
    [
        ("NAME", Left, Cell::plain(row.name)),
        ("CAT", Right, Cell::of(row.category.map(|category| category.0))),
        ("PUBLIC KEY", Right, Cell::of(row.public_key)),
        ("SECRET KEY", Right, Cell::of(row.secret_key)),
        ("SEED", Right, Cell::of(row.seed)),
        ("OUTPUT", Right, Cell::of(row.output)),
        ("SHARED", Right, Cell::of(row.shared_secret)),
        ("DEFINED IN", Left, status(&row.status)),
        ("OPENSSL", Left, other_name(row.name, row.openssl)),
        ("AWS-LC-RS", Left, Cell::of(row.aws_lc_rs)),
        ("STRONGSWAN", Left, Cell::of(row.strongswan)),
    ]
);
