//! Tables of nftables: written in one transaction, and what is installed compared with what should
//! be, object by object.
//!
//! The wanted listing is not guessed from the text: the same `nft` installs it where it has no
//! effect and lists it, so that both listings come from the same program and the same kernel,
//! whatever their versions.

mod generation;
mod listing;

use std::sync::OnceLock;
use std::time::Duration;

use crate::{Error, Finished, Program};

pub use generation::{counters, generation};
pub use listing::{Difference, Listing};

/// Time limit of `nft`: milliseconds, and more where modules are loaded on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

bartizan_registry::made! {
    /// A table as it should be.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Table,
    /// A table of a family. A chain of `netdev` may name only `lo` where [`Table::wanted`] lists
    /// it: devices are not compared.
    #[must_use]
    pub of(family: &'static str, name: &str, body: &str) {
        family: &'static str,
        name: String = name.to_owned(),
        body: String = body.to_owned(),
    }
}

impl Table {
    /// A table of the family `inet` with this body, in nftables' words, without the braces around
    /// it.
    pub fn new(name: &str, body: &str) -> Self {
        Self::of("inet", name, body)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The script that makes it, in place of one of the same name; several together are one
    /// transaction.
    pub fn script(&self) -> String {
        let Self { family, name, body } = self;
        format!("{}table {family} {name} {{\n{body}}}\n", removal(family, name))
    }

    /// Installs tables in this network namespace, all or nothing, in place of those of the same names.
    ///
    /// # Errors
    ///
    /// [`Error::MissingProgram`], [`Error::NotPermitted`]; [`Error::Failed`] where the kernel does
    /// not take them: what was there is there still.
    pub fn install(tables: &[Self]) -> Result<(), Error> {
        let script: String = tables.iter().map(Self::script).collect();
        apply(&script)
    }

    /// The table of the family `inet` of a name as it is installed in this network namespace; none
    /// where there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Table::install`]; [`Error::Unfit`] where `nft` prints what cannot be read.
    pub fn listed(name: &str) -> Result<Option<Listing>, Error> {
        Listing::of("inet", name)
    }

    /// Removes the table of the family `inet` of a name; one that is not there is removed already.
    ///
    /// # Errors
    ///
    /// Those of [`Table::install`].
    pub fn remove(name: &str) -> Result<(), Error> {
        apply(&removal("inet", name))
    }

    /// The listing of the table where it is installed: it is, in a network namespace of its own,
    /// or, where this process may make none, under another name in this one, dormant, for as long
    /// as it takes to list it.
    ///
    /// # Errors
    ///
    /// Those of [`Table::listed`].
    pub fn wanted(&self) -> Result<Listing, Error> {
        let list = format!("nft -f - && nft -j list table {} {}", self.family, self.name);
        let apart = Program::new("unshare")
            .package("util-linux")
            .arguments(["--net", "--", "sh", "-c", &list])
            .environment("PATH", crate::features::path_with_sbin())
            .environment("LC_ALL", "C")
            .text(&self.script())?
            .run(PATIENCE);
        match apart {
            Ok(listed) => Listing::parse(&listed.text()),
            Err(Error::Failed { tail, .. }) if !tail.contains("unshare failed") => Err(refused(&tail)),
            _ => self.wanted_here(),
        }
    }

    /// [`Self::wanted`], listed once and then kept in `known`.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn wanted_once<'a>(&self, known: &'a OnceLock<Listing>) -> Result<&'a Listing, Error> {
        if let Some(wanted) = known.get() {
            return Ok(wanted);
        }
        let listed = self.wanted()?;
        Ok(known.get_or_init(|| listed))
    }

    fn wanted_here(&self) -> Result<Listing, Error> {
        let copy = format!("{}-wanted-{}", self.name, std::process::id());
        let family = self.family;
        apply(&format!("table {family} {copy} {{\nflags dormant\n{}}}\n", self.body))?;
        let listed = Listing::of(family, &copy);
        apply(&removal(family, &copy))?;
        listed?.ok_or_else(|| Error::Unfit {
            what: format!("the table {copy}"),
            reason: "it was removed while it was read".to_owned(),
        })
    }
}

/// FNV-1a, 64 bits. Distinguishes states of rules, and is no protection against an attacker.
pub fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Script that removes a table, if there is one: `table X` makes it first, so that `delete table X`
/// cannot fail.
pub fn removal(family: &str, name: &str) -> String {
    format!("table {family} {name}\ndelete table {family} {name}\n")
}

/// A table of any family as it is installed, with its listing as text: nft 1.0.6 leaves the devices
/// of a chain out of JSON. None where there is no such table.
///
/// # Errors
///
/// Those of [`Table::listed`].
pub fn printed(family: &str, name: &str) -> Result<Option<(Listing, String)>, Error> {
    let Some(listing) = Listing::of(family, name)? else {
        return Ok(None);
    };
    Ok(Some((listing, ask(&["list", "table", family, name])?.text())))
}

/// Hands `nft` a script, as one transaction.
///
/// # Errors
///
/// Those of [`Table::install`].
pub fn apply(script: &str) -> Result<(), Error> {
    let done = nft().arguments(["-f", "-"]).text(script)?.run(PATIENCE);
    done.map(drop).map_err(classified)
}

/// The flowtables of this network namespace, each with its table's name: what they have taken over
/// passes every hook behind that of their devices.
///
/// # Errors
///
/// Those of [`Table::listed`].
pub fn flowtables() -> Result<Vec<String>, Error> {
    let listed = ask(&["-j", "list", "flowtables"])?;
    let unreadable = |reason: serde_json::Error| Error::Unfit {
        what: "what `nft -j` prints".to_owned(),
        reason: reason.to_string(),
    };
    let printed: serde_json::Value = serde_json::from_str(&listed.text()).map_err(unreadable)?;
    let objects = printed["nftables"].as_array().map_or(&[][..], Vec::as_slice);
    let names = objects.iter().filter_map(|object| {
        let flowtable = object.get("flowtable")?;
        let [family, table, name] = ["family", "table", "name"].map(|field| flowtable[field].as_str());
        Some(format!("{} {} {}", family?, table?, name?))
    });
    Ok(names.collect())
}

/// Runs `nft` with these arguments.
fn ask(arguments: &[&str]) -> Result<Finished, Error> {
    nft().arguments(arguments).run(PATIENCE).map_err(classified)
}

fn nft() -> Program {
    let nft = Program::of_system("nft").package("nftables");
    nft.environment("LC_ALL", "C")
}

/// A refusal for want of a right is one of its own.
fn classified(error: Error) -> Error {
    match error {
        Error::Failed { tail, .. } if is_of_rights(&tail) => {
            Error::NotPermitted("changing or reading this host's packet filter".to_owned())
        }
        error => error,
    }
}

fn is_of_rights(tail: &str) -> bool {
    ["Operation not permitted", "Permission denied"]
        .iter()
        .any(|words| tail.contains(words))
}

fn refused(tail: &str) -> Error {
    if is_of_rights(tail) {
        return Error::NotPermitted("changing or reading this host's packet filter".to_owned());
    }
    let line = tail.lines().map(str::trim).find(|line| !line.is_empty());
    Error::Unfit {
        what: "the rules".to_owned(),
        reason: format!("nft does not take them: {}", line.unwrap_or("no reason given")),
    }
}

#[cfg(test)]
mod tests;
