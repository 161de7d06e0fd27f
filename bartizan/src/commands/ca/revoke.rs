//! `bartizan ca revoke`.

use std::time::SystemTime;

use bartizan_pki::Reason;

use super::AuthorityArgs;
use super::failure::failure;
use crate::outcome::{Failure, Outcome};

/// Revoke a certificate and sign a new revocation list.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Serial number, or name if only one certificate of that name is not revoked
    #[arg(value_name = "SERIAL|NAME")]
    certificate: String,
    /// Why: unspecified, key-compromise, ca-compromise, affiliation-changed, superseded, cessation-of-operation or
    /// privilege-withdrawn
    #[arg(long, default_value = "unspecified")]
    reason: Reason,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let mut authority = args.authority.open(now)?;
    let revoked = authority.revoke(&args.certificate, args.reason, now).map_err(failure)?;
    println!("revoked {} ({}), serial {}", revoked.name, args.reason, revoked.serial);
    println!(
        "  list number {} in {}: bring it to every relying party",
        revoked.list_number,
        args.authority.dir.join("crl.pem").display()
    );
    Ok(Outcome::Clean)
}
