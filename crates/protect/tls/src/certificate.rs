//! Names, labels and dates of a certificate. Trust is decided elsewhere.

use data_encoding::HEXLOWER;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bartizan_ledger as ledger;
use bartizan_registry::{Safety, SignatureScheme, x509_algorithm};
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::scheme;
use crate::terms::names;

/// A ledger keeps no more of a peer's chain than this; TLS bounds it to 64 KiB, which could hold hundreds.
const LONGEST_CHAIN: usize = 10;
/// Largest number of names kept of one certificate; [`LONGEST_TEXT`] bounds each. Any peer can send
/// a certificate of 64 KiB, trusted or not.
const MOST_NAMES: usize = 32;
const LONGEST_TEXT: usize = 256;

/// Names of a leaf, read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    pub(crate) dns: Vec<String>,
    pub(crate) ip: Vec<IpAddr>,
    pub(crate) uri: Vec<String>,
}

bartizan_registry::made! {
    /// Contents of a leaf that the checks here need.
    #[derive(Debug, Clone)]
    pub(crate) struct Leaf, pub(crate) read(der: &CertificateDer<'_>) -> Result<Self, String> {
        let certificate = parse(der)?;
        let usage = certificate
            .key_usage()
            .map_err(|error| format!("key usage cannot be read: {error}"))?;
        pub(crate) names: Names = Names::read(&certificate)?,
        /// The scheme its key signs in; none where this project verifies no such key.
        pub(crate) scheme: Option<SignatureScheme> = scheme::of_key(certificate.public_key()),
        /// Its key's algorithm as text.
        pub(crate) key: String = algorithm_name(scheme::label(&certificate.public_key().algorithm)),
        /// Key usage, where present, includes digitalSignature (RFC 5280, section 4.2.1.3).
        pub(crate) signs: bool = usage.is_none_or(|usage| usage.value.digital_signature()),
    }
}

/// Reads a certificate with nothing behind it.
fn parse<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, String> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err("has bytes behind its end".into()),
        Err(error) => Err(format!("is not a certificate: {error}")),
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

    /// In the ledger's form: `dns:`, `ip:`, `uri:`.
    pub(crate) fn listed(&self) -> Vec<String> {
        let dns = self.dns.iter().map(|name| format!("dns:{}", printable(name)));
        let ip = self.ip.iter().map(|address| format!("ip:{address}"));
        let uri = self.uri.iter().map(|uri| format!("uri:{}", printable(uri)));
        dns.chain(ip).chain(uri).take(MOST_NAMES).collect()
    }

    /// The same in a sentence.
    pub(crate) fn in_words(&self) -> String {
        let listed = self.listed();
        if listed.is_empty() {
            "no name".to_owned()
        } else {
            names(&listed)
        }
    }
}

/// Text of an unauthenticated peer: cut, and with anything that would not print escaped.
fn printable(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).flat_map(char::escape_debug).collect()
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

/// The same of one certificate, by its DER encoding.
pub fn certificate_of(der: &[u8]) -> ledger::Certificate {
    entry(&CertificateDer::from(der))
}

fn entry(der: &CertificateDer<'_>) -> ledger::Certificate {
    let sha256 = HEXLOWER.encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, der).as_ref());
    match parse(der) {
        Ok(certificate) => ledger::Certificate {
            subject: printable(&certificate.subject().to_string()),
            serial: HEXLOWER.encode(certificate.raw_serial()),
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

/// Returns true if any signature in the chain falls to a quantum computer. The signature of a
/// self-issued root counts for nothing: trust in it comes from a file, not from itself.
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

/// Returns true if subject and issuer are the same name.
pub(crate) fn is_self_issued(der: &CertificateDer<'_>) -> bool {
    parse(der).is_ok_and(|certificate| certificate.subject() == certificate.issuer())
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, SanType};

    use super::*;

    fn certificate(names: Vec<SanType>) -> CertificateDer<'static> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.self_signed(&key).unwrap().der().clone()
    }

    fn dns(name: &str) -> SanType {
        SanType::DnsName(name.try_into().unwrap())
    }

    #[test]
    fn names_are_read_in_lower_case_and_listed_by_kind() {
        let leaf = Leaf::read(&certificate(vec![
            SanType::URI("urn:uuid:AB".try_into().unwrap()),
            dns("NRF.5gc"),
            SanType::IpAddress("10.0.0.2".parse().unwrap()),
            SanType::IpAddress("2001:db8::2".parse().unwrap()),
        ]))
        .unwrap();
        let listed = ["dns:nrf.5gc", "ip:10.0.0.2", "ip:2001:db8::2", "uri:urn:uuid:AB"];
        assert_eq!(leaf.names.listed(), listed);
        assert_eq!(leaf.scheme, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
        assert!(leaf.signs);
    }

    #[test]
    fn what_an_unauthenticated_peer_put_into_a_certificate_fills_no_log() {
        let many = (0..2000)
            .map(|number| dns(&format!("n{number}.{}", "x".repeat(20))))
            .collect();
        let odd = vec![dns("a\u{7}\nforged log line"), dns(&"y".repeat(5000))];
        for names in [many, odd] {
            let der = certificate(names);
            let kept = &chain(from_ref(&der))[0];
            assert!(kept.names.len() <= MOST_NAMES);
            let printed = format!("{kept:?}");
            assert!(
                kept.names.iter().all(|name| name.len() < 2000 && !name.contains('\n')),
                "{printed}"
            );
            assert!(Leaf::read(&der).unwrap().names.in_words().len() < 8000);
        }
        assert_eq!(chain(&vec![certificate(Vec::new()); 50]).len(), LONGEST_CHAIN);
    }

    #[test]
    fn a_chain_with_something_unreadable_keeps_its_place_and_hash() {
        let kept = chain(&[CertificateDer::from(vec![1, 2, 3]), certificate(vec![dns("nrf")])]);
        assert_eq!(kept[0].subject, "unreadable");
        assert_eq!(
            kept[0].sha256,
            "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81"
        );
        assert_eq!(kept[1].names, ["dns:nrf"]);
    }

    #[test]
    fn bytes_behind_a_certificate_make_it_unreadable() {
        let mut der = certificate(vec![dns("nrf")]).to_vec();
        der.push(0);
        assert!(
            Leaf::read(&CertificateDer::from(der))
                .unwrap_err()
                .contains("behind its end")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_for_a_certificate_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let der = CertificateDer::from(bytes);
            let _ = (Leaf::read(&der), chain(from_ref(&der)), any_classical_signature(from_ref(&der)), validity(&der));
        }

        #[test]
        fn no_change_of_a_certificate_makes_it_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>(),
        ) {
            static GOOD: LazyLock<CertificateDer<'static>> =
                LazyLock::new(|| certificate(vec![dns("nrf"), SanType::IpAddress("10.0.0.2".parse().unwrap())]));
            let mut bytes = GOOD.to_vec();
            for (index, byte) in changes {
                let at = index.index(bytes.len());
                bytes[at] = byte;
            }
            let cut = cut.index(bytes.len() * 4);
            bytes.truncate(cut.max(1));
            let der = CertificateDer::from(bytes);
            let _ = (Leaf::read(&der), chain(from_ref(&der)), signed_with(&der), is_self_issued(&der));
        }
    }
}
