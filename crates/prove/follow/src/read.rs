//! Captures and ledgers from disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_deployment::Deployment;
use bartizan_inspect::text::{counted, printable};
use bartizan_inspect::{ByLedgers, Detail, Judging, Recorder, Report, Shares};
use bartizan_keys::{Format, Keyring};
use bartizan_ledger::Reader;
use bartizan_page::cbom::Inventory;
use bartizan_posture::Ledgers;
use bartizan_wire::{CapturePart, Observer};
use indicatif::{ProgressBar, ProgressStyle};

use super::input::Input;
use super::keys::Log;
use super::{damage, folder, packets};
use bartizan_terminal::Failure;
use bartizan_terminal::output::errln;

/// A capture below this is read before anyone would look at a progress bar.
const PROGRESS: u64 = 8 << 20;

/// Knowledge besides the packets.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Records of ledgers.
    pub ledgers: &'a Ledgers,
    /// The deployment file, if one is given.
    pub deployment: Option<&'a Deployment>,
    /// Keys in the capture itself are added.
    pub keys: &'a Arc<Keyring>,
}

/// Reads ledgers; lines that are no records are reported on standard error and skipped. The inventory, if there is one, receives
/// the files.
pub fn read_ledgers(paths: &[PathBuf], mut inventory: Option<&mut Inventory>) -> Result<Ledgers, Failure> {
    let mut ledgers = Ledgers::default();
    let files = ledger_files(paths)?;
    missed(&mut ledgers, bartizan_ledger::missing(&files));
    for path in &files {
        let file = File::open(path).map_err(|error| unreadable_ledger(path, &error))?;
        let mut input = Input::of(file, inventory.is_some());
        let mut nodes = BTreeSet::new();
        let (mut records, mut damaged) = (0u64, 0u64);
        for record in Reader::new(BufReader::new(&mut input)) {
            match record {
                Ok(record) => {
                    records += 1;
                    if inventory.is_some() && !nodes.contains(&record.node) {
                        nodes.insert(record.node.clone());
                    }
                    ledgers.add(record);
                }
                Err(error) => {
                    damaged += 1;
                    if damaged <= 3 {
                        errln!("warning: {}: {}", path.display(), printable(&error.to_string()));
                    }
                }
            }
        }
        ledgers.add_lost(damaged);
        if damaged > 0 && records == 0 {
            return Err(Failure::new(format!(
                "{}: not a ledger: none of its lines is a record",
                path.display()
            ))
            .hint("a ledger holds one JSON object per line, as `bartizan sidecar` writes it"));
        }
        if damaged > 3 {
            errln!("warning: {}: {damaged} lines are no records", path.display());
        }
        if let Some(inventory) = &mut inventory {
            let sha256 = input.finish().map_err(|error| unreadable_ledger(path, &error))?;
            inventory.ledger(printable(&path.display().to_string()), sha256, records, nodes);
        }
    }
    Ok(ledgers)
}

/// Rotated files are missing: each had a record at least.
pub(crate) fn missed(ledgers: &mut Ledgers, files: u64) {
    if files > 0 {
        errln!("warning: {} of rotated ledgers missing", counted(files, "file"));
    }
    ledgers.add_lost(files);
}

