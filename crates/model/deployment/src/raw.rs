//! The file as it is written: plain data, unknown fields refused, nothing resolved yet.
//!
//! The [schema](crate::schema) is derived from these types: editors show the comment of each field.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::interface::{Carrier, Protection};
use crate::ipsec::{Breach, CopyDscp, DataPath, IkeAuthentication, IkeEngine, Mode, Offload, Start, TrafficProtocol};
use crate::macsec::Confidentiality;
use crate::policy::{Module, PostQuantum, Profile, Revocation};
use crate::schema::{
    Ciphers, Groups, Integrity, KeyExchanges, Keyings, Kind, MacsecCiphers, PacketProtocols, Prfs, Resumptions,
    Signatures, Text, Unprotected,
};
use crate::sidecar::Path;
use crate::url::HttpUrl;

/// Nodes of a file at most: each takes some kilobytes when it is checked.
const MOST_NODES: usize = 200_000;
/// Cause where a file has more.
pub(crate) const TOO_MANY_NODES: &str = "it has more than 200,000 nodes";

/// An address, or several, in the form in which packets carry it.
trait Canonical {
    /// `::ffff:192.0.2.1` is 192.0.2.1: the kernel sends IPv4 there, past every rule for IPv6.
    fn canonical(self) -> Self;
}

impl Canonical for IpAddr {
    fn canonical(self) -> Self {
        self.to_canonical()
    }
}

impl Canonical for SocketAddr {
    fn canonical(self) -> Self {
        match self.ip().to_canonical() {
            address @ IpAddr::V4(_) => Self::new(address, self.port()),
            IpAddr::V6(_) => self,
        }
    }
}

impl<T: Canonical> Canonical for Option<T> {
    fn canonical(self) -> Self {
        self.map(T::canonical)
    }
}

impl<T: Canonical> Canonical for Vec<T> {
    fn canonical(self) -> Self {
        self.into_iter().map(T::canonical).collect()
    }
}

impl<T: Canonical> Canonical for BTreeMap<String, T> {
    fn canonical(self) -> Self {
        self.into_iter()
            .map(|(name, address)| (name, address.canonical()))
            .collect()
    }
}

fn canonical<'de, D: Deserializer<'de>, T: Canonical + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(deserializer).map(T::canonical)
}

/// Reads nodes, and stops at the first beyond the bound.
fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, RawNode>, D::Error> {
    struct Nodes;

    impl<'de> Visitor<'de> for Nodes {
        type Value = BTreeMap<String, RawNode>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("nodes by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut nodes = BTreeMap::new();
            while let Some((name, node)) = map.next_entry()? {
                if nodes.len() == MOST_NODES {
                    return Err(de::Error::custom(TOO_MANY_NODES));
                }
                nodes.insert(name, node);
            }
            Ok(nodes)
        }
    }

    deserializer.deserialize_map(Nodes)
}

/// A network: its nodes, the interfaces that join them, and what protects each.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDeployment {
    /// What holds where an interface names no policy of its own. Default: hybrid.
    pub(crate) policy: Option<RawPolicy>,
    /// What every node trusts.
    pub(crate) trust: Option<RawTrust>,
    /// Network functions and O-RAN elements, by name.
    #[serde(deserialize_with = "bounded")]
    pub(crate) nodes: BTreeMap<String, RawNode>,
    /// What joins the nodes, and what protects it.
    #[serde(default)]
    pub(crate) interfaces: Vec<RawInterface>,
}

/// A field's short form, a string, or its long form, a map.
#[derive(Debug, Clone)]
pub(crate) enum Short<T> {
    Text(String),
    Map(Box<T>),
}

/// The long form of a field that has a short one.
pub(crate) trait Long: JsonSchema + for<'de> Deserialize<'de> {
    /// Name in the schema.
    const NAME: &'static str;
    /// Both forms, for a message.
    const FORMS: &'static str;

    /// Schema of the short form.
    fn short(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<String>()
    }
}

impl<'de, T: Long> Deserialize<'de> for Short<T> {
    // By hand: an untagged enum forgets which field was wrong, and where.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShortVisitor(PhantomData))
    }
}

impl<T: Long> JsonSchema for Short<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (short, map) = (T::short(generator), generator.subschema_for::<T>());
        json_schema!({ "anyOf": [short, map] })
    }
}

struct ShortVisitor<T>(PhantomData<T>);

