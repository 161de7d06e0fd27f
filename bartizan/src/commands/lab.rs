//! `bartizan lab`.

mod crypto_service;
mod list;
mod nrf;

use std::path::PathBuf;

use bartizan_lab::experiment::{Collection, CollectionError};

use crate::{Failure, Outcome};

/// Run published experiments again, and set what is measured beside what was printed.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Lab,
}

#[derive(clap::Subcommand)]
enum Lab {
    List(list::Args),
    #[command(hide = true)]
    CryptoService(crypto_service::Args),
    #[command(hide = true)]
    Nrf(nrf::Args),
}

/// Where experiments are looked for.
#[derive(clap::Args)]
pub(super) struct Where {
    /// The folder of experiments [default: ./experiments, else those built into this binary]
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,
}

impl Where {
    pub(super) fn collection(&self) -> Collection {
        Collection::find(self.experiments.as_deref())
    }
}

pub(super) fn refused(error: &CollectionError) -> Failure {
    let failure = Failure::usage(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    match args.what {
        Lab::List(args) => list::run(&args),
        Lab::CryptoService(args) => crypto_service::run(&args),
        Lab::Nrf(args) => nrf::run(&args),
    }
}
