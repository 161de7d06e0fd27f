//! `bartizan guard`: the rules without which packets or frames of a node's links could pass
//! unencrypted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::ipsec::guarding::{self, Cleartext};
use super::ipsec::node::without_links;
use super::macsec::{Ports, guard_failed};
use crate::commands::deployment_file::{self, read};
use crate::commands::show;
use crate::output::print;
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-guard/1";

/// Install, show or remove the guard of a node's links, IPsec and MACsec: what they do not protect
/// does not pass.
///
/// `bartizan up` installs the same rules before it does anything else. Installed by itself, before the network is up, the guard leaves
/// no moment for packets that find no SA, nor for frames that pass a MACsec port as they are. It
/// needs no certificate and no peer. Run it in the network namespace of the links, as root or with
/// CAP_NET_ADMIN.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan guard install ran.yaml --node cu\n  \
    bartizan guard show ran.yaml --node cu --json | jq .guard\n  \
    bartizan guard show ran.yaml --node odu --json | jq .macsec.guard\n  \
    bartizan guard remove --node cu")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Install the guard. Replaces one of another state of the file; keeps an up-to-date one and
    /// its counters.
    #[command(after_help = "Examples:\n  bartizan guard install ran.yaml --node cu\n  \
        bartizan guard install ran.yaml --node odu --wait 30")]
    Install(InstallArgs),
    /// Compare what is installed, rule by rule, with what the file asks for; exit code 1 where they differ.
    #[command(after_help = "Examples:\n  bartizan guard show ran.yaml --node cu --json | jq .guard")]
    Show(ShowArgs),
    /// Remove the guard: what no link protects passes as the host sends it. Needs no file.
    #[command(after_help = "Examples:\n  bartizan guard remove --node cu")]
    Remove(RemoveArgs),
}

#[derive(clap::Args)]
struct NodeArgs {
    /// The deployment file.
    file: PathBuf,
    /// The node whose links these are.
    #[arg(long, value_name = "NAME")]
    node: String,
}

#[derive(clap::Args)]
struct InstallArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Longest time to wait for MACsec ports that are not there yet, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=600))]
    wait: u64,
}

#[derive(clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct RemoveArgs {
    /// The node whose links these are.
    #[arg(long, value_name = "NAME")]
    node: String,
}

/// The guards of one node.
struct Guards {
    ipsec: Option<bartizan_ipsec::guard::Guard>,
    macsec: Option<bartizan_macsec::guard::Guard>,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    node: String,
    /// Absent where the node has no IPsec link.
    #[serde(flatten)]
    ipsec: Option<Cleartext>,
    /// Absent where the node has no MACsec link.
    #[serde(skip_serializing_if = "Option::is_none")]
    macsec: Option<Ports>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.action {
        Action::Install(args) => {
            let guards = args.node.guards()?;
            guards.install(Duration::from_secs(args.wait))?;
            guards.report(&args.node.node, false)
        }
        Action::Show(args) => args.node.guards()?.report(&args.node.node, args.json),
        Action::Remove(args) => {
            // A guard that cannot be removed keeps no other one.
            let ipsec = bartizan_ipsec::guard::Guard::remove(&args.node).map_err(guarding::failed);
            let macsec = bartizan_macsec::guard::Guard::remove(&args.node);
            ipsec?;
            macsec.map_err(|error| guard_failed(&error))?;
            print("removed: what no SA and no MACsec device protects passes as the host sends it\n")?;
            Ok(Outcome::Clean)
        }
    }
}

/// Links of one kind.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Ipsec,
    Macsec,
}

/// The failure of a command that had installed the guard, which outlives it. The guard of another
/// command that runs is no business of this one.
pub(crate) fn stays(failure: Failure, node: &str, of: Kind) -> Failure {
    if failure.held {
        return failure;
    }
    let dropped = match of {
        Kind::Ipsec => "packets of its IPsec links that no SA protects",
        Kind::Macsec => "frames at its MACsec ports that MACsec does not protect",
    };
    failure
        .hint(format!(
            "the guard of {node} is installed and stays: {dropped} are dropped until its links are up"
        ))
        .hint(format!(
            "`bartizan guard remove --node {node}` removes it: what is dropped then passes unencrypted"
        ))
}

impl Guards {
    fn install(&self, wait: Duration) -> Result<(), Failure> {
        let ipsec = self.ipsec.as_ref().map(|guard| guard.close(guarding::esp()));
        // A failure for links of one kind leaves those of the other guarded.
        let macsec = self.macsec.as_ref().map(|guard| guard.close_within(wait));
        ipsec.transpose().map_err(guarding::failed)?;
        macsec.transpose().map_err(|error| guard_failed(&error))?;
        Ok(())
    }

    fn report(&self, node: &str, json: bool) -> Result<Outcome, Failure> {
        let report = Report {
            schema: SCHEMA,
            node: node.to_owned(),
            ipsec: self.ipsec.as_ref().map(Cleartext::of).transpose()?,
            macsec: self.macsec.as_ref().map(Ports::of),
        };
        let kept = report.ipsec.as_ref().is_none_or(Cleartext::is_kept);
        let kept = kept && report.macsec.as_ref().is_none_or(Ports::is_kept);
        let text = || {
            let ipsec = report.ipsec.as_ref().map(Cleartext::text);
            let both = ipsec.into_iter().chain(report.macsec.as_ref().map(Ports::text));
            both.map(|text| text + "\n").collect()
        };
        show(&report, json, text, kept)
    }
}

impl NodeArgs {
    fn guards(&self) -> Result<Guards, Failure> {
        let (node, deployment) = (self.node.as_str(), read(&self.file)?);
        deployment_file::node(&deployment, &self.file, node)?;
        let ipsec = deployment.ipsec_links(node).next().is_some();
        let macsec = deployment.macsec_links(node).next().is_some();
        if !ipsec && !macsec {
            let shown = self.file.display();
            return Err(
                Failure::usage(format!("{shown}: {node} has no IPsec link and no MACsec link"))
                    .hint("an interface with `with: ipsec` or `with: macsec` makes one"),
            );
        }
        Ok(Guards {
            ipsec: ipsec.then(|| bartizan_ipsec::guard::Guard::of(&deployment, node)),
            macsec: macsec.then(|| bartizan_macsec::guard::Guard::of(&deployment, node)),
        })
    }
}

/// The IPsec guard of a node of a file.
pub(super) fn of_ipsec(file: &Path, node: &str) -> Result<bartizan_ipsec::guard::Guard, Failure> {
    let deployment = read(file)?;
    deployment_file::node(&deployment, file, node)?;
    if deployment.ipsec_links(node).next().is_none() {
        return Err(without_links(file, &deployment, node));
    }
    Ok(bartizan_ipsec::guard::Guard::of(&deployment, node))
}
