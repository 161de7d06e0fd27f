//! `bartizan plan`: what protection will cost a link, before it is bought.

mod delay;

use crate::{Failure, Outcome};

/// Predict delay, feasibility, MTU and capacity of protected links, each number with where it comes from.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Plan,
}

#[derive(clap::Subcommand)]
enum Plan {
    Delay(delay::Args),
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.what {
        Plan::Delay(args) => delay::run(args),
    }
}
