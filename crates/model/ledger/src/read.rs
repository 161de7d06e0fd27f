//! Reading, also what a crash left behind.

use std::io::{self, BufRead, Read};

use serde::Deserialize;

use crate::record::{Record, VERSION};

/// A longer line is not a record: the largest holds a chain of ten certificates in a few kilobytes.
const LONGEST_LINE: u64 = 1 << 20;

/// A line that is not a record. Reading goes on behind it.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct Damaged {
    /// The line, from 1.
    pub line: u64,
    /// Reason for which it cannot be read.
    pub cause: String,
}

bartizan_registry::made! {
    /// The records of a ledger, in order. Damaged lines are reported and skipped.
    #[derive(Debug)]
    pub struct Reader<R>,
    /// Reads from `input`, for example a `BufReader<File>`.
    pub new(input: R) {
        input: R,
        line: u64 = 0,
        ended: bool = false,
    }
}

impl<R: BufRead> Reader<R> {
    fn damaged(&self, cause: impl Into<String>) -> Damaged {
        Damaged {
            line: self.line,
            cause: cause.into(),
        }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, found) = match buffer.iter().position(|&byte| byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            if found {
                return Ok(());
            }
        }
    }
}

/// The record of one line; `whole` says whether the line has its end.
fn record(line: &[u8], whole: bool) -> Result<Record, String> {
    // Another version may have another shape: the version is read before the rest.
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    match serde_json::from_slice::<Versioned>(line) {
        Ok(Versioned { v: VERSION }) => serde_json::from_slice(line).map_err(|error| format!("not a record: {error}")),
        Ok(Versioned { v }) => Err(format!("version {v} is not known here")),
        Err(_) if !whole => Err("cut off: the writer stopped in the middle of it".into()),
        Err(error) => Err(format!("not a record: {error}")),
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Record, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let mut line = Vec::new();
            self.line += 1;
            let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut line);
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => {
                    let whole = line.last() == Some(&b'\n');
                    if !whole && line.len() as u64 == LONGEST_LINE {
                        if self.skip_line().is_err() {
                            self.ended = true;
                        }
                        return Some(Err(self.damaged("longer than any record")));
                    }
                    if line.trim_ascii().is_empty() {
                        continue;
                    }
                    return Some(record(&line, whole).map_err(|cause| self.damaged(cause)));
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(self.damaged(format!("cannot be read: {error}"))));
                }
            }
        }
        None
    }
}
