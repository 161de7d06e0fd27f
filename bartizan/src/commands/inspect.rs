//! `bartizan inspect`.

use crate::{Failure, Outcome};

/// From packets to verdicts: what was offered, negotiated, authenticated.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err(Failure::new("not written yet"))
}
