//! `bartizan lab responder`: IKE_SAs that stand in a process of their own, started by the workload that measures them.

use std::path::PathBuf;

use bartizan_workbench::stand_in::responder::stand;

use crate::output::print;
use crate::{Failure, Outcome};

/// IKE_SAs that stand at a responder in memory, for measurements; started by them. What they take is printed as JSON.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for certificates.
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// In strongSwan's words.
    #[arg(long)]
    key_exchange: String,
    /// Signature algorithm of both ends.
    #[arg(long)]
    authentication: String,
    /// Number of SAs.
    #[arg(long)]
    sas: usize,
    /// Keep the ESP of their CHILD_SAs too, as user space has it.
    #[arg(long)]
    esp: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let held = stand(
        &args.folder,
        &args.key_exchange,
        &args.authentication,
        args.sas,
        args.esp,
    );
    let held = held.map_err(Failure::new)?;
    let text = serde_json::to_string(&held).map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    print(&(text + "\n"))?;
    Ok(Outcome::Clean)
}
