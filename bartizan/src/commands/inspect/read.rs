//! Captures and ledgers from disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_deployment::Deployment;
use bartizan_inspect::text::printable;
use bartizan_inspect::{ByLedgers, Detail, Judging, Recorder, Report, Shares};
use bartizan_keys::{Format, Keyring};
use bartizan_ledger::Reader;
use bartizan_posture::Ledgers;
use bartizan_report::cbom::Inventory;
use bartizan_wire::{CapturePart, Observer};
use indicatif::{ProgressBar, ProgressStyle};

use super::input::Input;
use super::keys::Log;
use super::{damage, folder, packets};
use crate::Failure;
use crate::output::errln;

/// A capture below this is read before anyone would look at a progress bar.
const PROGRESS: u64 = 8 << 20;

/// What is known besides the packets.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) ledgers: &'a Ledgers,
    pub(crate) deployment: Option<&'a Deployment>,
    /// What a capture itself holds is added.
    pub(crate) keys: &'a Arc<Keyring>,
}

/// Reads ledgers; lines that are no records are reported on standard error and skipped. The inventory, if there is one, receives
/// the files.
pub(crate) fn read_ledgers(paths: &[PathBuf], mut inventory: Option<&mut Inventory>) -> Result<Ledgers, Failure> {
    let mut ledgers = Ledgers::default();
    for path in &ledger_files(paths)? {
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

/// The files of ledgers, those that were rotated among them, each once: a pattern of the shell may name them too.
fn ledger_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut known) = (Vec::new(), BTreeSet::new());
    for path in &folder::ledgers(paths)? {
        // Where the folder cannot be read there is the file that was named.
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
/// What was seen goes into the inventory as well, if there is one.
pub(crate) fn inspect_file(
    path: &Path,
    known: Known<'_>,
    detail: Detail,
    memory: usize,
    inventory: Option<&mut Inventory>,
) -> Result<Report, Failure> {
    const HINT: &str = "captures are made with `tcpdump -w FILE`, or by `bartizan demo --out DIR`";
    let shares = Shares::of(memory, detail);
    let limits = shares.limits;
    let mut report = Report::new(name(path), detail, shares);
    if path.as_os_str() == "-" {
        let input = Input::of(io::stdin().lock(), inventory.is_some());
        read(input, &ProgressBar::hidden(), known, limits, &mut report, inventory)
    } else {
        let file = File::open(path).map_err(|error| unreadable(path, &error, HINT))?;
        let metadata = file.metadata().map_err(|error| unreadable(path, &error, HINT))?;
        if metadata.is_dir() {
            return Err(Failure::new(format!("{}: is a directory", path.display())).hint(HINT));
        }
        let progress = progress(path, metadata.len());
        let input = Input::of(file, inventory.is_some());
        let outcome = read(input, &progress, known, limits, &mut report, inventory);
        progress.finish_and_clear();
        outcome
    }
    .map_err(|error| unreadable(path, &error, HINT))?;
    if report.packets() == 0
        && let Some(failure) = damage::failure(&report)
    {
        return Err(failure);
    }
    Ok(report)
}

/// What reports call a capture.
pub(super) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

fn read(
    mut source: Input<impl Read>,
    progress: &ProgressBar,
    known: Known<'_>,
    limits: bartizan_wire::Limits,
    report: &mut Report,
    mut inventory: Option<&mut Inventory>,
) -> io::Result<()> {
    if let Some(inventory) = &mut inventory {
        inventory.begin(report.name());
    }
    let name = format!("the secrets in {}", report.name());
    let mut observer = Observer::new(limits).with_keys(Arc::<Keyring>::clone(known.keys));
    let mut own_keys = None;
    let recorder = inventory.as_deref_mut().map(|inventory| inventory as &mut dyn Recorder);
    let mut judging = Judging::new(known.ledgers, report).with_recorder(recorder);
    let ended = packets::read(progress.wrap_read(&mut source), |part| match part {
        CapturePart::Packet(packet) => observer.observe(&packet, &mut judging),
        CapturePart::KeyLog(bytes) => {
            let log = own_keys.get_or_insert_with(|| Log::new(known.keys, name.clone(), Format::Tls));
            log.push(bytes);
            // A line does not go on in the next block.
            log.push(b"\n");
        }
    })?;
    if let Some(Err(failure)) = own_keys.map(Log::finish) {
        errln!("warning: {}", failure.message());
    }
    observer.finish_into(&mut judging);
    judging.finish();
    if let Some(inventory) = inventory {
        let sha256 = if ended.damage.is_none() { source.finish()? } else { None };
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
    Ok(())
}

fn progress(path: &Path, length: u64) -> ProgressBar {
    if length < PROGRESS || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length).with_message(path.display().to_string());
    match ProgressStyle::with_template("{msg} [{bar:30}] {bytes} of {total_bytes}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub(super) fn unreadable_ledger(path: &Path, error: &io::Error) -> Failure {
    const HINT: &str = "a ledger is the file that a sidecar's deployment names under `ledger`";
    unreadable(path, error, HINT)
}

fn unreadable(path: &Path, error: &io::Error, hint: &str) -> Failure {
    Failure::new(format!("{}: {error}", path.display())).hint(hint)
}
