//! The fence: policy routing that knows no way out of the host for what goes to a peer's function in clear.
//!
//! It is outside nftables: `nft flush ruleset` leaves it standing. A redirected connection passes it, because it leaves by
//! loopback anyway; one that is no longer redirected ends there.

use std::fmt::Write as _;

use super::plan::Plan;
use super::{Error, program};

/// Number of the routing table, and preference of the rules: after `local` (0), before everything an operator commonly adds.
const TABLE: u32 = 7443;

/// What `ip -4 -batch -` and `ip -6 -batch -` are given for a plan.
#[must_use]
pub fn batches(plan: &Plan) -> [(&'static str, String); 2] {
    ["-4", "-6"].map(|family| {
        let mut batch = String::new();
        let addresses = plan.addresses();
        for address in addresses.iter().filter(|address| address.is_ipv4() == (family == "-4")) {
            let (ip, port) = (address.ip(), address.port());
            // Writing to a string cannot fail.
            let _ = writeln!(
                batch,
                "rule add pref {TABLE} to {ip} ipproto tcp dport {port} lookup {TABLE}"
            );
        }
        if !batch.is_empty() {
            // The way out comes before the rules that lead to it: an empty table would be passed over.
            batch.insert_str(0, &format!("route replace default dev lo table {TABLE}\n"));
        }
        (family, batch)
    })
}

/// How many rules the fence of a plan has.
#[must_use]
pub fn size(plan: &Plan) -> usize {
    plan.addresses().len()
}

/// Puts it up in place of the one that stands.
///
/// # Errors
/// Where `ip` is missing, may not, or the kernel has no policy routing.
pub fn install(plan: &Plan) -> Result<(), Error> {
    remove()?;
    for (family, batch) in batches(plan) {
        if !batch.is_empty() {
            program::IP.run(&[family, "-batch", "-"], &batch)?;
        }
    }
    Ok(())
}

/// Takes it down, whether it stands or not.
///
/// # Errors
/// Where `ip` is missing or may not.
pub fn remove() -> Result<(), Error> {
    let table = TABLE.to_string();
    for family in ["-4", "-6"] {
        for _ in 0..rules(family)? {
            program::IP.run(&[family, "rule", "del", "pref", &table], "")?;
        }
        // A table that was never filled is not there, which `flush` calls an error.
        match program::IP.run(&[family, "route", "flush", "table", &table], "") {
            Ok(_) => {}
            Err(Error::Refused { said, .. }) if said.contains("does not exist") => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How many of its rules stand, of both families.
///
/// # Errors
/// Where `ip` is missing or does not answer.
pub fn standing() -> Result<usize, Error> {
    Ok(rules("-4")? + rules("-6")?)
}

fn rules(family: &str) -> Result<usize, Error> {
    let listed = program::IP.run(&[family, "rule", "show"], "")?;
    let ours = format!("{TABLE}:");
    Ok(listed.lines().filter(|line| line.starts_with(&ours)).count())
}
