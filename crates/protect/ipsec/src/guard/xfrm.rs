//! The guard as policies of the kernel's ESP (XFRM), for kernels that do ESP and have no nftables.
//!
//! A policy that drops ranks below every one of charon's, so it is met only by what no SA and no trap is for. IKE passes, since
//! charon's sockets have a policy of their own; ESP passes, since the kernel asks for policies before it makes it and after it has
//! opened it; loopback is asked for none.

mod policy;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::thread;
use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_host::{Error, Program};

use self::policy::Policy;
use super::{By, Dropped, GuardState};
use crate::reqid::fingerprint;

/// Time limit of `ip`.
const PATIENCE: Duration = Duration::from_secs(20);

/// The kernel's counters of this network namespace.
const COUNTS: &str = "/proc/thread-self/net/xfrm_stat";

/// The policies of one node. They have no names: their priority identifies the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Xfrm {
    ranks: [Rank; 2],
}

/// Policies of the same priority.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rank {
    /// A lower number goes first.
    priority: u32,
    policies: BTreeSet<Policy>,
}

impl Xfrm {
    pub(super) fn of(deployment: &Deployment, node: &str) -> Self {
        let (passed, dropped) = policy::of(deployment, node);
        let [passing, dropping] = priorities(node);
        let rank = |priority, policies| Rank { priority, policies };
        Self {
            ranks: [rank(passing, passed), rank(dropping, dropped)],
        }
    }

    /// Adds what is missing, then removes what is of another state of the file.
    pub(super) fn close(&self) -> Result<(), Error> {
        let mut lines = String::new();
        for rank in &self.ranks {
            for policy in &rank.policies {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    lines,
                    "xfrm policy update {policy} {}",
                    policy.with_priority(rank.priority)
                );
            }
        }
        batch(&lines, &[])?;
        let mut stale = BTreeSet::new();
        for rank in &self.ranks {
            let found = rank.found()?;
            let others = found
                .difference(&rank.policies)
                .map(|policy| (policy.unmarked(), rank.priority));
            stale.extend(others);
        }
        for (packets, priority) in &stale {
            let priority = priority.to_string();
            delete(packets.split(' ').chain(["priority", &priority]))?;
        }
        if stale.is_empty() {
            return Ok(());
        }
        // Those for some of the packets of one that went have gone with it.
        batch(&lines, &[])
    }

    /// Removes what charon has for the same packets: its policies ask for no mark.
    pub(super) fn remove_leftover(&self) -> Result<(), Error> {
        let policies = self.ranks.iter().flat_map(|rank| &rank.policies);
        let lines: BTreeSet<_> = policies
            .map(|policy| format!("xfrm policy delete {}\n", policy.unmarked()))
            .collect();
        match none_without_xfrm(batch(&lines.into_iter().collect::<String>(), &["-force"])) {
            // Most are not there.
            Err(Error::Failed { tail, .. }) if tail.lines().all(is_of_absence) => Ok(()),
            removed => removed,
        }
    }

    pub(super) fn state(&self) -> Result<GuardState, Error> {
        let mut found = Vec::new();
        for rank in &self.ranks {
            found.push((rank, rank.found()?));
        }
        if found.iter().all(|(_, found)| found.is_empty()) {
            return Ok(GuardState::Absent);
        }
        let surplus = |(rank, found): &(&Rank, BTreeSet<Policy>)| !found.is_subset(&rank.policies);
        if found.iter().any(surplus) {
            return Ok(GuardState::Other);
        }
        let missing = found.iter().flat_map(|(rank, found)| rank.policies.difference(found));
        let missing: Vec<_> = missing
            .map(|policy| format!("the policy {policy} is missing"))
            .collect();
        if !missing.is_empty() {
            return Ok(GuardState::Damaged(missing));
        }
        let counts = fs::read_to_string(COUNTS).unwrap_or_default();
        Ok(GuardState::Installed(By::Xfrm, dropped(&counts)))
    }
}

