//! `bartizan plan`: what protection will cost a link, before it is bought.

pub(super) mod answer;
mod calibrate;
mod capacity;
mod costs;
mod curves;
mod delay;
mod engines;
mod fronthaul;
mod measured;
mod merge;
mod mtu;
mod network;
pub(super) mod published;
mod storm;

use crate::{Failure, Outcome};

/// Predict delay, feasibility, MTU, capacity and storms of protected links, each number with where it comes from.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Plan,
}

#[derive(clap::Subcommand)]
enum Plan {
    Calibrate(calibrate::Args),
    Capacity(Box<capacity::Args>),
    Delay(delay::Args),
    Engines(engines::Args),
    Fronthaul(fronthaul::Args),
    Merge(merge::Args),
    Measured(measured::Args),
    Mtu(mtu::Args),
    Published(published::Args),
    Storm(Box<storm::Args>),
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.what {
        Plan::Calibrate(args) => calibrate::run(args),
        Plan::Capacity(args) => capacity::run(args),
        Plan::Delay(args) => delay::run(args),
        Plan::Engines(args) => engines::run(args),
        Plan::Fronthaul(args) => fronthaul::run(args),
        Plan::Merge(args) => merge::run(args),
        Plan::Measured(args) => measured::run(args),
        Plan::Mtu(args) => mtu::run(args),
        Plan::Published(args) => published::run(args),
        Plan::Storm(args) => storm::run(args),
    }
}