impl<'de, T: Long> Visitor<'de> for ShortVisitor<T> {
    type Value = Short<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::FORMS)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Short<T>, E> {
        Ok(Short::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Short<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|map| Short::Map(Box::new(map)))
    }
}

/// A profile's name, or a map.
pub(crate) type RawPolicy = Short<RawPolicyMap>;

impl Long for RawPolicyMap {
    const NAME: &'static str = "RawPolicy";
    const FORMS: &'static str = "a profile (hybrid, cnsa2, transition, classical) or a map that begins with one";

    fn short(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Text<Profile>>()
    }
}

/// What a handshake may negotiate.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawPolicyMap {
    /// Where the policy starts. Default: hybrid.
    pub(crate) profile: Option<Text<Profile>>,
    /// Whether post-quantum is required (hybrid, cnsa2), comes first (transition: prefer) or last (transition: allow).
    pub(crate) post_quantum: Option<Text<PostQuantum>>,
    /// Key exchange groups, most wanted first, by the names of `bartizan algorithms`.
    pub(crate) groups: Option<Vec<Text<Groups>>>,
    /// What peers may sign the handshake with, and what this node's own key must be.
    pub(crate) signatures: Option<Vec<Text<Signatures>>>,
    /// What certificates and revocation lists may be signed with.
    pub(crate) chain_signatures: Option<Vec<Text<Signatures>>>,
    /// Of transition: why classical handshakes must pass for now.
    pub(crate) reason: Option<String>,
    /// Person or team that answers for a transition, for reports.
    pub(crate) owner: Option<String>,
    /// Of transition: the last day (UTC) on which they do, as 2027-06-30.
    pub(crate) expires: Option<String>,
    /// Admits what protects nothing or too little: the profile classical, and MLKEM512. For measurements.
    #[serde(default)]
    pub(crate) lab: bool,
    /// Whether sessions may be resumed: off (the default), or for how long after the full handshake, up to 24h.
    pub(crate) resumption: Option<Text<Resumptions>>,
    /// What a missing or stale revocation list means: nothing (if-present, the default), or that a certificate is refused (require).
    pub(crate) revocation: Option<Text<Revocation>>,
    /// validated: the cryptographic module must be validated under FIPS 140-3.
    pub(crate) module: Option<Text<Module>>,
    /// What it asks of links that IPsec protects.
    pub(crate) ipsec: Option<RawIpsecPolicy>,
}

/// What a policy asks of IKEv2 and ESP, in strongSwan's keywords.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawIpsecPolicy {
    /// What IKE_SAs are keyed by, and CHILD_SAs at every rekey; most wanted first.
    pub(crate) key_exchanges: Option<Vec<Text<KeyExchanges>>>,
    /// Ciphers of IKE and of ESP, most wanted first.
    pub(crate) ciphers: Option<Vec<Text<Ciphers>>>,
    /// Pseudo-random functions of IKE, most wanted first.
    pub(crate) prfs: Option<Vec<Text<Prfs>>>,
    /// Integrity algorithms, for ciphers that do not authenticate. Default: sha384.
    pub(crate) integrity: Option<Vec<Text<Integrity>>>,
    /// Whether a peer may prove itself by a classical signature.
    pub(crate) authentication: Option<Text<IkeAuthentication>>,
    /// Schemes of the AUTH payload.
    pub(crate) signatures: Option<Vec<Text<Signatures>>>,
    /// What becomes of an SA that breaks the policy: it is taken down (the default), or reported.
    pub(crate) breach: Option<Text<Breach>>,
}

/// What every node trusts. Paths start from the folder of the deployment file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTrust {
    /// Roots, PEM, one or more: to roll a root over, list both.
    pub(crate) roots: PathBuf,
    /// Revocation lists, PEM, of the root and of every intermediate: a file, or a map that says
    /// where they are fetched.
    pub(crate) crl: Option<RawLists>,
    /// A folder of each host in which the newest lists are remembered: an older one is refused
    /// after a restart too.
    pub(crate) state: Option<PathBuf>,
}

impl RawTrust {
    /// The file in which a node remembers lists; those of TLS and of IKE may be of different roots.
    pub(crate) fn known_lists(&self, base: &std::path::Path, node: &str, protocol: &str) -> Option<PathBuf> {
        let state = self.state.as_ref()?;
        Some(base.join(state).join(format!("{node}.{protocol}.crl.pem")))
    }
}

