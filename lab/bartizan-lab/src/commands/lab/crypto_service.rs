//! `bartizan lab crypto-service`: cryptography as an HTTP service, started by the workload that measures it.

use std::net::{SocketAddr, TcpListener};

use bartizan_workbench::stand_in::sbi::wrapper::serve;

use crate::{Failure, Outcome};

/// ML-KEM-768 and ML-DSA-65 behind HTTP/1.1, for measurements; started by them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Address to listen at, unencrypted. Its answers contain keys: use loopback.
    #[arg(long)]
    listen: SocketAddr,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(format!("{} is not on loopback", args.listen)).hint("secret keys pass unencrypted"));
    }
    let failed = |error| Failure::new(format!("serving on {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).map_err(failed)?;
    serve(&listener).map_err(failed)?;
    Ok(Outcome::Clean)
}
