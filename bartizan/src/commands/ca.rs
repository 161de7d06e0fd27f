//! `bartizan ca`.

pub(crate) mod failure;
mod init;
mod invite;
mod issue;
pub(crate) mod leaf;
mod lists;
pub(crate) mod passphrase;
mod renew;
mod revoke;
mod rollover;
mod serve;
mod show;
mod sign;

use std::path::PathBuf;
use std::time::SystemTime;

use bartizan_pki::{Authority, Error, Secrets};
use clap::Subcommand;

use crate::outcome::{Failure, Outcome};
use failure::failure;
use passphrase::PassphraseArgs;

/// The certificate authority: init, issue, sign, renew, revoke, rollover, crl, list, show; invite and serve for enrolment.
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
    Rollover(rollover::Args),
    Crl(lists::Args),
    List(show::ListArgs),
    Show(show::ShowArgs),
    Invite(invite::Args),
    Invitations(invite::ListArgs),
    Withdraw(invite::WithdrawArgs),
    Serve(serve::Args),
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    match args.command {
        Command::Init(args) => init::run(args),
        Command::Issue(args) => issue::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Renew(args) => renew::run(&args),
        Command::Revoke(args) => revoke::run(&args),
        Command::Rollover(args) => rollover::run(&args),
        Command::Crl(args) => lists::run(&args),
        Command::List(args) => show::list(&args),
        Command::Show(args) => show::show(&args),
        Command::Invite(args) => invite::run(&args),
        Command::Invitations(args) => invite::list(&args),
        Command::Withdraw(args) => invite::withdraw(&args),
        Command::Serve(args) => serve::run(&args),
    }
}

/// Environment variable with the authority's directory.
const DIRECTORY: &str = "BARTIZAN_CA";

/// Directory of the authority.
#[derive(clap::Args)]
struct DirectoryArgs {
    /// Directory of the authority; the default is that of BARTIZAN_CA, then ca
    #[arg(long, value_name = "DIR", default_value_os_t = default_directory(), hide_default_value = true)]
    dir: PathBuf,
}

fn default_directory() -> PathBuf {
    let named = std::env::var_os(DIRECTORY).filter(|named| !named.is_empty());
    named.map_or_else(|| PathBuf::from("ca"), PathBuf::from)
}

/// Directory of the authority and the passphrase of its key.
#[derive(clap::Args)]
struct AuthorityArgs {
    #[command(flatten)]
    at: DirectoryArgs,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl AuthorityArgs {
    /// Opens the authority; asks for the passphrase or the PIN only if its key has one.
    fn open(&self, now: SystemTime) -> Result<Authority, Failure> {
        Ok(self.open_and_keep(now)?.0)
    }

    /// Opens it and returns what it took too, for a caller that opens it again.
    fn open_and_keep(&self, now: SystemTime) -> Result<(Authority, Secrets), Failure> {
        let mut secrets = self.passphrase.given()?;
        let authority = self.open_with(&mut secrets, now)?;
        Ok((authority, secrets))
    }

    fn open_with(&self, secrets: &mut Secrets, now: SystemTime) -> Result<Authority, Failure> {
        loop {
            match Authority::open(&self.at.dir, &*secrets, now) {
                Ok(authority) => return Ok(authority),
                Err(error) if passphrase::is_missing(&error, secrets) => passphrase::ask_for(&error, secrets)?,
                Err(error) => return Err(failure(error)),
            }
        }
    }

    /// Opens the authority for an act that may need the root's key next to the issuing one, and
    /// asks for that key's secret. The authority's lock is not held meanwhile: a prompt may stay
    /// open for hours.
    fn open_for<T>(
        &self,
        now: SystemTime,
        mut act: impl FnMut(&mut Authority) -> Result<T, Error>,
    ) -> Result<(Authority, Result<T, Error>), Failure> {
        let (mut authority, mut secrets) = self.open_and_keep(now)?;
        loop {
            match act(&mut authority) {
                Err(error) if passphrase::is_missing(&error, &secrets) => {
                    drop(authority);
                    passphrase::ask_for(&error, &mut secrets)?;
                    authority = self.open_with(&mut secrets, now)?;
                }
                done => return Ok((authority, done)),
            }
        }
    }
}
