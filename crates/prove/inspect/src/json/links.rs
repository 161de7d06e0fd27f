//! Links.

use bartizan_posture::{Direction, Link, Listing, Objection, Phase};
use bartizan_wire::path::{self, Path};
use bartizan_wire::proxy::Through;
use serde::Serialize;

use super::{Answer, Interface, Verdict, answer, sources, verdict};

#[derive(Serialize)]
pub(crate) struct JsonLink {
    ends: [End; 2],
    interface: Option<Interface>,
    service_port: Option<u16>,
    paths: Vec<Vec<Layer>>,
    in_deployment: &'static str,
    /// The place of the interface in the deployment file, from 0.
    deployment_interface: Option<usize>,
    first_packet: u64,
    last_packet: u64,
    first_ns: u64,
    last_ns: u64,
    parts: u64,
    attempts: u64,
    in_ledger: u64,
    by_kind: std::collections::BTreeMap<String, u64>,
    key_exchanges: Vec<String>,
    directions: [JsonDirection; 2],
    confidentiality: Verdict,
    authenticity: Verdict,
    phases: Vec<JsonPhase>,
    beyond_phases: u64,
    objections: Vec<JsonObjection>,
    exception: Option<String>,
}

/// One tag, label, tunnel or proxy.
#[derive(Serialize)]
pub(super) struct Layer {
    kind: &'static str,
    /// Name of its number, and the number.
    number_is: &'static str,
    number: Option<u32>,
    /// The ends of a tunnel.
    between: Option<[String; 2]>,
    /// For a proxy: the source that it speaks for, and the destination that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// Carriers of packets, outermost first.
pub(super) fn path(path: &Path) -> Vec<Layer> {
    let layer = |layer: &path::Layer| Layer {
        kind: layer.encapsulation.name(),
        number_is: layer.encapsulation.number_name(),
        number: layer.number,
        between: layer.between.map(|ends| ends.map(|end| end.to_string())),
        from: None,
        to: None,
    };
    let proxy = |proxy: &Through| Layer {
        kind: proxy.protocol.name(),
        number_is: "number",
        number: None,
        between: None,
        from: proxy.from.as_ref().map(ToString::to_string),
        to: proxy.to.as_ref().map(ToString::to_string),
    };
    let proxies = path.proxies().iter().map(proxy);
    path.layers().iter().map(layer).chain(proxies).collect()
}

#[derive(Serialize)]
struct End {
    address: String,
    port: Option<u16>,
    node: Option<String>,
    functions: Vec<&'static str>,
}

#[derive(Serialize)]
struct JsonDirection {
    from: String,
    to: String,
    packets: u64,
    bytes: u64,
    offered: Answer,
    preferred: Answer,
    negotiated: Answer,
    authenticated: Answer,
    stayed: Answer,
    clear: Answer,
}

#[derive(Serialize)]
struct JsonPhase {
    occasion: &'static str,
    kind: String,
    key_exchange: Option<String>,
    confidentiality: &'static str,
    authenticity: &'static str,
    first_packet: u64,
    latest_packet: u64,
    last_packet: u64,
    first_ns: u64,
    latest_ns: u64,
    last_ns: u64,
    parts: u64,
    rekeys: u64,
}

#[derive(Serialize)]
struct JsonObjection {
    concern: &'static str,
    because: String,
    sources: Vec<String>,
}

impl JsonLink {
    pub(crate) fn new(link: &Link) -> Self {
        let [there, back] = &link.directions;
        let [one, other] = &link.ends;
        let groups = link.groups.iter().map(ToString::to_string);
        let methods = link.methods.iter().map(ToString::to_string);
        Self {
            ends: [(one, 0), (other, 1)].map(|(end, index)| End {
                address: end.address.to_string(),
                port: end.port,
                node: end.node.as_ref().map(ToString::to_string),
                functions: link.functions[index].clone(),
            }),
            interface: link
                .interface
                .map(|interface| Interface::new(interface, link.named_by.as_ref())),
            service_port: link.service,
            paths: link.paths.iter().map(path).collect(),
            in_deployment: match &link.listing {
                Listing::NoDeployment => "no deployment file",
                Listing::Listed(_) => "yes",
                Listing::Unlisted => "no",
                Listing::Within(_) => "within a node",
            },
            deployment_interface: match &link.listing {
                Listing::Listed(place) => Some(*place),
                _ => None,
            },
            first_packet: link.first.packet,
            last_packet: link.last.packet,
            first_ns: link.first.time.0,
            last_ns: link.last.time.0,
            parts: link.parts,
            attempts: link.attempts,
            in_ledger: link.in_ledger,
            by_kind: link.by_kind.iter().map(|(kind, &count)| (kind.name(), count)).collect(),
            key_exchanges: groups.chain(methods).chain(link.ssh_methods.iter().cloned()).collect(),
            directions: [
                JsonDirection::new(there, [one, other].map(ToString::to_string)),
                JsonDirection::new(back, [other, one].map(ToString::to_string)),
            ],
            confidentiality: verdict(&link.confidentiality),
            authenticity: verdict(&link.authenticity),
            phases: link.phases.iter().map(JsonPhase::new).collect(),
            beyond_phases: link.beyond_phases,
            objections: link.objections.iter().map(JsonObjection::new).collect(),
            exception: link.exception.clone(),
        }
    }
}

impl JsonDirection {
    fn new(direction: &Direction, [from, to]: [String; 2]) -> Self {
        Self {
            from,
            to,
            packets: direction.packets,
            bytes: direction.bytes,
            offered: answer(&direction.offered),
            preferred: answer(&direction.preferred),
            negotiated: answer(&direction.negotiated),
            authenticated: answer(&direction.authenticated),
            stayed: answer(&direction.stayed),
            clear: answer(&direction.clear),
        }
    }
}

impl JsonPhase {
    fn new(phase: &Phase) -> Self {
        Self {
            occasion: phase.occasion.name(),
            kind: phase.kind.name(),
            key_exchange: phase.key_exchange.clone(),
            confidentiality: phase.confidentiality.name(),
            authenticity: phase.authenticity.name(),
            first_packet: phase.first.packet,
            latest_packet: phase.latest.packet,
            last_packet: phase.last.packet,
            first_ns: phase.first.time.0,
            latest_ns: phase.latest.time.0,
            last_ns: phase.last.time.0,
            parts: phase.parts,
            rekeys: phase.rekeys,
        }
    }
}

impl JsonObjection {
    fn new(objection: &Objection) -> Self {
        Self {
            concern: objection.concern.name(),
            because: objection.because.clone(),
            sources: sources(&objection.sources),
        }
    }
}
