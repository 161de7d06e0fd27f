//! `bartizan ca`.

mod failure;
mod init;
mod issue;
mod leaf;
mod lists;
mod passphrase;
mod renew;
mod revoke;
mod show;
mod sign;

use std::path::PathBuf;
use std::time::SystemTime;

use bartizan_pki::{Authority, Error};
use clap::Subcommand;

use crate::outcome::{Failure, Outcome};
use failure::failure;
use passphrase::PassphraseArgs;

/// The certificate authority: init, issue, sign, renew, revoke, crl, list, show.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Args),
    Issue(issue::Args),
    Sign(sign::Args),
    Renew(renew::Args),
    Revoke(revoke::Args),
    Crl(lists::Args),
    List(show::ListArgs),
    Show(show::ShowArgs),
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    match args.command {
        Command::Init(args) => init::run(args),
        Command::Issue(args) => issue::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Renew(args) => renew::run(&args),
        Command::Revoke(args) => revoke::run(&args),
        Command::Crl(args) => lists::run(&args),
        Command::List(args) => show::list(&args),
        Command::Show(args) => show::show(&args),
    }
}

/// Where the authority is, and how its key is opened.
#[derive(clap::Args)]
struct AuthorityArgs {
    /// Directory of the authority
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl AuthorityArgs {
    /// Opens the authority; asks for the passphrase only if its key has one.
    fn open(&self, now: SystemTime) -> Result<Authority, Failure> {
        let given = self.passphrase.given()?;
        match Authority::open(&self.dir, given.as_ref(), now) {
            Err(Error::PassphraseNeeded(path)) if given.is_none() => {
                let asked = passphrase::ask(&path)?;
                Authority::open(&self.dir, Some(&asked), now).map_err(failure)
            }
            other => other.map_err(failure),
        }
    }
}
