//! The guard as a table of nftables.

use std::sync::OnceLock;

use bartizan_deployment::Deployment;
use bartizan_host::Error;
use bartizan_host::nftables::{self, Difference, Listing, Table};

use super::flows;
use super::rules::{self, Devices, Known, Written};
use super::{By, Dropped, GuardState, OfLink};
use crate::Kernel;

bartizan_registry::made! {
    /// The table of one node.
    #[derive(Debug)]
    pub(super) struct Nftables, pub(super) of(deployment: &Deployment, node: &str) {
        let name = name(node);
        let variants = [Devices::None, Devices::Tun, Devices::Own]
            .into_iter()
            .flat_map(|devices| [Known::ByLink, Known::ByAnySa].map(|known| (known, devices)));
        let written = |(known, devices)| (rules::write(deployment, node, &name, known, devices), OnceLock::new());
        let written = variants.map(written).collect();
        /// Its name in the family `inet`.
        name: String,
        links: Vec<String> = rules::links(deployment, node),
        /// The variants of it, the strictest first, each with how it is listed once that was asked
        /// for.
        written: Vec<(Written, OnceLock<Listing>)>,
    }
}

impl Nftables {
    /// Installs it as strict as the kernel takes it; leaves it as it is where it is installed.
    pub(super) fn close(&self, esp: Kernel) -> Result<(), Error> {
        let devices = match esp {
            Kernel::Netlink => Devices::None,
            Kernel::Libipsec => Devices::Tun,
            Kernel::Userspace => Devices::Own,
        };
        // An unreadable table may still be writable.
        let here = Table::listed(&self.name).ok().flatten();
        let mut refused = None;
        for (written, wanted) in self.written.iter().filter(|(written, _)| written.devices == devices) {
            if let Some(here) = here.as_ref().filter(|here| has(here, &written.mark))
                && differences(here, written, wanted).is_ok_and(|differences| differences.is_empty())
            {
                return Ok(());
            }
            match Table::install(std::slice::from_ref(&written.table)) {
                Ok(()) => {
                    flows::look_again();
                    return Ok(());
                }
                Err(error @ Error::Failed { .. }) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    pub(super) fn state(&self) -> Result<GuardState, Error> {
        let Some(here) = Table::listed(&self.name)? else {
            return Ok(GuardState::Absent);
        };
        let ours = self.written.iter().find(|(written, _)| has(&here, &written.mark));
        if ours.is_none() && here.comments().any(|comment| comment.starts_with(rules::MARK)) {
            return Ok(GuardState::Other);
        }
        // No fingerprint: flushed, or another program's table under our name.
        let Some((written, wanted)) = ours.or(self.written.first()) else {
            return Ok(GuardState::Other);
        };
        let differences = differences(&here, written, wanted)?;
        Ok(if differences.is_empty() {
            GuardState::Installed(
                By::Nftables(written.known),
                self.dropped(&|counter| here.packets(counter)),
            )
        } else {
            GuardState::Damaged(differences.iter().map(ToString::to_string).collect())
        })
    }

    /// Counts of its counters. None if one of them is missing, or the rules are of another
    /// generation.
    pub(super) fn counted(&self, generation: u32) -> Option<Dropped> {
        let counters = nftables::counters(&self.name, generation).ok()??;
        let dropped = self.dropped(&|counter| counters.get(counter).copied());
        (dropped.leaving.is_some() && dropped.arriving.is_some()).then_some(dropped)
    }

    fn dropped(&self, packets: &dyn Fn(&str) -> Option<u64>) -> Dropped {
        let of_link = |link: &String| OfLink {
            link: link.clone(),
            leaving: packets(&rules::leaving(link)),
            translated: packets(&rules::translated(link)),
            arriving: packets(&rules::arriving(link)),
        };
        let links: Vec<_> = self.links.iter().map(of_link).collect();
        let sum = |of: fn(&OfLink) -> Option<u64>| links.iter().map(of).sum::<Option<u64>>();
        Dropped {
            leaving: sum(|link| Some(link.leaving? + link.translated?)),
            arriving: sum(|link| link.arriving),
            links,
        }
    }
}

fn has(listing: &Listing, mark: &str) -> bool {
    listing.comments().any(|comment| comment == mark)
}

/// Name of the table, in the family `inet`.
fn name(node: &str) -> String {
    format!("bartizan-ipsec-{node}")
}

/// Removes the table of a node, whatever file it is of.
pub(super) fn remove(node: &str) -> Result<(), Error> {
    Table::remove(&name(node))
}

/// Differences between the installed rules and a way to write them, which is listed once.
fn differences(here: &Listing, written: &Written, wanted: &OnceLock<Listing>) -> Result<Vec<Difference>, Error> {
    Ok(here.differences(written.table.wanted_once(wanted)?))
}

#[cfg(test)]
mod tests;
