//! The names a node's certificate must carry.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::error::Fault;
use crate::node::not_of_a_host;
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
    pub fn dns(&self) -> &[String] {
        &self.dns
    }

    /// IP addresses.
    pub fn ip(&self) -> &[IpAddr] {
        &self.ip
    }

    /// URIs, such as `urn:uuid:` NF instance ids (TS 33.310, clause 6.1.3c).
    pub fn uri(&self) -> &[String] {
        &self.uri
    }

    /// Its names, each behind the words for its kind: DNS name, IP address, URI.
    pub fn written(&self, [dns, ip, uri]: [&str; 3]) -> impl Iterator<Item = String> {
        let dns = self.dns.iter().map(move |name| format!("{dns}{name}"));
        let ip = self.ip.iter().map(move |address| format!("{ip}{address}"));
        let uri = self.uri.iter().map(move |name| format!("{uri}{name}"));
        dns.chain(ip).chain(uri)
    }

    /// Returns true if every certificate that passes as this node also passes as `other`.
    fn passes_for(&self, other: &Self) -> bool {
        fn covers<T: PartialEq>(ours: &[T], theirs: &[T]) -> bool {
            theirs.is_empty() || (!ours.is_empty() && ours.iter().all(|name| theirs.contains(name)))
        }
        covers(&self.dns, &other.dns) && covers(&self.ip, &other.ip) && covers(&self.uri, &other.uri)
    }

    /// Its names, each with its kind: DNS, IP, URI.
    fn names(&self) -> impl Iterator<Item = (usize, Name<'_>)> {
        let dns = self.dns.iter().map(|name| (DNS, Name::Text(name)));
        let ip = self.ip.iter().map(|address| (IP, Name::Address(*address)));
        let uri = self.uri.iter().map(|uri| (URI, Name::Text(uri)));
        dns.chain(ip).chain(uri)
    }

    /// The kinds of which it has names, a bit each.
    fn kinds(&self) -> usize {
        [self.dns.is_empty(), self.ip.is_empty(), self.uri.is_empty()]
            .iter()
            .enumerate()
            .map(|(kind, is_empty)| usize::from(!is_empty) << kind)
            .sum()
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
        for (index, address) in raw.ip.iter().enumerate() {
            if let Some(cause) = not_of_a_host(*address) {
                let hint = "write the address that the node's certificate carries";
                return Err(Fault::new(format!("ip[{index}]"), cause, hint));
            }
        }
        for (index, name) in raw.dns.iter().enumerate() {
            identity
                .dns
                .push(dns_name(name).map_err(|fault| fault.within(&format!("dns[{index}]")))?);
        }
        for (index, uri) in raw.uri.iter().enumerate() {
            if !uri.is_ascii() || !uri.contains(':') || uri.contains(char::is_whitespace) {
                let cause = format!("`{uri}` is not a URI");
                let hint = "an NF instance is urn:uuid: and its id";
                return Err(Fault::new(format!("uri[{index}]"), cause, hint));
            }
            identity.uri.push(uri.clone());
        }
        if identity.dns.is_empty() && identity.ip.is_empty() && identity.uri.is_empty() {
            let hint = "list dns, ip or uri, or leave `names` out";
            return Err(Fault::new("", "names nothing", hint));
        }
        Ok(identity)
    }
}

/// Kinds of names, as positions of bits.
const DNS: usize = 0;
const IP: usize = 1;
const URI: usize = 2;
/// Sets of kinds that are not empty.
const SETS: std::ops::Range<usize> = 1..8;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name<'a> {
    Text(&'a str),
    Address(IpAddr),
}

/// Positions of two identities of which the first passes for the second.
///
/// An identity can pass for one of certain kinds only where that has all its names of these kinds. So it is compared
/// with those that have its rarest one, not with all.
pub(crate) fn one_passes_for_another(identities: &[&Identity]) -> Option<[usize; 2]> {
    let mut having: HashMap<(usize, usize, Name<'_>), Vec<usize>> = HashMap::new();
    for (place, identity) in identities.iter().enumerate() {
        for (kind, name) in identity.names() {
            let known = having.entry((identity.kinds(), kind, name)).or_default();
            if known.last() != Some(&place) {
                known.push(place);
            }
        }
    }
    for (place, identity) in identities.iter().enumerate() {
        for kinds in SETS.filter(|kinds| kinds & !identity.kinds() == 0) {
            let names = identity.names().filter(|(kind, _)| kinds & (1 << kind) != 0);
            let with_it = names.map(|(kind, name)| having.get(&(kinds, kind, name)).map_or(&[][..], Vec::as_slice));
            let rarest = with_it.min_by_key(|places| places.len()).unwrap_or_default();
            let passes = |other: &&usize| **other != place && identity.passes_for(identities[**other]);
            if let Some(other) = rarest.iter().find(passes) {
                return Some([place, *other]);
            }
        }
    }
    None
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
        let hint = "use letters, digits, hyphens and dots; a wildcard names no node";
        Err(Fault::new("", format!("`{name}` is not a DNS name"), hint))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn identity() -> impl Strategy<Value = Identity> {
        let texts = || prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..3);
        let ip = prop::collection::vec((0..3_u8).prop_map(|last| IpAddr::from([10, 0, 0, last])), 0..3);
        (texts(), ip, texts())
            .prop_map(|(dns, ip, uri)| Identity {
                dns: dns.into_iter().map(str::to_owned).collect(),
                ip,
                uri: uri.into_iter().map(str::to_owned).collect(),
            })
            .prop_filter("an identity has names", |identity| identity.kinds() != 0)
    }

    proptest! {
        #[test]
        fn index_finds_a_pair_where_and_only_where_comparing_all_does(
            identities in prop::collection::vec(identity(), 0..6)
        ) {
            let all: Vec<_> = identities.iter().collect();
            let passes = |one: usize, another: usize| one != another && all[one].passes_for(all[another]);
            let by_all = (0..all.len()).any(|one| (0..all.len()).any(|another| passes(one, another)));
            let found = one_passes_for_another(&all);
            prop_assert_eq!(found.is_some(), by_all);
            prop_assert!(found.is_none_or(|[one, another]| passes(one, another)));
        }
    }
}
