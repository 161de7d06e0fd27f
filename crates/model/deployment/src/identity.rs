//! The names a node's certificate must carry.

use std::net::IpAddr;

use crate::error::Fault;
use crate::raw::RawNames;

/// Subject alternative names by which a node is recognised. Of every kind that is listed, the certificate must carry at least
/// one entry: a file that names a DNS name and an NF instance id asks for both. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    dns: Vec<String>,
    ip: Vec<IpAddr>,
    uri: Vec<String>,
}

impl Identity {
    /// DNS names, in lower case.
    #[must_use]
    pub fn dns(&self) -> &[String] {
        &self.dns
    }

    /// IP addresses.
    #[must_use]
    pub fn ip(&self) -> &[IpAddr] {
        &self.ip
    }

    /// URIs, such as `urn:uuid:` NF instance ids (TS 33.310, clause 6.1.3c).
    #[must_use]
    pub fn uri(&self) -> &[String] {
        &self.uri
    }

    /// Returns true if every certificate that passes as this node also passes as `other`.
    pub(crate) fn passes_for(&self, other: &Self) -> bool {
        fn covers<T: PartialEq>(ours: &[T], theirs: &[T]) -> bool {
            theirs.is_empty() || (!ours.is_empty() && ours.iter().all(|name| theirs.contains(name)))
        }
        covers(&self.dns, &other.dns) && covers(&self.ip, &other.ip) && covers(&self.uri, &other.uri)
    }

    /// Without names in the file, the node's own name is the expected DNS name.
    pub(crate) fn of_node(node: &str) -> Result<Self, Fault> {
        dns_name(node).map(|name| Self {
            dns: vec![name],
            ip: Vec::new(),
            uri: Vec::new(),
        })
    }

    pub(crate) fn parse(raw: &RawNames) -> Result<Self, Fault> {
        let mut identity = Self {
            dns: Vec::new(),
            ip: raw.ip.clone(),
            uri: Vec::new(),
        };
        for (index, name) in raw.dns.iter().enumerate() {
            identity
                .dns
                .push(dns_name(name).map_err(|fault| fault.within(&format!("dns[{index}]")))?);
        }
        for (index, uri) in raw.uri.iter().enumerate() {
            if !uri.is_ascii() || !uri.contains(':') || uri.contains(char::is_whitespace) {
                let cause = format!("`{uri}` is not a URI");
                return Err(Fault::new(
                    format!("uri[{index}]"),
                    cause,
                    "an NF instance is urn:uuid: and its id",
                ));
            }
            identity.uri.push(uri.clone());
        }
        if identity.dns.is_empty() && identity.ip.is_empty() && identity.uri.is_empty() {
            return Err(Fault::new(
                "",
                "names nothing",
                "list dns, ip or uri, or leave `names` out",
            ));
        }
        Ok(identity)
    }
}

/// A DNS name by the rules of certificates: letters, digits and hyphens in labels of at most 63 bytes.
fn dns_name(name: &str) -> Result<String, Fault> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() <= 253 && name.split('.').all(label) {
        Ok(name.to_ascii_lowercase())
    } else {
        Err(Fault::new(
            "",
            format!("`{name}` is not a DNS name"),
            "use letters, digits, hyphens and dots; a wildcard names no node",
        ))
    }
}
