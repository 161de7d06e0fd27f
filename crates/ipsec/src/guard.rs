//! What keeps the packets of a node's links off the wire in clear, whatever becomes of charon.
//!
//! charon's own traps hold only while it runs, and under `kernel-libipsec` not even then: what finds no SA takes the host's route.
//! So `up` puts a table of nftables in force before anything is loaded: a packet of a link leaves encrypted or not at all, and
//! arrives so. It outlives charon, `up` and `down`, and goes when it is taken away by name.

mod rules;

use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_host::{Error, Finished, Program};

/// How long `nft` may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The rules of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The table's name in the family `inet`.
    table: String,
    /// What `nft` reads.
    script: String,
    /// The comment of each rule that drops: names the content of all of them.
    mark: String,
    /// Rules that drop.
    drops: usize,
}

/// Packets that would have been in clear and were dropped, since the table stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// On their way out of this host.
    pub leaving: u64,
    /// On their way in.
    pub arriving: u64,
}

/// What stands of a node's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// All of them, as the file asks today.
    InForce(Dropped),
    /// A table of that name with other rules: of another state of the file, or some were taken out.
    Other,
    /// None: packets that find no SA leave in clear, unless something else keeps them.
    Absent,
}

impl Guard {
    /// The rules for every IPsec link of `node`.
    #[must_use]
    pub fn of(deployment: &Deployment, node: &str) -> Self {
        let table = format!("bartizan-ipsec-{node}");
        let written = rules::write(deployment, node, &table);
        Self {
            table,
            script: written.script,
            mark: written.mark,
            drops: written.drops,
        }
    }

    /// The rules as `nft -f` reads them: in place of what stands under their name, in one transaction.
    #[must_use]
    pub fn script(&self) -> &str {
        &self.script
    }

    /// Puts them in force in this network namespace, unless they are: counts go on where nothing changed.
    ///
    /// # Errors
    ///
    /// Where `nft` is missing, may not, or the kernel does not take the rules: what stood before then stands on.
    pub fn close(&self) -> Result<(), Error> {
        if matches!(self.standing()?, Standing::InForce(_)) {
            return Ok(());
        }
        nft(&[&self.script]).map(drop)
    }

    /// Takes them away; when they are not there it is done already. From then on packets leave as the host routes them.
    ///
    /// # Errors
    ///
    /// Where `nft` is missing or may not.
    pub fn open(&self) -> Result<(), Error> {
        nft(&[&rules::cleared(&self.table)]).map(drop)
    }

    /// What stands of them in this network namespace.
    ///
    /// # Errors
    ///
    /// Where `nft` is missing or may not.
    pub fn standing(&self) -> Result<Standing, Error> {
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
        match (counted(rules::LEAVING), counted(rules::ARRIVING)) {
            (Some(leaving), Some(arriving)) => Standing::InForce(Dropped { leaving, arriving }),
            _ => Standing::Other,
        }
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
