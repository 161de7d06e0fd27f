//! `bartizan plan`: what protection will cost a link, before it is bought.

pub(super) mod answer;
mod curves;
mod delay;
mod fronthaul;
mod mtu;
mod published;

use crate::{Failure, Outcome};

/// Predict delay, feasibility and MTU of protected links, each number with where it comes from.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Plan,
}

#[derive(clap::Subcommand)]
enum Plan {
    Delay(delay::Args),
    Fronthaul(fronthaul::Args),
    Mtu(mtu::Args),
    Published(published::Args),
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.what {
        Plan::Delay(args) => delay::run(args),
        Plan::Fronthaul(args) => fronthaul::run(args),
        Plan::Mtu(args) => mtu::run(args),
        Plan::Published(args) => published::run(args),
    }
}
