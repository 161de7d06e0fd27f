//! `bartizan inspect`.

mod accepted;
mod audit;
mod diff;
mod documents;
mod follow;
mod oscal;
mod output;
mod page;
mod progress;
mod sarif;
mod timing;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::SystemTime;

use bartizan_deployment::Deployment;
use bartizan_follow::distinct::Distinct;
use bartizan_follow::read::{Known, inspect_file, read_ledgers};
use bartizan_follow::{damage, keys, merge, part, read};
use bartizan_inspect::{Detail, Report, Shares, reads};
use bartizan_page::cbom::Inventory;
use bartizan_registry::Framework;

use self::accepted::Settled;
pub(super) use self::output::width;
use super::accept::Accepted;
use super::deployment_file;
use super::severity::Severity;
use crate::output::{print, said};
use crate::{Failure, Outcome};

/// From packets to verdicts: what each connection offered, negotiated, and what that is worth.
///
/// Confidentiality (against someone who records now and has a quantum computer later) and authenticity (against a
/// forger who has one) are judged apart. TLS 1.3 encrypts certificates: what packets cannot show is "not observable"
/// until a ledger of a sidecar supplies it.
///
/// Exit codes: 0 no findings, 1 a finding, 2 a file could not be read to its end.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan inspect sbi.pcap                      one row for each link\n  \
    bartizan inspect sbi.pcap --ledger amf.ledger  with what the sidecar of amf wrote\n  \
    bartizan inspect sbi.pcap --keylog keys.log    with the secrets of its connections: certificates, HTTP/2\n  \
    bartizan inspect sbi.pcap --ledger ledgers/    with all ledgers of a folder\n  \
    bartizan inspect sbi.pcap --against cnsa2      pass or fail against one framework\n  \
    bartizan inspect sbi.pcap --coverage > all.csv  every conversation: bytes, read or not, why\n  \
    bartizan inspect --interface eth0 --follow     what becomes of each link, while it does (docs/follow.md)\n  \
    timeout 60 tcpdump -i eth0 -w - | bartizan inspect -\n  \
    bartizan inspect diff monday.json friday.pcap  what became of each link\n  \
    bartizan inspect --part 1/8 sbi.pcap > 1.evidence  for a report from parts that several workers read\n  \
    bartizan inspect --merge *.evidence            that report (docs/inspect-parts.md)\n  \
    bartizan inspect --reads                       protocols and tunnels that are read, named and unread\n\n\
    Flights are the bytes of client, server and client in turn, five of them with a HelloRetryRequest. An asterisk marks \
    a group for which the client sent a key share.")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Captures, pcap or pcapng, also packed with gzip or zstd; `-` reads one from standard input
    #[arg(required_unless_present_any = ["interface", "reads"], value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A ledger of a sidecar or of `up`, or a folder of them; known by content, and may be given
    /// more than once
    #[arg(long, value_name = "FILE")]
    ledger: Vec<PathBuf>,

    /// A TLS key log (what SSLKEYLOGFILE makes programs write, RFC 9850): connections it has the secrets of are opened; may be
    /// given more than once
    #[arg(long, value_name = "FILE", conflicts_with = "timing")]
    keylog: Vec<PathBuf>,

    /// A table of IKE keys (what Wireshark calls ikev2_decryption_table and strongSwan's save-keys writes): IKE_SAs whose SPIs are
    /// in it are opened; may be given more than once
    #[arg(long, value_name = "FILE", conflicts_with = "timing")]
    ike_keys: Vec<PathBuf>,

    /// The deployment file: links are named by it and judged by its policies, and what is only in one of the two is a
    /// finding
    #[arg(long, value_name = "FILE", conflicts_with = "timing")]
    deployment: Option<PathBuf>,

    /// One row for each connection instead of one for each link
    #[arg(long)]
    all: bool,

    /// One row for all connections that are alike instead of one for each link
    #[arg(long, conflicts_with = "all")]
    alike: bool,

    /// Least severity of a finding that exits with 1 (critical, high, medium, low); the report is the
    /// same
    #[arg(long, value_name = "SEVERITY", hide_possible_values = true, conflicts_with_all = ["follow", "timing"])]
    fail_on: Option<Severity>,

    /// Findings that are accepted for now; each has a reason and an end, is marked, and does not
    /// count for the exit code (docs/accept.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["follow", "timing", "part", "reads"])]
    accept: Option<PathBuf>,

    /// Pass or fail against one framework for post-quantum cryptography (cnsa2, nist, bsi, anssi or gsma),
    /// as it asks at its deadline: the exit code is 0 where everything that was seen passes
    #[arg(long, value_name = "FRAMEWORK", value_parser = audit::framework, conflicts_with_all = ["fail_on", "follow", "interface", "timing", "part", "reads", "coverage"])]
    against: Option<&'static Framework>,

    /// Print no report: the exit code and the documents asked for have the answer
    #[arg(short, long, conflicts_with_all = ["json", "coverage", "all", "alike", "timing", "follow"])]
    quiet: bool,

    /// Print JSON (schema `bartizan-inspect/1`, see docs/inspect-formats.md)
    #[arg(long)]
    json: bool,

    /// Print what is read, known by name and left unread, how it is recognised and which verdicts can come of it; reads no capture
    #[arg(long, conflicts_with_all = [
        "files", "ledger", "keylog", "ike_keys", "deployment", "all", "alike", "cbom", "html", "sarif", "oscal", "coverage", "timing", "interface", "follow",
    ])]
    reads: bool,

    /// Write a cryptographic bill of materials of what was observed: CycloneDX 1.7, JSON (docs/cbom.md)
    #[arg(long, value_name = "OUT")]
    cbom: Option<PathBuf>,

    /// Write `--cbom` in this version of CycloneDX, for tools that take no newer one
    #[arg(long, value_name = "VERSION", requires = "cbom", value_parser = ["1.6", "1.7"])]
    cbom_version: Option<String>,

    /// Write a page with a map and the evidence of each link: one HTML file that needs nothing else
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,

    /// Write the findings, each with its remedy, as SARIF 2.1.0
    #[arg(long, value_name = "OUT")]
    sarif: Option<PathBuf>,

    /// Write the findings, each with its remedy and the controls of NIST SP 800-53 that it speaks against, as assessment results of
    /// OSCAL 1.1 (JSON)
    #[arg(long, value_name = "OUT")]
    oscal: Option<PathBuf>,

    /// Print every conversation as comma-separated values: its bytes, whether it was judged, and why
    #[arg(long, conflicts_with_all = ["json", "all", "alike", "timing", "follow"])]
    coverage: bool,

    /// Times, sizes and losses of connections and handshakes instead of verdicts (docs/timing.md)
    #[arg(long, conflicts_with_all = ["ledger", "all", "alike", "cbom", "html", "sarif", "oscal"])]
    timing: bool,

    /// With --timing: one line of comma-separated values for each connection
    #[arg(long, requires = "timing", conflicts_with = "json")]
    csv: bool,

    /// Most memory for what is kept, as 512MiB or 2.5GB; what is beyond it is not read, and said to be a finding
    #[arg(long, value_name = "SIZE", default_value = "2.5GB", value_parser = bartizan_terminal::size::bytes)]
    memory: usize,

    /// Write evidence of the K-th of N parts of the captures to standard output, for --merge; `job` for K is the number of a pod of a
    /// Kubernetes Indexed Job (docs/inspect-parts.md)
    #[arg(long, value_name = "K/N", value_parser = part::Number::parse, conflicts_with_all = [
        "ledger", "keylog", "ike_keys", "deployment", "all", "alike", "json", "cbom", "html", "sarif", "oscal", "coverage", "timing", "interface", "follow",
        "reads", "merge",
    ])]
    part: Option<part::Number>,

    /// With --part: write the evidence to this file, whole or not at all
    #[arg(long, value_name = "OUT", requires = "part")]
    evidence: Option<PathBuf>,

    /// With --part: leave nothing out of packets, as --merge with keys needs it
    #[arg(long, requires = "part")]
    whole: bool,

    /// FILEs are evidence of all parts, or folders of it (*.evidence), in any order: the report of the captures that they are of
    #[arg(long, conflicts_with_all = ["timing", "interface", "follow", "reads"])]
    merge: bool,

    #[command(flatten)]
    live: follow::FollowArgs,
}

