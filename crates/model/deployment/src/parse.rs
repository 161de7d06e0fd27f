//! From text to a deployment in which every name resolves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::belonging::{Joined, belong};
use crate::error::{Error, Fault};
use crate::identity::{Identity, one_passes_for_another};
use crate::interface::{Carrier, Interface, InterfaceKind, Protection, patience};
use crate::ipsec::{IkeEngine, IpsecLink, IpsecNode, conflict};
use crate::macsec::MacsecLink;
use crate::node::{Node, NodeName, not_of_a_host};
use crate::place::{Place, Places};
use crate::policy::Policy;
use crate::raw::{RawDeployment, RawInterface, RawIpsecLink, RawLists, RawNode, RawTrust};
use crate::sidecar::{CertificateFiles, Files, Path as DataPath, Route, Sidecar};
use crate::{mesh, nearest::nearest, own_tls, syntax};

/// A network as its deployment file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// The file's policy: what holds where an interface names none.
    pub policy: Policy,
    nodes: BTreeMap<String, Node>,
    interfaces: Vec<Interface>,
    /// Positions in `interfaces` of those that end at a node.
    joining: HashMap<NodeName, Vec<usize>>,
}

/// Bytes of the longest file.
const MOST_BYTES: usize = 32 << 20;
/// Links of all entries of a file at most: a mesh of 1,414 nodes.
const MOST_LINKS: usize = 1_000_000;

impl Deployment {
    /// Reads a deployment file's text.
    ///
    /// `file` names it in messages; relative paths in it start from `base`.
    ///
    /// # Errors
    /// [`Error::Syntax`] for what is not YAML or not a field, [`Error::Meaning`] for what cannot be applied.
    pub fn parse(text: &str, file: &str, base: &Path) -> Result<Self, Error> {
        if text.len() > MOST_BYTES {
            return Err(Error::Syntax {
                file: file.to_owned(),
                detail: format!("has {} bytes, and a deployment file may have {MOST_BYTES}", text.len()),
                hint: Some("describe each region by a file of its own".to_owned()),
            });
        }
        let raw: RawDeployment = syntax::read(text).map_err(|error| syntax::error(&error, text, file))?;
        Self::resolve(&raw, base).map_err(|fault| Error::Meaning {
            file: match Places::of(text).and_then(|places| places.find(&fault.place)) {
                Some(Place { line, column }) => format!("{file}:{line}:{column}"),
                None => file.to_owned(),
            },
            place: fault.place,
            cause: fault.cause,
            hint: fault.hint,
        })
    }

    /// Its nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// Returns true if both ends of an IPsec link have Bartizan's own IKE engine.
    #[must_use]
    pub fn has_own_engines(&self, interface: &Interface) -> bool {
        interface.between.iter().all(|name| {
            let node = self.node(name.as_str()).and_then(|node| node.ipsec.as_ref());
            node.is_some_and(|node| node.engine == IkeEngine::Bartizan)
        })
    }

    /// Its interfaces, in the order of the file.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Positions in [`Self::interfaces`] of those that join `name` to other nodes, in the order of the file.
    pub fn joining(&self, name: &str) -> &[usize] {
        self.joining.get(name).map_or(&[], Vec::as_slice)
    }

