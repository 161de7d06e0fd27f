//! `bartizan completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{Cli, Failure, Outcome};

/// Print the completion script of a shell.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell to complete in.
    shell: Shell,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every command")]
pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    clap_complete::generate(args.shell, &mut Cli::command(), "bartizan", &mut std::io::stdout());
    Ok(Outcome::Clean)
}
