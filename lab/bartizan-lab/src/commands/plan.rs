//! `bartizan-lab plan`: simulations of whole networks, and predictions compared with records.

mod calibrate;
mod capacity;
mod costs;
mod engines;
mod handshake;
mod measured;
mod merge;
mod network;
mod published;
mod storm;

use crate::{Failure, Outcome};

/// Simulate storms and capacity of whole networks, and hold predictions against records.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Plan,
}

#[derive(clap::Subcommand)]
enum Plan {
    Calibrate(calibrate::Args),
    Capacity(Box<capacity::Args>),
    Engines(engines::Args),
    Merge(merge::Args),
    Measured(measured::Args),
    Published(published::Args),
    Storm(Box<storm::Args>),
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.what {
        Plan::Calibrate(args) => calibrate::run(args),
        Plan::Capacity(args) => capacity::run(args),
        Plan::Engines(args) => engines::run(args),
        Plan::Merge(args) => merge::run(args),
        Plan::Measured(args) => measured::run(args),
        Plan::Published(args) => published::run(args),
        Plan::Storm(args) => storm::run(args),
    }
}