    /// The interfaces of `name`, each with the node at the other end, in the order of the file.
    pub fn joined<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Node, &'a Interface)> {
        self.joining(name).iter().filter_map(move |place| {
            let interface = &self.interfaces[*place];
            let [a, b] = &interface.between;
            let other = if a.as_str() == name { b } else { a };
            Some((self.nodes.get(other.as_str())?, interface))
        })
    }

    /// The nodes `name` is joined to by interfaces that sidecars protect, gateways included, each with that interface.
    pub fn sidecar_peers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Node, &'a Interface)> {
        self.joined(name)
            .filter(|(_, interface)| interface.protection.is_by_sidecars())
    }

    /// The IPsec links of `name`: the peer at the other end, the interface and the link, in the order of the file.
    pub fn ipsec_links<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Node, &'a Interface, &'a IpsecLink)> {
        self.joined(name)
            .filter_map(|(peer, interface)| Some((peer, interface, interface.ipsec.as_deref()?)))
    }

    /// The MACsec links of `name`: the peer at the other end, the interface and the link, in the order of the file.
    pub fn macsec_links<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a Node, &'a Interface, &'a MacsecLink)> {
        self.joined(name)
            .filter_map(|(peer, interface)| Some((peer, interface, interface.macsec.as_deref()?)))
    }

    fn resolve(raw: &RawDeployment, base: &Path) -> Result<Self, Fault> {
        let policy = Arc::new(match &raw.policy {
            None => Policy::hybrid(),
            Some(raw) => Policy::parse(raw).map_err(|fault| fault.within("policy"))?,
        });
        let mut nodes = BTreeMap::new();
        for (name, node) in &raw.nodes {
            let node = resolve_node(name, node, raw, base).map_err(|fault| fault.within(&format!("nodes.{name}")))?;
            nodes.insert(name.clone(), node);
        }
        // Each with the entry of the file that it comes from: one may make several.
        let (mut interfaces, mut entries) = (Vec::new(), Vec::new());
        for (index, entry) in raw.interfaces.iter().enumerate() {
            let place = format!("interfaces[{index}]");
            let left = MOST_LINKS - interfaces.len();
            let made = resolve_interfaces(entry, left, (raw, &policy, base)).map_err(|fault| fault.within(&place))?;
            entries.resize(entries.len() + made.len(), index);
            interfaces.extend(made);
        }
        once(&interfaces, &entries)?;
        let mut joining: HashMap<NodeName, Vec<usize>> = HashMap::new();
        for (place, interface) in interfaces.iter().enumerate() {
            for end in &interface.between {
                joining.entry(end.clone()).or_default().push(place);
            }
        }
        for node in nodes.values_mut() {
            let raw = &raw.nodes[node.name.as_str()];
            if raw.sidecar.is_none() && raw.tls.is_none() {
                continue;
            }
            let own = joining.get(&node.name).into_iter().flatten();
            let joined = Joined::of(&node.name, own.map(|place| &interfaces[*place]));
            let belonging = match (&mut node.sidecar, &raw.sidecar, &mut node.tls, &raw.tls) {
                (Some(sidecar), Some(raw), _, _) => {
                    sidecar.belong(raw, &joined).map_err(|fault| fault.within("sidecar"))
                }
                (_, _, Some(own), Some(raw)) => {
                    let named = raw.iter().map(|raw| raw.interface.as_deref());
                    belong(own, named, &joined).map_err(|fault| fault.within("tls"))
                }
                _ => Ok(()),
            };
            belonging.map_err(|fault| fault.within(&format!("nodes.{}", node.name)))?;
        }
        let deployment = Self {
            policy: Policy::clone(&policy),
            nodes,
            interfaces,
            joining,
        };
        deployment.check_identities()?;
        deployment.check_own_tls(&entries)?;
        deployment.check_sidecars()?;
        deployment.check_macsec(&entries)?;
        conflict::check(&deployment, &entries)?;
        Ok(deployment)
    }

    /// The refusal of a route between two nodes that no sidecar protects.
    fn unjoined(&self, place: String, one: &NodeName, other: &NodeName) -> Fault {
        let joins = |interface: &&Interface| interface.between.contains(one) && interface.between.contains(other);
        let otherwise = self.interfaces.iter().find(joins);
        let hint = match otherwise {
            Some(interface) => format!(
                "{} between the two is `with: {}`: write `with: sidecar` there",
                interface.kind.name(),
                interface.protection.name()
            ),
            None => format!("add `{{ kind: SBI, between: [{one}, {other}], with: sidecar }}` to interfaces"),
        };
        let cause = format!("no interface with a sidecar joins {one} and {other}");
        Fault::new(place, cause, hint)
    }

    /// No certificate that passes for one node passes for another: else either could play the other.
    fn check_identities(&self) -> Result<(), Fault> {
        let nodes: Vec<_> = self.nodes.values().collect();
        let identities: Vec<_> = nodes.iter().map(|node| &node.identity).collect();
        let Some([one, another]) = one_passes_for_another(&identities) else {
            return Ok(());
        };
        let cause = format!(
            "a certificate of {} would pass for {}",
            nodes[one].name, nodes[another].name
        );
        let hint = "give each a name of its own; nodes that share one need a urn:uuid: each besides";
        let later = &nodes[one.max(another)].name;
        Err(Fault::new(format!("nodes.{later}.names"), cause, hint))
    }

    /// A port carries one link, and a node with one that keys are exchanged over has a certificate.
    fn check_macsec(&self, entries: &[usize]) -> Result<(), Fault> {
        let mut taken = BTreeMap::new();
        for (interface, entry) in self.interfaces.iter().zip(entries) {
            let Some(link) = &interface.macsec else { continue };
            let place = format!("interfaces[{entry}].macsec");
            let ours = interface
                .between
                .iter()
                .enumerate()
                .filter(|(end, _)| link.is_ours(*end));
            for (end, node) in ours {
                for (what, name) in [("port", &link.ports[end]), ("device", &link.devices[end])] {
                    if let Some(before) = taken.insert((node, name), what) {
                        let cause = format!("{name} of {node} is a {before} already");
                        let hint = "give each link a port and a device of its own";
                        return Err(Fault::new(format!("{place}.{what}"), cause, hint));
                    }
                }
                let certified = self.nodes.get(node.as_str()).is_none_or(|node| node.files.is_some());
                if link.has_exchange() && !certified {
                    let cause = format!("{node} has no certificate");
                    let hint = format!(
                        "add `certificate` and `key` to nodes.{node} and `trust: {{ roots: ... }}` to the file: both ends prove who they are"
                    );
                    return Err(Fault::new(place, cause, hint));
                }
            }
        }
        Ok(())
    }

    /// Every sidecar has what it needs to run, and every route leads somewhere it is allowed to.
    fn check_sidecars(&self) -> Result<(), Fault> {
        for node in self.nodes.values() {
            let Some(sidecar) = &node.sidecar else { continue };
            let place = format!("nodes.{}", node.name);
            if node.files.is_none() {
                let hint = "add `certificate` and `key` to the node and `trust: { roots: ... }` to the file";
                return Err(Fault::new(place, "has a sidecar and no certificate", hint));
            }
            self.check_paths(node, sidecar)?;
            let peers: HashSet<_> = self
                .sidecar_peers(node.name.as_str())
                .map(|(peer, _)| &peer.name)
                .collect();
            for (index, outbound) in sidecar.outbound.iter().enumerate() {
                let Route::To(to) = &outbound.route else { continue };
                let place = format!("{place}.sidecar.outbound[{index}].to");
                if node.name == *to {
                    let hint = "a network function reaches itself without a sidecar: name another node";
                    return Err(Fault::new(place, "leads back to its own node", hint));
                }
                if !peers.contains(to) {
                    return Err(self.unjoined(place, &node.name, to));
                }
                let peer = &self.nodes[to.as_str()];
                if peer.inbound().is_empty() {
                    let hint = match peer.tls {
                        Some(_) => format!("add {{ listen: ADDRESS:PORT }} to nodes.{to}.tls"),
                        None => format!(
                            "add `sidecar: {{ inbound: [...] }}` to nodes.{to}, or `tls: [{{ listen: ADDRESS:PORT }}]` \
                             where it terminates TLS itself"
                        ),
                    };
                    return Err(Fault::new(place, format!("{to} has no inbound listener"), hint));
                }
                if let Some(kind) = outbound.interface
                    && !peer.inbound().iter().any(|inbound| inbound.interface == kind)
                {
                    let kind = kind.name();
                    let field = if peer.tls.is_some() { "tls" } else { "sidecar" };
                    let hint = format!("add one with `interface: {kind}` to nodes.{to}.{field}");
                    let cause = format!("{to} has no inbound listener for {kind}");
                    return Err(Fault::new(place, cause, hint));
                }
            }
        }
        Ok(())
    }
}

