//! `bartizan inspect diff`.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use bartizan_follow::read::{Known, inspect_file, read_ledgers};
use bartizan_follow::{damage, keys};
use bartizan_inspect::Detail;
use bartizan_inspect::diff::{self, Document, Links};

use super::deployment_file;
use crate::{Failure, Outcome};

/// Compare links between two dates: which appeared, disappeared, got better and got worse.
///
/// A link is known again by its interface and its ends: the nodes of the deployment file, or else addresses. Worse is a
/// verdict or an answer that fell, from whatever it was, and what is no longer shown. A link that
/// appeared counts as well unless it is shown to be quantum-safe, and so does a limit of the
/// evidence, as of packets that were dropped: something may have got worse behind it.
///
/// Exit codes: 0 nothing got worse, 1 something did or may have, 2 a file could not be read to its
/// end or compared.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan inspect diff monday.pcap tuesday.pcap\n  \
    bartizan inspect diff monday.json tuesday.pcap --deployment core.yaml --json\n\n\
A capture whose name is `diff` is read by `bartizan inspect ./diff`.")]
pub(crate) struct Args {
    /// Before: a capture, or what `bartizan inspect --json` printed
    #[arg(value_name = "A")]
    before: PathBuf,

    /// After
    #[arg(value_name = "B")]
    after: PathBuf,

    /// A ledger, or a folder of ledgers, for captures; may be given more than once
    #[arg(long, value_name = "FILE")]
    ledger: Vec<PathBuf>,

    /// A TLS key log, for captures: connections it has the secrets of are opened; may be given more than once
    #[arg(long, value_name = "FILE")]
    keylog: Vec<PathBuf>,

    /// A table of IKE keys, for captures: IKE_SAs whose SPIs are in it are opened; may be given more than once
    #[arg(long, value_name = "FILE")]
    ike_keys: Vec<PathBuf>,

    /// The deployment file, for captures: links are known again by its nodes
    #[arg(long, value_name = "FILE")]
    deployment: Option<PathBuf>,

    /// Most memory, as 512MiB or 2.5GB; links beyond it are an error
    #[arg(long, value_name = "SIZE", default_value = "2.5GB", value_parser = bartizan_terminal::size::bytes)]
    memory: usize,

    /// Print JSON (schema `bartizan-inspect-diff/1`, see docs/inspect-formats.md)
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let deployment = args.deployment.as_deref().map(deployment_file::read).transpose()?;
    let ledgers = read_ledgers(&args.ledger, None)?;
    let known = Known {
        ledgers: &ledgers,
        deployment: deployment.as_ref(),
        keys: &keys::read(&args.keylog, &args.ike_keys)?,
    };
    let links = |path| links(path, known, args.memory);
    let compared = diff::compare(links(&args.before)?, links(&args.after)?);
    let [before, after] = [&args.before, &args.after].map(|path| path.display().to_string());
    let text = if args.json {
        let document = Document::new(&before, &after, &compared);
        let mut text = serde_json::to_string_pretty(&document).map_err(Failure::new)?;
        text.push('\n');
        text
    } else {
        diff::render(&before, &after, &compared)
    };
    super::print(&text)?;
    Ok(if compared.worse() > 0 {
        Outcome::Finding
    } else {
        Outcome::Clean
    })
}

/// The links of a capture, or of a document made from one. Reading takes half of these bytes, and
/// the links of each date a quarter.
fn links(path: &Path, known: Known<'_>, memory: usize) -> Result<Links, Failure> {
    let failed = |error: diff::Error| {
        let failure = Failure::new(format!("{}: {error}", path.display()));
        match error {
            diff::Error::Beyond => failure.hint("allow more with --memory, or compare captures of fewer hosts"),
            diff::Error::Unreadable(_) => failure.hint("make it anew with `bartizan inspect --json`"),
            diff::Error::Incomplete => failure.hint("compare captures that can be read to their end"),
        }
    };
    if let Some(document) = document(path)? {
        return diff::parse(document, memory / 4).map_err(failed);
    }
    let report = inspect_file(path, known, Detail::Links, memory / 2, None)?;
    // Half a capture would show links as vanished that the other half has.
    if let Some(failure) = damage::failure(&report) {
        return Err(failure);
    }
    diff::of_report(&report, memory / 4).map_err(failed)
}

/// The file where it is such a document; none where it is something else, a capture most likely.
fn document(path: &Path) -> Result<Option<impl Read + use<>>, Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display()))
            .hint("diff compares captures, or what `bartizan inspect --json` printed")
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut start = [0; 1];
    let read = file.read(&mut start).map_err(failed)?;
    // No capture begins so, packed or not.
    let is_document = read == 1 && start == *b"{";
    Ok(is_document.then(|| Cursor::new(start).chain(file)))
}
