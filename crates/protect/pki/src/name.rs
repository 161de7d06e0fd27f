//! The names a network function's certificate may carry.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::Error;

/// The name by which the authority's user calls a certificate: its common name, and the stem of its files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name(String);

/// A DNS name in the preferred syntax of RFC 1123, lower case, without wildcard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DnsName(String);

/// A subject alternative name (RFC 5280, section 4.2.1.6) of the kinds TS 33.310 uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AlternativeName {
    /// The fully qualified domain name of the network function.
    Dns(DnsName),
    /// An address by which other functions reach it.
    Ip(IpAddr),
    /// Its NF instance identifier as `urn:uuid:` (TS 29.510, clause 6.1.6.2.2), or another URI.
    Uri(String),
}

/// The type of a network function, `NRF` or `AMF`, for the extension of RFC 9310.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NfType(String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Error;

    /// One to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit: it becomes part of file names.
    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason| refuse("name", text, reason);
        if text.is_empty() || text.len() > 64 {
            return Err(refuse("not between 1 and 64 characters"));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(refuse("does not begin with a letter or a digit"));
        }
        if !text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) {
            return Err(refuse("has a character other than letters, digits, '.', '_' and '-'"));
        }
        if ["ca", "root", "intermediate"].contains(&text.to_ascii_lowercase().as_str()) {
            return Err(refuse("is a name of the authority itself"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl DnsName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DnsName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason| refuse("DNS name", text, reason);
        if text.contains('*') {
            return Err(refuse(
                "is a wildcard, and a wildcard stands for every network function",
            ));
        }
        if text.is_empty() || text.len() > 253 {
            return Err(refuse("not between 1 and 253 characters"));
        }
        if text.parse::<IpAddr>().is_ok() {
            return Err(refuse("is an IP address"));
        }
        for label in text.split('.') {
            if label.is_empty() || label.len() > 63 {
                return Err(refuse("has an empty label or one of more than 63 characters"));
            }
            if !label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(refuse("has a character other than letters, digits, '-' and '.'"));
            }
            if label.starts_with('-') || label.ends_with('-') {
                return Err(refuse("has a label that begins or ends with '-'"));
            }
        }
        // A name whose last label is a number would be read as an address (RFC 1123, section 2.1).
        if text
            .rsplit('.')
            .next()
            .is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()))
        {
            return Err(refuse("ends in a number"));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl AlternativeName {
    /// Reads a DNS name.
    pub fn dns(text: &str) -> Result<Self, Error> {
        text.parse().map(Self::Dns)
    }

    /// Reads an IPv4 or IPv6 address.
    pub fn ip(text: &str) -> Result<Self, Error> {
        let address: IpAddr = text
            .parse()
            .map_err(|_| refuse("IP address", text, "is neither an IPv4 nor an IPv6 address"))?;
        if address.is_unspecified() || address.is_multicast() {
            return Err(refuse("IP address", text, "is not the address of one host"));
        }
        Ok(Self::Ip(address))
    }

    /// Reads a URI: `urn:uuid:` with a UUID, lower case as RFC 9562 writes it, or a URI with scheme and authority
    /// (`https://…`, `spiffe://…`).
    pub fn uri(text: &str) -> Result<Self, Error> {
        let refuse = |reason| refuse("URI", text, reason);
        if text.len() > 2048
            || !text
                .bytes()
                .all(|b| b.is_ascii_graphic() && !b"<>\"{}|\\^`".contains(&b))
        {
            return Err(refuse("has a character that may not stand in a URI"));
        }
        let (scheme, rest) = text.split_once(':').ok_or_else(|| refuse("has no scheme"))?;
        match scheme.to_ascii_lowercase().as_str() {
            "urn" => {
                let uuid = rest
                    .split_once(':')
                    .filter(|(kind, _)| kind.eq_ignore_ascii_case("uuid"))
                    .map(|(_, uuid)| uuid)
                    .ok_or_else(|| refuse("is a URN, but not urn:uuid:"))?;
                if !is_uuid(uuid) {
                    return Err(refuse("is not a UUID of 8-4-4-4-12 hexadecimal digits"));
                }
                Ok(Self::Uri(format!("urn:uuid:{}", uuid.to_ascii_lowercase())))
            }
            "https" | "http" | "spiffe" => {
                // RFC 5280, section 4.2.1.6: a scheme with an authority needs a host in it.
                let host = rest.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next());
                if host.flatten().is_none_or(str::is_empty) {
                    return Err(refuse("names no host"));
                }
                Ok(Self::Uri(text.to_owned()))
            }
            _ => Err(refuse("has a scheme other than urn:uuid, https, http and spiffe")),
        }
    }
}

