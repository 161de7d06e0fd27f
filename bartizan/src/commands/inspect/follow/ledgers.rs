//! Ledgers that grow.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bartizan_inspect::text::printable;
use bartizan_ledger::Reader;
use bartizan_posture::Ledgers;
use bartizan_report::cbom::Inventory;

use crate::Failure;
use crate::commands::inspect::read::unreadable_ledger;
use crate::commands::inspect::tail::{Grown, Tail};

/// Bytes read at a time, and of one ledger in one turn.
const PIECE: usize = 256 * 1024;
const TURN: usize = 16;
/// A line that is longer is no record.
const LONGEST_LINE: usize = 1 << 20;
/// Nodes named of one ledger: each sidecar writes its own.
const NODES: usize = 1000;
/// Damaged lines told; all are counted.
const TOLD: u64 = 10;

/// One ledger, by name.
struct Growing {
    path: PathBuf,
    tail: Tail,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    records: u64,
    /// Who wrote them.
    nodes: BTreeSet<String>,
}

/// Ledgers, read on and on.
pub(super) struct GrowingLedgers {
    files: Vec<Growing>,
    buffer: Vec<u8>,
    damaged: u64,
}

impl GrowingLedgers {
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let files = paths.iter().map(|path| {
            let tail = Tail::open(path).map_err(|error| unreadable_ledger(path, &error))?;
            Ok(Growing {
                path: path.clone(),
                tail,
                line: Vec::new(),
                records: 0,
                nodes: BTreeSet::new(),
            })
        });
        Ok(Self {
            files: files.collect::<Result<_, Failure>>()?,
            buffer: vec![0; if paths.is_empty() { 0 } else { PIECE }],
            damaged: 0,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Tells the inventory of them. They have no hash: they may grow on.
    pub(super) fn told(&self, inventory: &mut Inventory) {
        for file in &self.files {
            let name = printable(&file.path.display().to_string());
            inventory.ledger(name, None, file.records, file.nodes.clone());
        }
    }

    /// Lines that were no records.
    pub(super) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Adds what was written since; says whether there was anything.
    pub(super) fn read_on(&mut self, ledgers: &mut Ledgers) -> bool {
        let mut came = false;
        for file in &mut self.files {
            for _ in 0..TURN {
                match file.tail.read(&mut self.buffer) {
                    Ok(Grown::Bytes(length)) => {
                        came = true;
                        self.damaged += file.take(&self.buffer[..length], ledgers, self.damaged);
                    }
                    // The line that was cut with the file is none.
                    Ok(Grown::Replaced) => file.line.clear(),
                    Ok(Grown::Nothing) => break,
                    Err(error) => {
                        complain(&file.path, &mut self.damaged, &error.to_string());
                        break;
                    }
                }
            }
        }
        came
    }
}

impl Growing {
    /// Takes bytes; gives how many lines were no records. `told` of them were told before.
    fn take(&mut self, bytes: &[u8], ledgers: &mut Ledgers, told: u64) -> u64 {
        self.line.extend_from_slice(bytes);
        let whole = self
            .line
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        let mut damaged = told;
        for record in Reader::new(&self.line[..whole]) {
            match record {
                Ok(record) => {
                    self.records += 1;
                    if !self.nodes.contains(&record.node) && self.nodes.len() < NODES {
                        self.nodes.insert(record.node.clone());
                    }
                    ledgers.add(record);
                }
                Err(error) => complain(&self.path, &mut damaged, &error.cause),
            }
        }
        self.line.drain(..whole);
        if self.line.len() > LONGEST_LINE {
            complain(&self.path, &mut damaged, "longer than any record");
            self.line.clear();
        }
        damaged - told
    }
}

fn complain(path: &Path, damaged: &mut u64, what: &str) {
    *damaged += 1;
    if *damaged <= TOLD {
        eprintln!("warning: {}: {}", path.display(), printable(what));
    }
}
