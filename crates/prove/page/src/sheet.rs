//! A sheet: an answer with tables and plots, of a planner or a check; for a terminal and as one HTML page.

mod page;

use crate::plot::Drawing;

pub use page::sheet_html;

/// Contents of a sheet, in order.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    /// The command that made it: `bartizan plan delay`.
    pub command: String,
    /// Its title.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// The answer, a sentence or two.
    pub answer: String,
    /// Parts.
    pub sections: Vec<Section>,
    /// Limits of the model.
    pub limits: Vec<String>,
    /// Sources of the numbers: authors and titles, documents, records.
    pub sources: Vec<String>,
    /// The command line that makes it again.
    pub again: String,
}

/// A part of a sheet.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Paragraphs before its tables.
    pub text: Vec<String>,
    /// Tables.
    pub tables: Vec<Grid>,
    /// Plots, each with what stands below it. A terminal shows none.
    pub drawings: Vec<(Drawing, String)>,
}

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    /// Caption above it.
    pub caption: String,
    /// Headings of its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<Field>>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its heading.
    pub heading: String,
    /// True if its cells are numbers, set to the right.
    pub is_number: bool,
}

bartizan_registry::made! {
    /// A cell.
    #[derive(Debug, Clone, Default)]
    pub struct Field,
    /// A cell of this colour.
    pub toned(text: impl Into<String>, tone: Tone) {
        /// Its text: it says all that the tone does.
        pub text: String = text.into(),
        /// Its colour in the page.
        pub tone: Tone,
    }
}

/// The colour of a cell; never the only carrier of a meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Tone {
    /// That of the page.
    #[default]
    Plain,
    /// Red: the region of Groen et al. 2024 with encrypting MACsec.
    Red,
    /// Grey: theirs with integrity alone.
    Grey,
    /// Blue: theirs without MACsec.
    Blue,
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Low emphasis.
    Faint,
}

impl Grid {
    /// A table under these headings; those that begin with `#` are of numbers.
    pub fn under<const N: usize>(caption: impl Into<String>, headings: [&str; N]) -> Self {
        let column = |heading: &str| Column {
            heading: heading.trim_start_matches('#').to_owned(),
            is_number: heading.starts_with('#'),
        };
        Self {
            caption: caption.into(),
            columns: headings.into_iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, fields: impl IntoIterator<Item = impl Into<Field>>) {
        self.rows.push(fields.into_iter().map(Into::into).collect());
    }
}

/// A table of rows: each column with its heading, as [`Grid::under`] takes it, and its cell of a row. What the cells share may be
/// bound before them.
///
/// ```
/// let grid = bartizan_page::grid!("squares", number in [2, 3]; "#number": number.to_string(), "#square": (number * number).to_string());
/// assert_eq!(grid.rows[1][1].text, "9");
/// ```
#[macro_export]
macro_rules! grid {
    ($caption:expr, $row:pat in $rows:expr $(, { $($before:tt)+ })?; $($heading:literal: $cell:expr),+ $(,)?) => {{
        let mut grid = $crate::sheet::Grid::under($caption, [$($heading),+]);
        for $row in $rows {
            $($($before)+)?
            grid.push([$($crate::sheet::Field::from($cell)),+]);
        }
        grid
    }};
}

impl Section {
    /// A part with this heading and nothing in it.
    pub fn new(heading: impl Into<String>) -> Self {
        Self {
            heading: heading.into(),
            ..Self::default()
        }
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::toned(text, Tone::Plain)
    }
}
