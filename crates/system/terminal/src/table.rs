//! Tables for a terminal: columns as wide as their widest cell, two blanks between them, no lines
//! and no trailing blanks.

use comfy_table::{CellAlignment, ContentArrangement, presets};

/// To which side the cells of a column are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Left.
    Left,
    /// Right.
    Right,
}

/// Rows of cells, of which the first may be headings.
#[derive(Debug)]
pub struct Table {
    sides: Vec<Side>,
    rows: comfy_table::Table,
}

impl Table {
    /// A table of as many columns as there are sides.
    pub fn new(sides: impl IntoIterator<Item = Side>) -> Self {
        let mut rows = comfy_table::Table::new();
        // A cell is never wrapped: what reads the text of a table finds a row in a line.
        rows.load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        Self {
            sides: sides.into_iter().collect(),
            rows,
        }
    }

    /// A table of left columns under these headings.
    pub fn under<const N: usize>(headings: [&str; N]) -> Self {
        let mut table = Self::new([Side::Left; N]);
        table.push(headings);
        table
    }

    /// Adds a row of one cell per column.
    pub fn push<Cell: ToString>(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.add_row(cells.into_iter().map(|cell| cell.to_string()));
    }

    /// The lines of the table, each ended.
    pub fn render(&self) -> String {
        self.painted(|_, _, text| text.to_owned())
    }

    /// The lines, each behind two blanks.
    pub fn indented(&self) -> String {
        self.render().lines().map(|line| format!("  {line}\n")).collect()
    }

    /// The lines, each cell as `paint` makes it of row, column and text: colours have no width.
    pub fn painted(&self, paint: impl Fn(usize, usize, &str) -> String) -> String {
        let mut rows = self.rows.clone();
        for (index, side) in self.sides.iter().enumerate() {
            if let Some(column) = rows.column_mut(index) {
                // The two blanks between columns are the padding of the left one; the last has none to trim.
                column.set_padding((0, 2)).set_cell_alignment(match side {
                    Side::Left => CellAlignment::Left,
                    Side::Right => CellAlignment::Right,
                });
            }
        }
        let texts: Vec<Vec<String>> = self
            .rows
            .row_iter()
            .map(|row| row.cell_iter().map(comfy_table::Cell::content).collect())
            .collect();
        let mut lines = String::new();
        for (row, line) in rows.lines().enumerate() {
            let mut rest = line.as_str();
            let mut shown = String::with_capacity(line.len());
            for (column, text) in texts
                .get(row)
                .into_iter()
                .flatten()
                .enumerate()
                .filter(|(_, text)| !text.is_empty())
            {
                // Cells follow each other in the line, so that the next place of a text is its own.
                if let Some((before, after)) = rest.split_once(text.as_str()) {
                    shown.push_str(before);
                    shown.push_str(&paint(row, column, text));
                    rest = after;
                }
            }
            shown.push_str(rest);
            lines.push_str(shown.trim_end());
            lines.push('\n');
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_in_characters() {
        let mut table = Table::new([Side::Left, Side::Right, Side::Left]);
        table.push(["name", "n", ""]);
        table.push(["\u{fc}ber", "1000", "x"]);
        table.push(["a", "7", ""]);
        assert_eq!(table.render(), "name     n\n\u{fc}ber  1000  x\na        7\n");
    }

    #[test]
    fn colour_has_no_width_and_reaches_its_own_cell_alone() {
        let mut table = Table::under(["a", "b", "c"]);
        table.push(["a", "", "a"]);
        let red = |row, column, text: &str| match (row, column) {
            (1, 2) => format!("\x1b[31m{text}\x1b[0m"),
            _ => text.to_owned(),
        };
        assert_eq!(table.painted(red), "a  b  c\na     \x1b[31ma\x1b[0m\n");
    }

    #[test]
    fn a_table_without_rows_is_no_text() {
        assert_eq!(Table::new([Side::Left]).render(), "");
    }
}