/// A file's name, or a map with the URL that it is fetched from.
pub(crate) type RawLists = Short<RawFetchedLists>;

/// Revocation lists that the node fetches.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFetchedLists {
    /// Their address: http://HOST:PORT/crl.pem of `bartizan ca serve`, or a distribution point.
    /// They are signed, so plain HTTP is enough.
    #[schemars(with = "String")]
    pub(crate) url: HttpUrl,
    /// The file that they are kept in. The service of the node must be allowed to write in its folder.
    pub(crate) file: PathBuf,
}

impl Long for RawFetchedLists {
    const NAME: &'static str = "RawLists";
    const FORMS: &'static str = "a file, or a map: { url: http://HOST:PORT/crl.pem, file: FILE }";
}

impl RawLists {
    pub(crate) fn file(&self, base: &std::path::Path) -> PathBuf {
        match self {
            Self::Text(file) => base.join(file),
            Self::Map(fetched) => base.join(&fetched.file),
        }
    }

    pub(crate) fn url(&self) -> Option<HttpUrl> {
        match self {
            Self::Text(_) => None,
            Self::Map(fetched) => Some(fetched.url.clone()),
        }
    }
}

/// A network function or an O-RAN element.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNode {
    /// What it is, in the standards' words: NRF, AMF, O-CU-CP, near-RT RIC.
    pub(crate) function: String,
    /// Its IP address on the network. Names are not looked up.
    #[serde(deserialize_with = "canonical")]
    pub(crate) address: IpAddr,
    /// The names its certificate must carry. Default: the node's own name, as a DNS name.
    pub(crate) names: Option<RawNames>,
    /// Its chain, PEM: leaf, then intermediates, without the root.
    pub(crate) certificate: Option<PathBuf>,
    /// Its private key, PKCS#8 PEM.
    pub(crate) key: Option<PathBuf>,
    /// Several chains with their keys, instead of `certificate` and `key`: for peers of different
    /// policies.
    pub(crate) certificates: Option<Vec<RawCertificate>>,
    /// Its sidecar.
    pub(crate) sidecar: Option<RawSidecar>,
    /// Instead of a sidecar: TLS of its own. Its listeners; an empty list for a client.
    #[serde(default)]
    pub(crate) tls: Option<Vec<RawTls>>,
    /// Settings for IPsec.
    pub(crate) ipsec: Option<RawIpsecNode>,
}

/// A certificate chain and its private key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCertificate {
    /// The chain, PEM: leaf, then intermediates, without the root.
    pub(crate) certificate: PathBuf,
    /// The private key, PKCS#8 PEM.
    pub(crate) key: PathBuf,
}

/// A pre-shared key that both ends of an IPsec link have.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPpk {
    /// What both ends call it.
    pub(crate) id: String,
    /// The file that holds it, in hexadecimal: `openssl rand -hex 32`.
    pub(crate) file: PathBuf,
    /// Whether a peer that does not have it is refused. Default: true.
    pub(crate) required: Option<bool>,
}

/// What a node has for IPsec.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawIpsecNode {
    /// Which IKE daemon negotiates for it: strongswan (the default), or bartizan, its own, which authenticates with ML-DSA too.
    pub(crate) engine: Option<Text<IkeEngine>>,
    /// Who does ESP: kernel (the default), or userspace, the engine of Bartizan itself through a TUN device, for kernels without ESP.
    #[serde(default, rename = "data-path")]
    pub(crate) data_path: Option<Text<DataPath>>,
    /// What the network card may do of ESP: no (nothing, the default), or crypto, encryption and decryption where it can.
    pub(crate) offload: Option<Text<Offload>>,
    /// The chain by which its IKE daemon proves itself, PEM: `bartizan ca issue --profile ipsec`.
    pub(crate) certificate: PathBuf,
    /// Its private key, PEM.
    pub(crate) key: PathBuf,
    /// The roots it trusts, PEM. Default: those of trust.
    pub(crate) roots: Option<PathBuf>,
    /// Their revocation lists, PEM: a file, or a map that says where they are fetched.
    pub(crate) crl: Option<RawLists>,
    /// The address under which its peers reach it where a NAT is between them, or any where the NAT hides it.
    pub(crate) external: Option<String>,
    /// The VICI socket of a strongSwan that the system runs. Without it Bartizan runs one of its own.
    pub(crate) vici: Option<PathBuf>,
    /// The ledger of its SAs.
    pub(crate) ledger: Option<RawLedger>,
}

