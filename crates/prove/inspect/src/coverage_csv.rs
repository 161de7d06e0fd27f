//! Every conversation and whatever belongs to none, with its bytes and what became of them, for spreadsheets.

use std::io;

use crate::conversation::Conversation;
use crate::coverage::Fate;
use crate::findings;
use crate::report::Report;
use crate::text::printable;

const COLUMNS: &str =
    "file,number,client,server,in,what,interface,packets,bytes,outcome,confidentiality,authenticity,because";

/// All of these reports. Their bytes are together those of the captures.
pub fn write(reports: &[Report], out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for report in reports {
        let (mut packets, mut bytes) = (0, 0);
        for conversation in report.conversations() {
            let captured = conversation.captured;
            (packets, bytes) = (packets + captured.packets, bytes + captured.bytes);
            row(out, report.name(), of(conversation))?;
        }
        for (&unread, captured) in &report.totals().unread {
            let (outcome, because) = match unread.is_housekeeping() {
                true => ("needs no judgement", "carries nothing of an interface"),
                false => ("not read", "nothing that is read"),
            };
            (packets, bytes) = (packets + captured.packets, bytes + captured.bytes);
            let what = findings::name(unread);
            row(
                out,
                report.name(),
                without_ends(&what, captured.packets, captured.bytes, outcome, because),
            )?;
        }
        // Conversations beyond the list, and packets beyond memory.
        let totals = report.totals();
        let rest = totals.bytes.saturating_sub(bytes);
        if rest > 0 {
            let packets = totals.packets.saturating_sub(packets);
            let because = "beyond what memory has room for (--memory)";
            row(
                out,
                report.name(),
                without_ends("", packets, rest, "not listed", because),
            )?;
        }
    }
    out.flush()
}

fn of(conversation: &Conversation) -> [String; 12] {
    let posture = &conversation.posture;
    let (confidentiality, authenticity) = (&posture.confidentiality, &posture.authenticity);
    [
        conversation.number.to_string(),
        conversation.client.to_string(),
        conversation.server.to_string(),
        conversation.path.to_string(),
        posture.kind.name(),
        posture
            .interface
            .map_or_else(String::new, |interface| interface.name.to_owned()),
        conversation.captured.packets.to_string(),
        conversation.captured.bytes.to_string(),
        Fate::of(posture).name().to_owned(),
        confidentiality.verdict().name().to_owned(),
        authenticity.verdict().name().to_owned(),
        confidentiality.because().to_owned(),
    ]
}

fn without_ends(what: &str, packets: u64, bytes: u64, outcome: &str, because: &str) -> [String; 12] {
    let mut cells = std::array::from_fn(|_| String::new());
    cells[4] = what.to_owned();
    cells[6] = packets.to_string();
    cells[7] = bytes.to_string();
    cells[8] = outcome.to_owned();
    cells[11] = because.to_owned();
    cells
}

fn row(out: &mut impl io::Write, file: &str, cells: [String; 12]) -> io::Result<()> {
    write!(out, "{}", quoted(file))?;
    for cell in cells {
        write!(out, ",{}", quoted(&cell))?;
    }
    writeln!(out)
}

/// RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe: some
/// cells hold text from the network.
pub fn quoted(cell: &str) -> String {
    let cell = printable(cell);
    let cell = match cell.starts_with(['=', '+', '-', '@']) {
        true => format!("'{cell}"),
        false => cell,
    };
    match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_cell_is_quoted_where_it_needs_it_and_is_no_formula() {
        assert_eq!(quoted("TLS 1.3"), "TLS 1.3");
        assert_eq!(quoted("TLS, \"x\""), "\"TLS, \"\"x\"\"\"");
        assert_eq!(quoted("=cmd|'/c calc'!A1"), "'=cmd|'/c calc'!A1");
    }
}
