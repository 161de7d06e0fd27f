//! Secrets that unlock the authority's keys, passphrase and PIN: from a file, the environment or
//! the terminal, never from an argument.

use std::path::{Path, PathBuf};

use bartizan_pki::{Error, Passphrase, Pin, Secrets, TokenFault, secret_in};
use zeroize::Zeroizing;

use super::failure::failure;
use crate::outcome::Failure;

/// Environment variable with the passphrase.
const VARIABLE: &str = "BARTIZAN_CA_PASSPHRASE";

/// Environment variable with the PIN.
const PIN_VARIABLE: &str = "BARTIZAN_CA_PIN";

/// Sources of passphrase and PIN; the default is the environment, then the terminal.
#[derive(clap::Args)]
pub(crate) struct PassphraseArgs {
    /// File whose first line is the passphrase of the authority's keys; without it BARTIZAN_CA_PASSPHRASE, then the
    /// terminal
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// File whose first line is the PIN of the PKCS#11 token that has a key, where the key's URI has no pin-source; without it
    /// BARTIZAN_CA_PIN, then the terminal
    #[arg(long, value_name = "FILE")]
    pin_file: Option<PathBuf>,
}

impl PassphraseArgs {
    /// Returns the secrets that are available without a prompt.
    pub(crate) fn given(&self) -> Result<Secrets, Failure> {
        let passphrase = match &self.passphrase_file {
            Some(path) => Some(from_file(path)?),
            None => from_environment(VARIABLE)?
                .map(|text| Passphrase::new(text).map_err(failure))
                .transpose()?,
        };
        let pin = match &self.pin_file {
            Some(path) => Some(Pin::from_file(path).map_err(failure)?),
            None => from_environment(PIN_VARIABLE)?
                .map(|text| Pin::new(text).map_err(failure))
                .transpose()?,
        };
        Ok(Secrets { passphrase, pin })
    }
}

/// True for an error that a secret not given yet may mend. Nothing is asked for twice: a token
/// locks after some wrong PINs.
pub(super) fn is_missing(error: &Error, secrets: &Secrets) -> bool {
    match error {
        Error::PassphraseNeeded(_) => secrets.passphrase.is_none(),
        Error::Token {
            fault: TokenFault::PinNeeded(_),
            ..
        } => secrets.pin.is_none(),
        _ => false,
    }
}

/// Asks for the secret that an error says is missing.
pub(super) fn ask_for(error: &Error, secrets: &mut Secrets) -> Result<(), Failure> {
    match error {
        Error::PassphraseNeeded(path) => secrets.passphrase = Some(ask(path)?),
        Error::Token {
            fault: TokenFault::PinNeeded(token),
            ..
        } => {
            let text = prompt(
                "PIN",
                &format!("PIN of token {token}: "),
                &format!("--pin-file FILE, {PIN_VARIABLE} or pin-source in the key's URI"),
            )?;
            secrets.pin = Some(Pin::new(text).map_err(failure)?);
        }
        _ => {}
    }
    Ok(())
}

/// Asks for the passphrase of a key that has one.
pub(super) fn ask(key: &Path) -> Result<Passphrase, Failure> {
    let text = prompt_passphrase(&format!("Passphrase of {}: ", key.display()))?;
    Passphrase::new(text).map_err(failure)
}

/// Asks twice for a new passphrase.
pub(super) fn ask_new() -> Result<Passphrase, Failure> {
    let first = prompt_passphrase("New passphrase of the authority's keys: ")?;
    let second = prompt_passphrase("Once more: ")?;
    if *first != *second {
        return Err(Failure::new("the two passphrases differ"));
    }
    Passphrase::new(first).map_err(failure)
}

fn prompt_passphrase(text: &str) -> Result<Zeroizing<String>, Failure> {
    prompt("passphrase", text, &format!("--passphrase-file FILE or {VARIABLE}"))
}

fn prompt(what: &str, text: &str, otherwise: &str) -> Result<Zeroizing<String>, Failure> {
    rpassword::prompt_password(text).map(Zeroizing::new).map_err(|error| {
        Failure::new(format!("cannot ask for the {what}: {error}")).hint(format!("without a terminal: {otherwise}"))
    })
}

fn from_environment(variable: &str) -> Result<Option<Zeroizing<String>>, Failure> {
    match std::env::var(variable) {
        Ok(text) => Ok(Some(Zeroizing::new(text))),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::usage(format!("{variable} is not UTF-8"))),
    }
}

fn from_file(path: &Path) -> Result<Passphrase, Failure> {
    Passphrase::new(secret_in(path).map_err(failure)?).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display())).hint("the first line of the file is the passphrase")
    })
}