/// Names of which the certificate must carry at least one of every kind that is listed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNames {
    /// DNS names. A wildcard stands for nothing.
    #[serde(default)]
    pub(crate) dns: Vec<String>,
    /// IP addresses.
    #[serde(default, deserialize_with = "canonical")]
    pub(crate) ip: Vec<IpAddr>,
    /// URIs, such as urn:uuid: and an NF instance id.
    #[serde(default)]
    pub(crate) uri: Vec<String>,
}

/// The sidecar of a node.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSidecar {
    /// Listeners for other nodes' sidecars, by TLS.
    #[serde(default)]
    pub(crate) inbound: Vec<RawInbound>,
    /// Listeners for the node's own network function, unencrypted: keep them on loopback.
    #[serde(default)]
    pub(crate) outbound: Vec<RawOutbound>,
    /// Address and port of metrics and state, unencrypted: loopback, or a management network.
    #[serde(default, deserialize_with = "canonical")]
    pub(crate) admin: Option<SocketAddr>,
    /// The ledger of what its handshakes negotiated.
    pub(crate) ledger: Option<RawLedger>,
    /// Bounds on what peers and network functions can make it hold.
    #[serde(default)]
    pub(crate) limits: RawLimits,
    /// What the function may send past the sidecar under `redirect --strict`.
    #[serde(default)]
    pub(crate) allow: Vec<RawAllowed>,
}

/// A listener at which a node without a sidecar terminates TLS itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTls {
    /// Address and port. 0.0.0.0 and :: stand for the node's address.
    #[serde(deserialize_with = "canonical")]
    pub(crate) listen: SocketAddr,
    /// Address at which functions behind sidecars call it, without TLS. Default: `listen`.
    #[serde(default, deserialize_with = "canonical")]
    pub(crate) service: Option<SocketAddr>,
    /// The interface whose peers it serves. Default: the only one it can be.
    #[serde(default)]
    pub(crate) interface: Option<Text<Kind>>,
}

/// Traffic that may pass the sidecar.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawAllowed {
    /// What it is, for counters: up to 32 letters, digits and hyphens.
    pub(crate) name: String,
    /// An address, or a network such as 10.78.1.0/24.
    pub(crate) to: String,
    /// Default: tcp.
    pub(crate) protocol: Option<Text<PacketProtocols>>,
    /// The port that is called.
    pub(crate) port: u16,
}

/// A file's name, or a map with its bounds.
pub(crate) type RawLedger = Short<RawBoundedLedger>;

impl Long for RawBoundedLedger {
    const NAME: &'static str = "RawLedger";
    const FORMS: &'static str = "a file, or a map: { file: FILE, size: 64MiB, keep: 20 }";
}

/// A ledger's file and its bounds.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawBoundedLedger {
    /// Where it is written.
    pub(crate) file: PathBuf,
    /// Rotated at this size: 64MiB, 1GiB. Default: 64MiB.
    pub(crate) size: Option<String>,
    /// How many rotated files are kept. Default: 20.
    pub(crate) keep: Option<usize>,
}

/// A listener for other sidecars.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawInbound {
    /// Address and port where it listens.
    #[serde(deserialize_with = "canonical")]
    pub(crate) listen: SocketAddr,
    /// Address and port where the network function listens.
    #[serde(deserialize_with = "canonical")]
    pub(crate) forward: SocketAddr,
    /// Where others know that function to be, as it registers with the NRF. Default: the node's address with the port of forward.
    #[serde(default, deserialize_with = "canonical")]
    pub(crate) service: Option<SocketAddr>,
    /// The interface it belongs to. Default: the only one it can be.
    pub(crate) interface: Option<Text<Kind>>,
    /// How bytes pass: requests one by one (http2, the default), or copied (splice).
    pub(crate) path: Option<Text<Path>>,
    /// Whether the function shall see who calls, in x-forwarded-client-cert. Only with path http2.
    #[serde(default, rename = "x-forwarded-client-cert")]
    pub(crate) x_forwarded_client_cert: bool,
}

