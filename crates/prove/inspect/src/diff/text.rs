//! Two dates as a table.

use super::compare::{Change, Comparison, Limit, Step, Verdict};
use crate::text::{counted, printable};

const HEADINGS: [&str; 5] = ["change", "interface", "ends", "confidentiality", "authenticity"];

/// The comparison for people.
pub fn render(before: &str, after: &str, compared: &Comparison) -> String {
    let changes = &compared.changes;
    let mut text = String::new();
    // Names and reasons come from packets and from a file: neither is trusted.
    let mut line = |words: &str| {
        text.push_str(&printable(words));
        text.push('\n');
    };
    let of = |wanted: fn(&Change) -> bool| changes.iter().filter(|change| wanted(change)).count() as u64;
    line(&format!(
        "before: {before}, {}",
        counted(of(|change| change.change != Verdict::Appeared), "link")
    ));
    line(&format!(
        "after:  {after}, {}",
        counted(of(|change| change.change != Verdict::Vanished), "link")
    ));
    for limit in &compared.limits {
        let dates = match (limit.before, limit.after) {
            (true, true) => "before and after",
            (true, false) => "before",
            _ => "after",
        };
        line(&format!("limit:  {dates}: {}", limit.because));
    }
    line("");
    let shown: Vec<&Change> = changes.iter().filter(|change| change.change != Verdict::Same).collect();
    if !shown.is_empty() {
        let rows: Vec<[String; 5]> = shown.iter().map(|change| cells(change)).collect();
        let widths: [usize; 5] = std::array::from_fn(|column| {
            let widest = rows.iter().map(|row| row[column].chars().count()).max();
            widest.unwrap_or(0).max(HEADINGS[column].len())
        });
        let row = |cells: [&str; 5]| {
            let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        line(&row(HEADINGS));
        for (change, cells) in shown.iter().zip(&rows) {
            line(&row(cells.each_ref().map(String::as_str)));
            for difference in &change.differences {
                line(&format!("    {difference}"));
            }
        }
        line("");
    }
    let kinds = [
        Verdict::Worse,
        Verdict::Appeared,
        Verdict::Vanished,
        Verdict::Better,
        Verdict::Changed,
        Verdict::Same,
    ];
    let summary = kinds.map(|kind| {
        let count = changes.iter().filter(|change| change.change == kind).count();
        format!("{count} {}", kind.name())
    });
    line(&format!("summary: {}", summary.join(", ")));
    let unproven = of(|change| change.change == Verdict::Appeared && change.is_for_the_worse());
    if unproven > 0 {
        let verb = if unproven == 1 { "is" } else { "are" };
        line(&format!("of what appeared {unproven} {verb} not shown to be safe"));
    }
    if compared.limits.iter().any(Limit::is_for_the_worse) {
        line("what limits the evidence may hide a change for the worse");
    }
    text
}

fn cells(change: &Change) -> [String; 5] {
    [
        change.change.name().to_owned(),
        change.interface.clone(),
        change.ends.join(" - "),
        step(&change.confidentiality),
        step(&change.authenticity),
    ]
}

fn step(step: &Step) -> String {
    match (&step.before, &step.after) {
        (Some(before), Some(after)) if before != after => format!("{before} -> {after}"),
        (Some(says), _) | (None, Some(says)) => says.clone(),
        (None, None) => String::new(),
    }
}
