//! A file of records, read for what is good in it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;

use crate::trial::{RUN_SCHEMA, Record, Run, SCHEMA};

/// The longest line that is taken for a record. A trial has some thousand samples of twenty bytes at most.
const LONGEST: u64 = 64 << 20;

/// What a file of records holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// The lines about runs, in the order of the file.
    pub runs: Vec<Run>,
    /// The trials, in the order of the file.
    pub trials: Vec<Record>,
    /// Lines that are no records, which are left out.
    pub damage: Vec<Damage>,
}

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// From 1.
    pub line: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub cause: String,
    /// Whether it is the last one and has no end: a record that was being written when the run was killed.
    pub cut: bool,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

impl Records {
    /// Reads a file; what is no record is named and left out.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut reader = BufReader::new(File::open(path)?);
        let mut records = Self::default();
        let (mut line, mut offset) = (0, 0);
        let mut text = Vec::new();
        loop {
            text.clear();
            let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut text)? as u64;
            if read == 0 {
                return Ok(records);
            }
            line += 1;
            let cut = text.last() != Some(&b'\n');
            if cut && read == LONGEST {
                // Nothing behind it can be told from it.
                records.damage.push(Damage {
                    line,
                    offset,
                    cause: "a line of more than 64 MB".to_owned(),
                    cut: false,
                });
                return Ok(records);
            }
            if let Err(cause) = records.take_line(&text, cut) {
                records.damage.push(Damage {
                    line,
                    offset,
                    cause,
                    cut,
                });
            }
            offset += read;
        }
    }

    fn take_line(&mut self, text: &[u8], cut: bool) -> Result<(), String> {
        if cut {
            // Even where it can be read: a number may go on.
            return Err("it is cut off".to_owned());
        }
        let wrong = |error: serde_json::Error| format!("it is no record: {error}");
        match serde_json::from_slice::<Head>(text).map_err(wrong)?.schema.as_str() {
            SCHEMA => self.trials.push(serde_json::from_slice(text).map_err(wrong)?),
            RUN_SCHEMA => self.runs.push(serde_json::from_slice(text).map_err(wrong)?),
            other => return Err(format!("its schema is {other}, not {SCHEMA}")),
        }
        Ok(())
    }
}
