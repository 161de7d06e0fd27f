//! Ledgers that grow.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bartizan_inspect::text::printable;
use bartizan_ledger::{Reader, rotation};
use bartizan_page::cbom::Inventory;
use bartizan_posture::Ledgers;

use crate::read::{missed, unreadable_ledger};
use crate::tail::{Grown, Tail};
use bartizan_terminal::Failure;
use bartizan_terminal::output::errln;

/// Bytes read at a time, and of one ledger in one turn.
const PIECE: usize = 256 * 1024;
const TURN: usize = 16;
/// A line that is longer is no record.
const LONGEST_LINE: usize = 1 << 20;
/// Nodes named of one ledger: each sidecar writes its own.
const NODES: usize = 1000;
/// Damaged lines reported; all are counted.
const SHOWN: u64 = 10;

bartizan_registry::made! {
    /// One ledger, by name.
    struct Growing, of(path: &Path, tail: Tail) {
        path: PathBuf = path.to_owned(),
        tail: Tail = tail,
        /// Device and inode of the file that `tail` reads, and of the one that it read before.
        tailed: [Option<(u64, u64)>; 2] = [None; 2],
        /// Rotated files that wait to be read: those of before, and those that came and went between two looks.
        rotated: VecDeque<PathBuf> = VecDeque::new(),
        /// Highest number of a rotated file so far.
        newest: Option<u64> = None,
        /// Rotated files that were removed before they were read, and are not counted yet.
        missed: u64 = 0,
        /// The beginning of a line whose end has not come.
        line: Vec<u8> = Vec::new(),
        records: u64 = 0,
        /// The last read failed: it is counted once until one succeeds.
        failing: bool = false,
        /// Nodes that wrote the ledgers.
        nodes: BTreeSet<String> = BTreeSet::new(),
    }
}

bartizan_registry::made! {
    /// Ledgers, read on and on.
    pub struct GrowingLedgers,
    /// Opens them; the files of before are read first.
    pub open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let files = paths.iter().map(|path| {
            let tail = Tail::open(path).map_err(|error| unreadable_ledger(path, &error))?;
            let mut growing = Growing::of(path, tail);
            growing.look_for_rotated();
            Ok(growing)
        });
        files: Vec<Growing> = files.collect::<Result<_, Failure>>()?,
        buffer: Vec<u8> = vec![0; if paths.is_empty() { 0 } else { PIECE }],
        /// Lines that were no records.
        pub damaged: u64 = 0,
    }
}

impl GrowingLedgers {
    /// Returns true if there is no ledger.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Tells the inventory of them. They have no hash: they may grow on.
    pub fn reported(&self, inventory: &mut Inventory) {
        for file in &self.files {
            let name = printable(&file.path.display().to_string());
            inventory.ledger(name, None, file.records, file.nodes.clone());
        }
    }

    /// Adds what was written since; says whether there was anything.
    pub fn read_on(&mut self, ledgers: &mut Ledgers) -> bool {
        let mut arrived = false;
        for file in &mut self.files {
            missed(ledgers, std::mem::take(&mut file.missed));
            while let Some(path) = file.rotated.pop_front() {
                arrived = true;
                match file.take_whole(&path, &mut self.buffer, ledgers, self.damaged) {
                    Ok(damaged) => self.damaged += damaged,
                    Err(error) => {
                        complain(&path, &mut self.damaged, &error.to_string());
                        ledgers.add_lost(1);
                    }
                }
            }
            for _ in 0..TURN {
                let read = file.tail.read(&mut self.buffer);
                let failed_before = std::mem::replace(&mut file.failing, read.is_err());
                match read {
                    Ok(Grown::Bytes(length)) => {
                        arrived = true;
                        self.damaged += file.take(&self.buffer[..length], ledgers, self.damaged);
                    }
                    Ok(Grown::Replaced) => {
                        arrived = true;
                        self.damaged += file.cut(ledgers, self.damaged);
                        file.look_for_rotated();
                        missed(ledgers, std::mem::take(&mut file.missed));
                        if !file.rotated.is_empty() {
                            break;
                        }
                    }
                    Ok(Grown::Nothing) => break,
                    Err(_) if failed_before => break,
                    Err(error) => {
                        complain(&file.path, &mut self.damaged, &error.to_string());
                        ledgers.add_lost(1);
                        break;
                    }
                }
            }
        }
        arrived
    }
}

impl Growing {
    /// Finds files of the ledger that were rotated and never read. Their numbers tell them apart: an
    /// inode is used again for the next file where an old one is removed.
    fn look_for_rotated(&mut self) {
        self.tailed = [self.tail.identity().ok(), self.tailed[0]];
        for file in bartizan_ledger::files(&self.path).unwrap_or_default() {
            let Some(number) = rotation(&file).filter(|number| Some(*number) > self.newest) else {
                continue;
            };
            let expected = self.newest.map_or(number, |newest| newest.saturating_add(1));
            self.missed += number - expected;
            self.newest = Some(number);
            let found = std::fs::metadata(&file).map(|found| (found.dev(), found.ino()));
            if found.map_or(true, |found| !self.tailed.contains(&Some(found))) {
                self.rotated.push_back(file);
            }
        }
    }

    /// Takes a file that grows no more; gives how many lines were no records.
    fn take_whole(
        &mut self,
        path: &Path,
        buffer: &mut [u8],
        ledgers: &mut Ledgers,
        reported: u64,
    ) -> std::io::Result<u64> {
        let mut file = File::open(path)?;
        let mut damaged = 0;
        // A followed file may end in the middle of a line.
        let line = std::mem::take(&mut self.line);
        loop {
            match file.read(buffer)? {
                0 => break,
                length => damaged += self.take(&buffer[..length], ledgers, reported + damaged),
            }
        }
        damaged += self.cut(ledgers, reported + damaged);
        self.line = line;
        Ok(damaged)
    }

