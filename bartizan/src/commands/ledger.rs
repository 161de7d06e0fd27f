//! `bartizan ledger`.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_follow::read::{ledger_files, unreadable_ledger};
use bartizan_inspect::text::{counted, printable};
use bartizan_ledger::{Direction, Outcome as Verdict, Reader, Row, Totals};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::output::{errln, said};
use crate::table::Table;
use crate::{Failure, Outcome};

/// Rows of a table. A long ledger is printed as several, so that memory stays bounded.
const ROWS: usize = 500;
/// Characters of a reason, which a peer may choose.
const LONGEST: usize = 120;
/// Damaged lines that are named; all are counted.
const NAMED: u64 = 3;

/// Print ledgers for people: negotiated algorithms and verdicts, and what is missing
///
/// Files that were rotated away are read with their ledger. Ends of connections are counted and not
/// shown.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ledger amf.ledger\n  \
    bartizan ledger ledgers/ --since 1h             the last hour of all ledgers of a folder\n  \
    bartizan ledger amf.ledger --peer nrf --json    for a program (schema `bartizan-ledger/1`)")]
pub(crate) struct Args {
    /// Ledgers, or folders of ledgers
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Records since this time: 2026-11-30T08:00:00Z, or 90min for the last ninety minutes
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<u64>,

    /// Records about this peer: a node, or an address where no node was identified
    #[arg(long, value_name = "PEER")]
    peer: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A time in microseconds since 1970.
fn since(text: &str) -> Result<u64, String> {
    let at = match OffsetDateTime::parse(text, &Rfc3339) {
        Ok(time) => SystemTime::from(time),
        Err(_) => humantime::parse_duration(text)
            .ok()
            .and_then(|before| SystemTime::now().checked_sub(before))
            .ok_or("neither a time, as 2026-11-30T08:00:00Z, nor a duration, as 90min")?,
    };
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).map_err(|error| error.to_string())
}

fn time(at_us: u64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_us / 1_000_000) * 1_000_000_000);
    time.ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_else(|| format!("{at_us} us"))
}

/// The totals as lines.
fn text(totals: &Totals) -> String {
    let mut text = format!(
        "{} of {}: {} accepted, {} excepted, {} refused, {} ended\n",
        counted(totals.records, "record"),
        counted(totals.nodes.len() as u64, "node"),
        totals.accepted,
        totals.excepted,
        totals.refused,
        totals.ended
    );
    let interfaces = totals.by_interface.iter();
    let by: Vec<_> = interfaces
        .map(|(name, count)| format!("{count} on {}", printable(name)))
        .collect();
    if !by.is_empty() {
        text += &format!("{}\n", by.join(", "));
    }
    if !totals.is_whole() {
        text += &format!(
            "missing: {} lost by their writers, {} damaged or cut, {} of rotated ledgers\n",
            counted(totals.lost, "record"),
            counted(totals.damaged_lines, "line"),
            counted(totals.missing_files, "file")
        );
    }
    text
}

/// Rows on their way to standard output.
struct Rows<'a> {
    out: io::BufWriter<io::StdoutLock<'a>>,
    json: bool,
    written: u64,
    waiting: Vec<[String; 9]>,
}

impl Rows<'_> {
    fn push(&mut self, row: &Row<'_>) -> Result<(), Failure> {
        if self.json {
            let comma = if self.written == 0 { "" } else { "," };
            said(write!(
                self.out,
                "{comma}\n{}",
                serde_json::to_string(row).map_err(Failure::new)?
            ))?;
        } else if row.verdict != Verdict::Ended || row.peer.is_some() {
            let cell = |text: Option<&str>| {
                let text: String = printable(text.unwrap_or("-")).chars().take(LONGEST).collect();
                text
            };
            let direction = row.direction.map(|direction| match direction {
                Direction::Inbound => "in",
                Direction::Outbound => "out",
            });
            self.waiting.push([
                time(row.at_us),
                cell(Some(row.node)),
                cell(row.peer.as_deref()),
                cell(row.interface.as_deref()),
                cell(direction),
                cell(row.group.as_deref()),
                cell(row.signature.as_deref()),
                cell(Some(row.verdict.word())),
                cell(Some(row.reason.as_deref().unwrap_or(row.event))),
            ]);
        }
        self.written += 1;
        if self.waiting.len() == ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut table = Table::under([
            "time",
            "node",
            "peer",
            "interface",
            "direction",
            "group",
            "signature",
            "verdict",
            "reason",
        ]);
        self.waiting.drain(..).for_each(|row| table.push(row));
        said(writeln!(self.out, "{}", table.render()))
    }
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let files = ledger_files(&args.files)?;
    let mut totals = Totals {
        missing_files: bartizan_ledger::missing(&files),
        ..Totals::default()
    };
    let mut rows = Rows {
        out: io::BufWriter::new(io::stdout().lock()),
        json: args.json,
        written: 0,
        waiting: Vec::new(),
    };
    if args.json {
        said(write!(rows.out, "{{\"schema\":\"bartizan-ledger/1\",\"records\":["))?;
    }
    for path in &files {
        let file = File::open(path).map_err(|error| unreadable_ledger(path, &error))?;
        let (mut read, mut damaged) = (0u64, 0u64);
        for record in Reader::new(BufReader::new(file)) {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    damaged += 1;
                    if damaged <= NAMED {
                        errln!("warning: {}", printable(&format!("{}: {error}", path.display())));
                    }
                    continue;
                }
            };
            read += 1;
            let row = record.row();
            // Refusals and losses without a peer may be of each.
            let is_other = |peer: &String| match &row.peer {
                Some(own) => own != peer,
                None => !matches!(row.verdict, Verdict::Lost | Verdict::Refused),
            };
            if args.since.is_some_and(|since| row.at_us < since) || args.peer.as_ref().is_some_and(is_other) {
                continue;
            }
            totals.add(&row);
            rows.push(&row)?;
        }
        if damaged > 0 && read == 0 {
            return Err(Failure::new(printable(&format!(
                "{}: not a ledger: no line is a record",
                path.display()
            )))
            .hint("`bartizan inspect FILE` reads captures"));
        }
        totals.damaged_lines += damaged;
    }
    rows.flush()?;
    let end = match args.json {
        true => format!(
            "\n],\"totals\":{}}}\n",
            serde_json::to_string(&totals).map_err(Failure::new)?
        ),
        false => text(&totals),
    };
    said(rows.out.write_all(end.as_bytes()).and_then(|()| rows.out.flush()))?;
    Ok(match totals.is_whole() && totals.refused == 0 {
        true => Outcome::Clean,
        false => Outcome::Finding,
    })
}
