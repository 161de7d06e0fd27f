//! `bartizan demo`.

use crate::{Failure, Outcome};

/// Show it on real traffic: two sidecars, the packets that prove it, and the cost.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> Result<Outcome, Failure> {
    Err(Failure::new("not written yet"))
}
