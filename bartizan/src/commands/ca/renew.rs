//! `bartizan ca renew`.

use std::time::SystemTime;

use bartizan_pki::Renewal;

use super::failure::failure;
use super::leaf::{LifetimeArgs, OutputArgs};
use super::{AuthorityArgs, lists};
use crate::outcome::{Failure, Outcome};

/// Issue a new certificate with the names of an older one.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca renew --dir ca nrf --out nrf --force             by name: the newest of that name\n  \
    bartizan ca renew --dir ca 6f0c3d0a51b2 --out nrf --force    by serial number, as `bartizan ca list` shows it")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Serial number, or name: the newest certificate of that name that is not revoked
    #[arg(value_name = "SERIAL|NAME", required_unless_present = "name")]
    certificate: Option<String>,
    /// The same as an option, as `issue` has it
    #[arg(long, value_name = "NAME", conflicts_with = "certificate")]
    name: Option<String>,
    /// Certify the same key again instead of a fresh one; for a signed request there is no other way
    #[arg(long)]
    same_key: bool,
    /// Revoke the old certificate as superseded once the new one is written
    #[arg(long)]
    revoke_old: bool,
    #[command(flatten)]
    lifetime: LifetimeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let certificate = args.certificate.as_ref().or(args.name.as_ref());
    let certificate = certificate.map(String::as_str).unwrap_or_default();
    let mut authority = args.authority.open(now)?;
    let renewal = Renewal {
        same_key: args.same_key,
        revoke_previous: args.revoke_old,
        lifetime: args.lifetime.lifetime(),
        long_life: args.lifetime.allow_long,
    };
    let issued = authority
        .renew(certificate, &renewal, Some(&args.output.destination()), now)
        .map_err(failure)?;
    lists::write_next_to(&authority, &args.output)?;
    args.output.tell("renewed", &issued);
    Ok(Outcome::Clean)
}
