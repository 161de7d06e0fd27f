//! Writing the tables, taking them away, and reading what stands.

use serde::Deserialize;

use super::ruleset::{GUARD, REDIRECT, clear};
use super::{Error, Plan, program};

/// Which tables to take away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// The redirect alone: functions' requests then fail, none leaves in clear.
    Redirect,
    /// Redirect, then guard: functions then talk in clear.
    All,
}

/// What stands of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// There is no such table.
    Absent,
    /// Written from this file as it is now.
    InForce,
    /// Written for another node or from another state of the file.
    Other {
        /// The comment of its first commented rule; empty where there is none.
        mark: String,
    },
    /// Written from this file, and rules or set elements have been taken out since.
    Damaged,
}

/// Puts both tables in force, all or nothing, in place of what stands under their names.
///
/// # Errors
/// Where `nft` is missing, may not, or does not take the rules: the tables are then as they were.
pub fn install(plan: &Plan) -> Result<(), Error> {
    program::NFT.run(&["-f", "-"], &plan.script()).map(drop)
}

/// Takes tables away; those that are not there are no error.
///
/// # Errors
/// Where `nft` is missing or may not.
pub fn remove(tables: Tables) -> Result<(), Error> {
    // One transaction each: the guard goes only once the redirect is gone.
    program::NFT.run(&["-f", "-"], &clear(REDIRECT))?;
    match tables {
        Tables::Redirect => Ok(()),
        Tables::All => program::NFT.run(&["-f", "-"], &clear(GUARD)).map(drop),
    }
}

/// What stands of the redirect and of the guard in this network namespace.
///
/// # Errors
/// Where `nft` is missing, may not, or prints what cannot be read.
pub fn standing(plan: &Plan) -> Result<[Standing; 2], Error> {
    // `list table` of one that is not there is an error like any other; the list of all is not.
    let tables = list(&["-j", "list", "tables", "inet"])?;
    let mut found = [Standing::Absent, Standing::Absent];
    for (standing, name) in found.iter_mut().zip([REDIRECT, GUARD]) {
        if !tables
            .iter()
            .any(|object| object.table.as_ref().is_some_and(|table| table.name == name))
        {
            continue;
        }
        let objects = list(&["-j", "list", "table", "inet", name])?;
        let mark = objects.iter().find_map(|object| object.rule.as_ref()?.comment.clone());
        *standing = match mark {
            Some(mark) if mark == plan.mark() => {
                if counted(&objects) == plan.size(name) {
                    Standing::InForce
                } else {
                    Standing::Damaged
                }
            }
            mark => Standing::Other {
                mark: mark.unwrap_or_default(),
            },
        };
    }
    Ok(found)
}

/// How many rules and how many set elements there are.
fn counted(objects: &[Object]) -> (usize, usize) {
    let rules = objects.iter().filter(|object| object.rule.is_some()).count();
    let elements = objects
        .iter()
        .filter_map(|object| Some(object.set.as_ref()?.elements.len()))
        .sum();
    (rules, elements)
}

fn list(arguments: &[&str]) -> Result<Vec<Object>, Error> {
    let text = program::NFT.run(arguments, "")?;
    let listing: Listing = serde_json::from_str(&text).map_err(|error| Error::Unreadable {
        program: program::NFT.name,
        detail: error.to_string(),
    })?;
    Ok(listing.nftables)
}

/// The JSON of libnftables-json(5), as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Listing {
    nftables: Vec<Object>,
}

#[derive(Debug, Deserialize)]
struct Object {
    table: Option<Table>,
    rule: Option<Rule>,
    set: Option<Set>,
}

#[derive(Debug, Deserialize)]
struct Table {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Rule {
    comment: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Set {
    #[serde(default, rename = "elem")]
    elements: Vec<serde_json::Value>,
}