    /// Drops a line that is cut at the end of a file; gives how many lines were no records.
    fn cut(&mut self, ledgers: &mut Ledgers, reported: u64) -> u64 {
        match self.line.is_empty() {
            true => 0,
            false => self.take(b"\n", ledgers, reported),
        }
    }

    /// Takes bytes; gives how many lines were no records. `reported` of them were reported before.
    fn take(&mut self, bytes: &[u8], ledgers: &mut Ledgers, reported: u64) -> u64 {
        self.line.extend_from_slice(bytes);
        let whole = self
            .line
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        let mut damaged = reported;
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
        ledgers.add_lost(damaged - reported);
        damaged - reported
    }
}

fn complain(path: &Path, damaged: &mut u64, what: &str) {
    *damaged += 1;
    if *damaged <= SHOWN {
        errln!("warning: {}: {}", path.display(), printable(what));
    }
}

#[cfg(test)]
mod tests {
    use bartizan_ledger::{Bounds, Event, Ledger, Lost};

    use super::*;

    #[test]
    fn no_record_is_missed_where_a_ledger_is_rotated_again_and_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nrf.ledger");
        let bounds = Bounds { size: 1, keep: None };
        let mut recorded = 0;
        // Each time of a ledger's opening is a batch, and each batch is rotated away.
        let mut write = |times: u64| {
            for _ in 0..times {
                let ledger = Ledger::open_within(&path, "nrf", bounds).unwrap();
                ledger.recorder().record(Event::Lost(Lost { records: 1 }));
                recorded += 1;
            }
            recorded
        };
        write(3);
        let mut growing = GrowingLedgers::open(std::slice::from_ref(&path)).unwrap();
        let mut ledgers = Ledgers::default();
        let mut read = |growing: &mut GrowingLedgers| {
            while growing.read_on(&mut ledgers) {}
            ledgers.lost()
        };
        assert_eq!(read(&mut growing), 3);
        for times in [1, 2, 5] {
            let recorded = write(times);
            assert_eq!(read(&mut growing), recorded, "{times}");
        }
        // One that was removed before it was read had a record at least.
        let newest = |growing: &GrowingLedgers| growing.files[0].newest.unwrap();
        let gone = newest(&growing) + 2;
        let recorded = write(3);
        std::fs::remove_file(directory.path().join(format!("nrf.ledger.{gone:06}"))).unwrap();
        assert_eq!(read(&mut growing), recorded);
        assert_eq!(growing.damaged, 0);
        // A line that is no record was one, perhaps, that contradicts another.
        let before = read(&mut growing);
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, b"{\"v\": 1, \"at_\n").unwrap();
        assert_eq!((read(&mut growing), growing.damaged), (before + 1, 1));
    }

    /// Before, one was taken for a file that was read, and the other was dropped unnoticed.
    #[test]
    fn a_file_with_the_inode_of_an_older_one_is_read_and_a_line_that_its_file_cuts_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let at = |number: u64| directory.path().join(format!("nrf.ledger.{number:06}"));
        let path = directory.path().join("nrf.ledger");
        let record = "{\"v\":1,\"at_us\":1,\"node\":\"nrf\",\"event\":\"lost\",\"records\":10}\n";
        std::fs::write(at(1), record).unwrap();
        std::fs::write(&path, record).unwrap();
        let mut growing = GrowingLedgers::open(std::slice::from_ref(&path)).unwrap();
        let mut ledgers = Ledgers::default();
        let mut read = |growing: &mut GrowingLedgers| {
            while growing.read_on(&mut ledgers) {}
            ledgers.lost()
        };
        assert_eq!(read(&mut growing), 20);
        // As file systems do for the next new file, where the oldest was removed.
        std::fs::rename(&path, at(2)).unwrap();
        std::fs::write(at(1), format!("{record}{}", &record[..20])).unwrap();
        std::fs::rename(at(1), at(3)).unwrap();
        std::fs::write(&path, &record[..20]).unwrap();
        assert_eq!(read(&mut growing), 31);
        std::fs::rename(&path, at(4)).unwrap();
        std::fs::write(&path, record).unwrap();
        assert_eq!(read(&mut growing), 42);
        assert_eq!(growing.damaged, 2);
    }

    /// One per look was counted, and at the end one per piece that another ledger grew by.
    #[test]
    fn a_ledger_that_cannot_be_read_is_counted_once_however_often_it_is_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["amf.ledger", "nrf.ledger"].map(|name| directory.path().join(name));
        for path in &paths {
            std::fs::write(path, "").unwrap();
        }
        let mut growing = GrowingLedgers::open(&paths).unwrap();
        let mut ledgers = Ledgers::default();
        // A folder can be opened, and no byte of it be read.
        std::fs::remove_file(&paths[0]).unwrap();
        std::fs::create_dir(&paths[0]).unwrap();
        let record = "{\"v\":1,\"at_us\":1,\"node\":\"nrf\",\"event\":\"lost\",\"records\":10}\n";
        for times in 1..4 {
            std::fs::write(&paths[1], record.repeat(times)).unwrap();
            while growing.read_on(&mut ledgers) {}
        }
        assert_eq!((ledgers.lost(), growing.damaged), (30 + 1, 1));
    }
}
