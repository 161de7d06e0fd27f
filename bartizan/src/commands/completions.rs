//! `bartizan completions`.

use bartizan_terminal::man;
use clap_complete::Shell;

use crate::{Failure, Outcome, command};

/// Print the completion script of a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan completions bash > /etc/bash_completion.d/bartizan")]
pub(crate) struct Args {
    /// The shell to complete in.
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    man::complete(command(), args.shell)
}
