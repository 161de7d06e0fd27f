//! Tables for a terminal: columns as wide as their widest cell, two blanks between them, no lines
//! and no trailing blanks.
//!
//! A table fits the width that is set: cells wrap between words, and a table whose columns
//! cannot be narrow enough is shown row by row. Without one a row is a line, for programs.

use std::io::{IsTerminal as _, stdout};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Characters of a line; 0 where nothing limits them.
static WIDTH: AtomicUsize = AtomicUsize::new(0);

/// Blanks between columns.
const GAP: usize = 2;

/// Characters in a line of standard output: what COLUMNS says, else of the terminal; none where
/// standard output is no terminal.
pub fn columns() -> Option<usize> {
    let reported = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || {
        let size = stdout()
            .is_terminal()
            .then(|| terminal_size::terminal_size_of(stdout()));
        size.flatten().map(|(width, _)| usize::from(width.0))
    };
    reported.or_else(terminal).filter(|width| *width > 0)
}

/// Has every table of this process fit [`columns`].
pub fn fit_columns() {
    WIDTH.store(columns().unwrap_or_default(), Ordering::Relaxed);
}

/// Width that text has to fit, if any, with `indent` blanks before it.
fn limit(indent: usize) -> Option<usize> {
    let width = WIDTH.load(Ordering::Relaxed);
    (width > 0).then(|| width.saturating_sub(indent).max(1))
}

/// A paragraph in lines that fit, the later ones behind `indent` blanks.
pub fn paragraph(text: &str, indent: usize) -> String {
    let Some(width) = limit(indent) else {
        return text.to_owned();
    };
    let words = text.trim_start();
    let (before, _) = text.split_at(text.len() - words.len());
    format!(
        "{before}{}",
        wrapped(words, width).join(&format!("\n{}", " ".repeat(indent)))
    )
}

/// To which side the cells of a column are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Left.
    Left,
    /// Right.
    Right,
}

