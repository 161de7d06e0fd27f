//! The report for people.

use std::fmt::Write as _;

use bartizan_registry::{NamedGroup, Safety, SignatureScheme, is_grease, signature};
use bartizan_wire::Timestamp;

use super::Detail;
use super::link::Link;
use super::report::{Report, Row, Tally};

/// Findings printed; the rest are in the JSON.
const FINDINGS: usize = 20;

/// One report as text, each line within what a terminal shows of it.
pub(super) fn render(report: &Report, detail: Detail) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, report, detail);
    clean(&text)
}

/// Names, and the words of a ledger, are a stranger's: what would move the cursor is shown as `?`.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' { '?' } else { c })
        .collect()
}

fn write(text: &mut String, report: &Report, detail: Detail) -> std::fmt::Result {
    let (totals, summary) = (report.totals(), report.summary());
    let start = totals.first.map_or(Timestamp(0), |moment| moment.time);
    let length = totals.last.map_or(0, |moment| moment.time.since(start));
    writeln!(
        text,
        "{}: {}, {}, {} s",
        report.path().display(),
        counted(totals.packets, "packet"),
        counted(summary.connections, "connection"),
        seconds(length)
    )?;
    if summary.connections > 0 {
        let mut lines = vec![HEADINGS.map(str::to_owned)];
        let mut details = vec![Vec::new()];
        match detail {
            Detail::Each => {
                for link in report.links() {
                    lines.push(cells(link, start, 1, &exact(link)));
                    details.push(explain(link));
                }
            }
            Detail::Alike => {
                for row in report.rows() {
                    lines.push(cells(&row.link, start, row.connections, &row.flights));
                    details.push(explain_row(row));
                }
            }
        }
        writeln!(text)?;
        columns(text, &lines, &details)?;
        writeln!(text)?;
        write_summary(text, report)?;
    }
    let findings = report.findings();
    if !findings.is_empty() {
        writeln!(text, "findings")?;
        for finding in findings.iter().take(FINDINGS) {
            let unit = if finding.example.is_some() {
                "connection"
            } else {
                "packet"
            };
            let count = counted(finding.count, unit);
            writeln!(text, "  {}: {count}: {}", finding.concern.name(), finding.because)?;
            if let Some(example) = &finding.example {
                writeln!(text, "      first: {example}")?;
            }
        }
        if findings.len() > FINDINGS {
            writeln!(text, "  ... and {} more: see --json", findings.len() - FINDINGS)?;
        }
    }
    let notes = report.notes();
    if !notes.is_empty() {
        writeln!(text, "notes")?;
        for note in notes {
            writeln!(text, "  {note}")?;
        }
    }
    Ok(())
}

const HEADINGS: [&str; 9] = [
    "time",
    "client",
    "server",
    "n",
    "what",
    "group",
    "flights (bytes)",
    "confidentiality",
    "authenticity",
];

fn cells(link: &Link, start: Timestamp, connections: u64, flights: &[(u64, u64)]) -> [String; 9] {
    let posture = &link.posture;
    let client = if connections == 1 {
        link.client.to_string()
    } else {
        link.client.ip().to_string()
    };
    let flights: Vec<String> = flights
        .iter()
        .map(|(least, most)| {
            if least == most {
                least.to_string()
            } else {
                format!("{least}-{most}")
            }
        })
        .collect();
    [
        seconds(link.first.time.since(start)),
        client,
        link.server.to_string(),
        connections.to_string(),
        posture.kind.name(),
        posture.group.map_or_else(dash, |group| group.to_string()),
        if flights.is_empty() { dash() } else { flights.join("/") },
        posture.confidentiality.verdict().name().to_owned(),
        posture.authenticity.verdict().name().to_owned(),
    ]
}

fn dash() -> String {
    "-".to_owned()
}

fn exact(link: &Link) -> Vec<(u64, u64)> {
    link.flights().map(|flight| (flight.bytes, flight.bytes)).collect()
}

fn explain_row(row: &Row) -> Vec<String> {
    let mut lines = explain(&row.link);
    if row.link.tls.is_none() && row.bytes > 0 {
        lines.push(format!("carried   {} bytes", row.bytes));
    }
    lines
}

