//! Reports on standard output, and limits in the bill of materials.

use std::io::{self, IsTerminal as _, Write};

use bartizan_deployment::Deployment;
use bartizan_inspect::json::Layout;
use bartizan_inspect::text::{self, Colour, counted, printable};
use bartizan_inspect::{Against, Finding, Report, coverage_csv, json};

use serde::Serialize;

use super::Args;
use super::accepted::{Facts, Settled};
use crate::output::is_coloured;
use crate::table;

/// Characters in a line of standard output: what COLUMNS says, else of the terminal, else 80.
pub(crate) fn width() -> usize {
    const PIPED: usize = 80;
    table::columns().unwrap_or(PIPED)
}

/// Limits of a report's evidence, as the bill of materials states them.
pub(super) fn limits(report: &Report) -> impl Iterator<Item = String> {
    let limits = report.findings().into_iter().filter(Finding::leaves_out);
    limits.map(|limit| {
        let count = counted(limit.count, limit.unit);
        printable(&format!("{}: {count}: {}", report.name(), limit.because))
    })
}

/// The reports, and what of them is accepted.
#[derive(Serialize)]
struct Document<'a, Reports: Serialize> {
    #[serde(flatten)]
    document: Reports,
    #[serde(flatten)]
    settled: Option<Facts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a Against>,
}

/// Writes the reports to what standard output is.
pub(crate) fn show(
    args: &Args,
    reports: &[Report],
    deployment: Option<&Deployment>,
    (settled, against): (&Settled<'_>, Option<&Against>),
    out: &mut dyn Write,
) -> io::Result<()> {
    if args.json {
        let layout = match io::stdout().is_terminal() {
            true => Layout::Indented,
            false => Layout::Compact,
        };
        let document = Document {
            document: json::document(reports),
            settled: settled.facts(reports),
            against,
        };
        json::write(&document, layout, &mut io::BufWriter::new(out))
    } else if args.coverage {
        coverage_csv::write(reports, &mut io::BufWriter::new(out))
    } else {
        let colour = if is_coloured(&io::stdout()) {
            Colour::Yes
        } else {
            Colour::No
        };
        let joint = (reports.len() > 1).then(|| text::joint(reports, width()));
        let each = reports
            .iter()
            .map(|report| text::render(report, deployment, args.detail(), colour, width()));
        let against = against.map(|against| text::against(against, width()));
        let tables = against
            .into_iter()
            .chain(joint)
            .chain(each)
            .chain(settled.text(reports));
        out.write_all(tables.collect::<Vec<_>>().join("\n").as_bytes())
    }
}
