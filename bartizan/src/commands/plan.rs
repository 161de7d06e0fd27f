//! `bartizan plan`: what protection will cost a link, before it is bought.

mod curves;
mod delay;
mod fronthaul;
mod mtu;

use bartizan_terminal::answer;

use crate::laboratory::{self, Passed};
use crate::{Failure, Outcome};

/// Predict delay, feasibility and MTU of protected links: each number with its source.
///
/// Simulations of whole networks (storm, capacity, merge, measured, engines, calibrate) and published values are those of bartizan-lab.
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
    /// Measure what each primitive takes on this machine (by bartizan-lab)
    #[command(after_help = "Examples:\n  bartizan plan calibrate\n  bartizan plan calibrate --help")]
    Calibrate(Passed),
    /// Gateways and cores that a network needs (by bartizan-lab)
    #[command(
        after_help = "Examples:\n  bartizan plan capacity --sites 5000 --gateways 20\n  bartizan plan capacity --help"
    )]
    Capacity(Passed),
    /// Costs of engines from records (by bartizan-lab)
    #[command(
        after_help = "Examples:\n  bartizan plan engines lab/experiments/sa-setup/records/*.gz\n  bartizan plan engines --help"
    )]
    Engines(Passed),
    /// Predictions compared with records (by bartizan-lab)
    #[command(
        after_help = "Examples:\n  bartizan plan measured lab/experiments/sa-setup-path/records/*.gz\n  bartizan plan measured --help"
    )]
    Measured(Passed),
    /// Parts of a storm in one answer (by bartizan-lab)
    #[command(after_help = "Examples:\n  bartizan plan merge part-1.json part-2.json\n  bartizan plan merge --help")]
    Merge(Passed),
    /// Values that Groen et al. 2024 print, next to computed ones (by bartizan-lab)
    #[command(after_help = "Examples:\n  bartizan plan published\n  bartizan plan published --help")]
    Published(Passed),
    /// Reconnection of a whole network after an outage (by bartizan-lab)
    #[command(after_help = "Examples:\n  bartizan plan storm --sites 2000 --gateways 8\n  bartizan plan storm --help")]
    Storm(Passed),
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.what {
        Plan::Delay(args) => delay::run(args),
        Plan::Fronthaul(args) => fronthaul::run(args),
        Plan::Mtu(args) => mtu::run(args),
        Plan::Published(args) => laboratory::run("plan published", &args.arguments),
        Plan::Calibrate(args) => laboratory::run("plan calibrate", &args.arguments),
        Plan::Capacity(args) => laboratory::run("plan capacity", &args.arguments),
        Plan::Engines(args) => laboratory::run("plan engines", &args.arguments),
        Plan::Measured(args) => laboratory::run("plan measured", &args.arguments),
        Plan::Merge(args) => laboratory::run("plan merge", &args.arguments),
        Plan::Storm(args) => laboratory::run("plan storm", &args.arguments),
    }
}