/// The files of ledgers, those that were rotated among them, each once: a pattern of the shell may name them too.
pub fn ledger_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut known) = (Vec::new(), BTreeSet::new());
    for path in &folder::ledgers(paths)? {
        // If the folder cannot be read, the named file alone is used.
        for file in bartizan_ledger::files(path).unwrap_or_else(|_| vec![path.clone()]) {
            let seen = std::fs::metadata(&file).map_err(|error| unreadable_ledger(&file, &error))?;
            if known.insert((seen.dev(), seen.ino())) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// Reads a capture to its end and judges every connection in it. A capture that is cut or damaged behind a good
/// beginning is judged as far as it goes; [`damage::failure`] then says where it ends.
/// Findings go into the inventory as well, if there is one.
pub fn inspect_file(
    path: &Path,
    known: Known<'_>,
    detail: Detail,
    memory: usize,
    inventory: Option<&mut Inventory>,
) -> Result<Report, Failure> {
    const HINT: &str = "captures are made with `tcpdump -w FILE`, or by `bartizan demo --out DIR`";
    let hashed = inventory.is_some();
    let name = name(path);
    if path.as_os_str() == "-" {
        let input = Input::of(io::stdin().lock(), hashed);
        judge(name, known, detail, memory, inventory, |taking| {
            give(input, &ProgressBar::hidden(), taking).map_err(|error| unreadable(path, &error, HINT))
        })
    } else {
        let file = File::open(path).map_err(|error| unreadable(path, &error, HINT))?;
        let metadata = file.metadata().map_err(|error| unreadable(path, &error, HINT))?;
        if metadata.is_dir() {
            let hint = format!("give the captures in it: `bartizan inspect {}/*.pcap`", path.display());
            return Err(Failure::new(format!("{}: is a directory", path.display())).hint(hint));
        }
        let progress = progress(path, metadata.len());
        let input = Input::of(file, hashed);
        let outcome = judge(name, known, detail, memory, inventory, |taking| {
            give(input, &progress, taking).map_err(|error| unreadable(path, &error, HINT))
        });
        progress.finish_and_clear();
        outcome
    }
}

/// Gives all of a capture.
fn give(mut source: Input<impl Read>, progress: &ProgressBar, taking: &mut Taking<'_>) -> io::Result<Given> {
    let ended = packets::read(progress.wrap_read(&mut source), |part| taking.take(part))?;
    let sha256 = if ended.damage.is_none() { source.finish()? } else { None };
    Ok(Given { ended, sha256 })
}

/// Name of a capture in reports.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// End of a capture, and identity of its file.
pub struct Given {
    /// End of the capture.
    pub ended: packets::Ended,
    /// Its SHA-256, if requested and if the capture is whole.
    pub sha256: Option<String>,
}

/// Takes what a capture holds.
pub struct Taking<'a> {
    /// The observer of its packets.
    pub observer: Observer,
    judging: Judging<'a>,
    keys: &'a Keyring,
    own_keys: Option<Log<'a>>,
    name: String,
}

impl Taking<'_> {
    /// Takes one part of a capture.
    pub fn take(&mut self, part: CapturePart<'_>) {
        match part {
            CapturePart::Packet(packet) => self.observer.observe(&packet, &mut self.judging),
            CapturePart::KeyLog(bytes) => {
                let log = || Log::new(self.keys, self.name.clone(), Format::Tls);
                let log = self.own_keys.get_or_insert_with(log);
                log.push(bytes);
                // A line does not go on in the next block.
                log.push(b"\n");
            }
        }
    }
}

/// The report of a capture that `give` gives.
pub fn judge(
    name: String,
    known: Known<'_>,
    detail: Detail,
    memory: usize,
    mut inventory: Option<&mut Inventory>,
    give: impl FnOnce(&mut Taking<'_>) -> Result<Given, Failure>,
) -> Result<Report, Failure> {
    let shares = Shares::of(memory, detail);
    let mut report = Report::new(name, detail, shares);
    if let Some(inventory) = &mut inventory {
        inventory.begin(report.name());
    }
    let recorder = inventory.as_deref_mut().map(|inventory| inventory as &mut dyn Recorder);
    let mut taking = Taking {
        name: format!("the secrets in {}", report.name()),
        observer: Observer::new(shares.limits).with_keys(Arc::<Keyring>::clone(known.keys)),
        judging: Judging::new(known.ledgers, &mut report).with_recorder(recorder),
        keys: known.keys,
        own_keys: None,
    };
    let Given { ended, sha256 } = give(&mut taking)?;
    let about = ended.about;
    let Taking {
        mut observer,
        mut judging,
        own_keys,
        ..
    } = taking;
    if let Some(Err(failure)) = own_keys.map(Log::finish) {
        errln!("warning: {}", &failure.message);
    }
    observer.finish_into(&mut judging);
    judging.finish();
    if let Some(inventory) = inventory {
        inventory.end(sha256.clone(), observer.totals());
        report.hashed(sha256);
    }
    report.finish(
        observer.totals().clone(),
        ended.dropped_at_capture,
        ByLedgers::of(known.ledgers),
        ended.damage,
        known.deployment,
    );
    report.made(about);
    if report.packets() == 0
        && let Some(failure) = damage::failure(&report)
    {
        return Err(failure);
    }
    Ok(report)
}

pub(crate) fn progress(path: &Path, length: u64) -> ProgressBar {
    if length < PROGRESS || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length).with_message(path.display().to_string());
    match ProgressStyle::with_template("{msg} [{bar:30}] {bytes} of {total_bytes}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Failure to open or read a ledger.
pub fn unreadable_ledger(path: &Path, error: &io::Error) -> Failure {
    const HINT: &str = "a ledger is the file that a sidecar's deployment names under `ledger`";
    unreadable(path, error, HINT)
}

fn unreadable(path: &Path, error: &io::Error, hint: &str) -> Failure {
    Failure::new(format!("{}: {error}", path.display())).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotated_file_that_is_missing_is_a_lost_record_at_least() {
        let directory = tempfile::tempdir().unwrap();
        let record = "{\"v\":1,\"at_us\":1,\"node\":\"amf\",\"event\":\"lost\",\"records\":0}\n";
        for (name, lost) in [("amf.ledger", 0), ("amf.ledger.000002", 0), ("amf.ledger.000004", 1)] {
            std::fs::write(directory.path().join(name), record).unwrap();
            let ledgers = read_ledgers(&[directory.path().join("amf.ledger")], None).unwrap();
            assert_eq!(ledgers.lost(), lost, "{name}");
        }
    }
}