/// What stands below a connection's row.
fn explain(link: &Link) -> Vec<String> {
    let posture = &link.posture;
    let mut lines = Vec::new();
    if let Some(tls) = &link.tls {
        if let Some(hello) = &tls.hello {
            if let Some(name) = &hello.server_name {
                lines.push(format!("name      {name}"));
            }
            let shared: Vec<NamedGroup> = hello.key_shares.iter().map(|share| share.group).collect();
            let groups = hello
                .supported_groups
                .iter()
                .filter(|group| !is_grease(group.0))
                .map(|group| {
                    let share = if shared.contains(group) { "*" } else { "" };
                    format!("{group}{share}")
                });
            lines.push(format!("offered   {}", join(groups)));
            lines.push(format!("schemes   {}", schemes(&hello.signature_algorithms)));
        }
        if let Some(group) = tls.hello_retry_request {
            let group = group.map_or_else(|| "with no group".to_owned(), |group| format!("for {group}"));
            lines.push(format!("retried   HelloRetryRequest {group}"));
        }
        if tls.resumed {
            lines.push("resumed   by a pre-shared key".into());
        }
        lines.extend(tls.alerts.iter().map(|alert| format!("alert     {alert}")));
        lines.extend(tls.faults.iter().map(|fault| format!("fault     {fault}")));
    }
    lines.push(format!(
        "because   confidentiality: {}",
        posture.confidentiality.because()
    ));
    lines.push(format!("          authenticity: {}", posture.authenticity.because()));
    lines.extend(
        posture
            .contradictions
            .iter()
            .map(|found| format!("disagree  {}", found.what)),
    );
    lines
}

fn join(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        "nothing".into()
    } else {
        items.join(" ")
    }
}

/// The post-quantum schemes by name, the others by number: a client names twenty. All of them are in the JSON.
fn schemes(offered: &[SignatureScheme]) -> String {
    let real = offered.iter().filter(|scheme| !is_grease(scheme.0));
    let (mut safe, mut classical, mut unknown) = (Vec::new(), 0, 0);
    for scheme in real {
        match signature(*scheme).map(|known| known.forgery) {
            Some(Safety::QuantumSafe) => safe.push(scheme.to_string()),
            Some(Safety::Vulnerable) => classical += 1,
            None => unknown += 1,
        }
    }
    let mut parts = vec![if safe.is_empty() {
        "none post-quantum".to_owned()
    } else {
        safe.join(" ")
    }];
    if classical > 0 {
        parts.push(format!("{classical} classical"));
    }
    if unknown > 0 {
        parts.push(format!("{unknown} unknown"));
    }
    parts.join(", ")
}

fn columns(text: &mut String, lines: &[[String; 9]], details: &[Vec<String>]) -> std::fmt::Result {
    let widths: [usize; 9] =
        std::array::from_fn(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0));
    for (line, details) in lines.iter().zip(details) {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(widths) {
            write!(row, "{cell:width$}  ")?;
        }
        writeln!(text, "{}", row.trim_end())?;
        for detail in details {
            writeln!(text, "    {detail}")?;
        }
    }
    Ok(())
}

fn write_summary(text: &mut String, report: &Report) -> std::fmt::Result {
    let summary = report.summary();
    writeln!(text, "summary")?;
    for (kind, count) in &summary.by_kind {
        writeln!(text, "  {count} x {}", kind.name())?;
    }
    for (group, count) in summary.by_group.iter().filter(|(group, _)| *group != "-") {
        writeln!(text, "  {count} x {group}")?;
    }
    for (count, what) in [
        (summary.hello_retry_requests, "with HelloRetryRequest"),
        (summary.resumed, "resumed"),
        (summary.in_ledger, "known to a ledger"),
    ] {
        if count > 0 {
            writeln!(text, "  {count} x {what}")?;
        }
    }
    for (axis, tally) in [
        ("confidentiality", summary.confidentiality),
        ("authenticity", summary.authenticity),
    ] {
        let Tally {
            quantum_safe,
            vulnerable,
            not_observable,
            not_seen,
        } = tally;
        writeln!(
            text,
            "  {axis:15}  {quantum_safe} quantum-safe, {vulnerable} vulnerable, {not_observable} not observable, {not_seen} not seen"
        )?;
    }
    Ok(())
}

/// `1 packet`, `2 packets`.
pub(super) fn counted(count: u64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// Nanoseconds as seconds with microseconds.
fn seconds(nanoseconds: u64) -> String {
    format!(
        "{}.{:06}",
        nanoseconds / 1_000_000_000,
        nanoseconds % 1_000_000_000 / 1000
    )
}
