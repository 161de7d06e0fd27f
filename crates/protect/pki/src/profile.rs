//! Contents of a certificate: the profiles of the authority's own certificates, of a network
//! function's and of an IPsec endpoint's.
//!
//! TS 33.310, clause 6.1.3c (service based architecture), and RFC 4945, section 5.1 (IKEv2), over RFC 5280.

use std::fmt;
use std::str::FromStr;

use std::net::IpAddr;

use pkcs8::der::asn1::{AnyRef, Ia5StringRef};
use pkcs8::der::{Encode, Tag, TagNumber};
use rcgen::{
    BasicConstraints, CertificateParams, CrlDistributionPoint, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyUsagePurpose,
};

use crate::lifetime::Validity;
use crate::{AlternativeName, Error, NfType, PublicKey, Serial};

/// id-ce-subjectAltName (RFC 5280, section 4.2.1.6).
const SUBJECT_ALT_NAME: &[u64] = &[2, 5, 29, 17];

/// id-pe-nftype (RFC 9310, section 3).
const NF_TYPE: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 1, 34];

/// id-kp-ipsecIKE (RFC 4945, section 5.1.3.12).
pub(crate) const IPSEC_IKE: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 17];

/// id-kp-cmcRA (RFC 6402, section 2.10).
pub(crate) const CMC_RA: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 28];

/// Most types one certificate may name; a network function has one, a combined one a few.
pub(crate) const MOST_NF_TYPES: usize = 8;

/// ub-common-name (RFC 5280, appendix A.1).
const LONGEST_COMMON_NAME: usize = 64;

/// Fields that the authority puts into every certificate it issues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Issuance {
    pub(crate) organization: Option<String>,
    pub(crate) country: Option<String>,
    pub(crate) crl_url: Option<String>,
}

/// A certification authority's certificate: may sign certificates and revocation lists, nothing else.
pub(crate) fn authority(
    serial: Serial,
    issuance: &Issuance,
    common_name: &str,
    key: &PublicKey,
    validity: Validity,
    path_length: u8,
) -> CertificateParams {
    let mut params = base(serial, issuance, common_name, key, validity);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(path_length));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

bartizan_registry::named! {
    /// Purpose of a certificate.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Profile, name {
        /// A network function: TLS client and server. The default.
        #[default]
        NetworkFunction = "nf",
        /// The authority's server for enrolment (CMP, EST): it says by id-kp-cmcRA that it may (RFC
        /// 6402, section 2.10). No network function takes it for one of its peers' clients.
        Responder = "responder",
        /// An end of IPsec links: IKEv2 alone. Its key and all above it are classical, since no
        /// released strongSwan verifies others; or all of them are ML-DSA, for the engine of Bartizan.
        Ipsec = "ipsec",
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        [Self::NetworkFunction, Self::Ipsec]
            .into_iter()
            .find(|profile| profile.name() == text)
            .ok_or_else(|| Error::UnknownProfile(text.to_owned()))
    }
}

/// A certificate of a network function or of an IPsec endpoint, for the names given.
///
/// Key usage is digitalSignature alone: TLS 1.3 needs no other, and RFC 9881, section 5, forbids
/// the encipherment bits to ML-DSA keys.
#[expect(clippy::too_many_arguments, reason = "each is a field of the certificate")]
pub(crate) fn leaf(
    profile: Profile,
    serial: Serial,
    issuance: &Issuance,
    common_name: &str,
    key: &PublicKey,
    validity: Validity,
    names: &[AlternativeName],
    functions: &[NfType],
) -> Result<CertificateParams, Error> {
    let mut params = base(serial, issuance, common_name, key, validity);
    params.use_authority_key_identifier_extension = true;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // An IPsec endpoint's certificate is of no use in TLS, and the other way round.
    params.extended_key_usages = match profile {
        Profile::NetworkFunction => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        Profile::Responder => vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::Other(CMC_RA.to_vec()),
        ],
        Profile::Ipsec => vec![ExtendedKeyUsagePurpose::Other(IPSEC_IKE.to_vec())],
    };
    params.custom_extensions.push(subject_alt_name(names)?);
    if let Some(url) = &issuance.crl_url {
        params.crl_distribution_points = vec![CrlDistributionPoint {
            uris: vec![url.clone()],
        }];
    }
    if !functions.is_empty() {
        params
            .custom_extensions
            .push(CustomExtension::from_oid_content(NF_TYPE, nf_types(functions)?));
    }
    Ok(params)
}

