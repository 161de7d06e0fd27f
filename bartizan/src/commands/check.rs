//! `bartizan check`: what is in effect in a deployment file, and what in it protects less than it seems to.

mod credentials;
mod decrypted;
mod exception;
mod findings;
mod in_effect;
mod ipsec;
#[cfg(feature = "full")]
mod ipsec_files;
mod list_file;
mod macsec;
#[cfg(feature = "full")]
mod network;
mod notes;
#[cfg(feature = "full")]
mod sarif;
mod scope;
#[cfg(feature = "full")]
mod swanctl;
mod text;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_deployment::{Deployment, IpsecNode, Node, day_of};
use serde::Serialize;

use self::credentials::CredentialsInEffect;
use self::findings::Finding;
use self::in_effect::{Links, Nodes};
use self::scope::{LeftOut, Scope};
use crate::commands::accept::{self, Accepted};
use crate::commands::deployment_file::{self, read};
use crate::commands::severity::Severity;
use crate::output::stream;
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-check/1";

/// Say what is in effect in a deployment file.
///
/// Prints nodes, listeners and the policy of every interface as it holds today. With --node the
/// report is about that node and its links, and its certificate, key, roots and revocation lists are
/// read too, and held against the names and policies of the file. Something that is protected by
/// nothing, only for now, or not any more is a finding: exit code 1. With --swanctl the proposals of
/// a strongSwan that is configured by hand are looked at instead. With --interfaces, --budget or
/// --migrate the network's view is printed: what 3GPP and O-RAN WG11 ask of each interface and what
/// the file gives it, predicted delays, and the order in which to move links to post-quantum
/// protection.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan check core.yaml                    the whole network\n  \
    bartizan check core.yaml --node nrf         nrf, its links and its files\n  \
    bartizan check core.yaml --json | jq .findings\n  \
    bartizan check core.yaml --interfaces --budget --distance 20km    what 3GPP and O-RAN ask, and what the file gives\n  \
    bartizan check core.yaml --migrate          in which order to move links\n  \
    bartizan check --swanctl /etc/swanctl/swanctl.conf    what strongSwan is configured with by hand")]
pub(crate) struct Args {
    /// The deployment file.
    #[cfg_attr(feature = "full", arg(required_unless_present = "swanctl"))]
    #[cfg_attr(not(feature = "full"), arg(required = true))]
    file: Option<PathBuf>,
    /// The swanctl.conf of a strongSwan that is configured without Bartizan, instead of a deployment
    /// file.
    #[cfg(feature = "full")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "node"])]
    swanctl: Option<PathBuf>,
    /// With --swanctl: ask the charon behind this socket what it cannot do.
    #[cfg(feature = "full")]
    #[arg(long, value_name = "SOCKET", requires = "swanctl")]
    vici: Option<PathBuf>,
    /// Check this node and its links alone, and read its certificate files.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    #[cfg(feature = "full")]
    #[command(flatten)]
    network: network::NetworkArgs,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Print nothing: the exit code has the answer.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Least severity of a finding that exits with 1 (critical, high, medium, low); the report is the
    /// same.
    #[arg(long, value_name = "SEVERITY", hide_possible_values = true)]
    fail_on: Option<Severity>,
    /// Findings that are accepted for now; each has a reason and an end, is marked, and does not
    /// count for the exit code (docs/accept.md).
    #[cfg_attr(feature = "full", arg(long, value_name = "FILE", conflicts_with = "swanctl"))]
    #[cfg_attr(not(feature = "full"), arg(long, value_name = "FILE"))]
    accept: Option<PathBuf>,
}

/// Effects of a deployment file on one day.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: String,
    /// The day (UTC) whose policies these are.
    day: String,
    nodes: Nodes<'a>,
    interfaces: Links<'a>,
    /// The rest of the file, where the report is about one node.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<LeftOut>,
    /// The files of the node asked for.
    credentials: Option<CredentialsInEffect>,
    /// Those that it proves itself with to IKE daemons.
    ipsec_credentials: Option<CredentialsInEffect>,
    /// Protections weaker than they seem.
    findings: Vec<Finding>,
    /// Remarks without a fault.
    notes: Vec<Finding>,
}