/// Rows of cells, of which the first has the headings.
#[derive(Debug)]
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of as many columns as there are sides.
    pub fn new(sides: impl IntoIterator<Item = Side>) -> Self {
        Self {
            sides: sides.into_iter().collect(),
            rows: Vec::new(),
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
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// The lines of the table, each ended.
    pub fn render(&self) -> String {
        self.painted(|_, _, text| text.to_owned())
    }

    /// The lines, each behind two blanks.
    pub fn indented(&self) -> String {
        let text = self.within(limit(2), |_, _, text| text.to_owned());
        text.lines().map(|line| format!("  {line}\n")).collect()
    }

    /// The lines, each cell as `paint` makes it of row, column and text: colours have no width.
    pub fn painted(&self, paint: impl Fn(usize, usize, &str) -> String) -> String {
        self.within(limit(0), paint)
    }

    fn within(&self, limit: Option<usize>, paint: impl Fn(usize, usize, &str) -> String) -> String {
        match self.widths(limit) {
            Some(widths) => self.aligned(&widths, paint),
            None => self.by_row(limit.unwrap_or(usize::MAX), paint),
        }
    }

    /// Widths of the columns; none where their longest words do not fit next to each other.
    fn widths(&self, limit: Option<usize>) -> Option<Vec<usize>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let of = |column: usize, measure: fn(&str) -> usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| measure(cell)).max().unwrap_or_default()
        };
        let mut widths: Vec<_> = (0..columns).map(|column| of(column, width)).collect();
        let Some(limit) = limit else {
            return Some(widths);
        };
        let gaps = GAP * columns.saturating_sub(1);
        let least: Vec<_> = (0..columns)
            .map(|column| of(column, |cell| cell.split(' ').map(width).max().unwrap_or_default()))
            .collect();
        if gaps + least.iter().sum::<usize>() > limit {
            return None;
        }
        while gaps + widths.iter().sum::<usize>() > limit {
            let narrower = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
            // There is one: the least widths fit.
            let (widest, _) = narrower.max_by_key(|(width, _)| **width)?;
            *widest -= 1;
        }
        Some(widths)
    }

    fn aligned(&self, widths: &[usize], paint: impl Fn(usize, usize, &str) -> String) -> String {
        let mut text = String::new();
        for (row, cells) in self.rows.iter().enumerate() {
            let cells = cells.iter().zip(widths).map(|(cell, width)| wrapped(cell, *width));
            let cells: Vec<_> = cells.collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(1) {
                // Blanks before the next text; those behind the last are not written.
                let mut blanks = 0;
                for (column, cell) in cells.iter().enumerate() {
                    let part = cell.get(line).map_or("", String::as_str);
                    let rest = widths[column] - width(part).min(widths[column]);
                    let is_right = self.sides.get(column) == Some(&Side::Right);
                    if !part.is_empty() {
                        let before = blanks + if is_right { rest } else { 0 };
                        text.extend(std::iter::repeat_n(' ', before));
                        text.push_str(&paint(row, column, part));
                        blanks = if is_right { 0 } else { rest };
                    } else {
                        blanks += rest;
                    }
                    blanks += GAP;
                }
                text.push('\n');
            }
        }
        text
    }

    /// Each row by itself: its first cell, and below it the others behind their headings.
    fn by_row(&self, limit: usize, paint: impl Fn(usize, usize, &str) -> String) -> String {
        const INDENT: &str = "    ";
        let mut text = String::new();
        let inner = limit.saturating_sub(INDENT.len()).max(1);
        let Some((headings, rows)) = self.rows.split_first() else {
            return text;
        };
        for (row, cells) in rows.iter().enumerate() {
            let mut column_at = 0;
            let begin = |text: &mut String, at: &mut usize| {
                if *at > 0 {
                    text.push('\n');
                }
                text.push_str(INDENT);
                *at = 0;
            };
            for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let heading = headings.get(column).filter(|heading| column > 0 && !heading.is_empty());
                let label = heading.map_or_else(String::new, |heading| format!("{heading}: "));
                let whole = format!("{label}{cell}");
                if column == 0 {
                    for line in wrapped(&whole, limit) {
                        text.push_str(&(paint(row + 1, column, &line) + "\n"));
                    }
                    continue;
                }
                let wide = width(&whole);
                if column_at == 0 || column_at + 2 + wide > inner {
                    begin(&mut text, &mut column_at);
                } else {
                    text.push_str("; ");
                    column_at += 2;
                }
                for (number, line) in wrapped(&whole, inner).iter().enumerate() {
                    if number > 0 {
                        begin(&mut text, &mut column_at);
                    }
                    column_at += width(line);
                    match line.strip_prefix(&label).filter(|_| number == 0) {
                        Some(value) => text.push_str(&(label.clone() + &paint(row + 1, column, value))),
                        None => text.push_str(&paint(row + 1, column, line)),
                    }
                }
            }
            if column_at > 0 {
                text.push('\n');
            }
        }
        text
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The lines of a text, broken between words; a word that is longer than a line is broken itself.
fn wrapped(text: &str, limit: usize) -> Vec<String> {
    if width(text) <= limit {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    let mut column = 0;
    for word in text.split(' ') {
        let long = width(word);
        if column > 0 && column + 1 + long > limit {
            lines.push(String::new());
            column = 0;
        }
        let Some(line) = lines.last_mut() else { break };
        if column > 0 {
            line.push(' ');
            column += 1;
        }
        if column + long <= limit {
            line.push_str(word);
            column += long;
            continue;
        }
        for letter in word.chars() {
            if column == limit {
                lines.push(String::new());
                column = 0;
            }
            lines.last_mut().into_iter().for_each(|line| line.push(letter));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, limit: usize) -> String {
        table.within(Some(limit), |_, _, text| text.to_owned())
    }

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
        assert_eq!(plain(&Table::new([Side::Left]), 10), "");
    }

    #[test]
    fn cells_wrap_between_words_where_the_table_is_too_wide() {
        let mut table = Table::new([Side::Left, Side::Left, Side::Right]);
        table.push(["link", "finding", "us"]);
        table.push(["E2 cu -- ric", "is protected by nothing", "12"]);
        assert_eq!(
            plain(&table, 28),
            "link         finding      us\nE2 cu --     is           12\nric          protected\n             by nothing\n"
        );
        // Its longest words need 3 + 9 + 2 and the gaps.
        assert_eq!(
            plain(&table, 14),
            "E2 cu -- ric\n    finding:\n    is\n    protected\n    by nothing\n    us: 12\n"
        );
    }

    #[test]
    fn every_line_fits_whatever_the_width() {
        let mut table = Table::under(["a heading", "another", "third one"]);
        table.push(["x", "a-long-word-without-blanks", "some words and more of them"]);
        table.push(["y z", "", "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}"]);
        for limit in 8..100 {
            let text = plain(&table, limit);
            assert!(text.lines().all(|line| width(line) <= limit), "{limit}:\n{text}");
            for word in ["heading", "some", "them"] {
                let letters: String = text.split_whitespace().collect();
                assert!(letters.contains(word) || word == "heading", "{limit}: {text}");
            }
        }
    }
}
