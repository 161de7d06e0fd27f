//! Policies of the kernel's ESP that block what routing alone does not stop: IPv4 of sockets that are bound to a device.

use std::collections::BTreeSet;
use std::time::Duration;

use bartizan_host::Error as Host;

use super::routing::{classified, ip};
use crate::redirect::Error;
use crate::redirect::plan::Plan;

/// The ranks of ours: behind every policy of an IKE daemon, whose numbers go up to a few millions. What is let pass comes first.
const PASSED: u32 = 7442 | 1 << 28;
const BLOCKED: u32 = 7443 | 1 << 28;
/// How long `ip` may take.
const PATIENCE: Duration = Duration::from_secs(30);
const ANY: &str = "0.0.0.0/0";

/// The policies, as `ip` takes and prints them, each with its rank.
fn wanted(plan: &Plan) -> BTreeSet<(u32, String)> {
    let addresses = plan.addresses();
    let to = addresses.iter().filter(|address| address.is_ipv4());
    let to = to.map(|address| {
        format!(
            "src {ANY} dst {}/32 proto 6 dport {} dir out",
            address.ip(),
            address.port()
        )
    });
    let from = plan
        .ports
        .iter()
        .map(|port| format!("src {ANY} dst {ANY} proto 6 sport {port} dir out"));
    let gateway = &plan.gateway;
    let to_services = gateway.services.keys().filter(|service| service.is_ipv4());
    let to_services = to_services.map(|service| {
        format!(
            "src {ANY} dst {}/32 proto 132 dport {} dir out",
            service.ip(),
            service.port()
        )
    });
    let to_peers = gateway.peers.iter().filter(|peer| peer.is_ipv4());
    let to_peers = to_peers.map(|peer| format!("src {ANY} dst {peer}/32 proto 132 dir out"));
    let answers = gateway
        .ports
        .iter()
        .map(|port| format!("src {ANY} dst {ANY} proto 132 sport {port} dir out"));
    let blocked = to
        .chain(from)
        .chain(to_services)
        .chain(to_peers)
        .chain(answers)
        .map(|packets| (BLOCKED, format!("{packets} action block")));
    let mut wanted: BTreeSet<_> = blocked.collect();
    for bystander in &plan.bystanders {
        for peer in bystander.networks_of(true) {
            let answers = bystander.ports.iter();
            wanted.extend(answers.map(|port| (PASSED, format!("src {ANY} dst {peer} proto 6 sport {port} dir out"))));
        }
    }
    for peer in gateway.passed.iter().filter(|peer| peer.address().is_ipv4()) {
        let answers = gateway.ports.iter();
        wanted.extend(answers.map(|port| (PASSED, format!("src {ANY} dst {peer} proto 132 sport {port} dir out"))));
    }
    wanted
}

pub(super) fn batch(plan: &Plan) -> String {
    let lines = wanted(plan).into_iter();
    lines
        .map(|(priority, policy)| format!("xfrm policy update {policy} priority {priority}\n"))
        .collect()
}

/// Installs them, where the kernel has such policies.
pub(super) fn install(plan: &Plan) -> Result<(), Error> {
    let done = ip().arguments(["-batch", "-"]).text(&batch(plan))?.run(PATIENCE);
    none_without_xfrm(done).map(drop)
}

pub(super) fn remove() -> Result<(), Error> {
    for priority in [PASSED, BLOCKED] {
        if listed(priority)?.is_none_or(|listed| listed.is_empty()) {
            continue;
        }
        let done = ip()
            .arguments(["xfrm", "policy", "deleteall", "priority", &priority.to_string()])
            .run(PATIENCE);
        match done {
            // Somebody else was faster.
            Err(Host::Failed { tail, .. }) if tail.contains("No such process") => {}
            done => none_without_xfrm(done).map(drop)?,
        }
    }
    Ok(())
}

/// Whether any is installed, and how they differ from what they should be. A kernel without them lacks none.
pub(super) fn differences(plan: &Plan) -> Result<(bool, Vec<String>), Error> {
    let wanted = wanted(plan);
    let mut here = BTreeSet::new();
    for priority in [PASSED, BLOCKED] {
        let Some(listed) = listed(priority)? else {
            return Ok((false, Vec::new()));
        };
        here.extend(listed.into_iter().map(|policy| (priority, policy)));
    }
    let missing = wanted
        .difference(&here)
        .map(|(_, policy)| format!("the XFRM policy {policy} is missing"));
    let added = here
        .difference(&wanted)
        .map(|(_, policy)| format!("an XFRM policy {policy} was added"));
    Ok((!here.is_empty(), missing.chain(added).collect()))
}

/// Those that the kernel has; none where it has no such policies at all.
fn listed(priority: u32) -> Result<Option<BTreeSet<String>>, Error> {
    let priority = priority.to_string();
    let listed = ip()
        .arguments(["xfrm", "policy", "list", "priority", &priority])
        .run(PATIENCE);
    Ok(none_without_xfrm(listed)?.map(|listed| read(&listed.text())))
}

/// The policies of a listing, in the words of [`wanted`]. Any other attribute of one makes it another.
fn read(text: &str) -> BTreeSet<String> {
    let mut policies: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        match policies.last_mut() {
            // What belongs to a policy is indented.
            Some(last) if line.starts_with(char::is_whitespace) => last.extend(line.split_whitespace()),
            _ => policies.push(line.split_whitespace().collect()),
        }
    }
    policies.iter().map(|words| plain(words)).collect()
}

fn plain(words: &[&str]) -> String {
    let mut kept = Vec::new();
    let mut pairs = words.chunks_exact(2);
    for pair in &mut pairs {
        match pair {
            ["priority" | "ptype", _] => {}
            ["proto", "tcp"] => kept.extend(["proto", "6"]),
            ["proto", "sctp"] => kept.extend(["proto", "132"]),
            pair => kept.extend(pair),
        }
    }
    kept.extend(pairs.remainder());
    kept.join(" ")
}

/// A kernel without XFRM has no policies: what is left is in `docs/redirect.md`.
fn none_without_xfrm<T>(done: Result<T, Host>) -> Result<Option<T>, Error> {
    match done {
        Err(Host::Failed { tail, .. }) if tail.contains("Protocol not supported") => Ok(None),
        done => done.map(Some).map_err(classified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ip_prints_is_read_back_whatever_this_host_calls_the_protocol() {
        let printed = "src 0.0.0.0/0 dst 10.1.0.2/32 proto tcp dport 8000 \n\tdir out action block priority 268442899 ptype main \n\
                       src 0.0.0.0/0 dst 0.0.0.0/0 proto 6 sport 8000 \n\tdir out action block priority 268442899 ptype main \n";
        let read = read(printed);
        let wanted = [
            "src 0.0.0.0/0 dst 0.0.0.0/0 proto 6 sport 8000 dir out action block",
            "src 0.0.0.0/0 dst 10.1.0.2/32 proto 6 dport 8000 dir out action block",
        ];
        assert_eq!(read.into_iter().collect::<Vec<_>>(), wanted);
    }
}