/// `DNS:nrf.5gc`, `IP:10.0.0.2`, `URI:urn:uuid:…`, as OpenSSL writes them.
impl fmt::Display for AlternativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => write!(f, "DNS:{}", name.as_str()),
            Self::Ip(address) => write!(f, "IP:{address}"),
            Self::Uri(uri) => write!(f, "URI:{uri}"),
        }
    }
}

impl FromStr for AlternativeName {
    type Err = Error;

    /// Reads what [`fmt::Display`] writes.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            Some(("DNS", name)) => Self::dns(name),
            Some(("IP", address)) => Self::ip(address),
            Some(("URI", uri)) => Self::uri(uri),
            _ => Err(refuse("name", text, "is neither DNS:, IP: nor URI:")),
        }
    }
}

impl Serialize for AlternativeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl NfType {
    /// The type as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NfType {
    type Err = Error;

    /// One to 32 letters, digits or `_`, beginning with a letter, kept in upper case as TS 29.510 (NFType) has them.
    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason| refuse("network function type", text, reason);
        // RFC 9310, section 3: IA5String (SIZE (1..32)).
        if text.is_empty() || text.len() > 32 {
            return Err(refuse("not between 1 and 32 characters"));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        {
            return Err(refuse("has a character other than letters, digits, '_' and '-'"));
        }
        Ok(Self(text.to_ascii_uppercase()))
    }
}

fn refuse(what: &'static str, value: &str, reason: &'static str) -> Error {
    Error::Name {
        what,
        value: value.chars().take(256).collect(),
        reason,
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, octet)| match at {
            8 | 13 | 18 | 23 => octet == b'-',
            _ => octet.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_network_functions_are_taken() {
        for name in ["nrf", "amf-1", "o-cu.cp", "SMF_2", "5gc"] {
            assert_eq!(name.parse::<Name>().unwrap().as_str(), name);
        }
        let dns = "NRF.5gc.mnc001.mcc001.3gppnetwork.org".parse::<DnsName>().unwrap();
        assert_eq!(dns.as_str(), "nrf.5gc.mnc001.mcc001.3gppnetwork.org");
        assert_eq!(
            AlternativeName::ip("2001:DB8::1").unwrap().to_string(),
            "IP:2001:db8::1"
        );
    }

    #[test]
    fn a_name_cannot_leave_its_directory_or_hide() {
        for name in [
            "", ".", "..", "../nrf", "a/b", ".nrf", "-nrf", "nrf\0", "CA", "root", "é",
        ] {
            assert!(name.parse::<Name>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn dns_names_outside_the_preferred_syntax_are_refused() {
        let long_label = "a".repeat(64);
        for name in [
            "",
            "*.5gc",
            "nrf..5gc",
            "nrf.",
            ".nrf",
            "-nrf",
            "nrf-",
            "n_rf",
            "10.0.0.1",
            "nrf.1",
            &long_label,
        ] {
            assert!(name.parse::<DnsName>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn an_nf_instance_identifier_must_be_a_uuid() {
        let id = "urn:uuid:4947A69A-F61B-4BC1-B9DA-47C9C5D14B64";
        assert_eq!(
            AlternativeName::uri(id).unwrap(),
            AlternativeName::Uri("urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64".to_owned())
        );
        for uri in [
            "urn:uuid:nrf",
            "urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b6",
            "urn:uuid:{4947a69a-f61b-4bc1-b9da-47c9c5d14b6}",
            "urn:oid:1.2.3",
            "4947a69a-f61b-4bc1-b9da-47c9c5d14b64",
            "https:///nowhere",
            "https:nrf",
            "file:///etc/passwd",
            "https://nrf .5gc",
        ] {
            assert!(AlternativeName::uri(uri).is_err(), "{uri:?}");
        }
        assert!(AlternativeName::uri("https://scp.5gc/api").is_ok());
    }

    #[test]
    fn an_address_of_nobody_is_refused() {
        for address in ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "10.0.0", "10.0.0.1/8"] {
            assert!(AlternativeName::ip(address).is_err(), "{address:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,300}") {
            let _ = (text.parse::<Name>(), text.parse::<DnsName>(), text.parse::<NfType>());
            let _ = (AlternativeName::dns(&text), AlternativeName::ip(&text), AlternativeName::uri(&text));
        }

        #[test]
        fn every_accepted_name_is_read_back_as_it_is_shown(text in "[a-zA-Z0-9.:-]{1,80}") {
            let read = [AlternativeName::dns(&text), AlternativeName::ip(&text), AlternativeName::uri(&text)];
            for name in read.into_iter().flatten() {
                prop_assert_eq!(name.to_string().parse::<AlternativeName>().unwrap(), name);
            }
        }
    }
}
