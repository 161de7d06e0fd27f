//! `bartizan status`: a node's IPsec links as charon has them, joined with the policy's verdict.

use bartizan_ipsec::{Charon, drive};

use super::node::{IpsecHost, NodeArgs};
use super::report::Report;
use super::{failed, print, print_json};
use crate::{Failure, Outcome};

/// Say how a node's IPsec links stand.
///
/// Asked of charon now, never remembered: which connections are loaded, which IKE_SAs and CHILD_SAs stand, what keyed them, what
/// they carried, and what the policy of today says. A link that does not stand, or breaks its policy, is a finding: exit code 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan status ran.yaml --node cu\n  \
    bartizan status ran.yaml --node cu --vici /run/charon.vici --json | jq .well")]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeArgs,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let host = IpsecHost::read(&args.node)?;
    let mut client = host.client()?;
    let charon = Charon::ask(&mut client).map_err(|error| failed(&error))?;
    let (_, connections) = host.rendered(charon.counts_64_bits())?;
    let expectations = host.expectations(&connections);
    let status = drive::status(&mut client, &expectations).map_err(|error| failed(&error))?;
    let report = Report::new(&host.node, charon.version, status);
    if args.json {
        print_json(&report)?;
    } else {
        print(&report.text())?;
    }
    Ok(if report.well { Outcome::Clean } else { Outcome::Finding })
}
