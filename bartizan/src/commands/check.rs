//! `bartizan check`.

use crate::{Failure, Outcome};

/// Say what is in force in a deployment file.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err(Failure::new("not written yet"))
}
