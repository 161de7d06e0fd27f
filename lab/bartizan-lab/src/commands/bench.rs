//! `bartizan bench`.

mod hostile;
mod inspect;
mod measure;
mod report;
mod sidecar;
mod table;

use std::net::{SocketAddr, TcpListener};

use crate::{Failure, Outcome};

/// Measure what the sidecar costs and what the inspector does, compared with other programs in the same run.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    Sidecar(sidecar::Args),
    Hostile(hostile::Args),
    Inspect(inspect::Args),
    /// Runs one program and says what it needed; started by the bench itself.
    #[command(hide = true)]
    Measured(inspect::MeasuredArgs),
    /// The hostile part of a measurement; started by the bench itself.
    #[command(hide = true)]
    Attack(hostile::AttackArgs),
    /// The server behind everything that is measured; started by the bench itself.
    #[command(hide = true)]
    Server {
        /// Address to listen at.
        #[arg(long)]
        listen: SocketAddr,
    },
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    match args.what {
        Bench::Sidecar(args) => sidecar::run(&args),
        Bench::Hostile(args) => hostile::run(&args),
        Bench::Attack(args) => hostile::attack(&args),
        Bench::Inspect(args) => inspect::run(&args),
        Bench::Measured(args) => inspect::measured(&args),
        Bench::Server { listen } => {
            let failed = |error| Failure::new(format!("serving on {listen}: {error}"));
            let listener = TcpListener::bind(listen).map_err(failed)?;
            bartizan_workbench::stand_in::proxies::serve(&listener).map_err(failed)?;
            Ok(Outcome::Clean)
        }
    }
}
