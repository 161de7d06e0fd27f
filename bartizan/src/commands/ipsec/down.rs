//! `bartizan down`: a node's IPsec or MACsec links are taken down.

use std::time::Duration;

use bartizan_inspect::text::counted;
use bartizan_ipsec::drive;
use bartizan_ipsec::render::Means;
use bartizan_ipsec::vici::{self, Client};
use bartizan_registry::object;

use crate::commands::macsec;

use super::guarding::{self, Cleartext};
use super::node::{IpsecHost, NodeArgs, Place};
use super::report::SCHEMA;
use super::{PATIENCE, failed, show};
use crate::{Failure, Outcome};

/// Take a node's IPsec or MACsec links down.
///
/// IPsec links: connections are unloaded first, so that nothing sets them up again, then their SAs are deleted together with the peer, or
/// without it when it does not answer. It is idempotent, so a `down` that was interrupted is finished by the next.
/// Packets of these links are dropped from then on, by the guard, until the next `up`; --unguard lets them leave unencrypted.
///
/// MACsec links: the controller ends, keys and devices are removed, and the ports pass nothing until the next `up`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan down ran.yaml --node cu\n  \
    bartizan down ran.yaml --node cu --unguard    and let packets pass unencrypted from then on")]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeArgs,
    /// Time allowed for a peer's answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// In the end, let packets of these links leave unencrypted: what `up` installed against it is removed.
    #[arg(long)]
    unguard: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(host) = args.node.macsec()? {
        return macsec::take_down::run(&host, args.unguard, args.json);
    }
    let host = IpsecHost::read(&args.node)?;
    let (_, connections) = host.rendered(Means::of(host.files.engine), None)?;
    let names: Vec<_> = connections.iter().map(|connection| connection.name.clone()).collect();
    let patience = Duration::from_secs(args.timeout);
    let mut ended = false;
    let deleted = match Client::connect(&host.place.socket(), PATIENCE) {
        Ok(mut client) => {
            let _lock = host.lock()?;
            drive::take_down(&mut client, &names, patience).map_err(|error| failed(&error))?
        }
        // Ours ended with its `up`, and its SAs with it.
        Err(vici::Error::Absent(_)) if matches!(host.place, Place::Own(_)) => {
            ended = true;
            0
        }
        Err(error) => return Err(failed(&error)),
    };
    if matches!(host.place, Place::Own(_)) {
        host.remove_leftover()?;
    }
    let guard = host.guard();
    if args.unguard {
        guard.open().map_err(guarding::failed)?;
        if ended {
            guard.remove_leftover().map_err(guarding::failed)?;
        }
    }
    let report = object!(Report {
        schema: SCHEMA,
        node: host.node,
        // Connections that are not loaded any more.
        connections: names,
        // IKE_SAs that were deleted.
        deleted,
        // Fate of packets of the links now.
        cleartext: Cleartext::of_or_unknown(&guard),
    });
    let text = || {
        let names = report.connections.join(", ");
        let cleartext = match (report.cleartext.guard, args.unguard) {
            ("absent", true) => "packets of these links may leave unencrypted".to_owned(),
            ("absent", false) => "no guard stands: packets of these links may leave unencrypted".to_owned(),
            _ => format!("{}; --unguard lets it pass", report.cleartext.text()),
        };
        format!(
            "{names}: unloaded, {} deleted\n{cleartext}\n",
            counted(deleted as u64, "IKE_SA")
        )
    };
    show(&report, args.json, text, true)
}
