//! `bartizan ca revoke`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_pki::{Authority, Error, Reason};
use serde_json::json;

use super::AuthorityArgs;
use super::failure::failure;
use super::show::date;
use crate::outcome::{Failure, Outcome};
use crate::output::outln;

/// Revoke certificates and sign a new revocation list.
///
/// All of them are revoked by one list, or none where one cannot be.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca revoke --dir ca nrf --reason key-compromise            by name, where one is not revoked\n  \
    bartizan ca revoke --dir ca 6f0c3d0a51b2 --reason superseded      by serial number, as `bartizan ca list` shows it\n  \
    bartizan ca revoke --dir ca --file stolen.txt --reason key-compromise   one a line")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Serial numbers, or names of which only one certificate is not revoked
    #[arg(value_name = "SERIAL|NAME", required_unless_present = "file")]
    certificates: Vec<String>,
    /// File with more of them, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Reason: unspecified, key-compromise, ca-compromise, affiliation-changed, superseded, cessation-of-operation or
    /// privilege-withdrawn
    #[arg(long, default_value = "unspecified")]
    reason: Reason,
    /// Print what was revoked as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let mut all = args.certificates.clone();
    if let Some(file) = &args.file {
        all.extend(lines(file)?);
    }
    if all.is_empty() {
        return Err(Failure::usage("--file names no certificate: nothing is revoked"));
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let revoke = |authority: &mut Authority| authority.revoke_all(&all, args.reason, now);
    let (authority, revoked) = args.authority.open_for(now, revoke)?;
    let revoked = revoked.map_err(|error| dated(&authority, error))?;
    let list = args.authority.at.dir.join("crl.pem");
    if args.json {
        let said: Vec<_> = revoked
            .iter()
            .map(|revoked| {
                json!({
                    "name": revoked.name,
                    "serial": revoked.serial,
                    "reason": args.reason.name(),
                    "list_number": revoked.list_number,
                    "list": list,
                })
            })
            .collect();
        match (said.as_slice(), args.certificates.len(), &args.file) {
            ([one], 1, None) => outln!("{one:#}"),
            _ => outln!("{:#}", json!({ "revoked": said })),
        }
        return Ok(Outcome::Clean);
    }
    for revoked in &revoked {
        outln!("revoked {} ({}), serial {}", revoked.name, args.reason, revoked.serial);
        let below = authority.valid_below(revoked.serial, now).map_err(failure)?;
        if below > 0 {
            outln!("  {below} valid certificates below it are refused with it: issue them again");
        }
    }
    if let Some(last) = revoked.last() {
        outln!(
            "  list number {} in {}: bring it to every relying party",
            last.list_number,
            list.display()
        );
    }
    Ok(Outcome::Clean)
}

/// Serial numbers or names, one a line; empty lines are skipped.
fn lines(file: &Path) -> Result<Vec<String>, Failure> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

/// After a renewal several certificates have one name: their dates say which is meant.
fn dated(authority: &Authority, error: Error) -> Failure {
    let Error::SeveralCertificates { serials, .. } = &error else {
        return failure(error);
    };
    let lines = serials.iter().map(|serial| match authority.show(&serial.to_string()) {
        Ok(entry) => {
            let (issued, ends) = (date(entry.created()), date(entry.certificate.not_after()));
            format!("{serial}, issued {issued}, valid until {ends}")
        }
        Err(_) => serial.to_string(),
    });
    let newest = serials
        .last()
        .map(|serial| format!("the newest comes last, {serial}: revoke another where it is in use"));
    lines.chain(newest).fold(Failure::new(&error), Failure::hint)
}
