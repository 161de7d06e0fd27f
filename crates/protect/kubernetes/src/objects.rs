//! Objects as the API server writes them, of which little is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

use aws_lc_rs::digest::{SHA256, digest};
use bartizan_controller::{
    Certificate, ConfigMap, Digest, Exception, FILE, ISSUER, MANAGED_BY, MANAGER, Meta, Network, Secret,
};
use bartizan_inject::{NODE, SIDECAR};
use bartizan_pki::{ForeignCertificate, Signed, signed_by};
use data_encoding::BASE64;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

/// Which objects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Network,
    Exception,
    ConfigMap,
    Secret,
    Pod,
}

/// Stored part of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Network(Network),
    Exception(Exception),
    ConfigMap(ConfigMap),
    Secret(Secret),
    /// None where it has ended or is no node.
    Pod(Option<Pod>),
    /// A Network or an Exception that is being deleted, and is there as long as somebody's finalizer keeps it.
    Ending(Kind),
}

/// A pod with a sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pod {
    /// The node that its annotation names.
    pub(crate) node: Box<str>,
    /// Its sidecar's admin port.
    pub(crate) admin: Option<SocketAddr>,
    /// Readiness of its sidecar.
    pub(crate) is_ready: bool,
}

/// An object with its namespace and its name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) item: Item,
}

/// Decoder of objects, with the signer that Secrets are compared with.
pub(crate) struct Decoder {
    pub(crate) signer: Signer,
}

