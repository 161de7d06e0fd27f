//! `bartizan ca revoke`.

use std::time::SystemTime;

use bartizan_pki::{Authority, Error, Reason};
use serde_json::json;

use super::failure::failure;
use super::show::date;
use super::{AuthorityArgs, asking};
use crate::outcome::{Failure, Outcome};
use crate::output::outln;

/// Revoke a certificate and sign a new revocation list.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca revoke --dir ca nrf --reason key-compromise            by name, where one is not revoked\n  \
    bartizan ca revoke --dir ca 6f0c3d0a51b2 --reason superseded      by serial number, as `bartizan ca list` shows it")]
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
    /// Print what was revoked as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let mut authority = args.authority.open(now)?;
    let revoked = asking(&mut authority, |authority| {
        authority.revoke(&args.certificate, args.reason, now)
    })?
    .map_err(|error| dated(&authority, error))?;
    let list = args.authority.dir.join("crl.pem");
    if args.json {
        outln!(
            "{:#}",
            json!({
                "name": revoked.name,
                "serial": revoked.serial,
                "reason": args.reason.name(),
                "list_number": revoked.list_number,
                "list": list,
            })
        );
        return Ok(Outcome::Clean);
    }
    outln!("revoked {} ({}), serial {}", revoked.name, args.reason, revoked.serial);
    outln!(
        "  list number {} in {}: bring it to every relying party",
        revoked.list_number,
        list.display()
    );
    Ok(Outcome::Clean)
}

/// After a renewal several certificates have one name: their dates say which is meant.
fn dated(authority: &Authority, error: Error) -> Failure {
    let Error::SeveralCertificates { serials, .. } = &error else {
        return failure(error);
    };
    let lines = serials.iter().map(|serial| match authority.show(&serial.to_string()) {
        Ok(entry) => {
            let (issued, ends) = (date(entry.created()), date(entry.certificate().not_after()));
            format!("{serial}, issued {issued}, valid until {ends}")
        }
        Err(_) => serial.to_string(),
    });
    let newest = serials
        .last()
        .map(|serial| format!("the newest comes last, {serial}: revoke another where it is in use"));
    lines.chain(newest).fold(Failure::new(&error), Failure::hint)
}
