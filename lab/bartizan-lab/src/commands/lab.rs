//! `bartizan-lab list`, `run`, `report` and the others: experiments and their records.

mod built_from;
mod compare;
mod crypto_service;
mod doctor;
mod export;
mod list;
mod nrf;
mod progress;
mod published;
mod records;
mod report;
mod responder;
mod root;
mod run;
mod worker;

use std::path::PathBuf;

use bartizan_workbench::runner::experiment::{Collection, CollectionError};

pub(super) use built_from::build;
pub(super) use progress::Progress;

use crate::{Failure, Outcome};

/// Commands over experiments and their records.
#[derive(clap::Subcommand)]
pub(crate) enum Lab {
    List(list::Args),
    Run(run::Args),
    Report(report::Args),
    Published(published::Args),
    Compare(compare::Args),
    Export(export::Args),
    Doctor(doctor::Args),
    Root(root::Args),
    /// Does the trials of a part; started by a run.
    #[command(hide = true)]
    Worker(worker::Args),
    /// Clears up after a run that was killed; started by it.
    #[command(hide = true)]
    Guard(worker::GuardArgs),
    #[command(hide = true)]
    CryptoService(crypto_service::Args),
    #[command(hide = true)]
    Nrf(nrf::Args),
    #[command(hide = true)]
    Responder(responder::Args),
}

/// Folders of experiments.
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

    /// As it would be typed again, with a space in front.
    pub(super) fn argument(&self) -> String {
        let named = self.experiments.as_ref();
        named.map_or(String::new(), |folder| format!(" --experiments {}", folder.display()))
    }
}

pub(super) fn refused(error: &CollectionError) -> Failure {
    let failure = Failure::usage(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

pub(crate) fn run(command: Lab) -> Result<Outcome, Failure> {
    match command {
        Lab::List(args) => list::run(&args),
        Lab::Run(args) => run::run(&args),
        Lab::Report(args) => report::run(&args),
        Lab::Published(args) => published::run(&args),
        Lab::Compare(args) => compare::run(&args),
        Lab::Export(args) => export::run(&args),
        Lab::Doctor(args) => doctor::run(&args),
        Lab::Root(args) => root::run(&args),
        Lab::Worker(args) => worker::run(&args),
        Lab::Guard(args) => worker::guard(&args),
        Lab::CryptoService(args) => crypto_service::run(&args),
        Lab::Nrf(args) => nrf::run(&args),
        Lab::Responder(args) => responder::run(&args),
    }
}
