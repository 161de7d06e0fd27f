//! A report as Markdown, for a repository.

use std::fmt::Write as _;

use crate::model::{Comparison, Control, Measured, Noise, Part, PublishedValues, Quickness, Report, Statistics, Table};
use crate::quantity::words;

/// Everything the report says but the plots.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut page = Page { text: String::new() };
    let heading = &report.heading;
    page.line(&format!("# {}", escaped(&heading.title)));
    if report.quickness == Quickness::Quick {
        page.line("**Quick run**: a look with few repetitions, which proves nothing.");
    }
    page.line(&escaped(&heading.question));
    let answer: String = report.answer.iter().map(crate::AnswerPiece::words).collect();
    if !answer.is_empty() {
        page.line(&format!("> {}", escaped(&answer)));
    }
    if let Some(source) = &heading.source {
        page.line(&format!(
            "First measured by: {}, {} ({}).",
            escaped(&source.paper.to_string()),
            escaped(&source.title),
            escaped(&source.place)
        ));
    }
    if !report.warnings.is_empty() {
        page.line("## Before you believe it");
        page.list(
            report
                .warnings
                .iter()
                .map(|warning| format!("**{}**: {}", warning.kind, escaped(&warning.text))),
        );
    }
    page.noise(&report.noise);
    if let Some(published) = &report.published {
        page.published(published);
    }
    for part in &report.parts {
        page.part(part, report.quickness);
    }
    page.line("## Conditions");
    page.list(
        report
            .conditions
            .iter()
            .map(|condition| format!("{}: {}", condition.name, escaped(&condition.words()))),
    );
    if !report.left_out.is_empty() {
        page.line("Not run on this machine:");
        page.list(report.left_out.iter().map(|left| {
            escaped(&format!(
                "{}, {}: {} ({})",
                left.part,
                words(&left.levels),
                left.what,
                left.reason
            ))
        }));
    }
    if !heading.invalid.is_empty() {
        page.line("## What would make it invalid");
        page.list(heading.invalid.iter().map(|sentence| escaped(sentence)));
    }
    page.line("## To measure it again");
    page.line(&format!("```sh\n{}\n```", report.repeat.join("\n")));
    page.line("## Records");
    page.list(report.files.iter().map(|(name, trials, damaged)| {
        let damage = if *damaged > 0 {
            format!(", {damaged} lines left out")
        } else {
            String::new()
        };
        format!("{}: {trials} trials{damage}", escaped(name))
    }));
    page.line(&format!("Experiment file: SHA-256 `{}`.", heading.digest));
    page.text.truncate(page.text.trim_end().len());
    page.text.push('\n');
    page.text
}

struct Page {
    text: String,
}

impl Page {
    /// A paragraph or a heading.
    fn line(&mut self, words: &str) {
        self.text.push_str(words);
        self.text.push_str("\n\n");
    }

    fn list(&mut self, items: impl Iterator<Item = String>) {
        for item in items {
            // Writing to a string does not fail.
            let _ = writeln!(self.text, "- {item}");
        }
        self.text.push('\n');
    }