/// Request to another authority: the names, and the extensions that [`leaf`] has for them.
///
/// The common name is the first DNS name: authorities that want one want one of the names. Without
/// a DNS name there is none.
pub(crate) fn request(names: &[AlternativeName]) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let common = names.iter().find_map(|name| match name {
        AlternativeName::Dns(name) if name.as_str().len() <= LONGEST_COMMON_NAME => Some(name.as_str()),
        _ => None,
    });
    if let Some(common) = common {
        params.distinguished_name.push(DnType::CommonName, common);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.custom_extensions.push(subject_alt_name(names)?);
    Ok(params)
}

fn base(
    serial: Serial,
    issuance: &Issuance,
    common_name: &str,
    key: &PublicKey,
    validity: Validity,
) -> CertificateParams {
    let mut name = DistinguishedName::new();
    if let Some(country) = &issuance.country {
        name.push(DnType::CountryName, rcgen_printable(country));
    }
    if let Some(organization) = &issuance.organization {
        name.push(DnType::OrganizationName, organization.as_str());
    }
    name.push(DnType::CommonName, common_name);

    let mut params = CertificateParams::default();
    params.serial_number = Some(serial.for_rcgen());
    params.distinguished_name = name;
    params.not_before = validity.not_before;
    params.not_after = validity.not_after;
    params.key_identifier_method = KeyIdMethod::PreSpecified(key.identifier());
    params
}

/// The subject alternative names, critical as TS 33.310, clause 6.1.3c, has it: rcgen would write
/// it critical only next to an empty subject.
fn subject_alt_name(names: &[AlternativeName]) -> Result<CustomExtension, Error> {
    let encoding = |error: pkcs8::der::Error| Error::Cryptography(format!("SubjectAltName: {error}"));
    let contents: Vec<(TagNumber, Vec<u8>)> = names
        .iter()
        .map(|name| match name {
            AlternativeName::Dns(name) => (TagNumber(2), name.as_str().as_bytes().to_vec()),
            AlternativeName::Uri(uri) => (TagNumber(6), uri.as_bytes().to_vec()),
            AlternativeName::Ip(IpAddr::V4(address)) => (TagNumber(7), address.octets().to_vec()),
            AlternativeName::Ip(IpAddr::V6(address)) => (TagNumber(7), address.octets().to_vec()),
        })
        .collect();
    let general_names: Vec<AnyRef<'_>> = contents
        .iter()
        .map(|(number, contents)| {
            let tag = Tag::ContextSpecific {
                constructed: false,
                number: *number,
            };
            AnyRef::new(tag, contents).map_err(encoding)
        })
        .collect::<Result<_, _>>()?;
    let mut extension = CustomExtension::from_oid_content(SUBJECT_ALT_NAME, general_names.to_der().map_err(encoding)?);
    extension.set_criticality(true);
    Ok(extension)
}

/// X.520 wants a country as PrintableString; what cannot be one was refused when the authority was made.
fn rcgen_printable(text: &str) -> rcgen::DnValue {
    match rcgen::string::PrintableString::try_from(text) {
        Ok(printable) => rcgen::DnValue::PrintableString(printable),
        Err(_) => rcgen::DnValue::Utf8String(text.to_owned()),
    }
}

/// `NFTypes ::= SEQUENCE SIZE (1..MAX) OF IA5String (SIZE (1..32))`.
fn nf_types(functions: &[NfType]) -> Result<Vec<u8>, Error> {
    let encoding = |error: pkcs8::der::Error| Error::Cryptography(format!("NFTypes: {error}"));
    let types: Vec<Ia5StringRef<'_>> = functions
        .iter()
        .map(|function| Ia5StringRef::new(function.as_str()).map_err(encoding))
        .collect::<Result<_, _>>()?;
    types.to_der().map_err(encoding)
}