/// A listener for the node's own network function.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawOutbound {
    /// Address and port where it listens.
    #[serde(deserialize_with = "canonical")]
    pub(crate) listen: SocketAddr,
    /// The node that all goes to. Without it each request goes to the node that its :authority names.
    pub(crate) to: Option<String>,
    /// Each connection goes to the node it was meant for before the host's packet filter redirected it here. Only on loopback.
    #[serde(default)]
    pub(crate) transparent: bool,
    /// The interface it belongs to. Default: the only one it can be.
    pub(crate) interface: Option<Text<Kind>>,
    /// How bytes pass: requests one by one (http2, the default), or copied (splice).
    pub(crate) path: Option<Text<Path>>,
    /// Connections dialled ahead and kept ready for each peer, 0 to 64. Default: 1.
    pub(crate) warm: Option<usize>,
}

/// Bounds of a sidecar. Durations are written as 500ms, 5s or 2m.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawLimits {
    /// Connections per listener. Default: 4096.
    pub(crate) connections: Option<usize>,
    /// Connections per inbound listener from one IPv4 address or IPv6 /64. Default: 2048.
    pub(crate) connections_per_address: Option<usize>,
    /// TLS handshakes under way per inbound listener from one of these. Default: 256.
    pub(crate) handshakes_per_address: Option<usize>,
    /// Concurrent streams per HTTP/2 connection. Default: 256.
    pub(crate) streams: Option<u32>,
    /// Bytes of one header list. Default: 65536.
    pub(crate) header_bytes: Option<u32>,
    /// Requests that one connection to a peer carries before it ends in order. Default: no bound.
    pub(crate) requests_per_connection: Option<u64>,
    /// From accept or connect to the end of the TLS handshake. Default: 5s.
    pub(crate) handshake: Option<String>,
    /// For a TCP connection to come up. Default: 3s.
    pub(crate) connect: Option<String>,
    /// For the head of a response to arrive. Default: 10s.
    pub(crate) request: Option<String>,
    /// For the reader of a body to take what waits for it. Default: 10s.
    pub(crate) stall: Option<String>,
    /// From SIGTERM until connections still open are closed. Default: 10s.
    pub(crate) drain: Option<String>,
    /// How long a connection may be open without a byte of content. Default: 1h.
    pub(crate) idle: Option<String>,
}

/// An interface between nodes, and what protects it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawInterface {
    /// The interface of the standards.
    pub(crate) kind: Text<Kind>,
    /// Its two ends. Either may be a list of nodes, which each have a link of their own.
    pub(crate) between: Option<Vec<RawEnd>>,
    /// Instead of between: nodes that are each joined to each other.
    pub(crate) among: Option<Vec<String>>,
    /// What protects it: a sidecar (TLS 1.3, for interfaces over TCP), ipsec, macsec, or nothing by choice, which is reported.
    #[serde(rename = "with")]
    pub(crate) protection: Text<Protection>,
    /// What carries SCTP between two gateways: TLS over TCP, or QUIC with a stream for each of SCTP's. Only with gateway. Default: tls.
    pub(crate) carrier: Option<Text<Carrier>>,
    /// Time for which an unreachable gateway is tried. Only with gateway. Default: 63s.
    pub(crate) patience: Option<String>,
    /// Its own policy. It stands for itself: nothing is taken over from the file's.
    pub(crate) policy: Option<RawPolicy>,
    /// How IPsec protects it. Only with ipsec; every field has a default.
    pub(crate) ipsec: Option<RawIpsecLink>,
    /// By which ports MACsec protects it, and how. Only with macsec.
    pub(crate) macsec: Option<RawMacsecLink>,
}

/// One end of an interface: a node, or several that each have a link of their own.
#[derive(Debug, Clone)]
pub(crate) enum RawEnd {
    Node(String),
    Nodes(Vec<String>),
}

impl<'de> Deserialize<'de> for RawEnd {
    // By hand, as for short forms.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EndVisitor)
    }
}

