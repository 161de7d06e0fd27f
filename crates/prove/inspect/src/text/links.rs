//! The table by link.

use std::fmt::Display;

use bartizan_deployment::Deployment;
use bartizan_posture::{Direction, Link, Listing, Network, Phase, Source, Verdict};
use bartizan_wire::Timestamp;

use super::{counted, dash, seconds};
use crate::findings;

pub(super) const HEADINGS: [&str; 8] = [
    "time",
    "interface",
    "between",
    "n",
    "what",
    "key exchange",
    "confidentiality",
    "authenticity",
];

/// Columns that stay where a line has no room for all.
pub(super) const KEPT: &[usize] = &[1, 2, 6, 7];

/// Links printed; the rest are in the JSON.
pub(super) const LINKS: usize = 2000;
/// Phases printed; the rest are in the JSON.
const PHASES: usize = 6;

/// A row for each link, and one for each interface of the deployment file that was not seen.
pub(super) fn rows(
    network: &Network,
    deployment: Option<&Deployment>,
    start: Timestamp,
) -> Vec<([String; 8], Vec<String>)> {
    let seen = network.links.iter().take(LINKS);
    let seen = seen.map(|link| (cells(link, start), explain(link)));
    let interfaces = deployment.map_or(&[][..], Deployment::interfaces);
    let unseen = network.unseen.iter().filter_map(|&place| interfaces.get(place));
    let unseen = unseen.map(|interface| {
        let [a, b] = &interface.between;
        let cells = [
            dash(),
            interface.kind.name().to_owned(),
            format!("{a}, {b}"),
            "0".to_owned(),
            "nothing".to_owned(),
            dash(),
            Verdict::NotSeen.name().to_owned(),
            Verdict::NotSeen.name().to_owned(),
        ];
        (cells, Vec::new())
    });
    seen.chain(unseen).collect()
}

fn cells(link: &Link, start: Timestamp) -> [String; 8] {
    let [a, b] = [0, 1].map(|index| match &link.functions[index][..] {
        [] => link.ends[index].to_string(),
        functions => format!("{} ({})", link.ends[index], functions.join(" ")),
    });
    let kinds: Vec<String> = link.by_kind.keys().map(|kind| kind.name()).collect();
    let groups = link.groups.iter().map(ToString::to_string);
    let exchanges: Vec<String> = groups
        .chain(link.methods.iter().map(ToString::to_string))
        .chain(link.ssh_methods.iter().cloned())
        .collect();
    [
        seconds(link.first.time.since(start)),
        link.service
            .map_or_else(|| link.name().to_owned(), |port| format!("tcp/{port}")),
        format!("{a}, {b}"),
        link.parts.to_string(),
        kinds.join(" + "),
        if exchanges.is_empty() {
            dash()
        } else {
            exchanges.join(" ")
        },
        link.confidentiality.verdict().name().to_owned(),
        link.authenticity.verdict().name().to_owned(),
    ]
}

fn explain(link: &Link) -> Vec<String> {
    let mut lines = Vec::new();
    let [a, b] = &link.ends;
    let [there, back] = &link.directions;
    if answers(there) == answers(back) {
        lines.push(format!("both directions  {}", answers(there)));
    } else {
        lines.push(format!("{a} to {b}: {}", answers(there)));
        lines.push(format!("{b} to {a}: {}", answers(back)));
    }
    let (confidentiality, authenticity) = (&link.confidentiality, &link.authenticity);
    let because = |reason: &str, sources| format!("{reason} ({})", places(sources));
    let reason = because(confidentiality.because(), confidentiality.sources());
    lines.push(format!("because    confidentiality: {reason}"));
    let reason = because(authenticity.because(), authenticity.sources());
    lines.push(format!("           authenticity: {reason}"));
    if link.phases.len() > 1 || link.phases.iter().any(|phase| phase.rekeys > 0) {
        let shown = link.phases.iter().take(PHASES).enumerate();
        lines.extend(shown.map(|(index, phase)| {
            let heading = if index == 0 { "first" } else { "then" };
            format!("{heading:10} {}", became(phase))
        }));
        if link.phases.len() > PHASES {
            lines.push(format!(
                "           ... and {} more: see --json",
                link.phases.len() - PHASES
            ));
        }
    }
    for path in &link.paths {
        lines.push(format!("in         {path}"));
    }
    if let Some(interface) = link.interface {
        let at = link
            .named_by
            .as_ref()
            .map_or_else(String::new, |at| format!(" ({})", findings::source(at)));
        lines.push(format!("interface  {}, by {}{at}", interface.name, interface.by.name()));
    }
    match &link.listing {
        Listing::Unlisted => lines.push("file       not in the deployment file".to_owned()),
        Listing::Within(node) => lines.push(format!(
            "file       within {node}, between its network function and its sidecar"
        )),
        Listing::NoDeployment | Listing::Listed(_) => {}
    }
    if link.attempts > 0 {
        lines.push(format!(
            "attempts   {} refused or without data",
            counted(link.attempts, "further one")
        ));
    }
    lines.extend(link.exception.iter().map(|exception| format!("exception  {exception}")));
    lines
}

fn answers(direction: &Direction) -> String {
    let answers = direction
        .questions()
        .map(|(question, reply)| format!("{question} {}", reply.answer().name()));
    answers.join(", ")
}

fn became(phase: &Phase) -> String {
    let kind = phase.kind.name();
    let with = phase
        .key_exchange
        .as_ref()
        .map_or_else(String::new, |with| format!(" with {with}"));
    let rekeys = match phase.rekeys {
        0 => String::new(),
        rekeys => format!(", {} inside", counted(rekeys, "rekey")),
    };
    let at = match (phase.first.packet, phase.latest.packet) {
        (first, latest) if first == latest => format!("packet {first}"),
        (first, latest) => format!("packets {first} to {latest}"),
    };
    format!(
        "{} x {kind}{with}, {} at {at}{rekeys}: {}, {}",
        phase.parts,
        phase.occasion.name(),
        phase.confidentiality.name(),
        phase.authenticity.name()
    )
}

fn places(sources: &[Source]) -> impl Display {
    let places: Vec<String> = sources.iter().map(findings::source).collect();
    places.join(", ")
}
