//! The bytes of a capture as they lie on disk, with their SHA-256 if requested.

use data_encoding::HEXLOWER;
use std::io::{self, Read};

use aws_lc_rs::digest::{Context, SHA256};

bartizan_registry::made! {
    /// A reader that hashes what passes.
    pub(crate) struct Input<R>,
    /// `hashed` or not: a hash costs a second pass over every byte.
    pub(crate) of(reader: R, hashed: bool) {
        reader: R,
        hash: Option<Context> = hashed.then(|| Context::new(&SHA256)),
    }
}

impl<R: Read> Input<R> {
    /// Reads what is left behind the capture's end and gives the SHA-256 of everything, in lower-case hexadecimal.
    pub(crate) fn finish(mut self) -> io::Result<Option<String>> {
        if self.hash.is_none() {
            return Ok(None);
        }
        io::copy(&mut self, &mut io::sink())?;
        let hash = self.hash.map(Context::finish);
        Ok(hash.map(|hash| HEXLOWER.encode(hash.as_ref())))
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        if let Some(hash) = &mut self.hash {
            hash.update(&buffer[..length]);
        }
        Ok(length)
    }
}
