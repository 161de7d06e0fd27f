//! The fence: outside nftables, so that `nft flush ruleset` leaves it, no way out of the host for what goes unencrypted to a peer's function
//! or comes from the own one.
//!
//! Policy routing leads both to loopback: a redirected connection passes, since it leaves by loopback anyway; one that is no longer
//! redirected ends there. For sockets that are bound to a device the same rules know no route. IPv4 takes that for "the destination is on
//! this link" and sends all the same, so policies of the kernel's ESP (XFRM) block there; those of loopback are asked for none.

mod policies;
mod routing;

use super::Error;
use super::plan::Plan;

/// The lines for `ip -4 -batch -`, `ip -6 -batch -` and `ip -batch -`, each with its options.
pub(super) fn batches(plan: &Plan) -> [(&'static [&'static str], String); 3] {
    let [v4, v6] = routing::batches(plan);
    [(&["-4"], v4), (&["-6"], v6), (&[], policies::batch(plan))]
}

/// Installs it in place of the one that is installed, of which what is right already stays.
pub(super) fn install(plan: &Plan) -> Result<(), Error> {
    routing::install(plan)?;
    policies::install(plan)
}

/// Removes it, whether it is installed or not.
pub(super) fn remove() -> Result<(), Error> {
    policies::remove()?;
    routing::remove()
}

/// Returns true if any part of it is installed, with its differences from the plan as sentences.
pub(super) fn differences(plan: &Plan) -> Result<(bool, Vec<String>), Error> {
    let (routes, mut differences) = routing::differences(plan)?;
    let (policies, more) = policies::differences(plan)?;
    differences.extend(more);
    Ok((routes || policies, differences))
}