impl Deployment {
    /// TLS of a node's own runs over TCP, and no gateway is at its end.
    fn check_own_tls(&self, entries: &[usize]) -> Result<(), Fault> {
        for node in self.nodes.values() {
            for (index, one) in node.tls.iter().flatten().enumerate() {
                if !one.interface.over_tcp() {
                    let cause = format!("TLS runs over TCP, and {} does not", one.interface.name());
                    let hint = "name an interface over TCP: SBI, N32, A1, O1, O2";
                    let place = format!("nodes.{}.tls[{index}].interface", node.name);
                    return Err(Fault::new(place, cause, hint));
                }
            }
        }
        for (interface, entry) in self.interfaces.iter().zip(entries) {
            let own = |name: &&NodeName| self.nodes[name.as_str()].tls.is_some();
            if interface.protection == Protection::Gateway
                && let Some(node) = interface.between.iter().find(own)
            {
                let cause = format!("a gateway carries SCTP between two sidecars, and {node} has TLS of its own");
                let hint = format!("protect it with ipsec, or give {node} a sidecar");
                return Err(Fault::new(format!("interfaces[{entry}].with"), cause, hint));
            }
        }
        Ok(())
    }

    /// Checks that interfaces over SCTP, and only those, have listeners for SCTP.
    fn check_paths(&self, node: &Node, sidecar: &Sidecar) -> Result<(), Fault> {
        let inbound = sidecar.inbound.iter().enumerate();
        let inbound = inbound.map(|(index, one)| (format!("inbound[{index}]"), one.path, Some(one.interface)));
        let outbound = sidecar.outbound.iter().enumerate();
        let outbound = outbound.map(|(index, one)| (format!("outbound[{index}]"), one.path, one.interface));
        for (listener, path, interface) in inbound.chain(outbound) {
            let Some(kind) = interface else { continue };
            if path.carries(kind) {
                continue;
            }
            let place = format!("nodes.{}.sidecar.{listener}.path", node.name);
            let kind = kind.name();
            return Err(match path {
                DataPath::Sctp => {
                    let hint =
                        "write `interface:` with one of N2, E1, E2, F1-C, Xn that is `with: gateway`, or another path";
                    Fault::new(place, format!("carries SCTP, and {kind} does not run over it"), hint)
                }
                _ => Fault::new(
                    place,
                    format!("carries TCP, and {kind} runs over SCTP"),
                    "write `path: sctp`",
                ),
            });
        }
        Ok(())
    }
}

