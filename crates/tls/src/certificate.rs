//! What this crate reads in a certificate: names, labels and dates. Trust is decided elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bartizan_ledger as ledger;
use bartizan_registry::{Safety, SignatureScheme, x509_algorithm};
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::scheme;

/// A ledger keeps no more of a peer's chain than this; TLS bounds it to 64 KiB, which could hold hundreds.
const LONGEST_CHAIN: usize = 10;

/// Names of a leaf, read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    pub(crate) dns: Vec<String>,
    pub(crate) ip: Vec<IpAddr>,
    pub(crate) uri: Vec<String>,
}

/// What the checks here need of a leaf.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) names: Names,
    /// The scheme its key signs in; none where this project verifies no such key.
    pub(crate) scheme: Option<SignatureScheme>,
    /// Its key's algorithm as text.
    pub(crate) key: String,
    /// Key usage, where present, includes digitalSignature (RFC 5280, section 4.2.1.3).
    pub(crate) signs: bool,
}

/// Reads a certificate with nothing behind it.
fn parse<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, String> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err("has bytes behind its end".into()),
        Err(error) => Err(format!("is not a certificate: {error}")),
    }
}

impl Leaf {
    pub(crate) fn read(der: &CertificateDer<'_>) -> Result<Self, String> {
        let certificate = parse(der)?;
        let usage = certificate
            .key_usage()
            .map_err(|error| format!("key usage cannot be read: {error}"))?;
        Ok(Self {
            names: Names::read(&certificate)?,
            scheme: scheme::of_key(certificate.public_key()),
            key: algorithm_name(scheme::label(&certificate.public_key().algorithm)),
            signs: usage.is_none_or(|usage| usage.value.digital_signature()),
        })
    }
}

impl Names {
    fn read(certificate: &X509Certificate<'_>) -> Result<Self, String> {
        let mut names = Self::default();
        let alternative = certificate
            .subject_alternative_name()
            .map_err(|error| format!("subject alternative names cannot be read: {error}"))?;
        for name in alternative.iter().flat_map(|extension| &extension.value.general_names) {
            match name {
                GeneralName::DNSName(name) => names.dns.push(name.to_ascii_lowercase()),
                GeneralName::URI(uri) => names.uri.push((*uri).to_owned()),
                GeneralName::IPAddress(octets) => names.ip.extend(address(octets)),
                _ => {}
            }
        }
        Ok(names)
    }

    /// In the ledger's form: `dns:`, `ip:`, `uri:`. Anything that would not print is escaped.
    pub(crate) fn listed(&self) -> Vec<String> {
        let dns = self.dns.iter().map(|name| format!("dns:{}", name.escape_debug()));
        let ip = self.ip.iter().map(|address| format!("ip:{address}"));
        let uri = self.uri.iter().map(|uri| format!("uri:{}", uri.escape_debug()));
        dns.chain(ip).chain(uri).collect()
    }
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(|octets| Ipv4Addr::from(octets).into());
    let sixteen = <[u8; 16]>::try_from(octets).map(|octets| Ipv6Addr::from(octets).into());
    four.or(sixteen).ok()
}

fn algorithm_name((oid, parameters): (String, Option<String>)) -> String {
    match x509_algorithm(&oid, parameters.as_deref()) {
        Some(known) => known.name.to_owned(),
        None => oid,
    }
}

/// A chain as the ledger keeps it. What cannot be read stays visible by its hash.
pub(crate) fn chain(chain: &[CertificateDer<'_>]) -> Vec<ledger::Certificate> {
    chain.iter().take(LONGEST_CHAIN).map(entry).collect()
}

fn entry(der: &CertificateDer<'_>) -> ledger::Certificate {
    let sha256 = hexadecimal(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, der).as_ref());
    match parse(der) {
        Ok(certificate) => ledger::Certificate {
            subject: certificate.subject().to_string().escape_debug().to_string(),
            serial: hexadecimal(certificate.raw_serial()),
            names: Names::read(&certificate).map_or_else(|_| Vec::new(), |names| names.listed()),
            public_key: algorithm_name(scheme::label(&certificate.public_key().algorithm)),
            signature: algorithm_name(scheme::label(&certificate.signature_algorithm)),
            not_after: certificate.validity().not_after.timestamp(),
            sha256,
        },
        Err(_) => ledger::Certificate {
            subject: "unreadable".into(),
            serial: String::new(),
            names: Vec::new(),
            public_key: "unreadable".into(),
            signature: "unreadable".into(),
            not_after: 0,
            sha256,
        },
    }
}

/// Whether any signature in the chain falls to a quantum computer. The signature of a self-issued root counts for nothing:
/// trust in it comes from a file, not from itself.
pub(crate) fn any_classical_signature(chain: &[CertificateDer<'_>]) -> bool {
    chain.iter().any(|der| {
        parse(der).is_ok_and(|certificate| {
            let (oid, parameters) = scheme::label(&certificate.signature_algorithm);
            let known = x509_algorithm(&oid, parameters.as_deref());
            certificate.subject() != certificate.issuer()
                && known.is_none_or(|known| known.safety == Safety::Vulnerable)
        })
    })
}

/// First and last second of validity, since 1970.
pub(crate) fn validity(der: &CertificateDer<'_>) -> Result<(i64, i64), String> {
    let certificate = parse(der)?;
    let validity = certificate.validity();
    Ok((validity.not_before.timestamp(), validity.not_after.timestamp()))
}

/// The scheme of the signature on a certificate, or its algorithm's name where this project verifies none such.
pub(crate) fn signed_with(der: &CertificateDer<'_>) -> Result<Result<SignatureScheme, String>, String> {
    let certificate = parse(der)?;
    let algorithm = &certificate.signature_algorithm;
    Ok(scheme::of_signature(algorithm).ok_or_else(|| algorithm_name(scheme::label(algorithm))))
}

/// Whether subject and issuer are the same name.
pub(crate) fn is_self_issued(der: &CertificateDer<'_>) -> bool {
    parse(der).is_ok_and(|certificate| certificate.subject() == certificate.issuer())
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing into a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
