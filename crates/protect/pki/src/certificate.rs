//! A certificate as it can be read from its DER.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use pem::{EncodeConfig, LineEnding, Pem};
use pkcs8::ObjectIdentifier;
use pkcs8::der::Decode;
use pkcs8::der::asn1::Ia5StringRef;
use time::OffsetDateTime;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::profile::{CMC_RA, IPSEC_IKE};
use crate::{Algorithm, Error, PrivateKey, Profile, PublicKey, Serial};

/// id-pe-nftype (RFC 9310, section 3).
const NF_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.1.34");

/// A parsed certificate together with its DER.
#[derive(Debug, Clone)]
pub struct Certificate {
    der: Vec<u8>,
    subject: String,
    issuer: String,
    public_key: PublicKey,
    names: Vec<String>,
    functions: Vec<String>,
    profile: Profile,
    serial: Option<Serial>,
    serial_number: String,
    is_authority: bool,
    is_for_both_ends: bool,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
}

impl Certificate {
    /// Reads a DER certificate; `place` is named in errors.
    pub fn from_der(der: &[u8], place: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Certificate {
            place: place.to_owned(),
            reason,
        };
        let (rest, parsed) = X509Certificate::from_der(der).map_err(|error| refuse(error.to_string()))?;
        if !rest.is_empty() {
            return Err(refuse("octets after the certificate".to_owned()));
        }
        let public_key = public_key(parsed.public_key())
            .ok_or_else(|| refuse("its key is of a kind that is not known here".to_owned()))?;
        let names = parsed
            .subject_alternative_name()
            .map_err(|error| refuse(error.to_string()))?
            .map(|extension| extension.value.general_names.iter().map(general_name).collect())
            .unwrap_or_default();
        Ok(Self {
            der: der.to_vec(),
            subject: parsed.subject().to_string(),
            issuer: parsed.issuer().to_string(),
            public_key,
            names,
            functions: functions(&parsed),
            profile: profile(&parsed),
            serial: Serial::from_bytes(parsed.raw_serial()).ok(),
            serial_number: HEXLOWER.encode(parsed.raw_serial()),
            is_authority: parsed.is_ca(),
            is_for_both_ends: is_for_both_ends(&parsed),
            not_before: parsed.validity().not_before.to_datetime(),
            not_after: parsed.validity().not_after.to_datetime(),
        })
    }

    /// Reads the first certificate of a PEM text; `place` is named in errors.
    pub fn from_pem(text: &[u8], place: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Certificate {
            place: place.to_owned(),
            reason,
        };
        let blocks = pem::parse_many(text).map_err(|error| refuse(error.to_string()))?;
        let block = blocks
            .iter()
            .find(|block| block.tag() == "CERTIFICATE")
            .ok_or_else(|| refuse("no CERTIFICATE block in it".to_owned()))?;
        Self::from_der(block.contents(), place)
    }

    /// The certificate, DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The certificate as a PEM text.
    pub fn to_pem(&self) -> String {
        to_pem("CERTIFICATE", &self.der)
    }

    /// Its serial number in hexadecimal, whatever authority gave it.
    pub fn serial_number(&self) -> &str {
        &self.serial_number
    }

    /// The subject's distinguished name.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The issuer's distinguished name.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The certified key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// Kind of the certified key.
    pub fn algorithm(&self) -> Algorithm {
        self.public_key.algorithm()
    }

    /// Returns true if this private key, DER in PKCS#8 or for ECDSA in the form of SEC 1, is the
    /// one of the certified key.
    #[must_use]
    pub fn certifies(&self, private_key: &[u8]) -> bool {
        PrivateKey::public_of(private_key, self.algorithm()).is_some_and(|public| public == self.public_key)
    }

    /// The subject alternative names, as OpenSSL writes them: `DNS:nrf.5gc`, `IP:10.0.0.2`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The network function types (RFC 9310).
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Its profile, by its extended key usage.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Its serial number, where it is of the size that this authority gives.
    pub fn serial(&self) -> Option<Serial> {
        self.serial
    }

    /// Returns true if it may sign certificates, by its basic constraints.
    #[must_use]
    pub fn is_authority(&self) -> bool {
        self.is_authority
    }