impl JsonSchema for RawEnd {
    fn schema_name() -> Cow<'static, str> {
        "RawEnd".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (node, nodes) = (
            generator.subschema_for::<String>(),
            generator.subschema_for::<Vec<String>>(),
        );
        json_schema!({ "anyOf": [node, nodes] })
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

/// How IPsec protects an interface.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawIpsecLink {
    /// How packets are wrapped. Default: tunnel.
    pub(crate) mode: Option<Text<Mode>>,
    /// The end that sets SAs up. Default: the one that cannot be called, else the first.
    pub(crate) initiator: Option<String>,
    /// Addresses of the IKE daemons, by node. Default: the nodes' addresses.
    #[serde(default, deserialize_with = "canonical")]
    pub(crate) outer: BTreeMap<String, IpAddr>,
    /// Under which addresses they reach each other where a NAT is between them, by node.
    #[serde(default)]
    pub(crate) external: BTreeMap<String, String>,
    /// Addresses or networks behind the daemons, by node. Default: the outer addresses.
    #[serde(default)]
    pub(crate) inner: BTreeMap<String, Vec<String>>,
    /// Which packets between the inner addresses are protected. Default: those of the standard.
    pub(crate) selectors: Option<Vec<RawSelector>>,
    /// A post-quantum pre-shared key (RFC 8784) that is mixed into the keys of the link.
    pub(crate) ppk: Option<RawPpk>,
    /// Sequence numbers of 64 bits. Default: true.
    pub(crate) esn: Option<bool>,
    /// Packets that may overtake each other, 0 to 4096. Default: 32.
    pub(crate) replay_window: Option<u32>,
    /// DSCP of IKE packets, 0 to 63. Default: 0.
    pub(crate) ike_dscp: Option<u8>,
    /// Whether the DSCP of protected packets is copied. Default: out.
    pub(crate) copy_dscp: Option<Text<CopyDscp>>,
    /// Time until an IKE_SA is rekeyed, or never. Default: 4h.
    pub(crate) rekey_ike: Option<String>,
    /// Time until a CHILD_SA is rekeyed, or never. Default: 1h.
    pub(crate) rekey_child: Option<String>,
    /// Octets until a CHILD_SA is rekeyed. Default: no bound.
    pub(crate) rekey_bytes: Option<u64>,
    /// Packets until a CHILD_SA is rekeyed. Default: no bound; 2147483648 without esn.
    pub(crate) rekey_packets: Option<u64>,
    /// Time until the peers prove themselves anew, or never. Default: 24h.
    pub(crate) reauth: Option<String>,
    /// After how much silence a peer is asked for a sign of life, or never. Default: 10s.
    pub(crate) dpd: Option<String>,
    /// Whether IKE may fragment its messages. Default: true.
    pub(crate) ike_fragments: Option<bool>,
    /// Octets of a packet on the path, 576 to 9216. Default: 1500.
    pub(crate) mtu: Option<u16>,
    /// When SAs are set up: at once (start, the default), or by the first packet (trap).
    pub(crate) start: Option<Text<Start>>,
}

/// By which ports MACsec protects an interface, and how.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawMacsecLink {
    /// The Ethernet interface of each end, by node.
    #[serde(default)]
    pub(crate) port: BTreeMap<String, String>,
    /// The MACsec device that is made on it, by node. Default: macsec0.
    #[serde(default)]
    pub(crate) device: BTreeMap<String, String>,
    /// The end that begins exchanges; with `keying: mka` or `eap-tls` it is the key server, and with `eap-tls` the authenticator. Default: the first.
    pub(crate) initiator: Option<String>,
    /// The cipher suite. Default: gcm-aes-256.
    pub(crate) cipher: Option<Text<MacsecCiphers>>,
    /// Whether frames are encrypted (the default), or their integrity alone is protected.
    pub(crate) confidentiality: Option<Text<Confidentiality>>,
    /// Frames that may overtake each other; with 0 they must come in order. Default: 32.
    pub(crate) replay_window: Option<u32>,
    /// Octets that frames of the link need. Default: what the port leaves.
    pub(crate) mtu: Option<u32>,
    /// Where keys come from. Default: direct.
    pub(crate) keying: Option<Text<Keyings>>,
    /// With `keying: mka`: a file with the CAK, by node. Default: the CAK is exchanged.
    #[serde(default)]
    pub(crate) cak: BTreeMap<String, PathBuf>,
    /// Age at which a key, or the CAK of MKA, is replaced. Default: 1h, with `keying: mka` or `eap-tls` 24h.
    pub(crate) rekey: Option<String>,
    /// Frames after which it is.
    pub(crate) rekey_packets: Option<u64>,
    /// Keys that one exchange gives to each direction. Default: 8.
    pub(crate) keys_per_exchange: Option<u64>,
    /// What may pass the port unencrypted.
    pub(crate) unencrypted: Option<Vec<Text<Unprotected>>>,
}

/// Packets that a link protects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSelector {
    /// Their protocol.
    pub(crate) protocol: Text<TrafficProtocol>,
    /// The port of the end that listens. Default: every port.
    pub(crate) port: Option<u16>,
    /// The end that listens. Default: either.
    pub(crate) at: Option<String>,
}
