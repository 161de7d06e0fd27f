//! `bartizan-lab man`: manual pages, generated from the commands.

use std::path::PathBuf;

use bartizan_terminal::man;

use crate::{Failure, Outcome, command};

/// Write the manual pages, one for each command.
///
/// They are made from the same text as --help, each with its examples and exit codes:
/// bartizan-lab.1, bartizan-lab-run.1 and so on.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan-lab man --out /usr/local/share/man/man1\n  \
    bartizan-lab man --out pages && man -l pages/bartizan-lab-run.1")]
pub(crate) struct Args {
    /// The folder to write them to, which is made if it is not there; pages of the same names are replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    man::write(command(), &args.out)
}
