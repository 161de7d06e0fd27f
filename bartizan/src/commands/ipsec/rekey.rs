//! `bartizan rekey`: fresh keys for a node's IPsec or MACsec links.

use std::time::Duration;

use bartizan_ipsec::{Charon, drive};

use super::node::{IpsecHost, NodeArgs};
use super::report::Report;
use super::{failed, show};
use crate::commands::macsec;
use crate::{Failure, Outcome};

/// Rekey a node's IPsec or MACsec links, and say what keys them now.
///
/// IPsec links: the CHILD_SAs, or with --ike the IKE_SAs. It ends when the new ones are up, or when the time is over.
///
/// MACsec links: the keys that this end sends with; no frame is lost.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan rekey ran.yaml --node cu\n  \
    bartizan rekey ran.yaml --node cu --ike --json\n  \
    bartizan rekey ran.yaml --node odu --exchange")]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeArgs,
    /// Rekey the IKE_SAs instead of the CHILD_SAs.
    #[arg(long)]
    ike: bool,
    /// Rekey MACsec links by a new exchange with the peer, which gives the peer a new key too.
    #[arg(long, conflicts_with = "ike")]
    exchange: bool,
    /// Time allowed for the new SAs, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(host) = args.node.macsec()? {
        return macsec::status::rekey(&host, args.exchange, Duration::from_secs(args.timeout), args.json);
    }
    let host = IpsecHost::read(&args.node)?;
    let mut client = host.client()?;
    let charon = Charon::ask(&mut client).map_err(|error| failed(&error))?;
    let (_, connections) = host.rendered(charon.means(), None)?;
    let names: Vec<_> = connections.iter().map(|connection| connection.name.clone()).collect();
    let what = if args.ike {
        drive::Rekey::Ike
    } else {
        drive::Rekey::Children
    };
    let late =
        drive::rekey(&mut client, &names, what, Duration::from_secs(args.timeout)).map_err(|error| failed(&error))?;
    if !late.is_empty() {
        return Err(
            Failure::new(format!("{} was not rekeyed within {} s", late.join(", "), args.timeout))
                .hint("the peer must accept one of the policy's key exchanges: the log of the IKE engine says what it answered")
                .hint("`bartizan status` says what stands"),
        );
    }
    let expectations = host.expectations(&connections);
    let status = drive::status(&mut client, &expectations).map_err(|error| failed(&error))?;
    let report = Report::new(&host.node, &charon, status, None);
    show(&report, args.json, || report.text(), report.well)
}