impl Args {
    fn detail(&self) -> Detail {
        match self {
            // Days of single connections have no end: they are in their links.
            Self { alike: false, live, .. } if live.follow => Detail::Links,
            Self { all: true, .. } | Self { json: true, .. } | Self { coverage: true, .. } => Detail::Each,
            Self { alike: true, .. } => Detail::Alike,
            _ => Detail::Links,
        }
    }

    /// Memory share of each source that is read concurrently.
    fn shares(&self, sources: usize) -> Shares {
        let shares = Shares::of(self.memory / sources.max(1), self.detail());
        if self.live.is_live() { shares.followed() } else { shares }
    }
}

#[derive(clap::Subcommand)]
enum Action {
    Diff(diff::Args),
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(Action::Diff(args)) = &args.action {
        return diff::run(args);
    }
    if args.reads {
        return reads(args.json);
    }
    // A merge refuses evidence that is given twice, and files that are followed still grow.
    let given = match args.merge || args.live.is_live() {
        true => args.files.clone(),
        false => Distinct::of(&args.files).warned(),
    };
    if let Some(number) = args.part {
        let asked = part::Asked {
            number,
            whole: args.whole,
            limits: Shares::of(args.memory, Detail::Links).limits,
            out: args.evidence.as_deref(),
        };
        return part::run(&given, asked);
    }
    if args.timing {
        let form = match (args.json, args.csv) {
            (true, _) => timing::Form::Json,
            (false, true) => timing::Form::Csv,
            (false, false) => timing::Form::Text,
        };
        return timing::run(&given, form, Shares::of(args.memory, Detail::Links).limits);
    }
    if args.live.is_live() {
        return follow::run(args);
    }
    if args.live.bounds_given() {
        return Err(Failure::usage("--for and --packets bound what still comes")
            .hint("give --interface, or --follow for a file that grows"));
    }
    let deployment = args.deployment.as_deref().map(deployment_file::read).transpose()?;
    // These documents name the captures by their hashes.
    let hashed = args.cbom.is_some() || args.html.is_some() || args.oscal.is_some();
    let mut inventory = hashed.then(Inventory::default);
    let accepted = Accepted::read(args.accept.as_deref(), SystemTime::now())?;
    let ledgers = read_ledgers(&args.ledger, inventory.as_mut())?;
    let keys = keys::read(&args.keylog, &args.ike_keys)?;
    let detail = match args.against {
        // Each connection is judged by what it negotiated itself.
        Some(_) => Detail::Each,
        None => args.detail(),
    };
    let known = Known {
        ledgers: &ledgers,
        deployment: deployment.as_ref(),
        keys: &keys,
    };
    let (mut reports, mut failures) = (Vec::new(), Vec::new());
    if args.merge {
        let mut merge = merge::Merge::open(&args.files)?;
        for name in merge.names() {
            let give = |taking: &mut read::Taking<'_>| merge.give(taking);
            let report = read::judge(name, known, detail, args.memory, inventory.as_mut(), give)?;
            failures.extend(damage::failure(&report));
            reports.push(report);
        }
    }
    for file in given.iter().filter(|_| !args.merge) {
        // One bad file must not cost what the others say.
        match inspect_file(file, known, detail, args.memory, inventory.as_mut()) {
            Ok(report) => {
                failures.extend(damage::failure(&report));
                reports.push(report);
            }
            Err(failure) => failures.push(failure),
        }
    }
    let against = audit::against(args, &mut reports, deployment.as_ref(), &ledgers);
    let (settled, concluded) = conclude(
        args,
        &mut reports,
        inventory.as_ref(),
        deployment.as_ref(),
        &accepted,
        &failures,
    );
    // A document that cannot be written must not cost the report.
    if !reports.is_empty() && !args.quiet {
        said(output::show(
            args,
            &reports,
            deployment.as_ref(),
            (&settled, against.as_ref()),
            &mut io::stdout().lock(),
        ))?;
    }
    failures.extend(concluded.err());
    together(failures)?;
    let finding = match against {
        Some(against) => !against.passed(),
        None => settled.finds(&reports, args.fail_on),
    };
    // The process ends: its hundred thousands of pieces need not be given back one by one.
    std::mem::forget(reports);
    Ok(if finding { Outcome::Finding } else { Outcome::Clean })
}

