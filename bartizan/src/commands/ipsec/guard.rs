//! `bartizan guard`: the rules without which packets of a node's IPsec links could pass unencrypted.

use std::path::PathBuf;

use bartizan_ipsec::guard::Guard;
use serde::Serialize;

use super::guarding::{self, Cleartext};
use super::{print, print_json};
use crate::commands::deployment_file::read;
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-guard/1";

/// Install, show or remove the guard of a node's IPsec links: what no SA protects neither leaves nor arrives.
///
/// `bartizan up` installs the same rules before it does anything else. Installed by itself, before the network is up, the guard leaves
/// no moment for packets that find no SA; it needs no certificate, no charon and no peer. Run it in the network namespace of the links,
/// as root or with CAP_NET_ADMIN.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan guard install ran.yaml --node cu\n  \
    bartizan guard show ran.yaml --node cu --json | jq .guard\n  \
    bartizan guard remove --node cu")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Install it, in place of one of another state of the file; one that is installed stays, with its counts.
    #[command(after_help = "Examples:\n  bartizan guard install ran.yaml --node cu")]
    Install(NodeArgs),
    /// Compare what is installed, rule by rule, with what the file asks for; exit code 1 where they differ.
    #[command(after_help = "Examples:\n  bartizan guard show ran.yaml --node cu --json | jq .guard")]
    Show(ShowArgs),
    /// Remove it: packets that find no SA then leave as the host routes them. It needs no file.
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

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    node: String,
    #[serde(flatten)]
    cleartext: Cleartext,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.action {
        Action::Install(args) => {
            let guard = args.guard()?;
            guard.close(guarding::esp()).map_err(guarding::failed)?;
            report(&args.node, &guard, false)
        }
        Action::Show(args) => report(&args.node.node, &args.node.guard()?, args.json),
        Action::Remove(args) => {
            Guard::remove(&args.node).map_err(guarding::failed)?;
            print("removed: packets that find no SA leave as the host routes them\n")?;
            Ok(Outcome::Clean)
        }
    }
}

fn report(node: &str, guard: &Guard, json: bool) -> Result<Outcome, Failure> {
    let cleartext = Cleartext::of(guard)?;
    let is_kept = cleartext.is_kept();
    if json {
        print_json(&Report {
            schema: SCHEMA,
            node: node.to_owned(),
            cleartext,
        })?;
    } else {
        print(&format!("{}\n", cleartext.text()))?;
    }
    Ok(if is_kept { Outcome::Clean } else { Outcome::Finding })
}

impl NodeArgs {
    fn guard(&self) -> Result<Guard, Failure> {
        of(&self.file, &self.node)
    }
}

/// The guard of a node of a file.
pub(super) fn of(file: &std::path::Path, node: &str) -> Result<Guard, Failure> {
    let deployment = read(file)?;
    let shown = file.display();
    if deployment.node(node).is_none() {
        let known: Vec<_> = deployment.nodes().map(|node| node.name.as_str()).take(12).collect();
        return Err(Failure::usage(format!("{shown}: no node is called `{node}`"))
            .hint(format!("nodes are {}", known.join(", "))));
    }
    if deployment.ipsec_links(node).next().is_none() {
        return Err(Failure::usage(format!("{shown}: {node} has no IPsec link"))
            .hint("an interface with `with: ipsec` makes one"));
    }
    Ok(Guard::of(&deployment, node))
}
