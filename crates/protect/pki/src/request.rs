//! Certificate signing requests (PKCS#10, RFC 2986): read, and believed only where they prove something.

use aws_lc_rs::signature::VerificationAlgorithm;
use pkcs8::ObjectIdentifier;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::der_parser::oid::Oid;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;

use crate::certificate::{address, public_key, to_pem};
use crate::{Algorithm, AlternativeName, Error, PrivateKey, PublicKey, profile};

/// A request larger than this is none: ML-DSA-87's is 7.5 kB of DER.
const LARGEST: usize = 256 * 1024;

/// A request whose sender has proved to hold the private key.
///
/// Only the names that it asks for can be taken over, and only if the authority's user says so.
#[derive(Debug, Clone)]
pub struct SigningRequest {
    public_key: PublicKey,
    common_name: Option<String>,
    names: Vec<AlternativeName>,
    unusable: Vec<String>,
}

impl SigningRequest {
    /// Writes one as PEM: for a network function with this key and these names, to be given to another authority.
    pub fn write(key: &PrivateKey, names: &[AlternativeName]) -> Result<String, Error> {
        if names.is_empty() {
            return Err(Error::NoNames);
        }
        let request = profile::request(names)?.serialize_request(key)?;
        Ok(to_pem("CERTIFICATE REQUEST", request.der()))
    }

    /// Reads the first request of a PEM text, or one in DER, and verifies its signature.
    pub fn read(contents: &[u8]) -> Result<Self, Error> {
        if contents.len() > LARGEST {
            return Err(Error::Request(format!("{} octets are too many", contents.len())));
        }
        // DER begins with the tag of a SEQUENCE, which no PEM text does.
        if contents.first() == Some(&0x30) {
            return Self::from_der(contents);
        }
        let blocks = pem::parse_many(contents).map_err(|error| Error::Request(error.to_string()))?;
        let block = blocks
            .iter()
            .find(|block| ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"].contains(&block.tag()))
            .ok_or_else(|| match blocks.first() {
                Some(other) => Error::Request(format!("a {} is in it, no CERTIFICATE REQUEST", other.tag())),
                None => Error::Request("no PEM block in it".to_owned()),
            })?;
        Self::from_der(block.contents())
    }

    fn from_der(der: &[u8]) -> Result<Self, Error> {
        let (rest, parsed) =
            X509CertificationRequest::from_der(der).map_err(|error| Error::Request(error.to_string()))?;
        if !rest.is_empty() {
            return Err(Error::Request("octets after the request".to_owned()));
        }
        let info = &parsed.certification_request_info;
        let key = public_key(&info.subject_pki)
            .ok_or_else(|| Error::RequestKey(key_type(&info.subject_pki.algorithm.algorithm)))?;
        if parsed.signature_value.unused_bits != 0 {
            return Err(Error::Request(
                "its signature is not a number of whole octets".to_owned(),
            ));
        }
        let scheme = scheme(key.algorithm(), &parsed.signature_algorithm.algorithm)?;
        key.verify(scheme, info.raw, &parsed.signature_value.data)?;

        let (names, unusable) = requested_names(&parsed);
        let common_name = info
            .subject
            .iter_common_name()
            .next()
            .and_then(|name| name.as_str().ok())
            .map(str::to_owned);
        Ok(Self {
            public_key: key,
            common_name,
            names,
            unusable,
        })
    }

    /// The key to be certified.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// The common name in the request's subject.
    pub fn common_name(&self) -> Option<&str> {
        self.common_name.as_deref()
    }

    /// The subject alternative names asked for that a network function may have.
    pub fn names(&self) -> &[AlternativeName] {
        &self.names
    }

    /// The names asked for that no certificate of this authority can carry, each with the reason.
    pub fn unusable_names(&self) -> &[String] {
        &self.unusable
    }
}

fn requested_names(request: &X509CertificationRequest<'_>) -> (Vec<AlternativeName>, Vec<String>) {
    let (mut names, mut unusable) = (Vec::new(), Vec::new());
    let asked = request
        .requested_extensions()
        .into_iter()
        .flatten()
        .filter_map(|extension| match extension {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        })
        .flatten();
    for name in asked {
        let read = match name {
            GeneralName::DNSName(name) => AlternativeName::dns(name),
            GeneralName::URI(uri) => AlternativeName::uri(uri),
            GeneralName::IPAddress(octets) => match address(octets) {
                Some(address) => AlternativeName::ip(&address.to_string()),
                None => {
                    unusable.push(format!("an address of {} octets", octets.len()));
                    continue;
                }
            },
            other => {
                unusable.push(format!("{other}: not a DNS name, address or URI"));
                continue;
            }
        };
        match read {
            Ok(name) => names.push(name),
            Err(error) => unusable.push(error.to_string()),
        }
    }
    (names, unusable)
}

/// Verification of a request's signature: the algorithm it names must fit its key.
fn scheme(key: Algorithm, named: &Oid<'_>) -> Result<&'static dyn VerificationAlgorithm, Error> {
    ObjectIdentifier::from_bytes(named.as_bytes())
        .ok()
        .and_then(|oid| key.verification(oid))
        .ok_or_else(|| {
            Error::Request(format!(
                "it is signed with algorithm {named}, which does not fit its {key} key"
            ))
        })
}

pub(crate) fn key_type(algorithm: &Oid<'_>) -> String {
    match algorithm.to_id_string().as_str() {
        "1.2.840.113549.1.1.1" | "1.2.840.113549.1.1.10" => "RSA".to_owned(),
        "1.2.840.10045.2.1" => "EC on another curve than P-256 and P-384".to_owned(),
        "1.3.101.113" => "Ed448".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests;
