//! What came of a plan, as a page: the report crate draws it.

use bartizan_plan::storm::{Part, Summary};
use bartizan_report::storm::{self, Answer};

use super::table::{described, said, sources};

/// Cells of the page.
fn answer<'a>(part: &Part, summary: &'a Summary) -> Answer<'a> {
    let rows = summary.variants.iter().map(|variant| {
        let cells = variant.quantities.iter();
        cells.map(|quantity| said(quantity.spread, quantity.unit)).collect()
    });
    Answer {
        described: described(part),
        summary,
        cells: rows.collect(),
        sources: sources(summary)
            .into_iter()
            .map(|(source, of)| format!("{source}{of}"))
            .collect(),
    }
}

/// The page.
pub(super) fn page(part: &Part, summary: &Summary) -> String {
    storm::page(&answer(part, summary))
}

/// The plot alone.
pub(super) fn picture(part: &Part, summary: &Summary) -> String {
    storm::plot(summary).standalone(&described(part))
}