/// Refuses a link that the file has twice, either end first.
fn once(interfaces: &[Interface], entries: &[usize]) -> Result<(), Fault> {
    let mut known = HashSet::with_capacity(interfaces.len());
    for (interface, entry) in interfaces.iter().zip(entries) {
        let [a, b] = &interface.between;
        if !known.insert((interface.kind, a.min(b), a.max(b))) {
            let cause = format!("{} between {a} and {b} stands there twice", interface.kind.name());
            let place = format!("interfaces[{entry}]");
            return Err(Fault::new(place, cause, "remove one: a link has one policy"));
        }
    }
    Ok(())
}

fn find(raw: &RawDeployment, name: &str) -> Result<NodeName, Fault> {
    if raw.nodes.contains_key(name) {
        return NodeName::parse(name);
    }
    let known = || raw.nodes.keys().map(String::as_str);
    let hint = match nearest(name, known()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        // A file may have hundreds.
        None => format!("nodes are {}", known().take(12).collect::<Vec<_>>().join(", ")),
    };
    Err(Fault::new("", format!("no node is called `{name}`"), hint))
}

fn resolve_node(name: &str, node: &RawNode, raw: &RawDeployment, base: &Path) -> Result<Node, Fault> {
    let known_as = NodeName::parse(name)?;
    if let Some(cause) = not_of_a_host(node.address) {
        let hint = "write the address at which peers reach the node";
        return Err(Fault::new("address", cause, hint));
    }
    let identity = match &node.names {
        None => Identity::of_node(name),
        Some(names) => Identity::parse(names).map_err(|fault| fault.within("names")),
    }?;
    let sidecar = node
        .sidecar
        .as_ref()
        .map(|sidecar| Sidecar::parse(sidecar, base, node.address, &|name| find(raw, name)));
    Ok(Node {
        name: known_as,
        function: node.function.clone(),
        address: node.address,
        identity,
        files: files(name, node, raw.trust.as_ref(), base)?,
        sidecar: sidecar.transpose().map_err(|fault| fault.within("sidecar"))?,
        tls: match &node.tls {
            None => None,
            Some(_) if node.sidecar.is_some() => {
                let hint = "keep one of the two; a function with both is two nodes, each with names of its own";
                return Err(Fault::new("tls", "stands next to `sidecar`", hint));
            }
            Some(own) => Some(own_tls::listeners(own, node.address).map_err(|fault| fault.within("tls"))?),
        },
        ipsec: match &node.ipsec {
            None => None,
            Some(ipsec) => Some(
                IpsecNode::parse(ipsec, (name, node.address), raw.trust.as_ref(), base)
                    .map_err(|fault| fault.within("ipsec"))?,
            ),
        },
    })
}

