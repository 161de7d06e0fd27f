//! A file of records, read for what is good in it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;

use crate::runner::trial::{RUN_SCHEMA, Record, Run, SCHEMA};

/// The longest line that is taken for a record. A trial has some thousand samples of twenty bytes at most.
const LONGEST: u64 = 64 << 20;

/// Magic number of gzip (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Contents of a file of records.
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
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// Description of the fault.
    pub cause: String,
    /// True if it is the last line and has no end: the run was killed while it wrote this record.
    pub cut: bool,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

impl Records {
    /// Reads a file, plain or packed by gzip; what is no record is named and left out.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut plain = BufReader::new(File::open(path)?);
        if plain.fill_buf()?.starts_with(&GZIP) {
            Self::read_lines(BufReader::new(MultiGzDecoder::new(plain)))
        } else {
            Self::read_lines(plain)
        }
    }

    fn read_lines(mut reader: BufReader<impl Read>) -> io::Result<Self> {
        let mut records = Self::default();
        let (mut line, mut offset) = (0, 0);
        let mut text = Vec::new();
        loop {
            text.clear();
            let read = match reader.by_ref().take(LONGEST).read_until(b'\n', &mut text) {
                Ok(read) => read as u64,
                // A packed file that was cut or damaged: the lines before are good.
                Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput) => {
                    records.damage.push(Damage {
                        line: line + 1,
                        offset,
                        cause: format!("the packed file ends or is damaged here: {error}"),
                        cut: true,
                    });
                    return Ok(records);
                }
                Err(error) => return Err(error),
            };
            if read == 0 {
                return Ok(records);
            }
            line += 1;
            let cut = text.last() != Some(&b'\n');
            if cut && read == LONGEST {
                // Nothing behind it can be determined from it.
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Records {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Records::read(file.path()).unwrap()
    }

    const RUN: &str = r#"{"schema":"bartizan-lab-run/1","experiment":"x","digest":"d","run":"r","began":"","seed":1,"quick":false,"repetitions":null,"parts":null,"target":null,"binary":null,"trials":2,"left_out":[]}"#;
    const TRIAL: &str = r#"{"schema":"bartizan-lab-trial/1","experiment":"x","digest":"d","run":"r","part":"p","trial":0,"repetition":0,"position":0,"levels":{"a":"b"},"began":"","elapsed_ms":1.5,"seed":2,"quick":false,"cores":[0],"load":0.5,"environment":{"version":"0","kernel":"6","kernel_kind":"host","processor":null,"processors":[0],"priority":"","autogroup":null,"namespace":"own","programs":[]},"outcome":"failed","error":"why","a field of tomorrow":1}"#;

    #[test]
    fn a_packed_file_is_read_as_far_as_it_goes() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        for _ in 0..200 {
            writeln!(packer, "{TRIAL}").unwrap();
        }
        let packed = packer.finish().unwrap();
        let whole = read(&packed);
        assert_eq!((whole.trials.len(), whole.damage.len()), (200, 0));
        let half = read(&packed[..packed.len() / 2]);
        assert!(half.trials.len() < 200);
        let [damage] = half.damage.as_slice() else {
            panic!("{:?}", half.damage);
        };
        assert!(damage.cut && damage.cause.contains("packed"), "{damage:?}");
        assert_eq!(damage.line as usize, half.trials.len() + 1);
    }

    #[test]
    fn good_lines_are_kept_and_others_are_named() {
        let text = format!(
            "{RUN}\n{TRIAL}\nnonsense\n{{\"schema\":\"other/1\"}}\n{TRIAL}\n{}",
            &TRIAL[..50]
        );
        let records = read(text.as_bytes());
        assert_eq!((records.runs.len(), records.trials.len()), (1, 2));
        let damage: Vec<(u64, bool)> = records.damage.iter().map(|damage| (damage.line, damage.cut)).collect();
        assert_eq!(damage, [(3, false), (4, false), (6, true)]);
        assert_eq!(
            records.damage[1].cause,
            "its schema is other/1, not bartizan-lab-trial/1"
        );
        assert_eq!(records.damage[2].offset as usize, text.len() - 50);
        // A whole record without its line feed may still be half of a longer number.
        let whole = read(TRIAL.as_bytes());
        assert!(whole.trials.is_empty() && whole.damage[0].cut);
    }

    #[test]
    fn a_record_is_written_as_it_is_read() {
        let records = read(format!("{RUN}\n{TRIAL}\n").as_bytes());
        let (run, trial) = (&records.runs[0], &records.trials[0]);
        let text = format!(
            "{}\n{}\n",
            serde_json::to_string(run).unwrap(),
            serde_json::to_string(trial).unwrap()
        );
        let again = read(text.as_bytes());
        assert_eq!((&again.runs[0], &again.trials[0]), (run, trial));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn a_cut_loses_at_most_the_record_it_goes_through(cut in 0usize..2000) {
            let text = format!("{RUN}\n{TRIAL}\n{TRIAL}\n");
            let cut = cut.min(text.len());
            let records = read(&text.as_bytes()[..cut]);
            let whole = text[..cut].matches('\n').count();
            prop_assert_eq!(records.runs.len() + records.trials.len(), whole);
            prop_assert_eq!(records.damage.len(), usize::from(!text[..cut].is_empty() && !text[..cut].ends_with('\n')));
        }
    }
}
