//! Key logs from disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_keys::{Added, KeyLog, Keyring};
use zeroize::Zeroizing;

use crate::Failure;

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;
/// Damaged lines that are told one by one.
const TOLD: usize = 3;
const HINT: &str = "a key log is what programs write to the file that SSLKEYLOGFILE names, or `openssl s_client -keylogfile FILE`: \
                    a label, the client random and a secret in each line (RFC 9850)";

/// Reads key logs; lines that are none are told on standard error by their numbers, and skipped.
pub(crate) fn read_key_logs(paths: &[PathBuf]) -> Result<Arc<Keyring>, Failure> {
    let keyring = Arc::new(Keyring::new());
    for path in paths {
        let name = super::table::printable(&path.display().to_string());
        let mut log = Log::new(&keyring, name);
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        log.read(file).map_err(|error| unreadable(path, &error))?;
        log.finish()?;
    }
    Ok(keyring)
}

/// One key log, and what came of it.
pub(super) struct Log<'a> {
    keyring: &'a Keyring,
    name: String,
    log: KeyLog,
    secrets: u64,
    beyond: u64,
    damaged: u64,
}

impl<'a> Log<'a> {
    pub(super) fn new(keyring: &'a Keyring, name: String) -> Self {
        Self {
            keyring,
            name,
            log: KeyLog::new(),
            secrets: 0,
            beyond: 0,
            damaged: 0,
        }
    }

    fn read(&mut self, mut input: impl Read) -> io::Result<()> {
        let mut piece = Zeroizing::new(vec![0; PIECE]);
        loop {
            match input.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(length) => self.push(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let added = self.keyring.add(&self.name, &mut self.log, Some(bytes));
        self.count(&added);
    }

    fn count(&mut self, added: &Added) {
        for error in &added.damaged {
            self.damaged += 1;
            if self.damaged <= TOLD as u64 {
                eprintln!("warning: {}: {error}", self.name);
            }
        }
        self.secrets += added.secrets;
        self.beyond += added.beyond;
    }

    /// At its end.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let added = self.keyring.add(&self.name, &mut self.log, None);
        self.count(&added);
        if self.damaged > 0 && self.secrets == 0 {
            let message = format!("{}: not a key log: none of its lines is a secret", self.name);
            return Err(Failure::new(message).hint(HINT));
        }
        if self.damaged > TOLD as u64 {
            eprintln!("warning: {}: {} lines are no secrets", self.name, self.damaged);
        }
        if self.beyond > 0 {
            eprintln!("warning: {}: {} secrets are more than are kept", self.name, self.beyond);
        }
        if self.secrets == 0 {
            eprintln!("warning: {}: holds no secrets", self.name);
        }
        Ok(())
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display())).hint(HINT)
}
