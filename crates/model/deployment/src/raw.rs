//! The file as it is written: plain data, unknown fields refused, nothing resolved yet.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDeployment {
    #[serde(default)]
    pub(crate) policy: Option<RawPolicy>,
    #[serde(default)]
    pub(crate) trust: Option<RawTrust>,
    pub(crate) nodes: BTreeMap<String, RawNode>,
    #[serde(default)]
    pub(crate) interfaces: Vec<RawInterface>,
}

/// A profile's name, or a map.
#[derive(Debug, Clone)]
pub(crate) enum RawPolicy {
    Profile(String),
    Map(Box<RawPolicyMap>),
}

impl<'de> Deserialize<'de> for RawPolicy {
    // By hand: an untagged enum forgets which field was wrong, and where.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PolicyVisitor)
    }
}

struct PolicyVisitor;

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = RawPolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a profile (hybrid, cnsa2, transition, classical) or a map that begins with one")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<RawPolicy, E> {
        Ok(RawPolicy::Profile(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawPolicy, A::Error> {
        RawPolicyMap::deserialize(MapAccessDeserializer::new(map)).map(|map| RawPolicy::Map(Box::new(map)))
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawPolicyMap {
    #[serde(default)]
    pub(crate) profile: Option<String>,
    #[serde(default)]
    pub(crate) post_quantum: Option<String>,
    #[serde(default)]
    pub(crate) groups: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) signatures: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) chain_signatures: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) expires: Option<String>,
    #[serde(default)]
    pub(crate) lab: bool,
    #[serde(default)]
    pub(crate) resumption: Option<String>,
    #[serde(default)]
    pub(crate) revocation: Option<String>,
    #[serde(default)]
    pub(crate) module: Option<String>,
    #[serde(default)]
    pub(crate) ipsec: Option<RawIpsecPolicy>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawIpsecPolicy {
    #[serde(default)]
    pub(crate) key_exchanges: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) ciphers: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) prfs: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) integrity: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) authentication: Option<String>,
    #[serde(default)]
    pub(crate) signatures: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) breach: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTrust {
    pub(crate) roots: PathBuf,
    #[serde(default)]
    pub(crate) crl: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNode {
    pub(crate) function: String,
    pub(crate) address: IpAddr,
    #[serde(default)]
    pub(crate) names: Option<RawNames>,
    #[serde(default)]
    pub(crate) certificate: Option<PathBuf>,
    #[serde(default)]
    pub(crate) key: Option<PathBuf>,
    #[serde(default)]
    pub(crate) sidecar: Option<RawSidecar>,
    #[serde(default)]
    pub(crate) ipsec: Option<RawIpsecNode>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawIpsecNode {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    #[serde(default)]
    pub(crate) roots: Option<PathBuf>,
    #[serde(default)]
    pub(crate) crl: Option<PathBuf>,
    #[serde(default)]
    pub(crate) external: Option<String>,
    #[serde(default)]
    pub(crate) vici: Option<PathBuf>,
    #[serde(default)]
    pub(crate) ledger: Option<RawLedger>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNames {
    #[serde(default)]
    pub(crate) dns: Vec<String>,
    #[serde(default)]
    pub(crate) ip: Vec<IpAddr>,
    #[serde(default)]
    pub(crate) uri: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSidecar {
    #[serde(default)]
    pub(crate) inbound: Vec<RawInbound>,
    #[serde(default)]
    pub(crate) outbound: Vec<RawOutbound>,
    #[serde(default)]
    pub(crate) admin: Option<SocketAddr>,
    #[serde(default)]
    pub(crate) ledger: Option<RawLedger>,
    #[serde(default)]
    pub(crate) limits: RawLimits,
    #[serde(default)]
    pub(crate) allow: Vec<RawAllowed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawAllowed {
    pub(crate) name: String,
    pub(crate) to: String,
    #[serde(default)]
    pub(crate) protocol: Option<String>,
    pub(crate) port: u16,
}

/// A file's name, or a map with its bounds.
#[derive(Debug, Clone)]
pub(crate) enum RawLedger {
    File(PathBuf),
    Bounded(RawBoundedLedger),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawBoundedLedger {
    pub(crate) file: PathBuf,
    #[serde(default)]
    pub(crate) size: Option<String>,
    #[serde(default)]
    pub(crate) keep: Option<usize>,
}

impl<'de> Deserialize<'de> for RawLedger {
    // By hand, as for policies.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LedgerVisitor)
    }
}

struct LedgerVisitor;

impl<'de> Visitor<'de> for LedgerVisitor {
    type Value = RawLedger;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file, or a map: { file: FILE, size: 64MiB, keep: 20 }")
    }

    fn visit_str<E: de::Error>(self, file: &str) -> Result<RawLedger, E> {
        Ok(RawLedger::File(file.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawLedger, A::Error> {
        RawBoundedLedger::deserialize(MapAccessDeserializer::new(map)).map(RawLedger::Bounded)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawInbound {
    pub(crate) listen: SocketAddr,
    pub(crate) forward: SocketAddr,
    #[serde(default)]
    pub(crate) service: Option<SocketAddr>,
    #[serde(default)]
    pub(crate) interface: Option<String>,
    #[serde(default)]
    pub(crate) path: Option<String>,
    #[serde(default, rename = "x-forwarded-client-cert")]
    pub(crate) x_forwarded_client_cert: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawOutbound {
    pub(crate) listen: SocketAddr,
    #[serde(default)]
    pub(crate) to: Option<String>,
    #[serde(default)]
    pub(crate) transparent: bool,
    #[serde(default)]
    pub(crate) interface: Option<String>,
    #[serde(default)]
    pub(crate) path: Option<String>,
    #[serde(default)]
    pub(crate) warm: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawLimits {
    #[serde(default)]
    pub(crate) connections: Option<usize>,
    #[serde(default)]
    pub(crate) connections_per_address: Option<usize>,
    #[serde(default)]
    pub(crate) handshakes_per_address: Option<usize>,
    #[serde(default)]
    pub(crate) streams: Option<u32>,
    #[serde(default)]
    pub(crate) header_bytes: Option<u32>,
    #[serde(default)]
    pub(crate) requests_per_connection: Option<u64>,
    #[serde(default)]
    pub(crate) handshake: Option<String>,
    #[serde(default)]
    pub(crate) connect: Option<String>,
    #[serde(default)]
    pub(crate) request: Option<String>,
    #[serde(default)]
    pub(crate) stall: Option<String>,
    #[serde(default)]
    pub(crate) drain: Option<String>,
    #[serde(default)]
    pub(crate) idle: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawInterface {
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) between: Option<Vec<RawEnd>>,
    #[serde(default)]
    pub(crate) among: Option<Vec<String>>,
    #[serde(rename = "with")]
    pub(crate) protection: String,
    #[serde(default)]
    pub(crate) policy: Option<RawPolicy>,
    #[serde(default)]
    pub(crate) ipsec: Option<RawIpsecLink>,
    #[serde(default)]
    pub(crate) macsec: Option<RawMacsecLink>,
}

/// One end of an interface: a node, or several that each have a link of their own.
#[derive(Debug, Clone)]
pub(crate) enum RawEnd {
    Node(String),
    Nodes(Vec<String>),
}

impl<'de> Deserialize<'de> for RawEnd {
    // By hand, as for policies.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EndVisitor)
    }
}

struct EndVisitor;

impl<'de> Visitor<'de> for EndVisitor {
    type Value = RawEnd;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node, or a list of nodes")
    }

    fn visit_str<E: de::Error>(self, node: &str) -> Result<RawEnd, E> {
        Ok(RawEnd::Node(node.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, nodes: A) -> Result<RawEnd, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(nodes)).map(RawEnd::Nodes)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawIpsecLink {
    #[serde(default)]
    pub(crate) mode: Option<String>,
    #[serde(default)]
    pub(crate) initiator: Option<String>,
    #[serde(default)]
    pub(crate) outer: BTreeMap<String, IpAddr>,
    #[serde(default)]
    pub(crate) external: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) inner: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) selectors: Option<Vec<RawSelector>>,
    #[serde(default)]
    pub(crate) esn: Option<bool>,
    #[serde(default)]
    pub(crate) replay_window: Option<u32>,
    #[serde(default)]
    pub(crate) ike_dscp: Option<u8>,
    #[serde(default)]
    pub(crate) copy_dscp: Option<String>,
    #[serde(default)]
    pub(crate) rekey_ike: Option<String>,
    #[serde(default)]
    pub(crate) rekey_child: Option<String>,
    #[serde(default)]
    pub(crate) rekey_bytes: Option<u64>,
    #[serde(default)]
    pub(crate) rekey_packets: Option<u64>,
    #[serde(default)]
    pub(crate) reauth: Option<String>,
    #[serde(default)]
    pub(crate) dpd: Option<String>,
    #[serde(default)]
    pub(crate) ike_fragments: Option<bool>,
    #[serde(default)]
    pub(crate) mtu: Option<u16>,
    #[serde(default)]
    pub(crate) start: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawMacsecLink {
    #[serde(default)]
    pub(crate) port: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) device: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) initiator: Option<String>,
    #[serde(default)]
    pub(crate) cipher: Option<String>,
    #[serde(default)]
    pub(crate) confidentiality: Option<String>,
    #[serde(default)]
    pub(crate) replay_window: Option<u32>,
    #[serde(default)]
    pub(crate) mtu: Option<u32>,
    #[serde(default)]
    pub(crate) keying: Option<String>,
    #[serde(default)]
    pub(crate) rekey: Option<String>,
    #[serde(default)]
    pub(crate) rekey_packets: Option<u64>,
    #[serde(default)]
    pub(crate) keys_per_exchange: Option<u64>,
    #[serde(default)]
    pub(crate) unencrypted: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSelector {
    pub(crate) protocol: String,
    #[serde(default)]
    pub(crate) port: Option<u16>,
    #[serde(default)]
    pub(crate) at: Option<String>,
}
