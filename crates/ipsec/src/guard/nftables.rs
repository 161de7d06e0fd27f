//! The guard as a table of nftables.

use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_host::{Error, Finished, Program};

use super::{By, Dropped, Standing, rules};

/// How long `nft` may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The table of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nftables {
    /// Its name in the family `inet`.
    table: String,
    /// What `nft` reads: in place of what stands under that name, in one transaction.
    script: String,
    /// The comment of each rule that drops: names the content of all of them.
    mark: String,
    /// Rules that drop.
    drops: usize,
}

impl Nftables {
    pub(super) fn of(deployment: &Deployment, node: &str) -> Self {
        let table = format!("bartizan-ipsec-{node}");
        let written = rules::write(deployment, node, &table);
        Self {
            table,
            script: written.script,
            mark: written.mark,
            drops: written.drops,
        }
    }

    pub(super) fn close(&self) -> Result<(), Error> {
        nft(&[&self.script]).map(drop)
    }

    pub(super) fn open(&self) -> Result<(), Error> {
        nft(&[&rules::cleared(&self.table)]).map(drop)
    }

    pub(super) fn standing(&self) -> Result<Standing, Error> {
        match nft(&["list", "table", "inet", &self.table]) {
            Ok(listed) => Ok(self.read(&listed.text())),
            Err(Error::Failed { tail, .. }) if tail.contains("No such file or directory") => Ok(Standing::Absent),
            Err(error) => Err(error),
        }
    }

    /// What a listing of the table says.
    fn read(&self, listing: &str) -> Standing {
        let mark = format!("comment \"{}\"", self.mark);
        let ours = listing.lines().filter(|line| line.trim_end().ends_with(&mark));
        if ours.filter(|line| line.contains(" drop ")).count() != self.drops {
            return Standing::Other;
        }
        let counted = |name: &str| {
            let (_, counter) = listing.split_once(&format!("counter {name} {{"))?;
            let (_, packets) = counter.split_once("packets ")?;
            packets.split_whitespace().next()?.parse().ok()
        };
        let dropped = Dropped {
            leaving: counted(rules::LEAVING),
            arriving: counted(rules::ARRIVING),
        };
        if dropped.leaving.is_none() || dropped.arriving.is_none() {
            return Standing::Other;
        }
        Standing::InForce(By::Nftables, dropped)
    }
}

fn nft(arguments: &[&str]) -> Result<Finished, Error> {
    Program::new("nft")
        .package("nftables")
        .environment("LC_ALL", "C")
        .arguments(arguments)
        .run(PATIENCE)
}

#[cfg(test)]
mod tests;
