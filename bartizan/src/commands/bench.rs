//! `bartizan bench`.

mod report;
mod sidecar;
mod table;

use std::net::{SocketAddr, TcpListener};

use crate::{Failure, Outcome};

/// Measure what the sidecar costs, beside other proxies in the same run.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    Sidecar(sidecar::Args),
    /// The server behind everything that is measured; started by the bench itself.
    #[command(hide = true)]
    Server {
        /// Where it listens.
        #[arg(long)]
        listen: SocketAddr,
    },
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    match args.what {
        Bench::Sidecar(args) => sidecar::run(&args),
        Bench::Server { listen } => {
            let failed = |error| Failure::new(format!("serving on {listen}: {error}"));
            let listener = TcpListener::bind(listen).map_err(failed)?;
            bartizan_lab::bench::serve(&listener).map_err(failed)?;
            Ok(Outcome::Clean)
        }
    }
}