/// Lists what the readers support.
fn reads(json: bool) -> Result<Outcome, Failure> {
    let list = match json {
        true => format!("{:#}\n", reads::json()),
        false => reads::text(output::width()),
    };
    said(io::stdout().lock().write_all(list.as_bytes()))?;
    Ok(Outcome::Clean)
}

/// The first of these failures, with the others as its hints.
fn together(failures: Vec<Failure>) -> Result<(), Failure> {
    let joined = failures.into_iter().reduce(|first, other| first.hint(other.message));
    joined.map_or(Ok(()), Err)
}

/// Combines the knowledge of all reports, settles what is accepted of them, and writes the requested
/// documents, which say what was not read.
fn conclude<'a>(
    args: &Args,
    reports: &mut [Report],
    inventory: Option<&Inventory>,
    deployment: Option<&Deployment>,
    accepted: &'a Accepted,
    unread: &[Failure],
) -> (Settled<'a>, Result<(), Failure>) {
    // An interface that one file does not show may be in another.
    let unseen = reports.iter().map(|report| report.network().unseen.clone());
    let unseen = unseen.reduce(|unseen, others| unseen.into_iter().filter(|place| others.contains(place)).collect());
    for report in reports.iter_mut() {
        report.not_seen(unseen.clone().unwrap_or_default());
    }
    let settled = Settled::of(reports, accepted);
    let written = documents::write(args, reports, inventory, deployment, &settled, unread);
    (settled, written)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    #[test]
    fn every_command_that_a_remedy_names_is_one() {
        let mut ours = 0;
        for command in bartizan_inspect::remedies().filter_map(|remedy| remedy.command) {
            let program = command.split(' ').next().unwrap_or_default();
            if program == "bartizan" {
                let parsed = crate::Cli::try_parse_from(command.split(' '));
                assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
                ours += 1;
            } else {
                assert!(["swanctl", "systemctl", "tcpdump"].contains(&program), "{command}");
            }
        }
        assert!(ours > 5);
    }
}
