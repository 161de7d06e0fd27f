//! `bartizan algorithms`.

use crate::{Failure, Outcome};

/// List the algorithms Bartizan knows: code points, sizes, categories, names.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err(Failure::new("not written yet"))
}
