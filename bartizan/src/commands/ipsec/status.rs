//! `bartizan status`: a node's IPsec links as charon has them, joined with the policy's verdict.

use bartizan_ipsec::watch::remembered;
use bartizan_ipsec::{Charon, Kernel, device_name, drive, drops, lint};

use super::guarding::Cleartext;
use super::node::{IpsecHost, NodeArgs};
use super::report::Report;
use super::{failed, probing, show};
use crate::commands::macsec;
use crate::commands::sidecar::status::Asked;
use crate::output::errln;
use crate::{Failure, Outcome};

/// Show the state of a node's links.
///
/// Sidecar: asked of its admin port: readiness, certificate, peers with their connections, handshakes and refusals, lost records of the ledger.
///
/// IPsec links: asked of the IKE daemon now: which connections are loaded, which IKE_SAs and CHILD_SAs are up, what keyed them, what
/// they carried, the verdict of today's policy, and whether packets that find no SA are kept from leaving unencrypted. The daemon does not report whether
/// a peer still answers, and what was refused: the watch of the same node does (`up`, `watch`), where there is one. A link that is
/// not up, whose peer gives no answer, that breaks its policy or can leak is a finding: exit code 1.
///
/// MACsec links: asked of their controller: keys, their age and origin, frames that were dropped, and whether the guard is installed.
///
/// --with names the kind where a node has links of several kinds.
///
/// --probe proves that traffic passes, by an echo through every link that its peer answers: IPsec,
/// one packet within the selectors of each CHILD_SA, counted by the SA each way; sidecar, a fresh
/// connection to each peer's sidecar, judged by the policy. A link without such a proof is a
/// finding.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan status ran.yaml --node cu\n  \
    bartizan status core.yaml --node amf --json\n  \
    bartizan status core.yaml --node amf --probe\n  \
    bartizan status ran.yaml --node cu --vici /run/charon.vici --json | jq .well")]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeArgs,
    /// Do not look at what keeps packets of these links off the wire unencrypted, for links brought up without.
    #[arg(long)]
    no_guard: bool,
    /// Send an echo through every link, and report whether it was answered.
    #[arg(long, conflicts_with = "no_guard")]
    probe: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(sidecar) = Asked::meant(&args.node)? {
        return sidecar.run(args.probe, args.json);
    }
    if let Some(host) = args.node.macsec()? {
        if args.probe {
            return Err(
                Failure::usage(format!("{}: --probe has no echo for MACsec links", args.node.node))
                    .hint("without it `status` shows the keys in use, and what they carried and dropped"),
            );
        }
        return macsec::status::run(&host, args.no_guard, args.json);
    }
    let host = IpsecHost::read(&args.node)?;
    let mut client = host.client()?;
    let charon = Charon::ask(&mut client).map_err(|error| failed(&error))?;
    let (credentials, connections) = host.rendered(charon.means(), None)?;
    let charon_encrypts = charon.esp();
    let expectations = host.expectations(&connections);
    let status = drive::status(&mut client, &expectations).map_err(|error| failed(&error))?;
    let cleartext = match args.no_guard {
        true => None,
        false => Some(Cleartext::of(&host.guard())?),
    };
    let echoes = match &cleartext {
        Some(guard) if args.probe && guard.is_kept() => {
            let states = (charon_encrypts == Kernel::Netlink).then(drops::of_sas);
            let states = states.transpose().map_err(Failure::new)?.map(Option::unwrap_or_default);
            let device = (charon_encrypts == Kernel::Userspace).then(|| device_name(&host.node));
            let (states, device) = (states.as_deref(), device.as_deref());
            Some(probing::probe(&mut client, &expectations, &status, states, device)?)
        }
        // An echo might leave unencrypted.
        _ => args.probe.then(Default::default),
    };
    let mut report = Report::new(&host.node, &charon, status, cleartext);
    if let Some(echoes) = echoes {
        report.probe(echoes);
    }
    report.remember(remembered(&host.place.socket()));
    report.certificate(credentials.not_after());
    report.interfaces(&lint::interfaces(&host.deployment, &host.node));
    if charon_encrypts == Kernel::Netlink {
        // A host where they cannot be read has its links all the same.
        match drops::of_sas() {
            Ok(states) => report.drops(&states.unwrap_or_default(), drops::of_host()),
            Err(error) => errln!("note: what the kernel has dropped cannot be read: {error}"),
        }
    }
    show(&report, args.json, || report.text(), report.well)
}
