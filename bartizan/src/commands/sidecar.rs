//! `bartizan sidecar`.

use crate::{Failure, Outcome};

/// Run the sidecars of one node of a deployment file.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> Result<Outcome, Failure> {
    Err(Failure::new("not written yet"))
}
