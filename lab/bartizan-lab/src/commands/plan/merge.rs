//! `bartizan plan merge`.

use std::path::PathBuf;

use bartizan_simulation::storm::{MergeError, Part, merge};

use super::costs::text_of;
use super::storm::{OutputArgs, show};
use crate::output::{errln, write_document};
use crate::{Failure, Outcome};

/// Merge parts of one plan: what one run of all their seeds would print, byte for byte, in whatever
/// order they are given.
///
/// Each part is what `bartizan plan storm --seeds A..B --part FILE` wrote, on any machine. Parts of
/// other plans, seeds twice and seeds missing between others are refused.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan merge part-*.json --html storm.html\n  \
    bartizan plan merge part-1.json part-2.json --part all.json --json")]
pub(crate) struct Args {
    /// Parts of one plan
    #[arg(value_name = "FILE", required = true)]
    parts: Vec<PathBuf>,
    /// Write the merged part to this file
    #[arg(long, value_name = "FILE")]
    part: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let read = |path: &PathBuf| {
        let text = text_of(path)?;
        Part::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
    };
    let parts = args.parts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let whole = merge(parts).map_err(|error| {
        let failure = Failure::usage(&error);
        match error {
            MergeError::Foreign { .. } => {
                failure.hint("parts of one plan are made by the same command but for --seeds and --part")
            }
            MergeError::Gap(seeds) => failure.hint(format!("run the plan with --seeds {seeds}")),
            _ => failure,
        }
    })?;
    if let Some(path) = &args.part {
        write_document(path, &whole.text().map_err(Failure::new)?)?;
        errln!("part: {} (seeds {})", path.display(), whole.seeds);
    }
    show(&whole, &args.output)
}
