//! `bartizan algorithms`: the registry, as tables for people and as JSON for programs.

mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::io;

use bartizan_registry::{
    AUTHENTICATION_METHODS, CIPHERS, GROUPS, HASH_ALGORITHMS, MACSEC_SUITES, Purpose, SIGNATURES, SSH_KEY_EXCHANGES,
    SSH_PUBLIC_KEYS, TRANSFORMS, X509_ALGORITHMS, primitives,
};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use self::rows::Listed;
use self::table::{Colour, Table};
use crate::outcome::{Failure, Outcome};
use crate::output::{errln, is_coloured, print};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-algorithms/1";

/// List the algorithms Bartizan knows: code points, sizes, categories, names.
///
/// Sizes are bytes. An `=` repeats the name at the row's beginning, a `-` is a value that does not
/// exist or is unconfirmed. Nothing found: exit code 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan algorithms mlkem768                everything whose name has ML-KEM-768 in it\n  \
    bartizan algorithms --kind group 0x11ec     one TLS group by its code point\n  \
    bartizan algorithms --kind ike draft        IKEv2 transforms that no RFC defines yet\n  \
    bartizan algorithms --json | jq .groups     the same for a program")]
pub(crate) struct Args {
    /// Only rows that have this in a name, or in the document that defines them, or whose code point or object
    /// identifier it is; case, hyphens and underscores do not matter.
    filter: Option<String>,
    /// Only these tables; may be given more than once.
    #[arg(long, value_enum)]
    kind: Vec<Kind>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// TLS 1.3 named groups.
    Group,
    /// TLS signature schemes, and the signature algorithms under them.
    Signature,
    /// TLS cipher suites.
    CipherSuite,
    /// IKEv2 transforms, authentication methods and signature hashes.
    Ike,
    /// SSH key exchange methods and public key algorithms.
    Ssh,
    /// MACsec cipher suites.
    Macsec,
    /// Keys and signatures of X.509 certificates.
    X509,
    /// Key encapsulation mechanisms.
    Kem,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(filter) = &args.filter
        && !filter.contains(char::is_alphanumeric)
    {
        return Err(Failure::usage(format!(
            "the filter `{filter}` has neither letter nor digit"
        )));
    }
    let sections = sections(&args.kind, args.filter.as_deref());
    let found = sections.iter().any(|section| !section.table.is_empty());
    let text = if args.json {
        as_json(sections)
    } else {
        as_text(
            &sections,
            if is_coloured(&io::stdout()) {
                Colour::Yes
            } else {
                Colour::No
            },
        )
    };
    print(&text)?;
    if found {
        return Ok(Outcome::Clean);
    }
    errln!("nothing matches `{}`", args.filter.as_deref().unwrap_or_default());
    errln!("hint: a part of a name is enough: `bartizan algorithms mlkem`; no filter at all lists everything");
    Ok(Outcome::Finding)
}

/// One table with its title, and the same rows for JSON.
struct Section {
    kind: Kind,
    key: &'static str,
    title: &'static str,
    legend: &'static str,
    table: Table,
    rows: Vec<Value>,
}

impl Section {
    fn of<R: Listed + 'static>(
        kind: Kind,
        key: &'static str,
        title: &'static str,
        legend: &'static str,
        rows: impl IntoIterator<Item = &'static R>,
        filter: Option<&str>,
    ) -> Self {
        let mut section = Self {
            kind,
            key,
            title,
            legend,
            table: Table::default(),
            rows: Vec::new(),
        };
        for row in rows {
            let entry = row.entry();
            if filter.is_none_or(|wanted| entry.matches(wanted)) {
                section.table.push(entry.cells, entry.note);
                section.rows.push(json!(row));
            }
        }
        section
    }
}

fn sections(kinds: &[Kind], filter: Option<&str>) -> Vec<Section> {
    let mut sections = vec![
        Section::of(
            Kind::Group,
            "groups",
            "TLS groups",
            "SHARE is the client's key share / the server's; RECORDING: safe from an attacker who records today and \
             computes later",
            GROUPS,
            filter,
        ),
        Section::of(
            Kind::Signature,
            "signatures",
            "TLS signature schemes",
            "SIGNATURE is the largest; FORGERY: safe from a forger with a quantum computer",
            SIGNATURES,
            filter,
        ),
        Section::of(
            Kind::CipherSuite,
            "cipher_suites",
            "TLS cipher suites",
            "TLS 1.2 has no post-quantum key exchange",
            CIPHERS,
            filter,
        ),
        Section::of(
            Kind::Ike,
            "ike_transforms",
            "IKEv2 transforms",
            "DATA is what the initiator sends / the responder; KE numbers serve ADDKE1 to ADDKE7 too; strongSwan's \
             keyword is that of a 256-bit key",
            TRANSFORMS,
            filter,
        ),
        Section::of(
            Kind::Ike,
            "ike_authentication_methods",
            "IKEv2 authentication methods",
            "FORGERY: safe from a forger with a quantum computer",
            AUTHENTICATION_METHODS,
            filter,
        ),
        Section::of(
            Kind::Ike,
            "ike_hash_algorithms",
            "IKEv2 signature hashes",
            "announced in SIGNATURE_HASH_ALGORITHMS",
            HASH_ALGORITHMS,
            filter,
        ),
        Section::of(
            Kind::Ssh,
            "ssh_key_exchanges",
            "SSH key exchange methods",
            "RECORDING: safe from an attacker who records today and computes later",
            SSH_KEY_EXCHANGES,
            filter,
        ),
        Section::of(
            Kind::Ssh,
            "ssh_public_keys",
            "SSH public key algorithms",
            "of host keys and of what they sign; FORGERY: safe from a forger with a quantum computer",
            SSH_PUBLIC_KEYS,
            filter,
        ),
        Section::of(
            Kind::Macsec,
            "macsec_suites",
            "MACsec cipher suites",
            "PN is bits of packet number; RECORDING holds if the CAK is quantum-safe: MKA is as strong as its CAK",
            MACSEC_SUITES,
            filter,
        ),
        Section::of(
            Kind::X509,
            "x509_algorithms",
            "X.509 algorithms",
            "KEY is inside the BIT STRING, SPKI the whole SubjectPublicKeyInfo; ATTACK: forgery of signatures, recording \
             of key establishment",
            X509_ALGORITHMS,
            filter,
        ),
        Section::of(
            Kind::Kem,
            "kems",
            "KEMs",
            "SECRET KEY is the expanded form, SEED what it grows from",
            primitives(Purpose::Kem),
            filter,
        ),
        Section::of(
            Kind::Signature,
            "signature_algorithms",
            "Signature algorithms",
            "SECRET KEY is the expanded form, SEED what it grows from; an ECDSA signature is DER's largest",
            primitives(Purpose::Signature),
            filter,
        ),
    ];
    sections.retain(|section| kinds.is_empty() || kinds.contains(&section.kind));
    sections
}

fn as_text(sections: &[Section], colour: Colour) -> String {
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.table.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        let heading = format!("{}: {}", section.title, section.legend);
        text.push_str(&(crate::table::paragraph(&heading, 2) + "\n"));
        text.push_str(&section.table.render(colour));
    }
    text
}

fn as_json(sections: Vec<Section>) -> String {
    let mut document = Map::new();
    document.insert("schema".into(), SCHEMA.into());
    for section in sections {
        document.insert(section.key.into(), section.rows.into());
    }
    format!("{:#}\n", Value::Object(document))
}
