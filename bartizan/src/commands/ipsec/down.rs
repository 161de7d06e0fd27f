//! `bartizan down`: a node's IPsec links are taken down.

use std::time::Duration;

use bartizan_ipsec::drive::{self, Lock};
use serde::Serialize;

use super::node::{IpsecHost, NodeArgs};
use super::report::SCHEMA;
use super::{TURN, failed, print, print_json};
use crate::{Failure, Outcome};

/// Take a node's IPsec links down.
///
/// Connections are unloaded first, so that nothing sets them up again, then their SAs are deleted together with the peer, or
/// without it when it does not answer. What is down already is no error, so a `down` that was interrupted is finished by the next.
/// Packets of these links then leave unprotected, or not at all, as the host routes them.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeArgs,
    /// How long a peer may take to answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    node: String,
    /// Connections that are not loaded any more.
    connections: Vec<String>,
    /// IKE_SAs that were deleted.
    deleted: usize,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let host = IpsecHost::read(&args.node)?;
    let mut client = host.client()?;
    let (_, connections) = host.rendered(true)?;
    let names: Vec<_> = connections.iter().map(|connection| connection.name.clone()).collect();
    let lock = Lock::take(&host.place.socket(), TURN, || {
        eprintln!("waiting for another bartizan command");
    })
    .map_err(Failure::new)?;
    if lock.is_none() {
        return Err(Failure::new(
            "another bartizan command has this charon and does not end",
        ));
    }
    let patience = Duration::from_secs(args.timeout);
    let deleted = drive::take_down(&mut client, &names, patience).map_err(|error| failed(&error))?;
    if args.json {
        let connections = names;
        let node = host.node;
        print_json(&Report {
            schema: SCHEMA,
            node,
            connections,
            deleted,
        })?;
    } else {
        print(&format!("{}: unloaded, {deleted} IKE_SAs deleted\n", names.join(", ")))?;
    }
    Ok(Outcome::Clean)
}
