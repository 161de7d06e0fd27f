//! A table for a terminal: columns as wide as their widest cell, notes under it.

/// Whether to colour verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    Yes,
    No,
}

/// To which side the cells of a column are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A column's heading and the side of its cells.
pub(super) type Column = (&'static str, Side);

/// What a cell says about an attack, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
}

impl Cell {
    pub(super) fn plain(text: impl ToString) -> Self {
        Self {
            text: text.to_string(),
            tone: Tone::Plain,
        }
    }

    /// A value, or `-` where there is none.
    pub(super) fn of(value: Option<impl ToString>) -> Self {
        Self::plain(value.map_or_else(|| "-".to_owned(), |value| value.to_string()))
    }
}

/// Rows of cells under headings.
pub(super) struct Table {
    columns: &'static [Column],
    rows: Vec<Vec<Cell>>,
    notes: Vec<&'static str>,
}

impl Table {
    pub(super) fn new(columns: &'static [Column]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row of one cell per column; its note is numbered, and printed once under the table.
    pub(super) fn push(&mut self, mut cells: Vec<Cell>, note: Option<&'static str>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        if let Some(note) = note {
            let number = self.notes.iter().position(|known| *known == note).unwrap_or_else(|| {
                self.notes.push(note);
                self.notes.len() - 1
            });
            cells.push(Cell::plain(format!("[{}]", number + 1)));
        }
        self.rows.push(cells);
    }

    /// The table, a line each for headings, rows and notes, without trailing blanks.
    pub(super) fn render(&self, colour: Colour) -> String {
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, (heading, _))| {
                let cells = self.rows.iter().map(|row| row[index].text.chars().count());
                cells.max().unwrap_or(0).max(heading.len())
            })
            .collect();
        let headings: Vec<Cell> = self.columns.iter().map(|(heading, _)| Cell::plain(heading)).collect();
        let mut text = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for (index, cell) in row.iter().enumerate() {
                // A note's mark stands behind the last column and has no width to keep.
                let width = widths.get(index).copied().unwrap_or(0);
                let right = self.columns.get(index).is_some_and(|(_, side)| *side == Side::Right);
                let blanks = " ".repeat(width.saturating_sub(cell.text.chars().count()));
                let shown = painted(cell, colour);
                line.push_str(&if right {
                    format!("{blanks}{shown}")
                } else {
                    format!("{shown}{blanks}")
                });
                line.push_str("  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for (number, note) in self.notes.iter().enumerate() {
            text.push_str(&format!("  [{}] {note}\n", number + 1));
        }
        text
    }
}

fn painted(cell: &Cell, colour: Colour) -> String {
    match (colour, cell.tone) {
        (Colour::No, _) | (_, Tone::Plain) => cell.text.clone(),
        (Colour::Yes, Tone::Good) => format!("\x1b[32m{}\x1b[0m", cell.text),
        (Colour::Yes, Tone::Bad) => format!("\x1b[31m{}\x1b[0m", cell.text),
    }
}
