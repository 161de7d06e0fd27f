//! `bartizan completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::output::print;
use crate::{Cli, Failure, Outcome};

/// Print the completion script of a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan completions bash > /etc/bash_completion.d/bartizan")]
pub(crate) struct Args {
    /// The shell to complete in.
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    // In memory first: what generates it panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bartizan", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Clean)
}
