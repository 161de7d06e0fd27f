//! A table for a terminal: columns as wide as their widest cell, notes under it.

use crate::table::{self, Side};

/// Colouring of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    Yes,
    No,
}

/// Tone of a cell about an attack, which selects its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
}

bartizan_registry::made! {
    /// One cell.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(super) struct Cell, pub(super) plain(text: impl ToString) {
        pub(super) text: String = text.to_string(),
        pub(super) tone: Tone = Tone::Plain,
    }
}

impl Cell {
    /// A value, or `-` where there is none.
    pub(super) fn of(value: Option<impl ToString>) -> Self {
        Self::plain(value.map_or_else(|| "-".to_owned(), |value| value.to_string()))
    }
}

/// Rows of cells under headings.
#[derive(Default)]
pub(super) struct Table {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<Cell>>,
    notes: Vec<&'static str>,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row; its note is numbered, and printed once under the table.
    pub(super) fn push(&mut self, cells: Vec<(&'static str, Side, Cell)>, note: Option<&'static str>) {
        self.columns = cells.iter().map(|(heading, side, _)| (*heading, *side)).collect();
        let mut cells: Vec<Cell> = cells.into_iter().map(|(_, _, cell)| cell).collect();
        if let Some(note) = note {
            let number = self.notes.iter().position(|known| *known == note).unwrap_or_else(|| {
                self.notes.push(note);
                self.notes.len() - 1
            });
            cells.push(Cell::plain(format!("[{}]", number + 1)));
        }
        self.rows.push(cells);
    }

    /// The table, a line each for headings, rows and notes.
    pub(super) fn render(&self, colour: Colour) -> String {
        let note = Side::Left;
        let mut table = table::Table::new(self.columns.iter().map(|(_, side)| *side).chain([note]));
        table.push(self.columns.iter().map(|(heading, _)| heading));
        for row in &self.rows {
            table.push(row.iter().map(|cell| &cell.text));
        }
        let mut text = table.painted(|row, column, text| {
            let cell = row.checked_sub(1).and_then(|row| self.rows.get(row)?.get(column));
            painted(text, cell.map_or(Tone::Plain, |cell| cell.tone), colour)
        });
        for (number, note) in self.notes.iter().enumerate() {
            text.push_str(&table::paragraph(&format!("  [{}] {note}", number + 1), 6));
            text.push('\n');
        }
        text
    }
}

fn painted(text: &str, tone: Tone, colour: Colour) -> String {
    match (colour, tone) {
        (Colour::No, _) | (_, Tone::Plain) => text.to_owned(),
        (Colour::Yes, Tone::Good) => format!("\x1b[32m{text}\x1b[0m"),
        (Colour::Yes, Tone::Bad) => format!("\x1b[31m{text}\x1b[0m"),
    }
}
