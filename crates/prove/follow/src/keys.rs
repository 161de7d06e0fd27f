//! Keys from disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use bartizan_inspect::text::printable;
use bartizan_keys::{Added, Format, KeyLog, Keyring};
use zeroize::Zeroizing;

use bartizan_terminal::Failure;
use bartizan_terminal::output::errln;

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;
/// Damaged lines that are reported one by one.
const SHOWN: usize = 3;
const HINT: &str = "a key log is what programs write to the file that SSLKEYLOGFILE names, or `openssl s_client -keylogfile FILE`: \
                    a label, the client random and a secret in each line (RFC 9850)";

const IKE_HINT: &str = "a table of IKE keys has in each line both SPIs, SK_ei, SK_er, the cipher's name, SK_ai, SK_ar and the integrity \
                        algorithm's name, as Wireshark's ikev2_decryption_table";

fn hint(format: Format) -> &'static str {
    match format {
        Format::Tls => HINT,
        Format::Ike => IKE_HINT,
    }
}

/// Reads key logs and tables of IKE keys; lines that are none are reported on standard error by their numbers, and skipped.
pub fn read(key_logs: &[PathBuf], ike_tables: &[PathBuf]) -> Result<Arc<Keyring>, Failure> {
    let keyring = Arc::new(Keyring::new());
    let key_logs = key_logs.iter().map(|path| (path, Format::Tls));
    for (path, format) in key_logs.chain(ike_tables.iter().map(|path| (path, Format::Ike))) {
        let unreadable = |error: io::Error| Failure::new(format!("{}: {error}", path.display())).hint(hint(format));
        let name = printable(&path.display().to_string());
        let mut log = Log::new(&keyring, name, format);
        log.read(File::open(path).map_err(unreadable)?).map_err(unreadable)?;
        log.finish()?;
    }
    Ok(keyring)
}

bartizan_registry::made! {
    /// One key log, and what came of it.
    pub struct Log<'a>,
    /// Nothing read yet.
    pub new(keyring: &'a Keyring, name: String, format: Format) {
        keyring: &'a Keyring,
        name: String,
        format: Format,
        log: KeyLog = KeyLog::new(format),
        secrets: u64 = 0,
        beyond: u64 = 0,
        damaged: u64 = 0,
    }
}

impl<'a> Log<'a> {
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

    /// Takes further bytes of it.
    pub fn push(&mut self, bytes: &[u8]) {
        let added = self.keyring.add(&self.name, &mut self.log, Some(bytes));
        self.count(&added);
    }

    fn count(&mut self, added: &Added) {
        for error in &added.damaged {
            self.damaged += 1;
            if self.damaged <= SHOWN as u64 {
                errln!("warning: {}: {error}", self.name);
            }
        }
        self.secrets += added.secrets;
        self.beyond += added.beyond;
    }

    /// At its end.
    pub fn finish(mut self) -> Result<(), Failure> {
        let added = self.keyring.add(&self.name, &mut self.log, None);
        self.count(&added);
        if self.damaged > 0 && self.secrets == 0 {
            let what = match self.format {
                Format::Tls => "not a key log: none of its lines is a secret",
                Format::Ike => "not a table of IKE keys: none of its lines has any",
            };
            return Err(Failure::new(format!("{}: {what}", self.name)).hint(hint(self.format)));
        }
        if self.damaged > SHOWN as u64 {
            errln!("warning: {}: {} lines are no secrets", self.name, self.damaged);
        }
        if self.beyond > 0 {
            errln!("warning: {}: {} secrets are more than are kept", self.name, self.beyond);
        }
        if self.secrets == 0 {
            errln!("warning: {}: holds no secrets", self.name);
        }
        Ok(())
    }
}