impl Rank {
    /// Those that the kernel has.
    fn found(&self) -> Result<BTreeSet<Policy>, Error> {
        let mut found = BTreeSet::new();
        for direction in policy::DIRECTIONS {
            let program = Program::new("ip")
                .package("iproute2")
                .environment("LC_ALL", "C")
                .arguments(["xfrm", "policy", "list", "dir", direction])
                .arguments(["priority", &self.priority.to_string()]);
            let listed = none_without_xfrm(program.run(PATIENCE).map(|listed| listed.text()))?;
            found.extend(Policy::listed(&listed));
        }
        Ok(found)
    }
}

/// Those of what passes and of what is dropped. IKE daemons use numbers of a few millions at most, strongSwan 6.1.0 less than one.
fn priorities(node: &str) -> [u32; 2] {
    [1 << 29, 1 << 30].map(|first: u32| first | number(node))
}

/// Times that policies are removed before another program that adds them wins.
const TRIES: usize = 4;

/// Removes the policies of a node, whatever file they are of; whether there were any.
pub(super) fn remove(node: &str) -> Result<bool, Error> {
    let mut any = false;
    for priority in priorities(node) {
        let rank = Rank {
            priority,
            policies: BTreeSet::new(),
        };
        // That `ip` has deleted is not believed: what is there afterwards is compared.
        for tries in 0.. {
            let left = rank.found()?.len();
            match (left, tries) {
                (0, _) => break,
                (_, TRIES) => {
                    return Err(Error::Unfit {
                        what: "the XFRM policies of the guard".to_owned(),
                        reason: format!(
                            "{left} of them are there again after {TRIES} times: another program adds them"
                        ),
                    });
                }
                _ => delete(["priority", &priority.to_string()])?,
            }
            any = true;
        }
    }
    Ok(any)
}

/// A number of a node's name that stays the same in every build, of 29 bits: FNV-1a, folded.
fn number(node: &str) -> u32 {
    let hash = fingerprint(node);
    (hash >> 29) ^ (hash & 0x1fff_ffff)
}

/// Packets that a policy dropped, by the kernel's counters: routes that found no SA, and packets
/// that were blocked.
fn dropped(counts: &str) -> Dropped {
    let count = |wanted: &str| {
        let mut lines = counts.lines().filter_map(|line| line.split_once(char::is_whitespace));
        let (_, count) = lines.find(|(name, _)| *name == wanted)?;
        count.trim().parse().ok()
    };
    Dropped {
        leaving: count("XfrmOutNoStates"),
        arriving: count("XfrmInPolBlock"),
        links: Vec::new(),
    }
}

/// A kernel without XFRM has no policies.
fn none_without_xfrm<T: Default>(done: Result<T, Error>) -> Result<T, Error> {
    match done {
        Err(Error::Failed { tail, .. }) if tail.contains("Protocol not supported") => Ok(T::default()),
        done => done,
    }
}

/// Returns true for the message of `ip -force -batch` about an absent policy.
fn is_of_absence(line: &str) -> bool {
    line.contains("No such file or directory") || line.starts_with("Command failed")
}

/// Removes the policies that this says of, whatever their mark: `ip xfrm policy delete` of iproute2 6.1 leaves a mark of 0 out of what it
/// asks for, and does not find them.
fn delete<'a>(which: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    Program::new("ip")
        .package("iproute2")
        .environment("LC_ALL", "C")
        .arguments(["xfrm", "policy", "deleteall"])
        .arguments(which)
        .run(PATIENCE)
        .map(drop)
}

/// Hands `ip` its lines; it ends at the first that the kernel does not take, unless it is configured otherwise.
fn batch(lines: &str, options: &[&str]) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let (reader, mut writer) = io::pipe().map_err(|source| Error::Io {
        action: "making a pipe for `ip`".to_owned(),
        source,
    })?;
    thread::scope(|scope| {
        // If `ip` ends before it has read them all, its own error gives the reason.
        scope.spawn(move || drop(writer.write_all(lines.as_bytes())));
        Program::new("ip")
            .package("iproute2")
            .environment("LC_ALL", "C")
            .arguments(options)
            .arguments(["-batch", "-"])
            .input(reader.into())
            .run(PATIENCE)
            .map(drop)
    })
}

#[cfg(test)]
mod tests;
