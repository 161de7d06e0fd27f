//! `bartizan ca`.

use crate::{Failure, Outcome};

/// The certificate authority: init, issue, sign, renew, revoke, crl, list, show.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> Result<Outcome, Failure> {
    Err(Failure::new("not written yet"))
}
