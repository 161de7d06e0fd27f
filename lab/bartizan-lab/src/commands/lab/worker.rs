//! `bartizan lab worker` and `bartizan lab guard`: processes of a run, started by it.

use std::path::PathBuf;

use crate::{Failure, Outcome};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Socket of the runner [default: the runner is at standard input and output]
    #[arg(long)]
    socket: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct GuardArgs {
    /// Folder to remove after the run was killed.
    #[arg(long)]
    scratch: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    bartizan_workbench::runner::worker::work(args.socket.as_deref())
        .map_err(|error| Failure::new(format!("a worker of the lab: {error}")))?;
    Ok(Outcome::Clean)
}

pub(super) fn guard(args: &GuardArgs) -> Result<Outcome, Failure> {
    bartizan_workbench::runner::run::watch(&args.scratch);
    Ok(Outcome::Clean)
}
