//! The passphrase of the authority's keys: from a file, the environment or the terminal, never from an argument.

use std::io::Read;
use std::path::{Path, PathBuf};

use bartizan_pki::Passphrase;
use zeroize::Zeroizing;

use super::failure::failure;
use crate::outcome::Failure;

/// Environment variable with the passphrase.
const VARIABLE: &str = "BARTIZAN_CA_PASSPHRASE";

/// Most octets of a passphrase file.
const LARGEST: u64 = 4096;

/// Where the passphrase comes from; without it the environment variable BARTIZAN_CA_PASSPHRASE, then the terminal.
#[derive(clap::Args)]
pub(crate) struct PassphraseArgs {
    /// File whose first line is the passphrase of the authority's keys; without it BARTIZAN_CA_PASSPHRASE, then the
    /// terminal
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl PassphraseArgs {
    /// The passphrase, if one is given without asking.
    pub(crate) fn given(&self) -> Result<Option<Passphrase>, Failure> {
        if let Some(path) = &self.passphrase_file {
            return from_file(path).map(Some);
        }
        match std::env::var(VARIABLE) {
            Ok(text) => Passphrase::new(Zeroizing::new(text)).map(Some).map_err(failure),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(Failure::usage(format!("{VARIABLE} is not UTF-8"))),
        }
    }
}

/// Asks for the passphrase of a key that has one.
pub(super) fn ask(key: &Path) -> Result<Passphrase, Failure> {
    let text = prompt(&format!("Passphrase of {}: ", key.display()))?;
    Passphrase::new(text).map_err(failure)
}

/// Asks twice for a new passphrase.
pub(super) fn ask_new() -> Result<Passphrase, Failure> {
    let first = prompt("New passphrase of the authority's keys: ")?;
    let second = prompt("Once more: ")?;
    if *first != *second {
        return Err(Failure::new("the two passphrases differ"));
    }
    Passphrase::new(first).map_err(failure)
}

fn prompt(text: &str) -> Result<Zeroizing<String>, Failure> {
    rpassword::prompt_password(text).map(Zeroizing::new).map_err(|error| {
        Failure::new(format!("cannot ask for the passphrase: {error}"))
            .hint(format!("without a terminal: --passphrase-file FILE or {VARIABLE}"))
    })
}

fn from_file(path: &Path) -> Result<Passphrase, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = Zeroizing::new(String::new());
    file.take(LARGEST).read_to_string(&mut text).map_err(unreadable)?;
    let line = text.lines().next().unwrap_or_default();
    Passphrase::new(Zeroizing::new(line.to_owned())).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display())).hint("the first line of the file is the passphrase")
    })
}
