//! A first deployment file from what captures show: nodes by address, interfaces as the inspector
//! recognises them, and comments on what only its reader can decide.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use bartizan_deployment::{InterfaceKind, Protection};
use bartizan_follow::keys;
use bartizan_follow::read::{Known, inspect_file, read_ledgers};
use bartizan_inspect::{Detail, MEMORY, Report};
use bartizan_posture::Link;

use crate::Failure;

/// Most nodes and links that a first file has.
const MOST: usize = 500;
const HEAD: &str = "\
# Written by `bartizan init --from`: what the captures show, and no more. Look at each `TODO`, then run `bartizan check core.yaml`.
# What was silent during the capture is missing. Links below have the protection that is usual for their interface, not the one they have.

policy: hybrid
";
const TRUST: &str = "
# Lists can be fetched as well: crl: { url: \"http://HOST:PORT/crl.pem\", file: FILE } (docs/deployment-file.md).
trust:
  roots: certificates/ca.crt.pem
  crl: certificates/ca.crl.pem
";

/// An address, as its links show it.
#[derive(Default)]
struct Seen {
    functions: BTreeSet<&'static str>,
    /// Ports at which it serves requests.
    serves: BTreeSet<u16>,
    by_sidecar: bool,
    by_ipsec: bool,
}

/// The deployment file of these captures.
pub(super) fn text(captures: &[PathBuf]) -> Result<String, Failure> {
    let (ledgers, keys) = (read_ledgers(&[], None)?, keys::read(&[], &[])?);
    let known = Known {
        ledgers: &ledgers,
        deployment: None,
        keys: &keys,
    };
    let reports = captures
        .iter()
        .map(|capture| inspect_file(capture, known, Detail::Each, MEMORY / captures.len(), None));
    let reports: Vec<Report> = reports.collect::<Result<_, _>>()?;
    let mut nodes: BTreeMap<IpAddr, Seen> = BTreeMap::new();
    let mut links: BTreeMap<(InterfaceKind, [IpAddr; 2]), String> = BTreeMap::new();
    let mut undecided = BTreeSet::new();
    for link in reports.iter().flat_map(|report| &report.network().links) {
        let Some((kind, ends)) = recognised(link) else {
            undecided.insert(format!("{}: {}", between(link), shown(link)));
            continue;
        };
        let by = protection(kind);
        for (at, end) in ends.iter().enumerate() {
            let seen = nodes.entry(*end).or_default();
            seen.functions.extend(&link.functions[at]);
            seen.functions
                .extend(role(kind, at).filter(|_| link.functions[at].is_empty()));
            seen.by_sidecar |= by == Protection::Sidecar;
            seen.by_ipsec |= by == Protection::Ipsec;
        }
        let mut ordered = ends;
        ordered.sort();
        links.entry((kind, ordered)).or_insert_with(|| shown(link));
    }
    if links.is_empty() {
        let failure = Failure::new("the captures show no interface of a mobile network between two addresses");
        return Err(failure.hint("`bartizan inspect` says what they show; capture while functions begin to talk"));
    }
    if nodes.len().max(links.len()) > MOST {
        let cause = format!(
            "the captures show {} addresses and {} links, and a first file has {MOST}",
            nodes.len(),
            links.len()
        );
        return Err(Failure::new(cause).hint("give captures of a part of the network"));
    }
    for conversation in reports.iter().flat_map(Report::conversations) {
        let server = conversation.ends()[1];
        let is_sbi = conversation
            .posture()
            .interface
            .is_some_and(|known| known.name == InterfaceKind::Sbi.name());
        if is_sbi && let Some(seen) = server.address().ip().and_then(|address| nodes.get_mut(&address)) {
            seen.serves.extend(server.port());
        }
    }
    Ok(written(&nodes, &links, &undecided))
}

/// Kind and ends of a link that a file can have.
fn recognised(link: &Link) -> Option<(InterfaceKind, [IpAddr; 2])> {
    let name = link.interface?.name;
    let kind = InterfaceKind::ALL.into_iter().find(|kind| kind.name() == name)?;
    let [Some(one), Some(other)] = link.ends.each_ref().map(|end| end.address.ip()) else {
        return None;
    };
    (one != other && link.carried() && kind != InterfaceKind::OpenFronthaul).then_some((kind, [one, other]))
}

const fn protection(kind: InterfaceKind) -> Protection {
    use InterfaceKind::{A1, N32, O1, O2, Sbi};
    match kind {
        Sbi | N32 | A1 | O1 | O2 => Protection::Sidecar,
        _ => Protection::Ipsec,
    }
}

