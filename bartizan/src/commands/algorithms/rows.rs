//! Rows of each registry table: columns, cells, and text that a filter compares.

mod ssh;

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

impl Listed for Group {
    fn entry(&'static self) -> Entry {
        Entry {
            code: format!("0x{:04x}", self.code.0),
            names: vec![Some(self.name), self.openssl, self.rustls],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("CODE", Left, Cell::plain(format!("0x{:04x}", self.code.0))),
                ("NAME", Left, Cell::plain(self.name)),
                (
                    "KIND",
                    Left,
                    Cell::plain(match self.kind {
                        Kind::Classical => "classical",
                        Kind::Hybrid => "hybrid",
                        Kind::PostQuantum => "post-quantum",
                    }),
                ),
                ("SHARE", Right, pair(Some(self.client_share), Some(self.server_share))),
                ("SECRET", Right, Cell::plain(self.secret)),
                ("CAT", Right, Cell::of(self.category.map(|category| category.0))),
                ("RECORDING", Left, safety(Some(self.recording))),
                ("DEFINED IN", Left, status(&self.status)),
                ("OPENSSL", Left, other_name(self.name, self.openssl)),
                ("RUSTLS", Left, other_name(self.name, self.rustls)),
            ],
        }
    }
}

impl Listed for Signature {
    fn entry(&'static self) -> Entry {
        Entry {
            code: format!("0x{:04x}", self.code.0),
            names: vec![Some(self.name), self.openssl, self.rustls],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("CODE", Left, Cell::plain(format!("0x{:04x}", self.code.0))),
                ("NAME", Left, Cell::plain(self.name)),
                ("SIGNATURE", Right, Cell::of(self.signature)),
                ("PUBLIC KEY", Right, Cell::of(self.public_key)),
                ("CAT", Right, Cell::of(self.category.map(|category| category.0))),
                ("FORGERY", Left, safety(Some(self.forgery))),
                ("DEFINED IN", Left, status(&self.status)),
                ("OPENSSL", Left, other_name(self.name, self.openssl)),
                ("RUSTLS", Left, other_name(self.name, self.rustls)),
            ],
        }
    }
}

impl Listed for Cipher {
    fn entry(&'static self) -> Entry {
        Entry {
            code: format!("0x{:04x}", self.code.0),
            names: vec![Some(self.name), self.openssl, self.rustls],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("CODE", Left, Cell::plain(format!("0x{:04x}", self.code.0))),
                ("NAME", Left, Cell::plain(self.name)),
                (
                    "TLS",
                    Left,
                    Cell::plain(match self.version {
                        TlsVersion::Tls12 => "1.2",
                        TlsVersion::Tls13 => "1.3",
                    }),
                ),
                ("KEY BITS", Right, Cell::plain(self.key_bits)),
                ("CAT", Right, Cell::of(self.category.map(|category| category.0))),
                ("DEFINED IN", Left, status(&self.status)),
                ("OPENSSL", Left, other_name(self.name, self.openssl)),
                ("RUSTLS", Left, other_name(self.name, self.rustls)),
            ],
        }
    }
}

impl Listed for Transform {
    fn entry(&'static self) -> Entry {
        Entry {
            code: self.id.to_string(),
            names: vec![Some(self.name), self.strongswan],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("TYPE", Left, Cell::plain(self.kind)),
                ("ID", Right, Cell::plain(self.id)),
                ("NAME", Left, Cell::plain(self.name)),
                ("DATA", Right, pair(self.initiator, self.responder)),
                ("CAT", Right, Cell::of(self.category.map(|category| category.0))),
                ("RECORDING", Left, safety(self.recording)),
                ("DEFINED IN", Left, status(&self.status)),
                ("STRONGSWAN", Left, Cell::of(self.strongswan)),
            ],
        }
    }
}

impl Listed for AuthenticationMethod {
    fn entry(&'static self) -> Entry {
        Entry {
            code: self.id.to_string(),
            names: vec![Some(self.name)],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("ID", Right, Cell::plain(self.id)),
                ("NAME", Left, Cell::plain(self.name)),
                ("FORGERY", Left, safety(self.forgery)),
                ("DEFINED IN", Left, status(&self.status)),
            ],
        }
    }
}

impl Listed for HashAlgorithm {
    fn entry(&'static self) -> Entry {
        Entry {
            code: self.id.to_string(),
            names: vec![Some(self.name)],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("ID", Right, Cell::plain(self.id)),
                ("NAME", Left, Cell::plain(self.name)),
                ("DEFINED IN", Left, status(&self.status)),
            ],
        }
    }
}

impl Listed for MacsecSuite {
    fn entry(&'static self) -> Entry {
        Entry {
            code: format!("{:016x}", self.id),
            names: vec![Some(self.name), self.iproute2],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("ID", Left, Cell::plain(format!("{:016x}", self.id))),
                ("NAME", Left, Cell::plain(self.name)),
                ("KEY", Right, Cell::plain(self.key)),
                ("PN", Right, Cell::plain(self.packet_number_bits)),
                ("CAT", Right, Cell::plain(self.category.0)),
                ("RECORDING", Left, safety(Some(self.recording))),
                ("DEFINED IN", Left, status(&self.status)),
                ("IPROUTE2", Left, Cell::of(self.iproute2)),
            ],
        }
    }
}

impl Listed for X509Algorithm {
    fn entry(&'static self) -> Entry {
        Entry {
            code: self.oid.to_owned(),
            names: vec![Some(self.name), self.openssl],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("OID", Left, Cell::plain(self.oid)),
                ("NAME", Left, Cell::plain(self.name)),
                (
                    "USE",
                    Left,
                    Cell::plain(match self.usage {
                        X509Use::Signing => "signing",
                        X509Use::KeyEstablishment => "key establishment",
                        X509Use::SignatureOnly => "signature only",
                    }),
                ),
                ("KEY", Right, Cell::of(self.public_key)),
                ("SPKI", Right, Cell::of(self.spki)),
                ("CAT", Right, Cell::of(self.category.map(|category| category.0))),
                ("ATTACK", Left, safety(Some(self.safety))),
                ("DEFINED IN", Left, status(&self.status)),
                ("OPENSSL", Left, other_name(self.name, self.openssl)),
            ],
        }
    }
}

impl Listed for Primitive {
    fn entry(&'static self) -> Entry {
        Entry {
            code: self.name.to_owned(),
            names: vec![Some(self.name), self.openssl, self.aws_lc_rs, self.strongswan],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("NAME", Left, Cell::plain(self.name)),
                ("CAT", Right, Cell::of(self.category.map(|category| category.0))),
                ("PUBLIC KEY", Right, Cell::of(self.public_key)),
                ("SECRET KEY", Right, Cell::of(self.secret_key)),
                ("SEED", Right, Cell::of(self.seed)),
                ("OUTPUT", Right, Cell::of(self.output)),
                ("SHARED", Right, Cell::of(self.shared_secret)),
                ("DEFINED IN", Left, status(&self.status)),
                ("OPENSSL", Left, other_name(self.name, self.openssl)),
                ("AWS-LC-RS", Left, Cell::of(self.aws_lc_rs)),
                ("STRONGSWAN", Left, Cell::of(self.strongswan)),
            ],
        }
    }
}