    fn row<'a>(&mut self, fields: impl IntoIterator<Item = &'a str>) {
        self.text.push('|');
        for field in fields {
            let _ = write!(self.text, " {field} |");
        }
        self.text.push('\n');
    }

    fn head(&mut self, names: &[&str], numbers_from: usize) {
        self.row(names.iter().copied());
        self.row((0..names.len()).map(|index| if index < numbers_from { "---" } else { "---:" }));
    }

    fn noise(&mut self, noise: &Noise) {
        let said: Vec<String> = noise.sentences().chain(noise.cannot.iter().cloned()).collect();
        if !said.is_empty() {
            self.line("## What the machine did, and what this cannot tell");
            self.list(said.iter().map(|sentence| escaped(sentence)));
        }
    }

    fn published(&mut self, published: &PublishedValues) {
        self.line("## Published and measured");
        self.head(&["condition", "publication", "here"], 3);
        for (name, condition) in published.conditions.rows() {
            self.row([name, &escaped(&condition.paper), &escaped(&condition.here)]);
        }
        self.text.push('\n');
        self.head(
            &[
                "what",
                "statistic",
                "place",
                "published",
                "measured",
                "n",
                "measured is",
            ],
            3,
        );
        for row in &published.rows {
            let (measured, n, relation) = match &row.measured {
                Measured::Measured { n, .. } => (
                    row.measured().unwrap_or_default(),
                    n.to_string(),
                    row.relation().unwrap_or_default(),
                ),
                Measured::Nothing { reason } => (format!("*{}*", escaped(reason)), String::new(), String::new()),
            };
            self.row([
                escaped(&row.subject()).as_str(),
                row.statistic(),
                &escaped(&row.place()),
                &escaped(&row.printed()),
                &measured,
                &n,
                &relation,
            ]);
        }
        self.text.push('\n');
        let noted = published.rows.iter().filter_map(|row| Some((row, row.note()?)));
        self.list(
            noted.map(|(row, note)| format!("{}, {}: {}", escaped(&row.subject()), row.printed(), escaped(&note))),
        );
        if !published.conflicts.is_empty() {
            self.line("Where the publication disagrees with itself:");
            self.list(published.conflicts.iter().map(|conflict| escaped(&conflict.note)));
        }
    }

    fn part(&mut self, part: &Part, quickness: Quickness) {
        self.line(&format!("## {}", escaped(&part.id)));
        if let Some(question) = &part.question {
            self.line(&escaped(question));
        }
        let parameters = if part.parameters.is_empty() {
            String::new()
        } else {
            format!(" ({})", escaped(&part.parameters.join(", ")))
        };
        self.line(&format!("A trial: {}{parameters}", escaped(&part.workload)));
        self.comparisons(&part.comparisons);
        self.controls(&part.controls);
        for table in &part.tables {
            self.table(table, quickness);
        }
    }

    fn comparisons(&mut self, comparisons: &[Comparison]) {
        if comparisons.is_empty() {
            return;
        }
        let speeds = comparisons.iter().any(|one| one.by_speed.iter().any(Option::is_some));
        let mut names = vec!["comparison", "of", "over", "value [95 %]", "n"];
        if speeds {
            names.extend(["fast mode", "slow mode"]);
        }
        names.push("effect");
        self.head(&names, 3);
        for comparison in comparisons {
            let within = if comparison.within.is_empty() {
                String::new()
            } else {
                format!(" ({})", words(&comparison.within))
            };
            let dash = || "\u{2013}".to_owned();
            let mut row = vec![
                escaped(&format!("{}, {}{within}", comparison.id, comparison.metric.name)),
                escaped(&words(&comparison.of)),
                escaped(&words(&comparison.over)),
                comparison.sentence().unwrap_or_else(dash),
                format!("{}, {}", comparison.n.0, comparison.n.1),
            ];
            if speeds {
                let at = comparison.by_speed.iter();
                row.extend(at.map(|at| at.as_ref().map_or_else(dash, |at| comparison.sentence_at(at))));
            }
            row.push(comparison.effect.words());
            self.row(row.iter().map(String::as_str));
        }
        self.text.push('\n');
    }

    fn controls(&mut self, controls: &[Control]) {
        if controls.is_empty() {
            return;
        }
        self.line("Two of the same, started alike and interleaved: what they seem to differ by is no difference.");
        self.head(&["control", "metric", "twin less combination [95 %]", "n", "effect"], 2);
        for control in controls {
            self.row([
                escaped(&words(&control.levels)).as_str(),
                control.metric.name,
                &control.sentence().unwrap_or_else(|| "\u{2013}".to_owned()),
                &control.n.to_string(),
                &control.effect.words(),
            ]);
        }
        self.text.push('\n');
    }

    fn table(&mut self, table: &Table, quickness: Quickness) {
        let unit = if table.shown.symbol.is_empty() {
            String::new()
        } else {
            format!(" ({})", table.shown.symbol)
        };
        let quick = if quickness == Quickness::Quick {
            " Quick run."
        } else {
            ""
        };
        self.line(&format!(
            "**{}**{unit}: {}.{quick}",
            escaped(table.metric.name),
            escaped(table.metric.about.trim_end_matches('.'))
        ));
        let mut names: Vec<&str> = table.factors.iter().map(String::as_str).collect();
        let numbers_from = names.len();
        let has = |of: fn(&Statistics) -> bool| table.rows.iter().filter_map(|row| row.statistics.as_ref()).any(of);
        let speeds = has(|one| one.slow.is_some());
        let modes = has(|one| one.modes.is_some());
        names.extend(["trials", "median [95 %]"]);
        if speeds {
            names.extend(["fast mode [95 %], n", "slow mode [95 %], n"]);
        }
        if modes {
            names.push("two modes");
        }
        names.extend(["quartiles", "mean of medians [Student 95 %]", "all: p50", "p95", "p99"]);
        self.head(&names, numbers_from);
        for cell in &table.rows {
            let Some(statistics) = &cell.statistics else { continue };
            let number = |value: f64| table.shown.number(value);
            let mut row: Vec<String> = table
                .factors
                .iter()
                .map(|factor| escaped(cell.levels.level(factor).unwrap_or_default()))
                .collect();
            row.push(statistics.trials.to_string());
            row.push(crate::html::with_interval(
                &table.shown,
                statistics.median,
                statistics.interval,
            ));
            let dash = || "\u{2013}".to_owned();
            if speeds {
                for mode in [statistics.fast, statistics.slow] {
                    row.push(mode.map_or_else(dash, |mode| {
                        let median = crate::html::with_interval(&table.shown, mode.median, mode.interval);
                        format!("{median}, {}", mode.trials)
                    }));
                }
            }
            if modes {
                row.push(
                    statistics
                        .modes
                        .map_or_else(dash, |modes| crate::html::two_modes(&table.shown, &modes)),
                );
            }
            row.push(table.shown.range(statistics.quartiles.low, statistics.quartiles.high));
            row.push(statistics.student.map_or_else(
                || "\u{2013}".to_owned(),
                |student| crate::html::with_interval(&table.shown, student.value, Some(student.interval)),
            ));
            row.extend([2, 4, 5].map(|index| statistics.spread[index].map_or_else(dash, number)));
            self.row(row.iter().map(String::as_str));
        }
        self.text.push('\n');
    }
}

/// Words from a file as words: nothing in them is markup, and they stay on a line.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for character in words.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => {
                out.push('\\');
                out.push(character);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' | '\t' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_from_files_are_no_markup() {
        assert_eq!(escaped("a|b <img> *x*\n"), "a\\|b &lt;img&gt; \\*x\\* ");
    }
}
