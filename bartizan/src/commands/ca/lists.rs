//! `bartizan ca crl`.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_ledger::state;
use bartizan_pki::{Authority, LARGEST_LISTS};
use serde_json::json;

use super::AuthorityArgs;
use super::failure::failure;
use super::leaf::OutputArgs;
use super::show::date;
use crate::outcome::{Failure, Outcome};
use crate::output::{out, outln, replaces};

/// Sign new revocation lists and write them, that of the root behind that of the intermediate.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca crl --dir ca --file ca.crl.pem\n  \
    bartizan ca crl --dir ca --file - | ssh nrf tee /etc/bartizan/ca.crl.pem")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Days until the next list; the root's is good for 180 where there is an intermediate
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// File for the lists, PEM, besides DIR/crl.pem; - is standard output
    #[arg(long = "file", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(out) = args.out.as_deref().filter(|out| out.as_os_str() != "-") {
        replaces(out, "-----BEGIN X509 CRL")?;
    }
    let now = SystemTime::now();
    let refresh = |authority: &mut Authority| authority.refresh_lists(args.days, now);
    let (authority, pem) = args.authority.open_for(now, refresh)?;
    let pem = pem.map_err(failure)?;
    if let Some(out) = &args.out {
        if out.as_os_str() == "-" {
            out!("{pem}");
            return Ok(Outcome::Clean);
        }
        write(out, &pem)?;
    }
    let next = authority.crl_next_update(now).map_err(failure)?;
    let list = args.authority.at.dir.join("crl.pem");
    if args.json {
        outln!(
            "{:#}",
            json!({ "list": list, "file": args.out, "next_update": next.map(date) })
        );
        return Ok(Outcome::Clean);
    }
    match &args.out {
        Some(out) => outln!("signed revocation lists in {} and {}", list.display(), out.display()),
        None => outln!("signed revocation lists in {}", list.display()),
    }
    if let Some(next) = next {
        outln!(
            "  the next one is due by {}: strict relying parties refuse everybody from then on",
            date(next)
        );
    }
    Ok(Outcome::Clean)
}

/// Writes the newest lists next to an issued certificate, if that is asked for. Lists of other
/// authorities in the file stay.
pub(super) fn write_next_to(authority: &Authority, output: &OutputArgs) -> Result<(), Failure> {
    if output.crl {
        let file = output.destination().dir.join("ca.crl.pem");
        let mut present = Vec::new();
        match state::open_to_read(&file) {
            Ok(open) => open.take(LARGEST_LISTS + 1).read_to_end(&mut present).map(drop),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
        if present.len() as u64 > LARGEST_LISTS {
            let why = format!("{} has more than {LARGEST_LISTS} octets", file.display());
            return Err(Failure::new(why)
                .hint("other authorities' lists stay in it, and no relying party reads a larger one: move it away"));
        }
        let pem = authority.crl_next_to(&present).map_err(failure)?;
        write(&file, &pem)?;
    }
    Ok(())
}

fn write(path: &Path, pem: &str) -> Result<(), Failure> {
    bartizan_pki::write_public_file(path, pem.as_bytes()).map_err(failure)
}
