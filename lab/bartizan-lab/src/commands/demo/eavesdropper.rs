//! View of an eavesdropper who records the link, first with the packets alone and then with the
//! ledgers too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_inspect::{ByLedgers, Detail, Judging, MEMORY, Report, Row, Shares};
use bartizan_keys::Keyring;
use bartizan_ledger::Reader;
use bartizan_posture::{Judgement, Ledgers, Verdict};
use bartizan_wire::{CaptureReader, Observer};
use serde::Serialize;

use crate::Failure;

/// Prefixes of a subscriber's identity in SBI paths and bodies (TS 29.571, clause 5.3.2).
const IDENTITIES: [&[u8]; 2] = [b"imsi-", b"suci-"];
/// Identities shown at most.
const SHOWN: usize = 4;

/// The link as an eavesdropper has it.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) connections: u64,
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// Packets that the capture missed.
    pub(super) dropped: u64,
    /// Connections by what they are: `TLS 1.3`, `HTTP/2 in plaintext`.
    pub(super) kinds: Vec<(String, u64)>,
    /// Connections by negotiated group.
    pub(super) groups: Vec<(String, u64)>,
    /// Smallest and largest first flight of the clients in bytes.
    pub(super) client_hello: Option<(u64, u64)>,
    /// Smallest and largest first flight of the servers in bytes.
    pub(super) server_flight: Option<(u64, u64)>,
    pub(super) hello_retry_requests: u64,
    /// Verdict and reason, from packets alone.
    pub(super) confidentiality: Vec<(String, String)>,
    pub(super) authenticity: Vec<(String, String)>,
    /// The same once the ledgers of both ends are there.
    pub(super) authenticity_by_ledger: Vec<(String, String)>,
    /// Subscribers' identities that can be read in the capture.
    pub(super) readable: Vec<String>,
    pub(super) readable_count: usize,
}

/// Looks at a capture of the link.
pub(super) fn look(capture: &Path, dropped: u64, ledgers: &[PathBuf]) -> Result<View, Failure> {
    let bytes = fs::read(capture).map_err(|error| unreadable(capture, &error))?;
    let alone = judged(capture, &bytes, &Ledgers::default())?;
    let informed = judged(capture, &bytes, &read_ledgers(ledgers)?)?;
    let flight = |position: usize| {
        let sizes = alone.rows().iter().filter_map(|row| row.flights.get(position));
        sizes.copied().reduce(|(low, high), (a, b)| (low.min(a), high.max(b)))
    };
    let readable = identities_in(&bytes);
    let summary = alone.summary();
    Ok(View {
        connections: summary.connections,
        bytes: alone.rows().iter().map(|row| row.bytes).sum(),
        packets: alone.packets(),
        dropped,
        // A connection kept ready and never used looks like a refused one, without ledgers.
        kinds: informed
            .summary()
            .by_kind
            .iter()
            .map(|(kind, &count)| (kind.name(), count))
            .collect(),
        groups: summary
            .by_group
            .iter()
            .map(|(group, &count)| (group.clone(), count))
            .collect(),
        client_hello: flight(0),
        server_flight: flight(1),
        hello_retry_requests: summary.hello_retry_requests,
        confidentiality: decided(&alone, &informed, |row| &row.posture().confidentiality),
        authenticity: decided(&alone, &informed, |row| &row.posture().authenticity),
        authenticity_by_ledger: distinct(&informed, |row| &row.posture().authenticity),
        readable_count: readable.len(),
        readable: readable.into_iter().take(SHOWN).collect(),
    })
}

/// The report of a whole capture.
fn judged(path: &Path, bytes: &[u8], ledgers: &Ledgers) -> Result<Report, Failure> {
    let shares = Shares::of(MEMORY, Detail::Alike);
    let mut report = Report::new(path.display().to_string(), Detail::Alike, shares);
    // Keys of QUIC's Initial packets follow from the packets alone.
    let mut observer = Observer::new(shares.limits).with_keys(Arc::<Keyring>::default());
    let mut judging = Judging::new(ledgers, &mut report);
    let mut reader = CaptureReader::new();
    reader.push(bytes);
    while let Some(packet) = reader.next_packet().map_err(|error| unreadable(path, &error))? {
        observer.observe(&packet, &mut judging);
    }
    let damage = reader.finish().err();
    observer.finish_into(&mut judging);
    judging.finish();
    report.finish(
        observer.totals().clone(),
        reader.dropped_at_capture(),
        ByLedgers::of(ledgers),
        damage,
        None,
    );
    Ok(report)
}

/// The records of ledgers that sidecars of this demo wrote.
fn read_ledgers(paths: &[PathBuf]) -> Result<Ledgers, Failure> {
    let mut ledgers = Ledgers::default();
    for path in paths {
        for file in bartizan_ledger::files(path).map_err(|error| unreadable(path, &error))? {
            let bytes = fs::read(&file).map_err(|error| unreadable(&file, &error))?;
            for record in Reader::new(&bytes[..]) {
                ledgers.add(record.map_err(|error| unreadable(&file, &error))?);
            }
        }
    }
    Ok(ledgers)
}

fn unreadable(path: &Path, error: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// Verdicts on what was recorded, by packets alone. A connection kept ready and never used looks
/// like a refused one there: it is left out where ledgers say that none was refused.
fn decided(alone: &Report, informed: &Report, of: impl Fn(&Row) -> &Judgement) -> Vec<(String, String)> {
    let is_open = |(verdict, _): &(String, String)| verdict == Verdict::NotSeen.name();
    let mut all = distinct(alone, &of);
    if !distinct(informed, &of).iter().any(is_open) {
        all.retain(|verdict| !is_open(verdict));
    }
    all
}

/// The different verdicts of a capture's rows with their reasons, without repetition.
fn distinct(report: &Report, of: impl Fn(&Row) -> &Judgement) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for row in report.rows() {
        let judgement = of(row);
        let pair = (judgement.verdict().name().to_owned(), judgement.because().to_owned());
        if !all.contains(&pair) {
            all.push(pair);
        }
    }
    all
}

/// Subscribers' identities that stand in these bytes as they are.
fn identities_in(bytes: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for prefix in IDENTITIES {
        for start in bytes
            .windows(prefix.len())
            .enumerate()
            .filter_map(|(at, window)| (window == prefix).then_some(at))
        {
            let rest = &bytes[start + prefix.len()..];
            let length = rest
                .iter()
                .take(64)
                .take_while(|byte| byte.is_ascii_digit() || **byte == b'-')
                .count();
            // Ten digits and more identify a subscriber; less is a fragment.
            if length >= 10 {
                found.insert(String::from_utf8_lossy(&bytes[start..start + prefix.len() + length]).into_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_found_whole_and_once() {
        let bytes = b"\x00{\"supi\":\"imsi-208930000000001\"} imsi-208930000000001, imsi-12, suci-0-208-93-0000-0-0-0000000001\xff";
        let found: Vec<_> = identities_in(bytes).into_iter().collect();
        assert_eq!(found, ["imsi-208930000000001", "suci-0-208-93-0000-0-0-0000000001"]);
    }

    #[test]
    fn random_bytes_hold_no_identity() {
        let bytes: Vec<u8> = (0..100_000_u32)
            .map(|value| (value.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        assert!(identities_in(&bytes).is_empty());
    }
}