fn files(name: &str, node: &RawNode, trust: Option<&RawTrust>, base: &Path) -> Result<Option<Files>, Fault> {
    let pair = |certificate: &PathBuf, key: &PathBuf| CertificateFiles {
        certificate: base.join(certificate),
        key: base.join(key),
    };
    let certificates = match (&node.certificate, &node.key, &node.certificates) {
        (None, None, None) => return Ok(None),
        (Some(certificate), Some(key), None) => vec![pair(certificate, key)],
        (None, None, Some(several)) => several.iter().map(|one| pair(&one.certificate, &one.key)).collect(),
        (_, _, Some(_)) => {
            let hint = "list each certificate with its key under `certificates` alone";
            let cause = "stands next to `certificate` or `key`";
            return Err(Fault::new("certificates", cause, hint));
        }
        (Some(_), None, None) => {
            let hint = "add the key's file";
            return Err(Fault::new("key", "is missing next to `certificate`", hint));
        }
        (None, Some(_), None) => {
            let hint = "add the certificate's file";
            return Err(Fault::new("certificate", "is missing next to `key`", hint));
        }
    };
    let place = match node.certificates {
        Some(_) => "certificates",
        None => "certificate",
    };
    if certificates.is_empty() {
        let hint = "name a certificate and its key: - { certificate: FILE, key: FILE }";
        return Err(Fault::new(place, "is empty", hint));
    }
    let mut known = HashSet::new();
    for (index, one) in certificates.iter().enumerate() {
        if !known.insert(&one.certificate) {
            let place = format!("certificates[{index}].certificate");
            return Err(Fault::new(place, "is listed twice", "list each file once"));
        }
    }
    let Some(trust) = trust else {
        let hint = "add `trust: { roots: FILE }` at the top";
        return Err(Fault::new(place, "the file trusts no root", hint));
    };
    Ok(Some(Files {
        certificates,
        roots: base.join(&trust.roots),
        crl: trust.crl.as_ref().map(|lists| lists.file(base)),
        crl_url: trust.crl.as_ref().and_then(RawLists::url),
        known_lists: trust.known_lists(base, name, "tls"),
    }))
}

/// The links of an entry, of which the file may have `left` more.
fn resolve_interfaces(
    entry: &RawInterface,
    left: usize,
    (raw, policy, base): (&RawDeployment, &Arc<Policy>, &Path),
) -> Result<Vec<Interface>, Fault> {
    let kind = InterfaceKind::parse(&entry.kind)?;
    let links = mesh::links(entry, left, &|name| find(raw, name))?;
    let protection = Protection::parse(&entry.protection, kind)?;
    let carrier = Carrier::parse(entry.carrier.as_deref(), protection)?;
    let patience = patience(entry.patience.as_deref(), protection)?;
    let policy = match &entry.policy {
        None => Arc::clone(policy),
        Some(raw) => Arc::new(Policy::parse(raw).map_err(|fault| fault.within("policy"))?),
    };
    let ipsec = |between: &[NodeName; 2]| match (protection, &entry.ipsec) {
        (Protection::Ipsec, link) => {
            let ends = between.each_ref().map(|name| &raw.nodes[name.as_str()]);
            let defaults = RawIpsecLink::default();
            let link = IpsecLink::parse(link.as_ref().unwrap_or(&defaults), kind, between, (ends, base));
            Ok(Some(Box::new(link.map_err(|fault| fault.within("ipsec"))?)))
        }
        (_, None) => Ok(None),
        (_, Some(_)) => {
            let cause = format!("stands next to `with: {}`", protection.name());
            Err(Fault::new("ipsec", cause, "write `with: ipsec`, or remove it"))
        }
    };
    let macsec = |between: &[NodeName; 2]| match (protection, &entry.macsec) {
        (_, None) => Ok(None),
        (Protection::Macsec, Some(link)) => {
            let link = MacsecLink::parse(link, between, base);
            link.map(|link| Some(Box::new(link)))
                .map_err(|fault| fault.within("macsec"))
        }
        (_, Some(_)) => {
            let cause = format!("stands next to `with: {}`", protection.name());
            Err(Fault::new("macsec", cause, "write `with: macsec`, or remove it"))
        }
    };
    let interfaces = links.into_iter().map(|between| {
        Ok(Interface {
            kind,
            protection,
            carrier,
            patience,
            ipsec: ipsec(&between)?,
            macsec: macsec(&between)?,
            between,
            policy: Arc::clone(&policy),
        })
    });
    interfaces.collect()
}
