//! `bartizan lab nrf`: the NRF that workloads talk to, started by them.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_tls::{Credentials, Endpoint, peers};
use bartizan_workbench::stand_in::nrf::{Manner, serve};

use crate::{Failure, Outcome};

/// The NRF behind the workloads; started by them. No subscriptions, no access tokens.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Address to listen at: HTTP/2 unencrypted, unless a deployment is given.
    #[arg(long)]
    listen: SocketAddr,

    /// Speak TLS as this deployment file has it.
    #[arg(long, value_name = "FILE", requires = "node")]
    deployment: Option<PathBuf>,

    /// As this node of the deployment.
    #[arg(long, value_name = "NAME", requires = "deployment")]
    node: Option<String>,

    /// Microseconds it works on each request, one request after the other.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    work_us: u64,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let tls = match (&args.deployment, &args.node) {
        (Some(file), Some(node)) => Some(endpoint(file, node)?),
        _ => None,
    };
    let failed = |error| Failure::new(format!("serving on {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).map_err(failed)?;
    let work = Duration::from_micros(args.work_us);
    serve(listener, Manner { tls, work }).map_err(failed)?;
    Ok(Outcome::Clean)
}

fn endpoint(file: &PathBuf, node: &str) -> Result<Endpoint, Failure> {
    let refused = |error: bartizan_tls::Error| match error.hint() {
        Some(hint) => Failure::usage(&error).hint(hint),
        None => Failure::usage(&error),
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())).hint("--deployment takes a file"))?;
    let folder = file.parent().unwrap_or(file);
    let deployment = Deployment::parse(&text, &file.display().to_string(), folder).map_err(Failure::usage)?;
    let files = deployment.node(node).and_then(|node| node.files.clone());
    let files = files.ok_or_else(|| {
        Failure::usage(format!(
            "{} has no node `{node}` with certificate and key",
            file.display()
        ))
        .hint("--node takes a node of the deployment file")
    })?;
    Endpoint::new(Credentials::load(&files).map_err(refused)?, peers(&deployment, node)).map_err(refused)
}
