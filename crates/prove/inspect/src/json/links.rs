//! Links.

use bartizan_posture::{Direction, Link, Listing, Objection, Phase};
use bartizan_registry::object;
use bartizan_wire::path::{self, Path};
use bartizan_wire::proxy::Through;
use serde::Serialize;

use super::{answer, interface_facts, list, sources, verdict};

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

pub(crate) fn link_facts(link: &Link) -> impl Serialize {
    let [there, back] = &link.directions;
    let [one, other] = &link.ends;
    let groups = link.groups.iter().map(ToString::to_string);
    let methods = link.methods.iter().map(ToString::to_string);
    object!(Link {
        ends: [(one, 0), (other, 1)].map(|(end, index)| object!(End {
            address: end.address.to_string(),
            port: end.port,
            node: end.node.as_ref().map(ToString::to_string),
            functions: link.functions[index].clone(),
        })),
        interface: link
            .interface
            .map(|interface| interface_facts(interface, link.named_by.as_ref())),
        service_port: link.service,
        paths: list(&link.paths, path),
        in_deployment: match &link.listing {
            Listing::NoDeployment => "no deployment file",
            Listing::Listed(_) => "yes",
            Listing::Unlisted => "no",
            Listing::Within(_) => "within a node",
        },
        // The place of the interface in the deployment file, from 0.
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
        by_kind: link
            .by_kind
            .iter()
            .map(|(kind, &count)| (kind.name(), count))
            .collect::<std::collections::BTreeMap<_, _>>(),
        key_exchanges: groups
            .chain(methods)
            .chain(link.ssh_methods.iter().cloned())
            .collect::<Vec<_>>(),
        directions: [
            direction_facts(there, [one, other].map(ToString::to_string)),
            direction_facts(back, [other, one].map(ToString::to_string)),
        ],
        confidentiality: verdict(&link.confidentiality),
        authenticity: verdict(&link.authenticity),
        phases: list(&link.phases, phase_facts),
        beyond_phases: link.beyond_phases,
        objections: list(&link.objections, objection_facts),
        exception: link.exception.clone(),
    })
}

fn direction_facts(direction: &Direction, [from, to]: [String; 2]) -> impl Serialize {
    object!(Direction {
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
    })
}

fn phase_facts(phase: &Phase) -> impl Serialize {
    object!(Phase {
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
    })
}

fn objection_facts(objection: &Objection) -> impl Serialize {
    object!(Objection {
        concern: objection.concern.name(),
        because: objection.because.clone(),
        sources: sources(&objection.sources),
    })
}
