//! Output of a plan: tables in the terminal, JSON, an HTML page.

use std::path::{Path, PathBuf};

use bartizan_budget::unit::Microseconds;
use bartizan_budget::{Source, published};
use bartizan_page::sheet::{Grid, Sheet, sheet_html};
use serde::Serialize;

use crate::Failure;
use crate::output::{make_folder, print, replaces, write_document};
use crate::table::{Side, Table, paragraph};

/// In what form.
#[derive(Debug, clap::Args)]
pub struct Form {
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// Also write a page with plots, and the JSON, to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints an answer, and writes its page where that is asked for: `plan-NAME.html` and `plan-NAME.json`.
///
/// # Errors
/// When it cannot be printed or written.
pub fn give(name: &str, sheet: &Sheet, document: &impl Serialize, form: &Form) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(document).map_err(Failure::new)? + "\n";
    let mut written = String::new();
    if let Some(folder) = &form.out {
        for path in write_pair(folder, &format!("plan-{name}"), &sheet_html(sheet), &json)? {
            written.push_str(&format!("wrote {}\n", path.display()));
        }
    }
    if form.json {
        print(&json)
    } else {
        print(&(text(sheet) + &written))
    }
}

/// Writes NAME.html and NAME.json to a folder, which is made. Files of other kinds stay.
///
/// # Errors
/// When one of the two may not be replaced, or cannot be written.
pub fn write_pair(folder: &Path, name: &str, html: &str, json: &str) -> Result<[PathBuf; 2], Failure> {
    make_folder(folder)?;
    let paths = ["html", "json"].map(|extension| folder.join(format!("{name}.{extension}")));
    // Neither is written where the other is refused.
    for (path, text) in paths.iter().zip([html, json]) {
        replaces(path, text.get(..2).unwrap_or(text))?;
    }
    for (path, text) in paths.iter().zip([html, json]) {
        write_document(path, text)?;
    }
    Ok(paths)
}

/// A sheet for the terminal.
pub fn text(sheet: &Sheet) -> String {
    let mut text = format!("{}\n", sheet.title);
    let mut line = |words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    if !sheet.answer.is_empty() {
        line(&paragraph(&sheet.answer, 0));
    }
    for section in &sheet.sections {
        line(&format!("\n== {}", section.heading));
        for words in &section.text {
            line(&paragraph(words, if words.starts_with("- ") { 2 } else { 0 }));
        }
        for grid in &section.tables {
            if !grid.caption.is_empty() {
                line(&format!("\n{}", paragraph(&grid.caption, 0)));
            }
            line(table(grid).indented().trim_end());
        }
    }
    for (heading, words) in [
        ("what the model leaves out", &sheet.limits),
        ("sources", &sheet.sources),
    ] {
        if !words.is_empty() {
            line(&format!("\n== {heading}"));
            words
                .iter()
                .for_each(|words| line(&paragraph(&format!("  - {words}"), 4)));
        }
    }
    text
}

fn table(grid: &Grid) -> Table {
    let side = |is_number| if is_number { Side::Right } else { Side::Left };
    let mut table = Table::new(grid.columns.iter().map(|column| side(column.is_number)));
    table.push(grid.columns.iter().map(|column| column.heading.clone()));
    for row in &grid.rows {
        table.push(row.iter().map(|field| field.text.clone()));
    }
    table
}

/// Microseconds with as many digits as are worth reading.
pub fn us(time: Microseconds) -> String {
    let value = time.value();
    let places = if value == 0.0 {
        0
    } else if value < 10.0 {
        4
    } else if value < 1000.0 {
        2
    } else {
        0
    };
    format!("{value:.places$}")
}

/// A number with its digits and no zeros behind them.
pub fn number(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The sources of an answer, each once; behind them the paper's authors and title, where it is among them.
pub fn cited(sources: impl IntoIterator<Item = Source>) -> Vec<String> {
    let mut cited: Vec<String> = Vec::new();
    let mut is_paper = false;
    for source in sources {
        is_paper |= source.name == published::PAPER;
        let words = source.to_string();
        if !cited.contains(&words) {
            cited.push(words);
        }
    }
    if is_paper {
        cited.push(format!(
            "{} is {}: {}",
            published::PAPER,
            published::AUTHORS,
            published::TITLE
        ));
    }
    cited
}

/// The command line that was typed, as it would be typed again.
pub fn again() -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
        if word.chars().all(plain) && !word.is_empty() {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args().skip(1).map(quoted);
    std::iter::once("bartizan".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}
