//! `bartizan watch`: every SA of a node's IPsec links for as long as they live.

use bartizan_ipsec::Charon;

use super::failed;
use super::monitor::{Opened, WatchArgs, start_log};
use super::node::{IpsecHost, NodeArgs};
use crate::interrupt::Interrupt;
use crate::{Failure, Outcome};

/// Monitor a node's IPsec links continuously.
///
/// Every IKE_SA and CHILD_SA, at set-up and at every rekey and re-authentication, goes into the ledger with what keyed it. One that
/// breaks its policy is taken down, or reported where the policy says so. Runs until SIGTERM or SIGINT; a charon that goes away is
/// waited for.
/// MACsec links and sidecars are watched by `bartizan up` and `bartizan sidecar` themselves.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan watch ran.yaml --node cu --ledger cu.ledger")]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    watch: WatchArgs,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    start_log();
    let host = IpsecHost::read(&args.node)?;
    let opened = Opened::new(&host, &args.watch)?;
    let charon = Charon::ask(&mut host.client()?).map_err(|error| failed(&error))?;
    let (_, connections) = host.rendered(charon.means(), None)?;
    opened.watch(
        &host,
        &host.expectations(&connections),
        None,
        &|| interrupt.asked(),
        &|| (),
    );
    Ok(Outcome::Clean)
}