/// Signer of this controller's certificates.
pub(crate) enum Signer {
    /// Those that this certificate has signed, DER.
    Authority(Vec<u8>),
    /// Those of the issuer that their Secret names, which lead to the root next to them.
    Issuer(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectMeta {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    generation: i64,
    #[serde(default)]
    creation_timestamp: String,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

#[derive(Deserialize)]
struct OwnerReference {
    kind: String,
    uid: String,
}

#[derive(Deserialize)]
struct Custom {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize)]
struct Map {
    metadata: ObjectMeta,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Stored {
    metadata: ObjectMeta,
    data: Option<Data>,
}

#[derive(Deserialize, Default)]
struct Data {
    #[serde(default, rename = "tls.crt")]
    certificate: Option<String>,
    #[serde(default, rename = "tls.key")]
    key: Option<String>,
    #[serde(default, rename = "ca.crt")]
    root: Option<String>,
    #[serde(default, rename = "ca.crl")]
    list: Option<String>,
}

#[derive(Deserialize)]
struct StoredPod {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    init_containers: Option<Vec<Container>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    name: String,
    readiness_probe: Option<Probe>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    http_get: Option<HttpGet>,
}

#[derive(Deserialize)]
struct HttpGet {
    /// A number or a name; the webhook writes a number.
    #[serde(default)]
    port: Value,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct PodStatus {
    #[serde(default)]
    phase: String,
    #[serde(default, rename = "podIP")]
    address: Option<String>,
    init_container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Deserialize)]
struct ContainerStatus {
    name: String,
    #[serde(default)]
    ready: bool,
}

#[derive(Deserialize)]
pub(crate) struct List<T> {
    #[serde(default)]
    pub(crate) metadata: ListMeta,
    #[serde(default = "Vec::new")]
    pub(crate) items: Vec<T>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    pub(crate) more: Option<String>,
}

#[derive(Deserialize)]
struct Event<T> {
    object: T,
}

/// A page of a list: its objects, the version of the whole, and where the next page begins.
pub(crate) struct Page {
    pub(crate) items: Vec<Named>,
    pub(crate) version: String,
    pub(crate) more: Option<String>,
}

impl Decoder {
    /// A page of a list.
    pub(crate) fn page(&self, kind: Kind, text: &[u8]) -> Result<Page, String> {
        match kind {
            Kind::Network | Kind::Exception => self.list(kind, text, Self::custom),
            Kind::ConfigMap => self.list(kind, text, |_, _, one| map(one)),
            Kind::Secret => self.list(kind, text, |own, _, one| own.secret(one)),
            Kind::Pod => self.list(kind, text, |_, _, one| pod(one)),
        }
    }

    /// The object of an event of a watch.
    pub(crate) fn event(&self, kind: Kind, line: &[u8]) -> Result<Named, String> {
        match kind {
            Kind::Network | Kind::Exception => read::<Event<_>>(line).map(|event| self.custom(kind, event.object)),
            Kind::ConfigMap => read::<Event<_>>(line).map(|event| map(event.object)),
            Kind::Secret => read::<Event<_>>(line).map(|event| self.secret(event.object)),
            Kind::Pod => read::<Event<_>>(line).map(|event| pod(event.object)),
        }
    }

    /// The object that a write is answered with.
    pub(crate) fn object(&self, kind: Kind, text: &[u8]) -> Result<Named, String> {
        match kind {
            Kind::Network | Kind::Exception => read(text).map(|one| self.custom(kind, one)),
            Kind::ConfigMap => read(text).map(map),
            Kind::Secret => read(text).map(|one| self.secret(one)),
            Kind::Pod => read(text).map(pod),
        }
    }

    fn list<T: DeserializeOwned>(
        &self,
        kind: Kind,
        text: &[u8],
        decode: impl Fn(&Self, Kind, T) -> Named,
    ) -> Result<Page, String> {
        let list: List<T> = read(text)?;
        Ok(Page {
            items: list.items.into_iter().map(|one| decode(self, kind, one)).collect(),
            version: list.metadata.resource_version,
            more: list.metadata.more.filter(|token| !token.is_empty()),
        })
    }

    fn custom(&self, kind: Kind, one: Custom) -> Named {
        let (meta, spec, status) = (meta(&one.metadata), one.spec, one.status);
        let item = match kind {
            kind if one.metadata.deletion_timestamp.is_some() => Item::Ending(kind),
            Kind::Network => Item::Network(Network { meta, spec, status }),
            _ => Item::Exception(Exception { meta, spec, status }),
        };
        named(one.metadata, item)
    }

    fn secret(&self, mut one: Stored) -> Named {
        let data = one.data.unwrap_or_default();
        let issuer = one.metadata.annotations.as_mut().and_then(|all| all.remove(ISSUER));
        let pem = |text: &Option<String>| BASE64.decode(text.as_deref()?.as_bytes()).ok();
        let fingerprint = |text: &Option<String>| pem(text).map(|text| fingerprint(&text));
        let key = data.key.map(Zeroizing::new);
        let key = key
            .and_then(|key| BASE64.decode(key.as_bytes()).ok())
            .map(Zeroizing::new);
        let secret = Secret {
            meta: meta(&one.metadata),
            certificate: pem(&data.certificate).and_then(|text| {
                let is_ours = |der: &[u8]| match &self.signer {
                    Signer::Authority(own) => signed_by(der, own) == Signed::Yes,
                    Signer::Issuer(own) => {
                        issuer.as_ref() == Some(own) && leads(&text, &pem(&data.root).unwrap_or_default())
                    }
                };
                certificate(&text, key.as_ref().map(|key| &key[..]), is_ours)
            }),
            root: fingerprint(&data.root),
            list: fingerprint(&data.list),
        };
        named(one.metadata, Item::Secret(secret))
    }
}

fn certificate(pem: &[u8], key: Option<&[u8]>, is_ours: impl Fn(&[u8]) -> bool) -> Option<Certificate> {
    let certificate = bartizan_pki::Certificate::from_pem(pem, "tls.crt").ok()?;
    let key = key.and_then(|key| bartizan_pki::PrivateKey::from_pem(key, None).ok());
    Some(Certificate {
        names: certificate.names().iter().cloned().collect::<BTreeSet<_>>(),
        not_before: certificate.not_before(),
        not_after: certificate.not_after(),
        serial: certificate
            .serial()
            .map(|serial| serial.to_string())
            .unwrap_or_default(),
        of_this_authority: is_ours(certificate.der()),
        key_matches: key.is_some_and(|key| key.public_key() == certificate.public_key()),
    })
}

/// Returns true if a chain leads to one of these roots now.
fn leads(chain: &[u8], roots: &[u8]) -> bool {
    let (chain, roots) = (ForeignCertificate::all_of(chain), ForeignCertificate::all_of(roots));
    let Some((leaf, between)) = chain.split_first() else {
        return false;
    };
    roots.iter().any(|root| leaf.leads_to(root, between, SystemTime::now()))
}

/// By which a PEM text is known.
pub(crate) fn fingerprint(text: &[u8]) -> Digest {
    let mut out = [0; 32];
    out.copy_from_slice(digest(&SHA256, text).as_ref());
    out
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| error.to_string())
}

fn named(metadata: ObjectMeta, item: Item) -> Named {
    Named {
        namespace: metadata.namespace,
        name: metadata.name,
        version: metadata.resource_version,
        item,
    }
}

fn meta(metadata: &ObjectMeta) -> Meta {
    let label = metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
    let owners = metadata.owner_references.iter().flatten();
    Meta {
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        version: metadata.resource_version.clone(),
        generation: metadata.generation,
        created: metadata.creation_timestamp.clone(),
        managed: label.is_some_and(|manager| manager == MANAGER),
        owner: owners
            .filter(|owner| owner.kind == "Network")
            .map(|owner| owner.uid.clone())
            .next(),
    }
}

fn map(one: Map) -> Named {
    let map = ConfigMap {
        meta: meta(&one.metadata),
        file: one.data.and_then(|mut data| data.remove(FILE)),
    };
    named(one.metadata, Item::ConfigMap(map))
}

fn pod(mut one: StoredPod) -> Named {
    let node = one.metadata.annotations.as_mut().and_then(|all| all.remove(NODE));
    let ended = ["Succeeded", "Failed"].contains(&one.status.phase.as_str());
    let statuses = one.status.init_container_statuses.iter().flatten();
    let is_ready = statuses
        .filter(|status| status.name == SIDECAR)
        .any(|status| status.ready);
    let mut containers = one.spec.init_containers.iter().flatten();
    let sidecar = containers.find(|container| container.name == SIDECAR);
    let probe = sidecar.and_then(|sidecar| sidecar.readiness_probe.as_ref()?.http_get.as_ref()?.port.as_u64());
    let address = one.status.address.as_ref().and_then(|text| text.parse::<IpAddr>().ok());
    let port = probe.and_then(|port| u16::try_from(port).ok());
    let pod = node.filter(|_| !ended).map(|node| Pod {
        node: node.into(),
        admin: address.zip(port).map(SocketAddr::from),
        is_ready,
    });
    let item = Item::Pod(pod);
    named(one.metadata, item)
}