/// Function of the end that asks first, and of the other, where the interface says it.
fn role(kind: InterfaceKind, at: usize) -> Option<&'static str> {
    let roles = match kind {
        InterfaceKind::N2 => ["gNB", "AMF"],
        InterfaceKind::E2 => ["E2 node", "near-RT RIC"],
        InterfaceKind::F1C => ["O-DU", "O-CU-CP"],
        InterfaceKind::Xn => ["gNB", "gNB"],
        _ => return None,
    };
    Some(roles[at])
}

fn between(link: &Link) -> String {
    let [one, other] = &link.ends;
    let service = link
        .service
        .map(|port| format!(", TCP port {port}"))
        .unwrap_or_default();
    format!("{one} and {other}{service}")
}

/// Verdicts and contents of a link, for a comment.
fn shown(link: &Link) -> String {
    let kinds: Vec<_> = link.by_kind.keys().map(|kind| kind.name()).collect();
    let name = match link.interface {
        Some(known) => format!("{}, known by {}, ", known.name, known.by.name()),
        None => String::new(),
    };
    format!(
        "{name}{}: confidentiality {}, authenticity {}",
        kinds.join(" and "),
        link.confidentiality.verdict().name(),
        link.authenticity.verdict().name()
    )
}

fn written(
    nodes: &BTreeMap<IpAddr, Seen>,
    links: &BTreeMap<(InterfaceKind, [IpAddr; 2]), String>,
    undecided: &BTreeSet<String>,
) -> String {
    let names = names(nodes);
    let mut text = String::from(HEAD);
    if nodes.values().any(|seen| seen.by_sidecar) {
        text.push_str(TRUST);
    }
    text.push_str("\nnodes:\n");
    // Writing to a string cannot fail.
    for (address, seen) in nodes {
        let name = &names[address];
        let functions: Vec<_> = seen.functions.iter().copied().collect();
        let function = match functions.as_slice() {
            [one] => (*one).to_owned(),
            [] => "unknown    # TODO: AMF, gNB, near-RT RIC ...".to_owned(),
            several => format!("unknown    # TODO: this address asks as {}", several.join(", ")),
        };
        let _ = write!(
            text,
            "  {name}:\n    function: {function}\n    address: \"{address}\"\n"
        );
        if seen.by_sidecar {
            let _ = write!(
                text,
                "    certificate: certificates/{name}.crt.pem\n    key: certificates/{name}.key.pem\n    sidecar:\n"
            );
            let at = |port| SocketAddr::new(*address, port);
            if let Some(port) = seen.serves.first() {
                let _ = writeln!(
                    text,
                    "      inbound: [ {{ listen: \"{}\", forward: \"{}\" }} ]",
                    at(7443),
                    at(*port)
                );
            }
            if seen.serves.len() > 1 {
                let _ = writeln!(text, "      # TODO: it serves at ports {:?}", seen.serves);
            }
            text.push_str("      outbound: [ { listen: \"127.0.0.1:15001\", transparent: true } ]\n");
        }
        if seen.by_ipsec {
            let _ = write!(
                text,
                "    ipsec:\n      engine: bartizan    # TODO: or strongswan\n      roots: ipsec/ca.crt.pem\n      crl: ipsec/ca.crl.pem\n      \
                 certificate: ipsec/{name}.crt.pem\n      key: ipsec/{name}.key.pem\n"
            );
        }
    }
    text.push_str("\ninterfaces:\n");
    for ((kind, [one, other]), shown) in links {
        let _ = writeln!(text, "  # seen: {shown}");
        let (one, other, by) = (&names[one], &names[other], protection(*kind).name());
        let _ = writeln!(
            text,
            "  - {{ kind: {}, between: [{one}, {other}], with: {by} }}",
            kind.name()
        );
    }
    if !undecided.is_empty() {
        text.push_str("\n# TODO: traffic that is in no link above, as nothing names its interface or its ends are not two addresses.\n");
        let _ = undecided
            .iter()
            .take(MOST)
            .try_for_each(|line| writeln!(text, "# {line}"));
        if undecided.len() > MOST {
            let _ = writeln!(
                text,
                "# and {} more: `bartizan inspect` lists them",
                undecided.len() - MOST
            );
        }
    }
    text
}

/// A name for each address: its function where it has one of its own, numbered where several do.
fn names(nodes: &BTreeMap<IpAddr, Seen>) -> BTreeMap<IpAddr, String> {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let named = nodes.iter().map(|(address, seen)| {
        let mut functions = seen.functions.iter();
        let name = match (functions.next(), functions.next()) {
            (Some(one), None) => one.to_lowercase().replace(' ', "-"),
            _ => format!(
                "node-{}",
                address.to_string().replace(['.', ':'], "-").trim_matches('-')
            ),
        };
        let count = taken.entry(name.clone()).or_default();
        *count += 1;
        let number = if *count > 1 { format!("-{count}") } else { String::new() };
        (*address, name + &number)
    });
    named.collect()
}
