//! Captures and ledgers from disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_deployment::Deployment;
use bartizan_keys::{Format, Keyring};
use bartizan_ledger::Reader;
use bartizan_posture::{Evidence, Ipsec, Ledgers, Part, Posture, association_posture, datagrams_posture};
use bartizan_report::cbom::Inventory;
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CapturePart, Connection, Observer, Omitted, Sink};
use indicatif::{ProgressBar, ProgressStyle};

use super::follow::Recent;
use super::input::Input;
use super::keys::Log;
use super::link::Link;
use super::packets;
use super::report::Report;
use super::shares::Shares;
use super::table::printable;
use crate::Failure;

/// A capture below this is read before anyone would look at a progress bar.
const PROGRESS: u64 = 8 << 20;

/// What is known beside the packets.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) ledgers: &'a Ledgers,
    pub(crate) deployment: Option<&'a Deployment>,
    /// What a capture itself holds is added.
    pub(crate) keys: &'a Arc<Keyring>,
}

/// How much of a capture is kept for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Links.
    Links,
    /// Connections that are alike, counted.
    Alike,
    /// Each connection as well.
    Each,
}

/// Reads ledgers; lines that are no records are told on standard error and skipped. The inventory, if there is one, is told of
/// the files.
pub(crate) fn read_ledgers(paths: &[PathBuf], mut inventory: Option<&mut Inventory>) -> Result<Ledgers, Failure> {
    let mut ledgers = Ledgers::default();
    for path in paths {
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
                        eprintln!("warning: {}: {}", path.display(), printable(&error.to_string()));
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
            eprintln!("warning: {}: {damaged} lines are no records", path.display());
        }
        if let Some(inventory) = &mut inventory {
            let sha256 = input.finish().map_err(|error| unreadable_ledger(path, &error))?;
            inventory.ledger(printable(&path.display().to_string()), sha256, records, nodes);
        }
    }
    Ok(ledgers)
}

/// Reads a capture to its end and judges every connection in it. A capture that is cut or damaged behind a good
/// beginning is judged as far as it goes; [`Report::failure`] then says where it ends.
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
    let mut report = Report::new(path, detail, shares);
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
        && let Some(failure) = report.failure()
    {
        return Err(failure);
    }
    Ok(report)
}

/// Judges what an observer gives, as it ends; IPsec when all of it is there.
pub(super) struct Judging<'a> {
    pub(super) ledgers: &'a Ledgers,
    pub(super) report: &'a mut Report,
    pub(super) inventory: Option<&'a mut Inventory>,
    pub(super) ipsec: Ipsec,
    /// What ended of late, where somebody follows it.
    pub(super) recent: Option<&'a mut Recent>,
}

impl Sink for Judging<'_> {
    fn connection(&mut self, connection: Connection) {
        let evidence = Evidence::new(&connection, self.ledgers);
        let posture = evidence.posture();
        if let Some(inventory) = &mut self.inventory {
            inventory.connection(&connection, &posture, evidence.records());
        }
        self.take(&Part::connection(&connection, &posture), &posture);
        self.report.add(Link::new(&connection, posture));
    }

    fn association(&mut self, association: Association) {
        let posture = association_posture(&association);
        if let Some(inventory) = &mut self.inventory {
            inventory.association(&association, &posture);
        }
        self.take(&Part::association(&association, &posture), &posture);
        self.report.add(Link::association(association, posture));
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams);
        if let Some(inventory) = &mut self.inventory {
            inventory.datagrams(&datagrams, &posture);
        }
        self.take(&Part::datagrams(&datagrams, &posture), &posture);
        self.report.add(Link::datagrams(datagrams, posture));
    }

    fn omitted(&mut self, omitted: Omitted) {
        self.report.omit(&omitted);
        if let Some(recent) = &mut self.recent {
            recent.omit(&omitted);
        }
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

impl Judging<'_> {
    fn take(&mut self, part: &Part<'_>, posture: &Posture) {
        self.report.take(part);
        if let Some(recent) = &mut self.recent {
            recent.add(part, posture);
        }
    }

    /// Judges what IPsec came.
    pub(super) fn finish(mut self) {
        let mut judged = std::mem::take(&mut self.ipsec).judge_ike(self.ledgers);
        for ike in &judged.ike {
            if let Some(inventory) = &mut self.inventory {
                inventory.ike(ike, self.ledgers.of_ike(&ike.sa));
            }
            self.take(&Part::ike(ike), &ike.posture);
        }
        for ike in &judged.ike {
            self.report.add(Link::ike(ike.clone()));
        }
        judged.judge_esp(self.ledgers, |esp| {
            if let Some(inventory) = &mut self.inventory {
                inventory.esp(&esp, self.ledgers.of_esp(&esp.sa));
            }
            self.take(&Part::esp(&esp), &esp.posture);
            self.report.add(Link::esp(esp));
        });
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
    let mut judging = Judging {
        ledgers: known.ledgers,
        report,
        inventory: inventory.as_deref_mut(),
        ipsec: Ipsec::default(),
        recent: None,
    };
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
        eprintln!("warning: {}", failure.message());
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
        known.ledgers.lost(),
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