/// Form of the report on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Nothing,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let form = match (args.quiet, args.json) {
        (true, _) => Form::Nothing,
        (false, true) => Form::Json,
        (false, false) => Form::Text,
    };
    #[cfg(feature = "full")]
    if let Some(file) = &args.swanctl {
        return swanctl::run(file, args.vici.as_deref(), form, args.fail_on);
    }
    let Some(file) = &args.file else {
        return Err(Failure::usage("no deployment file is given"));
    };
    let deployment = read(file)?;
    let now = SystemTime::now();
    let accepted = Accepted::read(args.accept.as_deref(), now)?;
    #[cfg(feature = "full")]
    if args.network.is_asked_for() {
        let asked = (form, args.fail_on, &accepted);
        return network::run(&args.network, &deployment, file, now, asked);
    }
    if let Some(name) = &args.node {
        deployment_file::node(&deployment, file, name)?;
    }
    let mut report = report(&deployment, file, args.node.as_deref(), now);
    report.settle(&accepted);
    stream(|out| match form {
        Form::Nothing => Ok(()),
        Form::Text => text::write(&report, out),
        Form::Json => {
            serde_json::to_writer_pretty(&mut *out, &report)?;
            out.write_all(b"\n")
        }
    })?;
    let open = report.findings.iter().filter(|finding| finding.accepted.is_none());
    let mut severities = open.filter_map(|finding| finding.severity);
    let finding = severities.any(|severity| severity.reaches(args.fail_on));
    Ok(if finding { Outcome::Finding } else { Outcome::Clean })
}

impl Report<'_> {
    /// Marks what is accepted, and adds the faults of the file that accepts it.
    fn settle(&mut self, accepted: &Accepted) {
        for finding in &mut self.findings {
            let line = format!("{}: {}", finding.about, finding.finding);
            finding.accepted = accepted.takes(&[&line], 1, &accept::Links::default());
        }
        let faults = accepted.faults().into_iter();
        self.findings
            .extend(faults.map(|fault| Finding::new(fault.about, fault.finding, fault.hint).with(fault.severity)));
    }
}

fn report<'a>(deployment: &'a Deployment, file: &Path, node: Option<&str>, now: SystemTime) -> Report<'a> {
    let today = day_of(now);
    let scope = Scope {
        deployment,
        node: node.and_then(|name| deployment.node(name)),
    };
    let mut findings = findings::of(scope, now);
    let mut notes = notes::of(scope, now);
    let left_out = scope.left_out(findings.len(), |whole| findings::of(whole, now).len());
    let (mut credentials, mut ipsec_credentials) = (None, None);
    if let Some(node) = scope.node {
        // A node with IPsec alone has no others.
        if node.files.is_some() || node.ipsec.is_none() {
            let (shown, more) = credentials::of(deployment, node, now);
            findings.extend(more);
            credentials = shown;
        }
        if let Some(files) = &node.ipsec {
            let (shown, more) = of_ipsec(deployment, node, files, now);
            findings.extend(more);
            ipsec_credentials = shown;
        }
        let (more, of_files) = credentials::written(node, file);
        findings.extend(more);
        notes.extend(of_files);
        #[cfg(feature = "full")]
        findings.extend(macsec::of_files(deployment, node));
    }
    // Remarks have no severity.
    for note in &mut notes {
        note.severity = None;
    }
    Report {
        schema: SCHEMA,
        file: file.display().to_string(),
        day: today.to_string(),
        nodes: Nodes(scope),
        interfaces: Links(scope, now),
        left_out,
        credentials,
        ipsec_credentials,
        findings,
        notes,
    }
}

#[cfg(feature = "full")]
fn of_ipsec(
    deployment: &Deployment,
    node: &Node,
    files: &IpsecNode,
    now: SystemTime,
) -> (Option<CredentialsInEffect>, Vec<Finding>) {
    let (shown, findings) = ipsec_files::of(deployment, node, files, now);
    (Some(shown), findings)
}

/// The sidecar alone has nothing that reads them.
#[cfg(not(feature = "full"))]
fn of_ipsec(_: &Deployment, _: &Node, _: &IpsecNode, _: SystemTime) -> (Option<CredentialsInEffect>, Vec<Finding>) {
    (None, Vec::new())
}