    /// Returns true if a peer takes it from a TLS client and from a server: both are among its
    /// extended key usages, or it has none.
    #[must_use]
    pub fn is_for_both_ends(&self) -> bool {
        self.is_for_both_ends
    }

    /// First second of validity.
    pub fn not_before(&self) -> SystemTime {
        system_time(self.not_before)
    }

    /// Last second of validity.
    pub fn not_after(&self) -> SystemTime {
        system_time(self.not_after)
    }

    pub(crate) fn ends(&self) -> OffsetDateTime {
        self.not_after
    }
}

/// A PEM block with the line ends of Unix.
pub(crate) fn to_pem(label: &str, der: &[u8]) -> String {
    pem::encode_config(
        &Pem::new(label, der),
        EncodeConfig::new().set_line_ending(LineEnding::LF),
    )
}

/// The key of a SubjectPublicKeyInfo, if it is of a kind this authority certifies.
pub(crate) fn public_key(info: &SubjectPublicKeyInfo<'_>) -> Option<PublicKey> {
    let identifier = |oid: &x509_parser::der_parser::oid::Oid<'_>| ObjectIdentifier::from_bytes(oid.as_bytes()).ok();
    let curve = match &info.algorithm.parameters {
        None => None,
        Some(parameters) => Some(identifier(&parameters.as_oid().ok()?)?),
    };
    if info.subject_public_key.unused_bits != 0 {
        return None;
    }
    let algorithm = Algorithm::of_key(&identifier(&info.algorithm.algorithm)?, curve.as_ref())?;
    Some(PublicKey::from_raw(algorithm, &info.subject_public_key.data))
}

/// The types in the extension of RFC 9310; none where it is missing or holds something else.
fn functions(certificate: &X509Certificate<'_>) -> Vec<String> {
    let extension = certificate
        .extensions()
        .iter()
        .find(|extension| extension.oid.as_bytes() == NF_TYPE.as_bytes());
    extension
        .and_then(|extension| Vec::<Ia5StringRef<'_>>::from_der(extension.value).ok())
        .map(|types| types.iter().map(|text| text.as_str().to_owned()).collect())
        .unwrap_or_default()
}

/// An IPsec endpoint's where id-kp-ipsecIKE is among its usages (RFC 4945, section 5.1.3.12), a
/// responder's where id-kp-cmcRA is.
fn profile(certificate: &X509Certificate<'_>) -> Profile {
    let usages = certificate.extended_key_usage().ok().flatten();
    let is_for = |purpose: &[u64]| {
        usages.as_ref().is_some_and(|usages| {
            let mut others = usages.value.other.iter();
            others.any(|usage| {
                usage
                    .iter()
                    .is_some_and(|mut arcs| arcs.by_ref().eq(purpose.iter().copied()))
            })
        })
    };
    if is_for(IPSEC_IKE) {
        Profile::Ipsec
    } else if is_for(CMC_RA) {
        Profile::Responder
    } else {
        Profile::NetworkFunction
    }
}

fn is_for_both_ends(certificate: &X509Certificate<'_>) -> bool {
    match certificate.extended_key_usage() {
        Ok(None) => true,
        Ok(Some(usages)) => usages.value.server_auth && usages.value.client_auth,
        Err(_) => false,
    }
}

fn general_name(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(name) => format!("DNS:{name}"),
        GeneralName::URI(uri) => format!("URI:{uri}"),
        GeneralName::IPAddress(octets) => address(octets).map_or("IP:?".to_owned(), |ip| format!("IP:{ip}")),
        other => other.to_string(),
    }
}

/// An iPAddress of a subject alternative name: 4 or 16 octets (RFC 5280, section 4.2.1.6).
pub(crate) fn address(octets: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(octets)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from))
        .ok()
}

fn system_time(moment: OffsetDateTime) -> SystemTime {
    match u64::try_from(moment.unix_timestamp()) {
        Ok(seconds) => SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
        Err(_) => SystemTime::UNIX_EPOCH,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Certificate::from_der(&octets, "test");
            let _ = Certificate::from_pem(&octets, "test");
        }
    }
}
